/**
 * The solids as instanced meshes: equal shapes share one geometry and one draw call, so that a mesh of a thousand bars
 * costs what one bar costs.
 */

import * as THREE from 'three';
import { mergeVertices } from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import { type Contact, isAsleep, type SceneMessage, type ShapeInfo, type SolidInfo } from '../protocol';
import { Dents, fineGeometry } from './dents';
import { type Skin, skinsOf } from './skins';
import { Soft } from './softs';
import { dark } from './stage';

interface Instance {
  solid: number;
  local: THREE.Matrix4;
}

interface Batch {
  mesh: THREE.InstancedMesh;
  instances: Instance[];
  /** They lie beneath a skin. */
  covered: boolean;
  /** Of a soft coat; such a shape has a batch of its own. */
  dents: Dents | null;
}

export interface Hit {
  solid: number;
  /** In the scene's coordinates. */
  point: THREE.Vector3;
  distance: number;
  /** Of the face that was hit, in the scene's coordinates. */
  normal?: THREE.Vector3;
}

/** What an instance looks like besides its own colour. */
export type Mark = 'none' | 'hover' | 'selected' | 'held';

/** How much of its colour a solid loses asleep. */
const ASLEEP = 0.55;

/** Rim and tint of each mark: what is held stands out most, by night as by day. */
const RIMS: Record<Exclude<Mark, 'none'>, { light: number; dark: number; width: number; tint: number }> = {
  hover: { light: 0x33404d, dark: 0xffffff, width: 0.0022, tint: 0 },
  selected: { light: 0xe07800, dark: 0xffa53d, width: 0.0028, tint: 0.1 },
  held: { light: 0x0a4fb5, dark: 0x8cc6ff, width: 0.0048, tint: 0.1 },
};

/** The back of a shape that is blown up by a share of its distance from the eye: a rim of even width. */
function rim(color: number, width: number): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    side: THREE.BackSide,
    toneMapped: false,
    uniforms: { color: { value: new THREE.Color(color) }, width: { value: width } },
    vertexShader: /* glsl */ `
      uniform float width;
      #include <common>
      #include <skinning_pars_vertex>
      void main() {
        #include <beginnormal_vertex>
        #include <skinbase_vertex>
        #include <skinnormal_vertex>
        #include <begin_vertex>
        #include <skinning_vertex>
        vec4 p = modelViewMatrix * vec4(transformed, 1.0);
        p.xyz += normalize(normalMatrix * objectNormal) * width * -p.z;
        gl_Position = projectionMatrix * p;
      }`,
    fragmentShader: /* glsl */ `
      uniform vec3 color;
      void main() {
        gl_FragColor = vec4(color, 1.0);
        #include <colorspace_fragment>
      }`,
  });
}

/** The same shape with one normal per corner, so that the rim has no gaps at edges. */
function hull(g: THREE.BufferGeometry): THREE.BufferGeometry {
  const bare = new THREE.BufferGeometry();
  bare.setAttribute('position', g.getAttribute('position').clone());
  if (g.index) bare.setIndex(g.index.clone());
  const whole = mergeVertices(bare, 1e-6);
  whole.computeVertexNormals();
  return whole;
}

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

/** What can be dented. */
const fineShapes = new Set(['sphere', 'capsule', 'cylinder', 'box']);
const DOT = new THREE.SphereGeometry(1, 14, 10);
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
  /** Which solids sleep, as the last frame said. */
  asleep: Uint32Array | null = null;
  private hulls = new Map<THREE.BufferGeometry, THREE.BufferGeometry>();
  private rims: { solid: number; local: THREE.Matrix4; mesh: THREE.Mesh }[] = [];
  private paints = new Map<string, THREE.ShaderMaterial>();
  private movable: boolean[] = [];
  private infos: SolidInfo[] = [];
  private skins: Skin[] = [];
  readonly softs: Soft[] = [];
  /** The soft body of each vertex, -1 for solids. */
  private bodies: number[] = [];
  /** Soft bodies show how much they are stretched. */
  private strained = false;
  /** Dots at vertices that stand out. */
  private dots = new Map<number, THREE.Mesh>();
  private dressed = true;
  private floors: { solid: number; at: THREE.Vector3 }[] = [];

  /** `tint` makes ghosts: translucent, in one colour, casting no shadow. */
  constructor(private readonly tint: THREE.ColorRepresentation | null = null) {}

  load(scene: SceneMessage): void {
    for (const { mesh } of this.batches) {
      mesh.geometry.dispose();
      (mesh.material as THREE.Material).dispose();
      mesh.customDepthMaterial?.dispose();
      mesh.dispose();
    }
    for (const skin of this.skins) {
      (skin.mesh.material as THREE.Material).dispose();
      skin.dispose();
    }
    for (const soft of this.softs) soft.dispose();
    this.softs.length = 0;
    this.dots.clear();
    for (const g of this.hulls.values()) g.dispose();
    this.hulls.clear();
    this.rims = [];
    this.group.clear();
    this.batches = [];
    this.marks.clear();
    this.asleep = null;
    this.floors = [];
    this.matrices.length = 0;
    this.colors = scene.solids.map((s) => new THREE.Color().setRGB(...s.color, THREE.SRGBColorSpace));
    this.movable = scene.solids.map((s) => s.kind === 'dynamic');
    for (let i = 0; i < scene.solids.length; i++) this.matrices.push(new THREE.Matrix4());
    this.skins = skinsOf(scene, this.tint);
    this.bodies = scene.solids.map((s) => s.soft ?? -1);
    this.softs.push(...scene.softs.map((info) => new Soft(info, this.tint)));
    this.dotSize = 0.008 * scene.radius;
    this.infos = scene.solids;
    const groups = new Map<string, { shape: ShapeInfo; instances: Instance[]; coat: number | undefined }>();
    scene.solids.forEach((solid, i) => {
      for (const shape of solid.shapes) {
        // A level floor is the stage's ground, which has a grid and no edge.
        if (shape.type === 'plane' && isLevel(scene, solid.kind, shape)) {
          this.floors.push({ solid: i, at: new THREE.Vector3(...(shape.pose.slice(0, 3) as [number, number, number])) });
          continue;
        }
        if (this.tint !== null && (shape.wire || shape.type === 'plane')) continue;
        const coat = this.tint === null && !shape.wire && !shape.covered && fineShapes.has(shape.type) ? solid.coat : undefined;
        const name = `${key(shape)}${shape.covered ? ' covered' : ''}${coat === undefined ? '' : ` coat ${i} ${groups.size}`}`;
        const group = groups.get(name) ?? { shape, instances: [], coat };
        group.instances.push({ solid: i, local: poseMatrix(shape.pose) });
        groups.set(name, group);
      }
    });
    const total = [...groups.values()].reduce((n, g) => n + g.instances.length, 0);
    for (const { shape, instances, coat } of groups.values()) {
      const material =
        this.tint !== null
          ? new THREE.MeshStandardMaterial({ color: this.tint, transparent: true, opacity: 0.3, roughness: 0.9, depthWrite: false })
          : new THREE.MeshStandardMaterial({ roughness: 0.52, metalness: 0.08, side: shape.type === 'plane' ? THREE.DoubleSide : THREE.FrontSide });
      const fine = coat !== undefined && total < 400 ? fineGeometry(shape) : null;
      const mesh = new THREE.InstancedMesh(fine ?? geometry(shape, total < 400 && !shape.wire), material, instances.length);
      mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.castShadow = this.tint === null && shape.type !== 'plane';
      mesh.receiveShadow = this.tint === null;
      if (this.tint === null) instances.forEach(({ solid }, k) => mesh.setColorAt(k, this.colors[solid]!));
      const dents = fine && coat !== undefined ? new Dents(mesh, instances[0]!.solid, coat) : null;
      this.batches.push({ mesh, instances, covered: shape.covered === true, dents });
      this.group.add(mesh);
    }
    for (const skin of this.skins) this.group.add(skin.mesh);
    for (const soft of this.softs) this.group.add(soft.mesh);
    this.repaint();
    this.dress(this.dressed);
  }

  /** Shows the skins, or the solids beneath them. */
  dress(on: boolean): void {
    this.dressed = on;
    for (const skin of this.skins) skin.mesh.visible = on;
    for (const { mesh, covered } of this.batches) mesh.visible = !(covered && on);
    // The rims go with what wears them.
    const marks = [...this.marks];
    for (const [solid] of marks) this.mark(solid, 'none');
    for (const [solid, mark] of marks) this.mark(solid, mark);
  }

  /** Puts every solid where a frame says. The world and its wires stay. */
  pose(poses: Float32Array): void {
    for (let i = 1; i < this.matrices.length; i++) {
      const at = 7 * (i - 1);
      // Thousands of vertices, which do not turn.
      if (this.bodies[i]! >= 0) this.matrices[i]!.setPosition(poses[at]!, poses[at + 1]!, poses[at + 2]!);
      else poseMatrix(poses, at, this.matrices[i]!);
    }
    for (const soft of this.softs) soft.pose(poses, this.strained);
    for (const [solid, dot] of this.dots) dot.position.setFromMatrixPosition(this.matrices[solid]!);
    for (const { mesh, instances } of this.batches) {
      instances.forEach(({ solid, local }, k) => mesh.setMatrixAt(k, matrix.multiplyMatrices(this.matrices[solid]!, local)));
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null;
    }
    for (const { solid, local, mesh } of this.rims) mesh.matrix.multiplyMatrices(this.matrices[solid]!, local);
    for (const skin of this.skins) skin.pose(this.matrices);
  }

  /** The dents of soft coats, a shape each. */
  get dents(): Dents[] {
    return this.batches.flatMap((b) => b.dents ?? []);
  }

  /** Dents soft coats where a frame says that something presses on them. */
  dent(contacts: Contact[]): void {
    for (const { dents, instances } of this.batches) {
      if (!dents) continue;
      const { solid, local } = instances[0]!;
      dents.set(contacts, this.infos, matrix.multiplyMatrices(this.matrices[solid]!, local).invert());
    }
  }

  mark(solid: number, mark: Mark): void {
    // A frame or a pointer may still speak of the scene before.
    if (!this.colors[solid] || (this.marks.get(solid) ?? 'none') === mark) return;
    this.marks.set(solid, mark);
    this.group.remove(...this.rims.filter((r) => r.solid === solid).map((r) => r.mesh));
    this.rims = this.rims.filter((r) => r.solid !== solid);
    for (const skin of this.skins) if (skin.solids.has(solid)) skin.outline(solid, null);
    if (this.bodies[solid]! >= 0) return this.dot(solid, mark);
    if (mark !== 'none') {
      const shade = RIMS[mark][dark.matches ? 'dark' : 'light'];
      const name = `${mark} ${shade}`;
      const paint = this.paints.get(name) ?? rim(shade, RIMS[mark].width);
      this.paints.set(name, paint);
      if (this.dressed) for (const skin of this.skins) if (skin.solids.has(solid)) skin.outline(solid, paint);
      for (const { mesh, instances, covered } of this.batches) {
        if ((mesh.geometry as THREE.PlaneGeometry).type === 'PlaneGeometry' || (covered && this.dressed)) continue;
        for (const { local } of instances.filter((x) => x.solid === solid)) {
          const shape = this.hulls.get(mesh.geometry) ?? hull(mesh.geometry);
          this.hulls.set(mesh.geometry, shape);
          const outline = new THREE.Mesh(shape, paint);
          outline.matrixAutoUpdate = false;
          outline.frustumCulled = false;
          outline.matrix.multiplyMatrices(this.matrices[solid]!, local);
          this.rims.push({ solid, local, mesh: outline });
          this.group.add(outline);
        }
      }
    }
    this.paint(solid);
  }

  /** A vertex that stands out has a dot; a hovering pointer needs none. */
  private dot(solid: number, mark: Mark): void {
    const old = this.dots.get(solid);
    if (old) {
      this.group.remove(old);
      (old.material as THREE.Material).dispose();
      this.dots.delete(solid);
    }
    if (mark === 'none' || mark === 'hover') return;
    const color = RIMS[mark][dark.matches ? 'dark' : 'light'];
    const dot = new THREE.Mesh(DOT, new THREE.MeshBasicMaterial({ color, toneMapped: false, depthTest: false, transparent: true }));
    dot.renderOrder = 15;
    dot.scale.setScalar(this.dotSize);
    dot.position.setFromMatrixPosition(this.matrices[solid]!);
    this.dots.set(solid, dot);
    this.group.add(dot);
  }
  private dotSize = 0.01;

  /** Colours soft bodies by strain, or in their own colours. */
  strain(on: boolean): void {
    this.strained = on;
  }

  /** The soft body of a vertex, with the vertex's number in it. */
  vertex(solid: number): { soft: Soft; vertex: number } | null {
    const soft = this.softs[this.bodies[solid] ?? -1];
    return soft ? { soft, vertex: solid - soft.info.first } : null;
  }

  /** It is no vertex, or the one that stands for its body. */
  isWhole(solid: number): boolean {
    const v = this.vertex(solid);
    return !v || v.vertex === v.soft.middle;
  }

  /** What is looked at with a solid: of a vertex its whole body. */
  mates(solid: number): number[] {
    const v = this.vertex(solid);
    return v ? Array.from({ length: v.soft.count }, (_, k) => v.soft.info.first + k) : [solid];
  }

  /** What sleeps is paler, until something wakes it. True when that has changed. */
  rest(asleep: Uint32Array | null): boolean {
    const before = { asleep: this.asleep };
    this.asleep = asleep;
    let any = false;
    if (before.asleep === null && asleep === null) return any;
    for (let i = 1; i < this.colors.length; i++) {
      if (!this.isWhole(i)) continue;
      if (isAsleep(before, i) === isAsleep(this, i)) continue;
      this.paint(i);
      any = true;
    }
    return any;
  }

  sleeps(solid: number): boolean {
    return isAsleep(this, solid);
  }

  /** The colour of a solid: its own, tinted by its mark, paler asleep. */
  private shade(solid: number, own: THREE.Color): THREE.Color {
    const color = own.clone();
    const mark = this.marks.get(solid) ?? 'none';
    if (mark !== 'none') color.lerp(new THREE.Color(RIMS[mark][dark.matches ? 'dark' : 'light']), RIMS[mark].tint);
    if (isAsleep(this, solid)) color.lerp(new THREE.Color(dark.matches ? 0x3a4046 : 0xc9cdd2), ASLEEP);
    return color;
  }

  /** Paints the skins that a solid wears; all of them without one. */
  private repaint(solid?: number): void {
    for (const soft of this.softs) soft.paint((own) => this.shade(soft.info.first + soft.middle, own));
    for (const skin of this.skins) {
      if (solid !== undefined && !skin.solids.has(solid)) continue;
      if (this.tint === null) skin.paint((s, own) => this.shade(s, own ?? this.colors[s]!));
    }
  }

  private paint(solid: number): void {
    const color = this.shade(solid, this.colors[solid]!);
    this.repaint(solid);
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
    if (this.dressed) {
      for (const skin of this.skins) {
        const hit = skin.pick(ray.ray, this.group.matrixWorld);
        if (!hit || (best && hit.distance >= best.distance)) continue;
        best = { solid: hit.solid, point: this.group.worldToLocal(hit.point), distance: hit.distance };
      }
    }
    if (this.softs.length > 0) {
      const local = ray.ray.clone().applyMatrix4(matrix.copy(this.group.matrixWorld).invert());
      for (const soft of this.softs) {
        const hit = soft.pick(local);
        if (!hit || (best && hit.distance >= best.distance)) continue;
        // It is the vertex that can be held.
        best = { solid: soft.info.first + hit.vertex, point: soft.place(hit.vertex), distance: hit.distance };
        if (hit.normal) best.normal = hit.normal;
      }
    }
    for (const { mesh, instances } of this.batches) {
      if (!mesh.visible) continue;
      for (const hit of ray.intersectObject(mesh, false)) {
        const solid = instances[hit.instanceId!]!.solid;
        if (best && hit.distance >= best.distance) break;
        // What stands in front and cannot be moved hides what is behind it.
        best = { solid, point: this.group.worldToLocal(hit.point.clone()), distance: hit.distance };
        if (hit.face) {
          mesh.getMatrixAt(hit.instanceId!, matrix);
          best.normal = hit.face.normal.clone().transformDirection(matrix);
        }
        break;
      }
    }
    return best && (!movableOnly || this.movable[best.solid]) ? best : null;
  }

  /** All solids that a line meets, skins and soft bodies left aside. */
  through(ray: THREE.Raycaster): number[] {
    const met = new Set<number>();
    for (const { mesh, instances } of this.batches) {
      if (mesh.visible) for (const hit of ray.intersectObject(mesh, false)) met.add(instances[hit.instanceId!]!.solid);
    }
    return [...met].sort((a, b) => a - b);
  }

  /** The solid whose surface box comes nearest to a point, and how near; for direct grabs. */
  nearest(point: THREE.Vector3, reach: number): { solid: number; distance: number; point?: THREE.Vector3 } | null {
    let best: { solid: number; distance: number; point?: THREE.Vector3 } | null = null;
    for (const soft of this.softs) {
      const near = soft.nearest(point);
      if (!near || near.distance > reach || (best && near.distance >= best.distance)) continue;
      best = { solid: soft.info.first + near.vertex, distance: near.distance, point: soft.place(near.vertex) };
    }
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
    for (const soft of this.softs) {
      for (let k = 0; k < soft.count; k++) if (!only || only.has(soft.info.first + k)) box.expandByPoint(soft.place(k));
    }
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

  /** The same where the poses of a frame put them. */
  boundsAt(poses: ArrayLike<number>): THREE.Box3 {
    const box = new THREE.Box3();
    const part = new THREE.Box3();
    const pose = new THREE.Matrix4();
    const place = new THREE.Vector3();
    for (const { info, count } of this.softs) {
      for (let k = 0; k < count; k++) {
        const at = 7 * (info.first + k - 1);
        box.expandByPoint(place.set(poses[at]!, poses[at + 1]!, poses[at + 2]!));
      }
    }
    for (const { mesh, instances } of this.batches) {
      if ((mesh.geometry as THREE.PlaneGeometry).type === 'PlaneGeometry') continue;
      if (!mesh.geometry.boundingBox) mesh.geometry.computeBoundingBox();
      for (const { solid, local } of instances) {
        if (solid === 0) continue;
        matrix.multiplyMatrices(poseMatrix(poses, 7 * (solid - 1), pose), local);
        box.union(part.copy(mesh.geometry.boundingBox!).applyMatrix4(matrix));
      }
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
