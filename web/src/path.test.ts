import { describe, expect, it } from 'vitest';
import { CycleWatch, Path } from './path';

/** A crank of one metre, its tip and its turn, and a pendulum beside it. */
const crank = (angle: number, swing = 0) =>
  new Float32Array([Math.cos(angle), Math.sin(angle), 0, 0, 0, Math.sin(angle / 2), Math.cos(angle / 2), Math.sin(swing), 0, 0, 0, 0, 0, 1]);

describe('cycles', () => {
  it('are found to a fraction of a step, whole turns only', () => {
    const watch = new CycleWatch();
    let found = 0;
    for (let k = 0; k < 400; k++) found += watch.push(crank((2 * k) / 60), k / 60, 1) ? 1 : 0;
    expect(found).toBe(2);
    expect(watch.period).toBeCloseTo(Math.PI, 3);
  });

  it('are not where a swing comes back the other way', () => {
    const watch = new CycleWatch();
    const ends: number[] = [];
    for (let k = 0; k < 300; k++) if (watch.push(crank(0, 0.8 * Math.sin((3 * k) / 60 + 0.4)), k / 60, 1)) ends.push(k);
    expect(ends.length).toBeGreaterThan(0);
    expect(watch.period).toBeCloseTo((2 * Math.PI) / 3, 2);
  });

  it('are not where time stands or goes back', () => {
    const watch = new CycleWatch();
    for (let k = 0; k < 400; k++) expect(watch.push(crank(k / 10), 1, 1)).toBe(false);
    expect(watch.push(crank(0), 0.5, 1)).toBe(false);
    expect(watch.period).toBe(null);
  });

  it('survive samples that are left out', () => {
    const watch = new CycleWatch();
    for (let k = 0; k < 500; k++) if ((k * 7) % 10 < 6) watch.push(crank((2 * k) / 60), k / 60, 1);
    expect(Math.abs(watch.period! - Math.PI)).toBeLessThan(0.01);
  });
});

describe('paths', () => {
  const path = new Path();
  for (let k = 0; k <= 60; k++) path.push(k / 60, [Math.cos((2 * Math.PI * k) / 60), Math.sin((2 * Math.PI * k) / 60), 0.25]);
  it('know their cycle and their speed', () => {
    const cycle = path.cycle(0.5)!;
    expect([cycle.from, cycle.to]).toEqual([29, 60]);
    expect(path.cycle(2)).toBe(null);
    expect(path.speed(30)).toBeCloseTo(2 * Math.PI, 1);
  });

  it('become tables and drawings to scale', () => {
    const lines = path.csv({ from: 0, to: 60 }).trim().split('\n');
    expect(lines[0]).toBe('time_s,x_m,y_m,z_m,speed_m_s');
    expect(lines.length).toBe(62);
    const [t, x, y, z] = lines[16]!.split(',').map(Number);
    expect([t, y, z]).toEqual([0.25, 1, 0.25]);
    expect(Math.abs(x!)).toBeLessThan(1e-9);
    const svg = path.svg({ from: 0, to: 60 }, true, 'a < b', 'y');
    expect(svg).toContain('width="2200mm"');
    expect(svg).toContain('M1000.000 0.000L');
    expect(svg).toContain('a &lt; b');
    expect(svg.match(/Z"/g)!.length).toBe(1);
  });

  it('begin anew when time goes back', () => {
    const p = new Path();
    p.push(1, [0, 0, 0]);
    p.push(0, [1, 0, 0]);
    expect(p.points).toEqual([[1, 0, 0]]);
  });
});
