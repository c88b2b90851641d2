/** What the mechanism is: how many ways it can move, which constraints say nothing new or contradict others; with “show me”. */

import type { App } from '../app';
import { h } from '../dom';
import { many } from '../format';
import type { Dependency, Findings } from '../protocol';
import type { Freedoms } from '../view/freedoms';
import type { Flag, Overlays } from '../view/overlays';

/** Milliseconds between two looks while time runs, at least; and times what a look took. */
const PAUSE = 1500;
const SHARE = 20;
/** The same while arrows are shown, which have to keep up. */
const HURRY = 150;

export function findings(app: App, freedoms: Freedoms, overlays: Overlays): HTMLElement {
  const ways = h('p', { class: 'finding', id: 'freedoms', role: 'status' });
  const extra = h('p', { class: 'finding', id: 'dependent' });
  const ranks = h('p', { class: 'finding', id: 'ranks' });
  const element = h('section', { class: 'findings', 'aria-label': 'What it is' }, ways, extra, ranks);
  let found: Findings | null = null;
  /** Which free motion is shown, and which joints are. */
  let motion = -1;
  let marked: 'redundant' | 'conflicts' | 'ranks' | null = null;

  const name = (joint: number) => app.scene?.joints[joint]?.name ?? String(joint);
  const names = (list: Dependency[]) => {
    const all = list.map((d) => name(d.joint));
    return all.length > 4 ? `${all.slice(0, 3).join(', ')} and ${all.length - 3} more` : all.join(', ');
  };
  const paint = () => {
    const flags = new Map<number, Flag>();
    if (marked === 'ranks') app.scene?.joints.forEach((j, i) => j.enabled && flags.set(i, j.rank === 1 ? 'primary' : 'secondary'));
    const list = marked && marked !== 'ranks' && found ? found[marked] : [];
    for (const d of list) for (const j of d.with) flags.set(j, 'involved');
    for (const d of list) flags.set(d.joint, marked === 'conflicts' ? 'conflict' : 'redundant');
    overlays.flag(flags);
  };
  const mark = (what: 'redundant' | 'conflicts' | 'ranks') => {
    marked = marked === what ? null : what;
    paint();
    write();
  };
  const next = () => {
    if (!found) return;
    motion = motion + 1 >= found.motions.length ? -1 : motion + 1;
    freedoms.show(motion >= 0 ? found.motions[motion]! : null, examined);
    // What was found may be of another pose.
    void look();
    write();
  };

  const write = () => {
    if (!found || !app.scene) return;
    const f = found;
    const motors = app.scene.joints.filter((j) => j.motor && j.enabled).length;
    const count = f.examined ? many(f.freedoms, 'freedom') : `about ${many(f.freedoms, 'freedom')}`;
    const driven = motors > 0 ? `, ${many(motors, 'motor')}` : '';
    const singular = f.here > f.freedoms ? `; ${f.here - f.freedoms} more at this pose, which is singular` : '';
    const stuck = f.freedoms === 0 && app.scene.solids.some((s) => s.kind === 'dynamic') ? ': nothing can move' : '';
    const label = motion < 0 ? 'Show me' : motion + 1 < f.motions.length ? `${motion + 1} of ${f.motions.length}, next` : 'Hide';
    const focus = document.activeElement?.id;
    ways.replaceChildren(
      h('b', {}, count),
      `${stuck}${driven}${singular} `,
      ...(f.motions.length > 0 ? [h('button', { type: 'button', class: 'small', id: 'show-freedoms', 'aria-pressed': String(motion >= 0), title: 'Show the free motion as arrows that you can drag', onclick: next }, label)] : []),
    );
    ways.classList.toggle('odd', f.here > f.freedoms);
    const part = (what: 'redundant' | 'conflicts', words: string) =>
      f[what].length > 0
        ? [h('span', { class: what }, `${words}: ${names(f[what])} `), h('button', { type: 'button', class: 'small', id: `show-${what}`, 'aria-pressed': String(marked === what), onclick: () => mark(what) }, marked === what ? 'Hide' : 'Show me')]
        : [];
    extra.replaceChildren(...part('conflicts', 'Cannot all hold'), ...part('redundant', 'Implied by others'));
    const second = app.scene.joints.filter((j) => j.enabled && j.rank !== 1).length;
    const first = app.scene.joints.filter((j) => j.enabled).length - second;
    const swatch = (rank: string, words: string) => (marked === 'ranks' ? [h('i', { class: `swatch rank-${rank}`, 'aria-hidden': 'true' }), words] : [words]);
    ranks.replaceChildren(
      ...(first + second > 0
        ? [
            ...swatch('primary', `${first} primary`),
            ', ',
            ...swatch('secondary', `${second} secondary `),
            h('button', { type: 'button', class: 'small', id: 'show-ranks', 'aria-pressed': String(marked === 'ranks'), title: 'Ranks in colour: primary joints (blue) always hold; secondary joints (orange) give way when not all can hold', onclick: () => mark('ranks') }, marked === 'ranks' ? 'Hide' : 'Show me'),
          ]
        : []),
    );
    if (focus && ['show-freedoms', 'show-redundant', 'show-conflicts', 'show-ranks'].includes(focus)) document.getElementById(focus)?.focus();
  };

  let examined: Float32Array | null = null;
  let asking = false;
  let asked = { revision: -1, hash: '', at: 0, took: 0 };
  const look = async () => {
    const { scene, frame } = app;
    if (asking || !scene || !frame || element.offsetParent === null) return;
    const now = performance.now();
    const same = asked.revision === scene.revision && asked.hash === frame.hash;
    if (same || (asked.revision === scene.revision && now - asked.at < (motion >= 0 ? Math.max(HURRY, 3 * asked.took) : Math.max(PAUSE, SHARE * asked.took)))) return;
    asking = true;
    const about = { revision: scene.revision, hash: frame.hash, poses: frame.poses };
    try {
      const answer = await app.ask<Findings>({ diagnose: {} });
      asked = { revision: about.revision, hash: about.hash, at: performance.now(), took: performance.now() - now };
      if (app.scene?.revision === about.revision) {
        found = answer;
        if (motion >= answer.motions.length) motion = -1;
        examined = about.poses;
        freedoms.show(motion >= 0 ? answer.motions[motion]! : null, examined);
        paint();
        write();
      }
    } catch {
      // Nobody is there, or too much is asked for: the next frame asks again.
      asked = { revision: about.revision, hash: about.hash, at: performance.now(), took: 1000 };
    }
    asking = false;
  };
  app.on('scene', () => {
    found = null;
    motion = -1;
    if (app.other) {
      marked = null;
      ways.replaceChildren('Counting freedoms …');
      extra.replaceChildren();
      ranks.replaceChildren();
    }
    // Of an edited scene the last words stay until the new ones are there: what is below must not jump under the pointer.
    paint();
  });
  app.on('frame', () => void look());
  return element;
}
