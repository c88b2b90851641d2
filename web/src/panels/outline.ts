/** Solids and constraints as lists that a keyboard and a screen reader can use. */

import type { App } from '../app';
import * as command from '../commands';
import { h } from '../dom';
import { digits, gapWords, many } from '../format';
import { type JointInfo, type SceneMessage, type Vec3, vertexCount } from '../protocol';
import type { Panel } from './dock';

/** Names of joints that picking two solids can make. */
const KINDS = ['ball', 'pin', 'weld', 'slider', 'cylindrical', 'point-on-line', 'point-on-plane', 'planar', 'cardan', 'distance'];

export interface OutlineHooks {
  /** What stands above the lists. */
  above: HTMLElement[];
  /** Enter on a solid: the keyboard takes hold of it. */
  grab: (solid: number) => void;
  /** Show the line in the text. */
  reveal: (line: number) => void;
  /** Joins two solids at a point of each, scene coordinates. */
  join: (kind: string, a: { solid: number; point: Vec3 }, b: { solid: number; point: Vec3 }) => Promise<boolean>;
}

/** Rows that are there at once; more come while nothing else is to be done. */
const AT_ONCE = 150;
/** More rows than this would cost more than they tell. */
const MOST = 5000;

/** A list whose rows are made a few at a time, so that thousands of them keep nobody waiting. */
class Rows {
  private waiting: (() => HTMLElement)[] = [];
  private timer = 0;

  constructor(
    private readonly list: HTMLElement,
    private readonly made: (rows: HTMLElement[]) => void,
  ) {}

  set(rows: (() => HTMLElement)[]): void {
    clearTimeout(this.timer);
    this.list.replaceChildren();
    this.waiting = rows.slice(0, MOST);
    this.more();
  }

  private more(): void {
    const rows = this.waiting.splice(0, AT_ONCE).map((make) => make());
    this.list.append(...rows);
    this.made(rows);
    if (this.waiting.length > 0) this.timer = window.setTimeout(() => this.more(), 0);
  }

  /** All of them, now. */
  finish(): void {
    clearTimeout(this.timer);
    while (this.waiting.length > 0) this.more();
    clearTimeout(this.timer);
  }
}

export function outline(app: App, hooks: OutlineHooks): Panel {
  const find = h('input', { type: 'search', placeholder: 'Filter by name…', 'aria-label': 'Filter by name' });
  const solids = h('ul', { class: 'list solids', 'aria-label': 'Solids' });
  const joints = h('ul', { class: 'list joints', 'aria-label': 'Constraints' });
  const solidsTitle = h('h3', { class: 'count' });
  const jointsTitle = h('h3', { class: 'count' });
  const kind = h('select', { 'aria-label': 'Kind of the new constraint' }, ...KINDS.map((k) => h('option', {}, k)));
  const pickHint = h('p', { class: 'hint', role: 'status' });
  const addButton = h('button', { type: 'button', id: 'add-constraint' }, 'Join two solids…');
  const element = h(
    'div',
    {},
    ...hooks.above,
    h('div', { class: 'row' }, find),
    solidsTitle,
    solids,
    jointsTitle,
    joints,
    h('div', { class: 'row add' }, addButton, kind),
    pickHint,
  );

  let said = 0;
  const stopPicking = (words = '') => {
    app.picker = null;
    addButton.textContent = 'Join two solids…';
    addButton.setAttribute('aria-pressed', 'false');
    pickHint.textContent = words;
    app.emit('picking', false);
  };
  let first: { solid: number; point: Vec3 } | null = null;
  addButton.addEventListener('click', () => {
    if (app.picker) return stopPicking();
    first = null;
    addButton.textContent = 'Stop picking';
    addButton.setAttribute('aria-pressed', 'true');
    pickHint.textContent = 'Click the first solid where the joint should go (Esc cancels).';
    app.emit('picking', true);
    app.picker = (solid, point) => {
      if (!first) {
        first = { solid, point };
        pickHint.textContent = `First solid: “${name(solid)}”. Now click the second.`;
        return;
      }
      if (first.solid === solid) {
        pickHint.textContent = 'A solid cannot be joined to itself: pick another one.';
        return;
      }
      const [a, k] = [first, kind.value];
      const [from, to] = [name(a.solid), name(solid)];
      stopPicking();
      void hooks.join(k, a, { solid, point }).then((ok) => {
        pickHint.textContent = ok ? `Added a ${k} joint between “${from}” and “${to}”.` : '';
      });
    };
  });
  app.on('picking', (on) => {
    if (!on && app.picker === null && addButton.getAttribute('aria-pressed') === 'true') stopPicking();
  });

  const name = (solid: number) => app.scene?.solids[solid]?.name ?? String(solid);

  const solidRow = (scene: SceneMessage, i: number) => {
    const s = scene.solids[i]!;
    const swatch = h('i', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.background = `rgb(${s.color.map((c) => Math.round(255 * c)).join()})`;
    const what = s.kind === 'dynamic' ? `${digits(s.mass)} kg` : s.kind;
    return h(
      'li',
      { 'data-solid': i },
      h(
        'button',
        {
          type: 'button',
          class: 'item',
          onclick: (e: MouseEvent) => (e.shiftKey || e.ctrlKey || e.metaKey ? app.add(i) : app.select({ kind: 'solid', id: i })),
          ondblclick: () => hooks.reveal(s.line),
          // By Tab; a press of a pointer does as its click says.
          onfocus: () => document.body.dataset.by === 'keys' && !app.adding && app.select({ kind: 'solid', id: i }),
          onkeydown: (e: KeyboardEvent) => {
            if (e.key === 'Enter') {
              e.preventDefault();
              if (app.adding) app.add(i);
              else hooks.grab(i);
            }
          },
        },
        swatch,
        h('span', { class: 'name' }, s.name),
        h('span', { class: 'what' }, what),
      ),
    );
  };

  const softRow = (scene: SceneMessage, k: number) => {
    const soft = scene.softs[k]!;
    const count = vertexCount(soft);
    const fixed = new Set(soft.fixed);
    let last = count - 1;
    while (last > 0 && fixed.has(last)) last--;
    const id = soft.first + last;
    const swatch = h('i', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.background = `rgb(${soft.color.map((c) => Math.round(255 * c)).join()})`;
    const choose = () => app.scene?.solids[app.selection?.kind === 'solid' ? app.selection.id : -1]?.soft === k || app.select({ kind: 'solid', id });
    return h(
      'li',
      { 'data-soft': k },
      h(
        'button',
        {
          type: 'button',
          class: 'item',
          title: `${many(count, 'vertex', 'vertices')}, ${digits(soft.mass)} kg`,
          onclick: choose,
          ondblclick: () => hooks.reveal(soft.line),
          onfocus: choose,
          onkeydown: (e: KeyboardEvent) => {
            if (e.key === 'Enter') {
              e.preventDefault();
              hooks.grab(id);
            }
          },
        },
        swatch,
        h('span', { class: 'name' }, soft.name),
        h('span', { class: 'what' }, `${soft.kind} · ${soft.sides.join(' × ')}`),
      ),
    );
  };

  const jointRow = (joint: JointInfo, i: number) => {
    const box = h('input', {
      type: 'checkbox',
      'aria-label': `${joint.name} holds`,
      title: 'Holds',
      checked: joint.enabled,
      onchange: () => {
        void app.do(command.enable(i, box.checked));
        app.select({ kind: 'joint', id: i });
      },
      // By keys alone: what a selection opens would move the box away from under the pointer between press and release.
      onfocus: () => {
        if (box.matches(':focus-visible')) app.select({ kind: 'joint', id: i });
      },
    });
    return h(
      'li',
      { 'data-joint': i, class: joint.enabled ? '' : 'off' },
      box,
      h(
        'button',
        {
          type: 'button',
          class: 'item',
          title: `${name(joint.solids[0])} – ${name(joint.solids[1])}, line ${joint.line}`,
          onclick: () => app.select({ kind: 'joint', id: i }),
          onfocus: () => app.select({ kind: 'joint', id: i }),
          onkeydown: (e: KeyboardEvent) => {
            if (e.key === 'Delete') void app.do(command.deleteConstraint(i));
          },
        },
        h('i', { class: joint.rank === 1 ? 'rank primary' : 'rank secondary', title: joint.rank === 1 ? 'primary' : 'secondary' }),
        h('span', { class: 'name' }, joint.name),
        h('span', { class: 'what' }, joint.kind + (joint.loop ? ' · loop' : '')),
      ),
      h(
        'button',
        {
          type: 'button',
          class: 'delete',
          'aria-label': `Delete ${joint.name}`,
          title: 'Delete from the text',
          onclick: () => void app.do(command.deleteConstraint(i)),
        },
        '×',
      ),
    );
  };

  const filter = (rows: Iterable<HTMLElement>) => {
    const words = find.value.toLowerCase();
    for (const item of rows) item.hidden = words !== '' && !item.textContent!.toLowerCase().includes(words);
  };
  const solidRows = new Rows(solids, filter);
  const jointRows = new Rows(joints, filter);
  find.addEventListener('input', () => {
    finish();
    filter(element.querySelectorAll<HTMLElement>('.list > li'));
  });

  app.on('scene', (scene) => {
    // What was said of a joint that is gone is not true any more.
    if (scene.joints.length < said) pickHint.textContent = '';
    said = scene.joints.length;
    const listed = (n: number) => (n > MOST ? ` (${MOST} listed)` : '');
    const whole = scene.solids.flatMap((s, i) => (i > 0 && s.soft === undefined ? [i] : []));
    const rows = [...scene.softs.map((_, k) => () => softRow(scene, k)), ...whole.map((i) => () => solidRow(scene, i))];
    const soft = scene.softs.length > 0 ? [many(scene.softs.length, 'soft body', 'soft bodies')] : [];
    const rigid = whole.length > 0 || soft.length === 0 ? [`${many(whole.length, 'solid')}${listed(whole.length)}`] : [];
    solidsTitle.textContent = [...soft, ...rigid].join(', ');
    jointsTitle.textContent = `${many(scene.joints.length, 'constraint')}${listed(scene.joints.length)}`;
    const active = document.activeElement;
    const keep = active?.closest('li')?.dataset;
    // The very control: the box that was switched can be switched back.
    const control = active instanceof HTMLInputElement ? 'input' : active?.classList.contains('delete') ? '.delete' : '.item';
    solidRows.set(rows);
    jointRows.set(scene.joints.map((joint, i) => () => jointRow(joint, i)));
    if (keep?.solid || keep?.joint) finish();
    if (keep?.joint) joints.querySelector<HTMLElement>(`[data-joint="${keep.joint}"] ${control}`)?.focus();
    if (keep?.solid) solids.querySelector<HTMLElement>(`[data-solid="${keep.solid}"] .item`)?.focus();
    mark();
  });

  const finish = () => {
    solidRows.finish();
    jointRows.finish();
  };

  const mark = () => {
    const s = app.selection;
    if (s) finish();
    for (const old of element.querySelectorAll('.chosen')) old.classList.remove('chosen');
    if (!s) return;
    const soft = s.kind === 'solid' ? app.scene?.solids[s.id]?.soft : undefined;
    const row = element.querySelector(soft === undefined ? `[data-${s.kind}="${s.id}"]` : `[data-soft="${soft}"]`);
    row?.classList.add('chosen');
    if (row && !row.contains(document.activeElement)) row.scrollIntoView({ block: 'nearest' });
    for (const id of app.also) element.querySelector(`[data-solid="${id}"]`)?.classList.add('chosen');
    if (s.kind === 'joint') {
      for (const end of app.scene!.joints[s.id]!.solids) element.querySelector(`[data-solid="${end}"]`)?.classList.add('chosen');
    }
  };
  app.on('selection', mark);

  // Which constraint is the most open one, a few times a second.
  let last = 0;
  app.on('frame', (frame) => {
    const now = performance.now();
    if (now - last < 250 || element.offsetParent === null) return;
    last = now;
    for (const old of joints.querySelectorAll('.worst')) {
      old.classList.remove('worst');
      old.querySelector('.gap')?.remove();
    }
    if (frame.worst < 0 || !frame.missed) return;
    const row = joints.querySelector(`[data-joint="${frame.worst}"]`);
    row?.classList.add('worst');
    row?.querySelector('.what')?.append(h('b', { class: 'gap' }, ` open ${gapWords(frame, app.settings?.tolerance ?? 0)}`));
  });
  return { id: 'outline', title: 'Parts', side: 'left', key: 'l', element };
}
