// VR with an emulated headset: enter, ray grab, direct grab, two hands, hand over, release; the same session.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { closeBrowser, command, drawn, frame, frames, open, pictures, root, serve, until } from './harness.mjs';

const headset =
  readFileSync(`${root}/web/node_modules/iwer/build/iwer.js`, 'utf8') +
  `;window.xrDevice = new IWER.XRDevice(IWER.metaQuest3); xrDevice.installRuntime({ forceInstall: true });
   xrDevice.stereoEnabled = true; xrDevice.position.set(0, 1.6, 0.6);`;

let server, page;
before(async () => {
  server = await serve('scenes/fourbar.lw');
  page = await open(server.address, { init: headset });
  await command(page, { do: 'mode', mode: 'kinematic' });
  await command(page, { do: 'reset' });
  await frames(page, 3);
  await drawn(page, 2);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

/** So many pictures in the headset. */
async function looks(n = 3) {
  const from = await page.evaluate(() => linkwork.stage.drawnXr);
  await page.waitForFunction((to) => linkwork.stage.drawnXr >= to, from + n, { timeout: 60_000 });
}

/** Puts a controller somewhere in the scene, pointing along -z; gives the room's coordinates. */
const place = (hand, point) =>
  page.evaluate(
    ([hand, point]) => {
      const { stage, THREE } = linkwork;
      const room = stage.rig.worldToLocal(stage.root.localToWorld(new THREE.Vector3(...point)));
      const c = xrDevice.controllers[hand];
      c.position.set(room.x, room.y, room.z);
      c.quaternion.set(0, 0, 0, 1);
      return room.toArray();
    },
    [hand, point],
  );
const press = (hand, button, value) => page.evaluate(([h, b, v]) => xrDevice.controllers[h].updateButtonValue(b, v), [hand, button, value]);
/** The world's place of a point of a solid. */
const world = (solid, point) =>
  page.evaluate(
    ([solid, point]) => {
      const { app, solids, THREE } = linkwork;
      const i = app.scene.solids.findIndex((s) => s.name === solid);
      return new THREE.Vector3(...point).applyMatrix4(solids.matrices[i]).toArray();
    },
    [solid, point],
  );
const grabs = async () => (await frame(page)).grabs;
const name = (solid) => page.evaluate((i) => linkwork.app.scene.solids[i].name, solid);
const held = (n) => until(`${n} hands hold something`, async () => (await grabs()).length === n);

test('VR is entered, and nothing moves the eyes', async () => {
  await until('the headset is offered', () => page.locator('#vr').isVisible());
  await page.click('#vr');
  await until('a session runs', () => page.evaluate(() => linkwork.stage.renderer.xr.isPresenting));
  await looks(4);
  const rig = await page.evaluate(() => linkwork.stage.rig.matrix.toArray());
  await page.evaluate(() => xrDevice.position.set(0.1, 1.5, 0.5));
  await looks(4);
  assert.deepEqual(await page.evaluate(() => linkwork.stage.rig.matrix.toArray()), rig);
  assert.equal(await page.evaluate(() => linkwork.stage.renderer.xr.getCamera().cameras.length), 2);
  await page.screenshot({ path: `${pictures}/vr.png` });
});

test('select grabs along the ray, the solid follows, and letting go leaves it', async () => {
  const [x, y, z] = await world('rocker', [1.1, 0, 0]);
  await place('right', [x, y, z + 1]);
  await looks();
  // What the controllers' motors are told.
  await page.evaluate(() => {
    window.felt = [];
    for (const c of linkwork.xr.controllers) {
      Object.defineProperty(c.source.gamepad, 'hapticActuators', { configurable: true, value: [{ pulse: (s, ms) => (felt.push([c.hand, s, ms]), Promise.resolve(true)) }] });
    }
  });
  const pulses = await page.evaluate(() => linkwork.xr.pulses);
  await press('right', 'trigger', 1);
  await held(1);
  assert.deepEqual((await page.evaluate(() => felt)).map(([hand]) => hand), ['right'], 'the hand that took hold feels it');
  const [g] = await grabs();
  assert.equal(await name(g.solid), 'rocker');
  assert.ok((await page.evaluate(() => linkwork.xr.pulses)) > pulses, 'a tick is felt');
  assert.ok(g.gap < 1e-3, `it does not jump into the hand: ${g.gap}`);
  await place('right', [x - 0.15, y, z + 1]);
  await until('the target follows the hand', async () => Math.abs((await grabs())[0].target[0] - (g.target[0] - 0.15)) < 0.01);
  await until('and the solid the target', async () => (await grabs())[0].grip[0] < g.grip[0] - 0.05);
  assert.ok((await frame(page)).gap < 1e-3, 'loops stay closed');
  await press('right', 'trigger', 0);
  await held(0);
});

test('squeeze takes the nearest solid, and a pin that cannot be met is felt', async () => {
  const at = await world('crank', [0.3, 0, 0]);
  // The grip is offset from the ray; aim so that the grip is at the solid.
  await place('left', at);
  await looks();
  await press('left', 'squeeze', 1);
  await held(1);
  const [g] = await grabs();
  assert.equal(await name(g.solid), 'crank');
  assert.ok(g.gap < 1e-3, `it does not jump: ${g.gap}`);
  const pulses = await page.evaluate(() => linkwork.xr.pulses);
  await place('left', [at[0] - 0.9, at[1] + 0.9, at[2] + 0.5]);
  await until('it cannot be met', async () => !(await grabs())[0].met);
  await looks(4);
  await until('that is felt', async () => (await page.evaluate(() => linkwork.xr.pulses)) > pulses);
  // And read, on a sign in the room: the page's labels do not reach into a headset.
  const sign = await page.evaluate(() => {
    const [s] = linkwork.tethers.signs.filter((s) => s.sprite.visible);
    return s && { said: s.said, room: s.sprite.scale.x / linkwork.stage.rig.scale.x };
  });
  assert.match(sign.said, /^[\d.]+( m?m|°) out of reach/);
  assert.ok(sign.room > 0.1 && sign.room < 0.5, `${sign.room} m wide`);
  await page.screenshot({ path: `${pictures}/vr-sign.png` });
  await press('left', 'squeeze', 0);
  await held(0);
});

test('two hands, and a solid goes from hand to hand without a jump', async () => {
  await command(page, { do: 'reset' });
  await frames(page, 3);
  await looks();
  const a = await world('coupler', [0.9, 0.7, 0]);
  const b = await world('rocker', [0.6, 0, 0]);
  await place('right', [a[0], a[1], a[2] + 1]);
  await place('left', [b[0], b[1], b[2] + 1]);
  await looks();
  await press('right', 'trigger', 1);
  await held(1);
  await press('left', 'trigger', 1);
  await held(2);
  assert.deepEqual((await Promise.all((await grabs()).map((g) => name(g.solid)))).sort(), ['coupler', 'rocker']);
  await press('left', 'trigger', 0);
  await held(1);
  // Hand over: the left hand takes the same solid elsewhere, then the right one lets go.
  const c = await world('coupler', [1.5, 0.25, 0]);
  const other = await world('coupler', [1.6, 0, 0]);
  await place('left', [other[0], other[1], c[2] + 1]);
  await looks();
  await press('left', 'trigger', 1);
  await held(2);
  assert.equal(new Set((await grabs()).map((g) => g.solid)).size, 1);
  // Two hands on one solid may disagree by what the tolerance allows: at rest is what hardly moves.
  await until('it rests', async () => {
    const first = (await frame(page)).poses;
    await frames(page, 4);
    const then = (await frame(page)).poses;
    return Math.max(...first.map((x, i) => Math.abs(x - then[i]))) < 2e-4;
  });
  const before = (await frame(page)).poses;
  await press('right', 'trigger', 0);
  await held(1);
  await frames(page, 6);
  const after = (await frame(page)).poses;
  const jump = Math.max(...before.map((x, i) => Math.abs(x - after[i])));
  assert.ok(jump < 2e-3, `nothing jumps: ${jump}`);
  await press('left', 'trigger', 0);
  await held(0);
});

test('buttons and sticks do what keys do elsewhere', async () => {
  await command(page, { do: 'mode', mode: 'dynamic' });
  await command(page, { do: 'reset' });
  await command(page, { do: 'run', on: false });
  const tap = async (hand, button) => {
    await press(hand, button, 1);
    await looks(2);
    await press(hand, button, 0);
    await looks(2);
  };
  const running = () => page.evaluate(() => linkwork.app.settings.running);
  await tap('right', 'a-button');
  await until('A runs', running);
  await tap('left', 'x-button');
  await until('X pauses', async () => !(await running()));
  const stick = async (x) => {
    for (const at of [x, 0]) {
      await page.evaluate((x) => xrDevice.controllers.right.updateAxes('thumbstick', x, 0), at);
      await looks(2);
    }
  };
  await frames(page, 2);
  const paused = await frame(page);
  await stick(1);
  await until('a step', async () => (await frame(page)).time > paused.time + 1e-6);
  await stick(-1);
  await until('and back', async () => (await frame(page)).hash === paused.hash);
  const before = await page.evaluate(() => linkwork.app.settings.undo);
  await command(page, { do: 'enable', joint: 1, on: false });
  await until('an edit', () => page.evaluate((n) => linkwork.app.settings.undo > n, before));
  await tap('right', 'b-button');
  await until('B undoes', () => page.evaluate((n) => linkwork.app.settings.undo === n, before));
  // What ran away stands in front of the user again when the stick is pressed.
  const rig = () => page.evaluate(() => linkwork.stage.rig.position.toArray().concat(linkwork.stage.rig.scale.x));
  const home = await rig();
  await page.evaluate(() => linkwork.stage.rig.position.set(9, 9, 9));
  await tap('left', 'thumbstick');
  const back = await rig();
  assert.ok(Math.hypot(...back.slice(0, 3).map((x, i) => x - home[i])) < 1, `${back}`);
});

test('another scene comes as large as the one before, and stands in front of the user', async () => {
  const size = () => page.evaluate(() => linkwork.stage.radius / linkwork.stage.rig.scale.x);
  const before = [await size(), await page.evaluate(() => linkwork.stage.radius)];
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'characters' } }));
  await page.waitForFunction(() => linkwork.app.scene.name === 'characters' && linkwork.app.frame !== null);
  await looks(4);
  assert.ok(Math.abs((await page.evaluate(() => linkwork.stage.radius)) - before[1]) > 0.2, 'it is of another size');
  assert.ok(Math.abs((await size()) - before[0]) < 1e-6, 'but looks the same');
  await page.screenshot({ path: `${pictures}/vr-characters.png` });
  await page.evaluate(() => linkwork.app.ask({ open: { scene: '' } }));
  await page.waitForFunction(() => linkwork.app.scene.name.endsWith('fourbar.lw') && linkwork.app.frame !== null);
  await command(page, { do: 'run', on: false });
  await command(page, { do: 'mode', mode: 'kinematic' });
  await looks(3);
});

test('a sheet is held where the ray meets it, and by a hand that is near', async () => {
  const text = 'scene gravity 0 0 0; end cloth s: grid 9 9 spacing 0.1; mass 1; stretch 100 1; shear 50 1; pin 0 0; end';
  await command(page, { do: 'set-text', text });
  await page.waitForFunction(() => linkwork.app.scene.softs.length === 1 && linkwork.app.frame !== null);
  await command(page, { do: 'mode', mode: 'dynamic' });
  await command(page, { do: 'run', on: true });
  await looks(4);
  const at = await world('s.6.3', [0.03, -0.02, 0]);
  await place('right', [at[0], at[1], at[2] + 1]);
  await looks();
  await press('right', 'trigger', 1);
  await held(1);
  assert.equal(await name((await grabs())[0].solid), 's.6.3');
  const corner = await world('s.2.7', [0, 0, 0]);
  await place('left', [corner[0], corner[1], corner[2] + 0.02]);
  await looks();
  await press('left', 'squeeze', 1);
  await held(2);
  const names = await Promise.all((await grabs()).map((g) => name(g.solid)));
  assert.ok(names.includes('s.6.3') && names.some((n) => /^s\.[1-3]\.[6-8]$/.test(n)), names.join());
  await place('right', [at[0], at[1], at[2] + 1.15]);
  await until('it follows the ray', async () => (await world('s.6.3', [0, 0, 0]))[2] > 0.1);
  await press('right', 'trigger', 0);
  await press('left', 'squeeze', 0);
  await held(0);
  await page.evaluate(() => linkwork.app.ask({ open: { scene: '' } }));
  await page.waitForFunction(() => linkwork.app.scene.name.endsWith('fourbar.lw') && linkwork.app.frame !== null);
  await command(page, { do: 'run', on: false });
  await command(page, { do: 'mode', mode: 'kinematic' });
  await looks(3);
});

test('leaving VR lets go and gives the view back', async () => {
  const a = await world('coupler', [0.9, 0.7, 0]);
  await place('right', [a[0], a[1], a[2] + 1]);
  await looks();
  await press('right', 'trigger', 1);
  await held(1);
  await page.evaluate(() => xrDevice.activeSession.end());
  await held(0);
  await until('the page draws again', () => page.evaluate(() => !linkwork.stage.renderer.xr.isPresenting));
  await drawn(page, 2);
  assert.deepEqual(page.complaints, []);
});

test('--xr serves HTTPS with a certificate of its own, and the page works over it', async () => {
  const secure = await serve('scenes/reach.lw', '--xr');
  try {
    assert.match(secure.address, /^https:/);
    const there = await open(secure.address);
    await frames(there, 5);
    assert.equal((await frame(there)).count, await there.evaluate(() => linkwork.app.scene.solids.length - 1));
    await there.close();
  } finally {
    secure.stop();
  }
});
