/** The corners of a plate, as text: the sheet and the rounded rim that goes along with it. */

import * as THREE from 'three';
import type { SceneMessage, ShapeInfo } from '../protocol';
import { type Clause, type Token, num, nums, solidBlock } from '../scenetext';
import { poseMatrix } from './solids';

/** Rims are written to a micrometre. */
const NEAR = 1e-5;

export interface Plated {
  shape: ShapeInfo;
  /** In the axes of the sheet, which lies in x and y. */
  corners: THREE.Vector3[];
}

/** Where the corners of a plate stand in its clause, two numbers each. */
function cornerTokens(clause: Clause): Token[] {
  const rest = clause.tokens.slice(3);
  const end = rest.findIndex((t) => !Number.isFinite(Number(t.text)));
  return end < 0 ? rest : rest.slice(0, end);
}

function sheetOf(text: string, name: string): Clause | null {
  const sheets = solidBlock(text, name)?.clauses.filter((c) => c.word === 'shape' && c.tokens[1]?.text === 'plate') ?? [];
  return sheets.length === 1 && cornerTokens(sheets[0]!).length >= 6 && cornerTokens(sheets[0]!).length % 2 === 0 ? sheets[0]! : null;
}

/** A solid with one plate, which has its own block in the text. */
export function plated(scene: SceneMessage, solid: number): Plated | null {
  const info = scene.solids[solid];
  const shapes = info?.shapes.filter((s) => s.type === 'mesh') ?? [];
  const sheet = info && shapes.length === 1 ? sheetOf(scene.text, info.name) : null;
  if (!sheet) return null;
  const found = cornerTokens(sheet).map((t) => Number(t.text));
  return { shape: shapes[0]!, corners: Array.from({ length: found.length / 2 }, (_, k) => new THREE.Vector3(found[2 * k], found[2 * k + 1], 0)) };
}

/** The text with one corner of a plate somewhere else, in the axes of the sheet. */
export function withCorner(text: string, name: string, { shape, corners }: Plated, corner: number, to: THREE.Vector3): string {
  const sheet = sheetOf(text, name);
  if (!sheet) return text;
  const found = cornerTokens(sheet);
  const [x, y] = [found[2 * corner]!, found[2 * corner + 1]!];
  let out = text.slice(0, x.from) + nums([to.x, to.y]) + text.slice(y.to);
  // The sides of the rim that end there.
  const pose = poseMatrix(shape.pose);
  const was = corners[corner]!.clone().applyMatrix4(pose);
  const now = to.clone().setZ(0).applyMatrix4(pose);
  const sides = solidBlock(out, name)!.clauses.filter((c) => c.word === 'shape' && c.tokens[1]?.text === 'capsule').length;
  for (let k = 0; k < sides; k++) {
    const side = solidBlock(out, name)!.clauses.filter((c) => c.word === 'shape' && c.tokens[1]?.text === 'capsule')[k]!;
    for (const word of ['to', 'from']) {
      const at = side.tokens.findIndex((t) => t.text === word);
      const place = at < 0 ? [] : side.tokens.slice(at + 1, at + 4);
      const p = place.map((t) => Number(t.text));
      if (p.length < 3 || !(new THREE.Vector3(p[0], p[1], p[2]).distanceTo(was) < NEAR)) continue;
      out = out.slice(0, place[0]!.from) + now.toArray().map(num).join(' ') + out.slice(place[2]!.to);
      break;
    }
  }
  return out;
}

/** The corner of a plate at a place in its solid's own coordinates. */
export function cornerAt({ shape, corners }: Plated, at: THREE.Vector3): number {
  const pose = poseMatrix(shape.pose);
  // What is pinned to a plate may lie beside its sheet.
  const own = at.clone().applyMatrix4(pose.clone().invert()).setZ(0);
  return corners.findIndex((c) => c.distanceTo(own) < 1e-4);
}
