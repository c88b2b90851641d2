/** A camera that goes along: with the selected solid, or with the middle of all that moves. It is moved, never turned. */

import * as THREE from 'three';
import type { App } from '../app';
import { itemOf } from '../scenes';
import type { Solids } from './solids';
import type { Stage } from './stage';

export class Follow {
  on = false;
  /** Told whether somebody wanted it. */
  onchange: (asked: boolean) => void = () => {};
  private last: THREE.Vector3 | null = null;
  private whom = '';

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
  ) {
    app.on('scene', () => {
      this.last = null;
      if (!app.other) return;
      // What walks away would soon be out of view.
      this.on = itemOf(app.hello?.gallery ?? [], app.scene!)?.travels ?? false;
      this.onchange(false);
    });
  }

  toggle(): void {
    this.on = !this.on;
    this.last = null;
    this.onchange(true);
  }

  /** Where it looks at now, world coordinates. */
  private place(): THREE.Vector3 | null {
    const { app, solids, stage } = this;
    const scene = app.scene;
    if (!scene) return null;
    const s = app.selection;
    const one = s?.kind === 'solid' && solids.isMovable(s.id) ? s.id : -1;
    const whom = `${scene.revision} ${one}`;
    if (whom !== this.whom) this.last = null;
    this.whom = whom;
    const sum = new THREE.Vector3();
    let mass = 0;
    scene.solids.forEach((solid, i) => {
      if (one >= 0 ? i !== one : !solids.isMovable(i)) return;
      const weight = Math.max(solid.mass, 1e-9);
      sum.addScaledVector(new THREE.Vector3(...solid.center).applyMatrix4(solids.matrices[i]!), weight);
      mass += weight;
    });
    if (mass === 0) return null;
    const at = stage.root.localToWorld(sum.divideScalar(mass));
    return at.toArray().every(Number.isFinite) ? at : null;
  }

  /** Once a drawn frame, when the solids are where they are now. */
  update(): void {
    if (!this.on || this.stage.renderer.xr.isPresenting) return;
    const at = this.place();
    if (at && this.last) {
      const by = at.clone().sub(this.last);
      if (by.lengthSq() > 0) this.stage.shift(by);
      if (by.y < 0 && this.solids.floor().length === 0) {
        const { min } = this.solids.bounds(new Set(this.app.scene!.solids.flatMap((_, i) => (this.solids.isMovable(i) ? [i] : [])))).applyMatrix4(this.stage.root.matrixWorld);
        if (Number.isFinite(min.y)) this.stage.sink(min.y);
      }
    }
    this.last = at;
  }
}
