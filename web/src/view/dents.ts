/**
 * Dents of soft coats. Solids with one overlap by the dent, which looks as if they went into each other: where one is pressed, its surface
 * is drawn moved in by as much. For the eye alone: forces and motion know nothing of it.
 *
 * A dent is as deep as pressure over stiffness, and as wide as the two surfaces are round: they overlap by `d - r²/2 (1/ρ1 + 1/ρ2)` at the
 * distance r from its middle, and `d (1 - (r/R)²)³` with `R² = 6 d ρ` is nowhere less than that and smooth at the rim. Two flat ones touch in
 * several points: there it is a trough along each line from point to point, which together are the edge of what lies on it.
 */

import * as THREE from 'three';
import { mergeGeometries } from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import type { Contact, ShapeInfo, SolidInfo } from '../protocol';

/** Most dents that a shape shows, the deepest ones. */
const MOST = 8;

/** Shapes with enough corners to be dented; others keep the plain ones. */
export function fineGeometry(s: ShapeInfo): THREE.BufferGeometry | null {
  switch (s.type) {
    case 'sphere':
      return new THREE.SphereGeometry(s.radius, 64, 48);
    case 'capsule':
      return new THREE.CapsuleGeometry(s.radius, s.length, 20, 48, 24).rotateZ(-Math.PI / 2);
    case 'cylinder': {
      const cap = () => new THREE.RingGeometry(0, s.radius!, 48, 20).rotateX(-Math.PI / 2).translate(0, 0.5 * s.length!, 0);
      const wall = new THREE.CylinderGeometry(s.radius, s.radius, s.length, 48, 20, true);
      return mergeGeometries([wall, cap(), cap().rotateX(Math.PI)]).rotateZ(-Math.PI / 2);
    }
    case 'box':
      return new THREE.BoxGeometry(...s.size!, 40, 40, 40);
    default:
      return null;
  }
}

/** How curved a solid is where something touches it: flat if any of its shapes is. */
function curvature(solid: SolidInfo | undefined): number {
  const round = (s: ShapeInfo) => (s.type === 'sphere' || s.type === 'capsule' || s.type === 'cylinder' ? s.radius! : Infinity);
  return solid && solid.shapes.length > 0 ? 1 / Math.max(...solid.shapes.map(round)) : 0;
}

function extent(solid: SolidInfo | undefined): number {
  const one = (s: ShapeInfo) => (s.type === 'box' ? 0.5 * Math.hypot(...s.size!) : s.type === 'mesh' || s.type === 'plane' ? Infinity : s.radius! + 0.5 * (s.length ?? 0));
  return solid && solid.shapes.length > 0 ? Math.max(...solid.shapes.map(one)) : Infinity;
}

const PARS = /* glsl */ `
  uniform vec4 dentFrom[${MOST}];
  uniform vec4 dentTo[${MOST}];
  uniform vec4 dentInto[${MOST}];
  // How far the deepest dent moves a point, and how it leans the normal of a surface that looks against it.
  void dent(vec3 p, vec3 n, out vec3 move, out vec3 lean) {
    move = vec3(0.0);
    lean = vec3(0.0);
    float most = 0.0;
    for (int i = 0; i < ${MOST}; i++) {
      float reach = dentInto[i].w;
      if (reach <= 0.0) continue;
      vec3 into = dentInto[i].xyz;
      vec3 line = dentTo[i].xyz - dentFrom[i].xyz;
      line -= dot(line, into) * into;
      vec3 v = p - dentFrom[i].xyz;
      float along = dot(v, into);
      vec3 side = v - along * into;
      float t = clamp(dot(side, line) / max(dot(line, line), 1e-12), 0.0, 1.0);
      side -= t * line;
      float k = 1.0 - dot(side, side) / (reach * reach);
      if (k <= 0.0) continue;
      float depth = mix(dentFrom[i].w, dentTo[i].w, t);
      // Less and less beneath the surface: what lies on the far side stays.
      float d = depth * k * k * k * clamp(1.0 - along / (3.0 * depth + reach), 0.0, 1.0);
      if (d > most) {
        most = d;
        move = d * into;
        lean = side * (-6.0 * depth * k * k / (reach * reach)) * max(0.0, -dot(n, into));
      }
    }
  }
  #include <common>`;

/** The dents of one shape of one solid. */
export class Dents {
  private readonly uniforms = {
    /** Ends of a line (the same one twice is a point) with the depths there. */
    dentFrom: { value: Array.from({ length: MOST }, () => new THREE.Vector4()) },
    dentTo: { value: Array.from({ length: MOST }, () => new THREE.Vector4()) },
    /** Where it is pressed to, and how wide the dent is; none where that is zero. */
    dentInto: { value: Array.from({ length: MOST }, () => new THREE.Vector4()) },
  };
  /** How many are shown, and the deepest of them, metres. */
  count = 0;
  depth = 0;

  constructor(mesh: THREE.Mesh, readonly solid: number, private readonly stiffness: number) {
    const hook = (material: THREE.Material) => {
      material.onBeforeCompile = (shader) => {
        Object.assign(shader.uniforms, this.uniforms);
        shader.vertexShader = shader.vertexShader
          .replace('#include <common>', PARS)
          .replace('#include <beginnormal_vertex>', '#include <beginnormal_vertex>\nvec3 dentMove, dentLean;\ndent(position, objectNormal, dentMove, dentLean);\nobjectNormal = normalize(objectNormal + dentLean);')
          .replace('#include <begin_vertex>', '#include <begin_vertex>\nvec3 moveBy, unused;\ndent(position, vec3(0.0), moveBy, unused);\ntransformed += moveBy;');
      };
      // One program for all of them.
      material.customProgramCacheKey = () => 'dents';
    };
    hook(mesh.material as THREE.Material);
    // Without it a hollow would lie in the shadow of the surface that is not there any more.
    mesh.customDepthMaterial = new THREE.MeshDepthMaterial({ depthPacking: THREE.RGBADepthPacking });
    hook(mesh.customDepthMaterial);
  }

  /** Sets them from what touches; `toLocal` leads from the scene into the shape's frame. */
  set(contacts: Contact[], solids: SolidInfo[], toLocal: THREE.Matrix4): void {
    const own = solids[this.solid];
    const byOther = new Map<number, Spot[]>();
    for (const c of contacts) {
      if (!c.solids.includes(this.solid)) continue;
      const first = c.solids[0] === this.solid;
      const other = first ? c.solids[1] : c.solids[0];
      const pressure = c.force.reduce((sum, f, k) => sum + f * c.normal[k]!, 0);
      const depth = Math.min(pressure / this.stiffness, 0.5 * extent(own));
      if (!(depth > 0)) continue;
      const at = new THREE.Vector3(...c.point).applyMatrix4(toLocal);
      const into = new THREE.Vector3(...c.normal).multiplyScalar(first ? -1 : 1).transformDirection(toLocal);
      byOther.set(other, [...(byOther.get(other) ?? []), { at, into, depth }]);
    }
    const found: { from: Spot; to: Spot; reach: number }[] = [];
    for (const [other, spots] of byOther) {
      const curved = curvature(own) + curvature(solids[other]);
      const deepest = Math.max(...spots.map((s) => s.depth));
      const smaller = Math.min(extent(own), extent(solids[other]));
      const reach = curved > 0 ? Math.min(Math.sqrt((6 * deepest) / curved), 0.9 * extent(own)) : Math.min(4 * deepest, 0.6 * smaller);
      for (const [from, to] of lines(spots)) found.push({ from, to, reach });
    }
    found.sort((a, b) => Math.max(b.from.depth, b.to.depth) - Math.max(a.from.depth, a.to.depth));
    this.count = Math.min(found.length, MOST);
    this.depth = found[0] ? Math.max(found[0].from.depth, found[0].to.depth) : 0;
    const { dentFrom, dentTo, dentInto } = this.uniforms;
    for (let i = 0; i < MOST; i++) {
      const d = found[i];
      if (!d) {
        dentInto.value[i]!.set(0, 0, 0, 0);
        continue;
      }
      dentFrom.value[i]!.set(d.from.at.x, d.from.at.y, d.from.at.z, d.from.depth);
      dentTo.value[i]!.set(d.to.at.x, d.to.at.y, d.to.at.z, d.to.depth);
      dentInto.value[i]!.set(d.from.into.x, d.from.into.y, d.from.into.z, d.reach);
    }
  }
}

interface Spot {
  at: THREE.Vector3;
  into: THREE.Vector3;
  depth: number;
}

/** What joins the points of one pair: every two of few; around their middle from one to the next of many. */
function lines(spots: Spot[]): [Spot, Spot][] {
  if (spots.length === 1) return [[spots[0]!, spots[0]!]];
  if (spots.length <= 4) return spots.flatMap((a, i) => spots.slice(i + 1).map((b): [Spot, Spot] => [a, b]));
  const middle = spots.reduce((sum, s) => sum.add(s.at), new THREE.Vector3()).divideScalar(spots.length);
  const x = spots[0]!.at.clone().sub(middle);
  const y = spots[0]!.into.clone().cross(x);
  const angle = (s: Spot) => Math.atan2(s.at.clone().sub(middle).dot(y), s.at.clone().sub(middle).dot(x));
  const sorted = [...spots].sort((a, b) => angle(a) - angle(b));
  return sorted.map((s, i): [Spot, Spot] => [s, sorted[(i + 1) % sorted.length]!]);
}
