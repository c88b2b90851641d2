/** All keys and gestures, under `?`. */

import { h } from '../dom';

const KEYS: [string, string][] = [
  ['drag a solid', 'move it; Shift locks its orientation, Alt pulls like a spring, the wheel moves it in depth'],
  ['drag elsewhere', 'turn the view; right-drag or two fingers pan; wheel or pinch zooms'],
  ['Space', 'run or pause'],
  ['← →', 'step back, step'],
  ['Backspace', 'start over'],
  ['Escape', 'let go and put everything back; stop picking; deselect'],
  ['Tab, Shift+Tab', 'when the view has the focus: next, previous solid'],
  ['Enter', 'grab the selected solid, or let it go'],
  ['arrows, Page Up/Down', 'while grabbed: move it across the view, further away or nearer (Shift: finer steps)'],
  ['H', 'handles on the selected solid: arrows to move it, rings to turn it, none'],
  ['F', 'frame the selection'],
  ['R or Home', 'fit all'],
  ['V', 'make the camera follow the selection, or everything that moves'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'undo, redo'],
  ['K', 'kinematic or dynamic'],
  ['Delete', 'delete the selected constraint; in Build also the selected part'],
  ['B', 'build: draw parts; 1 to 0, - and = choose a tool, arrows and Enter draw without a mouse'],
  ['J', 'in Build: switch between pins and balls for ends that meet'],
  ['Shift+click', 'in Build: select several parts, to align, group, copy, mirror or delete them'],
  ['Ctrl+D', 'in Build: copy what is selected'],
  ['G L S T P C', 'scenes, parts, settings, text, plots, compare'],
  ['?', 'this list'],
];

const FINGERS: [string, string][] = [
  ['one finger on a solid', 'drag it; use several fingers to hold several solids'],
  ['one finger on the background', 'turn the view'],
  ['two fingers on the background', 'zoom and pan'],
  ['tap a solid', 'select it, with its line in the text'],
  ['buttons above the view', 'fit all, follow, and handles to move and turn the selection'],
  ['▶', 'run or pause; next to it: step, step back, start over'],
  ['Settings, Hands', 'lock the orientation while dragging, or pull like a spring'],
];
const CONTROLLERS: [string, string][] = [
  ['trigger', 'grab along the ray'],
  ['grip button', 'grab the nearest solid; both hands work at once'],
  ['A or X', 'run or pause'],
  ['B or Y', 'undo'],
  ['stick left, right', 'step back, step'],
  ['press the stick', 'put the mechanism back in front of you'],
];

const list = (title: string, rows: [string, string][]) =>
  h('section', {}, h('h3', {}, title), h('dl', {}, ...rows.flatMap(([k, what]) => [h('dt', {}, h('kbd', {}, k)), h('dd', {}, what)])));

export function help(): HTMLDialogElement {
  const dialog: HTMLDialogElement = h(
    'dialog',
    { class: 'help', 'aria-label': 'Controls' },
    h('h2', {}, 'Controls'),
    ...(matchMedia('(pointer: coarse)').matches ? [list('Fingers', FINGERS), list('Mouse and keys', KEYS)] : [list('Mouse and keys', KEYS), list('Fingers', FINGERS)]),
    list('VR controllers', CONTROLLERS),
    h('form', { method: 'dialog' }, h('button', { class: 'primary' }, 'Close')),
  );
  return dialog;
}
