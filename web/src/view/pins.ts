/** Joints and ends of bars in build mode: a click on a joint selects it; what is selected can be dragged to another place. */

import * as THREE from 'three';
import type { App } from '../app';
import * as command from '../commands';
import { h } from '../dom';
import { length } from '../format';
import type { Build } from './build';
import { Marks, unitBar, unitDot } from './marks';
import type { Overlays } from './overlays';
import { type Bar, barBy, barsAt, jointAtEnd, jointsThere, moveEnd, movePin, type PinScene, poseAfter } from './pin-text';
import { type Spot, withJoint } from './sketch';
import type { Solids } from './solids';
import { dark, type Stage } from './stage';

/** Pixels about a joint that are the joint. */
const REACH = 11;
const REACH_TOUCH = 22;
/** Pixels of a press that is still a click. */
const CLICK = 6;
const INK = { light: new THREE.Color(0xd36b00), dark: new THREE.Color(0xffa64d) };

export class Pins {
  readonly group = new THREE.Group();
  /** Where the dragged joint would be. */
  to: THREE.Vector3 | null = null;
  /** What it has snapped to there. */
  private onto: Spot['anchor'] = null;
  /** A joint, or the end of a bar that nothing is joined to. */
  private held: { pointer: number; what: number | Bar; from: THREE.Vector3; x: number; y: number; moved: boolean } | null = null;
  private tap: { pointer: number; joint: number; x: number; y: number } | null = null;
  private bars: Marks;
  private dots: Marks;
  private label: HTMLElement;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly overlays: Overlays,
    private readonly build: Build,
    layer: HTMLElement,
  ) {
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.85, toneMapped: false });
    this.bars = new Marks(this.group, unitBar(), material, 30);
    this.dots = new Marks(this.group, unitDot(), material, 31);
    this.label = layer.appendChild(h('div', { class: 'sketch-label', hidden: true }));
    const parent = stage.canvas.parentElement!;
    // Before the hands, like the tools that draw.
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
    this.held = this.tap = this.to = this.onto = null;
    this.stage.invalidate();
  }

  private get pins(): PinScene {
    return { scene: this.app.scene!, matrices: this.solids.matrices, frameOf: (j, side) => this.overlays.frameOf(j, side) };
  }

  /** The joint under a point of the page; the selected one is meant first. */
  private near(x: number, y: number, reach: number): number | null {
    const chosen = this.app.selection?.kind === 'joint' ? this.app.selection.id : -1;
    let best: { joint: number; far: number } | null = null;
    this.app.scene?.joints.forEach((_, joint) => {
      const p = this.stage.toPage(new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(joint, 0)));
      const far = p ? Math.hypot(p.x - x, p.y - y) - (joint === chosen ? 1 : 0) : Infinity;
      if (far < reach && (!best || far < best.far)) best = { joint, far };
    });
    return (best as { joint: number } | null)?.joint ?? null;
  }

  /** The ends of the selected bar. */
  private get ends(): Bar[] {
    const { selection, chosen } = this.app;
    if (selection?.kind !== 'solid' || chosen.length > 1) return [];
    return ([0, 1] as const).flatMap((end) => barBy(this.pins, selection.id, end) ?? []);
  }

  private endNear(x: number, y: number, reach: number): Bar | null {
    const far = (b: Bar) => {
      const p = this.stage.toPage(b.ends[b.end]);
      return p ? Math.hypot(p.x - x, p.y - y) : Infinity;
    };
    const [best] = this.ends.filter((b) => far(b) < reach).sort((a, b) => far(a) - far(b));
    return best ?? null;
  }

  private get ready(): boolean {
    return this.build.on && this.build.tool === 'select' && !this.app.settings?.running && !this.app.picker && this.app.scene !== null;
  }

  private down(e: PointerEvent): void {
    if (!this.ready || e.target !== this.stage.canvas || e.button !== 0 || e.shiftKey || e.ctrlKey || e.metaKey) return;
    const reach = e.pointerType === 'touch' ? REACH_TOUCH : REACH;
    const end = this.endNear(e.clientX, e.clientY, reach);
    const joint = (end && jointAtEnd(this.app.scene!, end)) ?? this.near(e.clientX, e.clientY, reach);
    const chosen = this.app.selection?.kind === 'joint' && this.app.selection.id === joint;
    if (!end && !chosen) {
      if (joint !== null) this.tap = { pointer: e.pointerId, joint, x: e.clientX, y: e.clientY };
      return;
    }
    e.stopImmediatePropagation();
    e.preventDefault();
    this.stage.canvas.focus({ preventScroll: true });
    this.stage.canvas.setPointerCapture(e.pointerId);
    const from = joint === null ? end!.ends[end!.end].clone() : new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(joint, 0));
    this.held = { pointer: e.pointerId, what: joint ?? end!, from, x: e.clientX, y: e.clientY, moved: false };
  }

  private move(e: PointerEvent): void {
    const far = (p: { x: number; y: number }) => Math.hypot(e.clientX - p.x, e.clientY - p.y);
    if (this.tap?.pointer === e.pointerId && far(this.tap) > CLICK) this.tap = null;
    const held = this.held;
    if (held?.pointer !== e.pointerId) return;
    e.stopImmediatePropagation();
    held.moved ||= far(held) > CLICK;
    if (!held.moved) return;
    const spot = this.build.snap(e.clientX, e.clientY, e.pointerType === 'touch');
    // In its own plane: it does not change sides.
    const n = this.build.normal;
    this.onto = spot?.anchor ?? null;
    this.to = spot && spot.at.clone().addScaledVector(n, n.dot(held.from.clone().sub(spot.at)));
    this.stage.invalidate();
  }

  private up(e: PointerEvent): void {
    if (this.tap?.pointer === e.pointerId) {
      const { joint } = this.tap;
      this.tap = null;
      // The hands have selected the part below it meanwhile.
      setTimeout(() => this.app.select({ kind: 'joint', id: joint }));
      return;
    }
    const held = this.held;
    if (held?.pointer !== e.pointerId) return;
    e.stopImmediatePropagation();
    const { to, onto } = this;
    this.drop();
    if (to && held.moved) void (typeof held.what === 'number' ? this.place(held.what, to) : this.stretch(held.what, to, onto));
    // A click on a joint at the end of the selected bar is a click on that joint.
    else if (typeof held.what === 'number') this.app.select({ kind: 'joint', id: held.what });
  }

  /** Puts the free end of a bar somewhere else. An end that meets another part is pinned to it. */
  private async stretch(bar: Bar, to: THREE.Vector3, onto: Spot['anchor']): Promise<void> {
    const way = to.clone().sub(bar.ends[bar.end]);
    const scene = this.app.scene!;
    let text = moveEnd(this.pins, bar, way);
    if (text === scene.text) return;
    const joined = (other: number) => scene.joints.some((j) => j.solids.includes(other) && j.solids.includes(bar.solid));
    if (onto && onto.solid > 0 && onto.solid !== bar.solid && !joined(onto.solid)) {
      const side = (solid: number, matrix: THREE.Matrix4) => ({ name: scene.solids[solid]!.name, matrix });
      text = withJoint(text, this.build.ends, side(onto.solid, this.solids.matrices[onto.solid]!), side(bar.solid, poseAfter(this.pins, bar, way)), onto.at, this.build.hinge);
    }
    if (await this.app.do(command.setText(text))) this.app.select({ kind: 'solid', id: bar.solid });
  }

  /** Puts a joint, and all that are in its place, somewhere else. */
  async place(joint: number, to: THREE.Vector3): Promise<void> {
    const from = new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(joint, 0));
    const text = movePin(this.pins, joint, to.clone().sub(from), this.build.normal);
    if (text === this.app.scene!.text) return;
    const selection = this.app.selection ?? { kind: 'joint', id: joint };
    if (await this.app.do(command.setText(text))) this.app.select(selection);
  }

  /** Once a drawn frame: the bars as they would be. */
  update(): void {
    this.bars.begin();
    this.dots.begin();
    const { held, to } = this;
    const color = INK[dark.matches ? 'dark' : 'light'];
    const r = 0.008 * this.stage.radius;
    if (!held && this.ready) for (const b of this.ends) this.dots.dot(b.ends[b.end], 2 * r, color);
    if (held && to) {
      const way = to.clone().sub(held.from);
      const bars = typeof held.what === 'number' ? barsAt(this.pins, jointsThere(this.pins, held.what, this.build.normal)) : [held.what];
      for (const bar of bars) {
        this.bars.bar(bar.ends[bar.end === 0 ? 1 : 0], bar.ends[bar.end].clone().add(way), r, color);
      }
      this.bars.bar(held.from, to, 0.4 * r, color);
      this.dots.dot(to, 2.4 * r, color);
    }
    this.bars.end();
    this.dots.end();
    const place = held && to ? this.stage.toPage(to) : null;
    this.label.hidden = !place;
    if (!place) return;
    const box = this.stage.canvas.getBoundingClientRect();
    const bar = held && typeof held.what !== 'number' ? held.what : null;
    this.label.textContent = this.build.placeWords(to!) + (bar ? ` · ${length(to!.distanceTo(bar.ends[bar.end === 0 ? 1 : 0]))} long` : '');
    this.label.style.transform = `translate(${Math.max(6, place.x - box.left + 16)}px, ${Math.max(6, place.y - box.top - 34)}px)`;
  }
}

