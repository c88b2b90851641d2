/** Puts the page together. */

import * as THREE from 'three';
import './style.css';
import { App } from './app';
import * as command from './commands';
import { h, iconButton } from './dom';
import { Keyboard } from './keyboard';
import { decodeLink } from './link';
import { GHOSTS, compare } from './panels/compare';
import { Docks } from './panels/dock';
import { files } from './panels/files';
import { gallery } from './panels/gallery';
import { help as helpDialog } from './panels/help';
import { outline } from './panels/outline';
import { plots as plotsPanel } from './panels/plots';
import { settings } from './panels/settings';
import { text as textPanel } from './panels/text';
import { transport } from './panels/transport';
import type { SceneMessage } from './protocol';
import { Hands } from './view/hands';
import { Overlays } from './view/overlays';
import { Pointer } from './view/pointer';
import { Solids } from './view/solids';
import { Stage } from './view/stage';
import { Tethers } from './view/tethers';
import { Xr } from './view/xr';

const UNDO = 'M7 8V4L2 9l5 5v-4h7a4 4 0 0 1 0 8H9v2h5a6 6 0 0 0 0-12z';
const REDO = 'M17 8V4l5 5-5 5v-4h-7a4 4 0 0 0 0 8h5v2h-5a6 6 0 0 1 0-12z';

const app = new App(new URLSearchParams(location.search).get('token') ?? '');
const canvas = h('canvas', { tabindex: 0, 'aria-label': 'The mechanism. Tab walks through its solids, Enter takes hold of one.' });
const layer = h('div', { class: 'layer' });
const banner = h('div', { class: 'banner', role: 'alert', hidden: true });
const toast = h('div', { class: 'toast', role: 'status', hidden: true });
const caption = h('div', { class: 'caption', role: 'status' });
const hint = h('div', { class: 'invitation', role: 'note', hidden: true });
const title = h('h1', {}, 'Linkwork');
const view = h('div', { class: 'view' }, canvas, layer, caption, hint, banner, toast);
const bar = h('header', { class: 'bar' });
const docks = new Docks();
document
  .querySelector('#app')!
  .append(bar, docks.sides.left, view, docks.sides.right, h('footer', {}, docks.sides.bottom, transport(app)));

const stage = new Stage(canvas);
const solids = new Solids();
const ghosts = GHOSTS.map((tint) => new Solids(tint));
const overlays = new Overlays(app, solids);
const hands = new Hands(app, solids, stage);
const tethers = new Tethers(stage, layer, (hand) => hands.isSight(hand));
stage.root.add(solids.group, ...ghosts.map((g) => g.group), overlays.group, tethers.group);
for (const g of ghosts) g.group.visible = false;

const pointer = new Pointer(app, stage, solids, hands, () => remark());
const help = document.body.appendChild(helpDialog());
const text = textPanel(app);
const plots = plotsPanel(app);
const keyboard = new Keyboard({ app, stage, solids, hands, docks, help, frameSelection, dropPointers: () => pointer.drop() });
const parts = outline(app, {
  grab: (solid) => keyboard.grab(solid),
  reveal: (line) => {
    docks.toggle('text', true);
    text.reveal(line);
  },
  gaze: () => {
    const way = stage.camera.getWorldDirection(new THREE.Vector3());
    const back = stage.root.getWorldQuaternion(new THREE.Quaternion()).invert();
    way.applyQuaternion(back);
    // The nearest main axis: an axis that is almost along z is meant to be along z.
    const k = [0, 1, 2].reduce((a, b) => (Math.abs(way.getComponent(b)) > Math.abs(way.getComponent(a)) ? b : a));
    const axis: [number, number, number] = [0, 0, 0];
    axis[k] = 1;
    return axis;
  },
});
for (const panel of [gallery(app), parts, settings(app), text, compare(app), plots]) docks.add(panel);
const xr = new Xr(app, stage, solids, hands, tethers);
const undo = iconButton('Undo', UNDO, () => void app.do(command.undo()), 'Ctrl+Z');
const redo = iconButton('Redo', REDO, () => void app.do(command.redo()), 'Ctrl+Shift+Z');
app.on('settings', (s) => {
  undo.disabled = s.undo === 0;
  redo.disabled = s.redo === 0;
});
bar.append(
  title,
  docks.buttons,
  h(
    'span',
    { class: 'tools' },
    undo,
    redo,
    files(app, stage),
    xr.button,
    h('button', { type: 'button', id: 'help', 'aria-label': 'Keys', title: 'Keys (?)', onclick: () => help.showModal() }, '?'),
  ),
);

// What the frame changed is drawn before the next picture, not at once: frames may come faster than pictures.
let fresh = false;
let fitted = '';
stage.before.push(() => {
  pointer.update();
  hands.flush();
  if (!fresh || !app.frame) return;
  fresh = false;
  solids.pose(app.frame.poses);
  hands.settle(app.frame);
  ghosts.forEach((g, i) => {
    const poses = app.frame!.ghosts[i];
    g.group.visible = poses !== undefined;
    if (poses) g.pose(poses);
  });
  overlays.update(app.frame);
  tethers.update(app.frame);
  if (app.scene && fitted !== app.scene.name) {
    fitted = app.scene.name;
    fit(app.scene, true);
  }
});

function refresh(): void {
  fresh = true;
  stage.invalidate();
}

function fit(scene: SceneMessage, look: boolean): void {
  const box = solids.bounds();
  if (box.isEmpty()) box.setFromCenterAndSize(new THREE.Vector3(...scene.center), new THREE.Vector3().setScalar(scene.radius));
  const world = box.clone().applyMatrix4(stage.root.matrixWorld);
  const size = world.getSize(new THREE.Vector3());
  const floors = solids.floor().map((p) => stage.root.localToWorld(p).y);
  const low = floors.length > 0 ? Math.max(...floors) : world.min.y - 0.004 * size.length();
  stage.fit(world.getCenter(new THREE.Vector3()), 0.5 * size.length(), low, look, size);
  overlays.load(scene, stage.radius);
}

function frameSelection(): void {
  const s = app.selection;
  if (!s || !app.scene) return stage.resetView();
  const only = new Set(s.kind === 'solid' ? [s.id] : app.scene.joints[s.id]!.solids);
  const box = solids.bounds(only).applyMatrix4(stage.root.matrixWorld);
  if (box.isEmpty()) return stage.resetView();
  stage.look(box.getCenter(new THREE.Vector3()), Math.max(0.5 * box.getSize(new THREE.Vector3()).length(), 0.05 * stage.radius));
}

/** Nobody has held anything yet: the page says how. */
let touched = false;
/** Which solids stand out: held, selected, under the mouse. */
let marked = new Set<number>();
function remark(): void {
  const s = app.selection;
  const chosen = new Set(s ? (s.kind === 'solid' ? [s.id] : (app.scene?.joints[s.id]?.solids ?? [])) : []);
  const now = new Set([...chosen, ...(pointer.hovered > 0 ? [pointer.hovered] : [])]);
  for (const grab of app.frame?.grabs ?? []) now.add(grab.solid);
  for (let i = 0; i < (app.scene?.solids.length ?? 0); i++) {
    if (!now.has(i) && marked.has(i)) solids.mark(i, 'none');
  }
  for (const i of now) solids.mark(i, hands.holds(i) ? 'held' : chosen.has(i) ? 'selected' : 'hover');
  marked = now;
  const solid = pointer.hovered > 0 ? pointer.hovered : s?.kind === 'solid' ? s.id : -1;
  if (s?.kind === 'joint' && pointer.hovered < 0) {
    const j = app.scene!.joints[s.id]!;
    caption.textContent = `${j.name}: ${j.kind}, ${j.rank === 1 ? 'primary' : 'secondary'}${j.loop ? ', closes a loop' : ''}`;
  } else if (solid > 0) {
    const { name, kind } = app.scene!.solids[solid]!;
    caption.textContent = kind === 'dynamic' ? name : `${name} (${kind})`;
  } else {
    caption.textContent = '';
  }
  // Until something was held, the page says how, and what is worth it here.
  const todo = app.hello?.gallery.find((g) => g.id !== '' && g.id === app.scene?.name)?.attempt;
  hint.replaceChildren(
    h('b', {}, app.hello && matchMedia('(pointer: coarse)').matches ? 'Drag any part with a finger.' : 'Drag any part.'),
    todo ? ` Try: ${todo}` : ' Space lets time run, ? lists the keys.',
  );
  hint.hidden = touched || !app.scene;
  refresh();
}
hands.onchange = () => {
  touched ||= hands.any;
  remark();
};

app.on('scene', (scene) => {
  document.title = `${scene.title} – Linkwork`;
  title.textContent = scene.title;
  stage.root.rotation.x = scene.up === 'z' ? -Math.PI / 2 : 0;
  stage.root.updateMatrixWorld(true);
  solids.load(scene);
  for (const g of ghosts) {
    g.load(scene);
    g.group.visible = false;
  }
  overlays.load(scene, scene.radius);
  marked = new Set();
  // What was under the mouse is gone.
  pointer.hovered = -1;
  if (scene.name !== fitted) {
    hands.forget();
    touched = false;
  }
  for (const note of scene.notes) app.toast(note);
  remark();
});
app.on('frame', (frame) => {
  refresh();
  const held = frame.grabs.map((g) => g.solid);
  if (held.some((s) => !marked.has(s))) remark();
});
app.on('released', (numbers) => {
  hands.forget(numbers);
  if (!hands.any) pointer.drop();
});
app.on('selection', remark);
app.on('overlays', refresh);
app.on('picking', (on) => view.classList.toggle('picking', on));

let hide = 0;
app.on('toast', ({ message, bad }) => {
  toast.textContent = message;
  toast.classList.toggle('bad', bad);
  toast.hidden = false;
  clearTimeout(hide);
  hide = window.setTimeout(() => (toast.hidden = true), bad ? 7000 : 3500);
});
const say = (words: string, list: { line: number; message: string }[] = []) => {
  banner.hidden = words === '';
  banner.replaceChildren(
    h('b', {}, words),
    ...list.slice(0, 5).map((d) =>
      h('button', { type: 'button', onclick: () => (docks.toggle('text', true), text.reveal(d.line)) }, `line ${d.line}: ${d.message}`),
    ),
  );
};
app.on('file', (f) => {
  say(f.ok ? '' : f.message, f.diagnostics);
  if (f.ok && f.message) app.toast(f.message);
});
app.on('connection', (state) => {
  if (state === 'open') say('');
  if (state === 'lost') say('The connection to linkwork was lost. It comes back when the program runs again.');
  if (state === 'refused') {
    say(
      app.token === ''
        ? 'This address has no token. Use the one that `linkwork view` printed.'
        : 'No connection. Is `linkwork view` still running? A new run has a new address.',
    );
  }
});

// A scene in the address replaces the one on the server, once; undo brings that back.
let pending: string | null = location.hash ? location.href : null;
app.on('hello', () => {
  if (!pending) return;
  const address = pending;
  pending = null;
  decodeLink(address).then(
    (scene) => scene !== null && void app.do(command.setText(scene)),
    () => app.toast('The scene in this link is damaged.', true),
  );
});

// The view shows its focus to those who use the keyboard.
addEventListener('keydown', () => (document.body.dataset.by = 'keys'), { capture: true });
addEventListener('pointerdown', () => (document.body.dataset.by = 'pointer'), { capture: true });

if (innerWidth >= 1100) docks.toggle('settings', true);
app.connection.open();

/** For tests and the curious. */
declare global {
  interface Window {
    linkwork: unknown;
  }
}
window.linkwork = { app, stage, solids, hands, pointer, overlays, tethers, xr, text, plots, docks, THREE };
