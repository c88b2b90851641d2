// Tracing and measuring: coupler curves with their cycle, read-outs in the scene, charts; and what the mechanism is.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { closeBrowser, command, drawn, frame, frames, open, pictures, ready, serve, until } from './harness.mjs';

let server, page;
before(async () => {
  server = await serve('scenes/fourbar.lw');
  page = await open(server.address);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

const on = (solid, x, y, z = 0) =>
  page.evaluate(
    ([solid, x, y, z]) => {
      const { app, solids, stage, THREE } = linkwork;
      return stage.toPage(new THREE.Vector3(x, y, z).applyMatrix4(solids.matrices[app.scene.solids.findIndex((s) => s.name === solid)]));
    },
    [solid, x, y, z],
  );
const click = async (p) => page.mouse.click(p.x, p.y);
const download = async (selector) => {
  const [file] = await Promise.all([page.waitForEvent('download'), page.click(selector)]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
};

/** The tip of the coupler by the geometry of the linkage: ground 2, crank 0.6, coupler 1.8, rocker 1.2. */
function tip(angle) {
  const b = [0.6 * Math.cos(angle), 0.6 * Math.sin(angle)];
  const way = [2 - b[0], -b[1]];
  const far = Math.hypot(...way);
  const turn = Math.atan2(way[1], way[0]) + Math.acos((far ** 2 + 1.8 ** 2 - 1.2 ** 2) / (2 * far * 1.8));
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  return [b[0] + 0.9 * c - 0.7 * s, b[1] + 0.9 * s + 0.7 * c];
}

test('a click on the coupler leaves its curve: a whole cycle, exact, as SVG and CSV', async () => {
  await page.click('#build');
  await until('wound back', async () => (await frame(page)).time === 0);
  await drawn(page, 2);
  await page.click('[data-tool="trace"]');
  await click(await on('coupler', 0.9, 0.7));
  const local = await page.evaluate(() => linkwork.traces.traces[0]?.place.local.toArray());
  assert.ok(Math.hypot(local[0] - 0.9, local[1] - 0.7, local[2]) < 1e-6, `it snaps to the corner: ${local}`);
  await page.evaluate(() => linkwork.docks.toggle('plots', true));
  await page.keyboard.press('Space');
  await until('a cycle is found', () => page.evaluate(() => linkwork.traces.watch.period !== null), 60_000);
  const period = await page.evaluate(() => linkwork.traces.watch.period);
  assert.ok(Math.abs(period - Math.PI) < 0.02, `two radians a second: ${period} s`);
  await until('it is told', async () => /One cycle takes 3\.1/.test(await page.locator('#cycle').innerText()));
  await command(page, { do: 'run', on: false });
  await frames(page, 3);
  await drawn(page, 2);
  await page.screenshot({ path: `${pictures}/trace.png` });
  const csv = await download('[data-csv]');
  assert.match(csv.name, /coupler\.csv$/);
  const [head, ...rows] = csv.text.trim().split('\n').map((l) => l.split(','));
  assert.deepEqual(head, ['time_s', 'x_m', 'y_m', 'z_m', 'speed_m_s']);
  const lasts = rows.at(-1)[0] - rows[0][0];
  assert.ok(Math.abs(lasts - Math.PI) < 0.12, `one cycle: ${lasts} s`);
  for (const [t, x, y] of rows.map((r) => r.map(Number))) {
    const [ex, ey] = tip(Math.PI / 3 + 2 * t);
    assert.ok(Math.hypot(x - ex, y - ey) < 1e-3, `at ${t} s it is at ${x} ${y}, the linkage's geometry says ${ex} ${ey}`);
  }
  const svg = await download('[data-svg]');
  assert.match(svg.text, /<path d="M[-\d. LZ]+Z" fill="none"/);
  const wide = Number(svg.text.match(/width="([\d.]+)mm"/)[1]);
  const xs = rows.map((r) => Number(r[1]));
  assert.ok(Math.abs(wide / 1.1 - 1000 * (Math.max(...xs) - Math.min(...xs))) < 0.12 * wide, `to scale: ${wide} mm`);
});

test('distances, angles, speeds and forces stand in the scene, and can be plotted against each other', async () => {
  await page.evaluate(() => linkwork.docks.toggle('plots', false));
  await command(page, { do: 'reset' });
  await until('wound back', async () => (await frame(page)).time === 0);
  await drawn(page, 3);
  await page.click('[data-tool="measure"]');
  await click(await on('crank', 0, 0));
  await click(await on('rocker', 0, 0));
  await until('a distance', () => page.evaluate(() => linkwork.traces.measures.length === 1));
  await frames(page, 14);
  const values = () => page.evaluate(() => Object.fromEntries(linkwork.traces.measures.map((m) => [m.name, m.value])));
  await until('two metres', async () => Math.abs((await values())['crank to rocker'] - 2) < 1e-5);
  await page.click('[data-tool="select"]');
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  await page.click('[data-joint="0"] .item');
  await until('inspected', () => page.locator('#inspect-coordinate').isVisible());
  await page.click('#inspect-coordinate');
  await page.click('#inspect-force');
  await page.click('[data-solid="3"] .item');
  await until('inspected', () => page.locator('#inspect-speed').isVisible());
  await page.click('#inspect-speed');
  await command(page, { do: 'run', on: true });
  await until('more than a turn', async () => (await values())['angle of motor'] > 7);
  const now = await page.evaluate(() => {
    const m = linkwork.traces.measures.find((m) => m.name === 'angle of motor');
    return [m.times.at(-1), m.values.at(-1)];
  });
  assert.ok(Math.abs(now[1] - Math.PI / 3 - 2 * now[0]) < 1e-3, `turns are counted: ${now}`);
  const seen = await values();
  assert.ok(seen['force of motor'] > 0.1 && seen['speed of rocker'] > 0, JSON.stringify(seen));
  await command(page, { do: 'run', on: false });
  await frames(page, 2);
  await drawn(page, 2);
  const labels = await page.locator('.readout:visible').allInnerTexts();
  assert.equal(labels.length, 4, labels.join());
  assert.ok(labels.some((l) => /^angle of motor -?\d+°$/.test(l)), labels.join());
  await page.evaluate(() => linkwork.docks.toggle('plots', true));
  await page.selectOption('#chart-y', { label: 'speed of rocker, m/s' });
  await page.selectOption('#chart-x', { label: 'angle of motor, rad' });
  await until('a curve', async () => Number(await page.locator('.xy').getAttribute('data-points')) > 50);
  assert.match(await page.locator('.xy .axis').textContent(), /angle of motor, rad/);
  await page.screenshot({ path: `${pictures}/measures.png` });
  const table = await download('#measures-csv');
  const lines = table.text.trim().split('\n');
  assert.equal(lines[0], 'time_s,crank_to_rocker_m,angle_of_motor_rad,force_of_motor_N,speed_of_rocker_m_s');
  assert.ok(lines.length > 50);
  await page.click('[aria-label="Remove crank to rocker"]');
  assert.equal(await page.locator('.readout').count(), 3);
  await page.evaluate(() => (linkwork.docks.toggle('plots', false), linkwork.build.toggle(false)));
});

/** What is drawn of an angle: where its zero line, its needle and its tip point, counted about an axis from x. */
const drawnAngle = (id, axis) =>
  page.evaluate(
    ([id, axis]) => {
      const { traces, THREE } = linkwork;
      // Only this one is drawn.
      const others = traces.measures.filter((m) => m.id !== id);
      traces.measures.splice(0, Infinity, ...traces.measures.filter((m) => m.id === id));
      traces.update();
      const of = (type) => traces.group.children.find((c) => c.geometry.type === type);
      const [bars, cones] = [of('CylinderGeometry'), of('ConeGeometry')];
      const read = (mesh, i) => {
        const m = new THREE.Matrix4();
        mesh.getMatrixAt(i, m);
        const [at, q, s] = [new THREE.Vector3(), new THREE.Quaternion(), new THREE.Vector3()];
        m.decompose(at, q, s);
        return { at, way: new THREE.Vector3(0, 1, 0).applyQuaternion(q), length: s.y };
      };
      const n = new THREE.Vector3(...axis);
      const x = Math.abs(n.x) > 0.9 ? new THREE.Vector3(0, 1, 0) : new THREE.Vector3(1, 0, 0);
      const angle = (w) => Math.atan2(n.dot(x.clone().cross(w)), x.dot(w));
      const [zero, needle, tip] = [read(bars, 0), read(bars, 1), cones.count > 0 ? read(cones, 0) : null];
      const value = traces.measures[0].value;
      traces.measures.push(...others);
      return { zero: angle(zero.way), needle: angle(needle.way), tip: tip && angle(tip.way), longer: zero.length > needle.length, value };
    },
    [id, axis],
  );
const turns = (a, b) => Math.abs(Math.atan2(Math.sin(a - b), Math.cos(a - b)));

test('the angle between parts that no joint joins is read out, signed, and counted over whole turns', async () => {
  await page.evaluate(() => linkwork.build.toggle(true));
  await command(page, { do: 'reset' });
  await until('wound back', async () => (await frame(page)).time === 0);
  await drawn(page, 3);
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  await page.click('[data-solid="1"] .item');
  await page.keyboard.down('Shift');
  await click(await on('rocker', 0.6, 0));
  await page.keyboard.up('Shift');
  await until('two parts', () => page.evaluate(() => linkwork.app.chosen.length === 2));
  await page.click('#inspect-between');
  await page.click('[data-solid="2"] .item');
  await until('inspected', () => page.locator('#inspect-tilt').isVisible());
  await page.click('#inspect-tilt');
  const value = (name) => page.evaluate((name) => linkwork.traces.measures.find((m) => m.name === name)?.value, name);
  const degrees = (x) => (x * 180) / Math.PI;
  await until('the angle of the start', async () => Math.abs(degrees(await value('angle from crank to rocker')) - 31.5927644652) < 1e-3);
  await until('and of the coupler', async () => Math.abs(degrees(await value('angle of coupler')) - 22.1933890148) < 1e-3);
  // Both by the geometry of the linkage, for more than a turn.
  await command(page, { do: 'run', on: true });
  await until('more than a turn', () => page.evaluate(() => linkwork.app.frame.time > 3.6));
  await command(page, { do: 'run', on: false });
  const seen = await page.evaluate(() => linkwork.traces.measures.map((m) => [m.times, m.values]).at(-2));
  const rocker = (crank) => {
    const b = [0.6 * Math.cos(crank), 0.6 * Math.sin(crank)];
    const [dx, dy] = [b[0] - 2, b[1]];
    const far = Math.hypot(dx, dy);
    return Math.atan2(dy, dx) - Math.acos((far ** 2 + 1.2 ** 2 - 1.8 ** 2) / (2 * far * 1.2));
  };
  let last = null;
  for (const [i, t] of seen[0].entries()) {
    const crank = Math.PI / 3 + 2 * t;
    assert.ok(turns(seen[1][i], rocker(crank) - crank) < 1e-3, `${seen[1][i]} at ${t} s`);
    assert.ok(last === null || Math.abs(seen[1][i] - last) < 0.5, 'no jump where a turn is full');
    last = seen[1][i];
  }
  // A busy machine shows fewer moments of it.
  assert.ok(seen[0].length > 20 && Math.min(...seen[1]) < -5, `more than a turn back: ${seen[0].length} samples to ${Math.min(...seen[1])}`);
  await frames(page, 2);
  await drawn(page, 2);
  await page.screenshot({ path: `${pictures}/angles.png` });
  assert.match((await page.locator('.readout:visible').allInnerTexts()).join(), /angle from crank to rocker -\d+°.*angle of coupler/s);
  // It outlives a reload, sign and all.
  const about = () => page.evaluate(() => linkwork.traces.measures.filter((m) => m.kind === 'angle').map((m) => [m.name, m.about]));
  const before = await about();
  assert.deepEqual(before, [['angle from crank to rocker', [0, 0, 1]], ['angle of coupler', [0, 0, 1]]]);
  await page.reload();
  await ready(page);
  assert.deepEqual(await about(), before);
  await page.evaluate(() => linkwork.build.toggle(false));
});

test('zero and sign of what is measured are drawn: the needle is at the value, the tip points where it grows', async () => {
  await command(page, { do: 'run', on: false });
  const joints = await page.evaluate(() => {
    const { app, traces } = linkwork;
    for (const x of [...traces.measures, ...traces.traces]) traces.remove(x.id);
    app.scene.joints.forEach((_, j) => traces.coordinate(j, 'r1'));
    traces.angle(1, 3);
    return traces.measures.map((m) => m.id);
  });
  // Zero by the text: a pin whose two frames have the same axes in the solids' own coordinates is at zero when the solids are turned alike.
  const turn = () => page.evaluate(() => [0, 1, 2, 3].map((i) => (i === 0 ? 0 : Math.atan2(linkwork.solids.matrices[i].elements[1], linkwork.solids.matrices[i].elements[0]))));
  const pairs = [[0, 1], [1, 2], [2, 3], [0, 3], [1, 3]];
  for (const seconds of [0, 0.7, 1.6, 2.4]) {
    await command(page, { do: 'reset' });
    if (seconds > 0) await command(page, { do: 'step', count: Math.round(60 * seconds) });
    await frames(page, 3);
    await drawn(page, 3);
    const angles = await turn();
    for (const [k, id] of joints.entries()) {
      const [a, b] = pairs[k];
      const d = await drawnAngle(id, [0, 0, 1]);
      const wanted = angles[b] - angles[a];
      assert.ok(turns(d.value, wanted) < 1e-3, `${k} at ${seconds} s: ${d.value} for ${wanted}`);
      assert.ok(turns(d.needle - d.zero, wanted) < 1e-3, `the needle is that far from the zero line: ${JSON.stringify(d)}`);
      assert.ok(d.longer, 'the zero line is the longer one');
      // The tip is across the needle, where the value grows from zero.
      if (Math.abs(d.value) > 0.1) assert.ok(turns(d.tip, d.needle + (Math.sign(d.value) * Math.PI) / 2) < 0.05, `the tip: ${JSON.stringify(d)}`);
    }
  }
  await page.evaluate(() => [...linkwork.traces.measures].forEach((m) => linkwork.traces.remove(m.id)));
});

test('freedoms and redundant constraints are told and shown; an arrow can be dragged', async () => {
  await command(page, { do: 'reset' });
  await page.evaluate(() => linkwork.docks.toggle('outline', true));
  const told = () => page.locator('.findings').innerText();
  await until('it is told', async () => /1 freedom, 1 motor/.test(await told()));
  assert.match(await told(), /Implied by others: wrist/);
  await page.click('#show-redundant');
  await page.click('#show-freedoms');
  await until('arrows', () => page.evaluate(() => linkwork.freedoms.arrows.length > 2));
  await drawn(page, 2);
  // They are what the linkage can do: each arrow is across the crank there.
  await until('the arrow is across the crank', () =>
    page.evaluate(() => {
      const { from, to } = linkwork.freedoms.arrows.find((a) => a.solid === 1) ?? {};
      return from !== undefined && Math.abs(to.clone().sub(from).normalize().dot(from.clone().normalize())) < 0.01;
    }),
  );
  await page.screenshot({ path: `${pictures}/freedoms.png` });
  await command(page, { do: 'mode', mode: 'kinematic' });
  const arrow = () =>
    page.evaluate(() => {
      const a = linkwork.freedoms.arrows.find((a) => a.solid === 1);
      return { from: linkwork.stage.toPage(a.from), to: linkwork.stage.toPage(a.to) };
    });
  const { from, to } = await arrow();
  const before = await page.evaluate(() => linkwork.overlays.coordinate(0, 'r1'));
  await page.mouse.move(to.x, to.y);
  await page.mouse.down();
  await until('its part is held', async () => (await frame(page)).grabs[0]?.solid === 1);
  const way = { x: to.x - from.x, y: to.y - from.y };
  await page.mouse.move(to.x + 0.4 * way.x, to.y + 0.4 * way.y, { steps: 5 });
  await until('it goes that way', async () => Math.abs((await page.evaluate(() => linkwork.overlays.coordinate(0, 'r1'))) - before) > 0.1);
  await page.mouse.up();
  await until('free', async () => (await frame(page)).grabs.length === 0);
  await command(page, { do: 'mode', mode: 'dynamic' });
});

test('constraints that cannot all hold are named, in red and in the scene', async () => {
  const text = 'solid a: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end\njoint p: pin; object2 a; at 0 0 0 axis 0 0 1; end\njoint q: ball; object2 a; frame1 1.3 0 0; frame2 1 0 0; end\n';
  await page.evaluate((text) => linkwork.app.ask({ 'open-text': { name: 'rivals', text } }), text);
  await ready(page, 'rivals');
  await until('it is told', async () => /Cannot all hold: q/.test(await page.locator('#dependent').innerText()));
  assert.match(await page.locator('#freedoms').innerText(), /0 freedoms: nothing can move/);
  await page.click('#show-conflicts');
  assert.deepEqual(await page.evaluate(() => [...linkwork.overlays.flags].sort()), [[0, 'involved'], [1, 'conflict']]);
  // Folded flat, a parallelogram can go two ways.
  const flat = `solid a: shape capsule 0.03 from 0 0 0 to 1 0 0; mass 1; end
solid b: shape capsule 0.03 from 0 0 0 to 2 0 0; mass 1; at 1 0 0; end
solid c: shape capsule 0.03 from 0 0 0 to 1 0 0; mass 1; at 2 0 0; end
joint j1: pin; object2 a; at 0 0 0 axis 0 0 1; end
joint j2: pin; object1 a; object2 b; at 1 0 0 axis 0 0 1; end
joint j3: pin; object1 b; object2 c; at 3 0 0 axis 0 0 1; end
joint j4: pin; object2 c; at 2 0 0 axis 0 0 1; end
`;
  await page.evaluate((text) => linkwork.app.ask({ 'open-text': { name: 'flat', text } }), flat);
  await ready(page, 'flat');
  await until('the singular pose is told', async () => /1 freedom; 1 more at this pose, which is singular/.test(await page.locator('#freedoms').innerText()));
  await page.click('#show-freedoms');
  await until('one of two', async () => /1 of 2/.test(await page.locator('#show-freedoms').innerText()));
  assert.deepEqual(page.complaints, []);
});

test('paths and read-outs outlive a reload of the page and come back with their scene', async (t) => {
  const other = await serve('scenes/watt.lw');
  t.after(() => other.stop());
  const own = await open(other.address);
  const kept = () => own.evaluate(() => [linkwork.traces.traces.map((t) => [t.place.solid, ...t.place.local.toArray()]), linkwork.traces.measures.map((m) => m.name)]);
  const shown = () => until('the read-outs are on show', async () => (await own.locator('.readout:visible').allInnerTexts()).length === 3);
  const made = await own.evaluate(() => {
    const { app, traces, THREE } = linkwork;
    const i = app.scene.solids.findIndex((s) => s.kind === 'dynamic');
    const { name } = app.scene.solids[i];
    traces.trace(i, new THREE.Vector3(0.1, 0.2, 0));
    traces.speed(i, new THREE.Vector3());
    traces.distance({ solid: name, local: new THREE.Vector3(0.3, 0, 0) }, { solid: 'world', local: new THREE.Vector3() });
    traces.coordinate(0, 'r1');
    return [[[name, 0.1, 0.2, 0]], [`speed of ${name}`, `${name} to world`, `angle of ${app.scene.joints[0].name}`]];
  });
  assert.deepEqual(await kept(), made);
  await own.reload();
  await ready(own);
  assert.deepEqual(await kept(), made);
  await shown();
  const go = async (scene) => {
    await own.evaluate((scene) => linkwork.app.connection.request('ask', { open: { scene } }), scene);
    await ready(own, scene);
  };
  await go('klann');
  assert.deepEqual(await kept(), [[], []], 'another scene has its own');
  await own.reload();
  await ready(own);
  assert.deepEqual(await kept(), [[], []]);
  await go('watt');
  await own.evaluate(() => linkwork.traces.trace(1, new linkwork.THREE.Vector3()));
  await go('klann');
  await go('watt');
  assert.equal((await kept())[0].length, 1, 'what was traced here');
  // What is stored may be anything.
  await own.evaluate(() => sessionStorage.setItem('linkwork-watched', '[{"scene":"watt"},7,null]'));
  await go('klann');
  await go('watt');
  assert.deepEqual(await kept(), [[], []]);
  assert.deepEqual(own.complaints, []);
  await own.close();
});
