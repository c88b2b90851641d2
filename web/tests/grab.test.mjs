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
  const rims = () => page.evaluate(() => linkwork.solids.rims.map((r) => `${linkwork.app.scene.solids[r.solid].name} #${r.mesh.material.uniforms.color.value.getHexString()}`));
  assert.deepEqual(await rims(), ['rocker #0a4fb5'], 'what is held has a rim in the accent colour');
  const rest = await until('it rests', async () => {
    const f = await frame(page);
    return f.grabs.length === 1 && f.limit === 'idle' ? f : null;
  });
  // The tip moves on a circle that is seen at a slant: no joint may open for it.
  assert.ok(rest.gap <= tolerance, `loops are closed: ${rest.gap}`);
  const shown = await page.evaluate((p) => linkwork.stage.toPage(new linkwork.THREE.Vector3(...p)), rest.grabs[0].grip);
  assert.ok(apart(shown, to) < 3, `the grip is ${apart(shown, to)} px from the pointer`);
  assert.ok(!(await page.locator('.invitation').isVisible()), 'and stops saying so once it is done');
  await page.mouse.up();
  await held(0);
  assert.deepEqual(page.complaints, []);
});

test('a planar mechanism seen at a slant follows the pointer, and is met', async () => {
  for (const mode of ['kinematic', 'dynamic']) {
    await startOver(mode);
    const from = await grip(page, 'crank', [0.55, 0, 0]);
    // The grabbed point's own circle, as the camera shows it.
    const circle = await page.evaluate((at) => {
      const { pointer, solids, stage, THREE } = linkwork;
      const { solid, point } = pointer.pick(at.x, at.y);
      const middle = new THREE.Vector3().setFromMatrixPosition(solids.matrices[solid]);
      const around = (k) => point.clone().sub(middle).applyAxisAngle(new THREE.Vector3(0, 0, 1), 0.05 * k).add(middle);
      return Array.from({ length: 24 }, (_, k) => stage.toPage(around(k + 1)));
    }, from);
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await held(1);
    for (const to of circle) {
      await page.mouse.move(to.x, to.y);
      await frames(page, 2);
    }
    await until('it rests', async () => (await frame(page)).limit === 'idle');
    const f = await until('it is met', async () => {
      const f = await frame(page);
      return f.grabs[0]?.met ? f : null;
    });
    const shown = await page.evaluate((p) => linkwork.stage.toPage(new linkwork.THREE.Vector3(...p)), f.grabs[0].grip);
    assert.ok(apart(shown, circle.at(-1)) < 3, `${mode}: the grip is ${apart(shown, circle.at(-1))} px from the pointer`);
    await drawn(page, 2);
    assert.deepEqual(await page.evaluate(() => [...linkwork.tethers.told.values()].map((t) => t.look)), ['met']);
    await page.screenshot({ path: `${pictures}/planar-${mode}.png` });
    await page.mouse.up();
    await held(0);
  }
});

test('what floats freely keeps its distance from the eye, unless the wheel moves it', async () => {
  await startOver('dynamic');
  const before = await page.evaluate(() => linkwork.app.scene.text);
  await command(page, { do: 'set-text', text: 'scene gravity 0 0 0; end solid float: mass 2; shape box 1 0.6 0.4; end' });
  await until('it is there', () => page.evaluate(() => linkwork.app.scene.solids[1]?.name === 'float' && linkwork.app.frame !== null));
  await command(page, { do: 'run', on: true });
  await drawn(page, 3);
  const depth = () =>
    page.evaluate(() => {
      const { stage, app, THREE } = linkwork;
      const p = stage.root.localToWorld(new THREE.Vector3(...app.frame.grabs[0].grip)).sub(stage.camera.position);
      return p.dot(stage.camera.getWorldDirection(new THREE.Vector3()));
    });
  const from = await grip(page, 'float', [0.3, 0.1, 0.2]);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await held(1);
  await frames(page, 2);
  const first = await depth();
  for (let i = 1; i <= 16; i++) {
    await page.mouse.move(from.x + 60 * Math.sin(0.8 * i), from.y + 40 * Math.cos(0.8 * i));
    await frames(page, 2);
  }
  await frames(page, 20);
  const then = await depth();
  assert.ok(Math.abs(then - first) < 1e-3 * first, `it crept from ${first} to ${then}`);
  await page.mouse.wheel(0, 200);
  await until('the wheel pushed it away', async () => (await depth()) > 1.08 * first);
  await frames(page, 40);
  assert.ok((await depth()) > 1.08 * first, 'where it stays');
  await page.mouse.up();
  await held(0);
  await command(page, { do: 'set-text', text: before });
  await until('back', () => page.evaluate(() => linkwork.app.scene.solids[1]?.name === 'crank' && linkwork.app.frame !== null));
  await page.evaluate(() => linkwork.stage.resetView());
  await until('the view rests', () => page.evaluate(() => linkwork.stage.flight === null));
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
  await until('the gap is told', async () => (await label.isVisible()) && /^[\d.]+ (mm|m) out of reach$/.test(await label.innerText()));
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
  // It is no failure: not red unless it can pull no harder, and then it says so.
  await until('the force is told', async () =>
    (await page.locator('.gap-label:visible').allInnerTexts()).some((t) => /^pull [\d.]+( of [\d.]+ N| N, at its limit)$/.test(t)),
  );
  await page.screenshot({ path: `${pictures}/pull.png` });
  for (const hand of [901, 902]) await command(page, { do: 'release', hand });
  await held(0);
});

test('handles move the selected solid along an axis and turn it about one', async () => {
  await startOver();
  const start = await frame(page);
  await page.evaluate(() => linkwork.app.select({ kind: 'solid', id: linkwork.app.scene.solids.findIndex((s) => s.name === 'rocker') }));
  await page.locator('.view canvas').focus();
  /** A point of the page well within this handle (beside it may be another one), and which way it leads. */
  const handle = (axis) =>
    until(`handle ${axis}`, () =>
      page.evaluate((axis) => {
        const { app, stage, solids, handles, THREE } = linkwork;
        const i = app.selection.id;
        const c = stage.toPage(new THREE.Vector3(...app.scene.solids[i].center).applyMatrix4(solids.matrices[i]));
        for (let r = 130; r > 20; r -= 3)
          for (let k = 0; k < 72; k++) {
            const p = { x: c.x + r * Math.cos(k * 0.0873), y: c.y + r * Math.sin(k * 0.0873) };
            const near = [[0, 0], [3, 0], [-3, 0], [0, 3], [0, -3]];
            if (near.every(([x, y]) => handles.hit(p.x + x, p.y + y) === axis)) return { ...p, c };
          }
        return null;
      }, axis),
    );
  const turned = async () =>
    page.evaluate(() => {
      const q = new linkwork.THREE.Quaternion().setFromRotationMatrix(linkwork.solids.matrices[linkwork.app.selection.id]);
      return 2 * Math.atan2(q.z, q.w);
    });
  /** The pointer over this handle, as the page itself sees it once everything that was on its way has been drawn. */
  const point = (axis) =>
    until(`the pointer is over ${axis}`, async () => {
      const p = await handle(axis);
      await page.mouse.move(p.x, p.y);
      await frames(page, 3);
      return (await page.evaluate(({ x, y }) => linkwork.handles.hit(x, y), p)) === axis ? p : null;
    });
  const angle = await turned();
  await page.keyboard.press('h');
  const x = await point('X');
  await page.mouse.down();
  await held(1);
  await page.mouse.move(x.x + 0.4 * (x.c.x - x.x), x.y + 0.4 * (x.c.y - x.y), { steps: 8 });
  await until('it follows', async () => Math.abs((await turned()) - angle) > 0.05);
  await page.screenshot({ path: `${pictures}/handles-move.png` });
  await page.keyboard.press('Escape');
  await until('it is back', async () => (await frame(page)).hash === start.hash);
  await page.mouse.up();
  await held(0);

  await page.keyboard.press('h');
  const z = await point('Z');
  await page.mouse.down();
  await held(1);
  const [dx, dy] = [z.x - z.c.x, z.y - z.c.y];
  const turnTo = (a) => page.mouse.move(z.c.x + dx * Math.cos(a) - dy * Math.sin(a), z.c.y + dx * Math.sin(a) + dy * Math.cos(a));
  for (let k = 1; k <= 10; k++) {
    await turnTo(-0.03 * k);
    await frames(page, 2);
  }
  // The turn is the whole of it: where the solid goes with it is the mechanism's affair.
  const f = await until('it has turned', async () => {
    const f = await frame(page);
    return Math.abs((await turned()) - angle) > 0.15 && f.grabs[0]?.met ? f : null;
  });
  assert.ok(f.gap < 1e-4, `${f.gap}`);
  await page.screenshot({ path: `${pictures}/handles-turn.png` });
  // Wherever the turn ends it is met: the place asked for keeps nothing of it back.
  for (let k = 1; k <= 24; k++) {
    const was = await turned();
    await turnTo(-0.3 + 0.011 * k + 0.004 * (k % 3));
    await until(`turn ${k} is met`, async () => Math.abs((await turned()) - was) > 1e-3 && (await frame(page)).grabs[0]?.met, 10_000);
  }
  await page.mouse.up();
  await held(0);
  await page.keyboard.press('Control+z');
  await until('one undo', async () => (await frame(page)).hash === start.hash);
  await page.keyboard.press('h');
  assert.equal(await page.evaluate(() => linkwork.handles.mode), 'off');
});
