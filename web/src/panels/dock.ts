/** Panels that open at the sides: at most one per side, and only one where the view would become too small. */

import { h } from '../dom';

export interface Panel {
  id: string;
  title: string;
  side: 'left' | 'right' | 'bottom';
  key: string;
  element: HTMLElement;
  /** It is on show now, or no longer. */
  onshow?: (on: boolean) => void;
}

/** A view below this, in pixels, or below 45 % of the window, is too small. */
const LEAST_WIDTH = 480;
const LEAST_HEIGHT = 260;

export class Docks {
  readonly buttons = h('nav', { class: 'panels', 'aria-label': 'Panels' });
  readonly sides: Record<Panel['side'], HTMLElement>;
  private panels = new Map<string, { panel: Panel; button: HTMLButtonElement; box: HTMLElement }>();
  private open = new Map<Panel['side'], string>();

  constructor() {
    addEventListener('resize', () => this.makeRoom());
    const side = (name: string) => h('aside', { class: `dock ${name}`, hidden: true });
    this.sides = { left: side('left'), right: side('right'), bottom: side('bottom') };
  }

  add(panel: Panel): void {
    const button = h(
      'button',
      {
        type: 'button',
        'aria-pressed': 'false',
        'data-panel': panel.id,
        title: `${panel.title} (${panel.key.toUpperCase()})`,
        onclick: () => this.toggle(panel.id),
      },
      panel.title,
    );
    const close = h('button', { type: 'button', class: 'close', 'aria-label': `Close ${panel.title}`, onclick: () => this.toggle(panel.id, false) }, '×');
    const box = h(
      'section',
      { class: `panel ${panel.id}`, 'aria-label': panel.title, hidden: true },
      h('header', {}, h('h2', {}, panel.title), close),
      panel.element,
    );
    this.sides[panel.side].append(box);
    this.buttons.append(button);
    this.panels.set(panel.id, { panel, button, box });
  }

  toggle(id: string, on?: boolean): void {
    const entry = this.panels.get(id);
    if (!entry) return;
    const { side } = entry.panel;
    const now = this.open.get(side);
    const want = on ?? now !== id;
    if (want === (now === id)) return;
    if (now) this.set(now, false);
    if (want) this.set(id, true);
    this.makeRoom();
  }

  /** Closes what was opened first until the view is large enough to work in, or one panel is left. */
  private makeRoom(): void {
    const view = this.sides.left.parentElement?.querySelector('.view');
    while (view && this.open.size > 1) {
      const { width, height } = view.getBoundingClientRect();
      // A map remembers the order in which its keys came.
      const oldest = [...this.open.values()][0]!;
      if (width >= Math.max(LEAST_WIDTH, 0.45 * innerWidth) && height >= Math.min(LEAST_HEIGHT, 0.45 * innerHeight)) return;
      this.set(oldest, false);
    }
  }

  private set(id: string, on: boolean): void {
    const { panel, button, box } = this.panels.get(id)!;
    box.hidden = !on;
    button.setAttribute('aria-pressed', String(on));
    if (on) this.open.set(panel.side, id);
    else this.open.delete(panel.side);
    this.sides[panel.side].hidden = !this.open.has(panel.side);
    panel.onshow?.(on);
  }

  isOpen(id: string): boolean {
    return [...this.open.values()].includes(id);
  }

  /** The panel that a key opens. */
  forKey(key: string): string | null {
    for (const { panel } of this.panels.values()) if (panel.key === key) return panel.id;
    return null;
  }
}
