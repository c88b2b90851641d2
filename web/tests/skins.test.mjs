// Skins: drawn over their solids, moved with them, seen through by hands, and taken along in glTF.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import * as THREE from 'three';
import { GLTFLoader } from 'three/examples/jsm/loaders/GLTFLoader.js';
import { binary, closeBrowser, command, drawn, frame, frames, grip, join, onPage, open, pictures, pixels, root, scratch, serve, until } from './harness.mjs';

let server, page;
before(async () => {
  server = await serve('scenes/snake.lw');
  page = await open(server.address);
});
after(async () => {
  server.stop();
  await closeBrowser();
});

/** The skin's corner at its tail, by three.js and by the pose of the solid that it belongs to. */
const tail = () =>
  page.evaluate(() => {
    const { solids, app, THREE } = linkwork;
    const skin = solids.group.children.find((c) => c.isSkinnedMesh);
    skin.updateMatrixWorld(true);
    skin.skeleton.update();
    const info = app.scene.skins[0];
    const r = info.bones[0].rest;
    const rest = new THREE.Matrix4().compose(new THREE.Vector3(...r.slice(0, 3)), new THREE.Quaternion(...r.slice(3)), new THREE.Vector3(1, 1, 1));
    const local = new THREE.Vector3(...info.positions.slice(0, 3)).applyMatrix4(rest.invert());
    return { seen: skin.getVertexPosition(0, new THREE.Vector3()).toArray(), due: local.applyMatrix4(solids.matrices[info.bones[0].solids[0]]).toArray() };
  });
const apart = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));
/** How many pixels are about the skin's green. */
const green = () => pixels(page, 1, [1.2, 1.2]);

test('a skin is drawn instead of the solids beneath it, and moves with them', async () => {
  assert.equal(await page.evaluate(() => linkwork.app.scene.notes.length), 0, 'nothing is said to be missing');
  const shown = await page.evaluate(() => linkwork.solids.group.children.map((c) => [c.isSkinnedMesh === true, c.visible]));
  assert.equal(shown.filter(([skin, visible]) => skin && visible).length, 1);
  assert.ok(shown.some(([skin, visible]) => !skin && !visible), 'bars are hidden');
  assert.ok(shown.some(([skin, visible]) => !skin && visible), 'the rod is not');
  assert.ok((await green()) > 2000);
  const before = await tail();
  assert.ok(apart(before.seen, before.due) < 1e-4, JSON.stringify(before));
  // It slides to the right; later it cracks like a whip, and where it is then hangs on the last digit.
  await command(page, { do: 'step', count: 24 });
  await frames(page, 3);
  await drawn(page, 2);
  const later = await tail();
  assert.ok(apart(later.seen, later.due) < 1e-4, JSON.stringify(later));
  assert.ok(apart(later.seen, before.seen) > 0.2, 'it slid');
  await page.screenshot({ path: `${pictures}/skin.png` });
  assert.deepEqual(page.complaints, []);
});

test('hands reach through the skin for the nearest solid', async () => {
  for (const name of ['s2', 's4', 's5']) {
    const at = await onPage(page, name, [0.19, 0, 0]);
    const hit = await page.evaluate(({ x, y }) => linkwork.app.scene.solids[linkwork.pointer.pick(x, y)?.solid]?.name, at);
    assert.equal(hit, name);
  }
  await page.evaluate(() => linkwork.docks.toggle('settings', false));
  await drawn(page, 2);
  const at = await grip(page, 's5', [0.19, -0.08, 0]);
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await until('it is held', async () => (await frame(page)).grabs.length === 1);
  const held = await page.evaluate(() => linkwork.app.scene.solids[linkwork.app.frame.grabs[0].solid].name);
  assert.equal(held, 's5');
  await page.mouse.move(at.x + 60, at.y - 40, { steps: 5 });
  await until('it comes along', async () => {
    const f = await frame(page);
    return f.grabs.length === 1 && f.grabs[0].gap < 1e-3 && f.open.length === 0;
  });
  await page.mouse.up();
  const rim = await page.evaluate(() => linkwork.solids.group.children.find((c) => c.isSkinnedMesh).children.filter((c) => c.isSkinnedMesh).length);
  assert.ok(rim >= 1, 'what is selected has a rim on the skin');
  assert.deepEqual(page.complaints, []);
});

test('a switch shows the solids again', async () => {
  await page.evaluate(() => linkwork.docks.toggle('settings', true));
  const box = page.locator('#overlay-skins');
  assert.ok(await box.isChecked());
  await box.uncheck();
  await drawn(page, 2);
  const seen = await page.evaluate(() => linkwork.solids.group.children.filter((c) => c.visible && c.isSkinnedMesh).length);
  assert.equal(seen, 0);
  assert.ok(await page.evaluate(() => linkwork.solids.group.children.every((c) => c.visible !== c.isSkinnedMesh || !c.isSkinnedMesh)));
  assert.ok(await grip(page, 's4', [0.19, -0.04, 0]), 'solids are picked themselves');
  await box.check();
  await drawn(page, 2);
  assert.ok((await green()) > 1000);
  assert.deepEqual(page.complaints, []);
});

test('three.js reads the skinned mesh of a record and moves it like the solids', async () => {
  const folder = scratch();
  const [glb, json] = [join(folder, 'snake.glb'), join(folder, 'snake.json')];
  execFileSync(binary(), ['run', join(root, 'scenes/snake.lw'), '--seconds', '1', '--record', glb, '--record', json], { stdio: 'pipe' });
  const bytes = readFileSync(glb);
  const gltf = await new GLTFLoader().parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength), '');
  let skin = null;
  gltf.scene.traverse((o) => (skin = o.isSkinnedMesh ? o : skin));
  assert.ok(skin, 'there is a skinned mesh');
  assert.equal(skin.skeleton.bones.length, 6 + 3 * 5);
  const mixer = new THREE.AnimationMixer(gltf.scene);
  mixer.clipAction(gltf.animations[0]).play();
  const bones = skin.skeleton.bones.filter((b) => /^s\d$/.test(b.name));
  assert.equal(bones.length, 6, 'the solids are among its bones');
  const at = (k) => {
    gltf.scene.updateMatrixWorld(true);
    skin.skeleton.update();
    return skin.getVertexPosition(k, new THREE.Vector3());
  };
  const count = skin.geometry.getAttribute('position').count;
  let moved = 0;
  let last = null;
  for (const t of [0, 0.25, 0.5, 0.75, 1]) {
    mixer.setTime(t);
    const tip = at(0);
    // The tail's tip is one radius from where the rod holds it, the origin of the first solid.
    const hold = bones.find((b) => b.name === 's1').getWorldPosition(new THREE.Vector3());
    assert.ok(Math.abs(tip.distanceTo(hold) - 0.07) < 0.002, `${tip.distanceTo(hold)}`);
    // And every corner is near one of the solids.
    for (let k = 0; k < count; k += 37) {
      const p = at(k);
      const near = Math.min(...bones.map((b) => b.getWorldPosition(new THREE.Vector3()).distanceTo(p)));
      assert.ok(near < 0.55, `corner ${k} is ${near} away from every solid`);
    }
    if (last) moved += last.distanceTo(tip);
    last = tip;
  }
  assert.ok(moved > 0.3, `it moved by ${moved}`);
});
