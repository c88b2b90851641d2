/** Springs as coils and `distance` joints as rods, between the points that they join. One draw call each. */

import * as THREE from 'three';
import type { App } from '../app';
import type { SceneMessage, SpringInfo } from '../protocol';
import { Marks, unitBar } from './marks';
import type { Solids } from './solids';
import { dark } from './stage';

const COLOURS = {
  day: { spring: new THREE.Color(0x4d6a86), rod: new THREE.Color(0x5c6672) },
  night: { spring: new THREE.Color(0xa9c8e6), rod: new THREE.Color(0xb6c0cb) },
};
const ink = () => (dark.matches ? COLOURS.night : COLOURS.day);
/** Turns of a coil; where there are many springs each is drawn with less. */
const TURNS = 9;
const MANY = 300;

/** A coil of radius 1 along y from 0 to 1, with straight ends. Its wire is a tube of `wire` times the radius. */
export function unitCoil(turns = TURNS, wire = 0.26, steps = 12): THREE.BufferGeometry {
  const end = 0.12;
  const points = [new THREE.Vector3(0, 0, 0), new THREE.Vector3(0, end * 0.8, 0)];
  const n = turns * steps;
  for (let k = 0; k <= n; k++) {
    const a = (2 * Math.PI * turns * k) / n;
    points.push(new THREE.Vector3(Math.cos(a), end + ((1 - 2 * end) * k) / n, Math.sin(a)));
  }
  points.push(new THREE.Vector3(0, 1 - end * 0.8, 0), new THREE.Vector3(0, 1, 0));
  const path = new THREE.CatmullRomCurve3(points, false, 'centripetal');
  const tube = new THREE.TubeGeometry(path, n + 2 * steps, 1, 5);
  // y is scaled with the spring's length, some forty times its width, and x and z with the width: the wire is round then.
  const [at, normal] = [tube.attributes.position!, tube.attributes.normal!];
  for (let i = 0; i < at.count; i++) {
    const d = new THREE.Vector3().fromBufferAttribute(normal, i);
    const p = new THREE.Vector3().fromBufferAttribute(at, i).sub(d);
    at.setXYZ(i, p.x + wire * d.x, p.y + (wire / 40) * d.y, p.z + wire * d.z);
  }
  return tube;
}

export class Springs {
  readonly group = new THREE.Group();
  private readonly coils: Marks;
  private readonly plain: Marks;
  private readonly rods: Marks;
  private springs: SpringInfo[] = [];
  private distances: number[] = [];
  private radius = 1;
  /** How wide each coil is: as when it was first drawn, however it is stretched later. */
  private wide: number[] = [];

  constructor(
    private readonly app: App,
    private readonly solids: Solids,
    private readonly frameOf: (joint: number, side: 0 | 1) => THREE.Matrix4,
  ) {
    const metal = new THREE.MeshStandardMaterial({ roughness: 0.45, metalness: 0.35 });
    this.coils = new Marks(this.group, unitCoil(), metal);
    this.plain = new Marks(this.group, unitBar(), metal);
    this.rods = new Marks(this.group, unitBar(), metal);
    this.group.name = 'springs';
    for (const m of [this.coils, this.plain, this.rods]) m.mesh.castShadow = true;
  }

  load(scene: SceneMessage, radius: number): void {
    this.springs = scene.springs ?? [];
    this.distances = scene.joints.flatMap((j, i) => (j.kind === 'distance' ? [i] : []));
    this.radius = radius;
    this.wide = [];
  }

  /** Where a point of a solid, or of a soft body's vertex, is. */
  private place(solid: number, point: readonly number[]): THREE.Vector3 | null {
    const soft = this.app.scene?.solids[solid]?.soft;
    if (soft !== undefined) {
      const body = this.solids.softs[soft];
      return body ? body.place(solid - body.info.first) : null;
    }
    const matrix = this.solids.matrices[solid];
    return matrix ? new THREE.Vector3().fromArray(point as number[]).applyMatrix4(matrix) : null;
  }

  private ends(s: SpringInfo): [THREE.Vector3, THREE.Vector3] | null {
    const [a, b] = [this.place(s.solids[0], s.points[0]), this.place(s.solids[1], s.points[1])];
    return a && b ? [a, b] : null;
  }

  update(time: number): void {
    for (const m of [this.coils, this.plain, this.rods]) m.begin();
    const colours = ink();
    const many = this.springs.length > MANY;
    this.springs.forEach((s, i) => {
      if (s.during && (time < s.during[0] || time > s.during[1])) return;
      const ends = this.ends(s);
      if (!ends) return;
      // Short ones are thinner, so that they still look like coils.
      this.wide[i] ??= Math.min(0.03 * this.radius, 0.08 * Math.max(ends[0].distanceTo(ends[1]), s.length, 0.02 * this.radius));
      if (many) this.plain.bar(...ends, 0.15 * this.wide[i]!, colours.spring);
      else this.coil(...ends, this.wide[i]!, colours.spring);
    });
    for (const j of this.distances) {
      if (!this.app.scene?.joints[j]?.enabled) continue;
      const [a, b] = [this.frameOf(j, 0), this.frameOf(j, 1)].map((m) => new THREE.Vector3().setFromMatrixPosition(m));
      this.rods.bar(a!, b!, 0.004 * this.radius, colours.rod);
    }
    for (const m of [this.coils, this.plain, this.rods]) m.end();
  }

  private coil(a: THREE.Vector3, b: THREE.Vector3, wide: number, color: THREE.Color): void {
    const along = b.clone().sub(a);
    const length = along.length();
    if (!(length > 1e-9)) return;
    const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.divideScalar(length));
    this.coils.put(new THREE.Matrix4().compose(a, turn, new THREE.Vector3(wide, length, wide)), color);
  }

  /** What is drawn now: for who tests it. */
  get drawn(): { coils: number; plain: number; rods: number } {
    return { coils: this.coils.mesh.count, plain: this.plain.mesh.count, rods: this.rods.mesh.count };
  }
}
