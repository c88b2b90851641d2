/**
 * Skins: smooth surfaces over chains of solids. The library makes them once, at rest; here they move with bones, which
 * are the solids and a few frames between each two of them (crates/linkwork/src/skin/mod.rs tells why).
 */

import * as THREE from 'three';
import type { SceneMessage, SkinInfo } from '../protocol';

interface Bone {
  node: THREE.Bone;
  solids: [number, number];
  points: [THREE.Vector3, THREE.Vector3];
  turns: [THREE.Quaternion, THREE.Quaternion];
  share: number;
}

/** Where a ray meets a skin. */
export interface SkinHit {
  solid: number;
  /** In world coordinates. */
  point: THREE.Vector3;
  distance: number;
}

const one = new THREE.Vector3(1, 1, 1);
const [place, other] = [new THREE.Vector3(), new THREE.Vector3()];
const [turn, turnOther] = [new THREE.Quaternion(), new THREE.Quaternion()];

/** Where a bone is when the solids are where their matrices say. */
function poseBone(bone: Bone, matrices: THREE.Matrix4[]): void {
  const [a, b] = [matrices[bone.solids[0]]!, matrices[bone.solids[1]]!];
  place.copy(bone.points[0]).applyMatrix4(a);
  turn.setFromRotationMatrix(a).multiply(bone.turns[0]);
  if (bone.share > 0) {
    other.copy(bone.points[1]).applyMatrix4(b);
    turnOther.setFromRotationMatrix(b).multiply(bone.turns[1]);
    place.lerp(other, bone.share);
    turn.slerp(turnOther, bone.share);
  }
  bone.node.matrix.compose(place, turn, one);
}

export class Skin {
  readonly mesh: THREE.SkinnedMesh;
  /** The solids that wear it. */
  readonly solids: ReadonlySet<number>;
  private bones: Bone[];
  private skeleton: THREE.Skeleton;
  private outlines = new Map<number, THREE.SkinnedMesh>();
  /** Middles of the rings where they are now; they and their radii are what rays are held against. */
  private centers: THREE.Vector3[];
  private motions: THREE.Matrix4[];

  constructor(
    private readonly info: SkinInfo,
    material: THREE.Material,
    shadows: boolean,
  ) {
    const corners = info.positions.length / 3;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(info.positions, 3));
    geometry.setAttribute('normal', new THREE.Float32BufferAttribute(info.normals, 3));
    geometry.setIndex(info.indices);
    const numbers = new Uint16Array(4 * corners);
    const weights = new Float32Array(4 * corners);
    for (let k = 0; k < corners; k++) {
      const ring = info.rings[this.ringOf(k)]!;
      numbers.set(ring.bones, 4 * k);
      weights.set(ring.weights, 4 * k);
    }
    geometry.setAttribute('skinIndex', new THREE.Uint16BufferAttribute(numbers, 4));
    geometry.setAttribute('skinWeight', new THREE.Float32BufferAttribute(weights, 4));
    geometry.setAttribute('color', new THREE.Float32BufferAttribute(new Float32Array(3 * corners).fill(1), 3));
    this.mesh = new THREE.SkinnedMesh(geometry, material);
    this.mesh.name = info.name;
    this.mesh.castShadow = this.mesh.receiveShadow = shadows;
    // Its bounds are those of its solids: nobody has to work them out of the corners.
    this.mesh.frustumCulled = false;
    this.bones = info.bones.map((b) => {
      const node = new THREE.Bone();
      node.matrixAutoUpdate = false;
      return {
        node,
        solids: b.solids,
        points: [new THREE.Vector3(...b.points[0]), new THREE.Vector3(...b.points[1])],
        turns: [new THREE.Quaternion(...b.turns[0]), new THREE.Quaternion(...b.turns[1])],
        share: b.share,
      };
    });
    const inverses = info.bones.map(({ rest: r }) =>
      new THREE.Matrix4().compose(new THREE.Vector3(r[0], r[1], r[2]), new THREE.Quaternion(r[3], r[4], r[5], r[6]), one).invert(),
    );
    this.skeleton = new THREE.Skeleton(
      this.bones.map((b) => b.node),
      inverses,
    );
    this.mesh.add(...this.bones.map((b) => b.node));
    this.mesh.bind(this.skeleton, new THREE.Matrix4());
    this.solids = new Set(info.bones.flatMap((b) => b.solids));
    this.centers = info.rings.map((r) => new THREE.Vector3(...r.center));
    this.motions = info.bones.map(() => new THREE.Matrix4());
  }

  private ringOf(corner: number): number {
    return Math.floor((corner + this.info.around - 1) / this.info.around);
  }

  pose(matrices: THREE.Matrix4[]): void {
    this.bones.forEach((b, k) => {
      poseBone(b, matrices);
      b.node.matrixWorldNeedsUpdate = true;
      this.motions[k]!.multiplyMatrices(b.node.matrix, this.skeleton.boneInverses[k]!);
    });
    this.info.rings.forEach((r, k) => {
      const sum = this.centers[k]!.set(0, 0, 0);
      for (let i = 0; i < 4; i++) {
        if (r.weights[i]! > 0) sum.addScaledVector(place.set(...r.center).applyMatrix4(this.motions[r.bones[i]!]!), r.weights[i]!);
      }
    });
  }

  /** How much a ring has of each solid. */
  private shares(ring: number): [number, number][] {
    const r = this.info.rings[ring]!;
    return r.bones.flatMap((b, i): [number, number][] => {
      const { solids, share } = this.info.bones[b]!;
      return r.weights[i]! > 0 ? [[solids[0], r.weights[i]! * (1 - share)], [solids[1], r.weights[i]! * share]] : [];
    });
  }

  /** Paints every ring with what it has of its solids' colours: `of` makes a solid's from its own and the skin's. */
  paint(of: (solid: number, own: THREE.Color | null) => THREE.Color): void {
    const own = this.info.color ? new THREE.Color().setRGB(...this.info.color, THREE.SRGBColorSpace) : null;
    const colors = this.mesh.geometry.getAttribute('color') as THREE.BufferAttribute;
    const known = new Map([...this.solids].map((s) => [s, of(s, own)]));
    const rings = this.info.rings.map((_, k) => {
      const sum = new THREE.Color(0, 0, 0);
      for (const [solid, share] of this.shares(k)) {
        const c = known.get(solid)!;
        sum.r += share * c.r;
        sum.g += share * c.g;
        sum.b += share * c.b;
      }
      return sum;
    });
    for (let k = 0; k < colors.count; k++) {
      const c = rings[this.ringOf(k)]!;
      colors.setXYZ(k, c.r, c.g, c.b);
    }
    colors.needsUpdate = true;
  }

  /** Shows a rim about the part that is a solid's, or none. */
  outline(solid: number, paint: THREE.Material | null): void {
    const last = this.outlines.get(solid);
    if (last) {
      this.mesh.remove(last);
      last.geometry.dispose();
      this.outlines.delete(solid);
    }
    if (!paint) return;
    const own = this.info.rings.flatMap((r, k) => (r.solid === solid ? [k] : []));
    if (own.length === 0) return;
    const [first, end] = [own[0]!, own[own.length - 1]! + 1];
    const from = this.mesh.geometry;
    const part = new THREE.BufferGeometry();
    for (const name of ['position', 'normal', 'skinIndex', 'skinWeight']) part.setAttribute(name, from.getAttribute(name));
    const index = this.info.indices;
    const kept: number[] = [];
    for (let t = 0; t < index.length; t += 3) {
      const rings = [0, 1, 2].map((i) => this.ringOf(index[t + i]!));
      if (Math.min(...rings) >= first && Math.max(...rings) <= end) kept.push(index[t]!, index[t + 1]!, index[t + 2]!);
    }
    part.setIndex(kept);
    const rim = new THREE.SkinnedMesh(part, paint);
    rim.frustumCulled = false;
    rim.bind(this.skeleton, new THREE.Matrix4());
    this.outlines.set(solid, rim);
    this.mesh.add(rim);
  }

  /**
   * Where a ray meets it first. The rings are closer together than they are wide, so that the balls about their
   * middles are as good as the surface, and much less work.
   */
  pick(ray: THREE.Ray, toWorld: THREE.Matrix4): SkinHit | null {
    let best: SkinHit | null = null;
    const ball = new THREE.Sphere();
    this.info.rings.forEach((r, k) => {
      ball.set(this.centers[k]!, r.radius).applyMatrix4(toWorld);
      const point = ray.intersectSphere(ball, place);
      const distance = point ? ray.origin.distanceTo(point) : Infinity;
      if (point && (!best || distance < best.distance)) best = { solid: r.solid, point: point.clone(), distance };
    });
    return best;
  }

  dispose(): void {
    for (const solid of [...this.outlines.keys()]) this.outline(solid, null);
    this.mesh.geometry.dispose();
    this.skeleton.dispose();
  }
}

/** All skins of a scene. */
export function skinsOf(scene: SceneMessage, tint: THREE.ColorRepresentation | null): Skin[] {
  return (scene.skins ?? []).map((info) => {
    const material =
      tint !== null
        ? new THREE.MeshStandardMaterial({ color: tint, transparent: true, opacity: 0.3, roughness: 0.9, depthWrite: false })
        : new THREE.MeshStandardMaterial({ vertexColors: true, roughness: 0.5, metalness: 0.04 });
    return new Skin(info, material, tint === null);
  });
}
