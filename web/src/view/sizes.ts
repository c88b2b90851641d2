/** Rims of wheels and balls, sides of wheels, corners of boxes and plates: dragged in build mode, they give the selected part another size. */

import * as THREE from 'three';
import type { App } from '../app';
import * as command from '../commands';
import { h } from '../dom';
import { length } from '../format';
import type { Build } from './build';
import { Marks, unitBar, unitDot } from './marks';
import { type Plated, cornerAt, plated, withCorner } from './plate-text';
import { type Sized, resized, sized } from './size-text';
import { poseMatrix, type Solids } from './solids';
import { dark, type Stage } from './stage';

/** Pixels about a handle that are the handle. */
const REACH = 10;
const REACH_TOUCH = 22;
/** Pixels of a press that is still a click. */
const CLICK = 6;
/** A plane that is seen flatter than this (the sine) is no place to point at. */
const FLAT = 0.2;
const INK = { light: new THREE.Color(0xd36b00), dark: new THREE.Color(0xffa64d) };

/** A rim is as far from the middle as the radius, sides are apart by the width, a corner is opposite to one that stays. */
interface Handle {
  what: 'rim' | 'side' | 'corner' | 'vertex';
  /** From the middle of the shape, in its axes; signs for a corner; for one of a plate its number. */
  way: THREE.Vector3;
  at: THREE.Vector3;
}

/** A part that has handles; plates have corners, all others sizes. */
type Part = Sized & { plate?: Plated };

interface Held {
  pointer: number;
  part: Part;
  handle: Handle;
  /** Where the press was, and where the pointer is. */
  x: number;
  y: number;
  here: { x: number; y: number };
  moved: boolean;
  sizes: number[];
  /** Of the middle, in the axes of the shape; of a plate the place of the corner. */
  shift: THREE.Vector3;
}

export class Sizes {
  readonly group = new THREE.Group();
  private held: Held | null = null;
  private bars: Marks;
  private dots: Marks;
  private label: HTMLElement;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly build: Build,
    layer: HTMLElement,
  ) {
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.85, toneMapped: false });
    this.bars = new Marks(this.group, unitBar(), material, 30);
    this.dots = new Marks(this.group, unitDot(), material, 31);
    this.label = layer.appendChild(h('div', { class: 'sketch-label', hidden: true }));
    const parent = stage.canvas.parentElement!;
    parent.addEventListener('pointerdown', (e) => this.down(e), { capture: true });
    parent.addEventListener('pointermove', (e) => this.move(e), { capture: true });
    parent.addEventListener('pointerup', (e) => this.up(e), { capture: true });
    parent.addEventListener('pointercancel', () => this.drop());
    addEventListener('keydown', (e) => {
      if (e.key !== 'Escape' || !this.held) return;
      e.preventDefault();
      e.stopImmediatePropagation();
      this.drop();
    }, { capture: true });
    app.on('scene', () => this.drop());
  }

  private drop(): void {
    this.held = null;
    this.stage.invalidate();
  }

  /** What is selected, if it can be given another size here. */
  private get part(): Part | null {
    const { selection, chosen, scene, settings, picker } = this.app;
    const ready = this.build.on && this.build.tool === 'select' && !settings?.running && !picker && scene !== null;
    if (!ready || selection?.kind !== 'solid' || chosen.length !== 1) return null;
    const plate = plated(scene, selection.id);
    return plate ? { solid: selection.id, shape: plate.shape, sizes: [], plate } : sized(scene, selection.id);
  }

  /** The corners of a plate that can be dragged: where it is joined, the joint is dragged, and the corner goes with it. */
  private vertices({ solid, plate }: Part): number[] {
    const joints = this.app.scene!.joints.flatMap((j) => ([0, 1] as const).filter((side) => j.solids[side] === solid).map((side) => cornerAt(plate!, new THREE.Vector3(...j.frames[side].slice(0, 3)))));
    return plate!.corners.map((_, k) => k).filter((k) => !joints.includes(k));
  }

  /** The axes of the shape in the scene, its middle as their origin. */
  private axes({ solid, shape }: Sized): THREE.Matrix4 {
    return this.solids.matrices[solid]!.clone().multiply(poseMatrix(shape.pose));
  }

  /** What of a part can be dragged. Public for those who look, not point. */
  handles(part = this.part): Handle[] {
    if (!part || !this.solids.matrices[part.solid]) return [];
    const m = this.axes(part);
    const { type, radius, length: width, size } = part.shape;
    if (part.plate) return this.vertices(part).map((k) => ({ what: 'vertex', way: new THREE.Vector3(k, 0, 0), at: part.plate!.corners[k]!.clone().applyMatrix4(m) }));
    const make = (what: Handle['what'], way: THREE.Vector3): Handle => ({ what, way, at: way.clone().multiply(what === 'corner' ? new THREE.Vector3(...size!).multiplyScalar(0.5) : new THREE.Vector3(1, 1, 1)).applyMatrix4(m) });
    if (type === 'box') return [0, 1, 2, 3, 4, 5, 6, 7].map((k) => make('corner', new THREE.Vector3(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1)));
    const r = radius!;
    if (type === 'cylinder') {
      const rim = [[r, 0], [0, r], [-r, 0], [0, -r]].map(([y, z]) => make('rim', new THREE.Vector3(0, y, z)));
      // Where one looks along the axis, both sides are in one place.
      const axis = new THREE.Vector3().setFromMatrixColumn(m, 0);
      const across = Math.abs(this.eye(new THREE.Vector3().setFromMatrixPosition(m)).dot(axis)) < 0.85;
      return across ? [...rim, ...[0.5, -0.5].map((x) => make('side', new THREE.Vector3(x * width!, 0, 0)))] : rim;
    }
    // A ball has no axes to see: its handles are in the plane that is drawn on.
    const { u, v } = this.build.axes;
    const back = new THREE.Quaternion().setFromRotationMatrix(m).invert();
    return [u, v, u.clone().negate(), v.clone().negate()].map((w) => make('rim', w.clone().multiplyScalar(r).applyQuaternion(back)));
  }

  /** The direction in which a point of the scene is seen. */
  private eye(at: THREE.Vector3): THREE.Vector3 {
    return at.clone().sub(this.stage.root.worldToLocal(this.stage.camera.position.clone())).normalize();
  }

  private near(x: number, y: number, reach: number): Handle | null {
    let best: { handle: Handle; far: number } | null = null;
    for (const handle of this.handles()) {
      const p = this.stage.toPage(handle.at);
      // Of corners behind each other the nearer one is meant.
      const far = p ? Math.hypot(p.x - x, p.y - y) + 1e-3 * handle.at.distanceTo(this.stage.root.worldToLocal(this.stage.camera.position.clone())) / this.stage.radius : Infinity;
      if (far < reach && (!best || far < best.far)) best = { handle, far };
    }
    return best?.handle ?? null;
  }

  private down(e: PointerEvent): void {
    const { part } = this;
    if (!part || e.target !== this.stage.canvas || e.button !== 0 || e.shiftKey || e.ctrlKey || e.metaKey) return;
    const handle = this.near(e.clientX, e.clientY, e.pointerType === 'touch' ? REACH_TOUCH : REACH);
    if (!handle) return;
    e.stopImmediatePropagation();
    e.preventDefault();
    this.stage.canvas.focus({ preventScroll: true });
    this.stage.canvas.setPointerCapture(e.pointerId);
    this.held = { pointer: e.pointerId, part, handle, x: e.clientX, y: e.clientY, here: { x: e.clientX, y: e.clientY }, moved: false, sizes: [...part.sizes], shift: new THREE.Vector3() };
  }

  private move(e: PointerEvent): void {
    const held = this.held;
    if (held?.pointer !== e.pointerId) return;
    e.stopImmediatePropagation();
    held.moved ||= Math.hypot(e.clientX - held.x, e.clientY - held.y) > CLICK;
    if (!held.moved) return;
    held.here = { x: e.clientX, y: e.clientY };
    this.measure(held, e);
    this.stage.invalidate();
  }

  /** The point of the shape's axes that is meant: of another part, or of the plane in which the handle is dragged. */
  private pointed({ part, handle }: Held, e: PointerEvent, across: number): THREE.Vector3 | null {
    const back = this.axes(part).invert();
    const anchor = this.build.snap(e.clientX, e.clientY, e.pointerType === 'touch')?.anchor;
    if (anchor && anchor.solid !== part.solid) return anchor.at.clone().applyMatrix4(back);
    const ray = this.build.rayAt(e.clientX, e.clientY).applyMatrix4(back);
    const from = handle.at.clone().applyMatrix4(back);
    const normal = new THREE.Vector3().setComponent(across, 1);
    if (handle.what !== 'side' && Math.abs(ray.direction.dot(normal)) > FLAT) return ray.intersectPlane(new THREE.Plane().setFromNormalAndCoplanarPoint(normal, from), new THREE.Vector3());
    // Along its own direction, wherever that is nearest to the line of sight.
    const far = 1e3 * this.stage.radius;
    const way = from.clone().normalize().multiplyScalar(far);
    const found = new THREE.Vector3();
    ray.distanceSqToSegment(handle.what === 'corner' ? from.clone().sub(way) : new THREE.Vector3(), from.clone().add(way), undefined, found);
    return found;
  }

  /** Where a corner of a plate is dragged to: ends and the grid where it lies in the plane that is drawn on, else anywhere in its own. */
  private bend(held: Held, e: PointerEvent): void {
    const { part, handle } = held;
    const m = this.axes(part);
    const { n } = this.build.axes;
    const own = new THREE.Vector3().setFromMatrixColumn(m, 2);
    const spot = Math.abs(own.dot(n)) > 0.9999 ? this.build.snap(e.clientX, e.clientY, e.pointerType === 'touch') : null;
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(own, handle.at);
    const at = spot?.at.clone().addScaledVector(n, n.dot(handle.at.clone().sub(spot.at))) ?? this.build.rayAt(e.clientX, e.clientY).intersectPlane(plane, new THREE.Vector3());
    if (at) held.shift.copy(at.applyMatrix4(m.invert())).setZ(0);
  }

  /** New sizes for where the pointer is: whole lines of the grid, with Shift fifths of them. */
  private measure(held: Held, e: PointerEvent): void {
    const { part, handle } = held;
    if (handle.what === 'vertex') return this.bend(held, e);
    const m = this.axes(part);
    const step = this.build.step * (e.shiftKey ? 0.2 : 1);
    const round = (x: number) => Math.max(step, Math.round(x / step) * step);
    const sight = this.eye(handle.at);
    const faces = [0, 1, 2].map((k) => Math.abs(sight.dot(new THREE.Vector3().setFromMatrixColumn(m, k))));
    // A wheel's rim is in its own plane, a box is seen from one side.
    const across = part.shape.type === 'cylinder' ? 0 : faces.indexOf(Math.max(...faces));
    const to = this.pointed(held, e, across);
    if (!to) return;
    const snapped = this.build.snap(e.clientX, e.clientY, e.pointerType === 'touch')?.anchor;
    const exact = snapped && snapped.solid !== part.solid;
    const size = (x: number) => (exact && x > 1e-3 * step ? x : round(x));
    if (handle.what === 'rim') {
      const way = part.shape.type === 'cylinder' ? to.clone().setX(0) : to;
      held.sizes[0] = size(way.length());
    } else if (handle.what === 'side') {
      held.sizes[1] = size(2 * Math.abs(to.x));
    } else {
      held.shift.set(0, 0, 0);
      for (const k of [0, 1, 2]) {
        if (k === across) continue;
        const was = part.sizes[k]!;
        const sign = handle.way.getComponent(k);
        // From the corner that stays.
        held.sizes[k] = size(sign * to.getComponent(k) + 0.5 * was);
        held.shift.setComponent(k, 0.5 * sign * (held.sizes[k]! - was));
      }
    }
  }

  private up(e: PointerEvent): void {
    const held = this.held;
    if (held?.pointer !== e.pointerId) return;
    e.stopImmediatePropagation();
    if (held.moved) this.measure(held, e);
    this.drop();
    const { part, sizes, shift, moved } = held;
    if (!moved || !this.app.scene) return;
    if (part.plate) {
      const { name } = this.app.scene.solids[part.solid]!;
      const bent = withCorner(this.app.scene.text, name, part.plate, held.handle.way.x, shift);
      if (bent !== this.app.scene.text) void this.app.do(command.setText(bent)).then((ok) => ok && this.app.select({ kind: 'solid', id: part.solid }));
      return;
    }
    const own = shift.clone().applyQuaternion(new THREE.Quaternion().setFromRotationMatrix(poseMatrix(part.shape.pose)));
    const text = resized(this.app.scene, this.solids.matrices, part, sizes, own);
    if (text === null) return this.app.toast('Something is joined to it by a constraint: change its size in the text.', true);
    if (text === this.app.scene.text) return;
    void this.app.do(command.setText(text)).then((ok) => ok && this.app.select({ kind: 'solid', id: part.solid }));
  }

  /** Once a drawn frame: the handles, and the part as it would be. */
  update(): void {
    this.bars.begin();
    this.dots.begin();
    const { held } = this;
    const color = INK[dark.matches ? 'dark' : 'light'];
    const r = 0.008 * this.stage.radius;
    if (held?.moved) this.sketch(held, 0.6 * r, color);
    else for (const { at } of this.handles()) this.dots.dot(at, 2 * r, color);
    this.bars.end();
    this.dots.end();
    const place = held?.moved ? held.here : null;
    this.label.hidden = !place;
    if (!held || !place) return;
    const box = this.stage.canvas.getBoundingClientRect();
    const { what } = held.handle;
    this.label.textContent = what === 'vertex' ? this.build.placeWords(held.shift.clone().applyMatrix4(this.axes(held.part))) : what === 'corner' ? held.sizes.map(length).join(' × ') : what === 'rim' ? `radius ${length(held.sizes[0]!)}` : `${length(held.sizes[1]!)} wide`;
    this.label.style.transform = `translate(${Math.max(6, place.x - box.left + 16)}px, ${Math.max(6, place.y - box.top - 34)}px)`;
  }

  private sketch({ part, handle, sizes, shift }: Held, r: number, color: THREE.Color): void {
    const m = this.axes(part);
    if (part.plate) {
      const corners = part.plate.corners.map((c, k) => (k === handle.way.x ? shift : c).clone().applyMatrix4(m));
      return corners.forEach((c, k) => this.bars.bar(c, corners[(k + 1) % corners.length]!, r, color));
    }
    const put = (x: number, y: number, z: number) => new THREE.Vector3(x, y, z).add(shift).applyMatrix4(m);
    const line = (a: THREE.Vector3, b: THREE.Vector3) => this.bars.bar(a, b, r, color);
    if (part.shape.type === 'box') {
      const [x, y, z] = sizes.map((s) => 0.5 * s) as [number, number, number];
      for (const [a, b] of [[-1, -1], [-1, 1], [1, -1], [1, 1]] as const) {
        line(put(-x, a * y, b * z), put(x, a * y, b * z));
        line(put(a * x, -y, b * z), put(a * x, y, b * z));
        line(put(a * x, b * y, -z), put(a * x, b * y, z));
      }
      return;
    }
    const ring = (at: (c: number, s: number) => THREE.Vector3) => {
      const place = (k: number) => at(sizes[0]! * Math.cos(k * 0.1963), sizes[0]! * Math.sin(k * 0.1963));
      for (let k = 0; k < 32; k++) line(place(k), place(k + 1));
    };
    if (part.shape.type === 'cylinder') {
      for (const x of [0.5, -0.5]) ring((c, s) => put(x * sizes[1]!, c, s));
      return;
    }
    const { u, v } = this.build.axes;
    const middle = put(0, 0, 0);
    ring((c, s) => middle.clone().addScaledVector(u, c).addScaledVector(v, s));
  }
}
