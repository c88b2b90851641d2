/** Run, pause, step, the recorded past, speed, and what moves: time or inverse kinematics only. */

import type { App } from '../app';
import * as command from '../commands';
import { h, icon, iconButton } from '../dom';
import { gapWords, seconds } from '../format';

const PLAY = 'M8 5v14l11-7z';
const PAUSE = 'M6 5h4v14H6zm8 0h4v14h-4z';
const BACK = 'M16 5v14L7 12zM5 5h2v14H5z';
const FORWARD = 'M8 5v14l9-7zM17 5h2v14h-2z';
const RESET = 'M12 5V1L7 6l5 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z';
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export function transport(app: App): HTMLElement {
  const play = h('button', {
    type: 'button',
    class: 'icon play',
    id: 'play',
    'aria-label': 'Run',
    title: 'Run or pause (Space)',
    onclick: () => void app.do(command.run(!app.settings?.running)),
  });
  play.append(icon(PLAY));
  const time = h('output', { class: 'time', id: 'time' }, '0.00 s');
  const scrub = h('input', {
    type: 'range',
    id: 'scrub',
    min: 0,
    max: 0,
    step: 1,
    'aria-label': 'Recorded past',
    title: 'Recorded past',
    oninput: () => app.connection.tell(command.scrub(Number(scrub.value))),
  });
  const branch = h(
    'button',
    { type: 'button', id: 'branch', class: 'small', hidden: true, title: 'Discard everything after this moment', onclick: () => void app.do(command.branch()) },
    'Go on from here',
  );
  const speed = h(
    'select',
    { id: 'speed', 'aria-label': 'Speed', title: 'Speed', onchange: () => void app.do(command.speed(Number(speed.value))) },
    ...SPEEDS.map((s) => h('option', { value: s }, `${s}×`)),
  );
  const modes = (['dynamic', 'kinematic'] as const).map((m) =>
    h(
      'button',
      {
        type: 'button',
        id: m,
        'aria-pressed': 'false',
        title: m === 'dynamic' ? 'Masses, forces, time' : 'Inverse kinematics: no time, no velocities',
        onclick: () => void app.do(command.mode(m)),
      },
      m === 'dynamic' ? 'Dynamic' : 'Kinematic',
    ),
  );
  const gap = h('output', { class: 'gap-chip', id: 'gap', title: 'Largest gap of all joints' });

  app.on('settings', (s) => {
    play.replaceChildren(icon(s.running ? PAUSE : PLAY));
    play.setAttribute('aria-label', s.running ? 'Pause' : 'Run');
    play.setAttribute('aria-pressed', String(s.running));
    if (![...speed.options].some((o) => Number(o.value) === s.speed)) speed.append(h('option', { value: s.speed }, `${s.speed}×`));
    speed.value = String(s.speed);
    for (const b of modes) b.setAttribute('aria-pressed', String(b.id === s.mode));
  });
  let last = 0;
  app.on('frame', (f) => {
    const now = performance.now();
    if (now - last < 60) return;
    last = now;
    time.textContent = seconds(f.time);
    gap.textContent = f.rejected ? '✕ step rejected' : `${f.missed ? '▲' : '✓'} gap ${gapWords(f, app.settings?.tolerance ?? 0)}`;
    gap.classList.toggle('bad', f.missed || f.rejected);
    scrub.min = String(f.first);
    scrub.max = String(f.last);
    if (!scrub.matches(':active')) scrub.value = String(f.shown);
    branch.hidden = !f.scrubbed;
  });

  return h(
    'div',
    { class: 'transport', role: 'toolbar', 'aria-label': 'Time' },
    iconButton('Start over', RESET, () => void app.do(command.reset()), 'Backspace'),
    iconButton('Step back', BACK, () => void app.do(command.step(-1)), '←'),
    play,
    iconButton('Step', FORWARD, () => void app.do(command.step(1)), '→'),
    scrub,
    time,
    branch,
    speed,
    h('span', { class: 'segment', role: 'group', 'aria-label': 'What moves it' }, ...modes),
    gap,
  );
}
