/** The plane that is drawn on, its grid, and the texts of what is drawn there. */

import * as THREE from 'three';
import { append, degs, freshName, num, nums, parse } from '../scenetext';
import type { Anchor } from './anchors';

export interface Plane {
  origin: THREE.Vector3;
  /** In the plane: to the right, and up or away. */
  u: THREE.Vector3;
  v: THREE.Vector3;
  n: THREE.Vector3;
  /** What is drawn stands on it, not in it. */
  floor: boolean;
}

const X = () => new THREE.Vector3(1, 0, 0);

/** The upright plane through the origin that faces the eye, or the ground. */
export function mainPlane(kind: 'front' | 'ground', up: 'y' | 'z', height: number): Plane {
  const top = up === 'z' ? new THREE.Vector3(0, 0, 1) : new THREE.Vector3(0, 1, 0);
  if (kind === 'ground') {
    const v = up === 'z' ? new THREE.Vector3(0, 1, 0) : new THREE.Vector3(0, 0, -1);
    return { origin: top.clone().multiplyScalar(height), u: X(), v, n: top, floor: true };
  }
  const n = up === 'z' ? new THREE.Vector3(0, -1, 0) : new THREE.Vector3(0, 0, 1);
  return { origin: new THREE.Vector3(), u: X(), v: top, n, floor: false };
}

/** The plane of a face that was pointed at. */
export function facePlane(at: THREE.Vector3, normal: THREE.Vector3): Plane {
  const n = normal.clone().normalize();
  // A face that is almost level, or almost upright, is meant to be.
  for (const k of [0, 1, 2]) if (Math.abs(n.getComponent(k)) > 0.995) n.set(0, 0, 0).setComponent(k, Math.sign(normal.getComponent(k)));
  const u = X().addScaledVector(n, -n.x);
  if (u.length() < 0.1) u.set(0, 0, -n.x);
  u.normalize();
  return { origin: at.clone(), u, v: n.clone().cross(u), n, floor: true };
}

/** One, two or five of a power of ten, at least this long. */
export function nice(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-6)));
  return power * ([1, 2, 5].find((k) => k * power >= least * 0.999) ?? 10);
}

/** A point of a drawing: where it is, and what it has snapped to. */
export interface Spot {
  at: THREE.Vector3;
  anchor: Anchor | null;
}

/** What a new joint needs to know about its two sides. */
export interface Side {
  name: string;
  matrix: THREE.Matrix4;
}

/** A frame clause: a point and an axis of the scene, in a solid's own coordinates. */
export function frameText(side: Side, at: THREE.Vector3, axis: THREE.Vector3 | null): string {
  const back = side.matrix.clone().invert();
  const point = nums(at.clone().applyMatrix4(back).toArray());
  return axis ? `${point} axis ${nums(axis.clone().transformDirection(back).toArray())}` : point;
}

/** The text with a joint between two solids, at a point of the scene; the world's name is empty. */
export function withJoint(text: string, kind: string, one: Side, two: Side, at: THREE.Vector3, axis: THREE.Vector3 | null, more = ''): string {
  const name = freshName(text, kind);
  const first = one.name === '' ? '' : `object1 ${one.name}; `;
  return append(
    text,
    `joint ${name}: ${kind}; ${first}object2 ${two.name}; frame1 ${frameText(one, at, axis)}; frame2 ${frameText(two, at, axis)};${more === '' ? '' : ` ${more};`} end`,
  );
}

/**
 * The text with a spring between two points of the scene. Nobody has chosen its strength yet: it gives way by a tenth of its
 * length under the weight of the lighter part, and swings a few times.
 */
export function withSpring(text: string, one: Side, two: Side, a: THREE.Vector3, b: THREE.Vector3, mass: number): { text: string; name: string } {
  // The world can only be the first of the two.
  if (two.name === '') return withSpring(text, two, one, b, a, mass);
  const name = freshName(text, 'spring');
  const digits2 = (x: number) => num(Number(x.toPrecision(2)));
  const length = a.distanceTo(b);
  const stiffness = (9.81 * mass) / (0.1 * length);
  const first = one.name === '' ? '' : `object1 ${one.name}; `;
  const hinge = `${frameText(one, a, null)}  ${frameText(two, b, null)}`;
  const block = `spring ${name}: ${first}object2 ${two.name}; hinge ${hinge}; length ${num(length)}; stiffness ${digits2(stiffness)}; damping ${digits2(0.2 * Math.sqrt(stiffness * mass))}; end`;
  return { text: append(text, block), name };
}

/** Calm colours that can be told apart, one after the other. */
const COLORS = ['0.86 0.42 0.34', '0.91 0.66 0.26', '0.28 0.47 0.66', '0.36 0.6 0.42', '0.55 0.43 0.66', '0.3 0.62 0.65'];
export const colorFor = (text: string): string => COLORS[parse(text).filter((b) => b.keyword === 'solid' || b.keyword === 'cloth').length % COLORS.length]!;

/** Two digits are enough for a mass that nobody has chosen. */
const kilograms = (x: number) => num(Number(Math.max(x, 1e-3).toPrecision(2)));
const DENSITY = 200;

const turnText = (n: THREE.Vector3, angle: number) => (Math.abs(angle) < 1e-9 ? '' : `  turn ${nums(n.toArray())} ${degs(angle)};\n`);

export interface Part {
  text: string;
  name: string;
  matrix: THREE.Matrix4;
}

function solid(text: string, stem: string, shapes: string[], mass: number, at: THREE.Vector3, turn: THREE.Quaternion, turnClause: string): Part {
  const name = freshName(text, stem);
  const lines = shapes.map((s) => `  shape ${s};\n`).join('');
  // What is written is rounded; what is joined to it has to know the rounded place.
  const rounded = new THREE.Vector3(...at.toArray().map((x) => Math.round(x * 1e6) / 1e6));
  const block = `solid ${name}:\n${lines}  mass ${kilograms(mass)};\n  at ${nums(at.toArray())};\n${turnClause}  color ${colorFor(text)};\nend`;
  const gap = text === '' || /\n\s*\n$/.test(text) ? '' : '\n';
  return { text: append(text + (text === '' || text.endsWith('\n') ? '' : '\n') + gap, block), name, matrix: new THREE.Matrix4().compose(rounded, turn, new THREE.Vector3(1, 1, 1)) };
}

/** A bar from one point to another. */
export function bar(text: string, plane: Plane, a: THREE.Vector3, b: THREE.Vector3, radius: number): Part {
  const way = b.clone().sub(a);
  const length = way.length();
  const shape = [`capsule ${num(radius)} from 0 0 0 to ${num(length)} 0 0`];
  const mass = DENSITY * Math.PI * radius ** 2 * length;
  if (Math.abs(way.dot(plane.n)) > 1e-6 * length) {
    // Out of the plane: the shortest turn from x.
    const raw = new THREE.Quaternion().setFromUnitVectors(X(), way.clone().normalize()).toArray();
    const out = new THREE.Quaternion(...(raw.map((c) => Math.round(c * 1e6) / 1e6) as [number, number, number, number])).normalize();
    return solid(text, 'bar', shape, mass, a, out, `  orientation ${nums([out.w, out.x, out.y, out.z])};\n`);
  }
  const angle = Math.atan2(way.dot(plane.v), way.dot(plane.u));
  // Turns are counted from x, which is the plane's own first axis but for faces at a slant.
  const base = new THREE.Quaternion().setFromRotationMatrix(new THREE.Matrix4().makeBasis(plane.u, plane.v, plane.n));
  const straight = Math.abs(plane.u.x - 1) < 1e-9;
  const rounded = (Math.round((angle * 180e5) / Math.PI) / 180e5) * Math.PI;
  const q = straight ? new THREE.Quaternion().setFromAxisAngle(plane.n, rounded) : base.clone().multiply(new THREE.Quaternion().setFromAxisAngle(new THREE.Vector3(0, 0, 1), rounded));
  const clause = straight ? turnText(plane.n, angle) : `  orientation ${nums([q.w, q.x, q.y, q.z])};\n`;
  return solid(text, 'bar', shape, mass, a, q, clause);
}

/** A plate with corners: a flat sheet with rounded edges, which pins go through. */
export function plate(text: string, plane: Plane, corners: THREE.Vector3[], radius: number): Part {
  const [first] = corners;
  const local = corners.map((c) => c.clone().sub(first!));
  let twice = 0;
  const edges = local.map((a, i) => {
    const b = local[(i + 1) % local.length]!;
    twice += a.clone().cross(b).dot(plane.n);
    return `capsule ${num(radius)} from ${nums(a.toArray())} to ${nums(b.toArray())}`;
  });
  const sheet = `plate ${num(radius)} ${local.map((c) => nums([c.dot(plane.u), c.dot(plane.v)])).join('  ')}`;
  // The sheet is drawn in x and y; the plane may be another one.
  const q = new THREE.Quaternion().setFromRotationMatrix(new THREE.Matrix4().makeBasis(plane.u, plane.v, plane.n));
  const angle = 2 * Math.acos(Math.min(1, Math.abs(q.w)));
  const turn = angle < 1e-6 ? '' : ` turn ${nums(new THREE.Vector3(q.x, q.y, q.z).normalize().multiplyScalar(Math.sign(q.w) || 1).toArray())} ${degs(angle)}`;
  return solid(text, 'plate', [...edges, sheet + turn], DENSITY * radius * 0.5 * Math.abs(twice), first!, new THREE.Quaternion(), '');
}

export function wheel(text: string, plane: Plane, at: THREE.Vector3, radius: number, width: number): Part {
  return solid(text, 'wheel', [`cylinder ${num(radius)} ${num(width)} axis ${nums(plane.n.toArray())}`], DENSITY * Math.PI * radius ** 2 * width, at, new THREE.Quaternion(), '');
}

export function ball(text: string, plane: Plane, at: THREE.Vector3, radius: number): Part {
  const middle = plane.floor ? at.clone().addScaledVector(plane.n, radius) : at;
  return solid(text, 'ball', [`sphere ${num(radius)}`], DENSITY * (4 / 3) * Math.PI * radius ** 3, middle, new THREE.Quaternion(), '');
}

/** A box over the rectangle between two corners: on the ground as high as it is narrow, upright as thick as that. */
export function box(text: string, plane: Plane, a: THREE.Vector3, b: THREE.Vector3): Part {
  const way = b.clone().sub(a);
  const [w, h] = [Math.abs(way.dot(plane.u)), Math.abs(way.dot(plane.v))];
  const d = Math.min(w, h);
  const middle = a.clone().add(b).multiplyScalar(0.5);
  if (plane.floor) middle.addScaledVector(plane.n, 0.5 * d);
  const size = new THREE.Vector3();
  const straight = [plane.u, plane.v, plane.n].every((x) => Math.max(...x.toArray().map(Math.abs)) > 1 - 1e-9);
  const q = new THREE.Quaternion();
  if (straight) {
    for (const [x, s] of [[plane.u, w], [plane.v, h], [plane.n, d]] as const) size.add(new THREE.Vector3(...x.toArray().map(Math.abs)).multiplyScalar(s));
  } else {
    size.set(w, h, d);
    q.setFromRotationMatrix(new THREE.Matrix4().makeBasis(plane.u, plane.v, plane.n));
  }
  const clause = straight ? '' : `  orientation ${nums([q.w, q.x, q.y, q.z])};\n`;
  return solid(text, 'box', [`box ${nums(size.toArray())}`], DENSITY * w * h * d, middle, q, clause);
}

/** How many cells a sheet that is drawn has along its longer side. */
const CELLS = 16;
/** Kilograms per square metre of cloth, and per metre of rope. */
const CLOTH = 0.3;
const ROPE = 0.1;

/**
 * A sheet over the rectangle between two corners, or a rope where that is next to a line. What is drawn upright is held by its
 * upper corners, a rope where it begins; `hold` says what is there to hold it. What is drawn on something lies there.
 */
export function cloth(text: string, plane: Plane, a: THREE.Vector3, b: THREE.Vector3, hold: (at: THREE.Vector3) => Side | null): { text: string; name: string; held: boolean } {
  const way = b.clone().sub(a);
  const [w, h] = [way.dot(plane.u), way.dot(plane.v)].map(Math.abs) as [number, number];
  const rope = Math.min(w, h) < (0.5 * Math.max(w, h)) / CELLS;
  const long = rope ? way.length() : w;
  // Whole cells from one upper corner to the other, whatever is left below.
  const across = rope || w > h ? CELLS : Math.max(2, Math.round((CELLS * w) / h));
  const spacing = long / across;
  const [nx, ny] = [across + 1, rope ? 1 : Math.max(1, Math.round(h / spacing)) + 1];
  const lift = plane.floor ? 0.05 * spacing : 0;
  const first = rope ? a.clone() : a.clone().addScaledVector(plane.u, Math.min(0, way.dot(plane.u))).addScaledVector(plane.v, Math.max(0, way.dot(plane.v)) - (ny - 1) * spacing);
  first.addScaledVector(plane.n, lift);
  const u = rope ? way.clone().normalize() : plane.u;
  const v = rope ? plane.n.clone().cross(u) : plane.v;
  const q = new THREE.Quaternion().setFromRotationMatrix(new THREE.Matrix4().makeBasis(u, v, u.clone().cross(v)));
  const turned = 2 * Math.acos(Math.min(1, Math.abs(q.w))) > 1e-6 ? `orientation ${nums([q.w, q.x, q.y, q.z])}; ` : '';
  const corner = (i: number, j: number) => first.clone().addScaledVector(u, i * spacing).addScaledVector(v, j * spacing);
  const held = plane.floor ? [] : rope ? [[0, 0]] : [[0, ny - 1], [nx - 1, ny - 1]];
  // The other end of a rope stays free, unless something is there.
  const ends = rope && hold(corner(nx - 1, 0)) ? [...held, [nx - 1, 0]] : held;
  const pins = ends.map(([i, j]) => {
    const at = corner(i!, j!);
    const to = hold(at);
    return `pin ${i} ${j}${to ? ` to ${to.name} ${nums(at.applyMatrix4(to.matrix.clone().invert()).toArray())}` : ''};`;
  });
  const mass = Number(Math.max(rope ? ROPE * long : CLOTH * w * h, 1e-3).toPrecision(2));
  const digits2 = (x: number) => num(Number(x.toPrecision(2)));
  const spring = (k: number) => `${digits2(4000 * mass * k)} ${digits2(4 * mass * k)}`;
  const name = freshName(text, rope ? 'rope' : 'cloth');
  const block = [
    `cloth ${name}:`,
    `  grid ${nx} ${ny} spacing ${num(spacing)}; at ${nums(first.toArray())}; ${turned}mass ${num(mass)}; color ${colorFor(text)};`,
    `  stretch ${spring(1)};${rope ? '' : ` shear ${spring(0.3)};`} bend ${spring(1e-3)}; thickness ${digits2(0.1 * spacing)};`,
    ...(pins.length > 0 ? [`  ${pins.join(' ')}`] : []),
    'end',
  ].join('\n');
  return { text: append(text === '' || /\n\s*\n$/.test(text) ? text : `${text.trimEnd()}\n\n`, block), name, held: pins.length > 0 };
}

/** A floor for what stands on the ground, where there is none. */
export function withFloor(text: string, up: 'y' | 'z'): string {
  return append(text, `solid ${freshName(text, 'floor')}: kernel fixed; shape plane ${up === 'z' ? '0 0 1' : '0 1 0'}; end`);
}
