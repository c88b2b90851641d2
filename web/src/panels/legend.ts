/** What the colours of strained soft bodies mean. */

import type { App } from '../app';
import { h } from '../dom';
import { digits } from '../format';
import { NO_LIMIT, STRAINS } from '../view/softs';

export function strainLegend(app: App): HTMLElement {
  const bar = h('i', { 'aria-hidden': 'true' });
  bar.style.background = `linear-gradient(to right, ${STRAINS.join(', ')})`;
  const limit = h('span', {});
  const legend = h('div', { class: 'strain-legend', id: 'strain-legend', role: 'note', 'aria-label': 'Strain', hidden: true }, h('b', {}, 'Strain'), bar, h('div', {}, h('span', {}, '0'), limit));
  const show = () => {
    const softs = app.scene?.softs ?? [];
    legend.hidden = !app.overlays.strain || softs.length === 0;
    const limits = [...new Set(softs.flatMap((s) => s.springs.map((k) => k.limit)))];
    const percent = (x: number) => `${digits(100 * x)} %`;
    limit.textContent = limits.length > 1 ? 'limit of each' : limits[0] == null ? percent(NO_LIMIT) : `limit, ${percent(limits[0])}`;
  };
  app.on('overlays', show);
  app.on('scene', show);
  return legend;
}
