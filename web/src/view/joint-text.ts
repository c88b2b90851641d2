/** The kind of a joint and the direction of its axis, as text. */

import * as THREE from 'three';
import { type Clause, jointBlock, setClause } from '../scenetext';
import type { PinScene } from './pin-text';
import { frameText, type Plane } from './sketch';
import { poseMatrix } from './solids';

/** Kinds that have an axis. */
export const AXIAL = new Set(['pin', 'slider', 'cylindrical', 'planar', 'cardan', 'weld']);
/** Words that name a kind and have no picture. */
const OTHERS = new Set(['universal', 'prismatic', 'screw', 'distance', 'lock', 'point-on-line', 'point-on-plane', 'ball-socket', 'smooth-contact']);
/** Directions that each kind leaves free: no others can have limits and motors. */
const FREE: Record<string, string[]> = { pin: ['r1'], slider: ['t1'], cylindrical: ['r1', 't1'], ball: ['r1', 'r2', 'r3'], planar: ['t2', 't3', 'r1'], cardan: ['r2', 'r3'], weld: [] };
/** Cosines and sines below this are none. */
const NONE = 1e-4;

/** The axis of a joint in the scene, as its first side has it. */
export const axisOf = (pins: PinScene, joint: number): THREE.Vector3 => new THREE.Vector3().setFromMatrixColumn(pins.frameOf(joint, 0), 0);

/** The text with another axis of a joint, in directions of the scene; both sides stay where they are. */
export function withAxis(pins: PinScene, text: string, joint: number, axis: THREE.Vector3): string {
  const info = pins.scene.joints[joint]!;
  let out = setClause(text, jointBlock(text, joint)!, 'at', null);
  info.solids.forEach((s, side) => {
    const at = new THREE.Vector3().setFromMatrixPosition(pins.frameOf(joint, side as 0 | 1));
    out = setClause(out, jointBlock(out, joint)!, `frame${side + 1}`, frameText({ name: '', matrix: pins.matrices[s]! }, at, axis));
  });
  return out;
}

/** Where something slides that nobody has told yet: along a bar of the two, else along the longer side of a box, else level. */
export function wayAlong({ scene, matrices }: PinScene, joint: number, { u, n }: Plane): THREE.Vector3 {
  const sides = scene.joints[joint]!.solids.filter((s) => s > 0);
  for (const type of ['capsule', 'box']) {
    for (const s of [...sides].reverse()) {
      const [shape, ...more] = scene.solids[s]!.shapes;
      if (!shape || more.length > 0 || shape.type !== type) continue;
      const size = shape.size ?? [1, 0, 0];
      const long = size.indexOf(Math.max(...size));
      if (size.filter((x) => x > 0.99 * size[long]!).length > 1) continue;
      const way = new THREE.Vector3().setFromMatrixColumn(matrices[s]!.clone().multiply(poseMatrix(shape.pose)), long);
      if (Math.abs(way.dot(n)) < 0.1) return way.dot(u) < -NONE ? way.negate() : way;
    }
  }
  return u.clone();
}

/** The text with another kind of joint. `null`: it is not written as a joint of a kind. */
export function withKind(pins: PinScene, joint: number, kind: string, plane: Plane): string | null {
  const { text } = pins.scene;
  const block = jointBlock(text, joint);
  const old = block?.clauses.find((c) => FREE[c.word] || OTHERS.has(c.word));
  if (block?.keyword !== 'joint' || !old) return null;
  let out = text.slice(0, old.from) + kind + text.slice(old.to);
  const has = block.clauses.some((c) => c.tokens.some((x) => x.text === 'axis'));
  const across = has ? Math.abs(axisOf(pins, joint).dot(plane.n)) : 0;
  if (kind === 'slider') {
    // A pin turns about what points out of the drawing; nothing is meant to slide there.
    if (!has || across > 1 - NONE) out = withAxis(pins, out, joint, wayAlong(pins, joint, plane));
  } else if (AXIAL.has(kind) && (!has || (old.word === 'slider' && (kind === 'pin' || kind === 'planar') && across < NONE))) {
    // A point has no axis yet, and a slider's lies in the drawing: the new one goes across it.
    out = withAxis(pins, out, joint, plane.n);
  }
  // Limits and motors of directions that the new kind does not have would be errors.
  const stray = (): Clause | undefined => jointBlock(out, joint)?.clauses.find((x) => (x.word === 'limit' || x.word === 'drive') && !(FREE[kind] ?? []).includes(x.tokens[1]?.text ?? ''));
  for (let c = stray(); c; c = stray()) out = setClause(out, jointBlock(out, joint)!, `${c.word} ${c.tokens[1]?.text}`, null);
  return out;
}
