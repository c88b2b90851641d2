// Large scenes: how long from the pointer to the picture, how many draw calls, and a thousand rows that scroll.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { binary, closeBrowser, command, drawn, frame, frames, join, open, scratch, serve, until, write } from './harness.mjs';

let folder;
before(() => {
  folder = scratch();
  // 1248 bars in one island: the ladder of the papers' tables.
  const ladder = execFileSync(binary(), ['generate', 'ladder', '6', '96'], { maxBuffer: 1 << 26 });
  write(join(folder, 'ladder.lw'), ladder);
});
after(closeBrowser);

/** The solid nearest to the middle of the page that can be picked there. */
const something = (page) =>
  page.evaluate(() => {
    const { stage, pointer, app } = linkwork;
    const box = stage.canvas.getBoundingClientRect();
    for (let r = 0; r < 0.45 * box.height; r += 3)
      for (let k = 0; k < 24; k++) {
        const [x, y] = [box.x + 0.5 * box.width + r * Math.cos(k * 0.27), box.y + 0.5 * box.height + r * Math.sin(k * 0.27)];
        const hit = pointer.pick(x, y);
        if (hit && hit.solid > 0 && app.scene.solids[hit.solid].kind === 'dynamic') return { x, y };
      }
    return null;
  });

/** From here on every drag that follows a pointer event is watched until a picture that knows of it has been drawn. */
const watch = (page) =>
  page.evaluate(() => {
    const { app, stage } = linkwork;
    const times = (window.latencies = []);
    /** When its pointer event came, and from which tick on frames know of it. */
    const waiting = [];
    let moved = null;
    document.addEventListener('pointermove', (e) => (moved = e.timeStamp), { capture: true });
    const tell = app.connection.tell.bind(app.connection);
    app.connection.tell = (c) => {
      // What the page sends by itself, for the depth of the grip, is no input.
      if (c.do !== 'drag' || moved === null) return tell(c);
      const one = { at: moved, tick: Infinity };
      moved = null;
      waiting.push(one);
      // The answer tells that it has acted; one frame from before that may still be on its way.
      const acted = () => (one.tick = app.frame.tick + 2);
      void app.connection.request('command', c).then(acted, acted);
    };
    stage.before.push(() => {
      const done = waiting.filter((one) => app.frame.tick >= one.tick);
      if (done.length === 0) return;
      for (const one of done) waiting.splice(waiting.indexOf(one), 1);
      // Frames are drawn after this, and the promise is due when that is done.
      void Promise.resolve().then(() => {
        stage.renderer.getContext().finish();
        const now = performance.now();
        for (const one of done) times.push(now - one.at);
      });
    });
  });

/** Drags about with real pointer events; tells the times from event to picture, in order. */
async function drag(page) {
  const from = await something(page);
  assert.ok(from, 'there is something to take hold of');
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await until('it is held', async () => (await frame(page)).grabs.length === 1);
  await watch(page);
  const moves = 60;
  for (let i = 1; i <= moves; i++) {
    const a = (2 * Math.PI * i) / moves;
    await page.mouse.move(from.x + 40 * Math.sin(a), from.y - 30 * (1 - Math.cos(a)));
    await frames(page, 1);
  }
  const times = await until('most moves are drawn', () => page.evaluate((n) => window.latencies.length >= n && window.latencies.slice(), moves / 2), 120_000);
  await page.mouse.up();
  return times.sort((a, b) => a - b);
}

for (const [name, scene] of [['characters', () => 'scenes/characters.lw'], ['the (6,96) ladder', () => join(folder, 'ladder.lw')]]) {
  test(`from the pointer to the picture: ${name}`, async (t) => {
    const server = await serve(scene());
    t.after(() => server.stop());
    const page = await open(server.address);
    const times = await drag(page);
    const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
    t.diagnostic(`${name}: input to drawn pose p50 ${at(0.5).toFixed(0)} ms, p95 ${at(0.95).toFixed(0)} ms, of ${times.length} moves`);
    assert.ok(times.every((x) => x > 0), 'no picture comes before its cause');
    // Software drawing, a command that is not optimised, and others on the machine: this only says that nothing queues up
    // for ever. The figures are what is worth reading.
    assert.ok(at(0.5) < 30_000, `p50 ${at(0.5)} ms`);
    assert.deepEqual(page.complaints, []);
    await page.close();
  });
}

test('a thousand solids are a few draw calls, and a thousand rows scroll', async (t) => {
  const server = await serve(join(folder, 'ladder.lw'));
  t.after(() => server.stop());
  const page = await open(server.address);
  await command(page, { do: 'run', on: false });
  await drawn(page, 2);
  const calls = await page.evaluate(() => {
    const { stage } = linkwork;
    stage.renderer.info.autoReset = false;
    stage.renderer.info.reset();
    stage.renderer.render(stage.scene, stage.camera);
    stage.renderer.info.autoReset = true;
    return stage.renderer.info.render.calls;
  });
  assert.ok(calls > 1 && calls <= 24, `${calls} draw calls for 1248 bars`);

  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  const rows = page.locator('.list.solids > li');
  await until('all are listed', async () => (await rows.count()) >= 1248);
  const name = (i) => page.evaluate((i) => linkwork.app.scene.solids[i].name, i);
  const last = await page.evaluate(() => linkwork.app.scene.solids.length - 1);
  // Rows out of sight cost nothing: their content is not laid out.
  const laid = await page.evaluate(() => [...document.querySelectorAll('.list.solids > li .name')].filter((n) => n.checkVisibility({ contentVisibilityAuto: true })).length);
  assert.ok(laid > 0 && laid < 300, `${laid} rows are laid out`);
  const end = page.locator(`.list.solids > li[data-solid="${last}"]`);
  await end.scrollIntoViewIfNeeded();
  await until('the last row is in sight', () => end.locator('.name').evaluate((n) => n.checkVisibility({ contentVisibilityAuto: true })));
  assert.equal(await end.locator('.name').innerText(), await name(last));
  await end.locator('.item').click();
  assert.deepEqual(await page.evaluate(() => linkwork.app.selection), { kind: 'solid', id: last });

  // The filter reaches every one of them.
  await page.getByLabel('Filter by name').fill(await name(last - 1));
  await until('the filter finds it', async () => (await page.locator('.list.solids > li:not([hidden])').count()) < 20);
  assert.ok(await page.locator(`.list.solids > li[data-solid="${last - 1}"]`).isVisible());
  assert.deepEqual(page.complaints, []);
  await page.close();
});
