/**
 * Soft bodies: cloth as a smooth sheet with both sides and its thickness, ropes as tubes, soft solids by their surface.
 * One mesh each, whose corners are set from the vertices of a frame; vertices themselves are not drawn.
 */

import * as THREE from 'three';
import { POSE, type SoftInfo, vertexCount } from '../protocol';

/** Corners around a rope. */
const AROUND = 10;
/** Springs without a limit are coloured as if this strain were theirs. */
export const NO_LIMIT = 0.1;
/** Colours of strain from rest (or slack) to the limit, at equal distances, and of what is beyond it. */
export const STRAINS = ['#2f66b3', '#35a29f', '#d3d04a', '#ee9433', '#cf2430'] as const;
const BEYOND = '#b01fd0';

/** Where a ray meets a soft body: the vertex that is meant, and the place and normal of the surface. */
export interface SoftHit {
  vertex: number;
  distance: number;
  normal: THREE.Vector3 | null;
}

/** The colour of a strain as a share of its limit, linear. */
export function strainColor(share: number, out = new THREE.Color()): THREE.Color {
  if (share > 1.005) return out.set(BEYOND);
  const x = Math.min(Math.max(share, 0), 1) * (STRAINS.length - 1);
  const k = Math.min(Math.floor(x), STRAINS.length - 2);
  return out.set(STRAINS[k]!).lerp(new THREE.Color(STRAINS[k + 1]!), x - k);
}

/** Colours of strains are looked up: there are thousands of them in every picture. */
const STEPS = 128;
const ramp = new Float32Array(3 * (STEPS + 2));
for (let i = 0; i <= STEPS + 1; i++) strainColor(i <= STEPS ? i / STEPS : 2).toArray(ramp, 3 * i);

/** Edges of triangles that no second triangle has, in the direction of theirs. */
function border(triangles: ArrayLike<number>, vertices: number): [number, number][] {
  const seen = new Map<number, [number, number] | null>();
  for (let t = 0; t < triangles.length; t += 3) {
    for (let k = 0; k < 3; k++) {
      const [a, b] = [triangles[t + k]!, triangles[t + ((k + 1) % 3)]!];
      const key = Math.min(a, b) * vertices + Math.max(a, b);
      seen.set(key, seen.has(key) ? null : [a, b]);
    }
  }
  return [...seen.values()].filter((e) => e !== null);
}

const [u, v, w, q] = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];

export class Soft {
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  readonly count: number;
  /** Where the vertices are now, and the normals of the surface there. */
  readonly places: Float32Array;
  private readonly normals: Float32Array;
  private readonly fixed: ReadonlySet<number>;
  private readonly triangles: Uint32Array;
  private readonly springs: { ends: Uint32Array; length: number; limit: number }[];
  /** Strain of each vertex as a share of the limit, as far as it was asked for. */
  readonly strains: Float32Array;
  private strained = false;
  private readonly own: THREE.Color;
  /** Of corners for one vertex: two of a sheet with a thickness, a ring of a rope. */
  private readonly layers: number;

  constructor(
    readonly info: SoftInfo,
    private readonly tint: THREE.ColorRepresentation | null = null,
  ) {
    this.count = vertexCount(info);
    this.places = new Float32Array(3 * this.count);
    this.normals = new Float32Array(3 * this.count);
    this.strains = new Float32Array(this.count);
    this.fixed = new Set(info.fixed);
    this.triangles = new Uint32Array(info.triangles);
    this.springs = info.springs.map((s) => ({ ends: new Uint32Array(s.ends), length: s.length, limit: s.limit ?? NO_LIMIT }));
    this.own = new THREE.Color().setRGB(...info.color, THREE.SRGBColorSpace);
    const shell = info.kind === 'cloth' && info.thickness > 0;
    this.layers = info.kind === 'rope' ? AROUND : shell ? 2 : 1;
    const corners = this.layers * this.count + (info.kind === 'rope' ? 2 : 0);
    const geometry = new THREE.BufferGeometry();
    for (const name of ['position', 'normal', 'color']) {
      const attribute = new THREE.BufferAttribute(new Float32Array(3 * corners), 3);
      attribute.setUsage(THREE.DynamicDrawUsage);
      geometry.setAttribute(name, attribute);
    }
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(this.faces(shell)), 1));
    const side = info.kind === 'cloth' && !shell ? THREE.DoubleSide : THREE.FrontSide;
    const material =
      tint !== null
        ? new THREE.MeshStandardMaterial({ color: tint, transparent: true, opacity: 0.3, roughness: 0.9, depthWrite: false, side: THREE.DoubleSide })
        : new THREE.MeshStandardMaterial({ color: this.own, roughness: 0.82, metalness: 0, side, shadowSide: THREE.DoubleSide });
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.name = info.name;
    this.mesh.castShadow = this.mesh.receiveShadow = tint === null;
    this.mesh.frustumCulled = false;
  }

  /** Corners of the faces that are drawn. */
  private faces(shell: boolean): number[] {
    const n = this.count;
    const faces: number[] = [];
    if (this.info.kind === 'rope') {
      const gaps = new Set(this.info.gaps);
      for (let i = 0; i + 1 < n; i++)
        for (let k = 0; k < AROUND; k++) {
          if (gaps.has(i)) break;
          const [a, b] = [i * AROUND + k, i * AROUND + ((k + 1) % AROUND)];
          faces.push(a, b, a + AROUND, b, b + AROUND, a + AROUND);
        }
      for (let k = 0; k < AROUND; k++) {
        const next = (k + 1) % AROUND;
        faces.push(n * AROUND, next, k, n * AROUND + 1, (n - 1) * AROUND + k, (n - 1) * AROUND + next);
      }
      return faces;
    }
    const t = this.triangles;
    for (let i = 0; i < t.length; i += 3) {
      faces.push(t[i]!, t[i + 1]!, t[i + 2]!);
      if (shell) faces.push(n + t[i]!, n + t[i + 2]!, n + t[i + 1]!);
    }
    if (shell) for (const [a, b] of border(t, n)) faces.push(b, a, n + b, a, n + a, n + b);
    return faces;
  }

  /** Puts the vertices where a frame says; `strained`: coloured by strain. */
  pose(poses: ArrayLike<number>, strained: boolean): void {
    const p = this.places;
    let from = POSE * (this.info.first - 1);
    for (let k = 0; k < p.length; k += 3, from += POSE) {
      p[k] = poses[from]!;
      p[k + 1] = poses[from + 1]!;
      p[k + 2] = poses[from + 2]!;
    }
    if (this.info.kind === 'rope') this.tube();
    else this.surface();
    if (this.tint === null && (strained || this.strained)) this.stain(strained);
  }

  private attribute(name: string): Float32Array {
    const attribute = this.mesh.geometry.getAttribute(name) as THREE.BufferAttribute;
    attribute.needsUpdate = true;
    return attribute.array as Float32Array;
  }

  /** Normals weighted by area, and corners half the thickness out along them. */
  private surface(): void {
    const { places: p, normals: n, triangles: t } = this;
    n.fill(0);
    for (let i = 0; i < t.length; i += 3) {
      const [a, b, c] = [3 * t[i]!, 3 * t[i + 1]!, 3 * t[i + 2]!];
      const [x1, y1, z1] = [p[b]! - p[a]!, p[b + 1]! - p[a + 1]!, p[b + 2]! - p[a + 2]!];
      const [x2, y2, z2] = [p[c]! - p[a]!, p[c + 1]! - p[a + 1]!, p[c + 2]! - p[a + 2]!];
      const [x, y, z] = [y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2];
      for (const k of [a, b, c]) {
        n[k]! += x;
        n[k + 1]! += y;
        n[k + 2]! += z;
      }
    }
    for (let k = 0; k < n.length; k += 3) {
      const size = Math.hypot(n[k]!, n[k + 1]!, n[k + 2]!) || 1;
      n[k]! /= size;
      n[k + 1]! /= size;
      n[k + 2]! /= size;
    }
    const [position, normal] = [this.attribute('position'), this.attribute('normal')];
    const half = 0.5 * this.info.thickness;
    for (let layer = 0, at = 0; layer < this.layers; layer++) {
      const side = layer === 0 ? 1 : -1;
      for (let k = 0; k < p.length; k++, at++) {
        position[at] = p[k]! + side * half * n[k]!;
        normal[at] = side * n[k]!;
      }
    }
  }

  /** Rings about a rope, each turned as little as possible against the one before. */
  private tube(): void {
    const { places: p, count: n } = this;
    const r = this.info.radius;
    const [position, normal] = [this.attribute('position'), this.attribute('normal')];
    const along = (i: number, out: THREE.Vector3) => {
      const [a, b] = [3 * Math.max(i - 1, 0), 3 * Math.min(i + 1, n - 1)];
      out.set(p[b]! - p[a]!, p[b + 1]! - p[a + 1]!, p[b + 2]! - p[a + 2]!);
      return out.lengthSq() > 0 ? out.normalize() : out.set(1, 0, 0);
    };
    // u goes along, v and w across.
    along(0, u);
    v.set(Math.abs(u.x) < 0.6 ? 1 : 0, Math.abs(u.x) < 0.6 ? 0 : 1, 0);
    for (let i = 0; i < n; i++) {
      along(i, u);
      v.addScaledVector(u, -v.dot(u));
      if (v.lengthSq() < 1e-12) v.set(u.y, u.z, u.x).addScaledVector(u, -(u.y * u.x + u.z * u.y + u.x * u.z));
      v.normalize();
      w.crossVectors(u, v);
      for (let k = 0; k < AROUND; k++) {
        const angle = (2 * Math.PI * k) / AROUND;
        q.copy(v).multiplyScalar(Math.cos(angle)).addScaledVector(w, Math.sin(angle));
        const at = 3 * (i * AROUND + k);
        q.toArray(normal, at);
        position[at] = p[3 * i]! + r * q.x;
        position[at + 1] = p[3 * i + 1]! + r * q.y;
        position[at + 2] = p[3 * i + 2]! + r * q.z;
      }
      if (i > 0 && i < n - 1) continue;
      const [tip, out] = i === 0 ? [3 * n * AROUND, -1] : [3 * (n * AROUND + 1), 1];
      q.copy(u).multiplyScalar(out).toArray(normal, tip);
      for (let c = 0; c < 3; c++) position[tip + c] = p[3 * i + c]! + 0.5 * r * normal[tip + c]!;
    }
  }

  /** The longest stretch of the springs at each vertex, as a share of the limit, as colour. */
  private stain(on: boolean): void {
    if (on !== this.strained) {
      this.strained = on;
      this.mesh.material.vertexColors = on;
      this.mesh.material.color.copy(on ? new THREE.Color(1, 1, 1) : this.own);
      this.mesh.material.needsUpdate = true;
    }
    if (!on) return;
    const { places: p, strains } = this;
    strains.fill(0);
    for (const { ends, length, limit } of this.springs) {
      for (let k = 0; k < ends.length; k += 2) {
        const [a, b] = [ends[k]!, ends[k + 1]!];
        const far = Math.hypot(p[3 * a]! - p[3 * b]!, p[3 * a + 1]! - p[3 * b + 1]!, p[3 * a + 2]! - p[3 * b + 2]!);
        const share = (far / length - 1) / limit;
        if (share > strains[a]!) strains[a] = share;
        if (share > strains[b]!) strains[b] = share;
      }
    }
    const color = this.attribute('color');
    const n = this.count;
    const paint = (corner: number, vertex: number) => {
      const x = strains[vertex]!;
      const step = 3 * (x > 1.005 ? STEPS + 1 : Math.min(STEPS, Math.round(STEPS * x)));
      for (let c = 0; c < 3; c++) color[3 * corner + c] = ramp[step + c]!;
    };
    if (this.info.kind === 'rope') {
      for (let i = 0; i < n * AROUND; i++) paint(i, Math.floor(i / AROUND));
      paint(n * AROUND, 0);
      paint(n * AROUND + 1, n - 1);
    } else {
      for (let i = 0; i < this.layers * n; i++) paint(i, i % n);
    }
  }

  /** The colour of the body: its own, or paler. */
  paint(shade: (own: THREE.Color) => THREE.Color): void {
    if (this.tint === null && !this.strained) this.mesh.material.color.copy(shade(this.own));
  }

  isFixed(vertex: number): boolean {
    return this.fixed.has(vertex);
  }

  /** A vertex that stands for the whole: the last one that can move. */
  get middle(): number {
    for (let k = this.count - 1; k > 0; k--) if (!this.fixed.has(k)) return k;
    return 0;
  }

  place(vertex: number, out = new THREE.Vector3()): THREE.Vector3 {
    return out.fromArray(this.places, 3 * vertex);
  }

  /** The nearest of some vertices to a point; those that can move come first. */
  private nearestOf(candidates: number[], point: THREE.Vector3): number {
    const free = candidates.filter((c) => !this.fixed.has(c));
    let best = candidates[0]!;
    let least = Infinity;
    for (const c of free.length > 0 ? free : candidates) {
      const far = this.place(c, w).distanceToSquared(point);
      if (far < least) [best, least] = [c, far];
    }
    return best;
  }

  /** Where a ray of the scene's coordinates meets it first. Both sides count. */
  pick(ray: THREE.Ray): SoftHit | null {
    return this.info.kind === 'rope' ? this.pickRope(ray) : this.pickSurface(ray);
  }

  /** Möller and Trumbore's test, without a single object for the thousands of triangles that are missed. */
  private pickSurface({ origin: o, direction: d }: THREE.Ray): SoftHit | null {
    const { places: p, triangles: t } = this;
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < t.length; i += 3) {
      const [a, b, c] = [3 * t[i]!, 3 * t[i + 1]!, 3 * t[i + 2]!];
      const [x1, y1, z1] = [p[b]! - p[a]!, p[b + 1]! - p[a + 1]!, p[b + 2]! - p[a + 2]!];
      const [x2, y2, z2] = [p[c]! - p[a]!, p[c + 1]! - p[a + 1]!, p[c + 2]! - p[a + 2]!];
      const [hx, hy, hz] = [d.y * z2 - d.z * y2, d.z * x2 - d.x * z2, d.x * y2 - d.y * x2];
      const det = x1 * hx + y1 * hy + z1 * hz;
      if (Math.abs(det) < 1e-14) continue;
      const [sx, sy, sz] = [o.x - p[a]!, o.y - p[a + 1]!, o.z - p[a + 2]!];
      const s = (sx * hx + sy * hy + sz * hz) / det;
      if (s < 0 || s > 1) continue;
      const [qx, qy, qz] = [sy * z1 - sz * y1, sz * x1 - sx * z1, sx * y1 - sy * x1];
      const r = (d.x * qx + d.y * qy + d.z * qz) / det;
      if (r < 0 || s + r > 1) continue;
      const far = (x2 * qx + y2 * qy + z2 * qz) / det;
      if (far > 0 && far < least) [best, least] = [i, far];
    }
    if (best < 0) return null;
    const point = new THREE.Vector3().copy(d).multiplyScalar(least).add(o);
    const corners = [t[best]!, t[best + 1]!, t[best + 2]!];
    const [a, b, c] = corners.map((k) => this.place(k)) as [THREE.Vector3, THREE.Vector3, THREE.Vector3];
    const normal = b.sub(a).cross(c.sub(a)).normalize();
    if (this.info.kind === 'cloth' && normal.dot(d) > 0) normal.negate();
    return { vertex: this.nearestOf(corners, point), distance: least, normal };
  }

  private pickRope(ray: THREE.Ray): SoftHit | null {
    const reach = (1.3 * this.info.radius) ** 2;
    let best: SoftHit | null = null;
    for (let i = 0; i + 1 < this.count; i++) {
      const near = ray.distanceSqToSegment(this.place(i, u), this.place(i + 1, v), q, w);
      const distance = q.distanceTo(ray.origin);
      if (near > reach || (best && distance >= best.distance)) continue;
      best = { vertex: this.nearestOf([i, i + 1], q.clone()), distance, normal: null };
    }
    return best;
  }

  /** The vertex that can move and is nearest to a point. */
  nearest(point: THREE.Vector3): { vertex: number; distance: number } | null {
    let [best, least] = [-1, Infinity];
    for (let k = 0; k < this.count; k++) {
      const p = this.places;
      const far = (p[3 * k]! - point.x) ** 2 + (p[3 * k + 1]! - point.y) ** 2 + (p[3 * k + 2]! - point.z) ** 2;
      if (far < least && !this.fixed.has(k)) [best, least] = [k, far];
    }
    return best < 0 ? null : { vertex: best, distance: Math.sqrt(least) };
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}
