/** Sliders: how fast each motor runs or where it goes to, written into the text, and the present value of each joint. */

import * as THREE from 'three';
import type { App } from '../app';
import * as command from '../commands';
import { h } from '../dom';
import { degrees, digits, length } from '../format';
import type { DriveInfo, JointInfo, LimitInfo, SceneMessage } from '../protocol';
import { jointBlock, num, setNumber } from '../scenetext';
import type { Hands } from '../view/hands';
import type { Overlays } from '../view/overlays';
import type { Solids } from '../view/solids';
import type { Stage } from '../view/stage';

/** More rows than this nobody looks through. */
const MOST = 24;
const HAND = 'joint slider';
/** Ticks that a joint is given to get to where its slider was let go. */
const PATIENCE = 40;

/** The one direction in which a joint moves, if it has just one. */
export function wayOf(kind: string): LimitInfo['direction'] | null {
  return kind === 'pin' || kind === 'screw' ? 'r1' : kind === 'slider' ? 't1' : null;
}

/** Ends of a slider: the joint's limits, or all there is. */
function rangeOf(joint: JointInfo, way: LimitInfo['direction'], radius: number): [number, number] {
  const limit = joint.limits.find((l) => l.direction === way);
  const reach = way[0] === 'r' ? Math.PI : radius;
  return [limit?.min ?? -reach, limit?.max ?? reach];
}

export function motors(app: App, solids: Solids, overlays: Overlays, hands: Hands, stage: Stage): HTMLElement {
  const list = h('div', { class: 'sliders', id: 'motors' });
  const more = h('div', { class: 'sliders' });
  const joints: HTMLDetailsElement = h('details', { class: 'joints', id: 'joint-sliders' }, h('summary', {}, 'Joints'), more);
  const title = h('h3', {}, 'Motors');
  const element = h('section', { class: 'motion' }, title, list, joints);

  /** One text on its way at a time; the newest value waits. */
  let busy = false;
  let next: { go: () => void; first: boolean } | null = null;
  const write = (joint: number, drive: DriveInfo, value: number, first: boolean) => {
    if (busy) {
      // A drag that has just begun stays the beginning of an undo.
      const begins = first || (next?.first ?? false);
      next = { go: () => write(joint, drive, value, begins), first: begins };
      return;
    }
    const text = app.scene?.text ?? '';
    const clause = jointBlock(text, joint)?.clauses.find((c) => c.word === 'drive' && c.tokens[1]?.text === drive.direction);
    if (!clause) return app.toast('The slider cannot change this motor as it is written: see Text.', true);
    const changed = setNumber(text, clause, drive.speed !== undefined ? 'speed' : 'to', num(value));
    if (changed === text) return;
    busy = true;
    // One drag of a slider is one undo.
    void app.do(first ? command.setText(changed) : command.amend(changed)).then(() => {
      busy = false;
      const waiting = next;
      next = null;
      waiting?.go();
    });
  };

  const motorRow = (scene: SceneMessage, i: number, drive: DriveInfo) => {
    const joint = scene.joints[i]!;
    const turns = drive.direction[0] === 'r';
    const speed = drive.speed !== undefined;
    const now = drive.speed ?? drive.to ?? 0;
    const most = speed ? Math.max(turns ? 10 : 1, 2 * Math.abs(now)) : 0;
    const [low, high] = speed ? [-most, most] : rangeOf(joint, drive.direction, scene.radius);
    const show = (x: number) => (turns ? (speed ? `${digits(x)} rad/s` : degrees(x)) : `${length(x)}${speed ? '/s' : ''}`);
    const out = h('output', {}, show(now));
    let fresh = true;
    const input = h('input', {
      type: 'range',
      'data-motor': i,
      min: low,
      max: high,
      step: (high - low) / 400,
      value: now,
      'aria-label': `${joint.name}: ${speed ? 'speed' : 'position'}`,
      oninput: () => {
        const x = Math.abs(Number(input.value)) < (high - low) / 300 ? 0 : Number(input.value);
        out.textContent = show(x);
        write(i, drive, x, fresh);
        fresh = false;
      },
      onchange: () => (fresh = true),
    });
    refresh.push((x) => {
      // A slider in the user's hand is not moved by the echo of its own change.
      if (input.matches(':active')) return;
      input.value = String(x);
      out.textContent = show(x);
    });
    return h('label', { class: 'field slider' }, h('span', { title: joint.name }, joint.name), input, out);
  };
  /** What shows each motor's value, in the order of the rows. */
  let refresh: ((x: number) => void)[] = [];

  /** The joint in somebody's hand: where it is to go. */
  let held: { joint: number; way: LimitInfo['direction']; value: number; side: 0 | 1 } | null = null;
  const goal = (): { point: THREE.Vector3; turn: THREE.Quaternion } | null => {
    if (!held || !app.scene?.joints[held.joint]) return null;
    const { joint, way, value, side } = held;
    const move = new THREE.Matrix4();
    if (way[0] === 'r') move.makeRotationX(value);
    else move.makeTranslation(value, 0, 0);
    if (side === 0) move.invert();
    const ends = app.scene.joints[joint]!;
    const other = overlays.frameOf(joint, side === 1 ? 0 : 1);
    const local = overlays.frameOf(joint, side).premultiply(solids.matrices[ends.solids[side]]!.clone().invert());
    const pose = other.multiply(move).multiply(local.invert());
    const centre = new THREE.Vector3(...app.scene.solids[ends.solids[side]]!.center).applyMatrix4(pose);
    return { point: centre, turn: new THREE.Quaternion().setFromRotationMatrix(pose) };
  };
  const take = (joint: number, way: LimitInfo['direction'], value: number) => {
    const ends = app.scene!.joints[joint]!.solids;
    const side = solids.isMovable(ends[1]) ? 1 : 0;
    const solid = ends[side]!;
    if (held?.joint !== joint) {
      hands.end(HAND);
      const at = new THREE.Vector3(...app.scene!.solids[solid]!.center).applyMatrix4(solids.matrices[solid]!);
      hands.begin(HAND, solid, at, 'pin-pose', new THREE.Quaternion().setFromRotationMatrix(solids.matrices[solid]!));
    }
    leaving = -1;
    held = { joint, way, value, side };
    stage.invalidate();
  };
  const drop = () => {
    if (!held) return;
    held = null;
    leaving = -1;
    hands.end(HAND);
  };
  /** The slider was let go in this tick: a key presses and lets go at once, and the joint has yet to get there. */
  let leaving = -1;
  const leave = () => {
    if (held) leaving = app.frame?.tick ?? 0;
  };
  // The other side of the joint may move, too: what is asked for follows it.
  stage.before.push(() => {
    const to = goal();
    if (to && hands.has(HAND)) hands.move(HAND, to.point, to.turn);
    const frame = app.frame;
    if (leaving < 0 || !held || !frame) return;
    const there = Math.abs(overlays.coordinate(held.joint, held.way) - held.value) < 1e-3;
    if (frame.tick - leaving > PATIENCE || (there && frame.tick - leaving > 2)) drop();
    stage.invalidate();
  });

  const rows: { joint: number; way: LimitInfo['direction']; input: HTMLInputElement; out: HTMLElement }[] = [];
  const jointRow = (scene: SceneMessage, i: number, way: LimitInfo['direction']) => {
    const joint = scene.joints[i]!;
    const [low, high] = rangeOf(joint, way, scene.radius);
    const out = h('output', {});
    const input = h('input', {
      type: 'range',
      'data-joint-slider': i,
      min: low,
      max: high,
      step: (high - low) / 720,
      'aria-label': `${joint.name}: ${way[0] === 'r' ? 'angle' : 'travel'}`,
      oninput: () => take(i, way, Number(input.value)),
      onchange: leave,
      onblur: leave,
    });
    rows.push({ joint: i, way, input, out });
    return h('label', { class: 'field slider' }, h('span', { title: joint.name }, joint.name), input, out);
  };

  let shape = '';
  let scenes = 0;
  app.on('scene', (scene) => {
    const driven = scene.joints.flatMap((j, i) => j.drives.map((d) => ({ i, d })));
    const free = scene.joints.flatMap((j, i) => {
      const way = wayOf(j.kind);
      return way && j.enabled && j.solids.some((s) => scene.solids[s]!.kind === 'dynamic') ? [{ i, way }] : [];
    });
    // A slider under the finger is not replaced by the echo of its own change.
    if (app.other) scenes++;
    const now = JSON.stringify([scenes, driven.map(({ i, d }) => [i, scene.joints[i]!.name, d.direction, d.speed === undefined]), free, scene.joints.map((j) => j.limits)]);
    title.hidden = driven.length === 0;
    joints.hidden = free.length === 0;
    if (now === shape) return driven.slice(0, MOST).forEach(({ d }, k) => refresh[k]?.(d.speed ?? d.to ?? 0));
    refresh = [];
    shape = now;
    drop();
    rows.length = 0;
    list.replaceChildren(...driven.slice(0, MOST).map(({ i, d }) => motorRow(scene, i, d)));
    more.replaceChildren(...free.slice(0, MOST).map(({ i, way }) => jointRow(scene, i, way)));
  });
  let last = 0;
  app.on('frame', () => {
    const now = performance.now();
    if (now - last < 80 || element.offsetParent === null || !joints.open) return;
    last = now;
    for (const { joint, way, input, out } of rows) {
      if (!app.scene?.joints[joint]) continue;
      const x = overlays.coordinate(joint, way);
      out.textContent = way[0] === 'r' ? degrees(x) : length(x);
      if (held?.joint !== joint) input.value = String(x);
    }
  });
  return element;
}
