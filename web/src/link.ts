/** A scene in the fragment of an address: it never reaches any server, and needs none. */

const MARK = '#scene=';

function toBase64(bytes: Uint8Array): string {
  let s = '';
  for (let i = 0; i < bytes.length; i += 0x8000) s += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(s).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const s = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(s, (c) => c.charCodeAt(0));
}

async function pump(bytes: Uint8Array<ArrayBuffer>, through: ReadableWritablePair<Uint8Array, BufferSource>, most: number): Promise<Uint8Array> {
  const reader = new Blob([bytes]).stream().pipeThrough(through).getReader();
  const parts: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    total += value.length;
    // A few bytes can unpack to gigabytes.
    if (total > most) throw new Error('the scene in this link is too large');
    parts.push(value);
  }
  const all = new Uint8Array(total);
  let at = 0;
  for (const p of parts) {
    all.set(p, at);
    at += p.length;
  }
  return all;
}

/** The fragment that carries a scene. */
export async function encodeLink(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
  return MARK + toBase64(await pump(bytes, new CompressionStream('deflate-raw'), Infinity));
}

/** The scene that an address or fragment carries; `null` when it carries none. */
export async function decodeLink(address: string): Promise<string | null> {
  const at = address.indexOf(MARK);
  if (at < 0) return null;
  const bytes = await pump(fromBase64(address.slice(at + MARK.length).trim()), new DecompressionStream('deflate-raw'), 16 << 20);
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** The same with complaints that people understand. */
export async function readLink(address: string): Promise<string> {
  let text: string | null;
  try {
    text = await decodeLink(address);
  } catch (error) {
    const large = error instanceof Error && /too large/.test(error.message);
    throw new Error(large ? 'The scene in this link is too large.' : 'The scene in this link is damaged; part of the link may be missing.');
  }
  if (text === null) throw new Error('That is not a scene link: it does not contain “#scene=”.');
  return text;
}
