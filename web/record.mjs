// Makes the README's moving picture: the first path of tests/first-path.mjs, recorded. `npm run record`, after `make page` and
// `cargo build`. Pictures are taken by the browser, made small by it, and put into one animated WebP file here.
import { writeFileSync } from 'node:fs';
import { browser, closeBrowser, command, frame, join, open, root, serve, until } from './tests/harness.mjs';
import { firstPath } from './tests/first-path.mjs';

const SIZE = { width: 800, height: 500 };
const QUALITY = 0.6;
/** Milliseconds that a picture stays. */
const STAYS = { move: 60, still: 260, run: 70, end: 1800 };
/** Simulated seconds between two pictures while it runs. */
const STRIDE = 0.07;

/** A picture of the page: the part of it that has changed since the last one, as WebP, by the page's own means. */
async function webp(page) {
  const png = await page.screenshot({ type: 'png' });
  const part = await page.evaluate(
    async ([png, quality]) => {
      const pixels = Uint8Array.from(atob(png), (c) => c.charCodeAt(0));
      const image = await createImageBitmap(new Blob([pixels], { type: 'image/png' }));
      const { width, height } = image;
      const ink = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
      ink.drawImage(image, 0, 0);
      const { data } = ink.getImageData(0, 0, width, height);
      let [left, top, right, bottom] = [width, height, 0, 0];
      const last = window.lastPicture;
      for (let k = 0; k < data.length; k += 4) {
        if (last && Math.abs(data[k] - last[k]) + Math.abs(data[k + 1] - last[k + 1]) + Math.abs(data[k + 2] - last[k + 2]) < 10) continue;
        const [x, y] = [(k / 4) % width, Math.floor(k / 4 / width)];
        [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x + 1), Math.min(top, y), Math.max(bottom, y + 1)];
      }
      window.lastPicture = data;
      if (left >= right) return null;
      // Places in the file are even.
      [left, top] = [left & ~1, top & ~1];
      const cut = new OffscreenCanvas(right - left, bottom - top);
      cut.getContext('2d').drawImage(image, -left, -top);
      const bytes = new Uint8Array(await (await cut.convertToBlob({ type: 'image/webp', quality })).arrayBuffer());
      let text = '';
      for (const b of bytes) text += String.fromCharCode(b);
      return { text: btoa(text), x: left, y: top, width: right - left, height: bottom - top };
    },
    [png.toString('base64'), QUALITY],
  );
  return part && { ...part, bytes: Buffer.from(part.text, 'base64') };
}

const chunk = (name, body) => {
  const head = Buffer.alloc(8);
  head.write(name, 'ascii');
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body, Buffer.alloc(body.length & 1)]);
};

/** One file of many: https://developers.google.com/speed/webp/docs/riff_container */
function animated(pictures, { width, height }) {
  const three = (b, n, at) => b.writeUIntLE(n, at, 3);
  const head = Buffer.alloc(10);
  head[0] = 0b10; // animation
  three(head, width - 1, 4);
  three(head, height - 1, 7);
  const loop = Buffer.alloc(6, 0);
  loop.writeUInt32LE(0xffffffff, 0);
  const frames = pictures.map(({ bytes, ms, x, y, width, height }) => {
    const f = Buffer.alloc(16);
    three(f, x / 2, 0);
    three(f, y / 2, 3);
    three(f, width - 1, 6);
    three(f, height - 1, 9);
    three(f, ms, 12);
    f[15] = 0b10; // not blended with the one before
    // Of the single picture the chunk with its pixels is taken.
    for (let at = 12; ; at += 8 + bytes.readUInt32LE(at + 4) + (bytes.readUInt32LE(at + 4) & 1)) {
      const name = bytes.subarray(at, at + 4).toString();
      if (name === 'VP8 ' || name === 'VP8L') return chunk('ANMF', Buffer.concat([f, chunk(name, bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at + 4)))]));
    }
  });
  const body = Buffer.concat([Buffer.from('WEBP'), chunk('VP8X', head), chunk('ANIM', loop), ...frames]);
  const riff = chunk('RIFF', body);
  return riff;
}

/** A pointer that can be seen: pictures of a page have none. */
const POINTER = `addEventListener('DOMContentLoaded', () => {
  const arrow = document.createElement('div');
  arrow.style.cssText = 'position:fixed;z-index:9999;left:0;top:0;pointer-events:none;width:22px;height:22px';
  arrow.innerHTML = '<svg viewBox="0 0 24 24" width="22" height="22"><path d="M4 2l15 12-7 1 4 7-3 1-4-7-5 5z" fill="#111" stroke="#fff" stroke-width="1.400"/></svg>';
  document.body.append(arrow);
  addEventListener('pointermove', (e) => (arrow.style.transform = 'translate(' + e.clientX + 'px,' + e.clientY + 'px)'), { capture: true });
});`;

const server = await serve('scenes/jansen.lw');
const context = await browser({ viewport: SIZE });
const pictures = [];
try {
  const page = await open(server.address, { on: context, low: false, init: POINTER });
  const shoot = async (ms) => {
    const part = await webp(page);
    // Where nothing has changed, the last picture stays for longer.
    if (part) pictures.push({ ...part, ms });
    else if (pictures.length > 0) pictures.at(-1).ms += ms;
  };
  await firstPath(page, async (what) => {
    if (what !== 'run') return shoot(STAYS[what]);
    // Slowly, so that there is time for a picture; they are shown as fast as it really runs.
    await command(page, { do: 'speed', factor: 0.06 });
    for (let t = 0; t < Math.PI + 0.4; t += STRIDE) {
      await until(`${t} s`, async () => (await frame(page)).time >= t, 120_000);
      await shoot(STAYS.run);
    }
    await command(page, { do: 'speed', factor: 1 });
  });
  pictures.at(-1).ms = STAYS.end;
} finally {
  server.stop();
  await context.close();
  await closeBrowser();
}
const file = join(root, 'docs/pictures/first-minute.webp');
const bytes = animated(pictures, SIZE);
writeFileSync(file, bytes);
console.log(`${file}: ${pictures.length} pictures, ${Math.round(bytes.length / 1000)} kB`);
