/**
 * The line from each grip to where its hand wants it. Blue: it is there. Grey and thin: it is as near as it gets, which is
 * all that a mechanism of few freedoms can do under a free hand. Red, dashed and with the distance in words: far out of
 * reach, or held back by a limit. Amber: a pull, with its force.
 */

import * as THREE from 'three';
import { h } from '../dom';
import { degrees, digits, length } from '../format';
import type { Frame, Grab } from '../protocol';
import { PULL } from './hands';
import { Marks, unitBar, unitDot } from './marks';
import { dark, type Stage } from './stage';

const COLORS = {
  met: { light: 0x1b6fd0, dark: 0x6cb0ff },
  near: { light: 0x6b7783, dark: 0xa3aeba },
  unmet: { light: 0xd6202a, dark: 0xff5a63 },
  pull: { light: 0xb86a00, dark: 0xffb347 },
};
type Look = keyof typeof COLORS;

/** A grip this near to the pointer, in pixels, is under it. */
const NEAR = 2.5;
/** What catches up within this time, milliseconds, was never out of reach. */
const PATIENCE = 250;
/** Farther away than this share of the scene's radius something is wrong, and said. */
const FAR = 0.5;

/** What a hand that holds on to something is told. */
export interface Tether {
  look: Look;
  /** Where its line ends, in the scene's coordinates. */
  end: THREE.Vector3;
  words: string;
}

/** A pull in words: its force, and that it can do no more. */
export function pullWords(grab: Pick<Grab, 'force' | 'mostForce'>, still: boolean): { words: string; capped: boolean } {
  const force = Math.hypot(...grab.force);
  // Each axis has its own bound.
  const capped = grab.mostForce > 0 && Math.max(...grab.force.map(Math.abs)) >= 0.995 * grab.mostForce;
  if (still) return { words: 'pulls when you press Play', capped: false };
  if (capped) return { words: `pull ${digits(force)} N, at its limit`, capped };
  return { words: `pull ${digits(force)}${grab.mostForce > 0 ? ` of ${digits(grab.mostForce)}` : ''} N`, capped };
}

/** A sign that stands in the scene: pages do not reach into headsets. */
class Sign {
  readonly sprite: THREE.Sprite;
  private sheet = Object.assign(document.createElement('canvas'), { width: 512, height: 96 });
  private said = '';

  constructor(parent: THREE.Object3D) {
    const map = new THREE.CanvasTexture(this.sheet);
    map.colorSpace = THREE.SRGBColorSpace;
    this.sprite = new THREE.Sprite(new THREE.SpriteMaterial({ map, depthTest: false, transparent: true, toneMapped: false }));
    this.sprite.renderOrder = 30;
    parent.add(this.sprite);
  }

  say(words: string, color: string): void {
    if (this.said === words + color) return;
    this.said = words + color;
    const ink = this.sheet.getContext('2d')!;
    const { width, height } = this.sheet;
    ink.clearRect(0, 0, width, height);
    ink.font = '600 46px system-ui, sans-serif';
    const wide = Math.min(width, ink.measureText(words).width + 56);
    ink.fillStyle = color;
    ink.beginPath();
    ink.roundRect((width - wide) / 2, 8, wide, height - 16, 36);
    ink.fill();
    ink.fillStyle = '#fff';
    ink.textAlign = 'center';
    ink.textBaseline = 'middle';
    ink.fillText(words, width / 2, height / 2, width - 40);
    this.sprite.material.map!.needsUpdate = true;
  }
}

export class Tethers {
  readonly group = new THREE.Group();
  /** Pins that are not met now, by hand. */
  readonly unmet = new Set<number>();
  /** What each hand is told now. */
  readonly told = new Map<number, Tether>();
  readonly signs: Sign[] = [];
  private bars: Marks;
  private dots: Marks;
  private labels: HTMLElement[] = [];
  /** Since when a pin has not been met, by hand. */
  private since = new Map<number, number>();

  constructor(
    private readonly stage: Stage,
    private readonly layer: HTMLElement,
    /** Only the line of sight through this hand's target is meant. */
    private readonly isSight: (hand: number) => boolean,
    /** A joint of this solid is at the end of its range. */
    private readonly isAtLimit: (solid: number) => boolean,
    /** It is a vertex of a soft body. */
    private readonly isVertex: (solid: number) => boolean = () => false,
  ) {
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.95, toneMapped: false });
    this.bars = new Marks(this.group, unitBar(), material, 20);
    this.dots = new Marks(this.group, unitDot(), material, 21);
  }

  /** Where the line of sight through a target passes its grip. */
  private beside(grip: THREE.Vector3, target: THREE.Vector3): THREE.Vector3 {
    const { camera, root } = this.stage;
    const eye = camera.getWorldPosition(new THREE.Vector3());
    const ahead = camera.getWorldDirection(new THREE.Vector3());
    const [g, t] = [grip, target].map((p) => root.localToWorld(p.clone()).sub(eye)) as [THREE.Vector3, THREE.Vector3];
    const [near, far] = [g.dot(ahead), t.dot(ahead)];
    return near > 0 && far > 0 ? root.worldToLocal(t.multiplyScalar(near / far).add(eye)) : target;
  }

  private tell(grab: Grab, frame: Frame): Tether {
    const grip = new THREE.Vector3(...grab.grip);
    let end = new THREE.Vector3(...grab.target);
    // Springs need time: a sheet follows no hand where none passes.
    if (this.isVertex(grab.solid) && (!frame.running || frame.kinematic)) {
      return { look: 'pull', end, words: frame.kinematic ? 'moves in dynamic mode' : 'moves when you press Play' };
    }
    if (grab.mode === PULL) {
      const { words, capped } = pullWords(grab, !frame.running && !frame.kinematic);
      return { look: capped ? 'unmet' : 'pull', end, words };
    }
    const sight = this.isSight(grab.hand);
    const turned = grab.angle > 0.01;
    let met = grab.met;
    if (sight) {
      end = this.beside(grip, end);
      const [a, b] = [this.stage.toPage(grip), this.stage.toPage(end)];
      met ||= !turned && a !== null && b !== null && Math.hypot(a.x - b.x, a.y - b.y) <= NEAR;
      // Fast hands are ahead of what they hold; that is not out of reach.
      const now = performance.now();
      if (met) this.since.delete(grab.hand);
      else {
        const since = this.since.get(grab.hand) ?? now;
        this.since.set(grab.hand, since);
        met = now - since < PATIENCE;
      }
    }
    const gap = grip.distanceTo(end);
    // The worse of the two; a radian at arm's length of the grip would be as far as that arm is long.
    const words = turned && grab.angle * 0.2 * this.stage.radius > gap ? `${degrees(grab.angle)} out of reach` : `${length(gap)} out of reach`;
    const wrong = gap > FAR * this.stage.radius || grab.angle > 1 || (gap > 0.04 * this.stage.radius && this.isAtLimit(grab.solid));
    return { look: met ? 'met' : wrong ? 'unmet' : 'near', end, words };
  }

  update(frame: Frame): void {
    const r = 0.005 * this.stage.radius;
    this.bars.begin();
    this.dots.begin();
    this.unmet.clear();
    this.told.clear();
    for (const hand of this.since.keys()) if (!frame.grabs.some((g) => g.hand === hand)) this.since.delete(hand);
    frame.grabs.forEach((grab, i) => {
      const tether = this.tell(grab, frame);
      const { look, end } = tether;
      this.told.set(grab.hand, tether);
      if ((look === 'unmet' || look === 'near') && grab.mode !== PULL) this.unmet.add(grab.hand);
      const shade = COLORS[look][dark.matches ? 'dark' : 'light'];
      const color = new THREE.Color(shade);
      const grip = new THREE.Vector3(...grab.grip);
      this.dots.dot(grip, 2.2 * r, color);
      this.dots.dot(end, (look === 'near' ? 1 : 1.6) * r, color);
      const dashes = look === 'unmet' ? Math.min(60, Math.max(1, Math.round(grip.distanceTo(end) / (8 * r)))) : 0;
      if (dashes === 0) this.bars.bar(grip, end, (look === 'pull' ? 0.8 : look === 'near' ? 0.35 : 0.6) * r, color);
      const at = (t: number) => grip.clone().lerp(end, t);
      for (let k = 0; k < dashes; k++) this.bars.bar(at(k / dashes), at((k + 0.6) / dashes), 0.8 * r, color);
      this.label(i, look === 'met' || look === 'near' ? null : end, tether.words, look);
    });
    for (let i = frame.grabs.length; i < Math.max(this.labels.length, this.signs.length); i++) this.label(i, null, '', 'met');
    this.bars.end();
    this.dots.end();
  }

  private label(i: number, at: THREE.Vector3 | null, text: string, look: Look): void {
    const inside = this.stage.renderer.xr.isPresenting;
    if (inside && at) {
      const sign = (this.signs[i] ??= new Sign(this.group));
      sign.say(text, `#${COLORS[look].light.toString(16).padStart(6, '0')}`);
      const scale = this.stage.rig.scale.x;
      const above = this.stage.root.localToWorld(at.clone()).add(new THREE.Vector3(0, 0.07 * scale, 0));
      sign.sprite.position.copy(this.stage.root.worldToLocal(above));
      sign.sprite.scale.set(0.24 * scale, 0.045 * scale, 1);
    }
    if (this.signs[i]) this.signs[i]!.sprite.visible = inside && at !== null;
    const place = at && !inside ? this.stage.toPage(at) : null;
    if (!place && !this.labels[i]) return;
    const label = (this.labels[i] ??= this.layer.appendChild(h('div', { class: 'gap-label', role: 'status' })));
    label.hidden = !place;
    if (!place) return;
    label.dataset.look = look;
    const box = this.layer.getBoundingClientRect();
    if (label.textContent !== text) label.textContent = text;
    // Beside the pointer, and never outside of the view.
    const [w, high] = [label.offsetWidth, label.offsetHeight];
    const x = Math.min(place.x - box.left + 14, box.width - w - 6);
    const y = Math.min(Math.max(place.y - box.top - 10 - (x < place.x - box.left + 14 ? high + 6 : 0), 6), box.height - high - 6);
    label.style.transform = `translate(${Math.max(x, 6)}px, ${y}px)`;
  }
}
