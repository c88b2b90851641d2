// Building on: pins that are dragged, several parts at once, tools in low windows; reach, ranks and what methods leave open.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browser, closeBrowser, command, drawn, frame, frames, grip, open, pictures, ready, serve, settings, until } from './harness.mjs';

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
const chosen = () => page.evaluate(() => linkwork.app.selection && (linkwork.app.selection.kind === 'solid' ? linkwork.app.chosen.map((i) => linkwork.app.scene.solids[i].name) : [linkwork.app.scene.joints[linkwork.app.selection.id].name]));
let scenes = 0;
const show = async (content, build = true) => {
  const name = `work-${++scenes}`;
  await page.evaluate(([name, text]) => linkwork.app.ask({ 'open-text': { name, text } }), [name, content]);
  await ready(page, name);
  // Whatever tool the last test drew with: clicks select.
  await page.evaluate(async (on) => {
    await linkwork.build.toggle(on);
    linkwork.build.choose('select');
  }, build);
  await frames(page, 2);
  await drawn(page, 2);
};
const settled = async () => {
  await until('drawn', () => page.evaluate(() => linkwork.app.frame !== null));
  await frames(page, 2);
  await drawn(page, 3);
};
const click = async (p, options) => page.mouse.click(p.x, p.y, options);
const drag = async (p, q) => {
  await page.mouse.move(p.x, p.y);
  await page.mouse.down();
  await page.mouse.move((p.x + q.x) / 2, (p.y + q.y) / 2, { steps: 3 });
  await page.mouse.move(q.x, q.y, { steps: 3 });
  await page.mouse.up();
};

/** A crank, a coupler and a rocker as drawing makes them, pinned to each other and to the ground. */
const FOURBAR = `scene title "Four"; end
/* the crank */
solid bar-1: shape capsule 0.02 from 0 0 0 to 0.4 0 0; mass 1; at -0.6 0.4 0; turn 0 0 1 90 deg; end
solid bar-2: shape capsule 0.02 from 0 0 0 to 1.3 0 0; mass 1; at -0.6 0.8 0.04; turn 0 0 1 22.619865 deg; end
solid bar-3: shape capsule 0.02 from 0 0 0 to 0.9 0 0; mass 1; at 0.6 0.4 0; turn 0 0 1 90 deg; end
joint pin-1: pin; object2 bar-1; frame1 -0.6 0.4 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end
joint pin-2: pin; object1 bar-1; object2 bar-2; frame1 0.4 0 0 axis 0 0 1; frame2 0 0 -0.04 axis 0 0 1; end
joint pin-3: pin; object1 bar-2; object2 bar-3; frame1 1.3 0 -0.04 axis 0 0 1; frame2 0.9 0 0 axis 0 0 1; end
joint pin-4: pin; object2 bar-3; at 0.6 0.4 0 axis 0 0 1; end
`;

test('a pin is selected by a click and dragged to another place: its bars follow', async () => {
  await show(FOURBAR);
  await click(await at(-0.6, 0.8));
  await until('the pin is selected', async () => (await chosen())?.[0] === 'pin-2');
  const edits = (await settings(page)).undo;
  const goal = await page.evaluate(() => linkwork.build.step);
  await drag(await at(-0.6, 0.8), await at(-0.6 - 4 * goal, 0.8 + 4 * goal));
  await until('the text says so', async () => !/to 0\.4 0 0/.test(await text()));
  await settled();
  const now = await page.evaluate(() => [0, 1].map((side) => new linkwork.THREE.Vector3().setFromMatrixPosition(linkwork.overlays.frameOf(1, side)).toArray()));
  for (const p of now) assert.ok(Math.hypot(p[0] + 0.6 + 4 * goal, p[1] - 0.8 - 4 * goal) < 0.6 * goal, `${p}`);
  const ends = await page.evaluate(() => ['bar-1', 'bar-2'].map((n) => {
    const i = linkwork.app.scene.solids.findIndex((s) => s.name === n);
    const far = linkwork.app.scene.solids[i].shapes[0].length;
    return [0, far].map((x) => new linkwork.THREE.Vector3(x, 0, 0).applyMatrix4(linkwork.solids.matrices[i]).toArray());
  }));
  assert.ok(Math.hypot(ends[0][0][0] + 0.6, ends[0][0][1] - 0.4) < 1e-4, 'the crank still begins at the ground');
  assert.ok(Math.hypot(ends[1][1][0] - 0.6, ends[1][1][1] - 1.3) < 1e-4, 'the coupler still ends at the rocker');
  assert.ok((await frame(page)).gap < 1e-5);
  assert.match(await text(), /\/\* the crank \*\//);
  assert.equal((await settings(page)).undo, edits + 1, 'one undo');
  await until('it stays selected', async () => (await chosen())?.[0] === 'pin-2');
  await page.screenshot({ path: `${pictures}/work-pin.png` });
  await page.keyboard.press('Control+z');
  await until('undone', async () => (await text()) === FOURBAR);
  await settled();
  // A pin of the ground, given by a place of the scene; by numbers this time.
  await click(await at(0.6, 0.4));
  await until('the ground pin is selected', async () => (await chosen())?.[0] === 'pin-4');
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  await page.locator('#inspect-y').fill('0.3');
  await page.keyboard.press('Enter');
  await until('longer', async () => /solid bar-3: shape capsule 0\.02 from 0 0 0 to 1 0 0;/.test(await text()));
  assert.match(await text(), /joint pin-4: pin; object2 bar-3; frame1 0\.6 0\.3 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end/);
  await settled();
  assert.ok((await frame(page)).gap < 1e-5);
  // Escape lets go of one that is on its way.
  const before = await text();
  const [p, q] = [await at(0.6, 0.3), await at(0.9, 0.3)];
  await page.mouse.move(p.x, p.y);
  await page.mouse.down();
  await page.mouse.move(q.x, q.y, { steps: 4 });
  await until('on its way', () => page.evaluate(() => linkwork.pins.to !== null));
  await page.keyboard.press('Escape');
  await page.mouse.up();
  await settled();
  assert.equal(await text(), before);
  assert.deepEqual(page.complaints, []);
});

test('a selected bar is dragged by its ends: longer, turned, pinned where it meets another part', async () => {
  await show(`scene title "Ends"; end
solid bar-1: shape capsule 0.02 from 0 0 0 to 0.4 0 0; mass 1; at -0.4 0.1 0; end // keep me
solid bar-2: shape capsule 0.02 from 0 0 0 to 0.5 0 0; mass 1; at 0.6 0.1 0; turn 0 0 1 90 deg; end
joint pin-1: pin; object2 bar-1; frame1 -0.4 0.1 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end
`);
  const start = await text();
  await click(await at(-0.2, 0.1));
  await until('selected', async () => (await chosen())?.[0] === 'bar-1');
  await drag(await at(0, 0.1), await at(0.2, 0.1));
  await until('longer', async () => /solid bar-1: shape capsule 0\.02 from 0 0 0 to 0\.6 0 0; mass 1; at -0\.4 0\.1 0; end \/\/ keep me/.test(await text()));
  assert.match(await text(), /joint pin-1: pin; object2 bar-1; frame1 -0\.4 0\.1 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end/, 'the other end stays');
  assert.equal((await chosen())[0], 'bar-1', 'and selected');
  await settled();
  // Upwards: it turns about its other end.
  await drag(await at(0.2, 0.1), await at(0.2, 0.7));
  await until('turned', async () => /to 0\.848528 0 0;[^\n]*turn 0 0 1 45 deg/.test(await text()));
  await settled();
  assert.ok((await frame(page)).gap < 1e-6);
  await page.screenshot({ path: `${pictures}/work-ends.png` });
  // Onto the end of the other bar: a pin joins them.
  await drag(await at(0.2, 0.7), await at(0.6, 0.6));
  await until('pinned', async () => /joint pin-2: pin; object1 bar-2; object2 bar-1; frame1 0\.5 0 0 axis 0 0 1; frame2 1\.118034 0 0 axis/.test(await text()));
  await settled();
  assert.ok((await frame(page)).gap < 1e-5);
  // An end that is joined takes its joint along, and what else is joined there.
  await drag(await at(0.6, 0.6), await at(0.6, 0.8));
  await until('both longer', async () => /solid bar-2: shape capsule 0\.02 from 0 0 0 to 0\.7 0 0;/.test(await text()));
  await settled();
  assert.ok((await frame(page)).gap < 1e-5);
  for (let n = 0; n < 4; n++) {
    await page.keyboard.press('Control+z');
    await settled();
  }
  assert.equal(await text(), start, 'four undos');
  assert.deepEqual(page.complaints, []);
});

test('a corner of the grid that is an end is that end, however far the pointer is from it', async () => {
  await show('scene title "Two"; end\nsolid bar-1: shape capsule 0.02 from 0 0 0 to 0.8 0 0; mass 1; at -0.8 0.4 0; end\n');
  await page.click('[data-tool="bar"]');
  const step = await page.evaluate(() => linkwork.build.step);
  const off = 0.4 * step;
  const pixels = Math.hypot((await at(off, 0)).x - (await at(0, 0)).x, (await at(0, off)).y - (await at(0, 0)).y);
  assert.ok(Math.abs(0.4 / step - Math.round(0.4 / step)) < 1e-6 && pixels > 2, `the end lies on the grid: ${step}`);
  await drag(await at(off, 0.4 + off), await at(0, 0.4 - 6 * step));
  await until('it is pinned', async () => /joint pin-1: pin; object1 bar-1; object2 bar-2; frame1 0\.8 0 /.test(await text()));
});

test('several parts: aligned, grouped, copied with their joints, mirrored, deleted, each in one undo', async () => {
  await show(`solid a: shape box 0.2 0.2 0.2; mass 1; at -0.5 0.2 0; end
solid b: shape box 0.2 0.2 0.2; mass 1; at 0 -0.1 0; end
solid c: shape capsule 0.03 from 0 0 0 to 0.4 0 0; mass 1; at 0.4 0.3 0; end
joint hold: pin; object2 a; frame1 -0.5 0.2 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; drive r1 speed 2; end
`);
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  await settled();
  const on = async (name) => grip(page, name, [name === 'c' ? 0.2 : 0.09, name === 'c' ? 0 : 0.09, 0.1]);
  // A click while the view still moves hits nothing: then once more.
  await until('one', async () => {
    await click(await on('a'));
    await drawn(page, 2);
    return (await chosen())?.join() === 'a';
  });
  await page.keyboard.down('Shift');
  await click(await on('b'));
  await until('two', async () => (await chosen())?.join() === 'a,b');
  await click(await on('c'));
  await page.keyboard.up('Shift');
  await until('all three', async () => (await chosen())?.join() === 'a,b,c');
  assert.equal(await page.locator('#inspector h3').innerText(), '3 parts');
  const start = await text();
  const middles = () => page.evaluate(() => ['a', 'b', 'c'].map((n) => linkwork.solids.bounds(new Set([linkwork.app.scene.solids.findIndex((s) => s.name === n)])).getCenter(new linkwork.THREE.Vector3()).y));
  await page.click('#align-y');
  await until('text', async () => (await text()) !== start);
  await settled();
  for (const y of await middles()) assert.ok(Math.abs(y - 0.2) < 1e-4, `${await middles()}`);
  assert.equal((await chosen()).join(), 'a,b,c', 'they stay selected');
  await page.click('#inspect-group');
  await until('welded', async () => (await text()).match(/joint group-\d: weld;/g)?.length === 2);
  await settled();
  assert.ok((await frame(page)).gap < 1e-5, 'nothing moves by it');
  const before = (await frame(page)).poses;
  await page.screenshot({ path: `${pictures}/work-group.png` });
  await page.click('#inspect-copy');
  await until('six solids', () => page.evaluate(() => linkwork.app.scene.solids.length === 7));
  const copied = await text();
  assert.equal(copied.match(/: weld;/g).length, 4, 'the copy is a group as well');
  assert.match(copied, /joint hold-1: pin; object2 a-1; frame1 -0\.\d+ 0\.2 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; drive r1 speed 2; end/, 'with its own pin and motor');
  assert.deepEqual(await chosen(), ['a-1', 'b-1', 'c-1']);
  await page.keyboard.press('Control+z');
  await until('one undo', () => page.evaluate(() => linkwork.app.scene.solids.length === 4));
  await settled();
  // By keys: a button lets Enter in the list add to the selection. A member brings its group.
  await page.locator('[data-solid="1"] .item').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  await until('one of them', async () => (await chosen())?.join() === 'a');
  await page.locator('[data-solid="2"] .item').focus();
  await until('the next', async () => (await chosen())?.join() === 'b');
  await page.locator('#select-more').press('Enter');
  await until('more can be selected', () => page.evaluate(() => linkwork.app.adding));
  await page.locator('[data-solid="1"] .item').press('Enter');
  await until('both', async () => (await chosen())?.join() === 'b,a');
  await page.click('#inspect-mirror');
  await until('three more', () => page.evaluate(() => linkwork.app.scene.solids.length === 7));
  await settled();
  const sides = await page.evaluate(() => ['a', 'b', 'c'].map((n) => ['', '-1'].map((k) => linkwork.solids.bounds(new Set([linkwork.app.scene.solids.findIndex((s) => s.name === n + k)])).getCenter(new linkwork.THREE.Vector3()).x)));
  for (const [x, m] of sides) assert.ok(Math.abs(x + m) < 1e-3, `${sides}`);
  assert.ok((await frame(page)).gap < 1e-5);
  // The mirror image of a motor turns the other way round.
  await command(page, { do: 'step', count: 20 });
  await settled();
  const turned = await page.evaluate(() => ['a', 'a-1'].map((n) => {
    const m = linkwork.solids.matrices[linkwork.app.scene.solids.findIndex((s) => s.name === n)];
    const x = new linkwork.THREE.Vector3().setFromMatrixColumn(m, 0);
    return Math.atan2(x.y, x.x);
  }));
  assert.ok(turned[0] > 0.3 && Math.abs(Math.abs(Math.PI - Math.abs(turned[1])) - turned[0]) < 0.02 && turned[1] > 0, `${turned}`);
  await command(page, { do: 'reset' });
  await settled();
  await page.evaluate(() => linkwork.app.choose(['a-1', 'b-1', 'c-1']));
  await page.locator('canvas').focus();
  await page.keyboard.press('Delete');
  await until('deleted with what names them', () => page.evaluate(() => linkwork.app.scene.solids.length === 4 && linkwork.app.scene.joints.length === 3));
  // The scene that the server makes of the text comes a little later, and draws the inspector anew.
  await settled();
  await page.evaluate(() => linkwork.app.choose(['a', 'b', 'c']));
  await page.click('#inspect-ungroup');
  await until('free again', async () => !/weld/.test(await text()));
  assert.ok(before.length > 0);
  assert.deepEqual(page.complaints, []);
});

test('in low windows the tools stand beside the mechanism, not over it', async (t) => {
  for (const [name, viewport, extra] of [
    ['200 % zoom', { width: 640, height: 400 }, {}],
    ['a phone on its side', { width: 844, height: 390 }, { hasTouch: true, isMobile: true, deviceScaleFactor: 1 }],
  ]) {
    const context = await browser({ viewport, extra });
    t.after(() => context.close());
    const low = await open(server.address, { on: context });
    await low.evaluate(() => linkwork.app.ask({ open: { scene: 'fourbar' } }));
    await ready(low, 'fourbar');
    await low.evaluate(() => linkwork.build.toggle(true));
    await until('wound back', async () => (await frame(low)).time === 0);
    await drawn(low, 3);
    const covered = await low.evaluate(() => {
      const bar = document.querySelector('.tool-row').getBoundingClientRect();
      const { app, solids, stage, THREE } = linkwork;
      return app.scene.solids.flatMap((s, i) => {
        if (i === 0) return [];
        const box = solids.bounds(new Set([i]));
        const places = [0, 0.25, 0.5, 0.75, 1].flatMap((a) => [0, 0.5, 1].map((b) => new THREE.Vector3(box.min.x + a * (box.max.x - box.min.x), box.min.y + b * (box.max.y - box.min.y), box.max.z)));
        const under = places.map((p) => stage.toPage(p)).some((p) => p && p.x > bar.left && p.x < bar.right && p.y > bar.top && p.y < bar.bottom);
        return under ? [s.name] : [];
      });
    });
    assert.deepEqual(covered, [], name);
    const out = await low.evaluate(() => {
      const view = document.querySelector('.view').getBoundingClientRect();
      return [...document.querySelectorAll('.toolbar button, .toolbar select')].filter((b) => {
        const r = b.getBoundingClientRect();
        return r.left < view.left || r.top < view.top || r.bottom > view.bottom || r.right > view.right;
      }).length;
    });
    assert.equal(out, 0, `${name}: every tool is in view`);
  }
});

test('the reach of a point is drawn: an annulus for two bars, a line for a coupler', async () => {
  await show(`solid upper: shape capsule 0.02 from 0 0 0 to 0.7 0 0; mass 1; end
solid lower: shape capsule 0.02 from 0 0 0 to 0.4 0 0; mass 1; at 0.7 0 0; turn 0 0 1 70 deg; end
joint shoulder: pin; object2 upper; frame1 0 0 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end
joint elbow: pin; object1 upper; object2 lower; frame1 0.7 0 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end
`);
  await page.click('[data-tool="trace"]');
  const tip = await page.evaluate(() => linkwork.stage.toPage(new linkwork.THREE.Vector3(0.4, 0, 0).applyMatrix4(linkwork.solids.matrices[2])));
  await click(tip);
  await until('traced', () => page.evaluate(() => linkwork.traces.traces.length === 1));
  await page.evaluate(() => linkwork.docks.toggle('plots', true));
  await page.click('[data-reach]');
  await until('it is told', async () => /reaches an area of [\d.]+ m²/.test(await page.locator('#reach').innerText()), 120_000);
  const found = await page.evaluate(() => linkwork.reach.shown.found);
  const exact = Math.PI * (1.1 ** 2 - 0.3 ** 2);
  assert.ok(Math.abs(found.measure / exact - 1) < 0.05, `${found.measure} instead of ${exact}`);
  for (let k = 0; k < found.places.length; k += 3) {
    const r = Math.hypot(found.places[k], found.places[k + 1]);
    assert.ok(r > 0.299 && r < 1.101, `${r}`);
  }
  await page.evaluate(() => linkwork.docks.toggle('plots', false));
  await page.evaluate(() => linkwork.build.toggle(false));
  await page.keyboard.press('r');
  await drawn(page, 3);
  await until('still', () => page.evaluate(() => !linkwork.stage.flight));
  assert.ok((await page.evaluate(() => linkwork.reach.drawn)) > 800, 'as squares');
  await page.screenshot({ path: `${pictures}/work-reach.png` });
  await page.evaluate(() => linkwork.docks.toggle('plots', true));
  await page.click('#hide-reach');
  assert.equal(await page.evaluate(() => linkwork.reach.drawn), 0);
  await page.evaluate(() => linkwork.docks.toggle('plots', false));
  // From the inspector, of a part's centre; an edit takes the drawing away.
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'fourbar' } }));
  await ready(page, 'fourbar');
  await command(page, { do: 'run', on: false });
  await page.evaluate(() => (linkwork.docks.toggle('outline', true), linkwork.app.select({ kind: 'solid', id: 2 })));
  await until('inspected', () => page.locator('#inspect-reach').isVisible());
  await page.click('#inspect-reach');
  await until('a line', async () => /reaches a line/.test(await page.locator('#reach').innerText()), 120_000);
  await drawn(page, 2);
  assert.ok((await page.evaluate(() => linkwork.reach.drawn)) > 60);
  await page.screenshot({ path: `${pictures}/work-reach-line.png` });
  await command(page, { do: 'set-text', text: (await text()).replace('speed 2', 'speed 3') });
  await until('gone', () => page.evaluate(() => linkwork.reach.drawn === 0));
  await page.evaluate(() => (linkwork.docks.toggle('plots', false), linkwork.docks.toggle('outline', false)));
  assert.deepEqual(page.complaints, []);
});

test("Faure's ranks are shown in colours", async () => {
  await page.evaluate(() => linkwork.app.ask({ open: { scene: 'fourbar' } }));
  await ready(page, 'fourbar');
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  await until('they are counted', async () => /3 primary, 1 secondary/.test(await page.locator('#ranks').innerText()));
  await page.click('#show-ranks');
  await drawn(page, 2);
  const colors = await page.evaluate(() => linkwork.app.scene.joints.map((j, i) => [j.rank, linkwork.overlays.colorOf(i)]));
  for (const [rank, color] of colors) assert.equal(color, rank === 1 ? '2f6fc4' : 'e07b00');
  await page.screenshot({ path: `${pictures}/work-ranks.png` });
  await page.click('#show-ranks');
  await page.evaluate(() => linkwork.docks.toggle('outline', false));
});

test('what a method leaves open can be set: integrator, feedback of gaps, projection', async () => {
  await page.evaluate(() => linkwork.docks.toggle('settings', true));
  assert.equal(await page.locator('#integrator').isVisible(), false, 'the default method has none of it');
  await page.selectOption('#method', 'baumgarte');
  await until('its parameters', () => page.locator('#alpha').isVisible());
  await page.selectOption('#integrator', 'rk4');
  await until('set', async () => (await settings(page)).parameters?.integrator === 'rk4');
  await page.locator('#alpha').focus();
  await page.keyboard.press('ArrowRight');
  await until('alpha', async () => (await settings(page)).parameters?.alpha === 10.5);
  assert.equal((await settings(page)).parameters.integrator, 'rk4', 'the others stay');
  await page.selectOption('#method', 'post-stabilization');
  await until('projection', () => page.locator('#project-velocities').isVisible());
  assert.equal(await page.locator('#alpha').isVisible(), false);
  await page.locator('#project-velocities').check();
  await until('set', async () => (await settings(page)).parameters?.project_velocities === true);
  await page.selectOption('#method', 'variational');
  await until('none', async () => !(await page.locator('#integrator').isVisible()));
  await page.evaluate(() => linkwork.docks.toggle('settings', false));
  assert.deepEqual(page.complaints, []);
});
