// One scene after the other: what is shown, found, kept, asked and told when scenes, files, links and connections change.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, command, drawn, frame, frames, join, open, pictures, read, ready, scratch, serve, settings, until, write } from './harness.mjs';

const fourbar = read('scenes/fourbar.lw');
const falling = 'scene title "Falling"; end solid stone: mass 1; shape sphere 0.1; end';
let server, page, file;
before(async () => {
  file = join(scratch(), 'my machine.lw');
  write(file, fourbar);
  server = await serve(file);
  page = await open(server.address);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

/** Where the solids' middle is on the picture, -1 to 1, and how large they are in it. */
const seen = (on = page) =>
  on.evaluate(() => {
    const { solids, stage, app, THREE } = linkwork;
    const box = solids.bounds(new Set(app.scene.solids.flatMap((s, i) => (s.kind === 'dynamic' ? [i] : [])))).applyMatrix4(stage.root.matrixWorld);
    const c = box.getCenter(new THREE.Vector3());
    const far = stage.camera.position.distanceTo(c);
    const p = c.project(stage.camera);
    return { off: Math.max(Math.abs(p.x), Math.abs(p.y)), size: box.getSize(new THREE.Vector3()).length() / far };
  });
const rest = () => until('the view rests', () => page.evaluate(() => linkwork.stage.flight === null));
const setText = async (text) => {
  await command(page, { do: 'set-text', text });
  await until('it is shown', () => page.evaluate((t) => linkwork.app.scene.text === t && linkwork.app.frame !== null, text));
  await drawn(page, 3);
};
const type = (content) => page.evaluate((c) => linkwork.text.view.dispatch({ changes: { from: 0, to: linkwork.text.view.state.doc.length, insert: c } }), content);
const typed = () => page.evaluate(() => linkwork.text.view.state.doc.toString());

test('what has left the view is offered to be found, by a button and by a key; the camera does not follow by itself', async () => {
  await command(page, { do: 'run', on: false });
  await setText(falling);
  assert.ok((await seen()).off < 0.5);
  assert.ok(!(await page.locator('#find').isVisible()));
  await command(page, { do: 'run', on: true });
  const eye = () => page.evaluate(() => linkwork.stage.camera.position.toArray());
  const before = await eye();
  await page.locator('#find').waitFor({ timeout: 30_000 });
  assert.deepEqual(await eye(), before, 'nothing moved the camera');
  await page.screenshot({ path: `${pictures}/find.png` });
  await command(page, { do: 'run', on: false });
  await page.click('#find');
  await rest();
  await drawn(page, 2);
  const found = await seen();
  assert.ok(found.off < 0.5 && found.size > 0.1, JSON.stringify(found));
  await until('the button goes', async () => (await frames(page, 1), !(await page.locator('#find').isVisible())));
  // Again, with the button that is always there.
  await command(page, { do: 'run', on: true });
  await page.locator('#find').waitFor();
  await command(page, { do: 'run', on: false });
  await page.click('button[aria-label="Fit all"]');
  await rest();
  await drawn(page, 2);
  assert.ok((await seen()).off < 0.5);
});

test('another content under the same name is looked at anew, a small edit is not; hint and gallery tell what is shown', async () => {
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'slider-crank' } }));
  await ready(page, 'slider-crank');
  // To a nanometre: the camera's controls turn its place to angles and back in each picture.
  const view = () => page.evaluate(() => linkwork.stage.camera.position.toArray().map((x) => Number(x.toFixed(9))));
  const small = await view();
  const text = await page.evaluate(() => linkwork.app.scene.text);
  await setText(text.replace(/mass ([\d.]+)/, 'mass 1.25'));
  assert.deepEqual(await view(), small, 'an edit keeps the view');
  const shown = () => page.evaluate(() => document.querySelector('.card[aria-current="true"]')?.dataset.scene ?? null);
  assert.equal(await shown(), 'slider-crank');
  assert.match(await page.locator('.invitation').innerText(), /piston/);
  // As a link does it.
  await setText(fourbar);
  const there = await seen();
  assert.ok(there.off < 0.5 && there.size > 0.15 && there.size < 1.2, JSON.stringify(there));
  assert.equal(await page.evaluate(() => linkwork.app.scene.name), 'slider-crank', 'though its name is the same');
  assert.equal(await shown(), 'fourbar');
  assert.match(await page.locator('.invitation').innerText(), /triangle/);
  await setText('scene title "Nothing"; end');
  assert.match(await page.locator('.invitation').innerText(), /Nothing moves here yet/);
  assert.equal(await shown(), null);
  assert.equal(await page.locator('.outline h3.count').first().textContent(), '0 solids');
  await setText(falling);
  assert.equal(await page.locator('.outline h3.count').first().textContent(), '1 solid');
});

test('the hint does not lie over the mechanism, and speaks of Space only where that would help', async () => {
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'circle' } }));
  await ready(page, 'circle');
  await command(page, { do: 'run', on: false });
  await until('it asks for Space', async () => /press Space/.test(await page.locator('.invitation').innerText()));
  await command(page, { do: 'run', on: true });
  await until('time runs', async () => /time is running/.test(await page.locator('.invitation').innerText()));
  for (const id of ['jansen', 'scissor-lift', 'stewart']) {
    await page.evaluate((scene) => linkwork.app.ask({ open: { scene } }), id);
    await ready(page, id);
    await command(page, { do: 'run', on: false });
    const [low, top] = await page.evaluate(() => {
      const { app, solids, stage, THREE } = linkwork;
      const low = Math.max(...app.scene.solids.map((s, i) => (s.kind === 'dynamic' ? stage.toPage(new THREE.Vector3(...s.center).applyMatrix4(solids.matrices[i])).y : 0)));
      return [low, document.querySelector('.invitation').getBoundingClientRect().top];
    });
    assert.ok(low < top, `${id}: ${low} is below ${top}`);
  }
});

test('another scene has its own text and undo; what would be lost is asked for first', async () => {
  await page.evaluate(() => linkwork.app.ask({ open: { scene: '' } }));
  await ready(page, file);
  // Room for two panels.
  await page.setViewportSize({ width: 1400, height: 640 });
  await page.evaluate(() => (linkwork.docks.toggle('scenes', true), linkwork.docks.toggle('text', true)));
  await type(`${fourbar}\n/* mine */`);
  await page.click('.card[data-scene="reach"]');
  await page.locator('dialog.ask').waitFor();
  assert.match(await page.locator('dialog.ask').innerText(), /not applied/);
  await page.screenshot({ path: `${pictures}/ask.png` });
  await page.keyboard.press('Escape');
  await page.locator('dialog.ask').waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => linkwork.app.scene.name), file, 'Escape stays');
  assert.equal(await typed(), `${fourbar}\n/* mine */`);
  // Applied, but nowhere on the disk.
  await page.click('#apply');
  await until('applied', () => page.evaluate(() => linkwork.app.scene.text.endsWith('/* mine */')));
  // Windows that were not there when it was typed know it as well.
  const other = await open(server.address);
  assert.equal((await settings(other)).unsaved, true);
  await other.close();
  await page.click('.card[data-scene="reach"]');
  assert.match(await page.locator('dialog.ask').innerText(), /unsaved/);
  await page.click('#answer-save');
  await ready(page, 'reach');
  assert.ok((await import('node:fs')).readFileSync(file, 'utf8').endsWith('/* mine */'), 'it is in the file');
  assert.equal(await typed(), await page.evaluate(() => linkwork.app.scene.text));
  assert.equal(await page.evaluate(() => document.querySelector('#apply').disabled), true);
  // Undo in the editor does not bring the other scene's text back.
  await page.locator('.cm-content').focus();
  await page.keyboard.press('Control+z');
  assert.equal(await typed(), await page.evaluate(() => linkwork.app.scene.text));
  await type('rubbish');
  await page.click('.card[data-scene="circle"]');
  await page.click('#answer-go');
  await ready(page, 'circle');
  assert.ok(!(await typed()).includes('rubbish'));
  // Somebody else goes on to another scene: what was typed here can be had back.
  await type('precious');
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'arm2' } }));
  await ready(page, 'arm2');
  const [saved] = await Promise.all([page.waitForEvent('download'), page.click('#stash')]);
  assert.equal(await (await import('node:fs/promises')).readFile(await saved.path(), 'utf8'), 'precious');
  // Nothing to lose, nothing to ask.
  await page.click('.card[data-scene=""]');
  await ready(page, file);
  await page.evaluate(() => (linkwork.docks.toggle('scenes', false), linkwork.docks.toggle('text', false)));
  await page.setViewportSize({ width: 1000, height: 640 });
  assert.deepEqual(page.complaints, []);
});

test('a link has no token, is taken once, and rubbish is called that', async () => {
  await page.evaluate(() => {
    navigator.clipboard.writeText = (text) => ((window.copied = text), Promise.resolve());
  });
  await page.click('.menu summary');
  await page.click('#copy-link');
  const link = await until('it is in the clipboard', () => page.evaluate(() => window.copied));
  assert.ok(!/token/.test(link) && /#scene=/.test(link), link.slice(0, 60));
  assert.equal(await page.evaluate(() => location.hash), '', 'the address is left alone');
  const text = await page.evaluate(() => linkwork.app.scene.text);
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'reach' } }));
  await ready(page, 'reach');
  // The address of this run with the scene: shown, and gone from the address.
  const there = await open(`${server.address}${link.slice(link.indexOf('#'))}`, { low: false });
  await until('the scene is there', async () => (await there.evaluate(() => linkwork.app.scene?.text)) === text);
  assert.equal(await there.evaluate(() => location.hash), '');
  await there.evaluate(() => linkwork.app.ask({ open: { scene: 'circle' } }));
  await ready(there, 'circle');
  await there.reload();
  await ready(there);
  await frames(there, 3);
  assert.equal(await there.evaluate(() => linkwork.app.scene.name), 'circle', 'reloading the page undoes nothing');
  await there.close();
  const enter = async (words) => {
    await page.click('.menu summary');
    await page.click('#open-link');
    await page.fill('#line', words);
    await page.keyboard.press('Enter');
  };
  await enter('https://example.org/ rubbish');
  await until('it says so', async () => /not a scene link/.test(await page.locator('.toast').innerText()));
  await enter('#scene=%%%');
  await until('it says so', async () => /damaged/.test(await page.locator('.toast').innerText()));
  await enter(link);
  await until('the scene is there', async () => (await page.evaluate(() => linkwork.app.scene?.text)) === text);
});

test('a connection that breaks comes back; a server that is gone is told, with what to do', async () => {
  await page.evaluate(() => linkwork.app.connection.socket.close());
  await until('it is told', async () => /open the new address that it prints/.test(await page.locator('.banner').innerText()));
  await until('it is back', async () => !(await page.locator('.banner').isVisible()));
  await frames(page, 3);
  await command(page, { do: 'run', on: false });
  // Another one is ended for good.
  const doomed = await serve('scenes/fourbar.lw');
  const there = await open(doomed.address);
  doomed.stop();
  await until('it is told', async () => /start it again/.test(await there.locator('.banner').innerText()));
  await there.locator('.view canvas').focus();
  await there.keyboard.press('Space');
  await there.waitForTimeout(300);
  assert.ok(!(await there.locator('.toast').isVisible()), 'keys do not complain');
  await there.close();
});
