// What somebody new builds after the first four-bar: a slider-crank on a rail, a cloth and a rope, a car on a floor, a plate whose
// corners are moved. By pointer, by finger where fingers differ, and all of it is text.
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

const text = () => page.evaluate(() => linkwork.app.scene.text);
const at = (x, y, z = 0, on = page) => on.evaluate(([x, y, z]) => linkwork.stage.toPage(new linkwork.THREE.Vector3(x, y, z)), [x, y, z]);
const said = () => page.locator('.toast').innerText();
const tool = (name) => page.click(`[data-tool="${name}"]`);
const settled = async (on = page) => {
  await until('there is a frame', () => on.evaluate(() => linkwork.app.frame !== null));
  await frames(on, 2);
  await drawn(on, 3);
};
let scenes = 0;
const empty = async (content = 'scene title "Untitled"; end\n', on = page) => {
  const name = `new-${++scenes}`;
  await on.evaluate(([name, text]) => linkwork.app.ask({ 'open-text': { name, text } }), [name, content]);
  await ready(on, name);
  if (!(await on.locator('.toolbar').isVisible())) await on.locator('#build').click();
  await settled(on);
};
const click = async (...p) => {
  const q = await at(...p);
  await page.mouse.move(q.x, q.y, { steps: 2 });
  await page.mouse.click(q.x, q.y);
  await settled();
};
const drag = async (a, b) => {
  const before = await text();
  const [p, q] = [await at(...a), await at(...b)];
  await page.mouse.move(p.x, p.y);
  await page.mouse.down();
  await page.mouse.move(q.x, q.y, { steps: 4 });
  await page.mouse.up();
  await until('it is in the text', async () => (await text()) !== before);
  await settled();
};
const run = async (on) => {
  await page.click('#play');
  await until('it runs', async () => (await settings(page)).running === on);
};

test('a slider-crank with a box on a rail: the rod is joined to the box, the box slides along itself', async () => {
  await empty();
  await tool('bar');
  await drag([-0.8, 0.4], [-0.6, 0.8]);
  await drag([-0.6, 0.8], [0.4, 0.4]);
  await tool('box');
  await drag([0.2, 0.2], [1, 0.6]);
  await tool('pin');
  await click(-0.8, 0.4);
  await until('which is told', async () => (await said()) === 'Joined bar-1 to the ground.');
  // No end of the box is there, only the box.
  await click(0.4, 0.4);
  await until('two parts meet here', async () => /Joined (box-1 to bar-2|bar-2 to box-1)\./.test(await said()));
  const g = await page.evaluate(() => linkwork.build.step);
  const x = Number((Math.floor(0.99 / g) * g).toFixed(6));
  assert.ok(x > 0.75, `${x} is on the box, and not its middle`);
  await click(x, 0.4);
  await until('nothing but the box', async () => (await said()) === 'Joined box-1 to the ground.');
  const place = (axis) => `object2 box-1; frame1 ${x} 0.4 0 axis ${axis}; frame2 ${Number((x - 0.6).toFixed(6))} 0 0 axis ${axis};`;
  assert.ok((await text()).includes(`joint pin-4: pin; ${place('0 0 1')}`), `${x} ${g} ${(await text()).match(/joint pin-4.*/)?.[0]} where lines of the grid cross, not wherever its face is seen`);
  await page.click('[data-kind="slider"]');
  await until('it slides along its longer side', async () => (await text()).includes(`joint pin-4: slider; ${place('1 0 0')}`));
  await settled();
  assert.equal(await page.locator('#inspect-axis-x').getAttribute('aria-pressed'), 'true');
  // Another direction, and back.
  await page.fill('#inspect-direction', '30');
  await page.keyboard.press('Enter');
  await until('at a slant', async () => /joint pin-4: slider;[^\n]*axis 0\.866025 0\.5 0;/.test(await text()));
  await settled();
  await page.click('#inspect-axis-x');
  await until('level again', async () => /joint pin-4: slider;[^\n]*axis 1 0 0;/.test(await text()));
  await settled();
  await page.check('#inspect-limited');
  await until('limits on both sides of where it is', async () => {
    const [, low, high] = (await text()).match(/limit t1 (\S+) (\S+);/)?.map(Number) ?? [];
    return low < -0.1 && high > 0.1 && low === -high;
  });
  await tool('motor');
  await click(-0.8, 0.4);
  await page.screenshot({ path: `${pictures}/newcomer-rail.png` });
  await tool('select');
  await run(true);
  const seen = [];
  await until('the box goes to and fro on its rail', async () => {
    const f = await frame(page);
    assert.ok(f.gap < 1e-4 && !f.rejected, `${f.gap}`);
    const id = await page.evaluate(() => linkwork.app.scene.solids.findIndex((s) => s.name === 'box-1'));
    const [x, y] = f.poses.slice(7 * (id - 1), 7 * (id - 1) + 2);
    assert.ok(Math.abs(y - 0.4) < 1e-4, `${y}`);
    seen.push(x);
    return Math.max(...seen) - Math.min(...seen) > 0.5;
  }, 60_000);
  await page.screenshot({ path: `${pictures}/newcomer-rail-runs.png` });
  await run(false);
  // A slider that becomes a pin turns in the drawing again.
  await page.click('[aria-label="Start over"]').catch(() => {});
  await page.evaluate(() => linkwork.app.select({ kind: 'joint', id: 3 }));
  await drawn(page, 2);
  await page.click('[data-kind="pin"]');
  await until('a pin', async () => /joint pin-4: pin; object2 box-1;[^\n]*axis 0 0 1;[^\n]*axis 0 0 1; end/.test(await text()));
});

test('a cloth hangs from a bar by its upper corners, a rope from its end', async () => {
  await empty();
  await tool('bar');
  await drag([-0.6, 1.2], [0.6, 1.2]);
  await page.check('#inspect-fixed');
  await settled();
  await tool('cloth');
  await drag([-0.4, 1.2], [0.4, 0.6]);
  await until('it is told how to go on', async () => /Added cloth-1, held by its upper corners\./.test(await said()));
  assert.match(await text(), /cloth cloth-1:\n {2}grid 17 13 spacing 0\.05; at -0\.4 0\.6 0;/);
  assert.match(await text(), /pin 0 12 to bar-1 0\.2 0 0; pin 16 12 to bar-1 1 0 0;/);
  await drag([0.6, 1.2], [1, 1.2]);
  assert.match(await text(), /cloth rope-1:\n {2}grid 17 1 spacing 0\.025; at 0\.6 1\.2 0;[^]*pin 0 0 to bar-1 1\.2 0 0;/);
  await run(true);
  await until('the rope hangs down, and everything holds', async () => {
    const f = await frame(page);
    assert.ok(!f.rejected);
    const last = await page.evaluate(() => linkwork.app.scene.solids.findIndex((s) => s.name === 'rope-1.16.0'));
    assert.ok(last > 0);
    const at = await page.evaluate((i) => new linkwork.THREE.Vector3().setFromMatrixPosition(linkwork.solids.matrices[i]).toArray(), last);
    return at[1] < 0.95 && at[0] < 0.85;
  }, 60_000);
  await page.screenshot({ path: `${pictures}/newcomer-cloth.png` });
  await run(false);
  await page.click('[aria-label="Undo"]');
});

test('a car has a floor to roll on', async () => {
  await empty();
  assert.equal(await page.locator('#floor').getAttribute('aria-pressed'), 'false');
  await page.click('#floor');
  await until('a floor', async () => /solid floor-1: kernel fixed; shape plane 0 1 0; end/.test(await text()));
  assert.equal(await page.locator('#floor').getAttribute('aria-pressed'), 'true');
  await settled();
  await tool('box');
  await drag([-1, 0.2], [0.2, 0.6]);
  await tool('wheel');
  await drag([-0.8, 0.2], [-0.6, 0.2]);
  await drag([0, 0.2], [0.2, 0.2]);
  await tool('pin');
  for (const [n, x] of [[1, -0.8], [2, 0]]) {
    await click(x, 0.2);
    await until('a wheel is joined to the box, on whose edge its middle is', async () => new RegExp(`Joined (box-1 to wheel-${n}|wheel-${n} to box-1)`).test(await said()));
  }
  await tool('motor');
  await click(0, 0.2);
  await run(true);
  await until('it drives off', async () => Math.abs((await frame(page)).poses[7] + 0.4) > 0.3, 60_000);
  await page.screenshot({ path: `${pictures}/newcomer-car.png` });
  await run(false);
  await page.click('#floor');
  await until('without a floor', async () => !/floor-1/.test(await text()));
});

const PLATE = `scene title "Plate"; gravity 0 0 0; end
solid plate:
  shape capsule 0.02 from 0 0 0 to 0.8 0 0;
  shape capsule 0.02 from 0.8 0 0 to 0.4 0.6 0;
  shape capsule 0.02 from 0.4 0.6 0 to 0 0 0;
  shape plate 0.02 0 0  0.8 0  0.4 0.6; // the sheet
  mass 1; at -0.4 0.4 0;
end
joint pin-1: pin; object2 plate; frame1 -0.4 0.4 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end
`;

test('corners of a plate are dragged, with their rim; one that is joined goes with its joint', async () => {
  await empty(PLATE);
  await tool('select');
  await page.evaluate(() => linkwork.app.select({ kind: 'solid', id: 1 }));
  await drawn(page, 2);
  await drag([0, 1], [0.2, 1.2]);
  assert.equal(await text(), PLATE.replace('to 0.4 0.6 0;', 'to 0.6 0.8 0;').replace('from 0.4 0.6 0 to 0', 'from 0.6 0.8 0 to 0').replace('0.8 0  0.4 0.6;', '0.8 0  0.6 0.8;'));
  assert.equal((await settings(page)).undo, 1);
  assert.equal(await page.evaluate(() => linkwork.app.selection?.id), 1, 'it stays selected');
  await page.click('[aria-label="Undo"]');
  await until('as it was', async () => (await text()) === PLATE);
  await settled();
  // Where it is pinned the pin is dragged.
  await page.evaluate(() => linkwork.app.select({ kind: 'joint', id: 0 }));
  await drawn(page, 2);
  await drag([-0.4, 0.4], [-0.8, 0.2]);
  const now = await text();
  assert.match(now, /plate 0\.02 -0\.4 -0\.2 {2}0\.8 0 {2}0\.4 0\.6; \/\/ the sheet/);
  assert.match(now, /capsule 0\.02 from -0\.4 -0\.2 0 to 0\.8 0 0;[^]*from 0\.4 0\.6 0 to -0\.4 -0\.2 0;/);
  assert.match(now, /joint pin-1: pin; object2 plate; frame1 -0\.8 0\.2 0 axis 0 0 1; frame2 -0\.4 -0\.2 0 axis 0 0 1;/);
  assert.ok((await frame(page)).gap < 1e-6);
  await page.evaluate(() => linkwork.app.select({ kind: 'solid', id: 1 }));
  await settled();
  await page.screenshot({ path: `${pictures}/newcomer-plate.png` });
});

test('tools tell what they ask for on a phone as well, and places are told in round numbers', async (t) => {
  const small = await browser({ viewport: { width: 390, height: 844 }, extra: { hasTouch: true, isMobile: true } });
  t.after(() => small.close());
  const phone = await open(server.address, { on: small });
  await empty(undefined, phone);
  await phone.locator('[data-tool="bar"]').tap();
  const hint = phone.locator('.tool-hint');
  assert.ok(await hint.isVisible());
  assert.match(await hint.innerText(), /Drag from one end of the bar/);
  const [box, canvas] = [await hint.boundingBox(), await phone.locator('canvas').first().boundingBox()];
  assert.ok(box.y + box.height < canvas.y + 0.4 * canvas.height, 'and leave room to draw');
  const rows = await phone.evaluate(() => new Set([...document.querySelectorAll('.tool-row button, .tool-row select')].map((b) => Math.round(b.getBoundingClientRect().top))).size);
  assert.equal(rows, 2, 'in two rows');
  const q = await at(0, 0.4, 0, phone);
  await phone.touchscreen.tap(q.x, q.y);
  await drawn(phone, 2);
  assert.match(await phone.locator('.sketch-label').first().innerText(), /^0, [34]\d\d mm$/, 'a place, and no length and angle of nothing');
  await phone.screenshot({ path: `${pictures}/newcomer-phone.png` });
  assert.deepEqual(phone.complaints, []);
});
