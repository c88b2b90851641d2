/** Points that new parts snap to: ends of bars, middles and rims of wheels, centres, and where joints are. */

import * as THREE from 'three';
import type { App } from '../app';
import type { Vec3 } from '../protocol';
import { poseMatrix, type Solids } from './solids';

export interface Anchor {
  solid: number;
  /** In the solid's frame, and in the scene's. */
  local: THREE.Vector3;
  at: THREE.Vector3;
  what: 'end' | 'centre' | 'rim' | 'joint';
}

/** More solids than this are not searched for ends. */
const MOST = 400;
/** Of a wheel's radius: where a crank pin goes. */
const RIM = 0.75;

/** All points of a scene that something can be joined at. */
export function anchors(app: App, solids: Solids): Anchor[] {
  const found: Anchor[] = [];
  const scene = app.scene;
  if (!scene) return found;
  const put = (solid: number, local: THREE.Vector3, what: Anchor['what']) => {
    const m = solids.matrices[solid];
    if (m) found.push({ solid, local, at: local.clone().applyMatrix4(m), what });
  };
  scene.solids.slice(0, MOST).forEach((solid, i) => {
    if (i === 0) return;
    for (const shape of solid.shapes) {
      if (shape.wire) continue;
      const m = poseMatrix(shape.pose);
      const point = (x: number, y: number, z: number) => new THREE.Vector3(x, y, z).applyMatrix4(m);
      const half = 0.5 * (shape.length ?? 0);
      if (shape.type === 'capsule') for (const x of [-half, half]) put(i, point(x, 0, 0), 'end');
      if (shape.type === 'sphere' || shape.type === 'box' || shape.type === 'cylinder') put(i, point(0, 0, 0), 'centre');
      if (shape.type === 'cylinder') {
        const r = RIM * shape.radius!;
        for (const [y, z] of [[r, 0], [0, r], [-r, 0], [0, -r]] as const) put(i, point(0, y, z), 'rim');
      }
      if (shape.type === 'box') {
        const size = shape.size!;
        const k = size.indexOf(Math.max(...size));
        for (const s of [-0.5, 0.5]) put(i, point(...([0, 1, 2].map((c) => (c === k ? s * size[c]! : 0)) as Vec3)), 'end');
      }
    }
  });
  scene.joints.slice(0, MOST).forEach((joint) => {
    for (const side of [0, 1] as const) {
      const solid = joint.solids[side];
      if (solid > 0) put(solid, new THREE.Vector3(...(joint.frames[side].slice(0, 3) as Vec3)), 'joint');
    }
  });
  return found;
}
