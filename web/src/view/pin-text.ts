/** A joint somewhere else, as text: bars that end there get longer or shorter, everything else is joined at another place. */

import * as THREE from 'three';
import type { SceneMessage } from '../protocol';
import { jointBlock, num, nums, setClause, solidBlock } from '../scenetext';
import { cornerAt, plated, withCorner } from './plate-text';
import { setPose } from './pose-text';
import { poseMatrix } from './solids';

export interface PinScene {
  scene: SceneMessage;
  matrices: THREE.Matrix4[];
  /** Where one side of a joint is in the scene, with its main axis as first column. */
  frameOf: (joint: number, side: 0 | 1) => THREE.Matrix4;
}

/** A bar of one piece, written from its origin along x: what drawing makes. */
export interface Bar {
  solid: number;
  length: number;
  /** Which end is at the joint. */
  end: 0 | 1;
  /** Where the ends are in the scene. */
  ends: [THREE.Vector3, THREE.Vector3];
}

const NEAR = 1e-4;

/** The length of such a bar, or nothing. */
export function barLength(scene: SceneMessage, solid: number): number | null {
  const info = scene.solids[solid];
  if (!info || info.shapes.length !== 1 || info.shapes[0]!.type !== 'capsule') return null;
  const words = solidBlock(scene.text, info.name)?.clauses.find((c) => c.word === 'shape')?.tokens.map((t) => t.text) ?? [];
  const plain = words.slice(3, 8).join(' ') === 'from 0 0 0 to' && words.slice(9, 11).join(' ') === '0 0' && words.length === 11;
  return plain ? info.shapes[0]!.length! : null;
}

/** All joints at the place of one: what is pinned together there goes together. */
export function jointsThere({ scene, frameOf }: PinScene, joint: number, normal: THREE.Vector3): number[] {
  const place = (j: number) => new THREE.Vector3().setFromMatrixPosition(frameOf(j, 0));
  const at = place(joint);
  return scene.joints.flatMap((_, j) => {
    // Parts that are pinned together lie beside each other.
    const way = place(j).sub(at);
    return way.addScaledVector(normal, -way.dot(normal)).length() < NEAR ? [j] : [];
  });
}

/** The bars that end at a joint. */
export function barsAt({ scene, matrices }: PinScene, joints: number[]): Bar[] {
  const found = new Map<number, Bar>();
  for (const j of joints) {
    const info = scene.joints[j]!;
    ([0, 1] as const).forEach((side) => {
      const solid = info.solids[side];
      const length = solid > 0 ? barLength(scene, solid) : null;
      const [x, y] = info.frames[side];
      if (length === null || Math.abs(y) > NEAR || found.has(solid)) return;
      const end = Math.abs(x) < NEAR ? 0 : Math.abs(x - length) < NEAR ? 1 : null;
      if (end === null) return;
      const ends = [0, length].map((k) => new THREE.Vector3(k, 0, 0).applyMatrix4(matrices[solid]!)) as Bar['ends'];
      found.set(solid, { solid, length, end, ends });
    });
  }
  return [...found.values()];
}

/** Three numbers of a clause of a joint: a frame's point, or one of the two points of a constraint. */
export function setPoint(text: string, joint: number, side: 0 | 1, at: THREE.Vector3, axis: THREE.Vector3): string {
  const block = jointBlock(text, joint);
  if (!block) return text;
  const hinge = block.clauses.find((c) => c.word === 'hinge');
  const clause = hinge ?? block.clauses.find((c) => c.word === `frame${side + 1}`);
  if (!clause) {
    const more = block.clauses.some((c) => c.tokens.some((t) => t.text === 'axis')) ? ` axis ${nums(axis.toArray())}` : '';
    return setClause(text, block, `frame${side + 1}`, nums(at.toArray()) + more);
  }
  const first = hinge && side === 1 ? 4 : 1;
  return text.slice(0, clause.tokens[first]!.from) + nums(at.toArray()) + text.slice(clause.tokens[first + 2]!.to);
}

/** A bar that is dragged by one of its ends. */
export function barBy({ scene, matrices }: PinScene, solid: number, end: 0 | 1): Bar | null {
  const length = barLength(scene, solid);
  if (length === null) return null;
  return { solid, length, end, ends: [0, length].map((k) => new THREE.Vector3(k, 0, 0).applyMatrix4(matrices[solid]!)) as Bar['ends'] };
}

/** The joint at an end of a bar, if there is one. */
export function jointAtEnd(scene: SceneMessage, bar: Bar): number | null {
  const there = (j: SceneMessage['joints'][number]) =>
    ([0, 1] as const).some((side) => j.solids[side] === bar.solid && Math.abs(j.frames[side][0] - (bar.end === 0 ? 0 : bar.length)) < NEAR && Math.abs(j.frames[side][1]) < NEAR);
  const found = scene.joints.findIndex(there);
  return found < 0 ? null : found;
}

/** The text with a joint, and all that are in its place, moved by a way in the scene. */
export function movePin(pins: PinScene, joint: number, way: THREE.Vector3, normal: THREE.Vector3): string {
  const joints = jointsThere(pins, joint, normal);
  return moved(pins, joints, barsAt(pins, joints), way);
}

/** The pose of a bar with one end moved by a way, and how long it is then. */
function turned({ matrices }: PinScene, { solid, end, ends }: Bar, way: THREE.Vector3): { matrix: THREE.Matrix4; q: THREE.Quaternion; at: THREE.Vector3; length: number } {
  const to = ends.map((p, k) => (k === end ? p.clone().add(way) : p)) as Bar['ends'];
  const [was, now] = [ends[1].clone().sub(ends[0]), to[1].clone().sub(to[0])];
  const length = now.length();
  const q = new THREE.Quaternion().setFromUnitVectors(was.normalize(), now.normalize()).multiply(new THREE.Quaternion().setFromRotationMatrix(matrices[solid]!));
  return { matrix: new THREE.Matrix4().compose(to[0], q, new THREE.Vector3(1, 1, 1)), q, at: to[0], length };
}

/** Where the bar is once its end has moved: whoever joins something to it has to know. */
export const poseAfter = (pins: PinScene, bar: Bar, way: THREE.Vector3): THREE.Matrix4 => turned(pins, bar, way).matrix;

/** The text with the free end of a bar moved by a way in the scene: the other end stays. */
export const moveEnd = (pins: PinScene, bar: Bar, way: THREE.Vector3): string => moved(pins, [], [bar], way);

function moved(pins: PinScene, joints: number[], bars: Bar[], way: THREE.Vector3): string {
  const { scene, matrices, frameOf } = pins;
  let text = scene.text;
  /** By how much bars get longer. */
  const stretched = new Map<number, number>();
  // New poses of the bars; all others stay.
  const poses = matrices.map((m) => m.clone());
  for (const bar of bars) {
    const { solid } = bar;
    const { matrix, q, at, length } = turned(pins, bar, way);
    if (length < NEAR) return scene.text;
    poses[solid]!.copy(matrix);
    const { name } = scene.solids[solid]!;
    const size = solidBlock(text, name)!.clauses.find((c) => c.word === 'shape')!.tokens[8]!;
    text = text.slice(0, size.from) + num(length) + text.slice(size.to);
    text = setPose(text, name, at, q);
    stretched.set(solid, length / bar.length);
  }
  // Corners of plates that are joined there go along.
  for (const j of joints) {
    const info = scene.joints[j]!;
    for (const side of [0, 1] as const) {
      const solid = info.solids[side];
      const plate = solid > 0 ? plated({ ...scene, text }, solid) : null;
      const own = new THREE.Vector3(...info.frames[side].slice(0, 3));
      const corner = plate ? cornerAt(plate, own) : -1;
      if (!plate || corner < 0) continue;
      const back = matrices[solid]!.clone().multiply(poseMatrix(plate.shape.pose)).invert();
      const to = new THREE.Vector3().setFromMatrixPosition(frameOf(j, side)).add(way).applyMatrix4(back);
      text = withCorner(text, scene.solids[solid]!.name, plate, corner, to.setZ(0));
    }
  }
  scene.joints.forEach((info, j) => {
    const goes = joints.includes(j);
    if (!goes && !info.solids.some((s) => stretched.has(s))) return;
    const block = jointBlock(text, j);
    const placed = block?.clauses.some((c) => c.word === 'at') ?? false;
    // A place of the scene means the old poses: it becomes two frames.
    if (placed) text = setClause(text, block!, 'at', null);
    ([0, 1] as const).forEach((side) => {
      const solid = info.solids[side];
      const frame = frameOf(j, side);
      const [x, y, z] = info.frames[side];
      let at = new THREE.Vector3(x, y, z);
      if (stretched.has(solid)) at.x *= stretched.get(solid)!;
      else if (goes) at = new THREE.Vector3().setFromMatrixPosition(frame).add(way).applyMatrix4(poses[solid]!.clone().invert());
      else if (!placed) return;
      const axis = new THREE.Vector3().setFromMatrixColumn(frame, 0).transformDirection(matrices[solid]!.clone().invert());
      if (placed) text = setClause(text, jointBlock(text, j)!, `frame${side + 1}`, `${nums(at.toArray())} axis ${nums(axis.toArray())}`);
      else text = setPoint(text, j, side, at, axis);
    });
  });
  return text;
}
