/** Which scene is on show: what its file is called does not tell, since texts are edited, and links bring others. */

import type { GalleryItem, SceneMessage } from './protocol';

type Shown = Pick<SceneMessage, 'name' | 'title' | 'up' | 'text' | 'file'> & { solids: { name: string }[] };

/** Not an edit of the one before but another scene: other name, or few solids in common. */
export function isOther(a: Shown | null, b: Shown): boolean {
  if (!a || a.name !== b.name || a.up !== b.up) return true;
  // The world is in all of them.
  const [n, m] = [a.solids.length - 1, b.solids.length - 1];
  if (a.text === b.text || n === 0 || m === 0) return false;
  const before = new Set(a.solids.slice(1).map((s) => s.name));
  const common = b.solids.slice(1).filter((s) => before.has(s.name)).length;
  return a.title === b.title ? 4 * common < Math.min(n, m) : 2 * common < Math.max(n, m);
}

/** The gallery's entry for what is shown, whatever it was opened as. */
export function itemOf(gallery: GalleryItem[], scene: Pick<Shown, 'name' | 'title'>): GalleryItem | null {
  const same = gallery.filter((g) => g.id !== '' && g.title === scene.title);
  return same.find((g) => g.id === scene.name) ?? same[0] ?? null;
}

/** What to try, as things are now: whoever has pressed Space need not be told to, and a finger finds no such key. */
export function matching(words: string, running: boolean, touch: boolean): string {
  if (running) return words.replace(/\bpress Space\b(?: and it falls)?/, 'time is running').replace(/\bPress Space\b/, 'Time is running');
  return touch ? words.replace(/\b(p|P)ress Space\b/, '$1ress ▶') : words;
}
