/**
 * Build mode: parts are drawn with pointer, finger or keys, on the upright plane, on the ground or on a face. Ends that meet
 * are joined by pins. Everything becomes text, so undo, files and links know it like anything typed.
 */

import * as THREE from 'three';
import type { App } from '../app';
import * as command from '../commands';
import { h, isTyping } from '../dom';
import { degrees, length } from '../format';
import { insert, jointBlock, removeBlock, solidBlock } from '../scenetext';
import { type Anchor, anchors } from './anchors';
import type { Hands } from './hands';
import { Marks, unitBar, unitDot } from './marks';
import { writePoses } from './pose-text';
import type { Overlays } from './overlays';
import { ball, bar, box, cloth, facePlane, frameText, mainPlane, nice, type Part, type Plane, plate, type Side, type Spot, wheel, withFloor, withJoint, withSpring } from './sketch';
import type { Solids } from './solids';
import { dark, type Stage } from './stage';

export const TOOLS = ['select', 'bar', 'plate', 'wheel', 'box', 'ball', 'pin', 'motor', 'trace', 'measure', 'spring', 'cloth'] as const;
/** The keys that choose them, in that order. */
export const TOOL_KEYS = '1234567890-=';
export type Tool = (typeof TOOLS)[number];
/** What appears where ends meet. */
export const ENDS = ['pin', 'ball'] as const;
export type Ends = (typeof ENDS)[number];

/** What each tool asks for next, once nothing, once one point was given. */
const HINTS: Record<Tool, [string, string]> = {
  select: ['Drag a part to move it. Click it to get handles for its ends, rim or corners; click a pin to drag it. Numbers are under Parts.', ''],
  bar: ['Drag from one end of the bar to the other. Ends that meet are joined.', 'Now the other end.'],
  plate: ['Click the corners of the plate, then the first one again (or press Enter twice).', 'Next corner; click the first one again to close the plate.'],
  wheel: ['Drag from the middle of the wheel to its rim.', 'Now its rim.'],
  box: ['Drag from one corner of the box to the opposite one.', 'Now the opposite corner.'],
  ball: ['Drag from the middle of the ball outwards.', 'Now its surface.'],
  pin: ['Click where two parts meet to join them, or one part to join it to the ground. Pin, slider and other kinds are under Parts.', ''],
  motor: ['Click a pin to give it a motor. A free end is pinned to the ground first.', ''],
  spring: ['Drag from a point on a part to another part, or to a fixed point, to add a spring.', 'Now the other end: a part, or a fixed point anywhere.'],
  cloth: ['Drag from one corner of the cloth to the opposite one, or along a straight line for a rope.', 'Now the opposite corner.'],
  trace: ['Click a point on a part to trace its path.', ''],
  measure: ['Click two points to measure the distance between them. For angles, speeds and forces, select parts or a joint under Parts.', 'Now the other point.'],
};

const SNAP = 14;
const SNAP_TOUCH = 24;
/** Pixels of a press that is still a click. */
const CLICK = 6;
const INK = { light: new THREE.Color(0x1b6fd0), dark: new THREE.Color(0x6cb0ff) };

export interface BuildHooks {
  /** A point of a solid was clicked with one of the tools that look, not make. */
  trace: (solid: number, local: THREE.Vector3) => void;
  measure: (a: Spot, b: Spot) => void;
}

export class Build {
  on = false;
  tool: Tool = 'select';
  ground = false;
  /** Pins turn about the normal of the drawing; balls turn every way, and bars between them may leave its plane. */
  ends: Ends = 'pin';
  readonly group = new THREE.Group();
  onchange: () => void = () => {};
  hooks: BuildHooks = { trace: () => {}, measure: () => {} };
  /** What is under the pointer or the keyboard's cursor. */
  spot: Spot | null = null;
  private points: Spot[] = [];
  private plane: Plane;
  private press: { id: number; x: number; y: number } | null = null;
  private bars: Marks;
  private dots: Marks;
  /** Lines about the cursor, as far apart as it moves. */
  private sheet: THREE.GridHelper;
  private label: HTMLElement;
  private ray = new THREE.Raycaster();
  private held = false;
  private sending = false;
  /** Poses as the text puts them: what was moved since is written down. */
  private written: Float32Array | null = null;

  constructor(
    private readonly app: App,
    private readonly stage: Stage,
    private readonly solids: Solids,
    private readonly overlays: Overlays,
    private readonly hands: Hands,
    layer: HTMLElement,
  ) {
    this.plane = mainPlane('front', 'y', 0);
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.85, toneMapped: false });
    this.bars = new Marks(this.group, unitBar(), material, 30);
    this.dots = new Marks(this.group, unitDot(), material, 31);
    this.sheet = new THREE.GridHelper(24, 24, 0xffffff, 0xffffff);
    Object.assign(this.sheet.material, { transparent: true, opacity: 0.28, depthWrite: false, toneMapped: false });
    this.sheet.matrixAutoUpdate = false;
    this.sheet.visible = false;
    this.group.add(this.sheet);
    this.label = layer.appendChild(h('div', { class: 'sketch-label', hidden: true }));
    const parent = stage.canvas.parentElement!;
    // Before the hands and the camera: a tool that draws has the pointer to itself.
    parent.addEventListener('pointerdown', (e) => this.down(e), { capture: true });
    parent.addEventListener('pointermove', (e) => this.move(e), { capture: true });
    parent.addEventListener('pointerup', (e) => this.up(e), { capture: true });
    parent.addEventListener('pointercancel', () => this.cancel());
    addEventListener('keydown', (e) => this.key(e), { capture: true });
    app.on('scene', () => {
      this.points = [];
      this.written = null;
      if (app.other) this.ground = false;
      this.replane();
    });
    app.on('frame', (f) => {
      // What is under a pointer that rests moves away once time runs.
      if (f.running && !this.ran) this.spot = null;
      this.ran = f.running;
      this.written ??= f.poses.slice();
    });
  }

  /** Building is done where the text puts things: time is stopped and wound back. */
  async toggle(on = !this.on): Promise<void> {
    if (this.on === on) return;
    this.on = on;
    this.choose('select');
    if (!on || !this.app.scene) return;
    if (this.app.settings?.running) await this.app.do(command.run(false));
    if ((this.app.frame?.time ?? 0) > 0) await this.app.do(command.reset());
    this.written = null;
  }

  choose(tool: Tool): void {
    if (tool !== 'select' && !this.on) void this.toggle(true).then(() => this.choose(tool));
    this.tool = tool;
    this.cancel();
    this.replane();
    this.onchange();
    this.stage.canvas.classList.toggle('drawing', this.on && tool !== 'select');
  }

  setGround(on: boolean): void {
    this.ground = on;
    this.cancel();
    this.replane();
    this.onchange();
  }

  /** Joins what is drawn from now on by pins, or by balls. */
  setEnds(ends: Ends): void {
    this.ends = ends;
    this.onchange();
    this.stage.invalidate();
  }

  /** The axis of a joint that is made here; a ball has none. */
  get hinge(): THREE.Vector3 | null {
    return this.ends === 'ball' ? null : this.plane.n;
  }

  /** Across the drawing. */
  get normal(): THREE.Vector3 {
    return this.axes.n;
  }

  /** The directions of the plane that is drawn on. */
  get axes(): Plane {
    return mainPlane(this.ground ? 'ground' : 'front', this.app.scene?.up ?? 'y', 0);
  }

  get hint(): string {
    return HINTS[this.tool][this.points.length > 0 ? 1 : 0] || HINTS[this.tool][0];
  }

  private get drawing(): boolean {
    // Parts are drawn where time stands; looking is possible at any time.
    const still = !this.app.settings?.running || this.tool === 'trace' || this.tool === 'measure';
    return this.on && still && this.tool !== 'select' && !this.stage.renderer.xr.isPresenting;
  }

  private replane(): void {
    const up = this.app.scene?.up ?? 'y';
    const floor = this.solids.floor()[0];
    this.plane = mainPlane(this.ground ? 'ground' : 'front', up, floor ? floor.getComponent(up === 'z' ? 2 : 1) : 0);
    this.stage.invalidate();
  }

  cancel(): boolean {
    const any = this.points.length > 0;
    this.points = [];
    this.press = null;
    if (any) this.replane();
    this.onchange();
    this.stage.invalidate();
    return any;
  }

  /** Metres that a pixel is, at the plane. */
  private get pixel(): number {
    const { camera, canvas, root } = this.stage;
    const far = Math.max(root.localToWorld(this.plane.origin.clone()).sub(camera.position).dot(camera.getWorldDirection(new THREE.Vector3())), camera.near * 10);
    return (2 * far * Math.tan(THREE.MathUtils.degToRad(camera.fov) / 2)) / Math.max(1, canvas.clientHeight);
  }

  /** Distance of the grid's lines: as fine as can be pointed at. */
  get step(): number {
    return nice(16 * this.pixel);
  }

  /** Half as thick as the bars that are there, or as fits the view. */
  private get thickness(): number {
    const first = this.app.scene?.solids.flatMap((s) => s.shapes).find((s) => s.type === 'capsule' && !s.wire);
    return first?.radius ?? nice(6 * this.pixel);
  }

  /** What is seen at a point of the page, as a ray of the scene. */
  rayAt(x: number, y: number): THREE.Ray {
    this.ray.setFromCamera(this.stage.toClip(x, y), this.stage.camera);
    return this.ray.ray.clone().applyMatrix4(this.stage.root.matrixWorld.clone().invert());
  }

  /** From a point of the page to one of the plane. */
  private onPlane(x: number, y: number): THREE.Vector3 | null {
    return this.rayAt(x, y).intersectPlane(new THREE.Plane().setFromNormalAndCoplanarPoint(this.plane.n, this.plane.origin), new THREE.Vector3());
  }

  private flat(p: THREE.Vector3): THREE.Vector3 {
    return p.clone().addScaledVector(this.plane.n, -this.plane.n.dot(p.clone().sub(this.plane.origin)));
  }

  /** The nearest anchor on the page, if it is near. */
  private near(x: number, y: number, reach: number): Anchor | null {
    let best: { anchor: Anchor; far: number } | null = null;
    for (const anchor of anchors(this.app, this.solids)) {
      const p = this.stage.toPage(anchor.at);
      const far = p ? Math.hypot(p.x - x, p.y - y) : Infinity;
      // Of points in one place the end of a part is meant before a joint that is there already.
      if (far < reach && (!best || far < best.far - 1 || (far < best.far + 1 && anchor.what === 'end' && best.anchor.what !== 'end'))) best = { anchor, far };
    }
    return best?.anchor ?? null;
  }

  /** Where something begins or ends that snaps to an anchor: a bar with balls may leave the plane, everything else lies in it. */
  private onto(anchor: Anchor): Spot {
    const free = this.tool === 'bar' && this.ends === 'ball';
    return { at: free ? anchor.at.clone() : this.flat(anchor.at), anchor };
  }

  /** The anchor at a place of the plane, ends first. */
  private anchorAt(at: THREE.Vector3, reach: number): Anchor | null {
    let found: Anchor | null = null;
    for (const a of anchors(this.app, this.solids)) if (this.flat(a.at).distanceTo(at) < reach && (!found || (a.what === 'end' && found.what !== 'end'))) found = a;
    return found;
  }

  private locate(x: number, y: number, touch: boolean, angles: boolean): Spot | null {
    const anchor = this.near(x, y, touch ? SNAP_TOUCH : SNAP);
    if (anchor) return this.onto(anchor);
    if (['trace', 'measure', 'pin', 'motor', 'spring'].includes(this.tool)) {
      // A point of a part that is no end of it.
      const hit = this.pick(x, y);
      const looks = this.tool === 'trace' || this.tool === 'measure';
      if (!hit || hit.solid === 0) return looks ? null : this.free(x, y, angles);
      // What is joined upright is joined where lines of the grid cross, if the part reaches so far.
      const round = looks || this.ground ? null : this.free(x, y, false);
      const on = round && this.under(round.at).includes(hit.solid) ? round.at : null;
      const point = on ?? hit.point;
      const local = point.clone().applyMatrix4(this.solids.matrices[hit.solid]!.clone().invert());
      return { at: looks ? point : this.flat(point), anchor: { solid: hit.solid, local, at: point, what: 'centre' } };
    }
    return this.free(x, y, angles);
  }

  /** The nearest end or line of the grid: where something that is moved would be put. */
  snap(x: number, y: number, touch: boolean): Spot | null {
    const anchor = this.near(x, y, touch ? SNAP_TOUCH : SNAP);
    return anchor ? { at: this.flat(anchor.at), anchor } : this.free(x, y, false);
  }

  /** A place in the plane that is drawn on, in words. */
  placeWords(at: THREE.Vector3): string {
    const { u, v, origin } = this.plane;
    const way = at.clone().sub(origin);
    // Nobody points at less than a micrometre: that is rounding.
    const tidy = (x: number) => length(Math.round(x * 1e6) / 1e6);
    return `${tidy(way.dot(u))}, ${tidy(way.dot(v))}`;
  }

  private pick(x: number, y: number) {
    this.ray.setFromCamera(this.stage.toClip(x, y), this.stage.camera);
    return this.solids.pick(this.ray, false);
  }

  /** The parts that lie over each other at a place of the plane, or hardly beside it. */
  private under(at: THREE.Vector3): number[] {
    const { u, v, n } = this.plane;
    const way = n.clone().negate().transformDirection(this.stage.root.matrixWorld);
    const found = new Set<number>();
    for (const [x, y] of [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]] as const) {
      const from = at.clone().addScaledVector(u, 0.15 * x * this.step).addScaledVector(v, 0.15 * y * this.step).addScaledVector(n, 10 * this.stage.radius);
      this.ray.set(this.stage.root.localToWorld(from), way);
      for (const i of this.solids.through(this.ray)) found.add(i);
    }
    // A floor is no part.
    return [...found].filter((i) => i > 0 && this.app.scene!.solids[i]!.shapes.some((s) => s.type !== 'plane')).sort((a, b) => a - b);
  }

  /** Nothing is near: the grid, or a round angle and length from the point before. */
  private free(x: number, y: number, angles: boolean): Spot | null {
    const p = this.onPlane(x, y);
    if (!p) return null;
    const { u, v, origin } = this.plane;
    const from = this.points.at(-1);
    const step = this.step;
    const round = (t: number) => Math.round(t / step) * step;
    if (angles && from) {
      const way = p.clone().sub(from.at);
      const angle = (Math.round((Math.atan2(way.dot(v), way.dot(u)) * 12) / Math.PI) * Math.PI) / 12;
      const far = Math.max(step, round(way.length()));
      return { at: from.at.clone().addScaledVector(u, far * Math.cos(angle)).addScaledVector(v, far * Math.sin(angle)), anchor: null };
    }
    const way = p.sub(origin);
    const at = origin.clone().addScaledVector(u, round(way.dot(u))).addScaledVector(v, round(way.dot(v)));
    // Where the lines cross at an end, that end is meant.
    const anchor = this.anchorAt(at, 0.01 * step);
    return anchor ? this.onto(anchor) : { at, anchor };
  }

  private down(e: PointerEvent): void {
    if (!this.drawing || e.target !== this.stage.canvas || e.button !== 0 || e.ctrlKey || e.metaKey) return;
    e.stopImmediatePropagation();
    e.preventDefault();
    this.stage.canvas.focus({ preventScroll: true });
    if (this.press) return;
    this.stage.canvas.setPointerCapture(e.pointerId);
    this.press = { id: e.pointerId, x: e.clientX, y: e.clientY };
    const first = this.points.length === 0;
    if (first && (this.tool === 'box' || this.tool === 'ball' || (this.tool === 'cloth' && this.ground))) this.standOn(e.clientX, e.clientY);
    this.spot = this.locate(e.clientX, e.clientY, e.pointerType === 'touch', e.shiftKey);
    if (first && this.spot && this.needsTwo) this.points.push(this.spot);
    this.onchange();
    this.stage.invalidate();
  }

  /** What is drawn on a part stands on that face of it. */
  private standOn(x: number, y: number): void {
    const hit = this.pick(x, y);
    if (!hit?.normal || hit.solid === 0) return;
    this.plane = facePlane(hit.point, hit.normal);
  }

  private get needsTwo(): boolean {
    return this.tool !== 'pin' && this.tool !== 'motor' && this.tool !== 'trace';
  }

  private move(e: PointerEvent): void {
    if (!this.drawing || (this.press && e.pointerId !== this.press.id)) return;
    if (e.target !== this.stage.canvas && !this.press) return;
    e.stopPropagation();
    this.spot = this.locate(e.clientX, e.clientY, e.pointerType === 'touch', e.shiftKey);
    this.stage.invalidate();
  }

  private up(e: PointerEvent): void {
    if (!this.press || e.pointerId !== this.press.id) return;
    e.stopPropagation();
    const moved = Math.hypot(e.clientX - this.press.x, e.clientY - this.press.y) > CLICK;
    this.press = null;
    this.spot = this.locate(e.clientX, e.clientY, e.pointerType === 'touch', e.shiftKey) ?? this.spot;
    // A press that began the part and did not move is its first click; the second one ends it.
    const began = this.needsTwo && this.points.length === 1 && !this.second;
    if (began && !moved) {
      this.second = true;
      this.onchange();
      return;
    }
    this.click();
  }
  private second = false;
  private ran = false;

  /** The point under the cursor is given. */
  click(): void {
    const spot = this.spot;
    this.second = false;
    if (!spot || this.sending) return;
    switch (this.tool) {
      case 'pin':
      case 'motor':
        return void this.pin(spot);
      case 'trace':
        if (spot.anchor) this.hooks.trace(spot.anchor.solid, spot.anchor.local);
        return;
      case 'plate': {
        const [first] = this.points;
        const closes = first && this.points.length > 2 && first.at.distanceTo(spot.at) < 0.6 * this.step;
        const again = this.points.length > 2 && this.points.at(-1)!.at.distanceTo(spot.at) < 0.1 * this.step;
        if (closes || again) return void this.make([...this.points]);
        if (this.points.length === 0 || this.points.at(-1)!.at.distanceTo(spot.at) > 0.1 * this.step) this.points.push(spot);
        this.second = true;
        break;
      }
      case 'measure':
        if (this.points.length > 0) {
          this.hooks.measure(this.points[0]!, spot);
          this.cancel();
        } else {
          this.points.push(spot);
          this.second = true;
        }
        break;
      default:
        if (this.points.length === 0) {
          this.points.push(spot);
          this.second = true;
        } else return void this.make([this.points[0]!, spot]);
    }
    this.onchange();
    this.stage.invalidate();
  }

  private sideOf(solid: number): Side {
    return solid === 0 ? { name: '', matrix: new THREE.Matrix4() } : { name: this.app.scene!.solids[solid]!.name, matrix: this.solids.matrices[solid]! };
  }

  /** Along the plane's normal: parts that are pinned together lie beside each other. */
  private layerOf(spots: Spot[], pitch: number): number {
    const taken = new Set(spots.flatMap((s) => (s.anchor ? [Math.round(this.plane.n.dot(s.anchor.at.clone().sub(this.plane.origin)) / pitch)] : [])));
    for (const layer of [0, 1, -1, 2, -2]) if (!taken.has(layer)) return layer;
    return 0;
  }

  private async make(spots: Spot[]): Promise<void> {
    const scene = this.app.scene;
    const { plane, tool } = this;
    const far = spots[0]!.at.distanceTo(spots[1]!.at);
    this.points = [];
    if (!scene || far < 0.2 * this.step) return void this.cancel();
    if (tool === 'spring') return this.spring(spots[0]!, spots[1]!);
    if (tool === 'cloth') return this.weave(spots[0]!, spots[1]!);
    const r = this.thickness;
    const pitch = 2.2 * r;
    let text = scene.text;
    const jointed = tool === 'bar' || tool === 'plate' || tool === 'wheel';
    const ends = tool === 'wheel' ? [spots[0]!] : spots;
    // Parts on pins lie beside each other, balls are in the middle of what they join.
    const beside = jointed && this.ends === 'pin';
    const lift = plane.n.clone().multiplyScalar(beside ? pitch * this.layerOf(ends, pitch) : 0);
    const at = spots.map((s) => s.at.clone().add(lift));
    if (plane.floor && (tool === 'box' || tool === 'ball') && this.solids.floor().length === 0) text = withFloor(text, scene.up);
    let part: Part;
    if (tool === 'bar') part = bar(text, plane, at[0]!, at[1]!, r);
    else if (tool === 'plate') part = plate(text, plane, at, r);
    else if (tool === 'wheel') part = wheel(text, plane, at[0]!, far, 1.6 * r);
    else if (tool === 'ball') part = ball(text, plane, spots[0]!.at, far);
    else part = box(text, plane, spots[0]!.at, spots[1]!.at);
    text = part.text;
    if (jointed) {
      const two = { name: part.name, matrix: part.matrix };
      const met = new Set<string>();
      for (const spot of ends) {
        if (!spot.anchor || met.has(spot.at.toArray().join())) continue;
        met.add(spot.at.toArray().join());
        text = withJoint(text, this.ends, this.sideOf(spot.anchor.solid), two, spot.anchor.at, this.hinge);
      }
    }
    await this.send(text, part.name);
    this.replane();
  }

  /** A sheet or a rope, held by what its upper corners, or its ends, meet. */
  private async weave(a: Spot, b: Spot): Promise<void> {
    const { plane } = this;
    const hold = (at: THREE.Vector3) => {
      const solid = this.anchorAt(this.flat(at), 0.3 * this.step)?.solid ?? this.under(this.flat(at))[0];
      return solid === undefined ? null : this.sideOf(solid);
    };
    let text = this.app.scene!.text;
    if (plane.floor && this.solids.floor().length === 0) text = withFloor(text, this.app.scene!.up);
    const made = cloth(text, plane, a.at, b.at, hold);
    await this.send(made.text, null);
    this.replane();
    this.app.toast(`Added ${made.name}${made.held ? (made.name.startsWith('rope') ? ', held where it begins' : ', held by its upper corners') : ''}. Press ${this.playKey} to run it.`);
  }

  private get playKey(): string {
    return matchMedia('(pointer: coarse)').matches ? '▶' : 'Space';
  }

  /** A spring between two points of parts, or from a part to a place that stays. */
  private async spring(a: Spot, b: Spot): Promise<void> {
    const scene = this.app.scene!;
    const solids = [a, b].map((s) => s.anchor?.solid ?? 0) as [number, number];
    if (solids[0] === solids[1]) return this.app.toast(solids[0] === 0 ? 'A spring needs a part at one end.' : 'A spring needs two parts, or a part and the ground.');
    const place = (s: Spot) => (s.anchor ? s.anchor.at : s.at);
    const masses = solids.map((i) => scene.solids[i]!).flatMap((s) => (s.kind === 'dynamic' ? [s.mass] : []));
    const made = withSpring(scene.text, this.sideOf(solids[0]), this.sideOf(solids[1]), place(a), place(b), Math.min(...masses, 1e3));
    await this.send(made.text, null);
    this.app.toast(`Added ${made.name}. Its stiffness and length are under Parts.`);
  }

  /** Pins what is there: two parts to each other if they are not joined yet, otherwise a part to the ground. */
  private async pin(spot: Spot): Promise<void> {
    const scene = this.app.scene;
    if (!scene) return;
    const drives = this.tool === 'motor';
    const at = spot.at;
    const there = (p: THREE.Vector3) => this.flat(p).distanceTo(at) < 0.45 * this.step;
    if (drives) {
      // A pin that is there gets the motor.
      const k = scene.joints.findIndex((j, i) => ['pin', 'cylindrical', 'slider', 'screw'].includes(j.kind) && there(new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(i, 0))));
      const grounded = scene.joints.findIndex((j, i) => j.kind === 'pin' && j.solids.includes(0) && there(new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(i, 0))));
      const joint = grounded >= 0 ? grounded : k;
      if (joint >= 0) {
        const block = jointBlock(scene.text, joint);
        if (scene.joints[joint]!.motor) return this.app.select({ kind: 'joint', id: joint });
        if (block?.keyword !== 'joint') return this.app.toast('This joint is written as a constraint: add a motor in the text.', true);
        const way = scene.joints[joint]!.kind === 'slider' ? 't1 speed 0.2' : 'r1 speed 2';
        await this.send(insert(scene.text, block, `drive ${way}`), null, { kind: 'joint', id: joint });
        return this.app.toast(`Motor added. Press ${this.playKey} to run it; its speed is a slider under Parts.`);
      }
    }
    if (!spot.anchor) return this.app.toast('There is no part to pin here.');
    const solids = [...new Set([...[spot.anchor, ...anchors(this.app, this.solids)].filter((a) => there(a.at)).map((a) => a.solid), ...this.under(at)])];
    const joined = (a: number, b: number) => scene.joints.some((j) => j.solids.includes(a) && j.solids.includes(b));
    const pair = drives ? undefined : solids.flatMap((a, i) => solids.slice(i + 1).map((b) => [a, b] as const)).find(([a, b]) => !joined(a, b) && !this.linked(a, b, at));
    const [one, two] = pair ?? [0, spot.anchor.solid];
    if (one === 0 && joined(0, two) && scene.joints.some((j, i) => j.solids.includes(0) && j.solids.includes(two) && there(new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(i, 0)))))
      return this.app.toast('It is already joined to the ground here.');
    await this.send(
      withJoint(scene.text, drives ? 'pin' : this.ends, this.sideOf(one), this.sideOf(two), spot.anchor.what === 'centre' ? at : spot.anchor.at, drives ? this.plane.n : this.hinge, drives ? 'drive r1 speed 2' : ''),
      null,
      { kind: 'joint', id: scene.joints.length },
    );
    const called = (i: number) => (i === 0 ? 'the ground' : scene.solids[i]!.name);
    if (this.app.scene!.joints.length > scene.joints.length) this.app.toast(drives ? `Motor added between ${called(two)} and the ground. Press ${this.playKey} to run it.` : `Joined ${called(two)} to ${called(one)}.`);
  }

  /** Joined at this place through others. */
  private linked(a: number, b: number, at: THREE.Vector3): boolean {
    const scene = this.app.scene!;
    const here = scene.joints.filter((_, i) => this.flat(new THREE.Vector3().setFromMatrixPosition(this.overlays.frameOf(i, 0))).distanceTo(at) < 0.45 * this.step);
    const reached = new Set([a]);
    for (let n = -1; n !== reached.size; ) {
      n = reached.size;
      for (const j of here) if (j.solids.some((s) => s > 0 && reached.has(s))) for (const s of j.solids) if (s > 0) reached.add(s);
    }
    return reached.has(b);
  }

  /** What the scene's floors are called. */
  private get floors(): string[] {
    return (this.app.scene?.solids ?? []).flatMap((s) => (s.kind === 'fixed' && s.shapes.length > 0 && s.shapes.every((x) => x.type === 'plane') ? [s.name] : []));
  }

  get floored(): boolean {
    return this.floors.length > 0;
  }

  /** Without a floor parts fall through the lines that are drawn on the ground. */
  async setFloor(on: boolean): Promise<void> {
    const scene = this.app.scene;
    if (!scene || on === this.floored) return;
    let text = on ? withFloor(scene.text, scene.up) : scene.text;
    if (!on) {
      for (const name of this.floors) {
        const block = solidBlock(text, name);
        const used = scene.joints.some((j) => j.solids.some((s) => scene.solids[s]!.name === name));
        if (!block || used) return this.app.toast('Something is joined to this floor: edit it in the text.', true);
        text = removeBlock(text, block);
      }
    }
    await this.send(text, null);
    this.replane();
  }

  /** A new text, and what is selected in it. */
  private async send(text: string, name: string | null, selection: { kind: 'solid' | 'joint'; id: number } | null = null): Promise<void> {
    this.sending = true;
    const ok = await this.app.do(command.setText(text));
    this.sending = false;
    if (!ok) return;
    const id = name === null ? -1 : this.app.scene!.solids.findIndex((s) => s.name === name);
    if (id > 0) this.app.select({ kind: 'solid', id });
    if (selection) this.app.select(selection);
    this.onchange();
  }

  private key(e: KeyboardEvent): void {
    if (!this.on || isTyping(e.target) || document.querySelector('dialog[open]') || e.ctrlKey || e.metaKey || e.altKey) return;
    const stop = () => {
      e.preventDefault();
      e.stopImmediatePropagation();
    };
    const digit = TOOL_KEYS.indexOf(e.key);
    if (digit >= 0 && e.key.length === 1) {
      stop();
      this.choose(TOOLS[digit]!);
      this.stage.canvas.focus({ preventScroll: true });
      return;
    }
    if (e.key.toLowerCase() === 'j') {
      stop();
      return this.setEnds(this.ends === 'pin' ? 'ball' : 'pin');
    }
    if (e.key === 'Escape' && this.tool !== 'select') {
      stop();
      if (!this.cancel()) this.choose('select');
      return;
    }
    if (!this.drawing || e.target !== this.stage.canvas) return;
    const ways: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const way = ways[e.key];
    if (way) {
      stop();
      this.nudge(way, e.shiftKey ? 0.2 : 1);
    } else if (e.key === 'Enter') {
      stop();
      // What is there may have come since the cursor did.
      this.nudge([0, 0], this.spot ? 0 : 1);
      this.click();
    }
  }

  /** The cursor by one line of the grid; it snaps to ends like the pointer does. */
  private nudge([x, y]: [number, number], factor: number): void {
    const step = this.step;
    const { u, v, origin } = this.plane;
    let at = this.spot ? this.spot.at.clone() : this.flat(this.stage.root.worldToLocal(this.stage.controls.target.clone()));
    at.addScaledVector(u, x * step * factor).addScaledVector(v, y * step * factor);
    if (factor === 1) {
      const way = at.clone().sub(origin);
      at = origin.clone().addScaledVector(u, Math.round(way.dot(u) / step) * step).addScaledVector(v, Math.round(way.dot(v) / step) * step);
    }
    const anchor = this.anchorAt(at, 0.5 * step);
    // It does not stick: the next press leaves an end behind.
    this.spot = anchor ? this.onto(anchor) : { at, anchor };
    this.onchange();
    this.stage.invalidate();
  }

  /** Where the cursor is, in words. */
  get words(): string {
    if (!this.drawing || !this.spot) return '';
    const { u, v } = this.plane;
    const place = this.placeWords(this.spot.at);
    const from = this.points.at(-1);
    const name = this.spot.anchor ? ` at ${this.app.scene?.solids[this.spot.anchor.solid]?.name}` : '';
    if (!from || from.at.distanceTo(this.spot.at) < 1e-9 || this.tool === 'trace') return place + name;
    const d = this.spot.at.clone().sub(from.at);
    if (this.tool === 'box' || this.tool === 'cloth') return `${length(Math.abs(d.dot(u)))} × ${length(Math.abs(d.dot(v)))}${name}`;
    return `${length(d.length())}${this.tool === 'bar' || this.tool === 'plate' ? `, ${degrees(Math.atan2(d.dot(v), d.dot(u)))}` : ''}${name}`;
  }

  /** Once a drawn frame: the sketch, and what hands have moved. */
  update(): void {
    this.keepPoses();
    this.bars.begin();
    this.dots.begin();
    const color = INK[dark.matches ? 'dark' : 'light'];
    const r = Math.max(2 * this.pixel, 1e-6);
    const spot = this.drawing ? this.spot : null;
    const making = spot !== null && this.tool !== 'trace' && this.tool !== 'measure';
    this.sheet.visible = making;
    if (making) {
      const { u, v, n, origin } = this.plane;
      const step = this.step;
      const way = spot.at.clone().sub(origin);
      const round = (t: number) => Math.round(t / step) * step;
      const middle = origin.clone().addScaledVector(u, round(way.dot(u))).addScaledVector(v, round(way.dot(v)));
      this.sheet.matrix.makeBasis(u, n, v).scale(new THREE.Vector3(step, step, step)).setPosition(middle);
      (this.sheet.material as THREE.LineBasicMaterial).color.set(dark.matches ? 0x8fa3b8 : 0x5b7ea6);
    }
    if (spot) {
      const points = [...this.points, spot];
      const p = points.map((s) => s.at);
      if ((this.tool === 'box' || this.tool === 'cloth') && p.length > 1) {
        const [a, b] = [p[0]!, p[1]!];
        const { u } = this.plane;
        const side = u.clone().multiplyScalar(b.clone().sub(a).dot(u));
        const corners = [a, a.clone().add(side), b, b.clone().sub(side)];
        corners.forEach((c, i) => this.bars.bar(c, corners[(i + 1) % 4]!, r, color));
      } else if ((this.tool === 'wheel' || this.tool === 'ball') && p.length > 1) {
        const radius = p[0]!.distanceTo(p[1]!);
        const place = (k: number) => p[0]!.clone().addScaledVector(this.plane.u, radius * Math.cos(k * 0.1963)).addScaledVector(this.plane.v, radius * Math.sin(k * 0.1963));
        for (let k = 0; k < 32; k++) this.bars.bar(place(k), place(k + 1), r, color);
        this.bars.bar(p[0]!, p[1]!, 0.6 * r, color);
      } else {
        for (let i = 1; i < p.length; i++) this.bars.bar(p[i - 1]!, p[i]!, this.tool === 'bar' || this.tool === 'plate' ? Math.max(r, 0.6 * this.thickness) : r, color);
      }
      for (const s of points) this.dots.dot(s.at, (s.anchor ? 4 : 2.2) * r, color);
      if (spot.anchor) this.dots.dot(spot.anchor.at, 4 * r, color);
    }
    this.bars.end();
    this.dots.end();
    const words = this.words;
    const place = spot ? this.stage.toPage(spot.at) : null;
    this.label.hidden = !place || words === '';
    if (!place) return;
    const box = this.stage.canvas.getBoundingClientRect();
    if (this.label.textContent !== words) this.label.textContent = words;
    const x = Math.min(place.x - box.left + 16, box.width - this.label.offsetWidth - 6);
    this.label.style.transform = `translate(${Math.max(6, x)}px, ${Math.max(6, place.y - box.top - 34)}px)`;
  }

  /** In build mode a drag moves what the text says, not only what is shown. */
  private keepPoses(): void {
    const frame = this.app.frame;
    if (!this.on || this.app.settings?.running) {
      this.held = false;
      return;
    }
    if (this.hands.any) this.held = true;
    else if (this.held && frame && frame.grabs.length === 0 && !this.sending && this.written) {
      this.held = false;
      const text = writePoses(this.app.scene!, this.written, frame.poses, (j, side) => this.local(j, side));
      if (text !== this.app.scene!.text) {
        this.sending = true;
        void this.app.do(command.amend(text)).then(() => (this.sending = false));
      }
    }
  }

  private local(joint: number, side: 0 | 1): string {
    const m = this.overlays.frameOf(joint, side);
    const solid = this.app.scene!.joints[joint]!.solids[side];
    const at = new THREE.Vector3().setFromMatrixPosition(m);
    return frameText(this.sideOf(solid), at, new THREE.Vector3().setFromMatrixColumn(m, 0));
  }
}

