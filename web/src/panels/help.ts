/** All keys and gestures, under `?`. */

import { h } from '../dom';

const KEYS: [string, string][] = [
  ['drag a solid', 'move it; Shift locks its orientation, Alt pulls like a spring, the wheel moves it in depth'],
  ['drag elsewhere', 'turn the view; right-drag or two fingers pan; wheel or pinch zooms'],
  ['Space', 'run or pause'],
  ['← →', 'step back, step'],
  ['Backspace', 'start over'],
  ['Escape', 'let go and put everything back; stop picking; deselect'],
  ['Tab, Shift+Tab', 'with the view in focus: next, previous solid'],
  ['Enter', 'take hold of the selected solid, or let it go'],
  ['arrows, Page Up/Down', 'while held: move it in the view, away and nearer (Shift: finer)'],
  ['H', 'handles on the selected solid: move it along an axis, turn it about one, off'],
  ['F', 'frame the selection'],
  ['R or Home', 'fit all'],
  ['V', 'the camera follows the selection, or all that moves'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'undo, redo'],
  ['K', 'kinematic or dynamic'],
  ['Delete', 'delete the selected constraint; in Build also the selected part'],
  ['B', 'build: draw parts; 1 to 0 and - choose a tool, arrows and Enter draw without a mouse'],
  ['J', 'in Build: ends that meet are joined by pins, or by balls'],
  ['Shift+click', 'in Build: select several parts, to align, group, copy, mirror or delete them'],
  ['Ctrl+D', 'in Build: copy what is selected'],
  ['G L S T P C', 'scenes, parts, settings, text, plots, compare'],
  ['?', 'this list'],
];

const FINGERS: [string, string][] = [
  ['one finger on a solid', 'drag it; several fingers are several hands'],
  ['one finger beside it', 'turn the view'],
  ['two fingers beside it', 'zoom and pan'],
  ['tap a solid', 'select it: its name, its line in the text'],
  ['buttons above the view', 'fit all, follow, and handles to move and turn what is selected'],
  ['▶', 'run or pause; beside it: step, step back, start over'],
  ['Settings, Hands', 'lock the orientation while dragging, or pull like a spring'],
];
const CONTROLLERS: [string, string][] = [
  ['trigger', 'grab along the ray'],
  ['grip button', 'take the nearest solid; both hands at once'],
  ['A or X', 'run or pause'],
  ['B or Y', 'undo'],
  ['stick left, right', 'step back, step'],
  ['press the stick', 'put the mechanism in front of you again'],
];

const list = (title: string, rows: [string, string][]) =>
  h('section', {}, h('h3', {}, title), h('dl', {}, ...rows.flatMap(([k, what]) => [h('dt', {}, h('kbd', {}, k)), h('dd', {}, what)])));

export function help(): HTMLDialogElement {
  const dialog: HTMLDialogElement = h(
    'dialog',
    { class: 'help', 'aria-label': 'Keys' },
    h('h2', {}, 'Keys and hands'),
    ...(matchMedia('(pointer: coarse)').matches ? [list('Fingers', FINGERS), list('Mouse and keys', KEYS)] : [list('Mouse and keys', KEYS), list('Fingers', FINGERS)]),
    list('VR controllers', CONTROLLERS),
    h('form', { method: 'dialog' }, h('button', { class: 'primary' }, 'Close')),
  );
  return dialog;
}
