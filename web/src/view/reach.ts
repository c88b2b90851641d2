/** Where a point can get to, drawn: squares of an area, cubes at the edge of a volume, dots of a line or a curved surface. */

import * as THREE from 'three';
import type { App } from '../app';
import { digits } from '../format';
import type { ReachAnswer } from '../protocol';
import { Marks, unitDot } from './marks';
import { dark, type Stage } from './stage';
import type { Place } from './traces';

const COLOR = { light: new THREE.Color(0x2f6fc4), dark: new THREE.Color(0x7db8ff) };
const EDGE = { light: new THREE.Color(0x1b4f96), dark: new THREE.Color(0xb7d8ff) };

/** What is shown: whose point, and what was found. */
export interface Shown {
  place: Place;
  found: ReachAnswer;
}

export class Reach {
  readonly group = new THREE.Group();
  shown: Shown | null = null;
  /** Somebody waits for an answer. */
  busy = false;
  onchange: () => void = () => {};
  private tiles: Marks;
  private cubes: Marks;
  private dots: Marks;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
  ) {
    const material = (opacity: number) => new THREE.MeshBasicMaterial({ transparent: true, opacity, depthWrite: false, side: THREE.DoubleSide, toneMapped: false });
    this.tiles = new Marks(this.group, new THREE.PlaneGeometry(1, 1), material(0.3), 3);
    this.cubes = new Marks(this.group, new THREE.BoxGeometry(1, 1, 1), material(0.12), 3);
    this.dots = new Marks(this.group, unitDot(), material(0.75), 3);
    app.on('scene', (scene) => {
      // An edit may change everything about it; another scene does.
      const gone = this.shown && !scene.solids.some((s) => s.name === this.shown!.place.solid);
      if (app.other || gone || (this.shown && scene.text !== this.text)) this.clear();
    });
    dark.addEventListener('change', () => this.draw());
  }
  private text = '';

  /** Asks for the reach of a point of a solid, and shows it. */
  async search(place: Place): Promise<void> {
    const { app } = this;
    const solid = app.scene?.solids.findIndex((s) => s.name === place.solid) ?? -1;
    if (solid < 0 || this.busy) return;
    this.busy = true;
    this.onchange();
    const text = app.scene!.text;
    try {
      const found = await app.ask<ReachAnswer>({ reach: { solid, point: place.local.toArray() } });
      if (app.scene?.text === text) {
        this.shown = { place, found };
        this.text = text;
        this.draw();
        app.toast(this.words);
      }
    } catch (error) {
      app.toast(error instanceof Error ? error.message : String(error), true);
    }
    this.busy = false;
    this.onchange();
  }

  clear(): void {
    this.shown = null;
    this.draw();
    this.onchange();
  }

  /** What was found, in a sentence. */
  get words(): string {
    if (!this.shown) return '';
    const { place, found } = this.shown;
    const { dimensions, measure, unbounded, complete } = found;
    if (dimensions === 0) return `This point of ${place.solid} cannot move.`;
    const what =
      dimensions === 1 ? 'a line' : dimensions === 2 ? (measure === null ? 'a curved surface' : `an area of ${digits(measure)} m²`) : `a volume of ${digits(measure ?? 0)} m³`;
    return `This point of ${place.solid} reaches ${what}${unbounded ? ', and nothing limits it: only what is near is shown' : ''}${complete ? '' : ' (search stopped early)'}.`;
  }

  private draw(): void {
    const all = [this.tiles, this.cubes, this.dots];
    for (const m of all) m.begin();
    if (this.shown) this.put(this.shown.found);
    for (const m of all) m.end();
    this.stage.invalidate();
  }

  private put({ places, inside, cell, dimensions, plane }: ReachAnswer): void {
    const tone = dark.matches ? 'dark' : 'light';
    const at = (k: number) => new THREE.Vector3(places[3 * k]!, places[3 * k + 1]!, places[3 * k + 2]!);
    const turn = plane ? new THREE.Matrix4().makeBasis(...(plane.map((a) => new THREE.Vector3(...a)) as [THREE.Vector3, THREE.Vector3, THREE.Vector3])) : new THREE.Matrix4();
    const box = (k: number, deep: number) => turn.clone().scale(new THREE.Vector3(cell, cell, deep)).setPosition(at(k));
    inside.forEach((whole, k) => {
      if (dimensions === 2 && plane && whole) this.tiles.put(box(k, 1), COLOR[tone]);
      // Of a volume the hull is enough: what is inside cannot be seen anyway.
      else if (dimensions === 3) {
        if (!whole) this.cubes.put(box(k, cell), COLOR[tone]);
      } else this.dots.dot(at(k), 0.22 * cell * (dimensions === 1 ? 1.6 : 1), EDGE[tone]);
    });
  }

  /** How many marks are drawn, for whoever tests. */
  get drawn(): number {
    return this.tiles.mesh.count + this.cubes.mesh.count + this.dots.mesh.count;
  }
}
