/** Everything that holds a solid: pointers, the keyboard, controllers. Each is a hand of the shared session. */

import * as THREE from 'three';
import type { App, GrabMode } from '../app';
import * as command from '../commands';
import type { Vec3 } from '../protocol';
import type { Solids } from './solids';

interface Hand {
  number: number;
  solid: number;
  target: THREE.Vector3;
  rotation: THREE.Quaternion | null;
  sent: boolean;
}

/** From three's order to the library's. */
const order = (q: THREE.Quaternion): command.Quaternion => [q.w, q.x, q.y, q.z];

/** Hands of one window; the session numbers those of all windows. */
const PER_WINDOW = 16;

export class Hands {
  private held = new Map<string, Hand>();
  onchange: () => void = () => {};

  constructor(
    private readonly app: App,
    private readonly solids: Solids,
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
  ): void {
    if (this.held.has(key)) this.end(key);
    const local = point.clone().applyMatrix4(this.solids.matrices[solid]!.clone().invert());
    const hand: Hand = { number: this.free(), solid, target: point.clone(), rotation: null, sent: true };
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
