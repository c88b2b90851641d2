/** How it is computed: method, solver, budget with its receipt, tolerance, step, gravity; and what is drawn over it. */

import type { App, GrabMode, Overlays } from '../app';
import * as command from '../commands';
import { h } from '../dom';
import { digits, gapWords, length } from '../format';
import { isOver, type Parameters } from '../protocol';
import type { Panel } from './dock';

/** Slider positions to values on a logarithmic scale. */
const exponent = (x: number) => 10 ** x;

const OVERLAYS: [keyof Overlays, string, string][] = [
  ['joints', 'Joints', `${matchMedia('(prefers-color-scheme: dark)').matches ? 'white' : 'black'}: primary, grey: secondary`],
  ['gaps', 'Gaps', 'red bars where joints stand open'],
  ['frames', 'Joint frames', 'axes i, j, k of both sides'],
  ['limits', 'Limits', 'arcs and rails with the present value'],
  ['centres', 'Centres of mass', ''],
  ['forces', 'Forces', 'of joints and hands'],
  ['contacts', 'Contacts', 'points, forces and friction cones; blue: sticks, orange: slides'],
  ['skins', 'Skins', 'off: the solids beneath them'],
  ['strain', 'Strain', 'of cloth, ropes and soft solids, as colour'],
];

/** Blows where a scene says nothing of air, m/s. */
const BREEZE: [number, number, number] = [5, 0, 0];

export function settings(app: App): Panel {
  const select = (id: string, label: string, change: (value: string) => void) => {
    const field = h('select', { id, onchange: () => change(field.value) });
    return { field, row: h('label', { class: 'field' }, h('span', {}, label), field) };
  };
  const method = select('method', 'Method', (v) => void app.do(command.method(v)));
  const solver = select('solver', 'Solver', (v) => void app.do(command.solver(v)));
  const policy = select('policy', 'Effort', (v) => void app.do(command.policy(v)));
  policy.field.append(
    h('option', { value: 'coarse-while-dragging' }, 'coarse while dragging'),
    h('option', { value: 'always-exact' }, 'always exact'),
  );

  const slider = (
    id: string,
    label: string,
    range: [number, number, number],
    show: (x: number) => string,
    send: (x: number) => void,
  ) => {
    const out = h('output', { for: id });
    const input = h('input', {
      type: 'range',
      id,
      min: range[0],
      max: range[1],
      step: range[2],
      oninput: () => {
        out.textContent = show(Number(input.value));
        send(Number(input.value));
      },
    });
    const row = h('label', { class: 'field slider' }, h('span', {}, label), input, out);
    const set = (x: number) => {
      // A slider in the user's hand is not moved by the echo of its own change.
      if (document.activeElement === input && input.matches(':active')) return;
      input.value = String(x);
      // What is set, which may lie between two notches.
      out.textContent = show(x);
    };
    return { row, set, out, input };
  };

  const most = 1.31; // 20 ms and a bit: no limit
  const budget = slider(
    'budget',
    'Budget',
    [-1.5, most, 0.05],
    (x) => (x >= most - 0.01 ? 'no limit' : `${digits(exponent(x))} ms`),
    (x) => void app.do(command.budget(x >= most - 0.01 ? null : exponent(x))),
  );
  const receipt = h('p', { class: 'receipt', id: 'receipt', 'aria-live': 'off' });
  const tolerance = slider('tolerance', 'Tolerance', [-9, -2, 0.5], (x) => length(exponent(x)), (x) => void app.do(command.tolerance(exponent(x))));
  const step = slider('step', 'Time step', [-3.5, -1, 0.05], (x) => `${digits(1e3 * exponent(x))} ms`, (x) => void app.do(command.timeStep(exponent(x))));
  const iterations = slider('iterations', 'Iterations', [1, 40, 1], String, (x) => void app.do(command.iterations(x)));
  const gravity = slider('gravity', 'Gravity', [0, 25, 0.1], (x) => `${x.toFixed(1)} m/s²`, (x) => {
    const g = app.settings?.gravity ?? [0, -9.81, 0];
    const size = Math.hypot(...g);
    const down = size > 1e-9 ? g.map((c) => c / size) : app.scene?.up === 'z' ? [0, 0, -1] : [0, -1, 0];
    void app.do(command.gravity(down.map((c) => c * x) as [number, number, number]));
  });

  // What some methods leave open; the others have none of it.
  const set = (change: Parameters) => void app.do(command.parameters({ ...app.settings?.parameters, ...change }));
  const integrator = select('integrator', 'Integrator', (v) => set({ integrator: v as Parameters['integrator'] }));
  integrator.field.append(...(['euler', 'semi-implicit', 'rk4'] as const).map((v) => h('option', { value: v }, { euler: 'Euler, explicit', 'semi-implicit': 'Euler, semi-implicit', rk4: 'Runge-Kutta, 4th order' }[v])));
  const feedback = (id: string, label: string, send: (x: number) => void) => slider(id, label, [0, 60, 0.5], (x) => `${digits(x)} /s`, send);
  const alpha = feedback('alpha', 'Gap damping α', (x) => set({ alpha: x }));
  const beta = feedback('beta', 'Gap stiffness β', (x) => set({ beta: x }));
  const projects = h('input', { type: 'checkbox', id: 'project-velocities', onchange: () => set({ project_velocities: projects.checked }) });
  const projectsRow = h('label', { class: 'check' }, projects, h('span', {}, 'Project velocities'), h('small', {}, 'as well as positions'));
  const squared = h('input', { type: 'checkbox', id: 'squared-distances', onchange: () => set({ squared_distances: squared.checked }) });
  const squaredRow = h('label', { class: 'check' }, squared, h('span', {}, 'Squared distances'), h('small', {}, 'distance joints keep |d|² − L² at zero'));

  // One notch below nothing: what the materials say.
  const asWritten = -0.05;
  const surface = (id: string, label: string, most: number, set: (x: number | null) => command.Command) =>
    slider(id, label, [asWritten, most, 0.05], (x) => (x < 0 ? 'as in the scene' : x.toFixed(2)), (x) => void app.do(set(x < 0 ? null : x)));
  const friction = surface('friction', 'Friction', 1.5, command.friction);
  const bounce = surface('bounce', 'Bouncing', 1, command.bounce);

  // Direction stays; what has no wind of its own is blown at from the side.
  const own = (): [number, number, number] | null => app.scene?.wind ?? null;
  const wind = slider(
    'wind',
    'Wind',
    [0, 3, 0.05],
    (x) => (x === 0 && !own() ? 'no air' : `${(x * Math.hypot(...(own() ?? BREEZE))).toFixed(1)} m/s`),
    (x) => {
      const asWritten = own() ? 1 : 0;
      void app.do(command.wind(x === asWritten ? null : ((own() ?? BREEZE).map((c) => c * x) as [number, number, number])));
    },
  );

  const setWind = () => {
    const written = own();
    // Nothing but soft bodies feels it.
    wind.row.hidden = (app.scene?.softs.length ?? 0) === 0;
    const size = Math.hypot(...(written ?? BREEZE));
    const set = app.settings?.wind;
    wind.set(set === undefined ? (written ? 1 : 0) : size > 0 ? Math.hypot(...set) / size : 0);
  };
  app.on('scene', setWind);

  const sleep = h('input', { type: 'checkbox', id: 'sleep', onchange: () => void app.do(command.sleep(sleep.checked)) });
  const sleepRow = h('label', { class: 'check' }, sleep, h('span', {}, 'Sleep at rest'), h('small', {}, 'what has come to rest is paler and costs nothing'));

  const obstacles = h('input', { type: 'checkbox', id: 'obstacles', onchange: () => void app.do(command.obstacles(obstacles.checked)) });
  const obstaclesRow = h('label', { class: 'check' }, obstacles, h('span', {}, 'Stop at obstacles'), h('small', {}, 'where no time passes: kinematic, or paused'));

  const grip = h(
    'select',
    { id: 'grip', onchange: () => (app.grabMode = grip.value as GrabMode) },
    h('option', { value: 'pin' }, 'pin the point'),
    h('option', { value: 'pin-pose' }, 'pin position and orientation'),
    h('option', { value: 'pull' }, 'pull like a spring'),
  );
  const overlays = OVERLAYS.map(([key, label, hint]) => {
    const box = h('input', {
      type: 'checkbox',
      id: `overlay-${key}`,
      checked: app.overlays[key],
      onchange: () => app.setOverlay(key, box.checked),
    });
    const row = h('label', { class: 'check', title: hint }, box, h('span', {}, label), hint ? h('small', {}, hint) : null);
    // Most scenes have none.
    if (key === 'strain') app.on('scene', (s) => (row.hidden = s.softs.length === 0));
    if (key === 'skins') app.on('scene', (s) => (row.hidden = s.skins.length === 0));
    return row;
  });

  app.on('hello', ({ methods, solvers }) => {
    method.field.replaceChildren(...methods.map((m) => h('option', { value: m }, m)));
    solver.field.replaceChildren(...solvers.map((s) => h('option', { value: s }, s)));
  });
  app.on('settings', (s) => {
    method.field.value = s.method;
    solver.field.value = s.solver;
    const p = s.parameters ?? {};
    const [baumgarte, stabilized] = [s.method === 'baumgarte', s.method === 'post-stabilization'];
    integrator.row.hidden = !baumgarte && !stabilized;
    alpha.row.hidden = beta.row.hidden = !baumgarte;
    projectsRow.hidden = !stabilized;
    squaredRow.hidden = !(app.scene?.joints.some((j) => j.kind === 'distance') ?? false);
    integrator.field.value = p.integrator ?? 'semi-implicit';
    alpha.set(p.alpha ?? 10);
    beta.set(p.beta ?? 10);
    projects.checked = p.project_velocities ?? false;
    squared.checked = p.squared_distances ?? false;
    policy.field.value = s.policy;
    budget.set(s.budget_ms === null ? most : Math.log10(s.budget_ms));
    tolerance.set(Math.log10(s.tolerance));
    step.set(Math.log10(s.step));
    iterations.set(s.iterations);
    gravity.set(Math.hypot(...s.gravity));
    sleep.checked = s.sleep;
    obstacles.checked = s.obstacles;
    friction.set(s.friction ?? asWritten);
    bounce.set(s.bounce ?? asWritten);
    setWind();
  });

  let last = 0;
  app.on('frame', (f) => {
    const now = performance.now();
    if (now - last < 200 || element.offsetParent === null) return;
    last = now;
    const why = {
      idle: 'nothing to do',
      tolerance: 'tolerance met',
      iterations: 'iterations used up',
      budget: 'time used up',
      rejected: 'step rejected',
    }[f.limit];
    const over = isOver(f);
    receipt.replaceChildren(
      h('b', {}, gapWords(f, app.settings?.tolerance ?? 0)),
      ' largest gap · ',
      h('b', { class: over ? 'over' : '' }, `${over ? '▲ ' : ''}${digits(f.used)} ms`),
      f.allowed === null ? ' used' : ` of ${digits(f.allowed)} ms${over ? ', over budget' : ''}`,
      ` · ${why}${f.coarse ? ' · coarse' : ''}${f.rough ? ' · rough: hands are springs' : ''}`,
      f.least && over ? ' · this is the minimum' : '',
      f.points > 0 ? ` · ${f.points} ${f.points === 1 ? 'contact' : 'contacts'}` : '',
      f.sleeping > 0 ? ` · ${f.sleeping} of ${f.islands} ${f.islands === 1 ? 'island' : 'islands'} asleep` : '',
    );
    receipt.dataset.over = String(over);
    receipt.dataset.used = String(f.used);
    receipt.dataset.allowed = f.allowed === null ? '' : String(f.allowed);
  });

  const element = h(
    'div',
    {},
    h('fieldset', {}, h('legend', {}, 'Motion'), method.row, integrator.row, alpha.row, beta.row, projectsRow, squaredRow, solver.row, step.row, gravity.row, wind.row, friction.row, bounce.row, sleepRow),
    h('fieldset', {}, h('legend', {}, 'Accuracy versus speed'), budget.row, receipt, policy.row, tolerance.row, iterations.row),
    h('fieldset', {}, h('legend', {}, 'Hands'), h('label', { class: 'field' }, h('span', {}, 'Grab'), grip), obstaclesRow),
    h('fieldset', {}, h('legend', {}, 'Show'), ...overlays),
  );
  return { id: 'settings', title: 'Settings', side: 'right', key: 's', element };
}
