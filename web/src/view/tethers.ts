/** The line from each grip to where its hand wants it; red, dashed and with the gap in words when that cannot be met. */

import * as THREE from 'three';
import { h } from '../dom';
import { length } from '../format';
import type { Frame } from '../protocol';
import { Marks, unitBar, unitDot } from './marks';
import type { Stage } from './stage';

const MET = new THREE.Color(0x1b6fd0);
const UNMET = new THREE.Color(0xd6202a);

export class Tethers {
  readonly group = new THREE.Group();
  /** Grips that are not met now, by hand. */
  readonly unmet = new Set<number>();
  private bars: Marks;
  private dots: Marks;
  private labels: HTMLElement[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly layer: HTMLElement,
  ) {
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.95, toneMapped: false });
    this.bars = new Marks(this.group, unitBar(), material, 20);
    this.dots = new Marks(this.group, unitDot(), material, 21);
  }

  update(frame: Frame): void {
    const r = 0.005 * this.stage.radius;
    this.bars.begin();
    this.dots.begin();
    this.unmet.clear();
    frame.grabs.forEach((grab, i) => {
      const [a, b] = [new THREE.Vector3(...grab.grip), new THREE.Vector3(...grab.target)];
      const color = grab.met ? MET : UNMET;
      if (!grab.met) this.unmet.add(grab.hand);
      this.dots.dot(a, 2.2 * r, color);
      this.dots.dot(b, 1.6 * r, color);
      const gap = a.distanceTo(b);
      if (grab.met) {
        this.bars.bar(a, b, 0.6 * r, color);
      } else {
        const dashes = Math.min(60, Math.max(1, Math.round(gap / (8 * r))));
        for (let k = 0; k < dashes; k++) {
          const at = (t: number) => a.clone().lerp(b, t);
          this.bars.bar(at(k / dashes), at((k + 0.6) / dashes), 0.8 * r, color);
        }
      }
      this.label(i, grab.met ? null : b, `gap ${length(gap)}`);
    });
    for (let i = frame.grabs.length; i < this.labels.length; i++) this.labels[i]!.hidden = true;
    this.bars.end();
    this.dots.end();
  }

  private label(i: number, at: THREE.Vector3 | null, text: string): void {
    const label = (this.labels[i] ??= this.layer.appendChild(h('div', { class: 'gap-label', role: 'status' })));
    const place = at && this.stage.toPage(at);
    label.hidden = !place;
    if (!place) return;
    const box = this.layer.getBoundingClientRect();
    if (label.textContent !== text) label.textContent = text;
    // Beside the pointer, and never outside of the view.
    const [w, high] = [label.offsetWidth, label.offsetHeight];
    const x = Math.min(place.x - box.left + 14, box.width - w - 6);
    const y = Math.min(Math.max(place.y - box.top - 10 - (x < place.x - box.left + 14 ? high + 6 : 0), 6), box.height - high - 6);
    label.style.transform = `translate(${Math.max(x, 6)}px, ${y}px)`;
  }
}
