/** Joints in build mode: a click on one selects it, and a selected one can be dragged to another place. */

import * as THREE from 'three';
import type { App } from '../app';
import * as command from '../commands';
import { h } from '../dom';
import type { Build } from './build';
import { Marks, unitBar, unitDot } from './marks';
import type { Overlays } from './overlays';
import { barsAt, jointsThere, movePin, type PinScene } from './pin-text';
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
  private held: { pointer: number; joint: number; from: THREE.Vector3; x: number; y: number; moved: boolean } | null = null;
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
    this.held = this.tap = this.to = null;
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

  private get ready(): boolean {
    return this.build.on && this.build.tool === 'select' && !this.app.settings?.running && !this.app.picker && this.app.scene !== null;
  }

  private down(e: PointerEvent): void {
    if (!this.ready || e.target !== this.stage.canvas || e.button !== 0 || e.shiftKey || e.ctrlKey || e.metaKey) return;
    const joint = this.near(e.clientX, e.clientY, e.pointerType === 'touch' ? REACH_TOUCH : REACH);
    if (joint === null) return;
    if (this.app.selection?.kind !== 'joint' || this.app.selection.id !== joint) {
      this.tap = { pointer: e.pointerId, joint, x: e.clientX, y: e.clientY };
      return;
    }
    e.stopImmediatePropagation();
    e.preventDefault();
    this.stage.canvas.focus({ preventScroll: true });
    this.stage.canvas.setPointerCapture(e.pointerId);
    this.held = { pointer: e.pointerId, joint, from: new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(joint, 0)), x: e.clientX, y: e.clientY, moved: false };
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
    const to = this.to;
    this.drop();
    if (to && held.moved) void this.place(held.joint, to);
  }

  /** Puts a joint, and all that are in its place, somewhere else. */
  async place(joint: number, to: THREE.Vector3): Promise<void> {
    const from = new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(joint, 0));
    const text = movePin(this.pins, joint, to.clone().sub(from), this.build.normal);
    if (text === this.app.scene!.text) return;
    if (await this.app.do(command.setText(text))) this.app.select({ kind: 'joint', id: joint });
  }

  /** Once a drawn frame: the bars as they would be. */
  update(): void {
    this.bars.begin();
    this.dots.begin();
    const { held, to } = this;
    if (held && to) {
      const color = INK[dark.matches ? 'dark' : 'light'];
      const r = 0.008 * this.stage.radius;
      const way = to.clone().sub(held.from);
      for (const bar of barsAt(this.pins, jointsThere(this.pins, held.joint, this.build.normal))) {
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
    this.label.textContent = this.build.placeWords(to!);
    this.label.style.transform = `translate(${Math.max(6, place.x - box.left + 16)}px, ${Math.max(6, place.y - box.top - 34)}px)`;
  }
}

