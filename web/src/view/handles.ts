/** Arrows and rings on the selected solid: it is moved along an axis or turned about one, exactly, by mouse or finger. */

import * as THREE from 'three';
import { TransformControls } from 'three/examples/jsm/controls/TransformControls.js';
import type { App } from '../app';
import type { Hands } from './hands';
import type { Solids } from './solids';
import type { Stage } from './stage';

const HAND = 'handles';
/** A place that is off by no more than this share of the scene is the same, once the hand is met. */
const REST = 3e-7;
/** Frames carry single precision: nearer than this share of a coordinate nothing can be told. */
const SINGLE = 1.2e-7;

export type HandlesMode = 'off' | 'move' | 'turn';

export class Handles {
  mode: HandlesMode = 'off';
  /** Told when there is something to show or not any more. */
  onchange: () => void = () => {};
  private readonly controls: TransformControls;
  /** Stands where the solid's centre of mass is, turned like the solid. */
  private readonly stand = new THREE.Object3D();
  private solid = -1;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly hands: Hands,
  ) {
    stage.root.add(this.stand);
    this.controls = new TransformControls(stage.camera, stage.canvas);
    this.controls.setSize(0.85);
    stage.scene.add(this.controls.getHelper());
    this.controls.addEventListener('change', () => stage.invalidate());
    this.controls.addEventListener('objectChange', () => this.lead());
    this.controls.addEventListener('dragging-changed', (e) => this.take(e.value === true));
    app.on('selection', () => this.choose());
    app.on('scene', () => this.choose());
  }

  /** The solid that could have them. */
  get candidate(): number {
    const s = this.app.selection;
    return s?.kind === 'solid' && this.solids.isMovable(s.id) ? s.id : -1;
  }

  /** Off, to move, to turn, and off again. */
  next(): void {
    if (this.candidate < 0) return this.app.toast('Select a solid that can move; then H shows its handles.');
    this.drop();
    this.mode = this.mode === 'off' ? 'move' : this.mode === 'move' ? 'turn' : 'off';
    this.choose();
  }

  /** Is a handle under this point of the page? It goes before the solids behind it. */
  hit(x: number, y: number): string | null {
    if (this.solid < 0 || this.controls.dragging) return null;
    const at = this.stage.toClip(x, y);
    this.controls.pointerHover({ x: at.x, y: at.y, button: -1 } as unknown as PointerEvent);
    return this.controls.axis;
  }

  /** Lets go; the session may have done so already. */
  drop(): void {
    if (this.controls.dragging) this.controls.pointerUp({ button: 0 } as PointerEvent);
  }

  /** Once a drawn frame: they stay on the solid. */
  update(): void {
    this.controls.getHelper().visible = this.solid >= 0 && !this.stage.renderer.xr.isPresenting;
    if (this.solid < 0) return;
    if (!this.controls.dragging) this.follow();
    else if (this.mode === 'turn' && this.strays()) this.lead();
  }

  /**
   * What turns goes where the mechanism lets it: only the turn is asked for, so the place asked for follows the solid. Once
   * the hand is met it is left alone, since one that moves is followed coarsely; until then the place must not keep any of
   * the turn back, however little.
   */
  private strays(): boolean {
    const led = this.hands.targetOf(HAND);
    if (!led) return false;
    const centre = this.centre();
    const met = this.app.frame?.grabs.find((g) => g.hand === this.hands.numberOf(HAND))?.met ?? false;
    const same = met ? REST * this.stage.radius : SINGLE * Math.max(...centre.toArray().map(Math.abs));
    return led.distanceTo(centre) > same;
  }

  private choose(): void {
    const solid = this.mode === 'off' ? -1 : this.candidate;
    if (solid !== this.solid) this.drop();
    this.solid = solid;
    if (solid < 0) this.controls.detach();
    else {
      this.follow();
      this.controls.setMode(this.mode === 'turn' ? 'rotate' : 'translate');
      this.controls.setSpace(this.mode === 'turn' ? 'local' : 'world');
      this.controls.attach(this.stand);
    }
    this.stage.invalidate();
    this.onchange();
  }

  private centre(): THREE.Vector3 {
    return new THREE.Vector3(...this.app.scene!.solids[this.solid]!.center).applyMatrix4(this.solids.matrices[this.solid]!);
  }

  private follow(): void {
    if (!this.app.scene?.solids[this.solid] || !this.solids.matrices[this.solid]) return;
    this.stand.position.copy(this.centre());
    this.stand.quaternion.setFromRotationMatrix(this.solids.matrices[this.solid]!);
    this.stand.updateMatrixWorld();
  }

  private take(on: boolean): void {
    this.stage.controls.enabled = !on;
    if (on) {
      const mode = this.mode === 'turn' ? 'pin-pose' : 'pin';
      this.hands.begin(HAND, this.solid, this.stand.position.clone(), mode, this.stand.quaternion.clone());
    } else this.hands.end(HAND);
    this.stage.invalidate();
  }

  private lead(): void {
    if (!this.hands.has(HAND)) return;
    if (this.mode === 'turn') this.hands.move(HAND, this.centre(), this.stand.quaternion);
    else this.hands.move(HAND, this.stand.position);
  }
}
