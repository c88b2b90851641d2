/** All keys and gestures, under `?`. */

import { h } from '../dom';

const KEYS: [string, string][] = [
  ['drag a solid', 'move it; Shift keeps its turn, Alt pulls like a spring, the wheel moves it in depth'],
  ['drag elsewhere', 'turn the view; right button or two fingers move it, wheel or pinch come nearer'],
  ['Space', 'run or pause'],
  ['← →', 'step back, step'],
  ['Escape', 'let go and put everything back; stop picking; deselect'],
  ['Tab, Shift+Tab', 'with the view in focus: next, previous solid'],
  ['Enter', 'take hold of the selected solid, or let it go'],
  ['arrows, Page Up/Down', 'while held: move it in the view, away and nearer (Shift: finer)'],
  ['H', 'handles on the selected solid: move it along an axis, turn it about one, off'],
  ['F', 'frame the selection'],
  ['R or Home', 'reset the view'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'undo, redo'],
  ['K', 'kinematic or dynamic'],
  ['Delete', 'delete the selected constraint'],
  ['G L S T P C', 'scenes, parts, settings, text, plots, compare'],
  ['?', 'this list'],
];

const FINGERS: [string, string][] = [
  ['one finger on a solid', 'drag it; several fingers are several hands'],
  ['one finger beside it', 'turn the view'],
  ['two fingers beside it', 'come nearer, go farther, move the view'],
  ['tap a solid', 'select it: its name, its line in the text'],
  ['buttons above the view', 'look at everything again; handles to move and turn what is selected'],
  ['▶', 'run or pause; beside it: step, step back, start over'],
  ['Settings, Hands', 'keep its turn while dragging, or pull like a spring'],
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
