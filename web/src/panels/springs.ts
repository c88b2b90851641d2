/** The springs of a scene, in numbers that can be changed. What is entered is written into the text. */

import type { App } from '../app';
import * as command from '../commands';
import { h } from '../dom';
import { type Block, num, parse, removeBlock, setClause } from '../scenetext';

/** More rows than this nobody looks through. */
const MOST = 24;
const FIELDS = [
  ['stiffness', 'Stiffness', 'N/m'],
  ['damping', 'Damping', 'N s/m'],
  ['length', 'Rest length', 'm'],
] as const;

export function springs(app: App): HTMLElement {
  const list = h('div', {});
  const element = h('section', { class: 'springs', id: 'springs', hidden: true }, h('h3', {}, 'Springs'), list);
  /** Blocks that stand for one spring each: those that can be changed here. */
  const blocks = (): Block[] => parse(app.scene!.text).filter((b) => b.keyword === 'spring' && b.labels.length === 1);
  const change = (name: string, make: (text: string, block: Block) => string) => {
    const block = blocks().find((b) => b.labels[0] === name);
    if (block) void app.do(command.setText(make(app.scene!.text, block)));
  };

  const row = (block: Block): HTMLElement => {
    const name = block.labels[0]!;
    const fields = FIELDS.map(([word, label, unit]) => {
      const said = block.clauses.find((c) => c.word === word)?.tokens[1]?.text ?? '';
      const shown = Number.isFinite(Number(said)) ? said : '';
      const input = h('input', { type: 'number', step: 'any', min: 0, value: shown, placeholder: word === 'length' ? 'as at the start' : said || '0', 'data-spring': name, 'data-clause': word, 'aria-label': `${label} of ${name}, ${unit}` });
      input.addEventListener('change', () => {
        const x = Number(input.value);
        if (input.value.trim() !== '' && x >= 0) return change(name, (t, b) => setClause(t, b, word, num(x)));
        input.value = shown;
        app.toast(`${label} must be a number of at least 0.`, true);
      });
      return h('label', { class: 'field number' }, h('span', {}, label), input, h('small', {}, unit));
    });
    const remove = h('button', { type: 'button', 'aria-label': `Delete ${name}`, onclick: () => change(name, removeBlock) }, 'Delete');
    return h('details', { open: blocks().length === 1 }, h('summary', {}, name), ...fields, h('div', { class: 'row' }, remove));
  };

  let before = '';
  app.on('scene', () => {
    const found = blocks();
    element.hidden = found.length === 0;
    const now = found.map((b) => app.scene!.text.slice(b.from, b.to)).join('\n');
    if (now === before) return;
    before = now;
    const open = new Set([...list.querySelectorAll<HTMLDetailsElement>('details[open]')].map((d) => d.dataset.name));
    const focus = list.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset : null;
    list.replaceChildren(
      ...found.slice(0, MOST).map((b) => {
        const made = row(b) as HTMLDetailsElement;
        made.dataset.name = b.labels[0];
        made.open ||= open.has(b.labels[0]);
        return made;
      }),
    );
    if (focus?.spring) list.querySelector<HTMLElement>(`[data-spring="${focus.spring}"][data-clause="${focus.clause}"]`)?.focus();
  });
  return element;
}
