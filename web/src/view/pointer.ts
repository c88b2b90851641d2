/** Mouse, touch and pen: hover, grab and drag. What is not on a solid belongs to the camera. */

import * as THREE from 'three';
import type { App, GrabMode } from '../app';
import type { Handles } from './handles';
import type { Hands } from './hands';
import type { Hit, Solids } from './solids';
import type { Stage } from './stage';

/** Pixels that a touch may wander and still be a tap. */
const TAP = 6;

interface Drag {
  start: { x: number; y: number };
  moved: boolean;
  clip: THREE.Vector2;
  /** Pixels from what is held to the pointer: an arrow is held by its tip. */
  by: { x: number; y: number };
}

export class Pointer {
  hovered = -1;
  /** The arrow under a point of the page. */
  arrows: (x: number, y: number) => { solid: number; point: THREE.Vector3; by: { x: number; y: number } } | null = () => null;
  /** Shift selects more than one. */
  several: () => boolean = () => false;
  private ray = new THREE.Raycaster();
  private drags = new Map<number, Drag>();
  private hover: { x: number; y: number } | null = null;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly hands: Hands,
    private readonly handles: Handles,
    private readonly onhover: (solid: number) => void,
  ) {
    const canvas = stage.canvas;
    canvas.style.touchAction = 'none';
    // In the capture phase of the parent, so that the orbit controls never see a pointer that holds a solid.
    const parent = canvas.parentElement!;
    parent.addEventListener('pointerdown', (e) => this.down(e), { capture: true });
    canvas.addEventListener('pointermove', (e) => this.move(e));
    canvas.addEventListener('pointerup', (e) => this.up(e));
    canvas.addEventListener('pointercancel', (e) => this.up(e));
    canvas.addEventListener('pointerleave', () => (this.hover = null));
    canvas.addEventListener('wheel', (e) => this.wheel(e), { capture: true, passive: false });
    canvas.addEventListener('contextmenu', (e) => e.preventDefault());
  }

  private cast(clip: THREE.Vector2): THREE.Ray {
    this.ray.setFromCamera(clip, this.stage.camera);
    return this.ray.ray;
  }

  pick(x: number, y: number, movableOnly = false): Hit | null {
    this.cast(this.stage.toClip(x, y));
    return this.solids.pick(this.ray, movableOnly);
  }

  /** Thin bars on the move, and fingers that hide what they point at: what is a few pixels away is meant, too. */
  private beside(x: number, y: number, reach: number): Hit | null {
    for (const r of [0.5 * reach, reach]) {
      for (let k = 0; k < 8; k++) {
        const angle = (k * Math.PI) / 4;
        const hit = this.pick(x + r * Math.cos(angle), y + r * Math.sin(angle));
        if (hit && this.solids.isMovable(hit.solid)) return hit;
      }
    }
    return null;
  }

  private down(e: PointerEvent): void {
    if (e.target !== this.stage.canvas || e.button !== 0) return;
    this.stage.canvas.focus({ preventScroll: true });
    if (!this.app.picker && this.handles.hit(e.clientX, e.clientY)) return;
    const arrow = this.app.picker ? null : this.arrows(e.clientX, e.clientY);
    const hit = (arrow && { solid: arrow.solid, point: arrow.point, distance: 0 }) ?? this.pick(e.clientX, e.clientY) ?? this.beside(e.clientX, e.clientY, e.pointerType === 'touch' ? 18 : 8);
    if (this.app.picker) {
      if (hit) this.app.picker(hit.solid, hit.point.toArray() as [number, number, number]);
      e.stopImmediatePropagation();
      return;
    }
    if (!hit || e.ctrlKey || e.metaKey) {
      if (!hit) this.app.select(null);
      return;
    }
    // Where parts are made, Shift selects several; elsewhere it keeps what is held from turning.
    if (this.app.adding || (e.shiftKey && this.several())) {
      this.app.add(hit.solid);
      e.stopImmediatePropagation();
      return;
    }
    if (!this.app.also.has(hit.solid)) this.app.select({ kind: 'solid', id: hit.solid });
    if (!this.solids.isMovable(hit.solid)) return;
    e.stopImmediatePropagation();
    e.preventDefault();
    this.stage.canvas.setPointerCapture(e.pointerId);
    const by = arrow?.by ?? this.aside(hit, e);
    const clip = this.stage.toClip(e.clientX - by.x, e.clientY - by.y);
    this.drags.set(e.pointerId, { start: { x: e.clientX, y: e.clientY }, moved: false, clip, by });
    const mode: GrabMode = e.altKey ? 'pull' : e.shiftKey ? 'pin-pose' : this.app.grabMode;
    this.hands.begin(`pointer ${e.pointerId}`, hit.solid, hit.point, mode, undefined, true);
    this.stage.invalidate();
  }

  /** A vertex is held though the pointer is beside it: it does not jump. */
  private aside(hit: Hit, e: PointerEvent): { x: number; y: number } {
    const at = this.solids.vertex(hit.solid) ? this.stage.toPage(hit.point) : null;
    return at ? { x: e.clientX - at.x, y: e.clientY - at.y } : { x: 0, y: 0 };
  }

  private move(e: PointerEvent): void {
    const drag = this.drags.get(e.pointerId);
    if (!drag) {
      if (e.pointerType !== 'touch' && e.buttons === 0) this.hover = { x: e.clientX, y: e.clientY };
      return;
    }
    drag.clip = this.stage.toClip(e.clientX - drag.by.x, e.clientY - drag.by.y);
    if (Math.hypot(e.clientX - drag.start.x, e.clientY - drag.start.y) > TAP) drag.moved = true;
    this.follow(e.pointerId, drag);
  }

  /** The target follows in the plane that faces the eye, at the depth that it has (`Hands.settle` looks after that). */
  private follow(pointer: number, drag: Drag): void {
    const last = this.hands.targetOf(`pointer ${pointer}`);
    if (!last) return;
    const normal = this.stage.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, this.stage.root.localToWorld(last.clone()));
    const target = this.cast(drag.clip).intersectPlane(plane, new THREE.Vector3());
    if (target) this.hands.move(`pointer ${pointer}`, this.stage.root.worldToLocal(target));
    this.stage.invalidate();
  }

  private up(e: PointerEvent): void {
    if (!this.drags.delete(e.pointerId)) return;
    this.hands.end(`pointer ${e.pointerId}`);
    this.stage.invalidate();
  }

  /** The wheel moves what is held away from the eye or towards it. */
  private wheel(e: WheelEvent): void {
    if (this.drags.size === 0) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    for (const pointer of this.drags.keys()) this.hands.push(`pointer ${pointer}`, Math.exp(e.deltaY * 0.0006));
    this.stage.invalidate();
  }

  /** The session let go for us. */
  drop(): void {
    this.drags.clear();
  }

  /** Once a drawn frame: what is under the mouse now; solids move under a mouse that rests. */
  update(): void {
    const hit = this.hover && this.drags.size === 0 ? this.pick(this.hover.x, this.hover.y) : null;
    const solid = hit?.solid ?? -1;
    if (solid === this.hovered) return;
    this.hovered = solid;
    this.stage.canvas.style.cursor = solid < 0 ? '' : this.solids.isMovable(solid) ? 'grab' : 'pointer';
    this.onhover(solid);
  }
}
