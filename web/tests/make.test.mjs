// Making, in detail: sizes by their handles, balls where ends meet, snapping to the grid and to angles.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browser, closeBrowser, drawn, frame, frames, open, pictures, ready, serve, settings, until } from './harness.mjs';

let server, page;
before(async () => {
  server = await serve('scenes/fourbar.lw');
  page = await open(server.address);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

const text = (on = page) => on.evaluate(() => linkwork.app.scene.text);
const at = (x, y, z = 0, on = page) => on.evaluate(([x, y, z]) => linkwork.stage.toPage(new linkwork.THREE.Vector3(x, y, z)), [x, y, z]);
const step = () => page.evaluate(() => linkwork.build.step);
const tool = (name) => page.click(`[data-tool="${name}"]`);
const selected = (on = page) => on.evaluate(() => linkwork.app.selection?.kind === 'solid' && linkwork.app.scene.solids[linkwork.app.selection.id].name);
let scenes = 0;
const show = async (content = 'scene title "Untitled"; end\n', on = page) => {
  const name = `make-${++scenes}`;
  await on.evaluate(([name, text]) => linkwork.app.ask({ 'open-text': { name, text } }), [name, content]);
  await ready(on, name);
  await on.evaluate(async () => {
    await linkwork.build.toggle(true);
    linkwork.build.choose('select');
    linkwork.build.setGround(false);
    linkwork.build.setEnds('pin');
  });
  await frames(on, 2);
  await drawn(on, 2);
};
const settled = async (on = page) => {
  await until('there is a frame', () => on.evaluate(() => linkwork.app.frame !== null));
  await frames(on, 2);
  await drawn(on, 3);
};
const choose = async (name, on = page) => {
  await on.evaluate((name) => linkwork.app.select({ kind: 'solid', id: linkwork.app.scene.solids.findIndex((s) => s.name === name) }), name);
  await drawn(on, 2);
};
const drag = async (p, q, { shift = false } = {}) => {
  await page.mouse.move(p.x, p.y);
  await page.mouse.down();
  if (shift) await page.keyboard.down('Shift');
  await page.mouse.move((p.x + q.x) / 2, (p.y + q.y) / 2, { steps: 3 });
  await page.mouse.move(q.x, q.y, { steps: 3 });
  await page.mouse.up();
  if (shift) await page.keyboard.up('Shift');
};
const undo = async (n) => {
  for (let k = 0; k < n; k++) {
    await page.keyboard.press('Control+z');
    await settled();
  }
};

const PARTS = `scene title "Sizes"; gravity 0 0 0; end
solid wheel: shape cylinder 0.2 0.04 axis 0 0 1; mass 1; at -0.8 0.5 0; end // round
solid box: shape box 0.4 0.2 0.2; mass 1; at 0 0.5 0; end
solid ball: shape sphere 0.1; mass 1; at 0.8 0.5 0; end
solid bar: shape capsule 0.02 from 0 0 0 to 0.5 0 0; mass 1; at 0.1 0.9 0; end
joint pin-1: pin; object2 wheel; frame1 -0.8 0.5 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end
joint pin-2: pin; object1 box; object2 bar; frame1 0.1 0.1 0 axis 0 0 1; frame2 0 -0.3 0 axis 0 0 1; end
spring spring-1: object1 box; object2 ball; hinge 0.2 0 0  -0.1 0 0; length 0.5; stiffness 10; end
`;

test('rims of wheels and balls and corners of boxes are dragged to another size, each in one undo', async () => {
  await show(PARTS);
  const g = await step();
  const snap = (x) => Math.round(x / g) * g;
  // A wheel by its rim, away from its middle.
  await choose('wheel');
  await drag(await at(-0.6, 0.5), await at(-0.8 + 0.3, 0.5));
  const radius = String(Number(snap(0.3).toFixed(6)));
  await until('wider', async () => (await text()).includes(`solid wheel: shape cylinder ${radius} 0.04 axis 0 0 1; mass 1; at -0.8 0.5 0; end // round`));
  assert.equal((await settings(page)).undo, 1);
  await until('it stays selected', async () => (await selected()) === 'wheel');
  await settled();
  await page.screenshot({ path: `${pictures}/make-sizes.png` });
  // Another point of the rim, and Shift for a fifth of the grid.
  await drag(await at(-0.8, 0.5 + Number(radius)), await at(-0.8, 0.5 + Number(radius) + 0.4 * g), { shift: true });
  const finer = String(Number((Math.round((Number(radius) + 0.4 * g) / (0.2 * g)) * 0.2 * g).toFixed(6)));
  assert.notEqual(finer, radius);
  await until('finer', async () => (await text()).includes(`shape cylinder ${finer} 0.04`));
  await undo(2);
  assert.equal(await text(), PARTS);

  // A box by a corner: the opposite one stays, and so does what is joined to it.
  await choose('box');
  // Of eight corners the front upper right one, wherever the view puts it.
  const corner = await at(0.2, 0.6, 0.1);
  const [w, h] = [4 * g, 4 * g];
  const to = await at(-0.2 + w, 0.4 + h, 0.1);
  await drag(corner, to);
  await until('another size', async () => /solid box: shape box 0\.\d+ 0\.\d+ 0\.2;/.test(await text()) && (await text()) !== PARTS);
  const [, sx, sy] = (await text()).match(/solid box: shape box (\S+) (\S+) 0\.2;/).map(Number);
  assert.ok(Math.abs(sx - w) < 0.51 * g && Math.abs(sy - h) < 0.51 * g, `${sx} ${sy}, ${w} ${h}`);
  const [, ax, ay] = (await text()).match(/solid box:[^\n]*at (\S+) (\S+) 0;/).map(Number);
  assert.ok(Math.abs(ax - 0.5 * sx + 0.2) < 1e-6 && Math.abs(ay - 0.5 * sy - 0.4) < 1e-6, 'the opposite corner stays');
  await settled();
  const places = await page.evaluate(() => [0, 1].map((side) => new linkwork.THREE.Vector3().setFromMatrixPosition(linkwork.overlays.frameOf(1, side)).toArray()));
  for (const p of places) assert.ok(Math.hypot(p[0] - 0.1, p[1] - 0.6) < 1e-5, `the pin stays where it was: ${p}`);
  const [hx, hy] = (await text()).match(/object1 box; object2 ball; hinge (\S+) (\S+) 0 /).slice(1).map(Number);
  assert.ok(Math.abs(ax + hx - 0.2) < 1e-6 && Math.abs(ay + hy - 0.5) < 1e-6, 'and the end of the spring');
  assert.ok((await frame(page)).gap < 1e-6);
  await undo(1);
  assert.equal(await text(), PARTS);

  // A ball; then onto the end of the bar, exactly.
  await choose('ball');
  await drag(await at(0.8, 0.6), await at(0.8, 0.5 + 4 * g));
  await until('larger', async () => (await text()).includes(`shape sphere ${Number((4 * g).toFixed(6))};`));
  await settled();
  await drag(await at(0.8, 0.5 + 4 * g), await at(0.6, 0.9));
  await until('as far as the bar', async () => /shape sphere 0\.447214;/.test(await text()));
  await undo(2);
  assert.equal(await text(), PARTS);

  // Escape lets go of one that is on its way, and a click changes nothing.
  await choose('ball');
  const [p, q] = [await at(0.9, 0.5), await at(1.2, 0.5)];
  await page.mouse.move(p.x, p.y);
  await page.mouse.down();
  await page.mouse.move(q.x, q.y, { steps: 4 });
  await drawn(page, 1);
  await until('it is told', async () => /^radius /.test(await page.locator('.sketch-label:visible').innerText()));
  await page.keyboard.press('Escape');
  await page.mouse.up();
  await page.mouse.click(p.x, p.y);
  await settled();
  assert.equal(await text(), PARTS);
  assert.deepEqual(page.complaints, []);
});

test('a wheel seen from the side is made wider, and a finger has handles too', async (t) => {
  await show(PARTS);
  await choose('wheel');
  const look = async (...from) => {
    await page.evaluate((from) => {
      linkwork.stage.camera.position.set(...from);
      linkwork.stage.controls.update();
      linkwork.stage.invalidate();
    }, from);
    await drawn(page, 2);
  };
  await look(0, 0.5, 4);
  assert.equal(await page.evaluate(() => linkwork.sizes.handles().length), 4, 'from the front its sides lie behind each other');
  await look(4, 0.5, 1.5);
  assert.equal(await page.evaluate(() => linkwork.sizes.handles().length), 6);
  const g = await step();
  await drag(await at(-0.8, 0.5, 0.02), await at(-0.8, 0.5, 1.5 * g));
  await until('wider', async () => (await text()).includes(`shape cylinder 0.2 ${Number((3 * g).toFixed(6))} axis`));
  await undo(1);

  const phone = await browser({ viewport: { width: 390, height: 780 }, extra: { hasTouch: true, isMobile: true, deviceScaleFactor: 1, reducedMotion: 'reduce' } });
  t.after(() => phone.close());
  const small = await open(server.address, { on: phone });
  await show(PARTS, small);
  await choose('ball', small);
  const touch = await phone.newCDPSession(small);
  const finger = (type, p) => touch.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [p] });
  const [p, q] = [await at(0.8, 0.6, 0, small), await at(0.8, 0.9, 0, small)];
  await finger('touchStart', { x: p.x + 6, y: p.y - 8 });
  for (const k of [0.3, 0.6, 1]) await finger('touchMove', { x: p.x + k * (q.x - p.x), y: p.y + k * (q.y - p.y) });
  await finger('touchEnd');
  await until('larger', async () => Number((await text(small)).match(/shape sphere (\S+);/)[1]) > 0.25);
  assert.deepEqual([...page.complaints, ...small.complaints], []);
});

test('ends that meet get a ball where balls are chosen, and a bar between them leaves the plane', async () => {
  await show();
  const g = await step();
  const kind = () => page.evaluate(() => linkwork.build.ends);
  await tool('bar');
  assert.equal(await kind(), 'pin');
  await page.click('[data-ends="ball"]');
  assert.equal(await page.locator('[data-ends="ball"]').getAttribute('aria-pressed'), 'true');
  assert.equal(await page.locator('[data-ends="pin"]').getAttribute('aria-pressed'), 'false');
  // A mast, then a strut from its top to the ground, off the upright plane.
  const top = 5 * g;
  await drag(await at(0, 0), await at(0, top));
  await until('the mast', async () => /solid bar-1:/.test(await text()));
  await settled();
  await page.selectOption('#draw-on', 'ground');
  await drag(await at(0, top), await at(4 * g, 0, 3 * g));
  await until('the strut', async () => /solid bar-2:/.test(await text()));
  await settled();
  const length = Math.hypot(4 * g, 3 * g, top);
  const capsule = Number((await text()).match(/solid bar-2:\n {2}shape capsule \S+ from 0 0 0 to (\S+) 0 0;/)[1]);
  assert.ok(Math.abs(capsule - length) < 1e-5, `${capsule} for ${length}`);
  assert.match(await text(), /joint ball-1: ball; object1 bar-1; object2 bar-2; frame1 [\d.]+ 0 0; frame2 0 0 0; end/);
  assert.equal(await page.evaluate(() => linkwork.app.scene.joints[0].kind), 'ball');
  assert.ok((await frame(page)).gap < 1e-5);
  const end = await page.evaluate((x) => new linkwork.THREE.Vector3(x, 0, 0).applyMatrix4(linkwork.solids.matrices[2]).toArray(), capsule);
  assert.ok(Math.hypot(end[0] - 4 * g, end[1], end[2] - 3 * g) < 1e-4, `it ends on the ground: ${end}`);
  // The feet stand on balls, too.
  await tool('pin');
  for (const [x, z] of [[4 * g, 3 * g], [0, 0]]) {
    const p = await at(x, 0, z);
    await page.mouse.click(p.x, p.y);
    await settled();
  }
  await until('two feet', () => page.evaluate(() => linkwork.app.scene.joints.length === 3));
  assert.deepEqual(await page.evaluate(() => linkwork.app.scene.joints.map((j) => [j.kind, j.solids.includes(0)])), [['ball', false], ['ball', true], ['ball', true]]);
  await page.screenshot({ path: `${pictures}/make-balls.png` });
  const made = await text();
  await page.keyboard.press('Control+z');
  await until('one undo', async () => (await text()) !== made);
  await settled();

  // By keys: J goes from pins to balls and back, and what meets is joined by them.
  await show();
  await page.locator('canvas').focus();
  const press = async (...keys) => {
    for (const k of keys) await page.keyboard.press(k);
    await drawn(page, 1);
  };
  await press('2', 'j');
  assert.equal(await kind(), 'ball');
  await press('Enter', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'Enter');
  await settled();
  await press('Enter', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'Enter');
  await until('a ball', async () => /joint ball-1: ball; object1 bar-1; object2 bar-2;/.test(await text()));
  await settled();
  await press('j');
  assert.equal(await kind(), 'pin');
  await press('Enter', 'ArrowLeft', 'ArrowLeft', 'Enter');
  await until('a pin', async () => /joint pin-1: pin; object1 bar-2; object2 bar-3;/.test(await text()));
  // An end that is dragged onto another part is joined the same way.
  await show(`scene title "Ends"; gravity 0 0 0; end
solid bar-1: shape capsule 0.02 from 0 0 0 to 0.4 0 0; mass 1; at -0.4 0.1 0; end
solid bar-2: shape capsule 0.02 from 0 0 0 to 0.5 0 0; mass 1; at 0.6 0.1 0; turn 0 0 1 90 deg; end
`);
  await page.click('[data-ends="ball"]');
  await choose('bar-1');
  await drag(await at(0, 0.1), await at(0.6, 0.6));
  await until('joined', async () => /joint ball-1: ball; object1 bar-2; object2 bar-1; frame1 0\.5 0 0; frame2 1\.118034 0 0; end/.test(await text()));
  assert.deepEqual(page.complaints, []);
});

test('bars snap to the grid; with Shift to 15 degrees and whole lengths', async () => {
  await show();
  const g = await step();
  await tool('bar');
  // Near corners of the grid, a third of a line off.
  await drag(await at(0.3 * g, -0.3 * g), await at(6.3 * g, 2.7 * g));
  await until('drawn', async () => /solid bar-1:/.test(await text()));
  const bar = async (n) => {
    const [, length, x, y, , angle] = (await text()).match(new RegExp(`solid bar-${n}:\\n {2}shape capsule \\S+ from 0 0 0 to (\\S+) 0 0;[\\s\\S]*?at (\\S+) (\\S+) 0;\\n( {2}turn 0 0 1 (\\S+) deg;)?`));
    return { length: Number(length), x: Number(x), y: Number(y), angle: Number(angle ?? 0) };
  };
  const one = await bar(1);
  assert.deepEqual([one.x, one.y], [0, 0]);
  assert.ok(Math.abs(one.length - Math.hypot(6, 3) * g) < 1e-5, `both ends on lines: ${one.length}`);
  // With Shift: every multiple of 15 degrees is hit from 6 degrees beside it, and the length is whole lines.
  const seen = [];
  for (const [k, wanted] of [15, 30, 45, 60, 75, 120].entries()) {
    await show();
    await tool('bar');
    const g = await step();
    const a = ((wanted + (k % 2 ? 6 : -6)) * Math.PI) / 180;
    const far = 6.3 * g;
    await drag(await at(0, 0), await at(far * Math.cos(a), far * Math.sin(a)), { shift: true });
    await until('drawn', async () => /solid bar-1:/.test(await text()));
    const b = await bar(1);
    seen.push(b.angle);
    assert.ok(Math.abs(b.length - 6 * g) < 1e-5, `${b.length} of ${6 * g}`);
  }
  assert.deepEqual(seen, [15, 30, 45, 60, 75, 120]);
  // By keys Shift is finer: a fifth of a line.
  await show();
  await page.locator('canvas').focus();
  for (const k of ['2', 'ArrowUp', 'Enter', 'ArrowRight', 'ArrowRight', 'Shift+ArrowRight', 'Enter']) await page.keyboard.press(k);
  await until('drawn', async () => /solid bar-1:/.test(await text()));
  const [fine, line] = [(await bar(1)).length, await step()];
  assert.ok(Math.abs(fine - 2.2 * line) < 1e-5, `${fine} of lines of ${line}`);
  assert.deepEqual(page.complaints, []);
});
