/** Two to four methods on one clock: the others as ghosts, all of them in a table. */

import type { App } from '../app';
import { h } from '../dom';
import { digits, length } from '../format';
import type { Panel } from './dock';

/** Colours of the ghosts; each also has a letter, so that colour is not all that tells them apart. */
export const GHOSTS = [0x2f6fc4, 0xe08a1e, 0x7a4fb5] as const;
const LETTERS = ['B', 'C', 'D'];

export function compare(app: App): Panel {
  const rows = LETTERS.map((letter, i) => {
    const swatch = h('i', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.background = `#${GHOSTS[i]!.toString(16).padStart(6, '0')}`;
    const method = h('select', { 'aria-label': `Method ${letter}`, class: 'ghost-method' });
    const solver = h('select', { 'aria-label': `Solver ${letter}` });
    return { letter, method, solver, row: h('div', { class: 'field ghost' }, swatch, h('b', {}, letter), method, solver) };
  });
  const start = h('button', { type: 'button', id: 'compare-start', class: 'primary', onclick: () => void begin() }, 'Start from here');
  const stop = h('button', { type: 'button', id: 'compare-stop', onclick: () => void end() }, 'Stop');
  const body = h('tbody', {});
  const table = h(
    'table',
    { id: 'compare-table', hidden: true },
    h('thead', {}, h('tr', {}, ...['', 'method', 'gap', 'energy', 'ms', 'iter.', 'apart'].map((t) => h('th', { scope: 'col' }, t)))),
    body,
  );

  const begin = async () => {
    const entries = rows.filter((r) => r.method.value !== '').map((r) => ({ method: r.method.value, solver: r.solver.value }));
    if (entries.length === 0) return app.toast('Choose at least one other method.', true);
    running = false;
    try {
      await app.ask({ compare: { entries } });
    } catch (error) {
      app.toast((error as Error).message, true);
    }
  };
  const end = async () => {
    running = false;
    await app.ask({ compare: { entries: [] } }).catch((e: Error) => app.toast(e.message, true));
  };

  app.on('hello', ({ methods, solvers }) => {
    rows.forEach(({ method, solver }, i) => {
      method.replaceChildren(h('option', { value: '' }, '–'), ...methods.map((m) => h('option', { value: m }, m)));
      solver.replaceChildren(...solvers.map((s) => h('option', { value: s }, s)));
      if (i === 0) method.value = methods.find((m) => m !== app.settings?.method && m === 'displacement') ?? methods[1] ?? '';
    });
  });
  /** A comparison is on show that this window has not ended. */
  let running = false;
  app.on('compare', (list) => {
    if (running && list.length === 0) app.toast('The comparison has ended: any edit, undo, restart or change of scene ends it.');
    running = list.length > 0;
    table.hidden = list.length === 0;
    body.replaceChildren(
      ...list.map((r, i) => {
        const swatch = h('i', { class: 'swatch', 'aria-hidden': 'true' });
        if (i > 0) swatch.style.background = `#${GHOSTS[(i - 1) % GHOSTS.length]!.toString(16).padStart(6, '0')}`;
        return h(
          'tr',
          {},
          h('th', { scope: 'row' }, swatch, r.label),
          h('td', {}, r.method, h('small', {}, r.solver)),
          h('td', {}, length(r.gap)),
          h('td', {}, `${digits(r.energy)} J`),
          h('td', {}, digits(r.ms)),
          h('td', {}, String(r.iterations)),
          h('td', {}, i === 0 ? '' : length(r.drift)),
        );
      }),
    );
  });
  const element = h(
    'div',
    {},
    h('p', { class: 'hint' }, 'A is the session itself, with its settings. The others start from its present state, share its hands and its clock, and are drawn as ghosts.'),
    ...rows.map((r) => r.row),
    h('div', { class: 'row' }, start, stop),
    table,
  );
  return { id: 'compare', title: 'Compare', side: 'right', key: 'c', element };
}
