/** What is selected, in numbers that can be changed: mass, colour, size and place of a solid; kind, motor and limits of a joint. */

import * as THREE from 'three';
import type { App } from '../app';
import * as command from '../commands';
import { h, icon } from '../dom';
import { digits, many } from '../format';
import { type Made, type Scenery, aligned, copied, grouped, mirrored, removed, ungrouped, welds, withGroup } from '../groups';
import type { DriveInfo, JointInfo, LimitInfo, SolidInfo } from '../protocol';
import { type Block, jointBlock, num, nums, setClause, setNumber, solidBlock } from '../scenetext';
import { AXIAL, axisOf, withAxis, withKind } from '../view/joint-text';
import type { Overlays } from '../view/overlays';
import { setPose } from '../view/pose-text';
import { SIZES, sizeTokens } from '../view/size-text';
import { type Plane, nice } from '../view/sketch';
import type { Solids } from '../view/solids';
import { wayOf } from './motors';

/** Joints by their pictures. */
export const KINDS: [string, string, string][] = [
  ['pin', 'Pin: turns about one axis', 'M12 3a6 6 0 1 1 0 12 6 6 0 0 1 0-12zm0 2.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM11 8h2v2h-2zM3 17h18v2H3z'],
  ['ball', 'Ball: turns every way', 'M12 5a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM5 10a7 7 0 0 0 14 0h2a9 9 0 0 1-8 9v3h-2v-3a9 9 0 0 1-8-9z'],
  ['slider', 'Slider: slides along one axis', 'M2 15h20v2H2zM6 7h12v7H6zm2 2v3h8V9zM2 20h20v1.500H2z'],
  ['cylindrical', 'Cylindrical: turns about an axis and slides along it', 'M2 11h4V8h12v3h4v2h-4v3H6v-3H2zm6-1v4h8v-4zM9 3a6 6 0 0 1 6 0l-1 1.600a4 4 0 0 0-4 0z'],
  ['planar', 'Planar: slides in a plane and turns in it', 'M2 19l5-7h15l-5 7zM9 5h7v5H9zm2 2v1h3V7z'],
  ['cardan', 'Cardan: two axes that cross', 'M3 5h2v5a7 7 0 0 0 14 0V5h2v5a9 9 0 0 1-8 8.900V22h-2v-3.100A9 9 0 0 1 3 10zm5 3h8v3H8zm3-4h2v11h-2z'],
  ['weld', 'Weld: joined rigidly', 'M4 4h9v7h7v9h-9v-7H4zm2 2v5h5V6zm7 7v5h5v-5z'],
];

export interface InspectorHooks {
  /** The directions of the plane that is drawn on. */
  plane: () => Plane;
  trace: (solid: number) => void;
  /** Puts a joint somewhere else. */
  place: (joint: number, at: THREE.Vector3) => void;
  reach: (solid: number) => void;
  measure: (what: 'speed' | 'coordinate' | 'force', id: number) => void;
  /** From one part to another; from 0 it is the angle to the level line. */
  angle: (one: number, two: number) => void;
  say: (words: string) => void;
}

export function inspector(app: App, solids: Solids, overlays: Overlays, hooks: InspectorHooks): HTMLElement & { remove_: () => void; copy: () => void } {
  const box = h('section', { class: 'inspector', id: 'inspector', 'aria-label': 'Selection', hidden: true });
  const text = () => app.scene!.text;
  const send = async (changed: string, select?: string): Promise<void> => {
    if (changed === text()) return;
    if (!(await app.do(command.setText(changed))) || select === undefined) return;
    const id = app.scene!.solids.findIndex((s) => s.name === select);
    app.select(id > 0 ? { kind: 'solid', id } : null);
  };
  const unnamed = () => app.toast('Several parts share this block of the text: edit it there.', true);
  const edit = (name: string, change: (text: string, block: Block) => string) => {
    const block = solidBlock(text(), name);
    if (!block) return unnamed();
    void send(change(text(), block));
  };

  const number = (id: string, label: string, unit: string, value: number, change: (x: number) => void, least = -Infinity) => {
    // What is not limited has an empty field.
    const shown = Number.isFinite(value) ? num(Math.round(value * 1e4) / 1e4) : '';
    const input = h('input', { type: 'number', id, step: 'any', value: shown, placeholder: 'no limit', 'data-shown': shown, 'aria-label': unit ? `${label}, ${unit}` : label });
    input.addEventListener('change', () => {
      const x = Number(input.value);
      if (input.value.trim() === '' || !Number.isFinite(x) || x < least) {
        input.value = shown;
        input.dataset.shown = shown;
        return app.toast(`${label} must be a number${least > -Infinity ? ` of at least ${num(least)}` : ''}.`, true);
      }
      input.dataset.shown = input.value;
      change(x);
    });
    return h('label', { class: 'field number' }, h('span', {}, label), input, h('small', {}, unit));
  };

  const reshape = (solid: SolidInfo, id: number, was: number, now: number) => {
    let changed = text();
    const block = solidBlock(changed, solid.name);
    const clause = block?.clauses.find((c) => c.word === 'shape');
    if (!block || !clause) return unnamed();
    // Joints at the far end go with it.
    const end = now / was;
    changed = changed.slice(0, clause.from) + `shape capsule ${clause.tokens[2]!.text} from 0 0 0 to ${num(now)} 0 0` + changed.slice(clause.to);
    app.scene!.joints.forEach((joint, j) => {
      ([0, 1] as const).forEach((side) => {
        const [x, y, z] = joint.frames[side];
        if (joint.solids[side] !== id || Math.abs(x - was) > 1e-4 || Math.abs(y) > 1e-4) return;
        const frame = jointBlock(changed, j)?.clauses.find((c) => c.word === `frame${side + 1}`);
        if (!frame) return;
        changed = changed.slice(0, frame.tokens[1]!.from) + nums([x * end, y, z]) + changed.slice(frame.tokens[3]!.to);
      });
    });
    void send(changed);
  };

  /** The sizes of a part of one shape, as its clause has them. */
  const sizeFields = (solid: SolidInfo, block: Block | null): Node[] => {
    const found = sizeTokens(block);
    return (found?.numbers ?? []).map((token, k) => {
      const [key, label] = SIZES[found!.type]![k]!;
      return number(`inspect-${key}`, label, 'm', Number(token.text), (x) =>
        edit(solid.name, (t, b) => {
          const at = sizeTokens(b)!.numbers[k]!;
          return t.slice(0, at.from) + num(x) + t.slice(at.to);
        }), 1e-4);
    });
  };

  const solidFields = (id: number): Node[] => {
    const solid = app.scene!.solids[id]!;
    const name = solid.name;
    const block = solidBlock(text(), name);
    const m = solids.matrices[id]!;
    const at = new THREE.Vector3().setFromMatrixPosition(m);
    const q = new THREE.Quaternion().setFromRotationMatrix(m);
    const color = h('input', { type: 'color', id: 'inspect-color', 'aria-label': 'Colour', value: `#${solid.color.map((c) => Math.round(255 * c).toString(16).padStart(2, '0')).join('')}` });
    color.addEventListener('change', () => edit(name, (t, b) => setClause(t, b, 'color', nums([1, 3, 5].map((k) => Math.round((parseInt(color.value.slice(k, k + 2), 16) / 255) * 1000) / 1000)))));
    const fixed = h('input', { type: 'checkbox', id: 'inspect-fixed', checked: solid.kind === 'fixed' });
    fixed.addEventListener('change', () => edit(name, (t, b) => setClause(t, b, 'kernel', fixed.checked ? 'fixed' : null)));
    const place = (k: number) => (x: number) => {
      const there = at.clone().setComponent(k, x);
      if (!block) return unnamed();
      void send(setPose(text(), name, there, q));
    };
    const capsule = solid.shapes.length === 1 && solid.shapes[0]!.type === 'capsule' && block?.clauses.find((c) => c.word === 'shape')?.tokens.map((t) => t.text).slice(3, 7).join(' ') === 'from 0 0 0' ? solid.shapes[0]! : null;
    // A turn about the normal of the drawing is one number.
    const n = hooks.plane().n;
    const about = new THREE.Vector3(q.x, q.y, q.z);
    const flat = about.clone().addScaledVector(n, -about.dot(n)).length() < 1e-5;
    const angle = (2 * Math.atan2(about.dot(n), q.w) * 180) / Math.PI;
    return [
      ...(solid.kind === 'scripted' ? [] : [h('label', { class: 'check' }, fixed, h('span', {}, 'Fixed to the ground'))]),
      ...(solid.kind === 'dynamic' ? [number('inspect-mass', 'Mass', 'kg', solid.mass, (x) => edit(name, (t, b) => setClause(setClause(t, b, 'density', null), solidBlock(setClause(t, b, 'density', null), name)!, 'mass', num(x))), 1e-6)] : []),
      h('label', { class: 'field' }, h('span', {}, 'Colour'), color),
      ...(capsule ? [number('inspect-length', 'Length', 'm', capsule.length!, (x) => reshape(solid, id, capsule.length!, x), 1e-4)] : []),
      ...sizeFields(solid, block),
      h('div', { class: 'triple' }, ...(['x', 'y', 'z'] as const).map((c, k) => number(`inspect-${c}`, c, 'm', at.getComponent(k), place(k)))),
      ...(flat && !solid.particle ? [number('inspect-angle', 'Angle', '°', Math.abs(angle) > 180 ? angle - 360 * Math.sign(angle) : angle, (x) => block ? void send(setPose(text(), name, at, new THREE.Quaternion().setFromAxisAngle(n, (x * Math.PI) / 180))) : unnamed())] : []),
      h(
        'div',
        { class: 'row' },
        h('button', { type: 'button', id: 'inspect-copy', title: 'Ctrl+D', onclick: copy }, 'Copy'),
        h('button', { type: 'button', id: 'inspect-mirror', title: 'A mirror image on the other side of x = 0', onclick: mirror }, 'Mirror'),
        h('button', { type: 'button', id: 'inspect-delete', title: 'Delete', onclick: remove }, 'Delete'),
      ),
      more(),
      h(
        'div',
        { class: 'row' },
        h('button', { type: 'button', id: 'inspect-trace', onclick: () => hooks.trace(id) }, 'Trace its centre'),
        h('button', { type: 'button', id: 'inspect-speed', onclick: () => hooks.measure('speed', id) }, 'Measure its speed'),
        ...(solid.particle ? [] : [h('button', { type: 'button', id: 'inspect-tilt', title: 'Which way it points, from level', onclick: () => hooks.angle(0, id) }, 'Measure its angle')]),
        ...(solid.kind === 'dynamic' ? [h('button', { type: 'button', id: 'inspect-reach', title: 'Everywhere its centre can go', onclick: () => hooks.reach(id) }, 'Show its reach')] : []),
      ),
    ];
  };

  /** Of a vertex: what it belongs to. The body itself is changed in the text. */
  const vertexFields = (id: number): Node[] => {
    const soft = app.scene!.softs[app.scene!.solids[id]!.soft!]!;
    const limits = [...new Set(soft.springs.map((s) => s.limit))];
    const limit = limits.length === 1 && limits[0] !== null ? `, stretches by ${digits(100 * limits[0]!)} % at most` : '';
    return [
      h('p', { class: 'hint' }, `A vertex of ${soft.name}: ${soft.kind}, ${soft.sides.join(' × ')} vertices, ${digits(soft.mass)} kg${limit}.`),
      h(
        'div',
        { class: 'row' },
        h('button', { type: 'button', id: 'inspect-trace', onclick: () => hooks.trace(id) }, 'Trace it'),
        h('button', { type: 'button', id: 'inspect-speed', onclick: () => hooks.measure('speed', id) }, 'Measure its speed'),
      ),
    ];
  };

  const scenery = (): Scenery => ({ scene: app.scene!, matrices: solids.matrices, frameOf: (j, side) => overlays.frameOf(j, side) });
  /** What is selected, and what is grouped with it. */
  const chosenParts = () => withGroup(app.scene!, app.chosen);
  const make = (made: Made | string) => {
    if (typeof made === 'string') return app.toast(made, true);
    void app.do(command.setText(made.text)).then((ok) => ok && app.choose(made.names));
  };
  const copy = () => {
    const ids = chosenParts();
    if (ids.length === 0) return;
    const size = solids.bounds(new Set(ids)).getSize(new THREE.Vector3());
    make(copied(scenery(), ids, new THREE.Vector3(0.25 * Math.max(size.x, size.y, size.z), 0, 0)));
  };
  const mirror = () => make(mirrored(scenery(), chosenParts()));
  const chosen = (kind: 'solid' | 'joint') => (app.selection?.kind === kind ? app.selection.id : null);
  const remove = () => {
    const joint = chosen('joint');
    if (joint !== null) return void app.do(command.deleteConstraint(joint));
    const ids = app.chosen.filter((id) => id > 0);
    if (ids.length === 0) return;
    const names = ids.map((id) => app.scene!.solids[id]!.name);
    if (names.some((name) => !solidBlock(text(), name))) return unnamed();
    void send(removed(app.scene!, ids)).then(() => {
      app.select(null);
      hooks.say(`Deleted ${names.length === 1 ? names[0] : many(names.length, 'part')}.`);
    });
  };

  /** The same text edit for all that is selected. */
  const all = (changed: string) => {
    const names = app.chosen.map((id) => app.scene!.solids[id]!.name);
    if (changed === text()) return;
    void app.do(command.setText(changed)).then((ok) => ok && app.choose(names));
  };
  const middle = (id: number) => solids.bounds(new Set([id])).getCenter(new THREE.Vector3());
  const manyFields = (): Node[] => {
    const ids = app.chosen;
    const button = (id: string, words: string, title: string, act: () => void) => h('button', { type: 'button', id, title, onclick: act }, words);
    const fixed = h('input', { type: 'checkbox', id: 'inspect-fixed', checked: ids.every((id) => app.scene!.solids[id]!.kind === 'fixed') });
    fixed.addEventListener('change', () => {
      let changed = text();
      for (const id of ids) {
        const block = solidBlock(changed, app.scene!.solids[id]!.name);
        if (block) changed = setClause(changed, block, 'kernel', fixed.checked ? 'fixed' : null);
      }
      all(changed);
    });
    const together = welds(app.scene!, ids).length > 0;
    return [
      h('p', { class: 'hint' }, ids.map((id) => app.scene!.solids[id]!.name).join(', ')),
      h('label', { class: 'check' }, fixed, h('span', {}, 'Fixed to the ground')),
      h(
        'div',
        { class: 'row', role: 'group', 'aria-label': 'Align centres with the first part' },
        h('span', {}, 'Align'),
        ...(['x', 'y', 'z'] as const).map((c, k) => button(`align-${c}`, c, `The same ${c} as ${app.scene!.solids[ids[0]!]!.name}`, () => all(aligned(scenery(), ids, k as 0 | 1 | 2, middle)))),
      ),
      h(
        'div',
        { class: 'row' },
        together
          ? button('inspect-ungroup', 'Ungroup', 'They move independently again', () => all(ungrouped(app.scene!, ids)))
          : button('inspect-group', 'Group', 'They move as one: welded to each other', () => all(grouped(scenery(), ids))),
        button('inspect-copy', 'Copy', 'Ctrl+D', copy),
        button('inspect-mirror', 'Mirror', 'A mirror image on the other side of x = 0', mirror),
        button('inspect-delete', 'Delete', 'Delete', remove),
      ),
      ...(ids.length === 2 ? [h('div', { class: 'row' }, button('inspect-between', 'Measure the angle between them', 'From the first to the second part: along bars, along the axes of wheels, along the longest sides of boxes', () => hooks.angle(ids[0]!, ids[1]!)))] : []),
      more(),
    ];
  };
  /** For fingers, which have no Shift. */
  const more = () => h('button', { type: 'button', id: 'select-more', 'aria-pressed': String(app.adding), title: 'The next parts you click are added to the selection (Shift+click does the same)', onclick: () => {
    app.adding = !app.adding;
    show();
  } }, app.adding ? 'Done selecting' : 'Select more parts');

  const change = (id: number, make: (text: string, block: Block) => string) => {
    const block = jointBlock(text(), id);
    if (block?.keyword !== 'joint') return app.toast('This joint is written as a constraint: edit it in the text.', true);
    void send(make(text(), block));
  };
  const pinned = () => ({ scene: app.scene!, matrices: solids.matrices, frameOf: (j: number, side: 0 | 1) => overlays.frameOf(j, side) });
  const setKind = (id: number, kind: string) => change(id, (t) => withKind(pinned(), id, kind, hooks.plane()) ?? t);
  const setAxis = (id: number, axis: THREE.Vector3) => change(id, (t) => withAxis(pinned(), t, id, axis));

  /** Which way a joint points: by a button for each direction of the scene, and in the drawing by an angle. */
  const axisFields = (id: number, kind: string): Node[] => {
    if (!AXIAL.has(kind) || kind === 'weld') return [];
    const axis = axisOf(pinned(), id);
    const { u, v, n } = hooks.plane();
    const unit = (k: number) => new THREE.Vector3().setComponent(k, 1);
    const buttons = (['x', 'y', 'z'] as const).map((c, k) =>
      h('button', { type: 'button', id: `inspect-axis-${c}`, 'aria-pressed': String(Math.abs(axis.getComponent(k)) > 1 - 1e-6), title: `${kind === 'slider' ? 'Slides along' : 'The axis is'} ${c}`, onclick: () => setAxis(id, unit(k)) }, c),
    );
    const row = h('div', { class: 'row axes', role: 'group', 'aria-label': 'Axis of the joint' }, h('span', {}, kind === 'slider' ? 'Slides along' : 'Axis'), ...buttons);
    if (Math.abs(axis.dot(n)) > 1e-4) return [row];
    const angle = (Math.atan2(axis.dot(v), axis.dot(u)) * 180) / Math.PI;
    return [row, number('inspect-direction', 'Direction', '°', angle, (x) => setAxis(id, u.clone().multiplyScalar(Math.cos((x * Math.PI) / 180)).addScaledVector(v, Math.sin((x * Math.PI) / 180))))];
  };

  const motorFields = (id: number, joint: JointInfo, way: LimitInfo['direction']): Node[] => {
    const drive: DriveInfo | undefined = joint.drives.find((d) => d.direction === way);
    const turns = way[0] === 'r';
    const now = !drive ? 'none' : drive.speed !== undefined ? 'speed' : (drive.stiffness ?? 0) > 0 ? 'spring' : 'to';
    const set = (clause: string | null) => change(id, (t, b) => setClause(t, b, `drive ${way}`, clause));
    const here = overlays.coordinate(id, way);
    const written = (x: number) => (turns ? `${num(Math.round(100 * x) / 100)} deg` : num(x));
    const shown = (x: number) => (turns ? (x * 180) / Math.PI : x);
    const kind = h(
      'select',
      {
        id: 'inspect-motor',
        'aria-label': 'Motor',
        onchange: () => {
          const start = { none: null, speed: turns ? 'speed 2' : 'speed 0.2', to: `to ${written(shown(here))}`, spring: `to ${written(shown(here))} stiffness ${turns ? 20 : 200} damping ${turns ? 1 : 10}` }[kind.value as 'none'];
          set(start);
        },
      },
      ...([['none', 'none'], ['speed', 'keeps a speed'], ['to', 'goes to a position'], ['spring', 'spring and damper']] as const).map(([v, words]) => h('option', { value: v, selected: v === now }, words)),
    );
    const replace = (after: string, value: string) =>
      change(id, (t, b) => {
        const c = b.clauses.find((x) => x.word === 'drive' && x.tokens[1]?.text === way)!;
        return c.tokens.some((x) => x.text === after) ? setNumber(t, c, after, value) : t.slice(0, c.to) + ` ${after} ${value}` + t.slice(c.to);
      });
    return [
      h('label', { class: 'field' }, h('span', {}, 'Motor'), kind),
      ...(drive?.speed !== undefined ? [number('inspect-speed-value', 'Speed', turns ? 'rad/s' : 'm/s', drive.speed, (x) => replace('speed', num(x)))] : []),
      ...(drive?.to !== undefined ? [number('inspect-to', 'Place', turns ? '°' : 'm', shown(drive.to), (x) => replace('to', written(x)))] : []),
      ...(now === 'spring' ? [number('inspect-stiffness', 'Stiffness', turns ? 'N m/rad' : 'N/m', drive!.stiffness!, (x) => replace('stiffness', num(x)), 0), number('inspect-damping', 'Damping', turns ? 'N m s/rad' : 'N s/m', drive!.damping!, (x) => replace('damping', num(x)), 0)] : []),
      ...(drive ? [number('inspect-most', turns ? 'Torque' : 'Force', turns ? 'N m' : 'N', drive.most ?? Infinity, (x) => replace('max-force', num(x)), 1e-6)] : []),
    ];
  };

  const limitFields = (id: number, joint: JointInfo, way: LimitInfo['direction']): Node[] => {
    const limit = joint.limits.find((l) => l.direction === way);
    const turns = way[0] === 'r';
    const written = (x: number) => (turns ? `${num(x)} deg` : num(x));
    const shown = (x: number) => (turns ? (x * 180) / Math.PI : x);
    const set = (low: number, high: number) => (low < high ? change(id, (t, b) => setClause(t, b, `limit ${way}`, `${written(low)} ${written(high)}`)) : app.toast('The lower limit must be below the upper one.', true));
    const here = shown(overlays.coordinate(id, way));
    // A slider gets about as far as its parts are long, in round numbers.
    const long = joint.solids.map((i) => (i === 0 ? 0 : solids.bounds(new Set([i])).getSize(new THREE.Vector3()).length()));
    const reach = turns ? 90 : nice(Math.max(...long) || 0.5);
    const unit = turns ? 1 : 0.1 * reach;
    const round = (x: number) => Math.round(x / unit) * unit;
    const box_ = h('input', { type: 'checkbox', id: 'inspect-limited', checked: limit !== undefined });
    box_.addEventListener('change', () => (box_.checked ? set(round(here - reach), round(here + reach)) : change(id, (t, b) => setClause(t, b, `limit ${way}`, null))));
    const [low, high] = [shown(limit?.min ?? 0), shown(limit?.max ?? 0)];
    return [
      h('label', { class: 'check' }, box_, h('span', {}, 'Limits')),
      ...(limit ? [h('div', { class: 'pair' }, number('inspect-min', 'From', turns ? '°' : 'm', low, (x) => set(x, high)), number('inspect-max', 'To', turns ? '°' : 'm', high, (x) => set(low, x)))] : []),
    ];
  };

  const jointFields = (id: number): Node[] => {
    const joint = app.scene!.joints[id]!;
    const way = wayOf(joint.kind) ?? (joint.kind === 'cylindrical' ? 'r1' : null);
    const names = joint.solids.map((s) => (s === 0 ? 'ground' : app.scene!.solids[s]!.name));
    return [
      h('p', { class: 'hint' }, `${names[0]} – ${names[1]}`),
      h(
        'div',
        { class: 'kinds', role: 'group', 'aria-label': 'Kind of joint' },
        ...KINDS.map(([kind, label, path]) => h('button', { type: 'button', class: 'icon', 'data-kind': kind, 'aria-label': label, title: label, 'aria-pressed': String(joint.kind === kind), onclick: () => joint.kind !== kind && setKind(id, kind) }, icon(path))),
      ),
      ...axisFields(id, joint.kind),
      ...(way ? [...motorFields(id, joint, way), ...limitFields(id, joint, way)] : []),
      h(
        'div',
        { class: 'triple' },
        ...(['x', 'y', 'z'] as const).map((c, k) => {
          const at = new THREE.Vector3().setFromMatrixPosition(overlays.frameOf(id, 0));
          return number(`inspect-${c}`, c, 'm', at.getComponent(k), (x) => hooks.place(id, at.clone().setComponent(k, x)));
        }),
      ),
      h(
        'div',
        { class: 'row' },
        ...(way ? [h('button', { type: 'button', id: 'inspect-coordinate', onclick: () => hooks.measure('coordinate', id) }, way[0] === 'r' ? 'Measure its angle' : 'Measure its travel')] : []),
        h('button', { type: 'button', id: 'inspect-force', onclick: () => hooks.measure('force', id) }, 'Measure its force'),
        h('button', { type: 'button', id: 'inspect-delete', title: 'Delete', onclick: remove }, 'Delete'),
      ),
    ];
  };

  let whom = '';
  const show = () => {
    const s = app.selection;
    const there = s && app.scene && s.id < (s.kind === 'solid' ? app.scene.solids : app.scene.joints).length && !(s.kind === 'solid' && s.id === 0);
    box.hidden = !there;
    if (!there) return box.replaceChildren();
    // Whoever is typing a number is not interrupted; what they enter brings the next look.
    const active = document.activeElement;
    const typing = active instanceof HTMLInputElement && active.type === 'number' && box.contains(active) && active.value !== active.dataset.shown;
    if (typing && whom === `${s.kind} ${s.id}`) return;
    whom = `${s.kind} ${s.id}`;
    const focus = box.contains(document.activeElement) ? document.activeElement!.id || (document.activeElement as HTMLElement).dataset.kind : null;
    const several = app.also.size > 0;
    const name = several ? many(app.chosen.length, 'part') : (s.kind === 'solid' ? app.scene!.solids : app.scene!.joints)[s.id]!.name;
    box.replaceChildren(h('h3', {}, name), ...(several ? manyFields() : s.kind === 'joint' ? jointFields(s.id) : app.scene!.solids[s.id]!.soft === undefined ? solidFields(s.id) : vertexFields(s.id)));
    // The field that was just changed stays in hand.
    const again = focus ? (box.querySelector<HTMLElement>(`#${focus}`) ?? box.querySelector<HTMLElement>(`[data-kind="${focus}"]`)) : null;
    again?.focus();
    // Whoever has just stepped into a field means to replace its number, not to add digits to it.
    if (again instanceof HTMLInputElement && again.type === 'number') again.select();
  };
  // Numbers of the text come with a scene, places with its first frame: until then there is nothing new to show.
  let due = false;
  app.on('selection', () => due || show());
  app.on('scene', () => (due = true));
  // So do those of what has moved, once it stands again.
  let moves = false;
  app.on('frame', (f) => {
    const now = f.running || f.grabs.length > 0;
    if (moves && !now && !box.hidden) due = true;
    moves = now;
    if (!due) return;
    due = false;
    // The solids stand where the frame says only once it is drawn.
    requestAnimationFrame(() => requestAnimationFrame(show));
  });
  return Object.assign(box, { remove_: remove, copy });
}
