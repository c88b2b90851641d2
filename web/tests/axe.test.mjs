// What screen readers and people with weak eyes need, as axe-core knows it: light and dark, every panel, build mode, a phone, 200 % zoom.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { browser, command, drawn, frames, join, open, root, serve, until } from './harness.mjs';

const axe = readFileSync(join(root, 'web/node_modules/axe-core/axe.min.js'), 'utf8');
let server;
before(async () => {
  server = await serve('scenes/fourbar.lw');
});
after(() => server.stop());

/** What axe-core calls serious or critical. */
async function serious(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')} ${n.any[0]?.message ?? ''}`).join('; ')}`);
  });
  assert.deepEqual(found, [], where);
}

async function walk(page, where, panels) {
  await command(page, { do: 'run', on: false });
  await serious(page, `${where}, as it opens`);
  for (const id of panels) {
    await page.evaluate((id) => linkwork.docks.toggle(id, true), id);
    await drawn(page, 1);
    await serious(page, `${where}, ${id}`);
    await page.evaluate((id) => linkwork.docks.toggle(id, false), id);
  }
  // Build mode with a joint in the inspector, a path and a read-out.
  await page.evaluate(async () => {
    await linkwork.build.toggle(true);
    linkwork.docks.toggle('outline', true);
    linkwork.app.select({ kind: 'joint', id: 0 });
    linkwork.traces.trace(2, new linkwork.THREE.Vector3(0.9, 0.7, 0));
    linkwork.traces.coordinate(0, 'r1');
  });
  await frames(page, 2);
  await until('the inspector is there', () => page.locator('#inspect-motor').isVisible());
  await until('the findings are there', async () => /\d freedom/.test(await page.locator('#freedoms').innerText()));
  await drawn(page, 2);
  await serious(page, `${where}, build`);
  await page.evaluate(() => (linkwork.app.select({ kind: 'solid', id: 1 }), linkwork.docks.toggle('plots', true), (document.querySelector('.menu').open = true)));
  await drawn(page, 2);
  await serious(page, `${where}, plots with a path, the menu open`);
  // Several parts, ranks in colours, and the parameters of a method that has some.
  await page.evaluate(() => {
    document.querySelector('.menu').open = false;
    linkwork.docks.toggle('outline', true);
    linkwork.app.choose(['crank', 'coupler']);
    document.querySelector('#show-ranks')?.click();
  });
  await command(page, { do: 'method', name: 'baumgarte' });
  await until('several are inspected', () => page.locator('#align-x').isVisible());
  await serious(page, `${where}, several parts`);
  await page.evaluate(() => linkwork.docks.toggle('settings', true));
  await until('parameters', () => page.locator('#integrator').isVisible());
  await serious(page, `${where}, parameters of a method`);
  await command(page, { do: 'method', name: 'variational' });
  assert.deepEqual(page.complaints, []);
}

const PHONE = { hasTouch: true, isMobile: true, deviceScaleFactor: 1 };
const DARK = { colorScheme: 'dark' };
for (const [where, viewport, extra, panels] of [
  ['light', { width: 1280, height: 800 }, {}, ['scenes', 'outline', 'settings', 'text', 'compare', 'plots']],
  ['dark', { width: 1280, height: 800 }, DARK, ['scenes', 'settings', 'text']],
  ['a phone, light', { width: 390, height: 780 }, PHONE, ['settings']],
  ['a phone, dark', { width: 390, height: 780 }, { ...PHONE, ...DARK }, ['scenes', 'settings', 'text']],
  // What is twice as large leaves half of the room.
  ['200 % zoom, light', { width: 640, height: 400 }, { deviceScaleFactor: 2 }, ['settings']],
  ['200 % zoom, dark', { width: 640, height: 400 }, { deviceScaleFactor: 2, ...DARK }, ['scenes']],
]) {
  test(`axe-core finds nothing serious: ${where}`, async (t) => {
    const context = await browser({ viewport, extra });
    t.after(() => context.close());
    await walk(await open(server.address, { on: context }), where, panels);
  });
}
