/** Traces and measurements as a list with their files, and a chart of any of them against time or each other. */

import type { App } from '../app';
import { download, fileName, h } from '../dom';
import { digits } from '../format';
import type { Reach } from '../view/reach';
import type { Measure, Trace, Traces } from '../view/traces';

interface Series {
  id: string;
  name: string;
  times: number[];
  values: number[];
}

const NS = 'http://www.w3.org/2000/svg';
const W = 420;
const H = 150;
const EDGE = { left: 52, right: 10, top: 8, bottom: 24 };
const SHOWN = 900;

function svg<K extends keyof SVGElementTagNameMap>(tag: K, props: Record<string, string | number>, text?: string): SVGElementTagNameMap[K] {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(props)) e.setAttribute(k, String(v));
  if (text !== undefined) e.textContent = text;
  return e;
}

export function watched(app: App, traces: Traces, reach: Reach): HTMLElement {
  const list = h('ul', { class: 'watched', 'aria-label': 'Traces and measurements' });
  const note = h('p', { class: 'hint', id: 'cycle', role: 'status' });
  const reached = h('p', { class: 'finding', id: 'reach', role: 'status' });
  const tellReach = () => {
    if (reach.busy) return reached.replaceChildren('Finding everywhere it can go …');
    reached.replaceChildren(...(reach.shown ? [`${reach.words} `, h('button', { type: 'button', class: 'small', id: 'hide-reach', onclick: () => reach.clear() }, 'Hide')] : []));
  };
  reach.onchange = tellReach;
  const across = h('select', { id: 'chart-x', 'aria-label': 'Horizontal axis' });
  const along = h('select', { id: 'chart-y', 'aria-label': 'Vertical axis' });
  const chart = svg('svg', { viewBox: `0 0 ${W} ${H}`, class: 'xy', role: 'img', 'aria-label': 'Chart' });
  const table = h('button', { type: 'button', id: 'measures-csv', onclick: () => download(fileName(app.scene?.name ?? '', 'csv'), measuresCsv(), 'text/csv') }, 'Measurements as CSV');
  const clear = h('button', { type: 'button', id: 'traces-clear', onclick: () => traces.clear() }, 'Clear paths');
  const picks = h('div', { class: 'row' }, h('label', {}, 'Plot ', along), h('label', {}, ' against ', across), table, clear);
  const element = h('section', { class: 'watching', 'aria-label': 'Traces and measurements' }, h('h3', {}, 'Traces and measurements'), list, reached, note, picks, chart);

  const stem = (t: Trace) => `${app.scene?.name ?? 'scene'}-${t.name}`;
  const row = (name: string, color: string, words: HTMLElement | string, buttons: HTMLElement[]) => {
    const swatch = h('i', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.background = color;
    return h('li', {}, swatch, h('span', { class: 'name' }, name), words, ...buttons);
  };
  const outs = new Map<number, HTMLElement>();
  const traceRow = (t: Trace) =>
    row(`path of ${t.name}`, t.color, '', [
      h('button', { type: 'button', 'data-reach': t.id, 'aria-label': `Reach of this point of ${t.name}`, title: 'Everywhere this point can go', onclick: () => void reach.search(t.place) }, 'Reach'),
      h('button', { type: 'button', 'data-svg': t.id, 'aria-label': `Path of ${t.name} as SVG`, onclick: () => {
        const { closed, ...range } = traces.range(t);
        if (range.to < 1) return app.toast('There is no path yet: press Play first.', true);
        download(fileName(stem(t), 'svg'), t.path.svg(range, closed, `${app.scene!.title}: path of ${t.name}`, app.scene!.up), 'image/svg+xml');
      } }, 'SVG'),
      h('button', { type: 'button', 'data-csv': t.id, 'aria-label': `Path of ${t.name} as CSV`, onclick: () => {
        const range = traces.range(t);
        if (range.to < 1) return app.toast('There is no path yet: press Play first.', true);
        download(fileName(stem(t), 'csv'), t.path.csv(range), 'text/csv');
      } }, 'CSV'),
      h('button', { type: 'button', class: 'close', 'aria-label': `Remove the path of ${t.name}`, onclick: () => traces.remove(t.id) }, '×'),
    ]);
  const measureRow = (m: Measure) => {
    const out = h('output', {}, traces.words(m));
    outs.set(m.id, out);
    return row(m.name, 'transparent', out, [h('button', { type: 'button', class: 'close', 'aria-label': `Remove ${m.name}`, onclick: () => traces.remove(m.id) }, '×')]);
  };

  const series = (): Series[] => [
    ...traces.measures.map((m) => ({ id: `m${m.id}`, name: `${m.name}, ${m.unit}`, times: m.times, values: m.values })),
    ...traces.traces.flatMap((t) => (['x', 'y', 'z'] as const).map((c, k) => ({ id: `t${t.id}${c}`, name: `${c} of ${t.name}, m`, times: t.path.times, values: t.path.points.map((p) => p[k]!) }))),
  ];

  const measuresCsv = () => {
    const times = [...new Set(traces.measures.flatMap((m) => m.times))].sort((a, b) => a - b);
    const maps = traces.measures.map((m) => new Map(m.times.map((t, i) => [t, m.values[i]!])));
    const head = ['time_s', ...traces.measures.map((m) => `${m.name}_${m.unit}`.replace(/[^\p{L}\p{N}]+/gu, '_'))];
    return [head.join(','), ...times.map((t) => [t, ...maps.map((m) => m.get(t) ?? '')].join(','))].join('\n') + '\n';
  };

  /** Pairs of values at the same times: samples of everything are taken together, but may have begun at different times. */
  const pairs = (x: Series | null, y: Series): [number, number][] => {
    if (!x) return y.times.map((t, i) => [t, y.values[i]!]);
    const of = new Map(x.times.map((t, i) => [t, x.values[i]!]));
    return y.times.flatMap((t, i) => (of.has(t) ? [[of.get(t)!, y.values[i]!] as [number, number]] : []));
  };

  const draw = () => {
    const all = series();
    const y = all.find((s) => s.id === along.value) ?? null;
    const x = all.find((s) => s.id === across.value) ?? null;
    const data = y ? pairs(x, y).slice(-SHOWN) : [];
    chart.replaceChildren();
    chart.dataset.points = String(data.length);
    if (!y || data.length < 2) return;
    const range = (k: 0 | 1): [number, number] => {
      const values = data.map((d) => d[k]);
      const [a, b] = [Math.min(...values), Math.max(...values)];
      return b - a > 1e-9 * Math.max(1, Math.abs(a)) ? [a, b] : [a - 0.5, b + 0.5];
    };
    const [rx, ry] = [range(0), range(1)];
    const px = (v: number) => EDGE.left + ((v - rx[0]) / (rx[1] - rx[0])) * (W - EDGE.left - EDGE.right);
    const py = (v: number) => H - EDGE.bottom - ((v - ry[0]) / (ry[1] - ry[0])) * (H - EDGE.top - EDGE.bottom);
    for (const k of [0, 0.5, 1]) {
      const [vx, vy] = [rx[0] + k * (rx[1] - rx[0]), ry[0] + k * (ry[1] - ry[0])];
      chart.append(svg('line', { x1: EDGE.left, x2: W - EDGE.right, y1: py(vy), y2: py(vy), class: 'rule' }), svg('line', { y1: EDGE.top, y2: H - EDGE.bottom, x1: px(vx), x2: px(vx), class: 'rule' }));
      chart.append(svg('text', { x: EDGE.left - 5, y: py(vy) + 3, 'text-anchor': 'end' }, digits(vy)), svg('text', { x: px(vx), y: H - 13, 'text-anchor': k === 0 ? 'start' : k === 1 ? 'end' : 'middle' }, digits(vx)));
    }
    chart.append(svg('text', { x: W - EDGE.right, y: H - 2, 'text-anchor': 'end', class: 'axis' }, x ? x.name : 'time, s'));
    chart.append(svg('polyline', { points: data.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(' '), class: 'curve' }));
    const [lx, ly] = data.at(-1)!;
    chart.append(svg('circle', { cx: px(lx), cy: py(ly), r: 3, class: 'here' }));
  };
  along.addEventListener('change', draw);
  across.addEventListener('change', draw);

  const refill = () => {
    outs.clear();
    list.replaceChildren(...traces.traces.map(traceRow), ...traces.measures.map(measureRow));
    const all = series();
    const fill = (select: HTMLSelectElement, first: HTMLElement[]) => {
      const kept = select.value;
      select.replaceChildren(...first, ...all.map((s) => h('option', { value: s.id }, s.name)));
      if ([...select.options].some((o) => o.value === kept)) select.value = kept;
    };
    fill(along, []);
    fill(across, [h('option', { value: 'time' }, 'time')]);
    picks.hidden = chart.toggleAttribute('hidden', all.length === 0);
    table.hidden = traces.measures.length === 0;
    clear.hidden = traces.traces.length === 0;
    tell();
    draw();
  };
  const tell = () => {
    const period = traces.watch.period;
    const nothing = traces.traces.length + traces.measures.length === 0;
    const words = nothing ? 'None yet. Add them with the tools in Build, or from a part or joint under Parts.' : period !== null ? `One cycle takes ${period.toFixed(3)} s; paths are shown for one whole cycle.` : '';
    if (note.textContent !== words) note.textContent = words;
    note.dataset.period = period === null ? '' : String(period);
  };
  traces.onchange = refill;
  refill();
  let last = 0;
  app.on('frame', () => {
    const now = performance.now();
    if (now - last < 150 || element.offsetParent === null) return;
    last = now;
    for (const m of traces.measures) {
      const out = outs.get(m.id);
      if (out) out.textContent = traces.words(m);
    }
    tell();
    draw();
  });
  return element;
}
