// The way of somebody who opens the page for the first time: an empty sheet, a four-bar with a motor, its coupler curve, a file.
// By pointer alone. The test walks it, and so does `record.mjs`, which makes the README's moving picture of it.
import { drawn, frame, frames, ready, settings, until } from './harness.mjs';

/** Where the pins go, and the corner of the coupler that draws. */
export const [A, B, C, D, P] = [[-0.6, 0.2], [-0.6, 0.6], [0.4, 1], [0.4, 0.2], [-0.2, 1.2]];

/** `shown` is told after everything that can be seen. Gives back the download. */
export async function firstPath(page, shown = async () => {}) {
  const at = (x, y) => page.evaluate(([x, y]) => linkwork.stage.toPage(new linkwork.THREE.Vector3(x, y, 0)), [x, y]);
  const counts = () => page.evaluate(() => `${linkwork.app.scene.solids.length - 1} ${linkwork.app.scene.joints.length}`);
  const has = async (solids, joints) => {
    await until(`${solids} solids and ${joints} joints`, async () => (await counts()) === `${solids} ${joints}`);
    // The next point snaps to what is drawn.
    await until('they are drawn', () => page.evaluate(() => linkwork.app.frame !== null));
    await drawn(page, 2);
    await shown('still');
  };
  let here = { x: 400, y: 300 };
  const go = async (to, steps = 4) => {
    const from = here;
    for (let k = 1; k <= steps; k++) {
      here = { x: from.x + ((to.x - from.x) * k) / steps, y: from.y + ((to.y - from.y) * k) / steps };
      await page.mouse.move(here.x, here.y);
      await shown('move');
    }
  };
  const press = async (selector) => {
    const box = await page.locator(selector).boundingBox();
    await go({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
    await page.mouse.down();
    await page.mouse.up();
    await shown('still');
  };
  const click = async (p) => {
    await go(await at(...p));
    await page.mouse.down();
    await page.mouse.up();
  };
  const drag = async (p, q) => {
    await go(await at(...p));
    await page.mouse.down();
    await go(await at(...q));
    await page.mouse.up();
  };
  const tool = (name) => press(`[data-tool="${name}"]`);

  await press('.menu summary');
  await press('#new-scene');
  await until('an empty sheet', () => page.evaluate(() => linkwork.app.scene.solids.length === 1));
  await ready(page);
  await press('#build');
  await until('tools', () => page.locator('.toolbar').isVisible());
  await drawn(page, 2);
  await tool('bar');
  await drag(A, B);
  await has(1, 0);
  await drag(C, D);
  await has(2, 0);
  await tool('plate');
  for (const p of [B, C, P, B]) {
    await click(p);
    await drawn(page, 1);
  }
  await has(3, 2);
  await tool('pin');
  await click(A);
  await has(3, 3);
  await click(D);
  await has(3, 4);
  await tool('motor');
  await click(A);
  await until('it has a motor', () => page.evaluate(() => /drive r1 speed 2;/.test(linkwork.app.scene.text)));
  await has(3, 4);
  await tool('trace');
  await click(P);
  await until('the corner is traced', () => page.evaluate(() => linkwork.traces.traces[0]?.name === 'plate-1'));
  await tool('select');
  await press('#play');
  await until('time runs', async () => (await settings(page)).running);
  await shown('run');
  await until('a whole cycle', () => page.evaluate(() => linkwork.traces.watch.period !== null), 120_000);
  await until('and its path', () => page.evaluate(() => linkwork.traces.range(linkwork.traces.traces[0]).closed));
  await frames(page, 1);
  const f = await frame(page);
  await press('#play');
  await until('time stands', async () => !(await settings(page)).running);
  await press('.menu summary');
  await drawn(page, 1);
  const [glb] = await Promise.all([page.waitForEvent('download'), press('#save-glb')]);
  await shown('still');
  return { glb, gap: f.gap, rejected: f.rejected };
}
