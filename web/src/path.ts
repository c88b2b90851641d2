/** The path of a point: samples, the cycle in them, and the same as files. No drawing here. */

/** Samples that are kept: a minute of them. */
export const KEPT = 3600;

export interface Cycle {
  /** Samples of one whole cycle: from the first up to the last, which is where the first was. */
  from: number;
  to: number;
  /** Seconds. */
  period: number;
}


/** How far two sets of poses (x y z, quaternion) are from each other: the worst place or turn, in units of `size`. */
export function apart(a: ArrayLike<number>, b: ArrayLike<number>, size: number): number {
  let most = 0;
  for (let k = 0; k < a.length; k += 7) {
    const far = Math.hypot(a[k]! - b[k]!, a[k + 1]! - b[k + 1]!, a[k + 2]! - b[k + 2]!) / size;
    let dot = 0;
    for (let c = 3; c < 7; c++) dot += a[k + c]! * b[k + c]!;
    most = Math.max(most, far, 2 * Math.sqrt(Math.max(0, 2 - 2 * Math.min(1, Math.abs(dot)))));
  }
  return most;
}

/** Watches poses go by and tells when they are back where they were, on the same way. */
export class CycleWatch {
  period: number | null = null;
  private reference: { poses: Float32Array; time: number; stride: number; next: Float32Array | null } | null = null;
  private away = false;
  private last: { poses: Float32Array; time: number } | null = null;
  private before: { far: number; time: number }[] = [];

  reset(): void {
    this.period = null;
    this.reference = this.last = null;
    this.away = false;
    this.before = [];
  }

  /** The poses at a time; true when a cycle has just ended. */
  push(poses: Float32Array, time: number, size: number): boolean {
    if (this.last && time <= this.last.time) {
      // Time went back, or stands.
      if (time < this.last.time) this.reset();
      else return false;
    }
    const now = { poses: poses.slice(), time };
    const last = this.last;
    this.last = now;
    const r = this.reference;
    if (!r) {
      this.reference = { poses: now.poses, time, stride: 0, next: null };
      return false;
    }
    if (!r.next) {
      r.next = now.poses;
      r.stride = apart(r.poses, now.poses, size);
    }
    const far = apart(r.poses, now.poses, size);
    const stride = last ? apart(last.poses, now.poses, size) : 0;
    this.before.push({ far, time });
    if (this.before.length > 3) this.before.shift();
    const near = 1.1 * Math.max(stride, r.stride) + 1e-4;
    if (far > Math.max(0.05, 2.5 * near)) this.away = true;
    const [a, b, c] = this.before;
    // The nearest of three samples is the middle one, and the way goes on as it did then.
    if (!this.away || !a || !b || !c || b.far > a.far || b.far > c.far || b.far > near) return false;
    if (!last || !this.sameWay(r.poses, r.next!, last.poses, now.poses)) return false;
    this.period = meet(a, b, c) - r.time;
    this.reference = { poses: now.poses, time: now.time, stride, next: null };
    this.away = false;
    this.before = [];
    return true;
  }

  /** Places and turns change as they did: what swings to and fro passes a pose twice in a cycle. */
  private sameWay(a: Float32Array, b: Float32Array, c: Float32Array, d: Float32Array): boolean {
    let dot = 0;
    for (let k = 0; k < a.length; k++) dot += (b[k]! - a[k]!) * (d[k]! - c[k]!);
    return dot > 0;
  }
}

/** When the distance was least, by the parabola through its squares. */
function meet(a: { far: number; time: number }, b: { far: number; time: number }, c: { far: number; time: number }): number {
  const [p, q, r] = [a.far ** 2, b.far ** 2, c.far ** 2];
  const [left, right] = [b.time - a.time, c.time - b.time];
  // Slopes of the two halves; between them the parabola is level once.
  const [one, two] = [(q - p) / left, (r - q) / right];
  const bend = (two - one) / (left + right);
  return bend > 0 ? 0.5 * (a.time + b.time) - one / (2 * bend) : b.time;
}

export class Path {
  readonly times: number[] = [];
  readonly points: [number, number, number][] = [];

  push(time: number, point: [number, number, number]): void {
    const last = this.times.at(-1);
    if (last !== undefined && time < last) this.clear();
    this.times.push(time);
    this.points.push(point);
    if (this.times.length > KEPT) {
      this.times.splice(0, KEPT / 6);
      this.points.splice(0, KEPT / 6);
    }
  }

  clear(): void {
    this.times.length = this.points.length = 0;
  }

  /** The last whole cycle, if the path is that long. */
  cycle(period: number | null): Cycle | null {
    const end = this.times.length - 1;
    if (period === null || end < 3) return null;
    const start = this.times[end]! - period;
    if (start < this.times[0]! - 1e-9) return null;
    let from = end;
    while (from > 0 && this.times[from - 1]! >= start) from--;
    return { from: Math.max(0, from - 1), to: end, period };
  }

  /** Metres per second at a sample. */
  speed(k: number): number {
    const [a, b] = [Math.max(0, k - 1), Math.min(this.points.length - 1, k + 1)];
    const dt = this.times[b]! - this.times[a]!;
    return dt > 0 ? Math.hypot(...this.points[b]!.map((x, c) => x - this.points[a]![c]!)) / dt : 0;
  }

  csv(range: { from: number; to: number }): string {
    const lines = ['time_s,x_m,y_m,z_m,speed_m_s'];
    for (let k = range.from; k <= range.to; k++) lines.push([this.times[k]!, ...this.points[k]!, this.speed(k)].map((x) => Number(x.toPrecision(9))).join(','));
    return lines.join('\n') + '\n';
  }

  /** A drawing in millimetres, on the two axes along which the path is longest; `up` points up in it. */
  svg(range: { from: number; to: number }, closed: boolean, title: string, up: 'y' | 'z'): string {
    const points = this.points.slice(range.from, range.to + 1);
    const size = [0, 1, 2].map((k) => Math.max(...points.map((p) => p[k]!)) - Math.min(...points.map((p) => p[k]!)));
    const thin = size.indexOf(Math.min(...size));
    let [across, high] = [0, 1, 2].filter((k) => k !== thin) as [number, number];
    const vertical = up === 'z' ? 2 : 1;
    if (across === vertical) [across, high] = [high, across];
    const flat = points.map((p) => [1000 * p[across]!, -1000 * p[high]!] as const);
    const low = [0, 1].map((k) => Math.min(...flat.map((p) => p[k]!))) as [number, number];
    const top = [0, 1].map((k) => Math.max(...flat.map((p) => p[k]!))) as [number, number];
    const edge = 0.05 * Math.max(top[0] - low[0], top[1] - low[1], 1e-3);
    const box = [low[0] - edge, low[1] - edge, top[0] - low[0] + 2 * edge, top[1] - low[1] + 2 * edge].map((x) => Number(x.toFixed(4)));
    const d = flat.map(([x, y], k) => `${k === 0 ? 'M' : 'L'}${x.toFixed(3)} ${y.toFixed(3)}`).join('');
    const escaped = title.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]!);
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box.join(' ')}" width="${box[2]}mm" height="${box[3]}mm">\n<title>${escaped}</title>\n<path d="${d}${closed ? 'Z' : ''}" fill="none" stroke="#c8384a" stroke-width="${(0.2 * edge).toFixed(4)}" stroke-linejoin="round"/>\n</svg>\n`;
  }
}
