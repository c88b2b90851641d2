/**
 * What page and server say to each other. Text messages are JSON; pose frames are binary, little endian:
 *
 *   u32 magic "LWF1" · tick · revision · flags · solids n · grabs g · gaps k · ghosts c · hash low · hash high
 *       · forces f · words w of the sleepers
 *   f64 time
 *   f32 × STATS
 *   b × 2 u32: the first vertex and the number of vertices of each soft body; b is one of the stats
 *   poses of solids (x y z, quaternion x y z w), world and vertices left out; then the places of all vertices (x y z)
 *   g × GRAB grabs
 *   k × 7 open joints (joint, from, to)
 *   f × 4 joint forces (joint, force on its second solid)
 *   c × the poses of the methods under comparison, likewise
 *   p × CONTACT points of contact (two solids, point, normal from the first to the second, force on the second, friction,
 *       1 where it slides); p is one of the stats
 *   w × u32: a bit for every solid that sleeps; none where all are awake
 *
 * The server's side of it is crates/linkwork-cli/src/view/frame.rs; a test there writes the bytes that a test here reads.
 */

export const PROTOCOL = 1;
export const MAGIC = 0x3146574c;
export const HEADER_BYTES = 56;
export const STATS = 34;
export const GRAB = 16;
export const CONTACT = 13;
export const POSE = 7;

export type Vec3 = [number, number, number];
/** x y z w. */
export type Quat = [number, number, number, number];
/** x y z, then the quaternion x y z w. */
export type Pose = [number, number, number, number, number, number, number];

export interface ShapeInfo {
  type: 'sphere' | 'box' | 'cylinder' | 'capsule' | 'plane' | 'mesh';
  pose: Pose;
  radius?: number;
  length?: number;
  size?: Vec3;
  positions?: number[];
  indices?: number[];
  wire?: boolean;
  /** It lies beneath a skin. */
  covered?: boolean;
}

/** A smooth surface over a chain of solids, at rest, and what moves it. */
export interface SkinInfo {
  name: string;
  /** `null`: the colours of its solids. */
  color: Vec3 | null;
  /** Corners in a ring; the first and the last ring are tips of one corner. */
  around: number;
  positions: number[];
  normals: number[];
  indices: number[];
  rings: { center: Vec3; radius: number; bones: [number, number, number, number]; weights: [number, number, number, number]; solid: number }[];
  /** Frames between two solids: `share` of the way from what the first makes of it to what the second does. */
  bones: { solids: [number, number]; points: [Vec3, Vec3]; turns: [Quat, Quat]; share: number; rest: Pose }[];
}

export interface SolidInfo {
  name: string;
  kind: 'dynamic' | 'fixed' | 'scripted';
  particle: boolean;
  color: Vec3;
  mass: number;
  center: Vec3;
  line: number;
  shapes: ShapeInfo[];
  /** It is a vertex of this soft body. */
  soft?: number;
  /** Stiffness of its soft coat, N/m. */
  coat?: number;
}

/** Cloth, a rope or a soft solid. Vertices are counted from its first one. */
export interface SoftInfo {
  name: string;
  kind: 'cloth' | 'rope' | 'tetra';
  /** Its first vertex among the solids. */
  first: number;
  /** Vertices along each side of a grid; of a mesh their number. */
  sides: number[];
  mass: number;
  /** Vertices that never move. */
  fixed: number[];
  color: Vec3;
  /** Whole thickness, metres, and how thick a rope is drawn. */
  thickness: number;
  radius: number;
  triangles: number[];
  /** Kinds of springs: length at rest, strain at the limit (`null`: none), pairs of vertices. */
  springs: { length: number; limit: number | null; ends: number[] }[];
  /** Of a rope: vertices behind which it is torn. */
  gaps?: number[];
  line: number;
}

export interface LimitInfo {
  direction: 't1' | 't2' | 't3' | 'r1' | 'r2' | 'r3';
  min: number | null;
  max: number | null;
}

/** A motor: it keeps a speed, or goes to a position through a spring and a damper (rigidly where both are zero). */
export interface DriveInfo {
  direction: LimitInfo['direction'];
  speed?: number;
  to?: number;
  stiffness?: number;
  damping?: number;
  most: number | null;
}

export interface JointInfo {
  name: string;
  kind: string;
  solids: [number, number];
  frames: [Pose, Pose];
  rank: 1 | 2;
  loop: boolean;
  line: number;
  enabled: boolean;
  motor: boolean;
  drives: DriveInfo[];
  limits: LimitInfo[];
}

/** A spring between two points, each in its solid's frame; it may act for a while only. */
export interface SpringInfo {
  name: string;
  solids: [number, number];
  points: [Vec3, Vec3];
  length: number;
  during: [number, number] | null;
}

export interface DiagnosticInfo {
  code: string;
  severity: 'error' | 'warning';
  message: string;
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  hint: string | null;
}

export interface SceneMessage {
  event: 'scene';
  revision: number;
  title: string;
  name: string;
  file: string | null;
  up: 'y' | 'z';
  text: string;
  center: Vec3;
  radius: number;
  /** Vertices of soft bodies among them; they are not on the wire, see `withVertices`. */
  solids: SolidInfo[];
  softs: SoftInfo[];
  /** How fast the air of the scene's text moves; null: there is none. */
  wind: Vec3 | null;
  joints: JointInfo[];
  springs: SpringInfo[];
  skins: SkinInfo[];
  diagnostics: DiagnosticInfo[];
  notes: string[];
}

/** What can be set, as `linkwork::session::Settings` says it. */
/** What some methods leave open (`linkwork::scene::Parameters`). */
export interface Parameters {
  integrator?: 'euler' | 'semi-implicit' | 'rk4';
  alpha?: number;
  beta?: number;
  project_velocities?: boolean;
  squared_distances?: boolean;
}

export interface Settings {
  event: 'settings';
  mode: 'kinematic' | 'dynamic';
  running: boolean;
  /** The text is not what the scene's file or the gallery has. */
  unsaved: boolean;
  method: string;
  solver: string;
  step: number;
  tolerance: number;
  iterations: number;
  solver_iterations: number;
  gravity: Vec3;
  speed: number;
  budget_ms: number | null;
  policy: string;
  sleep: boolean;
  /** Hands stop at obstacles where no time passes. */
  obstacles: boolean;
  /** What methods leave open; absent: their own choice. */
  parameters?: Parameters;
  /** Of all surfaces; absent: what the materials say. */
  friction?: number;
  bounce?: number;
  /** How fast the air around soft bodies moves; absent: what the scene says. */
  wind?: Vec3;
  /** Edits that can be taken back, and done again. */
  undo: number;
  redo: number;
}

export interface GalleryItem {
  id: string;
  title: string;
  /** The papers' figure that it stands for. */
  figure: string;
  about: string;
  attempt: string;
  /** It goes away from where it starts: the camera goes along. */
  travels: boolean;
}

export interface Hello {
  event: 'hello';
  protocol: number;
  version: string;
  client: number;
  methods: string[];
  solvers: string[];
  gallery: GalleryItem[];
}

/** Where a scene that was just opened will go: poses on its way, as in frames. */
export interface Sweep {
  event: 'sweep';
  revision: number;
  samples: number[][];
  /** It is still being worked out. */
  done: boolean;
}

/** How a scene can move, as the server finds it. */
export interface Findings {
  freedoms: number;
  /** To first order, at this very pose. */
  here: number;
  examined: boolean;
  redundant: Dependency[];
  conflicts: Dependency[];
  /** Shift of the centre and turn per solid, the world left out. */
  motions: number[][];
}
/** Where a point can get to: one place per cell, x y z after each other. */
export interface ReachAnswer {
  places: number[];
  /** 1: the point got to the middle of the cell; 0: the edge of the reach runs through it. */
  inside: number[];
  cell: number;
  /** 0: it cannot move, 1: a line, 2: a surface, 3: a volume. */
  dimensions: number;
  /** Of a flat surface: two axes along the cells, and the normal. */
  plane: [Vec3, Vec3, Vec3] | null;
  measure: number | null;
  unbounded: boolean;
  complete: boolean;
}
export interface Dependency {
  joint: number;
  rows: number;
  with: number[];
}

export interface CompareRow {
  label: string;
  method: string;
  solver: string;
  gap: number;
  energy: number;
  drift: number;
  ms: number;
  iterations: number;
}

export type ServerEvent =
  | Hello
  | SceneMessage
  | Settings
  | { event: 'done'; id: number; result?: unknown }
  /** `reason` is for those where the page can do something: `file-changed` can be saved by `{ save: { force: true } }`. */
  | { event: 'error'; id: number | null; message: string; diagnostics?: DiagnosticInfo[]; reason?: string | null }
  /** `text` where it is broken from the start: nothing is on show yet, and it can be mended. */
  | { event: 'file'; ok: boolean; message: string; diagnostics: DiagnosticInfo[]; text: string | null }
  | { event: 'compare'; rows: CompareRow[] }
  | { event: 'contacts'; events: ContactEvent[] }
  | { event: 'note'; message: string }
  | Sweep
  /** Hands that the session let go by itself. */
  | { event: 'released'; hands: number[] };

export interface Grab {
  hand: number;
  solid: number;
  grip: Vec3;
  target: Vec3;
  /** Distance between them, metres, and the angle, radians. */
  gap: number;
  angle: number;
  mostForce: number;
  force: Vec3;
  met: boolean;
  mode: number;
}

/** A point at which two solids touch. */
export interface Contact {
  solids: [number, number];
  point: Vec3;
  /** From the first solid to the second. */
  normal: Vec3;
  /** On the second solid, newtons. */
  force: Vec3;
  friction: number;
  slides: boolean;
}

/** Two solids met, or parted. */
export interface ContactEvent {
  begin: boolean;
  time: number;
  since: number;
  solids: [number, number];
  /** On the second solid, N s: of the blow, or of all the time they touched. */
  impulse: Vec3;
}

export interface OpenJoint {
  joint: number;
  from: Vec3;
  to: Vec3;
}

/** What ended the work of a tick, in the order of the library's `Limit`. */
export const LIMITS = ['idle', 'tolerance', 'iterations', 'budget', 'rejected'] as const;

export interface Frame {
  tick: number;
  revision: number;
  running: boolean;
  kinematic: boolean;
  missed: boolean;
  rejected: boolean;
  scrubbed: boolean;
  /** The budget paid for no factorisation: passes over the rows, and hands are springs. */
  rough: boolean;
  /** It was the least there is: nothing more can be saved. */
  least: boolean;
  count: number;
  hash: string;
  time: number;
  gap: number;
  gapAngle: number;
  worst: number;
  kinetic: number;
  potential: number;
  spring: number;
  linear: Vec3;
  angular: Vec3;
  iterations: number;
  solverIterations: number;
  steps: number;
  /** The budget's receipt: milliseconds used and allowed (`null`: no limit), what ended the work, what was aimed for. */
  used: number;
  allowed: number | null;
  limit: (typeof LIMITS)[number];
  coarse: boolean;
  allowedIterations: number;
  aimed: number;
  due: number;
  dropped: number;
  /** The recorded past: numbers of its first, last and shown snapshot, and the times of the first two. */
  first: number;
  last: number;
  shown: number;
  from: number;
  to: number;
  /** Parts that nothing connects, and how many of them sleep. */
  islands: number;
  sleeping: number;
  poses: Float32Array;
  grabs: Grab[];
  open: OpenJoint[];
  /** What joints pull with: the strongest ones, on their second solid. */
  forces: { joint: number; force: Vec3 }[];
  ghosts: Float32Array[];
  /** Where solids touch: the points that push hardest; all of them together are `points`. */
  contacts: Contact[];
  points: number;
  /** The largest impulse of solids that met in this tick, N s. */
  blow: number;
  /** A bit for every solid that sleeps; `null`: all are awake. */
  asleep: Uint32Array | null;
}

export const vertexCount = (soft: Pick<SoftInfo, 'sides'>): number => soft.sides.reduce((n, side) => n * side, 1);

/** What a vertex is called: by its place in the grid, or its number in a mesh. */
export function vertexName(soft: Pick<SoftInfo, 'name' | 'sides'>, vertex: number): string {
  let name = soft.name;
  for (const side of soft.sides) {
    name += `.${vertex % side}`;
    vertex = Math.floor(vertex / side);
  }
  return name;
}

/** A scene as it came, with the vertices of its soft bodies among the solids. */
export function withVertices(scene: SceneMessage): SceneMessage {
  if (!(scene.softs?.length > 0)) return { ...scene, softs: [] };
  const solids: SolidInfo[] = [];
  const own = scene.solids.slice();
  const bodies = scene.softs.map((soft, k) => ({ soft, k })).sort((a, b) => a.soft.first - b.soft.first);
  for (const { soft, k } of bodies) {
    while (solids.length < soft.first && own.length > 0) solids.push(own.shift()!);
    const count = vertexCount(soft);
    const fixed = new Set(soft.fixed);
    for (let i = 0; i < count; i++) {
      solids.push({
        name: vertexName(soft, i),
        kind: fixed.has(i) ? 'fixed' : 'dynamic',
        particle: true,
        color: soft.color,
        mass: soft.mass / count,
        center: [0, 0, 0],
        line: soft.line,
        shapes: [],
        soft: k,
      });
    }
  }
  return { ...scene, solids: [...solids, ...own] };
}

/** Poses of all solids, of a frame's: vertices have no turn there. */
function spread(compact: Float32Array, count: number, bodies: Uint32Array): Float32Array {
  if (bodies.length === 0) return compact;
  const poses = new Float32Array(POSE * count);
  let vertices = 0;
  for (let b = 1; b < bodies.length; b += 2) vertices += bodies[b]!;
  let [solid, from, vertex] = [1, 0, POSE * (count - vertices)];
  const rigid = (until: number) => {
    for (; solid < until; solid++, from += POSE) poses.set(compact.subarray(from, from + POSE), POSE * (solid - 1));
  };
  for (let b = 0; b < bodies.length; b += 2) {
    rigid(bodies[b]!);
    for (const end = solid + bodies[b + 1]!; solid < end; solid++, vertex += 3) {
      const to = POSE * (solid - 1);
      poses[to] = compact[vertex]!;
      poses[to + 1] = compact[vertex + 1]!;
      poses[to + 2] = compact[vertex + 2]!;
      poses[to + 6] = 1;
    }
  }
  rigid(count + 1);
  return poses;
}

/** Reads a pose frame; `null` for bytes that are none. */
export function decodeFrame(buffer: ArrayBuffer): Frame | null {
  if (buffer.byteLength < HEADER_BYTES + 4 * STATS || buffer.byteLength % 4 !== 0) return null;
  const view = new DataView(buffer);
  const u = (i: number) => view.getUint32(4 * i, true);
  if (u(0) !== MAGIC) return null;
  const [tick, revision, flags, count, grabCount, gapCount, ghostCount, forceCount, words] = [
    u(1), u(2), u(3), u(4), u(5), u(6), u(7), u(10), u(11),
  ];
  if (words !== 0 && words !== Math.ceil(count / 32)) return null;
  const contactCount = view.getFloat32(HEADER_BYTES + 4 * 30, true);
  if (!Number.isInteger(contactCount) || contactCount < 0) return null;
  const bodyCount = view.getFloat32(HEADER_BYTES + 4 * 33, true);
  if (!Number.isInteger(bodyCount) || bodyCount < 0 || buffer.byteLength < HEADER_BYTES + 4 * (STATS + 2 * bodyCount)) return null;
  const bodies = new Uint32Array(buffer, HEADER_BYTES + 4 * STATS, 2 * bodyCount);
  let [vertices, next] = [0, 1];
  for (let b = 0; b < bodies.length; b += 2) {
    // One behind the other, and none of them beyond the last solid.
    if (bodies[b]! < next) return null;
    next = bodies[b]! + bodies[b + 1]!;
    vertices += bodies[b + 1]!;
  }
  if (next > count + 1) return null;
  const compact = POSE * (count - vertices) + 3 * vertices;
  const floats =
    STATS + 2 * bodyCount + compact + GRAB * grabCount + 7 * gapCount + 4 * forceCount + ghostCount * compact + CONTACT * contactCount + words;
  if (buffer.byteLength !== HEADER_BYTES + 4 * floats) return null;
  // Every platform with WebGL is little endian, so the bytes can be used where they are.
  const f = new Float32Array(buffer, HEADER_BYTES, floats);
  const vec = (i: number): Vec3 => [f[i]!, f[i + 1]!, f[i + 2]!];
  let at = STATS + 2 * bodyCount;
  const poses = spread(f.subarray(at, (at += compact)), count, bodies);
  const grabs: Grab[] = [];
  for (let i = 0; i < grabCount; i++, at += GRAB) {
    grabs.push({
      hand: f[at]!,
      solid: f[at + 1]!,
      grip: vec(at + 2),
      target: vec(at + 5),
      gap: f[at + 8]!,
      force: vec(at + 9),
      met: f[at + 12]! !== 0,
      mode: f[at + 13]!,
      angle: f[at + 14]!,
      mostForce: f[at + 15]!,
    });
  }
  const open: OpenJoint[] = [];
  for (let i = 0; i < gapCount; i++, at += 7) open.push({ joint: f[at]!, from: vec(at + 1), to: vec(at + 4) });
  const forces: Frame['forces'] = [];
  for (let i = 0; i < forceCount; i++, at += 4) forces.push({ joint: f[at]!, force: vec(at + 1) });
  const ghosts: Float32Array[] = [];
  for (let i = 0; i < ghostCount; i++) ghosts.push(spread(f.subarray(at, (at += compact)), count, bodies));
  const contacts: Contact[] = [];
  for (let i = 0; i < contactCount; i++, at += CONTACT) {
    contacts.push({
      solids: [f[at]!, f[at + 1]!],
      point: vec(at + 2),
      normal: vec(at + 5),
      force: vec(at + 8),
      friction: f[at + 11]!,
      slides: f[at + 12]! !== 0,
    });
  }
  return {
    tick,
    revision,
    running: (flags & 1) !== 0,
    kinematic: (flags & 2) !== 0,
    missed: (flags & 4) !== 0,
    rejected: (flags & 8) !== 0,
    scrubbed: (flags & 16) !== 0,
    rough: (flags & 32) !== 0,
    least: (flags & 64) !== 0,
    count,
    hash: u(9).toString(16).padStart(8, '0') + u(8).toString(16).padStart(8, '0'),
    time: view.getFloat64(48, true),
    gap: f[0]!,
    gapAngle: f[1]!,
    worst: f[2]!,
    kinetic: f[3]!,
    potential: f[4]!,
    spring: f[5]!,
    linear: vec(6),
    angular: vec(9),
    iterations: f[12]!,
    solverIterations: f[13]!,
    steps: f[14]!,
    used: f[15]!,
    allowed: f[16]! < 0 ? null : f[16]!,
    limit: LIMITS[f[17]!] ?? 'idle',
    coarse: f[18]! !== 0,
    allowedIterations: f[19]!,
    aimed: f[20]!,
    due: f[21]!,
    dropped: f[22]!,
    first: f[23]!,
    last: f[24]!,
    shown: f[25]!,
    from: f[26]!,
    to: f[27]!,
    islands: f[28]!,
    sleeping: f[29]!,
    contacts,
    points: f[31]!,
    blow: f[32]!,
    poses,
    grabs,
    open,
    forces,
    ghosts,
    asleep: words === 0 ? null : new Uint32Array(buffer, buffer.byteLength - 4 * words, words),
  };
}

/** What touches a solid pushes it with, newtons; without one the largest push between any two solids. */
export function contactForce(f: Pick<Frame, 'contacts'>, solid: number | null): number {
  const sums = new Map<string, Vec3>();
  for (const c of f.contacts) {
    const side = solid === null ? 1 : c.solids[1] === solid ? 1 : c.solids[0] === solid ? -1 : 0;
    if (side === 0) continue;
    const key = solid === null ? c.solids.join() : '';
    const sum = sums.get(key) ?? [0, 0, 0];
    sums.set(key, sum.map((x, k) => x + side * c.force[k]!) as Vec3);
  }
  return Math.max(0, ...[...sums.values()].map((s) => Math.hypot(...s)));
}

/** Does a solid sleep? The world, number 0, does not. */
export function isAsleep(f: Pick<Frame, 'asleep'>, solid: number): boolean {
  return f.asleep !== null && solid > 0 && ((f.asleep[(solid - 1) >> 5]! >>> ((solid - 1) & 31)) & 1) === 1;
}

/** More time than allowed, by more than a clock on a busy machine may be off. */
export function isOver(f: Pick<Frame, 'used' | 'allowed'>): boolean {
  return f.allowed !== null && f.used > 1.1 * f.allowed;
}

/** Reads a text message; `null` for one that is not ours. */
export function decodeEvent(text: string): ServerEvent | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    const { v, event } = value as { v?: unknown; event?: unknown };
    if (v !== PROTOCOL || typeof event !== 'string') return null;
    return event === 'scene' ? withVertices(value as SceneMessage) : (value as ServerEvent);
  } catch {
    return null;
  }
}
