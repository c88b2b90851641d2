// Contact in the page: points, forces and friction cones, blows, friction and bouncing as sliders, throwing.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, command, drawn, frame, frames, grip, join, open, pictures, scratch, serve, settings, until, write } from './harness.mjs';

const SCENE = `scene gravity 0 -9.81 0; end
material wood: friction 0.5; end
solid floor: kernel fixed; shape plane 0 1 0; material wood; end
solid box: shape box 0.6 0.4 0.6; mass 3; at 0 0.2 0; material wood; end
solid ramp: kernel fixed; shape box 2 0.2 1; at 2.2 0.75 0; turn 0 0 1 -35 deg; material wood; end
solid puck: shape box 0.3 0.2 0.3; mass 1; at 1.8238 1.2580 0; turn 0 0 1 -35 deg; material wood; end
solid ball: shape sphere 0.15; mass 2; at -1 0.15 0; material wood; end
`;

let server, page;
before(async () => {
  const file = join(scratch(), 'touch.lw');
  write(file, SCENE);
  server = await serve(file);
  page = await open(server.address);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

/** Where a solid is in a frame. */
const SOLIDS = ['floor', 'box', 'ramp', 'puck', 'ball'];
const at = (f, name) => f.poses.slice(7 * SOLIDS.indexOf(name), 7 * SOLIDS.indexOf(name) + 3);
const place = async (name) => at(await frame(page), name);

async function startOver() {
  await command(page, { do: 'mode', mode: 'dynamic' });
  await command(page, { do: 'run', on: false });
  await command(page, { do: 'reset' });
  await frames(page, 2);
}

/** Marks of one colour that the overlay of contacts draws. */
const marks = () =>
  page.evaluate(() => {
    const o = linkwork.overlays;
    const colors = (m) => Array.from({ length: m.mesh.count }, (_, i) => {
      const c = new linkwork.THREE.Color();
      m.mesh.getColorAt(i, c);
      return c.getHexString();
    });
    return { funnels: colors(o.funnels), dots: colors(o.overDots), arrows: colors(o.cones) };
  });

test('contacts are drawn: points, forces and cones, blue where they stick and orange where they slide', async () => {
  await startOver();
  await page.click('[data-panel=settings]');
  await page.check('#overlay-contacts');
  for (const key of ['joints', 'gaps']) await page.uncheck(`#overlay-${key}`);
  await command(page, { do: 'step', count: 12 });
  await until('points are told', async () => (await frame(page)).contacts.length >= 8);
  await drawn(page, 2);
  const f = await frame(page);
  const named = await page.evaluate(() => linkwork.app.scene.solids.map((s) => s.name));
  const force = (a, b) => {
    const all = f.contacts.filter((c) => named[c.solids[0]] === a && named[c.solids[1]] === b);
    return [all.length, all.reduce((sum, c) => sum.map((x, k) => x + c.force[k]), [0, 0, 0]), all.every((c) => c.slides)];
  };
  const [points, weight, slides] = force('floor', 'box');
  assert.equal(points, 4);
  assert.ok(Math.abs(weight[1] - 3 * 9.81) < 0.01 && Math.hypot(weight[0], weight[2]) < 0.01, `${weight}`);
  assert.equal(slides, false);
  assert.equal(force('ramp', 'puck')[2], true, 'the puck slides at 35 degrees');
  const drawnNow = await marks();
  const [sticks, slide] = ['2463b8', 'd9620a'].map((c) => drawnNow.funnels.filter((x) => x === c).length);
  assert.equal(sticks + slide, f.contacts.length, 'a cone per point');
  assert.ok(sticks >= 5 && slide >= 2, `${sticks} stick, ${slide} slide`);
  assert.equal(drawnNow.dots.length, f.contacts.length);
  await until('the receipt counts them', async () => new RegExp(`${f.points} contacts`).test(await page.locator('#receipt').innerText()));
  await page.screenshot({ path: `${pictures}/contacts.png` });
  await page.uncheck('#overlay-contacts');
  await drawn(page, 2);
  assert.equal((await marks()).funnels.length, 0);
  for (const key of ['joints', 'gaps']) await page.check(`#overlay-${key}`);
});

test('friction is a slider that can be taken back', async () => {
  await startOver();
  await command(page, { do: 'run', on: true });
  await page.locator('#friction').fill('1.2');
  await until('it is set', async () => (await settings(page)).friction === 1.2);
  assert.equal(await page.locator('output[for=friction]').innerText(), '1.20');
  await frames(page, 40);
  const before = await place('puck');
  await frames(page, 30);
  const after = await place('puck');
  assert.ok(Math.hypot(...after.map((x, k) => x - before[k])) < 1e-3, 'the puck sticks to its ramp');
  await page.locator('#friction').fill('0.05');
  await until('it slides', async () => (await place('puck'))[0] > 2.2);
  await command(page, { do: 'undo' });
  await until('undone', async () => (await settings(page)).friction === undefined);
  await until('the slider says so', async () => (await page.locator('output[for=friction]').innerText()) === 'as in the scene');
  await page.locator('#bounce').fill('0.8');
  await until('it is set', async () => (await settings(page)).bounce === 0.8);
  await page.locator('#bounce').fill('-0.05');
  await until('and back', async () => (await settings(page)).bounce === undefined);
});

/** Takes the ball and drags it down, into the floor. */
async function dragDown() {
  await startOver();
  await command(page, { do: 'mode', mode: 'kinematic' });
  const from = await grip(page, 'ball', [0, 0, 0]);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await until('it is held', async () => (await frame(page)).grabs.length === 1);
  for (let k = 1; k <= 15; k++) {
    await page.mouse.move(from.x, from.y + 8 * k);
    await frames(page, 2);
  }
}

test('a hand stops at obstacles in kinematic mode, unless that is switched off', async () => {
  await dragDown();
  await frames(page, 20);
  const above = await place('ball');
  await page.mouse.up();
  assert.ok(above[1] > 0.149, `the floor is in its way: ${above}`);
  await page.uncheck('#obstacles');
  await until('it is switched off', async () => (await settings(page)).obstacles === false);
  await dragDown();
  await until('it goes through', async () => (await place('ball'))[1] < 0.1);
  await page.mouse.up();
  await page.check('#obstacles');
  await until('it is switched on', async () => (await settings(page)).obstacles === true);
  assert.deepEqual(page.complaints, []);
});

/** Throws the ball; how fast it flies then, and how fast the hand was. */
async function throwBall() {
  await startOver();
  await command(page, { do: 'run', on: true });
  await frames(page, 5);
  const from = await grip(page, 'ball', [0, 0, 0]);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await until('it is held', async () => (await frame(page)).grabs.length === 1);
  let held = null;
  // Slowly up: by that way a pixel is known in metres, whatever the clocks say.
  const before = (await frame(page)).grabs[0].target;
  for (let k = 1; k <= 40; k++) {
    await page.mouse.move(from.x, from.y - 4 * k);
    await frames(page, 2);
  }
  const above = await until('the hand is up there', async () => {
    const seen = (await frame(page)).grabs[0].target;
    await frames(page, 6);
    return seen.every((x, k) => x === (held?.[k] ?? NaN)) ? seen : ((held = seen), null);
  });
  const pixels = 120;
  const wanted = (Math.hypot(...above.map((x, k) => x - before[k])) / 160) * pixels;
  // Then faster and faster to the side, so that it does not swing, by the session's own clock; that goes slowly: however
  // late a busy machine answers, it is late by little of the session's time.
  await command(page, { do: 'speed', factor: 0.25 });
  const begin = (await frame(page)).time;
  const most = 0.9;
  for (let t = 0; t < most; ) {
    t = Math.min((await frame(page)).time - begin, most);
    await page.mouse.move(from.x - (pixels * t * t) / (2 * most), from.y - 160);
  }
  await page.mouse.up();
  const free = await until('it flies', async () => {
    const f = await frame(page);
    return f.grabs.length === 0 ? f : null;
  });
  const later = await until('it went on', async () => {
    const f = await frame(page);
    return f.time > free.time + 0.1 ? f : null;
  });
  const fast = Math.hypot(...[0, 2].map((k) => (at(later, 'ball')[k] - at(free, 'ball')[k]) / (later.time - free.time)));
  await command(page, { do: 'speed', factor: 1 });
  return { fast, wanted };
}

test('a ball that is let go on the way flies with the speed of the pointer, and its blow is told', async () => {
  // A hand that a busy machine let jump is no even hand: up to five throws, and one has to be as fast as the hand was.
  const seen = [];
  for (let k = 0; k < 5; k++) {
    const { fast, wanted } = await throwBall();
    assert.ok(wanted > 0.3, `the hand was fast enough to tell: ${wanted}`);
    seen.push(fast / wanted);
    if (Math.abs(seen.at(-1) - 1) < 0.25) break;
  }
  assert.ok(Math.abs(seen.at(-1) - 1) < 0.25, `flights as parts of the hand's speed: ${seen}`);
  await page.keyboard.press('p');
  await until('the blow is listed', async () => /floor and ball meet, [\d.]+ N s/.test(await page.locator('#contact-events').innerText().catch(() => '')));
  assert.deepEqual(page.complaints, []);
});

test('a soft coat is dented where it is pressed, as deep as it gives way', async () => {
  const text = `material foam: stiffness 400; damping 20; end
solid mat: kernel fixed; shape box 1 0.12 1 at 0 0.06 0; material foam; color 0.4 0.6 0.5; end
solid ball: shape sphere 0.15; mass 2; at -0.2 0.27 0.2; color 0.3 0.5 0.7; end
solid brick: shape box 0.3 0.15 0.2; mass 4; at 0.2 0.195 -0.2; color 0.8 0.3 0.3; end
solid bare: kernel fixed; shape sphere 0.1; at 1 0.1 0; end`;
  await command(page, { do: 'set-text', text });
  await command(page, { do: 'run', on: false });
  await command(page, { do: 'reset' });
  await frames(page, 2);
  await drawn(page, 2);
  const dents = () => page.evaluate(() => linkwork.solids.dents.map((d) => [linkwork.app.scene.solids[d.solid].name, d.count, d.depth]));
  assert.deepEqual(await dents(), [['mat', 0, 0]], 'nothing lies on it yet');
  await command(page, { do: 'step', count: 240 });
  await until('it is dented', async () => (await dents())[0][1] > 0);
  await until('ball and brick lie still', async () => Math.abs((await dents())[0][2] - (2 * 9.81) / 400) < 1e-3);
  assert.equal((await dents())[0][1], 1 + 6, 'one of the ball, and one between every two corners of the brick');
  // The picture with and without: a hollow, not another mat.
  const share = await page.evaluate(() => {
    const { solids, stage, app } = linkwork;
    const gl = stage.renderer.getContext();
    const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const picture = (contacts) => {
      solids.dent(contacts);
      stage.renderer.render(stage.scene, stage.camera);
      const pixels = new Uint8Array(4 * w * h);
      gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      return pixels;
    };
    const [flat, dented] = [picture([]), picture(app.frame.contacts)];
    let other = 0;
    for (let i = 0; i < flat.length; i += 4) if (Math.abs(flat[i] - dented[i]) + Math.abs(flat[i + 1] - dented[i + 1]) + Math.abs(flat[i + 2] - dented[i + 2]) > 12) other++;
    return other / (w * h);
  });
  assert.ok(share > 5e-4 && share < 0.2, `${share} of the picture changed`);
  assert.deepEqual(page.complaints, []);
});
