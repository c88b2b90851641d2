// Grabbing: the point goes to the pointer, loops stay closed, release, undo and Escape do what they say.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, command, drawn, frame, frames, grip, open, pictures, serve, settings, until } from './harness.mjs';

let server, page;
before(async () => {
  server = await serve('scenes/fourbar.lw');
  page = await open(server.address);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

async function startOver(mode = 'kinematic', running = false) {
  await command(page, { do: 'mode', mode });
  await command(page, { do: 'reset' });
  await command(page, { do: 'run', on: running });
  await frames(page, 3);
  await drawn(page, 2);
}

/** Distance on the page between two points. */
const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
const held = (n) => until(`${n} hands hold something`, async () => (await frame(page)).grabs.length === n);

/** Takes hold of the rocker's tip and gives its place on the page, and the pivot's. */
async function takeRocker() {
  const from = await grip(page, 'rocker', [1.1, 0, 0]);
  assert.ok(from, 'the rocker can be seen');
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await held(1);
  const pivot = await page.evaluate(() => linkwork.stage.toPage(new linkwork.THREE.Vector3(2, 0, 0.06)));
  return { from, pivot };
}

/** Along the circle of the rocker's tip. */
async function turn({ from, pivot }, by, pieces = 12) {
  const angle = Math.atan2(from.y - pivot.y, from.x - pivot.x);
  const radius = apart(from, pivot);
  let to;
  for (let i = 1; i <= pieces; i++) {
    const a = angle + (by * i) / pieces;
    to = { x: pivot.x + radius * Math.cos(a), y: pivot.y + radius * Math.sin(a) };
    await page.mouse.move(to.x, to.y);
    await frames(page, 2);
  }
  return to;
}

test('a drag moves the grabbed point to the pointer, and every loop stays closed', async () => {
  await startOver();
  const { tolerance } = await settings(page);
  const from = await grip(page, 'rocker', [1.1, 0, 0]);
  await page.mouse.move(from.x, from.y);
  await until('the rocker is under the mouse', () => page.evaluate(() => linkwork.app.scene.solids[linkwork.pointer.hovered]?.name === 'rocker'));
  assert.equal(await page.evaluate(() => linkwork.solids.marks.get(linkwork.pointer.hovered)), 'hover', 'it lights up');
  assert.equal(await page.locator('.caption').innerText(), 'rocker');
  assert.equal(await page.evaluate(() => linkwork.stage.canvas.style.cursor), 'grab');
  assert.ok(await page.locator('.invitation').isVisible(), 'the page says what to do');
  const to = await turn(await takeRocker(), -0.24);
  const rest = await until('it rests', async () => {
    const f = await frame(page);
    return f.grabs.length === 1 && f.limit === 'idle' ? f : null;
  });
  // The pointer moves in a plane and the tip on a circle behind glass: it comes as near as the mechanism allows, and no
  // joint may open for it.
  assert.ok(rest.gap <= tolerance, `loops are closed: ${rest.gap}`);
  const shown = await page.evaluate((p) => linkwork.stage.toPage(new linkwork.THREE.Vector3(...p)), rest.grabs[0].grip);
  assert.ok(apart(shown, to) < 12, `the grip is ${apart(shown, to)} px from the pointer`);
  assert.ok(!(await page.locator('.invitation').isVisible()), 'and stops saying so once it is done');
  await page.mouse.up();
  await held(0);
  assert.deepEqual(page.complaints, []);
});

test('a reachable point is met to the tolerance', async () => {
  await startOver();
  // A target on the circle itself, in space: what the pin must meet exactly.
  const { tolerance } = await settings(page);
  await command(page, { do: 'grab', hand: 900, solid: 'rocker', point: [1.2, 0, 0] });
  // The rocker swings between 86 and 146 degrees.
  const angle = (100 * Math.PI) / 180;
  await command(page, { do: 'drag', hand: 900, position: [2 + 1.2 * Math.cos(angle), 1.2 * Math.sin(angle), 0] });
  const f = await until('it is met', async () => {
    const f = await frame(page);
    return f.grabs[0]?.met && f.limit === 'idle' ? f : null;
  });
  assert.ok(f.grabs[0].gap <= tolerance, `${f.grabs[0].gap}`);
  assert.ok(f.gap <= tolerance, `${f.gap}`);
  await command(page, { do: 'release', hand: 900 });
});

test('what cannot be met is said in red and in millimetres, and the loops stay closed', async () => {
  await startOver();
  const { from } = await takeRocker();
  await page.mouse.move(from.x + 260, from.y - 140, { steps: 12 });
  const label = page.locator('.gap-label');
  await until('the gap is told', async () => (await label.isVisible()) && /gap [\d.]+ (mm|m)/.test(await label.innerText()));
  const f = await until('it rests', async () => {
    const f = await frame(page);
    return f.grabs[0] && !f.grabs[0].met && f.limit === 'idle' ? f : null;
  });
  assert.ok(f.gap < 1e-4, `the mechanism is whole: ${f.gap}`);
  await page.screenshot({ path: `${pictures}/unmet.png` });
  await page.mouse.up();
  await held(0);
});

test('Escape and undo bring back the very state, bit for bit', async () => {
  await startOver();
  const before = (await frame(page)).hash;
  const start = await takeRocker();
  await turn(start, -0.2);
  assert.notEqual((await frame(page)).hash, before);
  await page.keyboard.press('Escape');
  await until('Escape restores', async () => (await frame(page)).hash === before);
  assert.equal((await frame(page)).grabs.length, 0);
  await page.mouse.up();

  await turn(await takeRocker(), -0.2);
  await page.mouse.up();
  await held(0);
  const after = await until('it rests elsewhere', async () => {
    const f = await frame(page);
    return f.hash !== before && f.limit === 'idle' ? f.hash : null;
  });
  await page.click('button[aria-label="Undo"]');
  await until('undo restores', async () => (await frame(page)).hash === before);
  await page.click('button[aria-label="Redo"]');
  await until('redo brings it back', async () => (await frame(page)).hash === after);
});

test('release keeps the velocity in dynamic mode, and none in kinematic mode', async () => {
  // Held while it stands still, so that the mouse finds it where it was seen.
  await startOver('dynamic', false);
  const start = await takeRocker();
  await command(page, { do: 'run', on: true });
  await turn(start, -0.3, 8);
  await page.mouse.up();
  await held(0);
  const f = await frame(page);
  assert.ok(f.kinetic > 1e-6, `it moves on: ${f.kinetic} J`);

  await startOver('kinematic');
  await turn(await takeRocker(), -0.2, 6);
  await page.mouse.up();
  await held(0);
  await frames(page, 6);
  const still = await frame(page);
  assert.equal(still.kinetic, 0);
  const hash = still.hash;
  await frames(page, 6);
  assert.equal((await frame(page)).hash, hash, 'nothing moves any more');
});

test('two hands at once, and a pull with a force that is shown', async () => {
  await startOver();
  await command(page, { do: 'grab', hand: 901, solid: 'crank', point: [0.6, 0, 0] });
  await command(page, { do: 'grab', hand: 902, solid: 'rocker', point: [1.2, 0, 0], mode: 'pull' });
  await held(2);
  await command(page, { do: 'mode', mode: 'dynamic' });
  await command(page, { do: 'run', on: true });
  await command(page, { do: 'drag', hand: 902, position: [2.6, 1, 0] });
  await until('the pull has a force', async () => {
    const f = await frame(page);
    return f.grabs.some((g) => g.mode === 2 && Math.hypot(...g.force) > 0);
  });
  for (const hand of [901, 902]) await command(page, { do: 'release', hand });
  await held(0);
});
