/** All keys, under `?`. */

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
  ['F', 'frame the selection'],
  ['R or Home', 'reset the view'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'undo, redo'],
  ['K', 'kinematic or dynamic'],
  ['Delete', 'delete the selected constraint'],
  ['G L S T P C', 'scenes, parts, settings, text, plots, compare'],
  ['?', 'this list'],
];

export function help(): HTMLDialogElement {
  const dialog: HTMLDialogElement = h(
    'dialog',
    { class: 'help', 'aria-label': 'Keys' },
    h('h2', {}, 'Keys and hands'),
    h('dl', {}, ...KEYS.flatMap(([k, what]) => [h('dt', {}, h('kbd', {}, k)), h('dd', {}, what)])),
    h('p', { class: 'hint' }, 'In VR: trigger grabs along the ray, squeeze takes the nearest solid; both hands at once.'),
    h('form', { method: 'dialog' }, h('button', { class: 'primary' }, 'Close')),
  );
  return dialog;
}
