/** Points that leave their path, and read-outs that stay at their place in the scene. */

import * as THREE from 'three';
import type { App } from '../app';
import { h } from '../dom';
import { degrees, digits, length } from '../format';
import { CycleWatch, Path } from '../path';
import type { Frame, LimitInfo, SceneMessage, Vec3 } from '../protocol';
import { Marks, unitBar, unitCone, unitDot } from './marks';
import type { Overlays } from './overlays';
import type { Solids } from './solids';
import { dark, type Stage } from './stage';

/** Where something is looked at: a point of a solid, by name, so that edits of the text do not lose it. */
export interface Place {
  solid: string;
  local: THREE.Vector3;
}

export interface Trace {
  id: number;
  name: string;
  place: Place;
  color: string;
  path: Path;
}

/** What is read out. `unit` is for tables. */
export interface Measure {
  id: number;
  name: string;
  unit: string;
  kind: 'distance' | 'angle' | 'coordinate' | 'force' | 'speed';
  a: Place | null;
  b: Place | null;
  joint: string;
  way: LimitInfo['direction'] | null;
  /** Of an angle: what it is counted about, in the scene. `null`: it has no sign. */
  about: Vec3 | null;
  value: number;
  times: number[];
  values: number[];
  label: HTMLElement;
}

/** Calm colours, by day and by night, that can be told apart. */
const COLORS = ['#c8384a', '#2f6fc4', '#3a8f4f', '#7a4fb5', '#b86a00', '#0a7d74'];
/** Seconds of a path that are drawn where there is no cycle. */
const SHOWN = 12;
/** Pieces that a path is drawn in. */
const PIECES = 480;
const KEPT = 3600;
/** Where the points and read-outs of each scene are kept: for when the page is loaded anew, or the scene comes back. */
const STORED = 'linkwork-watched';
/** Scenes that are remembered. */
const SCENES = 20;

type Point = { solid: string; local: [number, number, number] };
type Readout = Pick<Measure, 'name' | 'unit' | 'kind' | 'joint' | 'way' | 'about'> & { a: Point | null; b: Point | null };
interface Kept {
  scene: string;
  points: Point[];
  readouts: Readout[];
}

/** All that is kept, the scene of last time first. What is stored there may be anything. */
function kept(): Kept[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? '[]');
    return Array.isArray(found) ? (found as Kept[]).filter((k) => typeof k?.scene === 'string' && Array.isArray(k.points) && Array.isArray(k.readouts)) : [];
  } catch {
    return [];
  }
}

/** Which way a part points, in its own frame. */
function direction(scene: SceneMessage, solid: number): THREE.Vector3 {
  const shape = solid === 0 ? undefined : scene.solids[solid]!.shapes.find((s) => !s.wire);
  const way = new THREE.Vector3(1, 0, 0);
  if (shape?.type === 'box') way.set(0, 0, 0).setComponent(shape.size!.indexOf(Math.max(...shape.size!)), 1);
  const own = shape && (shape.type === 'capsule' || shape.type === 'cylinder' || shape.type === 'box') ? shape : null;
  return own ? way.applyQuaternion(new THREE.Quaternion(...own.pose.slice(3))) : way;
}

/** The angle from one direction to another; about an axis it has a sign, and is the one nearest to the last. */
export function between(a: THREE.Vector3, b: THREE.Vector3, about: Vec3 | null, last: number): number {
  const cross = a.clone().cross(b);
  if (!about) return Math.atan2(cross.length(), a.dot(b));
  const angle = Math.atan2(cross.dot(new THREE.Vector3(...about)), a.dot(b));
  return Number.isFinite(last) ? angle + 2 * Math.PI * Math.round((last - angle) / (2 * Math.PI)) : angle;
}

export class Traces {
  readonly group = new THREE.Group();
  readonly traces: Trace[] = [];
  readonly measures: Measure[] = [];
  readonly watch = new CycleWatch();
  onchange: () => void = () => {};
  private bars: Marks;
  private dots: Marks;
  private cones: Marks;
  private next = 1;
  private first = true;
  private last: { time: number; tick: number } | null = null;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly overlays: Overlays,
    private readonly layer: HTMLElement,
  ) {
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, toneMapped: false });
    this.bars = new Marks(this.group, unitBar(), material, 8);
    this.dots = new Marks(this.group, unitDot(), material, 9);
    this.cones = new Marks(this.group, unitCone(), material, 9);
    app.on('scene', (scene) => this.reload(scene));
    app.on('frame', (f) => this.sample(f));
  }

  private reload(scene: SceneMessage): void {
    if (this.app.other) {
      this.traces.length = 0;
      for (const m of this.measures.splice(0)) m.label.remove();
    }
    if (this.first || this.app.other) this.restore(scene);
    this.first = false;
    const solids = new Set(scene.solids.map((s) => s.name));
    const joints = new Set(scene.joints.map((j) => j.name));
    const gone = (p: Place | null) => p !== null && !solids.has(p.solid);
    for (const t of [...this.traces]) if (gone(t.place)) this.remove(t.id);
    for (const m of [...this.measures]) if (gone(m.a) || gone(m.b) || (m.joint !== '' && !joints.has(m.joint))) this.remove(m.id);
    this.watch.reset();
    this.last = null;
    this.changed();
  }

  /** Something was added or taken away. */
  private changed(): void {
    this.onchange();
    const scene = this.app.scene?.name ?? '';
    const point = (p: Place): Point => ({ solid: p.solid, local: p.local.toArray() });
    const own: Kept = {
      scene,
      points: this.traces.map((t) => point(t.place)),
      readouts: this.measures.map(({ name, unit, kind, joint, way, about, a, b }) => ({ name, unit, kind, joint, way, about, a: a && point(a), b: b && point(b) })),
    };
    try {
      sessionStorage.setItem(STORED, JSON.stringify([own, ...kept().filter((k) => k.scene !== scene)].slice(0, SCENES)));
    } catch {
      // Where nothing may be stored, nothing is.
    }
  }

  private restore(scene: SceneMessage): void {
    const own = kept().find((k) => k.scene === scene.name);
    if (!own) return;
    const there = (p: Point | null) => p === null || (scene.solids.some((s) => s.name === p.solid) && Array.isArray(p.local));
    const place = (p: Point | null): Place | null => p && { solid: p.solid, local: new THREE.Vector3(...p.local) };
    for (const p of own.points) if (there(p)) this.begin(p.solid, new THREE.Vector3(...p.local));
    for (const r of own.readouts) {
      const joined = r.joint === '' || scene.joints.some((j) => j.name === r.joint);
      if (there(r.a) && there(r.b) && joined) this.pinned({ ...r, about: r.about ?? null, a: place(r.a), b: place(r.b) });
    }
  }

  private solidOf(name: string): number {
    return this.app.scene?.solids.findIndex((s) => s.name === name) ?? -1;
  }

  private jointOf(name: string): number {
    return this.app.scene?.joints.findIndex((j) => j.name === name) ?? -1;
  }

  /** Where a place is by the poses of a frame; frames may be newer than what is drawn. */
  private at(place: Place, poses: Float32Array): THREE.Vector3 | null {
    const i = this.solidOf(place.solid);
    if (i < 0) return null;
    if (i === 0) return place.local.clone();
    const k = 7 * (i - 1);
    const q = new THREE.Quaternion(poses[k + 3]!, poses[k + 4]!, poses[k + 5]!, poses[k + 6]!);
    return place.local.clone().applyQuaternion(q).add(new THREE.Vector3(poses[k]!, poses[k + 1]!, poses[k + 2]!));
  }

  trace(solid: number, local: THREE.Vector3): Trace {
    const name = this.app.scene!.solids[solid]!.name;
    const made = this.begin(name, local);
    this.app.toast(`Tracing a point on ${name}. Save its path as SVG or CSV under Plots.`);
    this.changed();
    this.stage.invalidate();
    return made;
  }

  private begin(solid: string, local: THREE.Vector3): Trace {
    const same = this.traces.filter((t) => t.place.solid === solid).length;
    const made: Trace = { id: this.next++, name: `${solid}${same > 0 ? ` ${same + 1}` : ''}`, place: { solid, local: local.clone() }, color: COLORS[this.traces.length % COLORS.length]!, path: new Path() };
    this.traces.push(made);
    return made;
  }

  private pinned(m: Omit<Measure, 'id' | 'value' | 'times' | 'values' | 'label'>): Measure {
    const id = this.next++;
    const label = this.layer.appendChild(h('div', { class: 'readout', 'data-measure': id, hidden: true }));
    const made: Measure = { ...m, id, value: NaN, times: [], values: [], label };
    this.measures.push(made);
    return made;
  }

  private add(m: Omit<Measure, 'id' | 'value' | 'times' | 'values' | 'label'>): void {
    this.pinned(m);
    this.changed();
    this.stage.invalidate();
  }

  distance(a: Place, b: Place): void {
    this.add({ name: `${a.solid} to ${b.solid}`, unit: 'm', kind: 'distance', a, b, joint: '', way: null, about: null });
  }

  speed(solid: number, local: THREE.Vector3): void {
    const name = this.app.scene!.solids[solid]!.name;
    this.add({ name: `speed of ${name}`, unit: 'm/s', kind: 'speed', a: { solid: name, local }, b: null, joint: '', way: null, about: null });
  }

  coordinate(joint: number, way: LimitInfo['direction']): void {
    const { name } = this.app.scene!.joints[joint]!;
    this.add({ name: `${way[0] === 'r' ? 'angle' : 'travel'} of ${name}`, unit: way[0] === 'r' ? 'rad' : 'm', kind: 'coordinate', a: null, b: null, joint: name, way, about: null });
  }

  /**
   * The angle from one part to another, or to the level line of the scene (part 0): of bars along them, of wheels along their axes, of boxes
   * along their longest side. Where both lie in the plane of the scene it counts turns and has a sign, otherwise it is between 0 and 180 degrees.
   */
  angle(one: number, two: number): void {
    const scene = this.app.scene!;
    const n = new THREE.Vector3(0, scene.up === 'z' ? -1 : 0, scene.up === 'z' ? 0 : 1);
    const flat = [one, two].every((i) => Math.abs(direction(scene, i).transformDirection(this.solids.matrices[i] ?? new THREE.Matrix4()).dot(n)) < 1e-3);
    const place = (i: number): Place => ({ solid: scene.solids[i]!.name, local: new THREE.Vector3(...scene.solids[i]!.center) });
    const name = one === 0 ? `angle of ${scene.solids[two]!.name}` : `angle from ${scene.solids[one]!.name} to ${scene.solids[two]!.name}`;
    this.add({ name, unit: 'rad', kind: 'angle', a: place(one), b: place(two), joint: '', way: null, about: flat ? n.toArray() : null });
  }

  force(joint: number): void {
    const { name } = this.app.scene!.joints[joint]!;
    this.add({ name: `force of ${name}`, unit: 'N', kind: 'force', a: null, b: null, joint: name, way: null, about: null });
  }

  remove(id: number): void {
    const t = this.traces.findIndex((x) => x.id === id);
    if (t >= 0) this.traces.splice(t, 1);
    const m = this.measures.findIndex((x) => x.id === id);
    if (m >= 0) this.measures.splice(m, 1)[0]!.label.remove();
    this.changed();
    this.stage.invalidate();
  }

  clear(): void {
    for (const t of this.traces) t.path.clear();
    for (const m of this.measures) m.times.length = m.values.length = 0;
    this.watch.reset();
    this.changed();
  }

  /** The part of a path that is one whole cycle, or all of it. */
  range(t: Trace): { from: number; to: number; closed: boolean } {
    const cycle = t.path.cycle(this.watch.period);
    return cycle ? { from: cycle.from, to: cycle.to, closed: true } : { from: 0, to: t.path.times.length - 1, closed: false };
  }

  /** A frame has come: everything that is watched gets a sample. */
  private sample(f: Frame): void {
    if (this.traces.length === 0 && this.measures.length === 0) return;
    if (f.scrubbed) return;
    if (this.last !== null && f.time < this.last.time) {
      // Started over: whole turns are counted from here.
      this.clear();
      this.last = null;
      for (const m of this.measures) m.value = NaN;
    }
    const step = this.last ? f.time - this.last.time : 0;
    const moved = step > 0 || f.grabs.length > 0 || this.last === null || f.kinematic;
    for (const m of this.measures) this.read(m, f, step);
    if (!moved) return;
    // Where no time passes, samples follow the hand; they are told apart by the ticks.
    if (step > 0 && !f.kinematic && f.grabs.length === 0 && f.poses.length <= 7 * 200) {
      const had = this.watch.period;
      if (this.watch.push(f.poses, f.time, this.stage.radius) && had === null) this.changed();
    }
    if (f.grabs.length > 0) this.watch.reset();
    for (const t of this.traces) {
      const p = this.at(t.place, f.poses);
      const before = t.path.points.at(-1);
      if (!p || (before && step <= 0 && Math.hypot(p.x - before[0], p.y - before[1], p.z - before[2]) < 1e-5 * this.stage.radius)) continue;
      t.path.push(f.time, p.toArray() as Vec3);
    }
    for (const m of this.measures) {
      if (!Number.isFinite(m.value)) continue;
      m.times.push(f.time);
      m.values.push(m.value);
      if (m.times.length > KEPT) for (const list of [m.times, m.values]) list.splice(0, KEPT / 6);
    }
    this.last = { time: f.time, tick: f.tick };
  }

  private laid: { x: number; y: number; wide: number }[] = [];
  private places = new Map<number, THREE.Vector3>();

  private read(m: Measure, f: Frame, step: number): void {
    if (m.kind === 'distance') {
      const [a, b] = [m.a && this.at(m.a, f.poses), m.b && this.at(m.b, f.poses)];
      if (a && b) m.value = a.distanceTo(b);
    } else if (m.kind === 'speed') {
      const p = m.a && this.at(m.a, f.poses);
      const before = this.places.get(m.id);
      if (!p) return;
      if (before && step > 0) m.value = p.distanceTo(before) / step;
      else if (!f.running) m.value = 0;
      if (!before || step > 0) this.places.set(m.id, p);
    } else if (m.kind === 'force') {
      const joint = this.jointOf(m.joint);
      const found = f.forces.find((x) => x.joint === joint);
      m.value = found ? Math.hypot(...found.force) : 0;
    } else if (m.kind === 'angle') {
      const [a, b] = [this.pointing(m.a!, f.poses), this.pointing(m.b!, f.poses)];
      if (a && b) m.value = between(a, b, m.about, m.value);
    } else m.value = this.turned(m, f);
  }

  /** Which way a part points by the poses of a frame. */
  private pointing(place: Place, poses: ArrayLike<number>): THREE.Vector3 | null {
    const i = this.solidOf(place.solid);
    if (i < 0) return null;
    const k = 7 * (i - 1);
    const way = direction(this.app.scene!, i);
    return i === 0 ? way : way.applyQuaternion(new THREE.Quaternion(poses[k + 3], poses[k + 4], poses[k + 5], poses[k + 6]));
  }

  /** A joint's coordinate by the poses of a frame; turns are counted. */
  private turned(m: Measure, f: Frame): number {
    const i = this.jointOf(m.joint);
    const joint = this.app.scene?.joints[i];
    if (!joint || !m.way) return NaN;
    const side = (s: 0 | 1) => {
      const solid = joint.solids[s];
      const p = solid === 0 ? [0, 0, 0, 0, 0, 0, 1] : f.poses.subarray(7 * (solid - 1), 7 * solid);
      const of = (x: ArrayLike<number>) => new THREE.Matrix4().compose(new THREE.Vector3(x[0], x[1], x[2]), new THREE.Quaternion(x[3], x[4], x[5], x[6]), new THREE.Vector3(1, 1, 1));
      return of(p).multiply(of(joint.frames[s]));
    };
    const relative = side(0).invert().multiply(side(1));
    const k = Number(m.way[1]) - 1;
    if (m.way[0] === 't') return new THREE.Vector3().setFromMatrixPosition(relative).getComponent(k);
    const [a, b] = [(k + 1) % 3, (k + 2) % 3];
    const column = new THREE.Vector3().setFromMatrixColumn(relative, a);
    const angle = Math.atan2(column.getComponent(b), column.getComponent(a));
    // The turn nearest to the one before.
    return Number.isFinite(m.value) ? angle + 2 * Math.PI * Math.round((m.value - angle) / (2 * Math.PI)) : angle;
  }

  words(m: Measure): string {
    if (!Number.isFinite(m.value)) return '–';
    if (m.unit === 'rad') return degrees(m.value);
    if (m.unit === 'm') return length(m.value);
    return `${digits(m.value)} ${m.unit}`;
  }

  /** Once a drawn frame. */
  update(): void {
    for (const m of [this.bars, this.dots, this.cones]) m.begin();
    const ground = new THREE.Color(dark.matches ? 0x20262d : 0xe9eef2);
    // At least a pixel and a half wide.
    const { camera, canvas, controls } = this.stage;
    const pixel = (2 * camera.position.distanceTo(controls.target) * Math.tan(THREE.MathUtils.degToRad(camera.fov) / 2)) / Math.max(1, canvas.clientHeight);
    const r = Math.max(0.0035 * this.stage.radius, 1.1 * pixel);
    for (const t of this.traces) this.draw(t, r, ground);
    this.laid = [];
    for (const m of this.measures) this.show(m, r);
    for (const m of [this.bars, this.dots, this.cones]) m.end();
  }

  /** The path, older pieces thinner and paler; a whole cycle where there is one. */
  private draw(t: Trace, r: number, ground: THREE.Color): void {
    const { times, points } = t.path;
    const end = times.length - 1;
    if (end < 0) return;
    const color = new THREE.Color(t.color);
    if (dark.matches) color.lerp(new THREE.Color(0xffffff), 0.25);
    this.dots.dot(new THREE.Vector3(...points[end]!), 2.6 * r, color);
    const cycle = t.path.cycle(this.watch.period);
    let from = cycle ? cycle.from : end;
    if (!cycle) while (from > 0 && times[end]! - times[from - 1]! < SHOWN) from--;
    const stride = Math.max(1, Math.ceil((end - from) / PIECES));
    let a = new THREE.Vector3();
    const shade = new THREE.Color();
    for (let k = from; k <= end; k += stride) {
      const b = new THREE.Vector3(...points[k]!);
      const age = (end - k) / Math.max(1, end - from);
      if (k > from) this.bars.bar(a, b, r * (1 - 0.5 * age), shade.copy(color).lerp(ground, 0.6 * age));
      a = b;
    }
  }

  private show(m: Measure, r: number): void {
    const ink = new THREE.Color(dark.matches ? 0xe7ecf1 : 0x2b3640);
    let at: THREE.Vector3 | null = null;
    const here = (p: Place | null) => {
      const i = p ? this.solidOf(p.solid) : -1;
      return i >= 0 && this.solids.matrices[i] ? p!.local.clone().applyMatrix4(this.solids.matrices[i]!) : null;
    };
    if (m.kind === 'distance') {
      const [a, b] = [here(m.a), here(m.b)];
      if (a && b) {
        this.bars.bar(a, b, 0.7 * r, ink);
        for (const p of [a, b]) this.dots.dot(p, 1.8 * r, ink);
        at = a.add(b).multiplyScalar(0.5);
      }
    } else if (m.kind === 'angle') {
      at = here(m.b);
      if (at && this.app.frame) this.corner(m, at, r, ink);
    } else if (m.kind === 'speed') {
      at = here(m.a);
      if (at) this.dots.dot(at, 1.8 * r, ink);
    } else {
      const i = this.jointOf(m.joint);
      if (i >= 0) {
        at = new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(i, 0));
        if (m.kind === 'coordinate') this.dial(m, i, r, ink);
      }
    }
    const place = at ? this.stage.toPage(at) : null;
    m.label.hidden = !place || this.stage.renderer.xr.isPresenting;
    if (!place) return;
    const words = `${m.name} ${this.words(m)}`;
    if (m.label.textContent !== words) m.label.textContent = words;
    const box = this.layer.getBoundingClientRect();
    const wide = m.label.offsetWidth;
    const x = Math.min(place.x - box.left + 14, box.width - wide - 6);
    let y = Math.min(Math.max(place.y - box.top + 12, 6), box.height - 30);
    // Read-outs do not lie over each other: later ones stand below.
    const over = (l: { x: number; y: number; wide: number }) => Math.abs(l.y - y) < 24 && x < l.x + l.wide && l.x < x + wide;
    for (let tries = 0; tries < this.laid.length && this.laid.some(over); tries++) y += 26;
    this.laid.push({ x, y, wide });
    m.label.style.transform = `translate(${Math.max(6, x)}px, ${y}px)`;
  }

  /** Where a coordinate is zero, which way it grows, and where it stands. */
  private dial(m: Measure, joint: number, r: number, ink: THREE.Color): void {
    const frame = this.overlays.frameOf(joint, 0);
    const k = Number(m.way![1]) - 1;
    const put = (v: THREE.Vector3) => v.applyMatrix4(frame);
    if (m.way![0] === 't') {
      const on = (x: number) => put(new THREE.Vector3().setComponent(k, x));
      this.bars.bar(on(0), on(m.value), 0.7 * r, ink);
      this.dots.dot(on(0), 1.6 * r, ink);
      return this.tip(on(m.value), on(m.value + Math.sign(m.value || 1)).sub(on(m.value)), r, ink);
    }
    const [a, b] = [(k + 1) % 3, (k + 2) % 3];
    this.arc(put(new THREE.Vector3()), (angle, far) => put(new THREE.Vector3().setComponent(a, far * Math.cos(angle)).setComponent(b, far * Math.sin(angle))), m.value, r, ink);
  }

  /** The angle of two parts, at the second one: zero is where the first one points. */
  private corner(m: Measure, at: THREE.Vector3, r: number, ink: THREE.Color): void {
    const [a, b] = [this.pointing(m.a!, this.app.frame!.poses), this.pointing(m.b!, this.app.frame!.poses)];
    if (!a || !b) return;
    const up = m.about ? new THREE.Vector3(...m.about) : a.clone().cross(b);
    if (up.length() < 1e-9) return;
    const across = up.normalize().cross(a);
    this.arc(at, (angle, far) => at.clone().addScaledVector(a, far * Math.cos(angle)).addScaledVector(across, far * Math.sin(angle)), m.value, r, ink);
  }

  /** Zero as the longer line, the angle as an arc with a tip. */
  private arc(centre: THREE.Vector3, place: (angle: number, far: number) => THREE.Vector3, angle: number, r: number, ink: THREE.Color): void {
    const size = 16 * r;
    const on = (x: number, far = size) => place(x, far);
    const value = Number.isFinite(angle) ? angle % (2 * Math.PI) : 0;
    this.bars.bar(centre, on(0, 1.25 * size), 0.45 * r, ink);
    this.bars.bar(centre, on(value), 0.45 * r, ink);
    const pieces = Math.max(2, Math.ceil(Math.abs(value) / 0.15));
    for (let n = 0; n < pieces; n++) this.bars.bar(on((value * n) / pieces), on((value * (n + 1)) / pieces), 0.7 * r, ink);
    if (Math.abs(value) > 0.05) this.tip(on(value), on(value).sub(on(value - 0.05 * Math.sign(value))), r, ink);
  }

  private tip(at: THREE.Vector3, way: THREE.Vector3, r: number, ink: THREE.Color): void {
    if (way.length() === 0) return;
    const q = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), way.normalize());
    this.cones.put(new THREE.Matrix4().compose(at, q, new THREE.Vector3(1.8 * r, 5 * r, 1.8 * r)), ink);
  }
}
