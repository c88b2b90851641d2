/** What the camera looks at: the scene when it is new, and wherever its solids are when the user asks for them. */

import * as THREE from 'three';
import type { App } from '../app';
import type { SceneMessage } from '../protocol';
import type { Overlays } from './overlays';
import type { Solids } from './solids';
import type { Stage } from './stage';

/** Fewer pixels than this is as good as nothing to see. */
const LEAST = 5;

export class Framing {
  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly overlays: Overlays,
  ) {
    stage.refit = () => this.refit();
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
      world = new THREE.Box3().setFromCenterAndSize(new THREE.Vector3(...scene.center), new THREE.Vector3().setScalar(scene.radius));
    }
    const size = world.getSize(new THREE.Vector3());
    const floors = this.solids.floor().map((p) => this.stage.root.localToWorld(p).y);
    const low = floors.length > 0 ? Math.max(...floors) : world.min.y - 0.004 * size.length();
    this.stage.fit(world.getCenter(new THREE.Vector3()), 0.5 * size.length(), low, true, size);
    this.overlays.load(scene, this.stage.radius);
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
    const only = new Set(s.kind === 'solid' ? [s.id] : app.scene.joints[s.id]!.solids);
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
      if (s.kind !== 'dynamic' || s.shapes.length === 0) continue;
      some = true;
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
