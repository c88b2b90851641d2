// Calm by default: red only where something is wrong, a view that fits the motion, files, sliders, a camera that follows, video.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { browser, closeBrowser, command, drawn, frame, frames, grip, join, open, pictures, read, ready, scratch, serve, settings, until, write } from './harness.mjs';

let server, page, folder;
before(async () => {
  folder = scratch();
  server = await serve('scenes/fourbar.lw');
  page = await open(server.address);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

const text = () => page.evaluate(() => linkwork.app.scene.text);
const looks = () => page.evaluate(() => [...linkwork.tethers.told.values()].map((t) => t.look));
const name = () => page.evaluate(() => linkwork.app.scene.name);
const goTo = async (scene) => {
  await page.evaluate((scene) => linkwork.app.ask({ open: { scene } }), scene);
  await ready(page, scene);
};

test('a hand beside the path of a mechanism is no reason for red; one that is far away is', async () => {
  await command(page, { do: 'mode', mode: 'kinematic' });
  await command(page, { do: 'reset' });
  await frames(page, 3);
  await drawn(page, 2);
  const from = await grip(page, 'rocker', [1.1, 0, 0]);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await until('held', async () => (await frame(page)).grabs.length === 1);
  // Away from the pivot: the rocker cannot get longer.
  await page.mouse.move(from.x + 6, from.y - 45, { steps: 5 });
  await until('it is as near as it gets', async () => (await looks())[0] === 'near');
  assert.equal(await page.locator('.gap-label:visible').count(), 0, 'and nothing is said about it');
  await page.screenshot({ path: `${pictures}/calm-near.png` });
  await page.mouse.move(from.x + 300, from.y - 180, { steps: 8 });
  await until('it is out of reach', async () => (await looks())[0] === 'unmet');
  await until('which is said', async () => /out of reach/.test(await page.locator('.gap-label').first().innerText()));
  await page.mouse.up();
  await until('free', async () => (await frame(page)).grabs.length === 0);
  await command(page, { do: 'mode', mode: 'dynamic' });
});

test('the first view has room for what the scene will do', async () => {
  for (const id of ['arm2', 'ladder']) {
    await goTo(id);
    await command(page, { do: 'run', on: true });
    let seen = 0;
    for (let t = 0.2; t < 2.2; t += 0.4) {
      await until(`${t} s`, async () => (await frame(page)).time >= t, 60_000);
      await drawn(page, 1);
      const out = await page.evaluate(() => {
        const { app, solids, stage, THREE } = linkwork;
        const box = stage.canvas.getBoundingClientRect();
        return app.scene.solids.flatMap((s, i) => {
          if (s.kind !== 'dynamic') return [];
          const p = stage.toPage(new THREE.Vector3(...s.center).applyMatrix4(solids.matrices[i]));
          return p && p.x > box.left && p.x < box.right && p.y > box.top && p.y < box.bottom ? [] : [s.name];
        });
      });
      assert.deepEqual(out, [], `${id} at ${t} s`);
      seen++;
    }
    assert.ok(seen >= 5);
    await page.screenshot({ path: `${pictures}/calm-${id}.png` });
    await command(page, { do: 'run', on: false });
  }
});

test('beginners see the scenes first', async () => {
  const wide = await browser({ viewport: { width: 1280, height: 760 } });
  const first = await open(server.address, { on: wide });
  assert.equal(await first.locator('.panel.scenes').isVisible(), true);
  assert.equal(await first.locator('.panel.settings').isVisible(), false);
  await wide.close();
});

test('new, open, and a file dropped on the page; one with errors can be mended', async () => {
  await page.click('.menu summary');
  await page.click('#new-scene');
  await until('an empty scene', async () => (await name()) === 'untitled');
  assert.equal(await page.evaluate(() => linkwork.app.scene.solids.length), 1, 'the world alone');
  assert.match(await page.locator('.invitation').innerText(), /Build/);
  // Another new one is another one, with a view of its own.
  await page.mouse.move(600, 400);
  await page.mouse.wheel(0, 300);
  await page.click('.menu summary');
  await page.click('#new-scene');
  await until('the next one', async () => (await name()) === 'untitled-2');
  await ready(page);
  assert.equal(await page.evaluate(() => linkwork.stage.isHome), true);
  const file = join(folder, 'mine.lw');
  write(file, read('scenes/slider-crank.lw'));
  await page.click('.menu summary');
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('#open-file')]);
  await chooser.setFiles(file);
  await until('it is shown', async () => (await name()) === 'mine');
  assert.equal(await text(), read('scenes/slider-crank.lw'));
  const drop = async (title, content) => {
    const data = await page.evaluateHandle(([title, content]) => {
      const d = new DataTransfer();
      d.items.add(new File([content], title, { type: 'text/plain' }));
      return d;
    }, [title, content]);
    await page.dispatchEvent('canvas', 'dragover', { dataTransfer: data });
    assert.ok(await page.evaluate(() => document.body.classList.contains('dropping')));
    await page.dispatchEvent('canvas', 'drop', { dataTransfer: data });
  };
  await drop('pendulum.lw', read('scenes/pendulum.lw'));
  await until('it is shown', async () => (await name()) === 'pendulum');
  await ready(page);
  await drop('broken.lw', 'solid a: mass banana; end');
  await until('it is told', async () => /broken has errors; line 1/.test(await page.locator('.toast').innerText()));
  assert.equal(await name(), 'pendulum', 'the scene stays');
  assert.equal(await page.evaluate(() => linkwork.text.view.state.doc.toString()), 'solid a: mass banana; end');
  await page.click('#revert');
  await page.evaluate(() => linkwork.docks.toggle('text', false));
});

test('a file that is broken from the start is opened to be mended', async (t) => {
  const file = join(folder, 'typo.lw');
  write(file, 'solid a: mas 1; shape sphere 0.1; end\n');
  const server = await serve(file);
  t.after(() => server.stop());
  assert.match(server.said(), /did you mean `mass`/, 'told in the terminal as well');
  const page = await (await browser()).newPage();
  t.after(() => page.close());
  await page.goto(`${server.address}&quality=low`);
  await until('the banner tells', async () => /typo\.lw has errors/.test(await page.locator('.banner').innerText()));
  const editor = () => page.evaluate(() => linkwork.text.view.state.doc.toString());
  await until('its text is there', async () => /mas 1/.test(await editor()));
  await until('with the mistake marked', async () => (await page.locator('.cm-lintRange-error').count()) > 0);
  assert.equal(await page.locator('h1').innerText(), 'typo', 'without a title it is called by its file, not by its folders');
  await page.screenshot({ path: `${pictures}/mend.png` });
  await page.evaluate(() => {
    const { view } = linkwork.text;
    const at = view.state.doc.toString().indexOf('mas ');
    view.dispatch({ changes: { from: at + 3, insert: 's' } });
    view.focus();
  });
  await page.keyboard.press('Control+s');
  await until('it is mended', () => page.evaluate(() => linkwork.app.scene.solids.length === 2));
  await until('in the file too', () => readFileSync(file, 'utf8') === 'solid a: mass 1; shape sphere 0.1; end\n');
  await until('nothing is told any more', async () => !(await page.locator('.banner').isVisible()));
});

test('Backspace starts over', async () => {
  await goTo('fourbar');
  await until('time runs', async () => (await frame(page)).time > 0.3);
  await page.locator('canvas').focus();
  await command(page, { do: 'run', on: false });
  await page.keyboard.press('Backspace');
  await until('back to the start', async () => (await frame(page)).time === 0);
});

test('a motor has a slider that writes its speed; one drag is one undo', async () => {
  const before = await text();
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  const slider = page.locator('[data-motor]');
  assert.equal(await slider.count(), 1);
  assert.equal(Number(await slider.inputValue()), 2);
  const edits = (await settings(page)).undo;
  // What is found out about the mechanism stands above the slider, and comes later.
  await until('freedoms are counted', async () => /^\d+ freedom/.test(await page.locator('#freedoms').innerText()));
  const box = await slider.boundingBox();
  const x = (v) => box.x + 8 + ((v + 10) / 20) * (box.width - 16);
  await page.mouse.move(x(2), box.y + box.height / 2);
  await page.mouse.down();
  for (const v of [1, 0, -2, -4]) await page.mouse.move(x(v), box.y + box.height / 2, { steps: 2 });
  await page.mouse.up();
  // One text at a time: the last place of the slider is written once those before it are.
  await until('the text says so', async () => Math.abs(Number((await text()).match(/drive r1 speed (\S+);/)[1]) + 4) < 0.8);
  assert.equal((await text()).replace(/speed \S+;/, 'speed 2;'), before, 'nothing else has changed');
  assert.equal((await settings(page)).undo, edits + 1);
  await command(page, { do: 'run', on: true });
  await until('it turns the other way', () => page.evaluate(() => linkwork.overlays.coordinate(0, 'r1') < 0.2));
  await command(page, { do: 'run', on: false });
  await page.screenshot({ path: `${pictures}/calm-motor.png` });
  await page.click('[aria-label="Undo"]');
  await until('undone', async () => (await text()) === before);
});

test('a joint has a slider that turns it', async () => {
  await command(page, { do: 'reset' });
  await page.evaluate(() => (document.querySelector('#joint-sliders').open = true));
  const slider = page.locator('[data-joint-slider="0"]');
  await until('it shows the angle', async () => Math.abs(Number(await slider.inputValue()) - Math.PI / 3) < 0.02);
  await slider.focus();
  for (let i = 0; i < 12; i++) await page.keyboard.press('ArrowRight');
  await until('the crank has turned', () => page.evaluate(() => linkwork.overlays.coordinate(0, 'r1') > Math.PI / 3 + 0.08));
  await until('let go', async () => (await frame(page)).grabs.length === 0);
  assert.ok((await frame(page)).gap < 1e-4);
  await page.evaluate(() => linkwork.docks.toggle('outline', false));
});

test('what walks away stays in view: the camera goes along until it is told not to', async () => {
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'walker' } }));
  await ready(page, 'walker');
  await command(page, { do: 'run', on: false });
  const pressed = () => page.locator('[aria-label="Follow with the camera"]').getAttribute('aria-pressed');
  assert.equal(await pressed(), 'true');
  const seen = () =>
    page.evaluate(() => {
      const { solids, stage, app, THREE } = linkwork;
      const box = solids.bounds(new Set(app.scene.solids.flatMap((s, i) => (s.kind === 'dynamic' ? [i] : []))));
      const c = box.getCenter(new THREE.Vector3());
      const p = stage.root.localToWorld(c.clone()).project(stage.camera);
      return { x: c.x, off: Math.max(Math.abs(p.x), Math.abs(p.y)) };
    });
  const start = await seen();
  for (let n = 0; n < 30; n++) {
    await command(page, { do: 'step', count: 40 });
    await drawn(page, 1);
  }
  const end = await seen();
  assert.ok(Math.abs(end.x - start.x) > 1.5, `it has walked: ${start.x} to ${end.x}`);
  assert.ok(end.off < 0.6 && !(await page.locator('#find').isVisible()), `and is in view: ${end.off}`);
  const ground = await page.evaluate(() => ['floor', 'sun'].map((what) => (what === 'sun' ? linkwork.stage.sun.target : linkwork.stage.floor).position.x));
  for (const x of ground) assert.ok(Math.abs(x - end.x) < 1, `ground and light have gone along: ${x} for ${end.x}`);
  await page.locator('canvas').focus();
  await page.keyboard.press('v');
  await until('told not to', async () => (await pressed()) === 'false');
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'strandbeest' } }));
  await ready(page, 'strandbeest');
  assert.equal(await pressed(), 'true');
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'fourbar' } }));
  await ready(page, 'fourbar');
  assert.equal(await pressed(), 'false', 'what stays is looked at from where one stands');
});

test('what tips over and hangs below where it stood stays in view, above a ground', async () => {
  // As the acrobats do, who are many: held by one foot, they end upside down.
  const text = `scene title "Tips over"; end
solid pole: shape capsule 0.05 from 0 0 0 to 0.1 2 0; mass 1; end
joint foot: ball; object2 pole; end
`;
  await page.evaluate((text) => linkwork.app.connection.request('ask', { 'open-text': { name: 'tips', text } }), text);
  await ready(page, 'tips');
  if (!(await page.evaluate(() => linkwork.follow.on))) await page.click('.looks [aria-label="Follow with the camera"]');
  await command(page, { do: 'run', on: true });
  await until('it hangs', async () => page.evaluate(() => new linkwork.THREE.Vector3(0.1, 2, 0).applyMatrix4(linkwork.solids.matrices[1]).y < -1.5));
  await command(page, { do: 'run', on: false });
  await drawn(page, 3);
  const { ground, off } = await page.evaluate(() => {
    const { stage, solids, THREE } = linkwork;
    const p = stage.root.localToWorld(new THREE.Vector3(0.05, 1, 0).applyMatrix4(solids.matrices[1])).project(stage.camera);
    return { ground: stage.ground, off: Math.max(Math.abs(p.x), Math.abs(p.y)) };
  });
  assert.ok(ground < -1.5, `the ground is at ${ground}`);
  assert.ok(off < 0.5, `its middle is ${off} of half a view from the middle`);
  await page.screenshot({ path: `${pictures}/calm-tips-over.png` });
  const gallery = await page.evaluate(() => linkwork.app.hello.gallery.find((g) => g.id === 'characters').travels);
  assert.equal(gallery, true, 'the acrobats are followed');
  await page.evaluate(() => linkwork.follow.on && linkwork.follow.toggle());
});

test('the camera follows what falls, and a video of it can be taken away', async () => {
  await page.evaluate(() => linkwork.app.connection.request('ask', { 'open-text': { name: 'ball', text: 'solid ball: shape sphere 0.3; mass 1; at 0 2 0; end\n' } }));
  await ready(page, 'ball');
  await page.click('.looks [aria-label="Follow with the camera"]');
  const place = () => page.evaluate(() => linkwork.stage.toPage(new linkwork.THREE.Vector3(0, 0, 0).applyMatrix4(linkwork.solids.matrices[1])));
  await drawn(page, 2);
  const from = await place();
  await page.click('.menu summary');
  await page.click('#save-film');
  await command(page, { do: 'run', on: true });
  await until('it falls far', async () => (await frame(page)).poses[1] < -6);
  await command(page, { do: 'run', on: false });
  await drawn(page, 2);
  await until('it is where it was in the picture', async () => {
    const to = await place();
    return Math.hypot(to.x - from.x, to.y - from.y) < 3;
  });
  await drawn(page, 4);
  const [film] = await Promise.all([page.waitForEvent('download'), page.click('#stop-film')]);
  assert.equal(film.suggestedFilename(), 'ball.webm');
  const bytes = readFileSync(await film.path());
  assert.equal(bytes.subarray(0, 4).toString('hex'), '1a45dfa3', 'a WebM file');
  assert.ok(bytes.length > 2000, `${bytes.length} bytes`);
  await page.keyboard.press('v');
  assert.equal(await page.evaluate(() => linkwork.follow.on), false);
  assert.deepEqual(page.complaints, []);
});
