import { describe, expect, it } from 'vitest';
import { decodeLink, encodeLink } from './link';
import { digits, gapWords, length } from './format';
import { CONTACT, GRAB, HEADER_BYTES, MAGIC, STATS, contactForce, decodeEvent, decodeFrame, isAsleep, isOver, type SceneMessage } from './protocol';

/** A frame as the server writes it: two solids, one grab, one open joint, one force, one ghost, one contact. */
function sample(): ArrayBuffer {
  const [n, g, k, c] = [2, 1, 1, 1];
  const floats = STATS + 7 * n + GRAB * g + 7 * k + 4 + 7 * n * c + CONTACT + 1;
  const buffer = new ArrayBuffer(HEADER_BYTES + 4 * floats);
  const view = new DataView(buffer);
  [MAGIC, 9, 4, 1 | 4 | 16 | 64, n, g, k, c, 0x89abcdef, 0x01234567, 1, 1].forEach((w, i) => view.setUint32(4 * i, w, true));
  view.setFloat64(48, 1.5, true);
  for (let i = 0; i < floats; i++) view.setFloat32(HEADER_BYTES + 4 * i, i, true);
  view.setFloat32(HEADER_BYTES + 4 * 16, -1, true);
  view.setFloat32(HEADER_BYTES + 4 * 17, 3, true);
  view.setFloat32(HEADER_BYTES + 4 * 30, 1, true);
  view.setFloat32(HEADER_BYTES + 4 * 33, 0, true);
  view.setUint32(buffer.byteLength - 4, 0b10, true);
  return buffer;
}

/** Solid 1, a sheet of three vertices, solid 5, one vertex, and a ghost of all that. */
function soft(): ArrayBuffer {
  const compact = 2 * 7 + 4 * 3;
  const floats = STATS + 4 + 2 * compact;
  const buffer = new ArrayBuffer(HEADER_BYTES + 4 * floats);
  const view = new DataView(buffer);
  [MAGIC, 9, 4, 0, 6, 0, 0, 1, 0, 0, 0, 0].forEach((w, i) => view.setUint32(4 * i, w, true));
  view.setFloat32(HEADER_BYTES + 4 * 33, 2, true);
  [2, 3, 6, 1].forEach((w, i) => view.setUint32(HEADER_BYTES + 4 * (STATS + i), w, true));
  for (let i = 0; i < 2 * compact; i++) view.setFloat32(HEADER_BYTES + 4 * (STATS + 4 + i), i + 1, true);
  return buffer;
}

describe('frames with soft bodies', () => {
  it('have poses of vertices where their numbers say, without a turn', () => {
    const f = decodeFrame(soft())!;
    const of = (poses: Float32Array, solid: number) => [...poses.subarray(7 * (solid - 1), 7 * solid)];
    expect(f.poses.length).toBe(42);
    expect(of(f.poses, 1)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(of(f.poses, 5)).toEqual([8, 9, 10, 11, 12, 13, 14]);
    expect([2, 3, 4, 6].map((i) => of(f.poses, i))).toEqual([15, 18, 21, 24].map((x) => [x, x + 1, x + 2, 0, 0, 0, 1]));
    expect(of(f.ghosts[0]!, 3)).toEqual([44, 45, 46, 0, 0, 0, 1]);
  });

  it('are refused where bodies overlap or reach beyond the last solid', () => {
    for (const [word, value] of [[1, 9], [2, 4], [3, 2], [0, 0]] as const) {
      const bad = soft();
      new DataView(bad).setUint32(HEADER_BYTES + 4 * (STATS + word), value, true);
      expect(decodeFrame(bad)).toBeNull();
    }
  });
});

describe('scenes with soft bodies', () => {
  it('get their vertices among the solids', () => {
    const solid = (name: string) => ({ name, kind: 'dynamic', shapes: [] });
    const body = (name: string, first: number, sides: number[], fixed: number[]) => ({ name, first, sides, fixed, mass: 6, color: [1, 0, 0], line: 3 });
    const event = { v: 1, event: 'scene', solids: [solid('world'), solid('a'), solid('b')], softs: [body('s', 2, [2, 3], [1]), body('m', 9, [2], [])] };
    const scene = decodeEvent(JSON.stringify(event)) as SceneMessage;
    expect(scene.solids.map((s) => s.name)).toEqual(['world', 'a', 's.0.0', 's.1.0', 's.0.1', 's.1.1', 's.0.2', 's.1.2', 'b', 'm.0', 'm.1']);
    expect(scene.solids[3]).toMatchObject({ kind: 'fixed', soft: 0, mass: 1, line: 3 });
    expect([scene.solids[4]!.kind, scene.solids[10]!.soft]).toEqual(['dynamic', 1]);
    expect((decodeEvent('{"v":1,"event":"scene","solids":[]}') as SceneMessage).softs).toEqual([]);
  });
});

describe('pose frames', () => {
  it('are read to the last number', () => {
    const f = decodeFrame(sample())!;
    expect(f).toMatchObject({ tick: 9, revision: 4, running: true, kinematic: false, missed: true, rejected: false, scrubbed: true, rough: false, least: true });
    expect(f.hash).toBe('0123456789abcdef');
    expect(f.time).toBe(1.5);
    expect(f.allowed).toBeNull();
    expect(f.limit).toBe('budget');
    expect([f.gap, f.worst, f.kinetic, f.iterations, f.used, f.first, f.to]).toEqual([0, 2, 3, 12, 15, 23, 27]);
    expect([...f.poses]).toEqual(Array.from({ length: 14 }, (_, i) => STATS + i));
    const at = STATS + 14;
    expect(f.grabs[0]).toMatchObject({ hand: at, solid: at + 1, grip: [at + 2, at + 3, at + 4], target: [at + 5, at + 6, at + 7], gap: at + 8 });
    expect(f.grabs[0]!.mostForce).toBe(at + 15);
    expect(f.open[0]).toEqual({ joint: at + 16, from: [at + 17, at + 18, at + 19], to: [at + 20, at + 21, at + 22] });
    expect(f.forces[0]).toEqual({ joint: at + 23, force: [at + 24, at + 25, at + 26] });
    expect(f.ghosts[0]![0]).toBe(at + 27);
    expect([f.islands, f.sleeping, f.points, f.blow]).toEqual([28, 29, 31, 32]);
    const c = at + 27 + 14;
    const place = (i: number) => [c + i, c + i + 1, c + i + 2];
    expect(f.contacts).toEqual([{ solids: [c, c + 1], point: place(2), normal: place(5), force: place(8), friction: c + 11, slides: true }]);
    expect([0, 1, 2].map((i) => isAsleep(f, i))).toEqual([false, false, true]);
  });

  it('are refused when anything is missing, too much, or not ours', () => {
    const good = sample();
    for (let cut = 0; cut < good.byteLength; cut += 3) expect(decodeFrame(good.slice(0, cut))).toBeNull();
    const longer = new ArrayBuffer(good.byteLength + 4);
    new Uint8Array(longer).set(new Uint8Array(good));
    expect(decodeFrame(longer)).toBeNull();
    const other = good.slice(0);
    new DataView(other).setUint32(0, 1, true);
    expect(decodeFrame(other)).toBeNull();
    const huge = good.slice(0);
    new DataView(huge).setUint32(16, 0xffffffff, true);
    expect(decodeFrame(huge)).toBeNull();
  });

  it('tell when a tick took more than it was allowed', () => {
    expect(isOver({ used: 1.9, allowed: 0.03 })).toBe(true);
    expect(isOver({ used: 0.031, allowed: 0.03 })).toBe(false);
    expect(isOver({ used: 1000, allowed: null })).toBe(false);
  });

  it('tell what touches a solid pushes it with', () => {
    const contact = (solids: [number, number], force: [number, number, number]) => ({ solids, force, point: force, normal: force, friction: 0, slides: false });
    const contacts = [contact([1, 2], [0, 6, 0]), contact([1, 2], [0, 4, 0]), contact([2, 3], [3, 1, 0])];
    expect([1, 2, 3, 4].map((s) => contactForce({ contacts }, s))).toEqual([10, Math.hypot(3, 9), Math.hypot(3, 1), 0]);
    expect(contactForce({ contacts }, null)).toBe(10);
  });

  it('survive random bytes', () => {
    let seed = 1;
    for (let i = 0; i < 500; i++) {
      const bytes = new Uint8Array(4 * (i % 80)).map(() => (seed = (seed * 16807) % 2147483647) & 255);
      expect(decodeFrame(bytes.buffer)).toBeNull();
    }
  });
});

describe('events', () => {
  it('carry a version', () => {
    expect(decodeEvent('{"v":1,"event":"note","message":"x"}')).toMatchObject({ message: 'x' });
    for (const bad of ['', '{', 'null', '1', '{"v":2,"event":"note"}', '{"v":1}', '[]']) expect(decodeEvent(bad)).toBeNull();
  });
});

describe('links', () => {
  it('carry any text', async () => {
    for (const text of ['', 'solid a: mass 1; end', 'é 漢字 🙂\n'.repeat(2000)]) {
      const link = await encodeLink(text);
      expect(link).toMatch(/^#scene=[\w-]*$/);
      expect(await decodeLink(`http://127.0.0.1:1/?token=x${link}`)).toBe(text);
    }
    expect(await decodeLink('http://127.0.0.1/')).toBeNull();
  });

  it('refuse what is damaged', async () => {
    await expect(decodeLink('#scene=!!!')).rejects.toThrow();
    await expect(decodeLink('#scene=AAAA')).rejects.toThrow();
  });

  it('refuse what unpacks to more than a scene can be', async () => {
    const bomb = await encodeLink(' '.repeat(17 << 20));
    expect(bomb.length).toBeLessThan(100_000);
    await expect(decodeLink(bomb)).rejects.toThrow(/too large/);
  });
});

describe('numbers', () => {
  it('are short and have units', () => {
    expect([2, 0.0123, 4.2e-5, 3e-9, 0, NaN].map(length)).toEqual(['2.00 m', '12.3 mm', '42.0 µm', '3.00 nm', '0', '–']);
    expect([1234567, 123.4, 12.34, 1.234, 1e-5].map(digits)).toEqual(['1.2e+6', '123', '12.3', '1.23', '1.0e-5']);
  });

  it('tell the turn where the turn is what is wrong', () => {
    expect(gapWords({ gap: 2e-7, gapAngle: 0.1 }, 1e-6)).toBe('0.20 µm, 5.73°');
    expect(gapWords({ gap: 2e-7, gapAngle: 1e-7 }, 1e-6)).toBe('0.20 µm');
    expect(gapWords({ gap: 0.2, gapAngle: 0.1 }, 1e-6)).toBe('200 mm');
  });
});
