/** The scenes that come with the program, each with its drawing and what to try. */

import type { App } from '../app';
import { h } from '../dom';
import { itemOf } from '../scenes';
import type { Panel } from './dock';

export function gallery(app: App): Panel {
  const list = h('ul', { class: 'gallery', role: 'list' });
  const find = h('input', { type: 'search', placeholder: 'Find a scene…', 'aria-label': 'Find a scene' });
  const element = h('div', {}, h('div', { class: 'row' }, find), list);

  const filter = () => {
    const words = find.value.toLowerCase();
    for (const item of list.children as HTMLCollectionOf<HTMLElement>) {
      item.hidden = !item.textContent!.toLowerCase().includes(words);
    }
  };
  find.addEventListener('input', filter);

  app.on('hello', ({ gallery }) => {
    list.replaceChildren(
      ...gallery.map((item) =>
        h(
          'li',
          {},
          h(
            'button',
            {
              type: 'button',
              class: 'card',
              'data-scene': item.id,
              onclick: async () => {
                if (!(await app.leave())) return;
                await app.ask({ open: { scene: item.id } }).catch((e: Error) => app.toast(e.message, true));
              },
            },
            item.id ? h('img', { src: app.url(`thumb/${item.id}.svg`), alt: '', loading: 'lazy', width: 160, height: 100 }) : null,
            h('strong', {}, item.title),
            item.figure ? h('span', { class: 'figure' }, item.figure) : null,
            h('span', { class: 'about' }, item.about),
            item.attempt ? h('span', { class: 'try' }, h('b', {}, 'Try: '), item.attempt) : null,
          ),
        ),
      ),
    );
    filter();
    mark();
  });
  /** The card of what is shown; a scene that came by a link may be none of them, whatever it was opened as. */
  const mark = () => {
    if (!app.scene || !app.hello) return;
    const shown = app.scene.file === null ? itemOf(app.hello.gallery, app.scene)?.id : '';
    for (const card of list.querySelectorAll<HTMLElement>('.card')) card.setAttribute('aria-current', String(card.dataset.scene === shown));
  };
  app.on('scene', mark);
  return { id: 'scenes', title: 'Scenes', side: 'left', key: 'g', element };
}
