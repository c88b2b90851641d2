/** The tools of build mode: a row of buttons over the view, with what the chosen one asks for. */

import type { App } from '../app';
import { h, icon } from '../dom';
import { type Build, ENDS, TOOL_KEYS, TOOLS, type Tool } from '../view/build';
import { KINDS } from './inspector';

const PICTURES: Record<Tool, [string, string]> = {
  select: ['Select and move', 'M5 3l13 10-6 1 4 7-3 1-3-7-5 4z'],
  bar: ['Bar', 'M5.500 15a3.500 3.500 0 0 1 2.600 1l7.300-7.400a3.500 3.500 0 1 1 2 2L10 18a3.500 3.500 0 1 1-4.500-3zm0 2.500a1 1 0 1 0 0 2 1 1 0 0 0 0-2zM18 5a1 1 0 1 0 0 2 1 1 0 0 0 0-2z'],
  plate: ['Plate', 'M12 2.500L22 20H2zM12 7L5.800 18h12.400z'],
  wheel: ['Wheel', 'M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20zm0 2.500a7.500 7.500 0 1 0 0 15 7.500 7.500 0 0 0 0-15zm0 5a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5z'],
  box: ['Box', 'M12 2l9 4.500v11L12 22l-9-4.500v-11zm0 2.500L6.500 7.200 12 10l5.500-2.800zM5 9v7.300l6 3V12zm14 0l-6 3v7.300l6-3z'],
  ball: ['Ball', 'M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20zm-3 4a4 4 0 0 0-3 4l2 .4A2.500 2.500 0 0 1 9.600 8z'],
  pin: ['Join: to the ground, or two parts together', 'M12 2a4 4 0 0 1 1.500 7.700L18 17h-2.400L12 11l-3.600 6H6l4.500-7.300A4 4 0 0 1 12 2zm0 2.500a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3zM3 18h18v2H3zm1 2h2l-2 3H2zm6 0h2l-2 3H8zm6 0h2l-2 3h-2z'],
  motor: ['Motor', 'M12 4a8 8 0 1 1-7.700 5.800l2 .5A6 6 0 1 0 12 6v3L7.500 5 12 1zm0 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6z'],
  spring: ['Spring between two points', 'M2 11h3l1.500-5h2l2 9 2-9h2l2 9 1.500-4h4v2h-2.600l-2 6h-2l-2-9-2 9h-2l-2-9-.900 3H2z'],
  cloth: ['Cloth or rope', 'M3 3h2v2h14V3h2v15c-1.500 2-3.500 2-5 0-1.200 2-2.800 2-4 0-1.200 2-2.800 2-4 0-1.500 2-3.500 2-5 0zm2 4v10.300c.6.8 1.400.8 2 0l1.100-1.800 1 1.800c.5.8 1.300.8 1.800 0l1.100-1.800 1.100 1.800c.5.8 1.300.8 1.800 0l1-1.800 1.100 1.800c.6.8 1.400.8 2 0V7z'],
  trace: ['Trace the path of a point', 'M3 17c3-9 6-9 8-4s4 5 7-3l2 .7c-3.500 9.500-8 9.500-10.800 3.200C7.800 10.500 6.500 13 5 17.600zM19 4a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5z'],
  measure: ['Measure a distance', 'M2 8h20v9H2zm2 2v5h16v-5h-1v3h-1.500v-3H15v2h-1.500v-2H11v3H9.500v-3H7v2H5.500v-2z'],
};

/** Browsers take the first tap after a swift stroke for the end of a fling, and make no click of it. */
const quick = (act: () => void) => (e: PointerEvent) => {
  if (e.pointerType === 'touch') act();
};

export function tools(app: App, build: Build): HTMLElement {
  const buttons = TOOLS.map((tool, i) => {
    const [label, path] = PICTURES[tool];
    const key = TOOL_KEYS[i]!;
    return h(
      'button',
      { type: 'button', class: 'icon', 'data-tool': tool, 'aria-label': label, 'aria-pressed': 'false', 'aria-keyshortcuts': key, title: `${label} (${key})`, onclick: () => build.choose(tool), onpointerup: quick(() => build.choose(tool)) },
      icon(path),
    );
  });
  const plane = h(
    'select',
    { 'aria-label': 'Draw on', title: 'The plane you draw on. Boxes and balls stand on the part you start on.', id: 'draw-on', onchange: () => build.setGround(plane.value === 'ground') },
    h('option', { value: 'front' }, 'Upright'),
    h('option', { value: 'ground' }, 'Ground'),
  );
  const floor = h('button', { type: 'button', class: 'icon', id: 'floor', 'aria-label': 'Solid floor', 'aria-pressed': 'false', title: 'A solid floor for parts to stand and roll on', onclick: () => void build.setFloor(!build.floored) }, icon('M3 13h18v2H3zm1 2h2l-2 4H2zm5 0h2l-2 4H7zm5 0h2l-2 4h-2zm5 0h2l-2 4h-2zM12 2a4.500 4.500 0 1 1 0 9 4.500 4.500 0 0 1 0-9zm0 2a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5z'));
  // What appears where ends meet, by picture.
  const kinds = ENDS.map((ends) => {
    const [, words, path] = KINDS.find(([kind]) => kind === ends)!;
    const label = `Join ends by a ${words.replace(': ', ', which ').toLowerCase()}`;
    return h('button', { type: 'button', class: 'icon', 'data-ends': ends, 'aria-label': label, 'aria-pressed': 'false', 'aria-keyshortcuts': 'J', title: `${label} (J)`, onclick: () => build.setEnds(ends), onpointerup: quick(() => build.setEnds(ends)) }, icon(path));
  });
  const of = (...wanted: Tool[]) => wanted.map((tool) => buttons[TOOLS.indexOf(tool)]!);
  const gap = () => h('i', { class: 'gap' });
  const hint = h('p', { class: 'tool-hint' });
  const spoken = h('p', { class: 'tool-spot', role: 'status' });
  const bar = h(
    'div',
    { class: 'toolbar', role: 'toolbar', 'aria-label': 'Build', hidden: true },
    h('div', { class: 'tool-row' }, ...of('select', 'bar', 'plate', 'wheel', 'box', 'ball', 'cloth'), gap(), ...of('pin', 'motor', 'spring'), gap(), h('span', { class: 'ends', role: 'group', 'aria-label': 'How ends that meet are joined' }, ...kinds), gap(), ...of('trace', 'measure'), gap(), floor, plane),
    hint,
    spoken,
  );
  const show = () => {
    bar.hidden = !build.on;
    for (const b of buttons) b.setAttribute('aria-pressed', String(b.dataset.tool === build.tool));
    for (const b of kinds) b.setAttribute('aria-pressed', String(b.dataset.ends === build.ends));
    floor.setAttribute('aria-pressed', String(build.floored));
    plane.value = build.ground ? 'ground' : 'front';
    if (hint.textContent !== build.hint) hint.textContent = build.hint;
    // What the keyboard's cursor is at is said; the pointer's has a label of its own.
    const words = document.body.dataset.by === 'keys' ? build.words : '';
    if (spoken.textContent !== words) spoken.textContent = words;
  };
  build.onchange = show;
  app.on('scene', show);
  return bar;
}
