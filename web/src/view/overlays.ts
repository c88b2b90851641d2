/** Joints, gaps, limits, centres of mass, forces and contacts, drawn over the solids. */

import * as THREE from 'three';
import type { App } from '../app';
import type { Contact, Frame, JointInfo, LimitInfo, SceneMessage } from '../protocol';
import { Marks, unitBar, unitCone, unitDot, unitFunnel } from './marks';
import type { Solids } from './solids';
import { poseMatrix } from './solids';
import { dark } from './stage';

/** Colours by day and by night: black joints would be lost before a dark ground. */
const DAY = {
  primary: new THREE.Color(0x15181c),
  secondary: new THREE.Color(0x8d96a1),
  off: new THREE.Color(0xd4d9de),
  gap: new THREE.Color(0xd6202a),
  limit: new THREE.Color(0x7a4fb5),
  centre: new THREE.Color(0x101418),
  force: new THREE.Color(0x0a7d74),
  sticks: new THREE.Color(0x2463b8),
  slides: new THREE.Color(0xd9620a),
  axes: [new THREE.Color(0xc8384a), new THREE.Color(0x3a8f4f), new THREE.Color(0x2f6fc4)],
};
const NIGHT: typeof DAY = {
  primary: new THREE.Color(0xffffff),
  secondary: new THREE.Color(0x79838f),
  off: new THREE.Color(0x414a55),
  gap: new THREE.Color(0xff5a63),
  limit: new THREE.Color(0xbb9af5),
  centre: new THREE.Color(0xffffff),
  force: new THREE.Color(0x3fd3c4),
  sticks: new THREE.Color(0x7db8ff),
  slides: new THREE.Color(0xffa64d),
  axes: [new THREE.Color(0xff7382), new THREE.Color(0x6fd394), new THREE.Color(0x7db8ff)],
};
export type Flag = 'redundant' | 'conflict' | 'involved' | 'primary' | 'secondary';
const FLAGS: Record<Flag, THREE.Color> = {
  redundant: new THREE.Color(0xd98a00),
  conflict: new THREE.Color(0xd6202a),
  involved: new THREE.Color(0x2f6fc4),
  // Faure's ranks: what holds exactly, and what shares the error that is left.
  primary: new THREE.Color(0x2f6fc4),
  secondary: new THREE.Color(0xe07b00),
};
const CHOSEN = new THREE.Color(0xff8a00);
const ink = () => (dark.matches ? NIGHT : DAY);

const v = () => new THREE.Vector3();

export class Overlays {
  readonly group = new THREE.Group();
  private solid: Marks;
  private dots: Marks;
  private boxes: Marks;
  private over: Marks;
  private overDots: Marks;
  private cones: Marks;
  private funnels: Marks;
  /** The strongest contact of late, newtons: arrows keep their scale while blows come and go. */
  private strongest = 0;
  private locals: [THREE.Matrix4, THREE.Matrix4][] = [];
  private scene: SceneMessage | null = null;
  private size = 1;
  private thickness: number[] = [];
  private balls: number[] = [];

  constructor(
    private readonly app: App,
    private readonly solids: Solids,
  ) {
    const plain = new THREE.MeshStandardMaterial({ roughness: 0.4, metalness: 0.2 });
    // Errors, arcs and forces must be seen through the solids that they are about.
    const through = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.9, toneMapped: false });
    this.solid = new Marks(this.group, unitBar(), plain);
    this.dots = new Marks(this.group, unitDot(), plain);
    this.boxes = new Marks(this.group, new THREE.BoxGeometry(1, 1, 1), plain);
    this.over = new Marks(this.group, unitBar(), through, 10);
    this.overDots = new Marks(this.group, unitDot(), through, 11);
    this.cones = new Marks(this.group, unitCone(), through, 11);
    const veil = new THREE.MeshBasicMaterial({ depthWrite: false, transparent: true, opacity: 0.22, side: THREE.DoubleSide, toneMapped: false });
    this.funnels = new Marks(this.group, unitFunnel(), veil, 9);
    for (const m of [this.solid, this.dots, this.boxes]) m.mesh.castShadow = true;
  }

  load(scene: SceneMessage, radius: number): void {
    this.scene = scene;
    this.strongest = 0;
    this.locals = scene.joints.map((j) => [poseMatrix(j.frames[0]), poseMatrix(j.frames[1])]);
    // A marker must not hide the bar it sits in, so it follows the thinnest shape that is common in the scene.
    const thin = scene.solids
      .flatMap((s) => s.shapes.filter((x) => !x.wire))
      .map((x) => x.radius ?? (x.size ? 0.5 * Math.min(...x.size) : radius))
      .sort((a, b) => a - b);
    const usual = thin[Math.floor(thin.length / 2)] ?? 0.05 * radius;
    this.size = Math.min(Math.max(usual, 0.006 * radius), 0.03 * radius);
    // Pins and sleeves must look out of the thicker of the two solids that they join.
    const width = scene.solids.map((s) =>
      Math.min(...s.shapes.filter((x) => !x.wire && x.type !== 'plane').map((x) => x.radius ?? 0.5 * Math.min(...(x.size ?? [0])))),
    );
    this.thickness = scene.joints.map((j) => {
      const both = j.solids.map((s) => width[s]!).filter((w) => Number.isFinite(w) && w > 0);
      return both.length > 0 ? Math.min(Math.max(...both), 0.06 * radius) : this.size;
    });
    // A ball shows where bars meet, and stays inside of bodies that are thick anyway.
    this.balls = scene.joints.map((j) => {
      const both = j.solids.map((s) => width[s]!).filter((w) => Number.isFinite(w) && w > 0);
      return Math.min(1.12 * Math.min(...both, this.size), 0.02 * radius);
    });
  }

  /** The world matrix of one side of a joint, in the scene's coordinates. */
  frameOf(joint: number, side: 0 | 1): THREE.Matrix4 {
    const info = this.scene!.joints[joint]!;
    return this.solids.matrices[info.solids[side]]!.clone().multiply(this.locals[joint]![side]);
  }

  /** How far a joint has gone in a direction of its first frame: metres or radians. */
  coordinate(joint: number, direction: LimitInfo['direction']): number {
    const relative = this.frameOf(joint, 0).invert().multiply(this.frameOf(joint, 1));
    const k = Number(direction[1]) - 1;
    if (direction[0] === 't') return v().setFromMatrixPosition(relative).getComponent(k);
    const [a, b] = [(k + 1) % 3, (k + 2) % 3];
    const turned = v().setFromMatrixColumn(relative, a);
    return Math.atan2(turned.getComponent(b), turned.getComponent(a));
  }

  /** A joint of this solid is at the end of its range, to a hundredth of it. */
  isAtLimit(solid: number): boolean {
    return (this.scene?.joints ?? []).some(
      (j, i) =>
        j.enabled &&
        j.solids.includes(solid) &&
        j.limits.some((l) => {
          const [low, high] = [l.min ?? -Infinity, l.max ?? Infinity];
          let here = this.coordinate(i, l.direction);
          if (l.direction[0] === 'r' && here < low - 0.1) here += 2 * Math.PI;
          const slack = 0.01 * Math.min(high - low, l.direction[0] === 'r' ? 2 : this.size * 30);
          return here <= low + slack || here >= high - slack;
        }),
    );
  }

  private flags: ReadonlyMap<number, Flag> = new Map();

  /** Joints that stand out: those that say nothing new, that contradict others, and what they depend on. */
  flag(flags: ReadonlyMap<number, Flag>): void {
    this.flags = flags;
  }

  private color(i: number, joint: JointInfo): THREE.Color {
    const s = this.app.selection;
    if (s?.kind === 'joint' && s.id === i) return CHOSEN;
    const flag = this.flags.get(i);
    if (flag) return FLAGS[flag];
    if (!joint.enabled) return ink().off;
    return joint.rank === 1 ? ink().primary : ink().secondary;
  }

  /** The colour of a joint's mark now, as six hexadecimal digits. */
  colorOf(joint: number): string {
    return this.color(joint, this.scene!.joints[joint]!).getHexString();
  }

  update(frame: Frame): void {
    const { overlays, selection } = this.app;
    const all = [this.solid, this.dots, this.boxes, this.over, this.overDots, this.cones, this.funnels];
    for (const m of all) m.begin();
    const r = this.size;
    const joints = this.scene?.joints ?? [];
    joints.forEach((joint, i) => {
      const chosen = selection?.kind === 'joint' && selection.id === i;
      if (!overlays.joints && !overlays.frames && !overlays.limits && !chosen && !this.flags.has(i)) return;
      const frame1 = this.frameOf(i, 0);
      const at = v().setFromMatrixPosition(frame1);
      const axis = v().setFromMatrixColumn(frame1, 0);
      const flagged = this.flags.has(i);
      if (flagged) this.overDots.dot(at, 1.1 * r, this.color(i, joint));
      if (overlays.joints || chosen || flagged) this.marker(joint, [frame1, this.frameOf(i, 1)], at, axis, (chosen ? 1.2 : 1) * (this.thickness[i] ?? r), this.color(i, joint), (chosen ? 1.6 : 1) * (this.balls[i] ?? r));
      if (overlays.frames || chosen) for (const side of [0, 1] as const) this.axes(this.frameOf(i, side), side, r);
      if (overlays.limits || chosen) this.limits(i, joint, frame1, r);
      if (chosen) {
        const other = v().setFromMatrixPosition(this.frameOf(i, 1));
        this.overDots.dot(at, 0.5 * r, CHOSEN);
        this.overDots.dot(other, 0.5 * r, CHOSEN);
      }
    });
    if (overlays.gaps) {
      for (const open of frame.open) {
        const [a, b] = [v().fromArray(open.from), v().fromArray(open.to)];
        this.over.bar(a, b, 0.22 * r, ink().gap);
        for (const p of [a, b]) this.overDots.dot(p, 0.42 * r, ink().gap);
      }
    }
    if (overlays.centres) {
      this.scene?.solids.forEach((s, i) => {
        if (i === 0 || s.kind !== 'dynamic' || s.soft !== undefined) return;
        const at = v().fromArray(s.center).applyMatrix4(this.solids.matrices[i]!);
        const size = 0.9 * r;
        this.overDots.dot(at, 0.4 * size, ink().centre);
        for (let k = 0; k < 3; k++) {
          const d = v().setComponent(k, size);
          this.over.bar(at.clone().sub(d), at.clone().add(d), 0.1 * r, ink().centre);
        }
      });
    }
    if (overlays.forces) {
      const strongest = Math.max(1e-9, ...[...frame.grabs, ...frame.forces].map((g) => Math.hypot(...g.force)));
      for (const g of frame.grabs) this.arrow(v().fromArray(g.grip), v().fromArray(g.force), strongest);
      for (const { joint, force } of frame.forces) {
        this.arrow(v().setFromMatrixPosition(this.frameOf(joint, 1)), v().fromArray(force), strongest);
      }
    }
    if (overlays.contacts) {
      const now = Math.max(1e-9, ...frame.contacts.map((c) => Math.hypot(...c.force)));
      this.strongest = Math.max(now, 0.97 * this.strongest);
      for (const c of frame.contacts) this.contact(c);
    }
    for (const m of all) m.end();
  }

  /** A point, its force on the second solid, and the cone that friction keeps the force in. */
  private contact(c: Contact): void {
    const color = c.slides ? ink().slides : ink().sticks;
    const r = this.size;
    const at = v().fromArray(c.point);
    this.overDots.dot(at, 0.5 * r, color);
    this.arrow(at, v().fromArray(c.force), this.strongest, color);
    if (!(c.friction > 0)) return;
    const height = 7 * r * Math.min(1, 1 / c.friction);
    const m = new THREE.Matrix4().compose(
      at,
      new THREE.Quaternion().setFromUnitVectors(v().set(0, 1, 0), v().fromArray(c.normal).normalize()),
      v().set(c.friction * height, height, c.friction * height),
    );
    this.funnels.put(m, color);
  }

  private marker(joint: JointInfo, [m, other]: [THREE.Matrix4, THREE.Matrix4], at: THREE.Vector3, axis: THREE.Vector3, r: number, color: THREE.Color, ball: number): void {
    switch (joint.kind) {
      case 'angle':
        // It has directions and no place: a dot somewhere would look like dirt.
        break;
      case 'pin':
      case 'cylindrical':
      case 'screw': {
        // Long enough to be seen on both sides of solids that lie beside each other.
        const beyond = (joint.kind === 'pin' ? 1.3 : 2.4) * r;
        const places = joint.solids.filter((s) => s > 0).map((s) => {
          const centre = v().fromArray(this.scene!.solids[s]!.center).applyMatrix4(this.solids.matrices[s]!);
          return THREE.MathUtils.clamp(centre.sub(at).dot(axis), -4 * r, 4 * r);
        });
        const end = (x: number) => at.clone().addScaledVector(axis, x);
        this.solid.bar(end(Math.min(0, ...places) - beyond), end(Math.max(0, ...places) + beyond), 0.5 * r, color);
        break;
      }
      case 'slider': {
        // The block is where the part is by now, on a rail as far as it has gone.
        const gone = v().setFromMatrixPosition(other).sub(at).dot(axis);
        const end = (x: number) => at.clone().addScaledVector(axis, x);
        this.solid.bar(end(Math.min(0, gone) - 4 * r), end(Math.max(0, gone) + 4 * r), 0.3 * r, color);
        this.boxes.put(m.clone().setPosition(end(gone)).scale(v().set(3 * r, 2.2 * r, 2.2 * r)), color);
        break;
      }
      case 'weld':
        this.boxes.put(m.clone().scale(v().setScalar(2.1 * r)), color);
        break;
      case 'point on plane':
      case 'planar':
        this.boxes.put(m.clone().scale(v().set(0.4 * r, 2.6 * r, 2.6 * r)), color);
        break;
      default:
        this.dots.dot(at, ball, color);
    }
  }

  /** The frame's axes: i is the longest and k the shortest, so that colour is not all that tells them apart. */
  private axes(m: THREE.Matrix4, side: 0 | 1, r: number): void {
    const at = v().setFromMatrixPosition(m);
    for (let k = 0; k < 3; k++) {
      const end = v().setFromMatrixColumn(m, k).multiplyScalar(r * (4.5 - k) * (side === 0 ? 1 : 0.72)).add(at);
      this.over.bar(at, end, (side === 0 ? 0.16 : 0.1) * r, ink().axes[k]!);
    }
  }

  /** Allowed turns as arcs about the axis, allowed travel as a rail; the needle is where it stands. */
  private limits(i: number, joint: JointInfo, frame1: THREE.Matrix4, r: number): void {
    const relative = frame1.clone().invert().multiply(this.frameOf(i, 1));
    for (const limit of joint.limits) {
      const k = Number(limit.direction[1]) - 1;
      const radius = 6 * r;
      if (limit.direction[0] === 't') {
        const here = v().setFromMatrixPosition(relative).getComponent(k);
        const place = (x: number) => v().setComponent(k, x).applyMatrix4(frame1);
        const [low, high] = [limit.min ?? here - radius, limit.max ?? here + radius];
        this.over.bar(place(low), place(high), 0.1 * r, ink().limit);
        for (const x of [limit.min, limit.max]) if (x !== null) this.overDots.dot(place(x), 0.35 * r, ink().limit);
        this.overDots.dot(place(here), 0.5 * r, ink().limit);
        continue;
      }
      const [a, b] = [(k + 1) % 3, (k + 2) % 3];
      const place = (angle: number) =>
        v().setComponent(a, radius * Math.cos(angle)).setComponent(b, radius * Math.sin(angle)).applyMatrix4(frame1);
      const low = limit.min ?? -Math.PI;
      const high = Math.min(limit.max ?? Math.PI, low + 2 * Math.PI);
      const pieces = Math.max(2, Math.ceil((high - low) / 0.16));
      let last = place(low);
      for (let n = 1; n <= pieces; n++) {
        const next = place(low + ((high - low) * n) / pieces);
        this.over.bar(last, next, 0.12 * r, ink().limit);
        last = next;
      }
      const centre = v().setFromMatrixPosition(frame1);
      for (const end of [low, high]) this.over.bar(centre, place(end), 0.07 * r, ink().limit);
      const turned = v().setFromMatrixColumn(relative, a);
      this.over.bar(centre, place(Math.atan2(turned.getComponent(b), turned.getComponent(a))), 0.18 * r, CHOSEN);
    }
  }

  private arrow(from: THREE.Vector3, force: THREE.Vector3, strongest: number, color = ink().force): void {
    const length = (force.length() / strongest) * 14 * this.size;
    if (!(length > 1e-6)) return;
    const tip = from.clone().addScaledVector(force.clone().normalize(), length);
    this.over.bar(from, tip, 0.2 * this.size, color);
    const m = new THREE.Matrix4().compose(
      tip,
      new THREE.Quaternion().setFromUnitVectors(v().set(0, 1, 0), force.clone().normalize()),
      v().set(0.6 * this.size, 1.6 * this.size, 0.6 * this.size),
    );
    this.cones.put(m, color);
  }
}
