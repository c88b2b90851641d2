/** A free motion as arrows on the parts that it moves. An arrow can be taken hold of: its part goes that way. */

import * as THREE from 'three';
import type { App } from '../app';
import { apart } from '../path';
import { anchors } from './anchors';
import { Marks, unitBar, unitCone } from './marks';
import type { Solids } from './solids';
import { dark, type Stage } from './stage';

const COLOR = { light: new THREE.Color(0x0a7d74), dark: new THREE.Color(0x3fd3c4) };
/** Pixels around a tip that are the arrow. */
const REACH = 16;
/** So far, in radians or shares of the scene, arrows still point the right way. */
const NEAR = 0.03;

interface Arrow {
  solid: number;
  from: THREE.Vector3;
  to: THREE.Vector3;
}

export class Freedoms {
  readonly group = new THREE.Group();
  arrows: Arrow[] = [];
  private motion: number[] | null = null;
  /** Where everything was when it was examined. */
  private poses: Float32Array | null = null;
  private bars: Marks;
  private cones: Marks;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
  ) {
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.92, toneMapped: false });
    this.bars = new Marks(this.group, unitBar(), material, 14);
    this.cones = new Marks(this.group, unitCone(), material, 15);
    app.on('scene', () => this.show(null));
  }

  /** Shift of the centre and turn per solid, the world left out; nothing hides the arrows. */
  show(motion: number[] | null, poses: Float32Array | null = null): void {
    this.motion = motion;
    this.poses = poses;
    this.stage.invalidate();
  }

  /** The part whose arrow has its tip here, and how far its foot is away on the page. */
  hit(x: number, y: number): { solid: number; point: THREE.Vector3; by: { x: number; y: number } } | null {
    for (const { solid, from, to } of this.arrows) {
      const [foot, tip] = [this.stage.toPage(from), this.stage.toPage(to)];
      if (!foot || !tip || Math.hypot(tip.x - x, tip.y - y) > REACH || !this.solids.isMovable(solid)) continue;
      return { solid, point: from.clone(), by: { x: x - foot.x, y: y - foot.y } };
    }
    return null;
  }

  /** What was found holds for the pose that was examined, and about it. */
  private get isFresh(): boolean {
    const now = this.app.frame?.poses;
    return now !== undefined && this.poses?.length === now.length && apart(now, this.poses, this.stage.radius) < NEAR;
  }

  /** Once a drawn frame. */
  update(): void {
    this.bars.begin();
    this.cones.begin();
    this.arrows = this.motion && this.isFresh ? this.lay(this.motion) : [];
    const color = COLOR[dark.matches ? 'dark' : 'light'];
    const r = 0.006 * this.stage.radius;
    for (const { from, to } of this.arrows) {
      const way = to.clone().sub(from);
      const neck = to.clone().addScaledVector(way.clone().normalize(), -5 * r);
      this.bars.bar(from, neck, r, color);
      const q = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), way.clone().normalize());
      this.cones.put(new THREE.Matrix4().compose(to.clone().addScaledVector(way.normalize(), -2.5 * r), q, new THREE.Vector3(2.6 * r, 5 * r, 2.6 * r)), color);
    }
    this.bars.end();
    this.cones.end();
  }

  private lay(motion: number[]): Arrow[] {
    const scene = this.app.scene;
    if (!scene || motion.length !== 6 * (scene.solids.length - 1)) return [];
    const ends = anchors(this.app, this.solids).filter((a) => a.what === 'end');
    const found: Arrow[] = [];
    let most = 0;
    scene.solids.forEach((solid, i) => {
      if (i === 0 || solid.kind !== 'dynamic' || solid.soft !== undefined) return;
      const [x, y, z, a, b, c] = motion.slice(6 * (i - 1), 6 * i) as [number, number, number, number, number, number];
      const centre = new THREE.Vector3(...solid.center).applyMatrix4(this.solids.matrices[i]!);
      const own = ends.filter((e) => e.solid === i).map((e) => e.at);
      for (const at of own.length > 0 ? own : [centre]) {
        const way = new THREE.Vector3(a, b, c).cross(at.clone().sub(centre)).add(new THREE.Vector3(x, y, z));
        most = Math.max(most, way.length());
        found.push({ solid: i, from: at, to: way });
      }
    });
    const scale = (0.3 * this.stage.radius) / Math.max(most, 1e-9);
    const seen = new Set<string>();
    return found
      .filter(({ from, to }) => {
        // Two parts that meet move as one there.
        const key = from.toArray().map((x) => Math.round((20 * x) / this.stage.radius)).join();
        const fresh = !seen.has(key) && to.length() > 0.03 * most;
        seen.add(key);
        return fresh;
      })
      .map(({ solid, from, to }) => ({ solid, from, to: from.clone().addScaledVector(to, scale) }));
  }
}
