/** A joint between two picked points, in numbers that mean what a pixel does: at ends, centres and centre lines. */

import * as THREE from 'three';
import type { App } from '../app';
import * as command from '../commands';
import type { Vec3 } from '../protocol';
import { append, freshName, num } from '../scenetext';
import { anchors } from './anchors';
import { frameText } from './sketch';
import { poseMatrix, type Solids } from './solids';
import type { Stage } from './stage';

interface Picked {
  solid: number;
  point: Vec3;
}

/** Kinds that have an axis; the others are points. */
const AXIAL = new Set(['pin', 'slider', 'cylindrical', 'planar', 'point-on-plane', 'point-on-line', 'weld', 'cardan']);
/** Pixels within which an end or a centre is meant. */
const NEAR = 22;

/** The main axis of the scene that is nearest to the line of sight: one that is almost along z is meant to be along z. */
function gaze(stage: Stage): THREE.Vector3 {
  const way = stage.camera.getWorldDirection(new THREE.Vector3());
  way.applyQuaternion(stage.root.getWorldQuaternion(new THREE.Quaternion()).invert());
  const k = [0, 1, 2].reduce((a, b) => (Math.abs(way.getComponent(b)) > Math.abs(way.getComponent(a)) ? b : a));
  return new THREE.Vector3().setComponent(k, 1);
}

/** What was meant by a point on a solid's surface: an end or a centre near it, or its bar's centre line. */
function meant(app: App, stage: Stage, solids: Solids, { solid, point }: Picked): THREE.Vector3 {
  const at = new THREE.Vector3(...point);
  const here = stage.toPage(at);
  let best: { at: THREE.Vector3; far: number } | null = null;
  for (const a of anchors(app, solids)) {
    const p = a.solid === solid ? stage.toPage(a.at) : null;
    const far = p && here ? Math.hypot(p.x - here.x, p.y - here.y) : Infinity;
    if (far < NEAR && (!best || far < best.far)) best = { at: a.at, far };
  }
  if (best) return best.at;
  const local = at.clone().applyMatrix4(solids.matrices[solid]!.clone().invert());
  let line: { at: THREE.Vector3; far: number } | null = null;
  for (const s of app.scene!.solids[solid]!.shapes) {
    if (s.type !== 'capsule' && s.type !== 'cylinder') continue;
    const m = poseMatrix(s.pose);
    const half = 0.5 * s.length!;
    const segment = new THREE.Line3(new THREE.Vector3(-half, 0, 0).applyMatrix4(m), new THREE.Vector3(half, 0, 0).applyMatrix4(m));
    const p = segment.closestPointToPoint(local, true, new THREE.Vector3());
    const far = p.distanceTo(local);
    if (far < 1.05 * s.radius! && (!line || far < line.far)) line = { at: p, far };
  }
  return line ? line.at.applyMatrix4(solids.matrices[solid]!) : at;
}

/** Writes the joint; two different points will be pulled together. */
export function join({ app, stage, solids }: { app: App; stage: Stage; solids: Solids }, kind: string, a: Picked, b: Picked): Promise<boolean> {
  const text = app.scene!.text;
  const axis = AXIAL.has(kind) ? gaze(stage) : null;
  const points = [meant(app, stage, solids, a), meant(app, stage, solids, b)] as const;
  const [one, two] = [a.solid, b.solid].map((s) => ({ name: s === 0 ? '' : app.scene!.solids[s]!.name, matrix: solids.matrices[s]! })) as [{ name: string; matrix: THREE.Matrix4 }, { name: string; matrix: THREE.Matrix4 }];
  const [first, second] = two.name === '' ? [{ ...two, at: points[1] }, { ...one, at: points[0] }] : [{ ...one, at: points[0] }, { ...two, at: points[1] }];
  const size = kind === 'distance' ? ` ${num(Math.max(1e-4, points[0].distanceTo(points[1])))}` : '';
  const object = first.name === '' ? '' : `object1 ${first.name}; `;
  const block = `joint ${freshName(text, kind)}: ${kind}${size}; ${object}object2 ${second.name}; frame1 ${frameText(first, first.at, axis)}; frame2 ${frameText(second, second.at, axis)}; end`;
  return app.do(command.setText(append(text, block)));
}
