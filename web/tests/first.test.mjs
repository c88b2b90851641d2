// The first minute, as somebody new would spend it; and the README's picture of it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { closeBrowser, join, open, pictures, read, root, serve } from './harness.mjs';
import { A, B, C, D, P, firstPath } from './first-path.mjs';

let server, page;
before(async () => {
  server = await serve('scenes/jansen.lw');
  page = await open(server.address);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

/** The corner of the coupler for an angle of the crank, by the lengths that were drawn. */
function corner(angle) {
  const far = (p, q) => Math.hypot(q[0] - p[0], q[1] - p[1]);
  const b = [A[0] + far(A, B) * Math.cos(angle), A[1] + far(A, B) * Math.sin(angle)];
  const [coupler, rocker, reach] = [far(B, C), far(C, D), far(b, D)];
  const turn = Math.atan2(D[1] - b[1], D[0] - b[0]) + Math.acos((reach ** 2 + coupler ** 2 - rocker ** 2) / (2 * reach * coupler));
  const own = Math.atan2(P[1] - B[1], P[0] - B[0]) - Math.atan2(C[1] - B[1], C[0] - B[0]);
  return [b[0] + far(B, P) * Math.cos(turn + own), b[1] + far(B, P) * Math.sin(turn + own)];
}

test('from an empty page to a driven four-bar, its coupler curve and a .glb, by pointer alone', async () => {
  const start = Date.now();
  const { glb, gap, rejected } = await firstPath(page);
  console.log(`the first path took ${((Date.now() - start) / 1000).toFixed(1)} s`);
  assert.ok(gap < 1e-4 && !rejected, `${gap}`);
  const { period, points } = await page.evaluate(() => {
    const { traces, watch } = linkwork.traces;
    const { from, to } = linkwork.traces.range(traces[0]);
    return { period: watch.period, points: traces[0].path.points.slice(from, to + 1) };
  });
  assert.ok(Math.abs(period - Math.PI) < 0.03, `two radians a second: ${period} s`);
  // The curve is that of the linkage that was drawn.
  const curve = Array.from({ length: 720 }, (_, k) => corner((k * Math.PI) / 360));
  for (const [x, y] of points) {
    const off = Math.min(...curve.map(([cx, cy]) => Math.hypot(cx - x, cy - y)));
    assert.ok(off < 0.012, `(${x}, ${y}) is ${off} m off the curve`);
  }
  const bytes = readFileSync(await glb.path());
  assert.equal(bytes.subarray(0, 4).toString(), 'glTF');
  assert.ok(bytes.includes('plate-1') && bytes.includes('"animations"'), 'with names and motion');
  await page.screenshot({ path: `${pictures}/first-path.png` });
  assert.deepEqual(page.complaints, []);
});

test("the README's moving picture is there, small, and moves", () => {
  const [, name] = read('README.md').match(/!\[[^\]]*\]\((docs\/pictures\/[\w-]+\.webp)\)/) ?? [];
  assert.ok(name, 'the README shows it');
  assert.match(read('README.md'), /npm run record/, 'and says how it is made');
  const bytes = readFileSync(join(root, name));
  assert.ok(bytes.length < 1_500_000, `${bytes.length} bytes`);
  assert.equal(bytes.subarray(0, 4).toString() + bytes.subarray(8, 12).toString(), 'RIFFWEBP');
  let pictures = 0;
  for (let at = 12; at + 8 <= bytes.length; at += 8 + bytes.readUInt32LE(at + 4) + (bytes.readUInt32LE(at + 4) & 1)) if (bytes.subarray(at, at + 4).toString() === 'ANMF') pictures++;
  assert.ok(pictures > 40, `${pictures} pictures`);
});
