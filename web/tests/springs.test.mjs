// Springs are drawn as coils and `distance` joints as rods, by day and by night, where their ends are.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, command, drawn, frames, join, open, pictures, scratch, serve, until, write } from './harness.mjs';

const SCENE = `scene title "Springs"; gravity 0 0 0; end
solid left: kernel fixed; shape box 0.2 0.2 0.2; at -1 0.5 0; end
solid right: shape box 0.2 0.2 0.2; mass 1; at 1 0.5 0; end
particle bob: mass 1; at 0 -0.6 0; end
joint rail: slider; object2 right; at 1 0.5 0 axis 1 0 0; end
joint rod: distance 1.4; object1 left; object2 bob; end
spring coil: object1 left; object2 right; hinge 0.1 0 0  -0.1 0 0; length 1.8; stiffness 20; end
spring later: object1 right; object2 bob; length 1; stiffness 5; during 1000 2000; end
`;

let server, page;
before(async () => {
  const folder = scratch();
  write(join(folder, 'springs.lw'), SCENE);
  server = await serve(join(folder, 'springs.lw'));
  page = await open(server.address);
  await command(page, { do: 'run', on: false });
  await command(page, { do: 'reset' });
  await frames(page, 2);
  await drawn(page, 2);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

/** The two ends of the first coil, as it is drawn. */
const coil = () =>
  page.evaluate(() => {
    const { springs, THREE } = linkwork;
    const mesh = springs.group.children.find((c) => c.isInstancedMesh && c.geometry.type === 'TubeGeometry');
    const m = new THREE.Matrix4();
    mesh.getMatrixAt(0, m);
    return [0, 1].map((y) => new THREE.Vector3(0, y, 0).applyMatrix4(m).toArray());
  });

/** How many pixels on the line between two points of the scene differ from the picture without springs. */
const seen = () =>
  page.evaluate(() => {
    const { stage, springs } = linkwork;
    const gl = stage.renderer.getContext();
    const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const picture = (on) => {
      springs.group.visible = on;
      stage.renderer.render(stage.scene, stage.camera);
      const p = new Uint8Array(4 * w * h);
      gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
      return p;
    };
    const [without, those] = [picture(false), picture(true)];
    let n = 0;
    for (let i = 0; i < without.length; i += 4) if (Math.abs(without[i] - those[i]) + Math.abs(without[i + 1] - those[i + 1]) + Math.abs(without[i + 2] - those[i + 2]) > 60) n++;
    return n;
  });

const near = (a, b) => a.every((x, i) => Math.abs(x - b[i]) < 1e-3);

test('a coil and a rod, and nothing for a spring that does not act yet', async () => {
  assert.deepEqual(await page.evaluate(() => linkwork.springs.drawn), { coils: 1, plain: 0, rods: 1 });
  const [a, b] = await coil();
  assert.ok(near(a, [-0.9, 0.5, 0]) && near(b, [0.9, 0.5, 0]), `${a} to ${b}`);
  assert.deepEqual(page.complaints, []);
});

test('they are seen in the light and in the dark', async () => {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await drawn(page, 3);
    const sky = await page.evaluate(() => linkwork.stage.scene.background.image.getContext('2d').getImageData(0, 0, 1, 1).data[0]);
    assert.equal(sky < 128, colorScheme === 'dark', `the room is painted for the ${colorScheme}: ${sky}`);
    const n = await seen();
    assert.ok(n > 300, `${colorScheme}: ${n} pixels`);
    await page.screenshot({ path: `${pictures}/springs-${colorScheme}.png` });
  }
  await page.emulateMedia({ colorScheme: 'light' });
});

test('a coil follows its ends while time runs', async () => {
  const [, before] = await coil();
  await command(page, { do: 'set-text', text: SCENE.replace('length 1.8', 'length 1.2') });
  await command(page, { do: 'run', on: true });
  await until('the spring pulls', async () => Math.abs((await coil())[1][0] - before[0]) > 0.1);
  await command(page, { do: 'run', on: false });
  await frames(page, 2);
  await drawn(page, 2);
  const [, b] = await coil();
  const place = await page.evaluate(() => {
    const { app, solids, THREE } = linkwork;
    const i = app.scene.solids.findIndex((s) => s.name === 'right');
    return new THREE.Vector3(-0.1, 0, 0).applyMatrix4(solids.matrices[i]).toArray();
  });
  assert.ok(near(b, place), `${b} is not ${place}`);
});

test('hundreds of springs are one draw call more', async () => {
  const count = 400;
  const bobs = Array.from({ length: count }, (_, k) => `p${k}`);
  const text = `scene gravity 0 0 0; end\n${bobs.map((p, k) => `particle ${p}: mass 1; at ${(k % 20) * 0.1} ${Math.floor(k / 20) * 0.1} 0; end`).join('\n')}\n${bobs
    .slice(1)
    .map((p, k) => `spring object1 ${bobs[k]}; object2 ${p}; stiffness 10; end`)
    .join('\n')}`;
  await command(page, { do: 'set-text', text });
  await until('they are drawn', async () => (await page.evaluate(() => linkwork.springs.drawn.plain)) === count - 1);
  assert.equal(await page.evaluate(() => linkwork.springs.drawn.coils), 0);
  assert.deepEqual(page.complaints, []);
});
