/**
 * Edits of several parts at once: copies and mirror images of all that hangs together, welds that make one part of many,
 * parts brought into line. Text in, text out.
 */

import * as THREE from 'three';
import type { SceneMessage, ShapeInfo } from './protocol';
import { type Block, type Clause, append, freshName, jointBlock, nums, parse, removeBlock, setClause, solidBlock } from './scenetext';
import { setPose } from './view/pose-text';

export interface Scenery {
  scene: SceneMessage;
  matrices: THREE.Matrix4[];
  /** Where one side of a joint is in the scene, with its main axis as first column. */
  frameOf: (joint: number, side: 0 | 1) => THREE.Matrix4;
}

export interface Made {
  text: string;
  /** New solids by name. */
  names: string[];
}

/** How a copy stands to what was copied. */
interface Way {
  pose: (m: THREE.Matrix4) => THREE.Matrix4;
  /** A point of a part in its own coordinates, and one of the scene. */
  point: (p: THREE.Vector3) => THREE.Vector3;
  worldPoint: (p: THREE.Vector3) => THREE.Vector3;
  /** The axis of a joint; what slides keeps its direction in a mirror, what turns its sense. */
  axis: (a: THREE.Vector3, slides: boolean) => THREE.Vector3;
  worldAxis: (a: THREE.Vector3, slides: boolean) => THREE.Vector3;
}

const shifted = (by: THREE.Vector3): Way => ({
  pose: (m) => new THREE.Matrix4().makeTranslation(by).multiply(m),
  point: (p) => p,
  worldPoint: (p) => p.add(by),
  axis: (a) => a,
  worldAxis: (a) => a,
});

/** On the other side of x = 0. A mirrored part is one that is turned, its own z pointing the other way. */
const MIRRORED: Way = {
  pose: (m) => new THREE.Matrix4().makeScale(-1, 1, 1).multiply(m).multiply(new THREE.Matrix4().makeScale(1, 1, -1)),
  point: (p) => p.setZ(-p.z),
  worldPoint: (p) => p.setX(-p.x),
  axis: (a, slides) => (slides ? a.setZ(-a.z) : a.set(-a.x, -a.y, a.z)),
  worldAxis: (a, slides) => (slides ? a.setX(-a.x) : a.set(a.x, -a.y, -a.z)),
};

const objects = (b: Block) => ['object1', 'object2'].map((w) => b.clauses.find((c) => c.word === w)?.tokens[1]?.text ?? 'world');

/** A block under another name. */
function renamed(text: string, block: Block, name: string): string {
  const own = text.slice(block.from, block.to);
  if (block.labels.length === 0) return own.replace(/^(\w+)/, `$1 ${name}:`);
  const old = block.labels[0]!;
  return own.replace(new RegExp(`^(\\w+\\s+)${old.replace(/[^\w]/g, '\\$&')}(?=\\s*:)`), `$1${name}`);
}

function clone({ scene, matrices, frameOf }: Scenery, solids: number[], way: Way): Made | string {
  const names = new Map<string, string>();
  let text = scene.text;
  for (const id of solids) {
    const { name } = scene.solids[id]!;
    const block = solidBlock(scene.text, name);
    if (!block) return `${name} shares its block of the text with other parts: copy it there.`;
    const made = freshName(text, name.replace(/-\d+$/, ''));
    names.set(name, made);
    text = append(text, renamed(scene.text, block, made));
    const [at, q, s] = [new THREE.Vector3(), new THREE.Quaternion(), new THREE.Vector3()];
    way.pose(matrices[id]!).decompose(at, q, s);
    text = setPose(text, made, at, q);
  }
  // A single part is meant by itself; several are meant with what holds them together.
  const known = (name: string) => solids.length > 1 && (name === 'world' || names.has(name));
  let joint = -1;
  for (const block of parse(scene.text)) {
    const isJoint = block.keyword === 'joint' || block.keyword === 'constraint';
    if (isJoint) joint++;
    if (!isJoint && block.keyword !== 'spring') continue;
    const ends = objects(block);
    if (!ends.every(known) || ends.every((e) => e === 'world')) continue;
    // What has a handedness, or a shape of its own, is not mirrored.
    if (way === MIRRORED && block.clauses.some((c) => ['axial', 'planar', 'curve', 'angle', 'twist', 'screw'].includes(c.word) && (c.word !== 'planar' || c.tokens.length > 1))) continue;
    const made = freshName(text, block.labels[0]?.replace(/-\d+$/, '') ?? block.keyword);
    text = append(text, renamed(scene.text, block, made));
    const own = (t: string) => parse(t).find((b) => b.labels[0] === made)!;
    ends.forEach((end, side) => end !== 'world' && (text = setClause(text, own(text), `object${side + 1}`, names.get(end)!)));
    text = placed(text, own, ends, way, isJoint ? joint : -1, { scene, matrices, frameOf });
  }
  return { text, names: [...names.values()] };
}

/** The points and axes of a copied joint or spring. */
function placed(text: string, own: (text: string) => Block, ends: string[], way: Way, joint: number, { scene, matrices, frameOf }: Scenery): string {
  const numbers = (c: Clause, from: number) => new THREE.Vector3(...([0, 1, 2].map((k) => Number(c.tokens[from + k]!.text)) as [number, number, number]));
  const point = (p: THREE.Vector3, end: string) => (end === 'world' ? way.worldPoint(p) : way.point(p));
  const hinge = own(text).clauses.find((c) => c.word === 'hinge');
  if (hinge) return setClause(text, own(text), 'hinge', nums([0, 1].flatMap((k) => point(numbers(hinge, 1 + 3 * k), ends[k]!).toArray())));
  if (joint < 0) return text;
  const info = scene.joints[joint]!;
  const slides = info.kind === 'slider';
  const axial = own(text).clauses.some((c) => c.tokens.some((t) => t.text === 'axis'));
  const world = own(text).clauses.some((c) => c.word === 'at');
  text = setClause(text, own(text), 'at', null);
  ([0, 1] as const).forEach((side) => {
    const end = ends[side]!;
    const clause = own(text).clauses.find((c) => c.word === `frame${side + 1}`);
    const after = (word: string) => {
      const k = clause?.tokens.findIndex((t) => t.text === word) ?? -1;
      return k > 0 ? numbers(clause!, k + 1) : null;
    };
    // As it is written, or from where it is.
    const back = matrices[info.solids[side]]!.clone().invert();
    const column = (k: number) => new THREE.Vector3().setFromMatrixColumn(frameOf(joint, side), k).transformDirection(back);
    const at = clause && !world ? numbers(clause, 1) : new THREE.Vector3().setFromMatrixPosition(frameOf(joint, side)).applyMatrix4(back);
    const axis = after('axis') ?? (axial ? column(0) : null);
    const up = after('up');
    const turned = (a: THREE.Vector3, keeps: boolean) => (end === 'world' ? way.worldAxis(a, keeps) : way.axis(a, keeps));
    const words = [nums(point(at, end).toArray())];
    if (axis) words.push('axis', nums(turned(axis, slides).toArray()));
    // Of the two axes one keeps its direction in a mirror and the other its sense, so that angles and ways count as they did.
    if (up) words.push('up', nums(turned(up, !slides).toArray()));
    text = setClause(text, own(text), `frame${side + 1}`, words.join(' '));
  });
  return text;
}

/** Parts and the joints and springs among them and to the ground, once more beside them. */
export const copied = (s: Scenery, solids: number[], by: THREE.Vector3): Made | string => clone(s, solids, shifted(by));

export function mirrored(s: Scenery, solids: number[]): Made | string {
  // The same on both sides of its middle: what a plate is.
  const lopsided = (x: ShapeInfo) => x.type === 'mesh' && (Math.abs(x.pose[6]) < 1 - 1e-9 || x.positions!.some((z, k) => k % 3 === 2 && Math.abs(Math.abs(z) - Math.abs(x.positions![2]!)) > 1e-9));
  const odd = solids.some((id) => s.scene.solids[id]!.shapes.some((x) => Math.abs(x.pose[2]) > 1e-6 || lopsided(x)));
  return odd ? 'Only flat parts can be mirrored.' : clone(s, solids, MIRRORED);
}

/** Parts without whatever names them. */
export function removed(scene: SceneMessage, solids: number[]): string {
  let text = scene.text;
  const names = new Set(solids.map((id) => scene.solids[id]!.name));
  const named = (b: Block) => ['joint', 'constraint', 'spring', 'force'].includes(b.keyword) && b.clauses.some((c) => ['object', 'object1', 'object2'].includes(c.word) && names.has(c.tokens[1]?.text ?? ''));
  for (let b = parse(text).find(named); b; b = parse(text).find(named)) text = removeBlock(text, b);
  for (const name of names) {
    const b = solidBlock(text, name);
    if (b) text = removeBlock(text, b);
  }
  return text;
}

/** Welds that make one part of several: what is grouped moves as one. */
export function grouped({ scene, matrices }: Scenery, solids: number[]): string {
  const [first, ...others] = solids as [number, ...number[]];
  let text = scene.text;
  const back = matrices[first]!.clone().invert();
  for (const id of others) {
    if (welds(scene, [first, id]).length > 0) continue;
    // At the second part's origin, both frames turned as it is: nothing moves by it.
    const own = back.clone().multiply(matrices[id]!);
    const column = (k: number) => new THREE.Vector3().setFromMatrixColumn(own, k).toArray();
    const at = new THREE.Vector3().setFromMatrixPosition(own).toArray();
    text = append(text, `joint ${freshName(text, 'group')}: weld; object1 ${scene.solids[first]!.name}; object2 ${scene.solids[id]!.name}; frame1 ${nums(at)} axis ${nums(column(0))} up ${nums(column(1))}; frame2 0 0 0 axis 1 0 0 up 0 1 0; end`);
  }
  return text;
}

/** The joints that make a group of some of these. */
export const welds = (scene: SceneMessage, solids: number[]): number[] =>
  scene.joints.flatMap((j, i) => (j.kind === 'weld' && j.name.startsWith('group-') && j.solids.every((s) => solids.includes(s)) ? [i] : []));

export function ungrouped(scene: SceneMessage, solids: number[]): string {
  let text = scene.text;
  for (const i of welds(scene, solids).reverse()) text = removeBlock(text, jointBlock(text, i)!);
  return text;
}

/** Everything a group holds together with these. */
export function withGroup(scene: SceneMessage, solids: number[]): number[] {
  const all = new Set(solids);
  for (let n = -1; n !== all.size; ) {
    n = all.size;
    for (const j of scene.joints) if (j.kind === 'weld' && j.name.startsWith('group-') && j.solids.some((s) => all.has(s))) for (const s of j.solids) if (s > 0) all.add(s);
  }
  return [...all];
}

/** Middles on one line with that of the first part: the same x, y or z. */
export function aligned({ scene, matrices }: Scenery, solids: number[], axis: 0 | 1 | 2, middle: (solid: number) => THREE.Vector3): string {
  const [first, ...others] = solids as [number, ...number[]];
  const goal = middle(first).getComponent(axis);
  let text = scene.text;
  for (const id of others) {
    const at = new THREE.Vector3().setFromMatrixPosition(matrices[id]!);
    at.setComponent(axis, at.getComponent(axis) + goal - middle(id).getComponent(axis));
    text = setPose(text, scene.solids[id]!.name, at, new THREE.Quaternion().setFromRotationMatrix(matrices[id]!));
  }
  return text;
}
