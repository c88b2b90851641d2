/**
 * The solids as instanced meshes: equal shapes share one geometry and one draw call, so that a mesh of a thousand bars
 * costs what one bar costs.
 */

import * as THREE from 'three';
import type { SceneMessage, ShapeInfo } from '../protocol';

interface Instance {
  solid: number;
  local: THREE.Matrix4;
}

interface Batch {
  mesh: THREE.InstancedMesh;
  instances: Instance[];
}

export interface Hit {
  solid: number;
  /** In the scene's coordinates. */
  point: THREE.Vector3;
  distance: number;
}

/** What an instance looks like besides its own colour. */
export type Mark = 'none' | 'hover' | 'selected' | 'held';

function geometry(s: ShapeInfo, fine: boolean): THREE.BufferGeometry {
  const around = fine ? 28 : 12;
  switch (s.type) {
    case 'sphere':
      return new THREE.SphereGeometry(s.radius, around, fine ? 18 : 8);
    case 'capsule':
      return new THREE.CapsuleGeometry(s.radius, s.length, fine ? 8 : 4, around).rotateZ(-Math.PI / 2);
    case 'cylinder':
      return new THREE.CylinderGeometry(s.radius, s.radius, s.length, around + 8).rotateZ(-Math.PI / 2);
    case 'box':
      return new THREE.BoxGeometry(...s.size!);
    case 'plane':
      // The half space below; its normal is x.
      return new THREE.PlaneGeometry(s.length!, s.length!).rotateY(Math.PI / 2);
    case 'mesh': {
      const g = new THREE.BufferGeometry();
      g.setAttribute('position', new THREE.Float32BufferAttribute(s.positions!, 3));
      g.setIndex(s.indices!);
      const flat = g.toNonIndexed();
      flat.computeVertexNormals();
      return flat;
    }
  }
}

function key(s: ShapeInfo): string {
  const round = (x?: number) => x?.toPrecision(6);
  if (s.type === 'mesh') return `mesh ${s.positions!.length} ${s.positions!.slice(0, 30).join()} ${s.indices!.slice(0, 30).join()}`;
  return [s.type, round(s.radius), round(s.length), s.size?.map(round).join()].join(' ');
}

/** The plane of a solid that does not move, facing up. (How the solid itself is turned is seen by `floor`.) */
function isLevel(scene: SceneMessage, kind: string, shape: ShapeInfo): boolean {
  const normal = new THREE.Vector3(1, 0, 0).applyQuaternion(new THREE.Quaternion(...(shape.pose.slice(3) as [number, number, number, number])));
  return kind === 'fixed' && (scene.up === 'z' ? normal.z : normal.y) > 0.999;
}

const matrix = new THREE.Matrix4();
const one = new THREE.Vector3(1, 1, 1);

/** The matrix of a pose: x y z, quaternion x y z w. */
export function poseMatrix(p: ArrayLike<number>, at = 0, out = new THREE.Matrix4()): THREE.Matrix4 {
  return out.compose(
    new THREE.Vector3(p[at]!, p[at + 1]!, p[at + 2]!),
    new THREE.Quaternion(p[at + 3]!, p[at + 4]!, p[at + 5]!, p[at + 6]!),
    one,
  );
}

export class Solids {
  readonly group = new THREE.Group();
  readonly matrices: THREE.Matrix4[] = [];
  private batches: Batch[] = [];
  private colors: THREE.Color[] = [];
  private marks = new Map<number, Mark>();
  private movable: boolean[] = [];
  private floors: { solid: number; at: THREE.Vector3 }[] = [];

  /** `tint` makes ghosts: translucent, in one colour, casting no shadow. */
  constructor(private readonly tint: THREE.ColorRepresentation | null = null) {}

  load(scene: SceneMessage): void {
    for (const { mesh } of this.batches) {
      mesh.geometry.dispose();
      (mesh.material as THREE.Material).dispose();
      mesh.dispose();
    }
    this.group.clear();
    this.batches = [];
    this.marks.clear();
    this.floors = [];
    this.matrices.length = 0;
    this.colors = scene.solids.map((s) => new THREE.Color().setRGB(...s.color, THREE.SRGBColorSpace));
    this.movable = scene.solids.map((s) => s.kind === 'dynamic');
    for (let i = 0; i < scene.solids.length; i++) this.matrices.push(new THREE.Matrix4());
    const groups = new Map<string, { shape: ShapeInfo; instances: Instance[] }>();
    scene.solids.forEach((solid, i) => {
      for (const shape of solid.shapes) {
        // A level floor is the stage's ground, which has a grid and no edge.
        if (shape.type === 'plane' && isLevel(scene, solid.kind, shape)) {
          this.floors.push({ solid: i, at: new THREE.Vector3(...(shape.pose.slice(0, 3) as [number, number, number])) });
          continue;
        }
        if (this.tint !== null && (shape.wire || shape.type === 'plane')) continue;
        const name = key(shape);
        const group = groups.get(name) ?? { shape, instances: [] };
        group.instances.push({ solid: i, local: poseMatrix(shape.pose) });
        groups.set(name, group);
      }
    });
    const total = [...groups.values()].reduce((n, g) => n + g.instances.length, 0);
    for (const { shape, instances } of groups.values()) {
      const material =
        this.tint !== null
          ? new THREE.MeshStandardMaterial({ color: this.tint, transparent: true, opacity: 0.3, roughness: 0.9, depthWrite: false })
          : new THREE.MeshStandardMaterial({ roughness: 0.52, metalness: 0.08, side: shape.type === 'plane' ? THREE.DoubleSide : THREE.FrontSide });
      const mesh = new THREE.InstancedMesh(geometry(shape, total < 400 && !shape.wire), material, instances.length);
      mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.castShadow = this.tint === null && shape.type !== 'plane';
      mesh.receiveShadow = this.tint === null;
      if (this.tint === null) instances.forEach(({ solid }, k) => mesh.setColorAt(k, this.colors[solid]!));
      this.batches.push({ mesh, instances });
      this.group.add(mesh);
    }
  }

  /** Puts every solid where a frame says. The world and its wires stay. */
  pose(poses: Float32Array): void {
    for (let i = 1; i < this.matrices.length; i++) poseMatrix(poses, 7 * (i - 1), this.matrices[i]!);
    for (const { mesh, instances } of this.batches) {
      instances.forEach(({ solid, local }, k) => mesh.setMatrixAt(k, matrix.multiplyMatrices(this.matrices[solid]!, local)));
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null;
    }
  }

  mark(solid: number, mark: Mark): void {
    // A frame or a pointer may still speak of the scene before.
    if (!this.colors[solid] || (this.marks.get(solid) ?? 'none') === mark) return;
    this.marks.set(solid, mark);
    const color = this.colors[solid]!.clone();
    if (mark === 'hover') color.lerp(new THREE.Color(0xffffff), 0.38);
    if (mark === 'selected') color.lerp(new THREE.Color(0xffb347), 0.25);
    if (mark === 'held') color.lerp(new THREE.Color(0xffffff), 0.5);
    for (const { mesh, instances } of this.batches) {
      instances.forEach((instance, k) => {
        if (instance.solid !== solid) return;
        mesh.setColorAt(k, color);
        if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
      });
    }
  }

  /** The nearest solid on a ray in world coordinates. */
  pick(ray: THREE.Raycaster, movableOnly: boolean): Hit | null {
    let best: Hit | null = null;
    for (const { mesh, instances } of this.batches) {
      for (const hit of ray.intersectObject(mesh, false)) {
        const solid = instances[hit.instanceId!]!.solid;
        if (best && hit.distance >= best.distance) break;
        // What stands in front and cannot be moved hides what is behind it.
        best = { solid, point: this.group.worldToLocal(hit.point.clone()), distance: hit.distance };
        break;
      }
    }
    return best && (!movableOnly || this.movable[best.solid]) ? best : null;
  }

  /** The solid whose surface box comes nearest to a point, and how near; for direct grabs. */
  nearest(point: THREE.Vector3, reach: number): { solid: number; distance: number } | null {
    let best: { solid: number; distance: number } | null = null;
    const inverse = new THREE.Matrix4();
    for (const { mesh, instances } of this.batches) {
      if (!mesh.geometry.boundingBox) mesh.geometry.computeBoundingBox();
      instances.forEach(({ solid }, k) => {
        if (!this.movable[solid]) return;
        mesh.getMatrixAt(k, inverse);
        const local = point.clone().applyMatrix4(inverse.invert());
        const distance = mesh.geometry.boundingBox!.distanceToPoint(local);
        if (distance <= reach && (!best || distance < best.distance)) best = { solid, distance };
      });
    }
    return best;
  }

  /** The box around some solids (all drawn ones by default), in the scene's coordinates. */
  bounds(only?: ReadonlySet<number>): THREE.Box3 {
    const box = new THREE.Box3();
    const part = new THREE.Box3();
    for (const { mesh, instances } of this.batches) {
      if ((mesh.geometry as THREE.PlaneGeometry).type === 'PlaneGeometry') continue;
      if (!mesh.geometry.boundingBox) mesh.geometry.computeBoundingBox();
      instances.forEach(({ solid }, k) => {
        if (only && !only.has(solid)) return;
        mesh.getMatrixAt(k, matrix);
        box.union(part.copy(mesh.geometry.boundingBox!).applyMatrix4(matrix));
      });
    }
    return box;
  }

  /** Points of level floors, in the scene's coordinates. */
  floor(): THREE.Vector3[] {
    return this.floors.map(({ solid, at }) => at.clone().applyMatrix4(this.matrices[solid]!));
  }

  isMovable(solid: number): boolean {
    return this.movable[solid] ?? false;
  }

  color(solid: number): THREE.Color {
    return this.colors[solid]!;
  }
}
