/** Puts the page together. */

import * as THREE from 'three';
import { App } from './app';
import * as command from './commands';
import { h, iconButton } from './dom';
import { many } from './format';
import { Keyboard } from './keyboard';
import { readLink } from './link';
import { GHOSTS, compare } from './panels/compare';
import { Docks } from './panels/dock';
import { files } from './panels/files';
import { findings } from './panels/findings';
import { gallery } from './panels/gallery';
import { help as helpDialog } from './panels/help';
import { motors, wayOf } from './panels/motors';
import { inspector } from './panels/inspector';
import { outline } from './panels/outline';
import { plots as plotsPanel } from './panels/plots';
import { settings } from './panels/settings';
import { strainLegend } from './panels/legend';
import { text as textPanel } from './panels/text';
import { springs as springList } from './panels/springs';
import { tools } from './panels/tools';
import { transport } from './panels/transport';
import { watched } from './panels/watched';
import { itemOf, matching } from './scenes';
import { Build } from './view/build';
import { join } from './view/join';
import { Freedoms } from './view/freedoms';
import { Follow } from './view/follow';
import { Framing } from './view/framing';
import { Handles } from './view/handles';
import { Hands } from './view/hands';
import { Overlays } from './view/overlays';
import { Pins } from './view/pins';
import { Springs } from './view/springs';
import { Pointer } from './view/pointer';
import { Reach } from './view/reach';
import { Sizes } from './view/sizes';
import { Solids } from './view/solids';
import { Stage } from './view/stage';
import { Traces } from './view/traces';
import { Tethers } from './view/tethers';
import { Xr } from './view/xr';

const UNDO = 'M7 8V4L2 9l5 5v-4h7a4 4 0 0 1 0 8H9v2h5a6 6 0 0 0 0-12z';
const HOME = 'M4 4h6v2H6v4H4zm10 0h6v6h-2V6h-4zM4 14h2v4h4v2H4zm14 0h2v6h-6v-2h4zM9 9h6v6H9z';
const HANDLES = 'M12 2l3 4h-2v5h5V9l4 3-4 3v-2h-5v5h2l-3 4-3-4h2v-5H6v2l-4-3 4-3v2h5V6H9z';
const FRAME = 'M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zm0 3a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM11 2h2v4h-2zm0 16h2v4h-2zM2 11h4v2H2zm16 0h4v2h-4z';
const FOLLOW = 'M12 5c5 0 9 4.500 10 7-1 2.500-5 7-10 7s-9-4.500-10-7c1-2.500 5-7 10-7zm0 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zm0 2a2 2 0 1 1 0 4 2 2 0 0 1 0-4z';
const REDO = 'M17 8V4l5 5-5 5v-4h-7a4 4 0 0 0 0 8h5v2h-5a6 6 0 0 1 0-12z';

const app = new App(new URLSearchParams(location.search).get('token') ?? '');
const canvas = h('canvas', { tabindex: 0, 'aria-label': 'The mechanism. Tab moves through its solids, Enter grabs one.' });
const layer = h('div', { class: 'layer' });
const banner = h('div', { class: 'banner', role: 'alert', hidden: true });
const toast = h('div', { class: 'toast', role: 'status', hidden: true });
const caption = h('div', { class: 'caption', role: 'status' });
const find = h('button', { type: 'button', class: 'find primary', id: 'find', hidden: true, onclick: () => (stage.resetView(), canvas.focus({ preventScroll: true })) }, 'Find it');
const hint = h('div', { class: 'invitation', role: 'note', hidden: true });
const title = h('h1', {}, 'Linkwork');
const view = h('div', { class: 'view' }, canvas, layer, caption, hint, find, banner, toast);
const bar = h('header', { class: 'bar' });
const docks = new Docks();
document
  .querySelector('#app')!
  .append(bar, docks.sides.left, view, docks.sides.right, h('footer', {}, docks.sides.bottom, transport(app)));

const stage = new Stage(canvas);
const solids = new Solids();
const ghosts = GHOSTS.map((tint) => new Solids(tint));
const overlays = new Overlays(app, solids);
const springs = new Springs(app, solids, (joint, side) => overlays.frameOf(joint, side));
stage.inset = () => (hint.offsetHeight > 0 ? hint.offsetHeight + 20 : 0);
// Tools that stand at the side leave the top free.
stage.insetTop = () => (toolbar.offsetHeight > 0 && toolbar.offsetLeft > 20 ? toolbar.offsetTop + toolbar.offsetHeight + 6 : 0);
const framing = new Framing(app, stage, solids, overlays);
const hands = new Hands(app, solids, stage);
const tethers = new Tethers(
  stage,
  layer,
  (hand) => hands.isSight(hand),
  (solid) => overlays.isAtLimit(solid),
  (solid) => solids.vertex(solid) !== null,
);
const follow = new Follow(app, stage, solids);
stage.root.add(solids.group, ...ghosts.map((g) => g.group), overlays.group, springs.group, tethers.group);
for (const g of ghosts) g.group.visible = false;

// Before the pointer: its listeners come first while something is drawn.
const build = new Build(app, stage, solids, overlays, hands, layer);
stage.root.add(build.group);
// The selected part's own handles go before joints near them.
const sizes = new Sizes(app, stage, solids, build, layer);
stage.root.add(sizes.group);
const pins = new Pins(app, stage, solids, overlays, build, layer);
stage.root.add(pins.group);
const freedoms = new Freedoms(app, stage, solids);
stage.root.add(freedoms.group);
const traces = new Traces(app, stage, solids, overlays, layer);
stage.root.add(traces.group);
const handles = new Handles(app, stage, solids, hands);
const pointer = new Pointer(app, stage, solids, hands, handles, () => remark());
pointer.arrows = (x, y) => freedoms.hit(x, y);
pointer.several = () => build.on;
const help = document.body.appendChild(helpDialog());
const text = textPanel(app);
const reach = new Reach(app, stage);
stage.root.add(reach.group);
const plots = plotsPanel(app, watched(app, traces, reach));
/** The session took the hands' solids away. */
function dropPointers(): void {
  pointer.drop();
  handles.drop();
}
const keyboard = new Keyboard({ app, stage, solids, hands, docks, help, framing, handles, follow: () => follow.toggle(), build, remove: () => selected.remove_(), copy: () => selected.copy(), dropPointers });
const toolbar = tools(app, build);
view.append(toolbar, strainLegend(app));
const selected = inspector(app, solids, overlays, {
  plane: () => build.axes,
  trace: (solid) => void traces.trace(solid, new THREE.Vector3(...app.scene!.solids[solid]!.center)),
  place: (joint, at) => void pins.place(joint, at),
  reach: (solid) => {
    docks.toggle('plots', true);
    void reach.search({ solid: app.scene!.solids[solid]!.name, local: new THREE.Vector3(...app.scene!.solids[solid]!.center) });
  },
  measure: (what, id) => {
    if (what === 'speed') traces.speed(id, new THREE.Vector3(...app.scene!.solids[id]!.center));
    else if (what === 'force') traces.force(id);
    else traces.coordinate(id, wayOf(app.scene!.joints[id]!.kind) ?? 'r1');
  },
  angle: (one, two) => traces.angle(one, two),
  say: (words) => app.toast(words),
});
build.hooks = {
  trace: (solid, local) => void traces.trace(solid, local),
  measure: (a, b) => {
    const place = (s: typeof a) => ({ solid: app.scene!.solids[s.anchor?.solid ?? 0]!.name, local: s.anchor?.local.clone() ?? s.at.clone() });
    traces.distance(place(a), place(b));
  },
};
const parts = outline(app, {
  above: [findings(app, freedoms, overlays), selected, motors(app, solids, overlays, hands, stage), springList(app)],
  grab: (solid) => keyboard.grab(solid),
  reveal: (line) => {
    docks.toggle('text', true);
    text.reveal(line);
  },
  join: (kind, a, b) => join({ app, stage, solids }, kind, a, b),
});
for (const panel of [gallery(app), parts, settings(app), text, compare(app), plots]) docks.add(panel);
const buildButton = h('button', { type: 'button', id: 'build', 'aria-pressed': 'false', title: 'Build (B)', onclick: () => void enterBuild() }, 'Build');
/** Tools over the view, and the values of what is selected beside it where there is room. */
async function enterBuild(on = !build.on): Promise<void> {
  await build.toggle(on);
  // An empty sheet has nothing that tools could lie over.
  if (app.scene?.solids.some((s) => s.kind === 'dynamic')) stage.relook();
  if (on && innerWidth > 720) docks.toggle('outline', true);
}
const shown = build.onchange;
build.onchange = () => {
  shown();
  buildButton.setAttribute('aria-pressed', String(build.on));
  invite();
};
docks.buttons.prepend(buildButton);
const grips = iconButton('Handles: move along an axis, turn about one', HANDLES, () => handles.next(), 'H');
grips.hidden = true;
handles.onchange = () => {
  grips.hidden = handles.candidate < 0;
  grips.setAttribute('aria-pressed', String(handles.mode !== 'off'));
};
const goAlong = iconButton('Follow with the camera', FOLLOW, () => follow.toggle(), 'V');
goAlong.setAttribute('aria-pressed', 'false');
const frame = iconButton('Frame the selection', FRAME, () => framing.selection(), 'F');
frame.hidden = true;
view.append(h('div', { class: 'looks', role: 'group', 'aria-label': 'View' }, grips, frame, goAlong, iconButton('Fit all', HOME, () => stage.resetView(), 'R')));
follow.onchange = (asked) => {
  goAlong.setAttribute('aria-pressed', String(follow.on));
  if (asked) app.toast(follow.on ? 'The camera follows the selected solid, or everything that moves.' : 'The camera stays where it is.');
};
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
    files(app, stage, { mend: (content) => (docks.toggle('text', true), text.edit(content)) }),
    xr.button,
    h('button', { type: 'button', id: 'help', 'aria-label': 'Keys', title: 'Keys (?)', onclick: () => help.showModal() }, '?'),
  ),
);

// What the frame changed is drawn before the next picture, not at once: frames may come faster than pictures.
let fresh = false;
/** The scene has to be looked at anew; with a box only if it is not about where that was. */
let unseen: boolean | THREE.Box3 = true;
let looked = 0;
stage.before.push(() => {
  pointer.update();
  handles.update();
  hands.flush();
  build.update();
  pins.update();
  sizes.update();
  if (!fresh || !app.frame) return;
  fresh = false;
  solids.pose(app.frame.poses);
  solids.dent(app.frame.contacts);
  solids.rest(app.frame.asleep);
  hands.settle(app.frame);
  ghosts.forEach((g, i) => {
    const poses = app.frame!.ghosts[i];
    g.group.visible = poses !== undefined;
    if (poses) g.pose(poses);
  });
  if (app.scene && unseen) {
    const news = unseen === true || isElsewhere(unseen, solids.bounds());
    unseen = false;
    if (news) framing.open(app.scene);
  }
  follow.update();
  overlays.update(app.frame);
  springs.update(app.frame.time);
  traces.update();
  freedoms.update();
  tethers.update(app.frame);
  const now = performance.now();
  if (now - looked < 300) return;
  looked = now;
  find.hidden = !framing.lost;
});

/** So much larger, smaller or farther away that the view of the one would not do for the other. */
function isElsewhere(a: THREE.Box3, b: THREE.Box3): boolean {
  if (a.isEmpty() || b.isEmpty()) return a.isEmpty() !== b.isEmpty();
  const size = (x: THREE.Box3) => x.getSize(new THREE.Vector3()).length();
  const ratio = size(b) / size(a);
  const apart = a.getCenter(new THREE.Vector3()).distanceTo(b.getCenter(new THREE.Vector3()));
  return !(ratio < 1.8 && ratio > 0.55 && apart < 0.5 * size(a));
}

function refresh(): void {
  fresh = true;
  stage.invalidate();
}

/** Nobody has held anything yet: the page says how. */
let touched = false;
/** Which solids stand out: held, selected, under the mouse. */
let marked = new Set<number>();
function remark(): void {
  const s = app.selection;
  const chosen = new Set(s ? (s.kind === 'solid' ? app.chosen : (app.scene?.joints[s.id]?.solids ?? [])) : []);
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
    const more = solid === s?.id && app.also.size > 0 ? ` and ${many(app.also.size, 'other')}` : '';
    caption.textContent = (kind === 'dynamic' ? name : `${name} (${kind})`) + more;
  } else {
    caption.textContent = '';
  }
  frame.hidden = !s;
  invite();
  refresh();
}

/** Until something was held, the page says how, and what is worth it here. */
function invite(): void {
  const movable = app.scene?.solids.some((s) => s.kind === 'dynamic') ?? false;
  // Where nothing can be held, nobody has learnt anything yet.
  hint.hidden = (touched && movable) || !app.scene || build.on;
  if (hint.hidden) return;
  const touch = matchMedia('(pointer: coarse)').matches;
  const todo = app.hello && itemOf(app.hello.gallery, app.scene!)?.attempt;
  const words = !movable
    ? [h('b', {}, 'Nothing moves here yet.'), ' Press Build to draw a mechanism, or pick one from Scenes.']
    : [
        h('b', {}, touch ? 'Drag any part with a finger.' : 'Drag any part.'),
        todo ? ` Try: ${matching(todo, app.settings?.running ?? false, touch)}` : touch ? '' : ` Press Space to ${app.settings?.running ? 'pause' : 'run'}, ? for all keys.`,
      ];
  hint.replaceChildren(...words);
}
app.on('settings', invite);
hands.onchange = () => {
  touched ||= hands.any;
  remark();
};

let shownText = '';
app.on('scene', (scene) => {
  document.title = `${scene.title} – Linkwork`;
  title.textContent = scene.title;
  stage.root.rotation.x = scene.up === 'z' ? -Math.PI / 2 : 0;
  stage.root.updateMatrixWorld(true);
  // An edit keeps the view, unless what is shown is somewhere else then.
  if (app.other) unseen = true;
  else if (build.on) unseen = false;
  else if (unseen !== true && scene.text !== shownText) unseen = solids.bounds();
  shownText = scene.text;
  solids.load(scene);
  for (const g of ghosts) {
    g.load(scene);
    g.group.visible = false;
  }
  overlays.load(scene, scene.radius);
  springs.load(scene, scene.radius);
  marked = new Set();
  // What was under the mouse is gone.
  pointer.hovered = -1;
  if (app.other) {
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
  if (!hands.any) dropPointers();
});
app.on('selection', remark);
app.on('overlays', (o) => {
  for (const s of [solids, ...ghosts]) s.dress(o.skins);
  solids.strain(o.strain);
  refresh();
});
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
/** A file that is broken from the start has nothing to show but its text. */
let broken: string | null = null;
function mend(): void {
  if (broken === null || app.scene?.text !== '') return;
  docks.toggle('text', true);
  text.edit(broken);
  broken = null;
}
app.on('scene', mend);
app.on('file', (f) => {
  say(f.ok ? '' : f.message, f.diagnostics);
  if (f.ok && f.message) app.toast(f.message);
  broken = f.text;
  mend();
});
app.on('connection', (state) => {
  if (state === 'open') say('');
  if (state === 'lost') {
    // The server has let go of everything that this window held.
    hands.forget();
    dropPointers();
    say('Linkwork is not responding. If you stopped it, start it again and open the new address that it prints. Otherwise this page will reconnect automatically.');
  }
  if (state === 'refused') {
    say(
      app.token === ''
        ? pending
          ? 'This link contains a scene but no access token. Open the address that `linkwork view` printed, then use “File”, “Open a link…”.'
          : 'This address has no access token. Use the one that `linkwork view` printed.'
        : 'No connection. Is `linkwork view` still running? A new run has a new address.',
    );
  }
});

// A scene in the address replaces the one on the server, once; undo brings that back.
let pending: string | null = location.hash.includes('#scene=') ? location.href : null;
app.on('hello', () => {
  if (!pending) return;
  const address = pending;
  pending = null;
  // Only once: who reloads the page means what is shown by then.
  history.replaceState(null, '', location.pathname + location.search);
  readLink(address).then(
    (scene) => void app.do(command.setText(scene)),
    (error: Error) => app.toast(error.message, true),
  );
});

// The view shows its focus to those who use the keyboard.
addEventListener('keydown', () => (document.body.dataset.by = 'keys'), { capture: true });
addEventListener('pointerdown', () => (document.body.dataset.by = 'pointer'), { capture: true });

if (innerWidth >= 1100) docks.toggle('scenes', true);
app.connection.open();

/** For tests and the curious. */
declare global {
  interface Window {
    linkwork: unknown;
  }
}
window.linkwork = { app, freedoms, build, traces, follow, framing, stage, solids, hands, handles, pointer, overlays, springs, tethers, xr, text, plots, docks, reach, pins, sizes, THREE };
