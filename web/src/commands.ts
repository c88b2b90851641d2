/** The session's commands, as the library reads them (`linkwork::session::Command`). All that the page changes. */

import type { GrabMode } from './app';
import type { Parameters, Vec3 } from './protocol';

/** w x y z, the library's order. */
export type Quaternion = [number, number, number, number];
export type Command = { do: string; [field: string]: unknown };

/** The point is in the solid's frame. */
export const grab = (hand: number, solid: number, point: Vec3, mode: GrabMode, rotation?: Quaternion): Command => ({
  do: 'grab',
  hand,
  solid,
  point,
  mode,
  ...(rotation && { rotation }),
});
export const drag = (hand: number, position: Vec3, rotation?: Quaternion): Command => ({
  do: 'drag',
  hand,
  position,
  ...(rotation && { rotation }),
});
export const release = (hand: number): Command => ({ do: 'release', hand });
export const cancel = (hand: number): Command => ({ do: 'cancel', hand });
export const run = (on: boolean): Command => ({ do: 'run', on });
export const step = (count: number): Command => ({ do: 'step', count });
export const scrub = (index: number): Command => ({ do: 'scrub', to: { index } });
export const branch = (): Command => ({ do: 'branch' });
export const undo = (): Command => ({ do: 'undo' });
export const redo = (): Command => ({ do: 'redo' });
export const reset = (): Command => ({ do: 'reset' });
export const mode = (mode: 'kinematic' | 'dynamic'): Command => ({ do: 'mode', mode });
export const method = (name: string): Command => ({ do: 'method', name });
export const parameters = (value: Parameters): Command => ({ do: 'parameters', value });
export const solver = (name: string): Command => ({ do: 'solver', name });
export const tolerance = (value: number): Command => ({ do: 'tolerance', value });
export const timeStep = (seconds: number): Command => ({ do: 'time-step', seconds });
export const sleep = (on: boolean): Command => ({ do: 'sleep', on });
export const obstacles = (on: boolean): Command => ({ do: 'obstacles', on });
export const iterations = (count: number): Command => ({ do: 'iterations', count });
export const gravity = (value: Vec3): Command => ({ do: 'gravity', value });
export const friction = (value: number | null): Command => ({ do: 'friction', value });
export const bounce = (value: number | null): Command => ({ do: 'bounce', value });
export const wind = (value: Vec3 | null): Command => ({ do: 'wind', value });
export const speed = (factor: number): Command => ({ do: 'speed', factor });
export const budget = (ms: number | null): Command => ({ do: 'budget', ms });
export const policy = (policy: string): Command => ({ do: 'policy', policy });
export const enable = (joint: number, on: boolean): Command => ({ do: 'enable', joint, on });
export const setText = (text: string): Command => ({ do: 'set-text', text });
/** Goes on with the edit or gesture before it: one undo takes both back. */
export const amend = (text: string): Command => ({ do: 'amend', text });
export const deleteConstraint = (joint: number): Command => ({ do: 'delete-constraint', joint });
