/** Everything that holds a solid: pointers, the keyboard, controllers. Each is a hand of the shared session. */

import * as THREE from 'three';
import type { App, GrabMode } from '../app';
import * as command from '../commands';
import type { Frame, Vec3 } from '../protocol';
import type { Solids } from './solids';
import type { Stage } from './stage';

interface Hand {
  number: number;
  solid: number;
  target: THREE.Vector3;
  rotation: THREE.Quaternion | null;
  sent: boolean;
  /** A pointer or the keyboard: only the line from the eye through the target is meant, not how far along it is. */
  sight: boolean;
  /** The user has just chosen the depth: until then (milliseconds) it stays. */
  keep: number;
  /** Where the grip was in the frame before, and that frame's tick. */
  was: { tick: number; grip: THREE.Vector3 } | null;
}

/** A grip that is not farther than this from the pointer, in pixels, follows it. */
const BESIDE = 40;
/** One that moves less than this share of the scene per tick rests. */
const REST = 1e-4;
/** How long a depth that the user chose is given to be reached. */
const KEEP = 400;

/** From three's order to the library's. */
const order = (q: THREE.Quaternion): command.Quaternion => [q.w, q.x, q.y, q.z];

/** A grab's mode as frames number it. */
export const PULL = 2;

/** Hands of one window; the session numbers those of all windows. */
const PER_WINDOW = 16;

export class Hands {
  private held = new Map<string, Hand>();
  onchange: () => void = () => {};

  constructor(
    private readonly app: App,
    private readonly solids: Solids,
    private readonly stage: Stage,
  ) {}

  get any(): boolean {
    return this.held.size > 0;
  }

  has(key: string): boolean {
    return this.held.has(key);
  }

  /** The solid that a hand holds. */
  solidOf(key: string): number | null {
    return this.held.get(key)?.solid ?? null;
  }

  /** The session's number of a hand. */
  numberOf(key: string): number | null {
    return this.held.get(key)?.number ?? null;
  }

  holds(solid: number): boolean {
    return [...this.held.values()].some((h) => h.solid === solid);
  }

  targetOf(key: string): THREE.Vector3 | null {
    return this.held.get(key)?.target ?? null;
  }

  /** The session's hand is one of ours that points from the eye. */
  isSight(number: number): boolean {
    return [...this.held.values()].some((h) => h.sight && h.number === number);
  }

  private free(): number {
    const first = (this.app.hello?.client ?? 0) * PER_WINDOW;
    const taken = new Set([...this.held.values()].map((h) => h.number));
    for (let n = first; n < first + PER_WINDOW; n++) if (!taken.has(n)) return n;
    return first;
  }

  /** Takes hold of a point given in the scene's coordinates. */
  begin(
    key: string,
    solid: number,
    point: THREE.Vector3,
    mode: GrabMode = this.app.grabMode,
    rotation?: THREE.Quaternion,
    sight = false,
  ): void {
    if (this.held.has(key)) this.end(key);
    const local = point.clone().applyMatrix4(this.solids.matrices[solid]!.clone().invert());
    const hand: Hand = { number: this.free(), solid, target: point.clone(), rotation: null, sent: true, sight, keep: 0, was: null };
    this.held.set(key, hand);
    void this.app.do(command.grab(hand.number, solid, local.toArray() as Vec3, mode, rotation && order(rotation))).then((ok) => {
      if (!ok && this.held.get(key) === hand) this.held.delete(key);
      this.onchange();
    });
    this.onchange();
  }

  move(key: string, target: THREE.Vector3, rotation?: THREE.Quaternion): void {
    const hand = this.held.get(key);
    if (!hand) return;
    hand.target.copy(target);
    hand.rotation = rotation?.clone() ?? null;
    hand.sent = false;
  }

  /** Moves the target away from the eye (more than 1) or towards it, on its line of sight. */
  push(key: string, factor: number): void {
    const hand = this.held.get(key);
    if (!hand) return;
    const eye = this.stage.camera.getWorldPosition(new THREE.Vector3());
    const world = this.stage.root.localToWorld(hand.target.clone()).sub(eye).multiplyScalar(factor).add(eye);
    hand.target.copy(this.stage.root.worldToLocal(world));
    hand.sent = false;
    hand.keep = performance.now() + KEEP;
  }

  /**
   * A planar mechanism seen at a slant cannot follow a target that stays at one distance from the eye, though it can get
   * under the pointer. So a pin that is not met takes over the depth that its grip has come to; what is left is the miss
   * across the line of sight. For a grip that moves on a line at an angle a to the picture each turn of this leaves
   * sin² a of that miss. A pin that is met keeps its depth: what floats freely does not creep. Nor does what is heavy and
   * still on its way: far from the pointer, only a grip that has come to rest gives its depth.
   */
  settle(frame: Frame): void {
    const { camera, root } = this.stage;
    const eye = camera.getWorldPosition(new THREE.Vector3());
    const ahead = camera.getWorldDirection(new THREE.Vector3());
    const depth = (p: THREE.Vector3) => p.clone().sub(eye).dot(ahead);
    const world = (p: Vec3) => root.localToWorld(new THREE.Vector3(...p));
    for (const hand of this.held.values()) {
      const grab = hand.sight && frame.grabs.find((g) => g.hand === hand.number);
      if (!grab || grab.met || grab.mode === PULL || performance.now() < hand.keep) continue;
      // Grip and target of one and the same tick: how far behind the hand the frame is does not matter.
      const [grip, target] = [depth(world(grab.grip)), depth(world(grab.target))];
      // Frames carry single precision.
      const small = Math.max(0.2 * (this.app.settings?.tolerance ?? 0), 1.2e-7 * Math.max(...grab.grip.map(Math.abs)));
      const place = new THREE.Vector3(...grab.grip);
      const ticks = hand.was ? frame.tick - hand.was.tick : 0;
      if (hand.was && ticks === 0) continue;
      const rests = hand.was !== null && hand.was.grip.distanceTo(place) < REST * this.stage.radius * ticks;
      hand.was = { tick: frame.tick, grip: place };
      const [a, b] = [this.stage.toPage(place), this.stage.toPage(new THREE.Vector3(...grab.target))];
      const beside = a !== null && b !== null && Math.hypot(a.x - b.x, a.y - b.y) < BESIDE;
      const own = root.localToWorld(hand.target.clone());
      const now = depth(own);
      if (!(beside || rests) || Math.abs(grip - target) < small || !(grip > camera.near) || !(now > camera.near)) continue;
      // Where masses move, little by little: what swings through comes back.
      const to = now + (frame.running && !frame.kinematic && !rests ? 0.35 : 1) * (grip - now);
      hand.target.copy(root.worldToLocal(own.sub(eye).multiplyScalar(to / now).add(eye)));
      hand.sent = false;
      this.stage.invalidate();
    }
  }

  /** Sends what moved: once a drawn frame, however many events the mouse makes. */
  flush(): void {
    for (const hand of this.held.values()) {
      if (hand.sent) continue;
      hand.sent = true;
      this.app.connection.tell(
        command.drag(hand.number, hand.target.toArray() as Vec3, hand.rotation ? order(hand.rotation) : undefined),
      );
    }
  }

  end(key: string): void {
    const hand = this.held.get(key);
    if (!hand) return;
    this.flush();
    this.held.delete(key);
    void this.app.do(command.release(hand.number));
    this.onchange();
  }

  /** Puts everything back to where it was before the grabs. */
  cancelAll(): boolean {
    const hands = [...this.held.values()];
    this.held.clear();
    for (const hand of hands) void this.app.do(command.cancel(hand.number));
    if (hands.length > 0) this.onchange();
    return hands.length > 0;
  }

  /** The session let go by itself: of these, or of all when there is another scene. */
  forget(numbers?: number[]): void {
    for (const [key, hand] of [...this.held]) {
      if (!numbers || numbers.includes(hand.number)) this.held.delete(key);
    }
    this.onchange();
  }
}
