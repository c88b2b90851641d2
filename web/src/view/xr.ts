/**
 * VR with two tracked controllers: select grabs along the ray, squeeze takes the nearest solid. Both hands are hands of
 * the same session as every pointer; nothing ever moves the user's eyes.
 */

import * as THREE from 'three';
import { XRControllerModelFactory } from 'three/examples/jsm/webxr/XRControllerModelFactory.js';
import type { App } from '../app';
import * as command from '../commands';
import { h } from '../dom';
import type { Hands } from './hands';
import type { Solids } from './solids';
import type { Stage } from './stage';
import type { Tethers } from './tethers';

/** How far a squeezing hand reaches, metres of the room. */
const REACH = 0.12;

interface Controller {
  index: number;
  key: string;
  hand: XRHandedness | '';
  ray: THREE.XRTargetRaySpace;
  grip: THREE.XRGripSpace;
  source: XRInputSource | null;
  beam: THREE.Line;
  /** From the controller to the held point and to the turn that the session counts from. */
  held: { offset: THREE.Vector3; space: THREE.Object3D; by: 'select' | 'squeeze' } | null;
  unmet: boolean;
  /** Buttons and stick as they were a picture ago: what counts is that they are pressed, not that they are down. */
  pressed: boolean[];
  stick: -1 | 0 | 1;
}

/** Places in a gamepad of the `xr-standard` mapping. */
const STICK = 3;
const FIRST = 4;
const SECOND = 5;
const ACROSS = 2;

export class Xr {
  readonly controllers: Controller[] = [];
  readonly button = h('button', { type: 'button', id: 'vr', hidden: true, title: 'Enter VR' }, 'VR');
  private session: XRSession | null = null;
  private ray = new THREE.Raycaster();
  private scale = 1;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly hands: Hands,
    private readonly tethers: Tethers,
  ) {
    void navigator.xr?.isSessionSupported?.('immersive-vr').then(
      (yes) => (this.button.hidden = !yes),
      () => {},
    );
    this.button.addEventListener('click', () => void (this.session ? this.session.end() : this.enter()));
    const models = new XRControllerModelFactory().setPath('controllers');
    for (const index of [0, 1]) this.add(index, models);
    stage.before.push((_dt, frame) => frame && this.update());
    // Another scene is as large and as near as the one before was.
    stage.onfit = () => this.session && this.place();
  }

  private add(index: number, models: XRControllerModelFactory): void {
    const xr = this.stage.renderer.xr;
    const [ray, grip] = [xr.getController(index), xr.getControllerGrip(index)];
    const line = new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3(0, 0, -1)]);
    const beam = new THREE.Line(line, new THREE.LineBasicMaterial({ color: 0x1b6fd0, transparent: true, opacity: 0.7 }));
    ray.add(beam);
    grip.add(models.createControllerModel(grip));
    this.stage.rig.add(ray, grip);
    const c: Controller = { index, key: `xr ${index}`, hand: '', ray, grip, source: null, beam, held: null, unmet: false, pressed: [], stick: 0 };
    this.controllers.push(c);
    ray.addEventListener('connected', (e) => {
      c.source = e.data;
      c.hand = e.data.handedness;
    });
    ray.addEventListener('disconnected', () => this.release(c));
    ray.addEventListener('selectstart', () => this.alongRay(c));
    ray.addEventListener('selectend', () => c.held?.by === 'select' && this.release(c));
    ray.addEventListener('squeezestart', () => this.nearby(c));
    ray.addEventListener('squeezeend', () => c.held?.by === 'squeeze' && this.release(c));
  }

  async enter(): Promise<void> {
    try {
      const session = await navigator.xr!.requestSession('immersive-vr', { optionalFeatures: ['local-floor', 'bounded-floor'] });
      this.session = session;
      session.addEventListener('end', () => this.left());
      this.place();
      this.stage.controls.enabled = false;
      await this.stage.renderer.xr.setSession(session);
      this.button.textContent = 'Leave VR';
    } catch (error) {
      this.app.toast(`VR did not start: ${(error as Error).message}`, true);
    }
  }

  /** The mechanism becomes as large as a table and stands in front of the user; else nothing moves the eyes. */
  private place(): void {
    const { center, radius, rig } = this.stage;
    this.scale = radius / 0.55;
    rig.scale.setScalar(this.scale);
    rig.position.set(center.x, center.y - 1.15 * this.scale, center.z + 1.0 * this.scale);
  }

  private left(): void {
    for (const c of this.controllers) this.release(c);
    this.session = null;
    this.stage.rig.position.set(0, 0, 0);
    this.stage.rig.scale.setScalar(1);
    this.stage.controls.enabled = true;
    this.button.textContent = 'VR';
    this.stage.resetView();
  }

  private aim(c: Controller): THREE.Raycaster {
    c.ray.updateWorldMatrix(true, false);
    this.ray.ray.origin.setFromMatrixPosition(c.ray.matrixWorld);
    this.ray.ray.direction.set(0, 0, -1).transformDirection(c.ray.matrixWorld);
    this.ray.camera = this.stage.camera;
    return this.ray;
  }

  private alongRay(c: Controller): void {
    const hit = this.solids.pick(this.aim(c), true);
    if (hit) this.take(c, hit.solid, hit.point, c.ray, 'select');
    else this.tick(c, 0.15, 15);
  }

  private nearby(c: Controller): void {
    c.grip.updateWorldMatrix(true, false);
    const at = this.stage.root.worldToLocal(new THREE.Vector3().setFromMatrixPosition(c.grip.matrixWorld));
    const near = this.solids.nearest(at, REACH * this.scale);
    // The held point is where the hand is, so that nothing jumps into it.
    if (near) this.take(c, near.solid, near.point ?? at, c.grip, 'squeeze');
    else this.tick(c, 0.15, 15);
  }

  /** Takes hold; a solid that the other hand holds is handed over by that one's letting go, and stays where it is. */
  private take(c: Controller, solid: number, point: THREE.Vector3, space: THREE.Object3D, by: 'select' | 'squeeze'): void {
    if (c.held) this.release(c);
    const world = this.stage.root.localToWorld(point.clone());
    c.held = { offset: space.worldToLocal(world), space, by };
    c.unmet = false;
    this.hands.begin(c.key, solid, point, this.app.grabMode === 'pull' ? 'pull' : 'pin-pose', this.turn(space));
    this.tick(c, 0.5, 25);
  }

  /** The turn of a controller in the scene's axes. */
  private turn(space: THREE.Object3D): THREE.Quaternion {
    const root = this.stage.root.getWorldQuaternion(new THREE.Quaternion()).invert();
    return root.multiply(space.getWorldQuaternion(new THREE.Quaternion()));
  }

  private release(c: Controller): void {
    if (!c.held) return;
    c.held = null;
    this.hands.end(c.key);
  }

  private tick(c: Controller, strength: number, ms: number): void {
    const actuator = c.source?.gamepad?.hapticActuators?.[0] as { pulse?: (s: number, ms: number) => Promise<unknown> } | undefined;
    this.pulses++;
    void actuator?.pulse?.(strength, ms)?.catch?.(() => {});
  }
  /** Haptic ticks given, for tests. */
  pulses = 0;

  /** What keys do elsewhere: A or X runs and pauses, B or Y undoes, the stick steps, pressing it brings all back. */
  private buttons(c: Controller): void {
    const pad = c.source?.gamepad;
    if (!pad) return;
    const now = pad.buttons.map((b) => b.pressed);
    const isNew = (i: number) => now[i] === true && c.pressed[i] !== true;
    const act = (what: () => unknown) => {
      this.tick(c, 0.3, 15);
      what();
    };
    // Whoever enters with a button down has not pressed it here.
    if (c.pressed.length > 0) {
      if (isNew(FIRST)) act(() => this.app.do(command.run(!this.app.settings?.running)));
      if (isNew(SECOND)) act(() => this.app.do(command.undo()));
      if (isNew(STICK)) act(() => this.stage.refit());
    }
    c.pressed = now;
    const x = pad.axes[ACROSS] ?? 0;
    // Far out it acts, near the middle it is ready again.
    const stick = x > 0.7 ? 1 : x < -0.7 ? -1 : Math.abs(x) < 0.3 ? 0 : c.stick;
    if (stick !== 0 && c.stick === 0) act(() => this.app.do(command.step(stick)));
    c.stick = stick;
  }

  private update(): void {
    for (const c of this.controllers) {
      this.buttons(c);
      // The session may have let go by itself.
      if (c.held && !this.hands.has(c.key)) c.held = null;
      if (c.held) {
        const world = c.held.space.localToWorld(c.held.offset.clone());
        this.hands.move(c.key, this.stage.root.worldToLocal(world), this.turn(c.held.space));
        c.beam.visible = c.held.by === 'select';
        c.beam.scale.z = c.held.offset.length();
        const unmet = this.hands.numberOf(c.key) !== null && this.tethers.unmet.has(this.hands.numberOf(c.key)!);
        // Once when the pin cannot be met any more, not all the time.
        if (unmet && !c.unmet) this.tick(c, 0.9, 45);
        c.unmet = unmet;
      } else {
        const hit = this.solids.pick(this.aim(c), true);
        c.beam.visible = true;
        c.beam.scale.z = hit ? hit.distance / this.scale : 2;
      }
    }
  }
}
