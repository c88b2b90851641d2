/** Elements in one expression. Properties are set as attributes, `on…` as listeners. */
export type Child = Node | string | null | undefined | false;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on') && typeof value === 'function') {
      element.addEventListener(key.slice(2), value as EventListener);
    } else if (key === 'value' && 'value' in element) {
      (element as unknown as { value: string }).value = String(value);
    } else {
      element.setAttribute(key, value === true ? '' : String(value));
    }
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** A drawing for a button: the path of a 24 by 24 icon. */
export function icon(path: string): SVGSVGElement {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const p = document.createElementNS(ns, 'path');
  p.setAttribute('d', path);
  svg.append(p);
  return svg;
}

/** A button with an icon; the label is what screen readers and tooltips say. */
export function iconButton(label: string, path: string, onclick: () => void, key?: string): HTMLButtonElement {
  return h(
    'button',
    { type: 'button', class: 'icon', 'aria-label': label, title: key ? `${label} (${key})` : label, onclick },
    icon(path),
  );
}

/** Offers a file to the user. */
export function download(name: string, data: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([data], { type }));
  const a = h('a', { href: url, download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** What a download of this scene is called: the last part of its path, without its ending. */
export function fileName(scene: string, ending: string): string {
  const stem = scene.split(/[\\/]/).pop()!.replace(/\.lw$/i, '').replace(/[^\p{L}\p{N}_-]+/gu, '-').replace(/^-+|-+$/g, '');
  return `${stem || 'scene'}.${ending}`;
}

/** True while the user types somewhere: single-letter keys must not act then. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)) &&
    (target as HTMLInputElement).type !== 'range' &&
    (target as HTMLInputElement).type !== 'checkbox'
  );
}
