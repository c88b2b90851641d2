/** Poses into the text: solids that were moved by hand stand there from now on. */

import * as THREE from 'three';
import type { SceneMessage } from '../protocol';
import { jointBlock, num, nums, setClause, solidBlock } from '../scenetext';

/** Moves below this, metres and radians, are none. */
const LEAST = 2e-6;

/** The clauses `at` and `turn` (or `orientation`, where that is used) of one solid. */
export function setPose(text: string, name: string, at: THREE.Vector3, q: THREE.Quaternion): string {
  const again = () => solidBlock(text, name);
  const block = again();
  if (!block) return text;
  text = setClause(text, block, 'at', nums(at.toArray()));
  if (block.keyword === 'particle') return text;
  if (block.clauses.some((c) => c.word === 'orientation')) return setClause(text, again()!, 'orientation', nums([q.w, q.x, q.y, q.z]));
  const half = 2 * Math.atan2(Math.hypot(q.x, q.y, q.z), Math.abs(q.w));
  const axis = new THREE.Vector3(q.x, q.y, q.z).multiplyScalar(q.w < 0 ? -1 : 1);
  if (half < LEAST || axis.length() === 0) return setClause(text, again()!, 'turn', null);
  axis.normalize();
  let degrees = (half * 180) / Math.PI;
  // Turns about an axis of the scene are counted about its positive side.
  const main = [0, 1, 2].find((k) => Math.abs(axis.getComponent(k)) > 1 - 1e-9);
  if (main !== undefined && axis.getComponent(main) < 0) {
    axis.negate();
    degrees = -degrees;
  }
  return setClause(text, again()!, 'turn', `${nums(axis.toArray())} ${num(Math.round(degrees * 1e5) / 1e5)} deg`);
}

/** The text of a scene with the poses of all solids that are not where they were. `frame` writes one side of a joint. */
export function writePoses(scene: SceneMessage, before: ArrayLike<number>, now: ArrayLike<number>, frame: (joint: number, side: 0 | 1) => string): string {
  let text = scene.text;
  const moved = new Set<number>();
  scene.solids.forEach((solid, i) => {
    if (i === 0 || solid.kind !== 'dynamic' || solid.soft !== undefined) return;
    const k = 7 * (i - 1);
    let off = 0;
    for (let c = 0; c < 7; c++) off = Math.max(off, Math.abs(now[k + c]! - before[k + c]!));
    if (off < LEAST || !solidBlock(text, solid.name)) return;
    moved.add(i);
  });
  // Joints given by a place of the scene mean the poses that the text had: they get frames first.
  scene.joints.forEach((joint, i) => {
    const block = jointBlock(text, i);
    if (block?.keyword !== 'joint' || !joint.solids.some((s) => moved.has(s)) || !block.clauses.some((c) => c.word === 'at')) return;
    text = setClause(text, block, 'at', null);
    text = setClause(text, jointBlock(text, i)!, 'frame1', frame(i, 0));
    text = setClause(text, jointBlock(text, i)!, 'frame2', frame(i, 1));
  });
  for (const i of moved) {
    const k = 7 * (i - 1);
    text = setPose(
      text,
      scene.solids[i]!.name,
      new THREE.Vector3(now[k]!, now[k + 1]!, now[k + 2]!),
      new THREE.Quaternion(now[k + 3]!, now[k + 4]!, now[k + 5]!, now[k + 6]!).normalize(),
    );
  }
  return text;
}
