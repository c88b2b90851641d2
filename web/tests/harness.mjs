// Starts `linkwork view`, opens real Chromium on it, and waits for things to happen.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const pictures = join(root, 'out/pictures');
mkdirSync(pictures, { recursive: true });

/** The command to test: what `cargo build -p linkwork-cli` made, or `LINKWORK`. */
export function binary() {
  const found = [process.env.LINKWORK, join(root, 'target/debug/linkwork'), join(root, 'target/release/linkwork')].find((p) => p && existsSync(p));
  if (!found) throw new Error('there is no linkwork command to test; this makes it:\n  cargo build -p linkwork-cli');
  return found;
}

export function browserPath() {
  const path = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => p && existsSync(p));
  if (!path) throw new Error('the browser tests need Chromium; this gets it:\n  sudo apt-get update && sudo apt-get install -y chromium');
  return path;
}

/** A server on a scene; `stop` ends it. */
export async function serve(...args) {
  const child = spawn(binary(), ['view', ...args, '--no-open'], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const address = await new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      said += chunk;
      const found = said.match(/https?:\/\/\S+token=\w+/);
      if (found) resolve(found[0]);
    });
    child.on('exit', (code) => reject(new Error(`linkwork ended with ${code}: ${said}`)));
    setTimeout(() => reject(new Error(`no address after 60 s: ${said}`)), 60_000).unref();
  });
  return { address, said: () => said, stop: () => child.kill() };
}

let context;
/** One browser for all tests; each gets its own pages. */
export async function browser(options = {}) {
  // llvmpipe draws about twice as fast as SwiftShader where there is no GPU; ANGLE_BACKEND=swiftshader chooses the other.
  const angle = process.env.ANGLE_BACKEND === 'swiftshader' ? ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'] : ['--use-angle=gl-egl'];
  const make = (viewport, extra = {}) =>
    chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), 'linkwork-browser-')), {
      executablePath: browserPath(),
      headless: true,
      viewport,
      ignoreHTTPSErrors: true,
      args: ['--no-sandbox', '--use-gl=angle', ...angle, '--ignore-gpu-blocklist', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-background-timer-throttling', '--disable-renderer-backgrounding', '--disable-backgrounding-occluded-windows'],
      ...extra,
    });
  if (options.viewport || options.extra) return make(options.viewport ?? { width: 1280, height: 800 }, options.extra);
  context ??= await make({ width: 1000, height: 640 });
  return context;
}

export async function closeBrowser() {
  await context?.close();
  context = undefined;
}

/** Opens the page and waits for its first frame. Errors on the console are collected in `page.complaints`. */
export async function open(address, { low = true, on = null, init = null } = {}) {
  const page = await (on ?? (await browser())).newPage();
  page.complaints = [];
  page.on('console', (m) => m.type() === 'error' && page.complaints.push(m.text()));
  page.on('pageerror', (e) => page.complaints.push(String(e)));
  if (init) await page.addInitScript({ content: init });
  await page.goto(low ? `${address}&quality=low` : address);
  await ready(page);
  return page;
}

/** A frame of the scene on show has come, and has been drawn. */
export async function ready(page, name) {
  await page.waitForFunction((n) => window.linkwork?.app.frame && (!n || window.linkwork.app.scene.name === n), name, { timeout: 60_000 });
  // The view may still widen to what the scene will do. News of scenes and of their motions come on ways of their own, so that
  // "nothing is on its way" may only mean "not yet"; edits have none.
  await page.waitForFunction(() => window.linkwork.app.swept === window.linkwork.app.scene.revision, undefined, { timeout: 3_000 }).catch(() => {});
  await page.waitForFunction(() => window.linkwork.app.foreseen !== window.linkwork.app.scene.revision, undefined, { timeout: 60_000 });
  await drawn(page, 2);
  await page.waitForFunction(() => !window.linkwork.stage.flight, undefined, { timeout: 60_000 });
  await drawn(page, 1);
}

/** So many more pictures. */
export async function drawn(page, n = 1) {
  const from = await page.evaluate(() => window.linkwork.stage.drawn);
  await page.waitForFunction((to) => (window.linkwork.stage.invalidate(), window.linkwork.stage.drawn >= to), from + n, { timeout: 60_000 });
}

/** So many more pose frames. */
export async function frames(page, n = 1) {
  const from = await page.evaluate(() => window.linkwork.app.frames);
  await page.waitForFunction((to) => window.linkwork.app.frames >= to, from + n, { timeout: 60_000 });
}

/** The last frame of the scene on show. A scene that has just come has none yet. */
export const frame = async (page) => {
  const seen = await page.waitForFunction(() => {
    const f = window.linkwork.app.frame;
    return f && { ...f, poses: Array.from(f.poses), ghosts: f.ghosts.map((g) => Array.from(g)) };
  });
  return seen.jsonValue();
};

export const settings = (page) => page.evaluate(() => window.linkwork.app.settings);
/** Tells the session something. The answer overtakes frames: after a reset the one on show may be of the time before. */
export const command = async (page, c) => {
  const answer = await page.evaluate((c) => window.linkwork.app.connection.request('command', c), c);
  if (c.do === 'reset') await frames(page, 2);
  return answer;
};

/** Where a point of a solid's frame is on the page. */
export const onPage = (page, solid, point) =>
  page.evaluate(
    ([solid, point]) => {
      const { app, solids, stage, THREE } = window.linkwork;
      const i = typeof solid === 'number' ? solid : app.scene.solids.findIndex((s) => s.name === solid);
      return stage.toPage(new THREE.Vector3(...point).applyMatrix4(solids.matrices[i]));
    },
    [solid, point],
  );

/** A point of the page where the ray hits this solid first, near the given local point. */
export const grip = (page, solid, point) =>
  page.evaluate(
    ([solid, point]) => {
      const { app, solids, stage, pointer, THREE } = window.linkwork;
      const i = app.scene.solids.findIndex((s) => s.name === solid);
      const p = stage.toPage(new THREE.Vector3(...point).applyMatrix4(solids.matrices[i]));
      for (let r = 0; r < 40; r++)
        for (let k = 0; k < 12; k++) {
          const [x, y] = [p.x + r * Math.cos(k * 0.52), p.y + r * Math.sin(k * 0.52)];
          if (pointer.pick(x, y)?.solid === i) return { x, y };
        }
      return null;
    },
    [solid, point],
  );

export async function until(what, test, ms = 30_000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await test();
    if (value) return value;
    if (Date.now() > end) throw new Error(`never happened: ${what}`);
    await new Promise((r) => setTimeout(r, 40));
  }
}

/** A folder of its own, gone when the process is. */
export function scratch() {
  const folder = mkdtempSync(join(tmpdir(), 'linkwork-test-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const read = (path) => readFileSync(join(root, path), 'utf8');
export { writeFileSync as write, join };

/** How many pixels are much more of one channel (0 red, 1 green, 2 blue) than of the two others, and at least `least` of it. */
export const pixels = (page, channel, over, least = 0) =>
  page.evaluate(
    ([channel, over, least]) => {
      const { stage } = linkwork;
      stage.renderer.render(stage.scene, stage.camera);
      const gl = stage.renderer.getContext();
      const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
      const p = new Uint8Array(4 * w * h);
      gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
      let n = 0;
      for (let i = 0; i < p.length; i += 4) {
        const others = [0, 1, 2].filter((c) => c !== channel);
        if (others.every((c, k) => p[i + channel] > over[k] * p[i + c]) && p[i + channel] > least) n++;
      }
      return n;
    },
    [channel, over, least],
  );
