// Making a mechanism without typing: by mouse, by finger and by keys; and everything that is made is text.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { browser, closeBrowser, command, drawn, frame, frames, open, pictures, ready, serve, settings, until } from './harness.mjs';

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
const counts = (on = page) => on.evaluate(() => [linkwork.app.scene.solids.length - 1, linkwork.app.scene.joints.length]);
const has = async (solids, joints, on = page) => {
  await until(`${solids} solids and ${joints} joints`, async () => JSON.stringify(await counts(on)) === JSON.stringify([solids, joints]));
  // The next point snaps to what is drawn.
  await until('they are drawn', () => on.evaluate(() => linkwork.app.frame !== null));
  await drawn(on, 2);
};
let scenes = 0;
const empty = async (on = page) => {
  const name = `sheet-${++scenes}`;
  await on.evaluate((name) => linkwork.app.ask({ 'open-text': { name, text: 'scene title "Untitled"; end\n' } }), name);
  await ready(on, name);
  await on.evaluate(() => linkwork.build.toggle(true));
  await drawn(on, 2);
};
const drag = async (a, b) => {
  const [p, q] = [await at(...a), await at(...b)];
  await page.mouse.move(p.x, p.y);
  await page.mouse.down();
  await page.mouse.move((p.x + q.x) / 2, (p.y + q.y) / 2);
  await page.mouse.move(q.x, q.y, { steps: 2 });
  await page.mouse.up();
};
const click = async (...p) => {
  const q = await at(...p);
  await page.mouse.click(q.x, q.y);
};
const tool = (name) => page.click(`[data-tool="${name}"]`);
const selected = () => page.evaluate(() => linkwork.app.selection && (linkwork.app.selection.kind === 'solid' ? linkwork.app.scene.solids : linkwork.app.scene.joints)[linkwork.app.selection.id].name);

const [A, B, C, D] = [[-0.6, 0.4], [-0.6, 0.8], [0.6, 1.3], [0.6, 0.4]];

/** The crank goes all the way round, and nothing comes apart. */
async function turns(on) {
  const angle = () => on.evaluate(() => linkwork.overlays.coordinate(linkwork.app.scene.joints.findIndex((j) => j.motor), 'r1'));
  const seen = new Set();
  await until('the crank has been in every quarter of its turn', async () => {
    seen.add(Math.floor((await angle()) / (Math.PI / 2)));
    return seen.size === 4;
  });
  const f = await frame(on);
  assert.ok(f.gap < 1e-4 && !f.rejected, `${f.gap}`);
}

test('from an empty page to a turning four-bar with a motor, by mouse', async () => {
  const start = Date.now();
  await page.click('.menu summary');
  await page.click('#new-scene');
  await ready(page, 'untitled');
  await page.click('#build');
  await tool('bar');
  await drag(A, B);
  await has(1, 0);
  await drag(B, C);
  await has(2, 1);
  await drag(C, D);
  await has(3, 2);
  await tool('pin');
  await click(...A);
  await has(3, 3);
  await click(...D);
  await has(3, 4);
  await tool('motor');
  await click(...A);
  await until('it has a motor', async () => /drive r1 speed 2;/.test(await text()));
  await page.screenshot({ path: `${pictures}/build-fourbar.png` });
  await page.keyboard.press('Space');
  await until('time runs', async () => (await settings(page)).running);
  const seconds = (Date.now() - start) / 1000;
  console.log(`from an empty page to a running four-bar in ${seconds.toFixed(1)} s`);
  await turns(page);
  assert.ok(seconds < 60, `${seconds} s`);
  // And on: the coupler's curve, and a file for Blender.
  await tool('trace');
  await command(page, { do: 'run', on: false });
  await frames(page, 2);
  await drawn(page, 2);
  const middle = await page.evaluate(() => {
    const { app, solids, stage, pointer, THREE } = linkwork;
    const i = app.scene.solids.findIndex((s) => s.name === 'bar-2');
    for (let x = 0.3; x < 1; x += 0.05) {
      const p = stage.toPage(new THREE.Vector3(x, 0, 0).applyMatrix4(solids.matrices[i]));
      if (pointer.pick(p.x, p.y)?.solid === i) return p;
    }
    return null;
  });
  await page.mouse.click(middle.x, middle.y);
  await until('it is traced', () => page.evaluate(() => linkwork.traces.traces[0]?.name === 'bar-2'));
  await command(page, { do: 'run', on: true });
  await until('its path grows', () => page.evaluate(() => linkwork.traces.traces[0].path.points.length > 20));
  await page.click('.menu summary');
  const [glb] = await Promise.all([page.waitForEvent('download'), page.click('#save-glb')]);
  const bytes = readFileSync(await glb.path());
  assert.equal(bytes.subarray(0, 4).toString(), 'glTF');
  assert.ok(bytes.includes('bar-3') && bytes.includes('"animations"'), 'with names and motion');
  const written = await text();
  assert.match(written, /solid bar-1:\n {2}shape capsule [\d.]+ from 0 0 0 to 0\.4 0 0;\n/);
  assert.match(written, /turn 0 0 1 90 deg;/);
  assert.ok(!/\d\.\d{7}/.test(written), 'no number has more digits than a pixel means');
  assert.deepEqual(page.complaints, []);
});

test('everything can be taken back, and the text can be edited on', async () => {
  await page.evaluate(() => linkwork.build.toggle(false));
  await page.evaluate(() => linkwork.build.toggle(true));
  await until('wound back', async () => (await frame(page)).time === 0);
  const made = await text();
  // Typed: a comment and another colour. Drawn after that: the comment stays.
  await command(page, { do: 'set-text', text: made.replace('solid bar-2:', '/* the coupler */\nsolid bar-2: // long') });
  await until('typed', async () => /the coupler/.test(await text()));
  await frames(page, 2);
  await drawn(page, 2);
  await tool('wheel');
  await drag([1.1, 1], [1.3, 1]);
  await has(4, 4);
  assert.match(await text(), /\/\* the coupler \*\/\nsolid bar-2: \/\/ long/);
  assert.match(await text(), /solid wheel-1:\n {2}shape cylinder 0\.2 /);
  assert.equal(await selected(), 'wheel-1');
  await page.keyboard.press('Delete');
  await has(3, 4);
  await page.keyboard.press('Control+z');
  await has(4, 4);
  await page.keyboard.press('Control+z');
  await has(3, 4);
  assert.match(await text(), /the coupler/);
});

test('the inspector changes mass, colour, length, place, ground, kind, motor and limits, in the text', async () => {
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  await tool('select');
  const choose = async (name) => {
    await page.evaluate((name) => {
      const i = linkwork.app.scene.solids.findIndex((s) => s.name === name);
      const j = linkwork.app.scene.joints.findIndex((s) => s.name === name);
      linkwork.app.select(i >= 0 ? { kind: 'solid', id: i } : { kind: 'joint', id: j });
    }, name);
    await until('it is shown', async () => (await page.locator('#inspector h3').innerText()) === name);
  };
  const enter = async (id, value) => {
    await page.locator(id).fill(String(value));
    await page.keyboard.press('Enter');
  };
  await choose('bar-1');
  await enter('#inspect-mass', 2.5);
  await until('mass', async () => /mass 2\.5;/.test(await text()));
  await page.locator('#inspect-color').fill('#336699');
  await until('colour', async () => /color 0\.2 0\.4 0\.6;/.test(await text()));
  await until('the field shows it', async () => (await page.locator('#inspect-length').inputValue()) === '0.4');
  await enter('#inspect-length', 0.3);
  await until('length', async () => /from 0 0 0 to 0\.3 0 0;/.test(await text()));
  assert.match(await text(), /object1 bar-1; object2 bar-2; frame1 0\.3 0 0 axis/, 'its pin goes along');
  await until('the loop is closed again', async () => (await frame(page)).gap < 1e-5);
  await page.keyboard.press('Control+z');
  await until('undone', async () => /to 0\.4 0 0;/.test(await text()));
  await page.locator('#inspect-fixed').check();
  await until('fixed', async () => /kernel fixed;/.test(await text()));
  await until('shown', () => page.locator('#inspect-fixed').isChecked());
  await page.locator('#inspect-fixed').uncheck();
  await until('not fixed', async () => !/kernel fixed/.test(await text()));
  await choose('pin-3');
  await page.selectOption('#inspect-motor', 'spring');
  await until('a spring', async () => /drive r1 to [\d.]+ deg stiffness 20 damping 1;/.test(await text()));
  await until('its field', () => page.locator('#inspect-stiffness').isVisible());
  await enter('#inspect-stiffness', 55);
  await until('stiffer', async () => /stiffness 55 damping 1;/.test(await text()));
  await page.locator('#inspect-limited').check();
  await until('limits', async () => /limit r1 -?\d+ deg \d+ deg;/.test(await text()));
  await until('their field', () => page.locator('#inspect-max').isVisible());
  await enter('#inspect-max', 120);
  await until('narrower', async () => /limit r1 -?\d+ deg 120 deg;/.test(await text()));
  await choose('pin-2');
  await page.click('[data-kind="ball"]');
  await until('a ball', async () => /joint pin-2: ball;/.test(await text()));
  await until('pressed', async () => (await page.locator('[data-kind="ball"]').getAttribute('aria-pressed')) === 'true');
  await page.screenshot({ path: `${pictures}/build-inspector.png` });
  await page.click('[data-kind="pin"]');
  await until('a pin', async () => /joint pin-2: pin;/.test(await text()));
  assert.match(await text(), /the coupler/, 'comments are kept');
});

test('copy, mirror, and a drag that is written down', async () => {
  await empty();
  await tool('bar');
  await drag([0.2, 0.4], [0.6, 0.8]);
  await has(1, 0);
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  await until('inspected', () => page.locator('#inspect-mirror').isVisible());
  await page.click('#inspect-mirror');
  await has(2, 0);
  const ends = await page.evaluate(() => [0, Math.SQRT2 * 0.4].map((x) => new linkwork.THREE.Vector3(x, 0, 0).applyMatrix4(linkwork.solids.matrices[2]).toArray().map((c) => Math.round(1e4 * c) / 1e4 + 0)));
  assert.deepEqual(ends, [[-0.2, 0.4, 0], [-0.6, 0.8, 0]]);
  await page.keyboard.press('Control+d');
  await has(3, 0);
  assert.equal(await selected(), 'bar-3');
  await tool('select');
  const edits = (await settings(page)).undo;
  const before = await text();
  const from = await at(0.4, 0.6);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await until('held', async () => (await frame(page)).grabs.length === 1);
  await page.mouse.move(from.x + 60, from.y - 30, { steps: 6 });
  await until('it follows', async () => (await frame(page)).poses[0] > 0.25);
  await page.mouse.up();
  await until('it is written down', async () => (await text()) !== before);
  const place = (await text()).match(/solid bar-1:[\s\S]*?at (\S+) /)[1];
  assert.ok(Math.abs(Number(place) - (await frame(page)).poses[0]) < 1e-4, place);
  await page.evaluate(() => linkwork.app.select({ kind: 'solid', id: 1 }));
  await until('the inspector shows the new place', async () => Math.abs(Number(await page.locator('#inspect-x').inputValue()) - Number(place)) < 1e-3);
  assert.equal((await settings(page)).undo, edits + 1, 'the drag and its text are one undo');
  await page.keyboard.press('Control+z');
  await until('undone', async () => (await text()) === before);
});

test('boxes and balls stand on the ground, and on each other', async () => {
  await empty();
  await page.selectOption('#draw-on', 'ground');
  await tool('box');
  await drag([-0.4, 0, 0.3], [0.2, 0, -0.3]);
  await has(2, 0);
  assert.match(await text(), /solid floor-1: kernel fixed; shape plane 0 1 0; end/);
  const height = () => page.evaluate(() => linkwork.app.scene.solids.at(-1).shapes[0].size?.[1]);
  assert.ok((await height()) > 0.3);
  await tool('ball');
  const top = await page.evaluate(() => linkwork.solids.bounds(new Set([linkwork.app.scene.solids.findIndex((s) => s.name === 'box-1')])).max.y);
  await drag([-0.1, top, 0], [0.05, top, 0]);
  await has(3, 0);
  const place = async () => (await frame(page)).poses.slice(14, 17);
  const [, y] = await place();
  const r = await page.evaluate(() => linkwork.app.scene.solids[3].shapes[0].radius);
  assert.ok(Math.abs(y - top - r) < 1e-3, `${y} over ${top}, ${r}`);
  await command(page, { do: 'run', on: true });
  await until('time passes', async () => (await frame(page)).time > 0.5);
  const [, later] = await place();
  assert.ok(Math.abs(later - y) < 0.01, 'it rests on the box');
  await page.screenshot({ path: `${pictures}/build-ground.png` });
});

test('a plate with three corners is pinned where they meet others', async () => {
  await empty();
  await tool('bar');
  await drag([-0.5, 0.3], [-0.5, 0.7]);
  await has(1, 0);
  await tool('plate');
  for (const p of [[-0.5, 0.7], [0.4, 0.7], [0, 1.2], [-0.5, 0.7]]) {
    await click(...p);
    await drawn(page, 1);
  }
  await has(2, 1);
  assert.equal((await text()).match(/solid plate-1:\n( {2}shape capsule .*;\n){3} {2}shape plate [\d.]+ 0 0( {2}[\d.]+ [\d.]+){2};\n/)?.length, 3, 'three edges and a sheet between them');
  // It is solid: its middle can be taken hold of.
  const corners = (await text()).match(/shape plate [\d.]+ (.*);/)[1].trim().split(/ {2}/).map((c) => c.split(' ').map(Number));
  const mean = (k) => corners.reduce((sum, c) => sum + c[k] / 3, 0);
  const middle = await at(-0.5 + mean(0), 0.7 + mean(1));
  assert.equal(await page.evaluate(({ x, y }) => linkwork.app.scene.solids[linkwork.pointer.pick(x, y)?.solid]?.name, middle), 'plate-1');
  await page.screenshot({ path: `${pictures}/build-plate.png` });
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  await until('inspected', () => page.locator('#inspect-mirror').isVisible());
  await page.click('#inspect-mirror');
  await has(3, 1);
  await page.keyboard.press('Control+z');
  await has(2, 1);
  await page.evaluate(() => linkwork.docks.toggle('outline', false));
  // On the ground it lies flat.
  await empty();
  await page.selectOption('#draw-on', 'ground');
  await tool('plate');
  for (const p of [[-0.4, 0, 0.2], [0.4, 0, 0.2], [0.2, 0, -0.4], [-0.4, 0, 0.2]]) {
    await click(...p);
    await drawn(page, 1);
  }
  await has(1, 0);
  assert.match(await text(), /shape plate [\d.]+ 0 0( {2}[\d.]+ [\d.]+){2} turn -1 0 0 90 deg;\n/);
  const size = await page.evaluate(() => linkwork.solids.bounds(new Set([1])).getSize(new linkwork.THREE.Vector3()).toArray());
  assert.ok(size[1] < 0.15 && size[0] > 0.7 && size[2] > 0.5, `${size}`);
  await page.selectOption('#draw-on', 'front');
});

test('wheels, boxes and balls have their sizes in the inspector', async () => {
  await empty();
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  const enter = async (id, value) => {
    await until(`${id} is there`, () => page.locator(id).isVisible());
    await page.locator(id).fill(String(value));
    await page.keyboard.press('Enter');
  };
  await tool('wheel');
  await drag([-0.4, 0.4], [-0.2, 0.4]);
  await has(1, 0);
  await enter('#inspect-radius', 0.3);
  await until('wider', async () => /shape cylinder 0\.3 [\d.]+ axis 0 0 1;/.test(await text()));
  await until('selected still', async () => (await selected()) === 'wheel-1');
  await enter('#inspect-width', 0.1);
  await until('thicker', async () => /shape cylinder 0\.3 0\.1 axis 0 0 1;/.test(await text()));
  await drawn(page, 2);
  await tool('box');
  await drag([0.2, 0.2], [0.4, 0.6]);
  await has(2, 0);
  await until('its sizes', async () => (await page.locator('#inspect-size-y').inputValue()) === '0.4');
  await enter('#inspect-size-y', 0.7);
  await until('taller', async () => /shape box 0\.2 0\.7 0\.2;/.test(await text()));
  await page.locator('#inspect-size-x').fill('0');
  await page.keyboard.press('Enter');
  await until('what is no size is refused', async () => /at least/.test(await page.locator('.toast').innerText()));
  assert.match(await text(), /shape box 0\.2 0\.7 0\.2;/);
  await page.keyboard.press('Escape');
  await page.evaluate(() => linkwork.docks.toggle('outline', false));
  assert.deepEqual(page.complaints, []);
});

test('a spring is drawn between two points and set under Parts', async () => {
  await empty();
  await tool('bar');
  await drag([0, 0.4], [0.6, 0.4]);
  await has(1, 0);
  await tool('pin');
  await click(0, 0.4);
  await has(1, 1);
  const springs = () => page.evaluate(() => linkwork.app.scene.springs.length);
  await tool('spring');
  // From the ground to the end of the bar, whichever is drawn first.
  await drag([0.6, 1], [0.6, 0.4]);
  await until('a spring', async () => (await springs()) === 1);
  assert.match(await text(), /\nspring spring-1: object2 bar-1; hinge 0\.6 1 0 {2}0\.6 0 0; length 0\.6; stiffness [\d.]+; damping [\d.]+; end\n/);
  // Two points that stay, or two of one part, make none.
  await drag([-0.4, 0.8], [-0.4, 1]);
  await until('it is told', async () => /needs a part/.test(await page.locator('.toast').innerText()));
  assert.equal(await springs(), 1);
  await page.screenshot({ path: `${pictures}/build-spring.png` });
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  const stiffness = page.locator('[data-spring="spring-1"][data-clause="stiffness"]');
  await stiffness.fill('40');
  await page.keyboard.press('Enter');
  await until('softer', async () => /length 0\.6; stiffness 40;/.test(await text()));
  await page.locator('[data-spring="spring-1"][data-clause="length"]').fill('0.3');
  await page.keyboard.press('Enter');
  await until('shorter', async () => /length 0\.3; stiffness 40;/.test(await text()));
  await command(page, { do: 'run', on: true });
  await until('it pulls the bar up', async () => {
    const [, , , , , z, w] = (await frame(page)).poses;
    return 2 * Math.atan2(z, w) > 0.05;
  });
  await command(page, { do: 'run', on: false });
  await page.click('[aria-label="Delete spring-1"]');
  await until('gone', async () => (await springs()) === 0);
  assert.equal(await page.locator('#springs').isVisible(), false);
  await page.keyboard.press('Control+z');
  await until('back', async () => (await springs()) === 1);
  await page.evaluate(() => linkwork.docks.toggle('outline', false));
  // By keys: from the end of the bar to the ground.
  await page.evaluate(() => linkwork.build.toggle(false));
  await page.evaluate(() => linkwork.build.toggle(true));
  await page.locator('canvas').focus();
  await page.keyboard.press('-');
  assert.equal(await page.evaluate(() => linkwork.build.tool), 'spring');
  assert.deepEqual(page.complaints, []);
});

test('by keys alone: an empty scene, two bars, a ground pin and a motor', async () => {
  await empty();
  await page.evaluate(() => linkwork.build.toggle(false));
  await page.locator('canvas').focus();
  const press = async (...keys) => {
    for (const k of keys) await page.keyboard.press(k);
    await drawn(page, 1);
  };
  await press('b');
  await until('tools are there', () => page.locator('.toolbar').isVisible());
  await press('2');
  await press('ArrowLeft', 'ArrowLeft', 'Enter');
  await until('the place is said', async () => / m|mm|0/.test(await page.locator('.tool-spot').innerText()));
  await press('ArrowUp', 'ArrowUp', 'ArrowUp', 'Enter');
  await has(1, 0);
  await press('Enter', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'Enter');
  await has(2, 1);
  await press('ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'ArrowDown', 'ArrowDown', 'ArrowDown');
  await press('7', 'Enter');
  await has(2, 2);
  await press('8', 'Enter');
  await until('it has a motor', async () => /drive r1 speed 2/.test(await text()));
  await press('Escape', 'Space');
  await until('it turns', async () => (await frame(page)).time > 0.5);
  assert.ok((await frame(page)).gap < 1e-4);
  assert.deepEqual(page.complaints, []);
});

test('a finger draws on a phone, and every tool can be reached there', async (t) => {
  const phone = await browser({ viewport: { width: 390, height: 780 }, extra: { hasTouch: true, isMobile: true, deviceScaleFactor: 1, colorScheme: 'dark', reducedMotion: 'reduce' } });
  t.after(() => phone.close());
  const small = await open(server.address, { on: phone });
  await small.evaluate(() => linkwork.app.ask({ 'open-text': { name: 'phone', text: 'scene title "Untitled"; end\n' } }));
  await ready(small, 'phone');
  await small.tap('#build');
  await small.tap('[data-tool="bar"]');
  const touch = await phone.newCDPSession(small);
  const finger = (type, p) => touch.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [p] });
  const stroke = async (a, b) => {
    const [p, q] = [await at(...a, 0, small), await at(...b, 0, small)];
    await finger('touchStart', p);
    for (const k of [0.3, 0.6, 1]) await finger('touchMove', { x: p.x + k * (q.x - p.x), y: p.y + k * (q.y - p.y) });
    await finger('touchEnd');
  };
  await stroke(A, B);
  await has(1, 0, small);
  await stroke(B, C);
  await has(2, 1, small);
  await stroke(C, D);
  await has(3, 2, small);
  await small.tap('[data-tool="pin"]');
  for (const p of [A, D]) {
    const q = await at(...p, 0, small);
    await small.touchscreen.tap(q.x, q.y);
    await until('pinned', async () => (await counts(small))[1] === (p === A ? 3 : 4));
    await has(3, p === A ? 3 : 4, small);
  }
  await small.tap('[data-tool="motor"]');
  const q = await at(...A, 0, small);
  await small.touchscreen.tap(q.x, q.y);
  await until('it has a motor', async () => /drive r1 speed 2/.test(await text(small)));
  const out = await small.evaluate(() => [...document.querySelectorAll('.toolbar button, .toolbar select')].filter((b) => {
    const r = b.getBoundingClientRect();
    return r.width < 40 || r.height < 40 || r.left < 0 || r.right > innerWidth;
  }).map((b) => b.dataset.tool ?? b.id));
  assert.deepEqual(out, [], 'fingers hit every tool');
  await small.tap('#play');
  await turns(small);
  await small.screenshot({ path: `${pictures}/build-phone.png` });
  assert.deepEqual(small.complaints, []);
});
