/** Live curves of the last half minute, and the same as CSV. */

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { App } from '../app';
import { download, h } from '../dom';
import { digits } from '../format';
import { contactForce, type ContactEvent, type Frame } from '../protocol';
import type { Panel } from './dock';

const KEPT = 1800;
const dark = matchMedia('(prefers-color-scheme: dark)');

interface Curve {
  label: string;
  value: (f: Frame, app: App) => number;
  stroke: string;
  dash?: number[];
}
interface Chart {
  title: string;
  log?: boolean;
  curves: Curve[];
}

const size = (v: readonly number[]) => Math.hypot(...v);
const chosen = (app: App) => (app.selection?.kind === 'solid' ? app.selection.id : null);
/** Contact events that are listed. */
const LISTED = 40;

const CHARTS: Chart[] = [
  { title: 'Largest gap, m', log: true, curves: [{ label: 'gap', value: (f) => Math.max(f.gap, 1e-12), stroke: '#c8384a' }] },
  {
    title: 'Energy, J',
    curves: [
      { label: 'total', value: (f) => f.kinetic + f.potential + f.spring, stroke: '#5b6b7c' },
      { label: 'kinetic', value: (f) => f.kinetic, stroke: '#e08a1e', dash: [6, 3] },
      { label: 'potential', value: (f) => f.potential, stroke: '#2f6fc4', dash: [2, 3] },
    ],
  },
  {
    title: 'Momentum',
    curves: [
      { label: 'linear, kg m/s', value: (f) => size(f.linear), stroke: '#2f6fc4' },
      { label: 'angular, kg m²/s', value: (f) => size(f.angular), stroke: '#7a4fb5', dash: [6, 3] },
    ],
  },
  {
    title: 'Contact',
    curves: [
      { label: 'force on the selected solid (or the largest), N', value: (f, app) => contactForce(f, chosen(app)), stroke: '#0a7d74' },
      { label: 'blow, N s', value: (f) => f.blow, stroke: '#d9620a', dash: [6, 3] },
    ],
  },
  { title: 'Time per tick, ms', curves: [{ label: 'used', value: (f) => f.used, stroke: '#0a7d74' }] },
  {
    title: 'Iterations per tick',
    curves: [
      { label: 'geometric', value: (f) => f.iterations, stroke: '#5b6b7c' },
      { label: 'solver', value: (f) => f.solverIterations, stroke: '#c8384a', dash: [6, 3] },
    ],
  },
];

/** A column's name: unit and squares kept, nothing said twice. */
function columnName(title: string, label: string): string {
  const [what, unit] = title.split(', ') as [string, string | undefined];
  const words = [what, what.toLowerCase().endsWith(label) ? '' : label, unit ?? ''].join(' ');
  return words.toLowerCase().replaceAll('²', '2').trim().replace(/[^a-z0-9]+/g, '_');
}

export function plots(app: App, above: HTMLElement): Panel & { rows: () => number } {
  const charts = h('div', { class: 'charts' });
  const all = CHARTS.flatMap((c) => c.curves);
  const clock: number[] = [];
  const time: number[] = [];
  const data: number[][] = all.map(() => []);
  const made: { plot: uPlot; curves: number[] }[] = [];
  let shown = false;
  let last = 0;
  let start = performance.now();

  const clear = () => {
    clock.length = time.length = 0;
    for (const d of data) d.length = 0;
    start = performance.now();
  };

  const make = () => {
    for (const m of made) m.plot.destroy();
    made.length = 0;
    charts.replaceChildren();
    const ink = dark.matches ? '#aab4c0' : '#5a6672';
    const rule = { stroke: dark.matches ? '#333b45' : '#e3e8ed', width: 1 };
    let k = 0;
    for (const chart of CHARTS) {
      const curves = chart.curves.map(() => k++);
      const box = charts.appendChild(h('figure', { class: 'chart' }, h('figcaption', {}, chart.title)));
      const axis = { stroke: ink, grid: rule, ticks: rule, font: '11px system-ui' };
      const plot = new uPlot(
        {
          width: Math.max(160, box.clientWidth - 4),
          height: 120,
          legend: { show: chart.curves.length > 1, live: false },
          cursor: { show: false },
          scales: { x: { time: false }, ...(chart.log && { y: { distr: 3 } }) },
          axes: [
            // Seconds before now: the clock of the window means nothing to anybody.
            { ...axis, size: 28, values: (_u: uPlot, v: number[]) => v.map((x) => `${(x - (clock.at(-1) ?? 0)).toFixed(0)} s`) },
            { ...axis, size: 46, values: (_u: uPlot, v: number[]) => v.map((x) => (x === null ? '' : chart.log ? x.toExponential(0) : digits(x))) },
          ],
          series: [
            {},
            ...chart.curves.map((c) => ({ label: c.label, stroke: c.stroke, width: 1.6, ...(c.dash && { dash: c.dash }), points: { show: false } })),
          ],
        },
        [clock, ...curves.map((i) => data[i]!)],
        box,
      );
      made.push({ plot, curves });
    }
  };
  const draw = () => {
    for (const { plot, curves } of made) plot.setData([clock, ...curves.map((i) => data[i]!)]);
  };

  app.on('scene', clear);
  app.on('frame', (f) => {
    const now = performance.now();
    clock.push((now - start) / 1000);
    time.push(f.time);
    all.forEach((c, i) => data[i]!.push(c.value(f, app)));
    if (clock.length > KEPT) {
      // In lumps: taking one off the front of an array is slow.
      for (const d of [clock, time, ...data]) d.splice(0, KEPT / 6);
    }
    if (shown && now - last > 150) {
      last = now;
      draw();
    }
  });
  dark.addEventListener('change', () => shown && make());
  new ResizeObserver(() => {
    if (!shown) return;
    for (const m of made) m.plot.setSize({ width: Math.max(160, m.plot.root.parentElement!.clientWidth - 4), height: 120 });
  }).observe(charts);

  const events = h('ol', { class: 'events', id: 'contact-events', 'aria-label': 'Contact events' });
  const told = (e: ContactEvent) => {
    const [a, b] = e.solids.map((s) => app.scene?.solids[s]?.name ?? String(s));
    return `${e.time.toFixed(3)} s: ${a} and ${b} ${e.begin ? 'meet' : `part after ${(e.time - e.since).toFixed(3)} s`}, ${digits(size(e.impulse))} N s`;
  };
  app.on('contacts', (list) => {
    events.prepend(...list.map((e) => h('li', { class: e.begin ? 'begin' : 'end' }, told(e))).reverse());
    while (events.childElementCount > LISTED) events.lastElementChild!.remove();
  });
  app.on('scene', () => app.other && events.replaceChildren());

  const csv = () => {
    const head = ['clock', 'time', ...CHARTS.flatMap((c) => c.curves.map((x) => columnName(c.title, x.label)))];
    const lines = clock.map((t, i) => [t, time[i], ...data.map((d) => d[i])].join(','));
    download(`${app.scene?.name ?? 'linkwork'}.csv`, [head.join(','), ...lines].join('\n') + '\n', 'text/csv');
  };
  const element = h(
    'div',
    {},
    above,
    charts,
    events,
    h('div', { class: 'row' }, h('button', { type: 'button', id: 'csv', onclick: csv }, 'Save as CSV'), h('button', { type: 'button', onclick: clear }, 'Clear')),
  );
  return {
    id: 'plots',
    title: 'Plots',
    side: 'bottom',
    key: 'p',
    element,
    onshow: (on) => {
      shown = on;
      if (on) make();
    },
    rows: () => clock.length,
  };
}
