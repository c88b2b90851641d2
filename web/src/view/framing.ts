/** What the camera looks at: the scene when it is new, and wherever its solids are when the user asks for them. */

import * as THREE from 'three';
import type { App } from '../app';
import type { SceneMessage, Sweep } from '../protocol';
import type { Overlays } from './overlays';
import type { Solids } from './solids';
import type { Stage } from './stage';

/** Fewer pixels than this is as good as nothing to see. */
const LEAST = 5;

/** How much of its size a scene's motion may add to the view at each side; what falls for ever is not followed. */
const ROOM = 0.6;

export class Framing {
  private opened = -1;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly overlays: Overlays,
  ) {
    stage.refit = () => this.refit();
    app.on('sweep', (sweep) => this.foresee(sweep));
  }

  /** All that is drawn, in world coordinates; where the rest is far from what moves, that alone. */
  private bounds(): THREE.Box3 {
    const all = this.solids.bounds();
    const movable = new Set((this.app.scene?.solids ?? []).flatMap((s, i) => (s.kind === 'dynamic' ? [i] : [])));
    const moving = movable.size > 0 ? this.solids.bounds(movable) : all;
    const size = (b: THREE.Box3) => b.getSize(new THREE.Vector3()).length();
    const box = moving.isEmpty() || size(all) < 2.5 * size(moving) ? all : moving;
    const finite = [...box.min.toArray(), ...box.max.toArray()].every(Number.isFinite);
    return finite ? box.clone().applyMatrix4(this.stage.root.matrixWorld) : new THREE.Box3();
  }

  /** A new scene: light, ground and view for it. */
  open(scene: SceneMessage): void {
    let world = this.solids.bounds().applyMatrix4(this.stage.root.matrixWorld);
    if (world.isEmpty()) {
      // Nothing yet: a sheet to draw on, seen from the front, its lower edge on the ground.
      world = new THREE.Box3(new THREE.Vector3(-1.2, 0, -0.05), new THREE.Vector3(1.2, 1.6, 0.05));
    }
    const size = world.getSize(new THREE.Vector3());
    const floors = this.solids.floor().map((p) => this.stage.root.localToWorld(p).y);
    const low = floors.length > 0 ? Math.max(...floors) : world.min.y - 0.004 * size.length();
    this.stage.fit(world.getCenter(new THREE.Vector3()), 0.5 * size.length(), low, true, size);
    this.overlays.load(scene, this.stage.radius);
    if (scene.solids.length < 2) this.stage.face(new THREE.Vector3(0, 0.06, 1));
    this.opened = scene.revision;
    this.widen();
  }

  /** A view of all that the scene will do, if nobody has chosen another one yet. */
  private foresee({ revision, samples }: Sweep): void {
    const scene = this.app.scene;
    if (!scene || revision !== scene.revision || samples.length === 0) return;
    this.sweep = { revision, samples };
    if (this.opened === revision) this.widen();
  }
  private sweep: { revision: number; samples: number[][] } | null = null;

  private widen(): void {
    const { stage, solids } = this;
    const scene = this.app.scene;
    // Whoever holds something does not want the view to move, and nothing moves the eyes in a headset.
    if (stage.renderer.xr.isPresenting || !this.sweep || this.sweep.revision !== scene?.revision || !stage.isHome || (this.app.frame?.grabs.length ?? 0) > 0) return;
    const start = solids.bounds();
    const room = start.clone().expandByVector(start.getSize(new THREE.Vector3()).addScalar(0.5 * start.getSize(new THREE.Vector3()).length()).multiplyScalar(ROOM));
    const all = start.clone();
    for (const poses of this.sweep.samples) {
      if (poses.length === 7 * (scene.solids.length - 1)) all.union(solids.boundsAt(poses).intersect(room));
    }
    if (all.isEmpty() || ![...all.min.toArray(), ...all.max.toArray()].every(Number.isFinite)) return;
    const world = all.applyMatrix4(stage.root.matrixWorld);
    const size = world.getSize(new THREE.Vector3());
    if (size.length() < 1.03 * 2 * stage.radius && world.getCenter(new THREE.Vector3()).distanceTo(stage.center) < 0.03 * stage.radius) return;
    const floors = solids.floor().map((p) => stage.root.localToWorld(p).y);
    const low = floors.length > 0 ? Math.max(...floors) : world.min.y - 0.004 * size.length();
    stage.fit(world.getCenter(new THREE.Vector3()), 0.5 * size.length(), low, false, size);
    stage.tighten(world);
    stage.glideHome();
    this.overlays.load(scene, stage.radius);
  }

  /** Home is where the solids are now. */
  private refit(): void {
    const world = this.bounds();
    if (world.isEmpty()) return;
    const { stage } = this;
    const size = world.getSize(new THREE.Vector3());
    const center = world.getCenter(new THREE.Vector3());
    // A ground that the scene does not have comes along once all is far from it.
    const far = center.distanceTo(stage.center) > 2 * stage.radius;
    const low = this.solids.floor().length === 0 && far ? world.min.y - 0.004 * size.length() : stage.ground;
    stage.fit(center, 0.5 * size.length(), low, false, size);
  }

  /** Looks at what is selected; at everything if nothing is. */
  selection(): void {
    const { app, stage } = this;
    const s = app.selection;
    if (!s || !app.scene) return stage.resetView();
    const only = new Set((s.kind === 'solid' ? [s.id] : app.scene.joints[s.id]!.solids).flatMap((i) => this.solids.mates(i)));
    const box = this.solids.bounds(only).applyMatrix4(stage.root.matrixWorld);
    if (box.isEmpty()) return stage.resetView();
    const radius = Math.max(0.5 * box.getSize(new THREE.Vector3()).length(), 0.05 * stage.radius);
    stage.look(box.getCenter(new THREE.Vector3()), radius);
  }

  /** Nothing that moves is to be seen: it fell, walked or flew out of the view. */
  get lost(): boolean {
    const { camera, root, canvas } = this.stage;
    const scene = this.app.scene;
    if (!scene || this.stage.renderer.xr.isPresenting) return false;
    const toClip = new THREE.Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse).multiply(root.matrixWorld);
    const p = new THREE.Vector3();
    const seen = new THREE.Box2();
    let some = false;
    for (let i = 1; i < scene.solids.length; i++) {
      const s = scene.solids[i]!;
      if (s.kind !== 'dynamic' || (s.shapes.length === 0 && s.soft === undefined)) continue;
      some = true;
      if (s.soft !== undefined) {
        p.setFromMatrixPosition(this.solids.matrices[i]!).applyMatrix4(toClip);
        if (Math.abs(p.x) < 1 && Math.abs(p.y) < 1 && Math.abs(p.z) < 1) seen.expandByPoint(new THREE.Vector2(p.x, p.y));
        continue;
      }
      // The middle, and the ends of its first shape: of a long bar one end may still be there.
      const first = s.shapes[0]!;
      const half = 0.5 * (first.length ?? Math.max(...(first.size ?? [0])));
      for (const x of [0, -half, half]) {
        p.set(...(first.pose.slice(0, 3) as [number, number, number]));
        p.x += x;
        p.applyMatrix4(this.solids.matrices[i]!).applyMatrix4(toClip);
        if (Math.abs(p.x) < 1 && Math.abs(p.y) < 1 && Math.abs(p.z) < 1) seen.expandByPoint(new THREE.Vector2(p.x, p.y));
      }
    }
    if (!some) return false;
    if (seen.isEmpty()) return true;
    const size = this.bounds().getSize(new THREE.Vector3()).length();
    const far = camera.position.distanceTo(this.bounds().getCenter(new THREE.Vector3()));
    const pixels = ((size / far) * 0.5 * canvas.clientHeight) / Math.tan(THREE.MathUtils.degToRad(camera.fov) / 2);
    return pixels < LEAST;
  }
}
