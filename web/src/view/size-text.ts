/** The size of a wheel, a box or a ball, as text: what is joined to it stays where it is in the scene. */

import * as THREE from 'three';
import type { SceneMessage, ShapeInfo } from '../protocol';
import { type Block, type Token, jointBlock, num, nums, parse, setClause, solidBlock } from '../scenetext';
import { setPoint } from './pin-text';
import { setPose } from './pose-text';

/** Sizes by shape, in the order of their numbers in the text: a word for ids and one for people. */
export const SIZES: Record<string, [string, string][]> = {
  sphere: [['radius', 'Radius']],
  cylinder: [['radius', 'Radius'], ['width', 'Width']],
  box: [['size-x', 'Size x'], ['size-y', 'Size y'], ['size-z', 'Size z']],
  capsule: [['radius', 'Radius']],
};

/** Where the sizes of a part of one shape stand in its block; nothing where there are several shapes, or no plain numbers. */
export function sizeTokens(block: Block | null): { type: string; numbers: Token[] } | null {
  const shapes = block?.clauses.filter((c) => c.word === 'shape') ?? [];
  const tokens = shapes[0]?.tokens ?? [];
  const type = tokens[1]?.text ?? '';
  const numbers = tokens.slice(2, 2 + (SIZES[type]?.length ?? 0));
  return shapes.length === 1 && numbers.length > 0 && numbers.every((t) => Number.isFinite(Number(t.text))) ? { type, numbers } : null;
}

export interface Sized {
  solid: number;
  shape: ShapeInfo;
  /** As the text has them. */
  sizes: number[];
}

/** A wheel, box or ball of one shape that has its own block in the text. */
export function sized(scene: SceneMessage, solid: number): Sized | null {
  const info = scene.solids[solid];
  if (!info || info.kind === 'scripted' || info.shapes.length !== 1) return null;
  const shape = info.shapes[0]!;
  const found = sizeTokens(solidBlock(scene.text, info.name));
  if (!found || found.type !== shape.type || found.type === 'capsule') return null;
  return { solid, shape, sizes: found.numbers.map((t) => Number(t.text)) };
}

/** The text with other sizes, and the part's middle moved by a way in its own frame. `null`: something is joined to it in words that are not known here. */
export function resized(scene: SceneMessage, matrices: THREE.Matrix4[], { solid }: Sized, sizes: number[], shift: THREE.Vector3): string | null {
  const { name } = scene.solids[solid]!;
  let text = scene.text;
  const tokens = sizeTokens(solidBlock(text, name))!.numbers;
  // From the last to the first, so that places in the text hold.
  for (let k = tokens.length - 1; k >= 0; k--) {
    if (num(sizes[k]!) !== num(Number(tokens[k]!.text))) text = text.slice(0, tokens[k]!.from) + num(sizes[k]!) + text.slice(tokens[k]!.to);
  }
  if (shift.length() < 1e-9) return text;
  const [at, q] = [new THREE.Vector3(), new THREE.Quaternion()];
  matrices[solid]!.decompose(at, q, new THREE.Vector3());
  text = setPose(text, name, shift.clone().applyQuaternion(q).add(at), q);
  for (const [j, joint] of scene.joints.entries()) {
    for (const side of [0, 1] as const) {
      if (joint.solids[side] !== solid) continue;
      const block = jointBlock(text, j)!;
      // A place of the scene is one still.
      if (block.clauses.some((c) => c.word === 'at')) continue;
      if (block.keyword === 'constraint' && !block.clauses.some((c) => c.word === 'hinge' || c.word === `frame${side + 1}`)) return null;
      const [x, y, z, ...turn] = joint.frames[side];
      const axis = new THREE.Vector3(1, 0, 0).applyQuaternion(new THREE.Quaternion(...(turn as [number, number, number, number])));
      text = setPoint(text, j, side, new THREE.Vector3(x, y, z).sub(shift), axis);
    }
  }
  return springs(text, name, shift);
}

/** Springs end in a part's own coordinates as well. */
function springs(text: string, name: string, shift: THREE.Vector3): string {
  const all = (t: string) => parse(t).filter((b) => b.keyword === 'spring');
  all(text).forEach((_, i) => {
    for (const side of [0, 1]) {
      const block = all(text)[i]!;
      const hinge = block.clauses.find((c) => c.word === 'hinge');
      if (block.clauses.find((c) => c.word === `object${side + 1}`)?.tokens[1]?.text !== name || !hinge) continue;
      const own = hinge.tokens.slice(1).map((t) => Number(t.text));
      for (let k = 0; k < 3; k++) own[3 * side + k]! -= shift.getComponent(k);
      text = setClause(text, block, 'hinge', `${nums(own.slice(0, 3))}  ${nums(own.slice(3))}`);
    }
  });
  return text;
}
