/** Small reusable marks: many bars, many dots, in one draw call each. */

import * as THREE from 'three';

const up = new THREE.Vector3(0, 1, 0);
const matrix = new THREE.Matrix4();
const turn = new THREE.Quaternion();
const middle = new THREE.Vector3();
const along = new THREE.Vector3();

/** A growing set of instances of one geometry. Call `begin`, then `put…` for each, then `end`. */
export class Marks {
  mesh: THREE.InstancedMesh;
  private count = 0;

  constructor(
    private readonly parent: THREE.Object3D,
    private readonly geometry: THREE.BufferGeometry,
    private readonly material: THREE.Material,
    private readonly order = 0,
    private capacity = 64,
  ) {
    this.mesh = this.make();
  }

  private make(): THREE.InstancedMesh {
    const mesh = new THREE.InstancedMesh(this.geometry, this.material, this.capacity);
    mesh.frustumCulled = false;
    mesh.renderOrder = this.order;
    mesh.setColorAt(0, new THREE.Color(1, 1, 1));
    this.parent.add(mesh);
    return mesh;
  }

  begin(): void {
    this.count = 0;
  }

  put(m: THREE.Matrix4, color: THREE.Color): void {
    if (this.count === this.capacity) {
      const old = this.mesh;
      this.capacity *= 2;
      this.mesh = this.make();
      this.mesh.instanceMatrix.array.set(old.instanceMatrix.array);
      this.mesh.instanceColor!.array.set(old.instanceColor!.array);
      this.parent.remove(old);
      old.dispose();
    }
    this.mesh.setMatrixAt(this.count, m);
    this.mesh.setColorAt(this.count++, color);
  }

  /** A bar between two points; the geometry is a unit cylinder along y. */
  bar(a: THREE.Vector3, b: THREE.Vector3, radius: number, color: THREE.Color): void {
    along.subVectors(b, a);
    const length = along.length();
    if (!(length > 0)) return;
    turn.setFromUnitVectors(up, along.divideScalar(length));
    matrix.compose(middle.addVectors(a, b).multiplyScalar(0.5), turn, along.set(radius, length, radius));
    this.put(matrix, color);
  }

  dot(at: THREE.Vector3, radius: number, color: THREE.Color): void {
    this.put(matrix.compose(at, turn.identity(), along.setScalar(radius)), color);
  }

  end(): void {
    this.mesh.count = this.count;
    this.mesh.instanceMatrix.needsUpdate = true;
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
  }
}

export const unitBar = (): THREE.BufferGeometry => new THREE.CylinderGeometry(1, 1, 1, 10);
export const unitDot = (): THREE.BufferGeometry => new THREE.SphereGeometry(1, 16, 12);
/** Open towards +y, its apex in the origin. */
export const unitFunnel = (): THREE.BufferGeometry => new THREE.ConeGeometry(1, 1, 24, 1, true).rotateX(Math.PI).translate(0, 0.5, 0);
export const unitCone = (): THREE.BufferGeometry => new THREE.ConeGeometry(1, 1, 12);
