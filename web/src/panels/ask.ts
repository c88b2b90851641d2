/** Questions in the page's own dialogs: they block no drawing, and keyboards and screen readers know them. */

import { h } from '../dom';

function show<T>(title: string, body: (Node | null)[], answers: (done: (value: T) => void) => HTMLElement[], otherwise: T): Promise<T> {
  return new Promise((resolve) => {
    let value = otherwise;
    const dialog: HTMLDialogElement = h('dialog', { class: 'help ask', 'aria-label': title });
    const done = (v: T) => {
      value = v;
      dialog.close();
    };
    dialog.append(h('h2', {}, title), ...body.filter((b) => b !== null), h('div', { class: 'row answers' }, ...answers(done)));
    // Escape and everything else that closes it.
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(value);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** One of some answers; the first one, which is also what Escape means, changes nothing. */
export function ask<K extends string>(title: string, words: string, answers: [K, string][]): Promise<K> {
  const stay = answers[0]![0];
  return show<K>(
    title,
    [h('p', {}, words)],
    (done) =>
      answers.map(([key, label], i) =>
        h('button', { type: 'button', id: `answer-${key}`, class: i === 0 ? 'primary' : '', onclick: () => done(key) }, label),
      ),
    stay,
  );
}

/** A line of text; `null` when there is none. With `given` the line is there to be copied. */
export function askLine(title: string, label: string, given?: string): Promise<string | null> {
  const field = h('input', { type: 'text', id: 'line', 'aria-label': label, value: given ?? '', readonly: given !== undefined, autocomplete: 'off', spellcheck: 'false' });
  if (given !== undefined) field.addEventListener('focus', () => field.select());
  return show<string | null>(
    title,
    [h('p', {}, label), field],
    (done) => {
      const go = () => done(given === undefined && field.value.trim() !== '' ? field.value.trim() : null);
      field.addEventListener('keydown', (e) => e.key === 'Enter' && (e.preventDefault(), go()));
      return [
        h('button', { type: 'button', id: 'line-ok', class: 'primary', onclick: go }, given === undefined ? 'Open' : 'Close'),
        ...(given === undefined ? [h('button', { type: 'button', onclick: () => done(null) }, 'Cancel')] : []),
      ];
    },
    null,
  );
}
