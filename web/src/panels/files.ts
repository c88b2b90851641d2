/** What can be taken away: picture, 3D file, text, log of the session, and a link that carries the scene. */

import type { App } from '../app';
import * as command from '../commands';
import { download, h } from '../dom';
import { decodeLink, encodeLink } from '../link';
import type { Stage } from '../view/stage';

export function files(app: App, stage: Stage): HTMLElement {
  const name = (ending: string) => `${app.scene?.name.replace(/[^\w-]+/g, '-') || 'scene'}.${ending}`;
  const fetchFile = async (path: string, ending: string, type: string) => {
    const answer = await fetch(app.url(path));
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    download(name(ending), await answer.arrayBuffer(), type);
  };
  const item = (id: string, label: string, hint: string, act: () => Promise<void>) =>
    h(
      'button',
      {
        type: 'button',
        id,
        role: 'menuitem',
        onclick: async () => {
          menu.open = false;
          try {
            await act();
          } catch (error) {
            app.toast((error as Error).message, true);
          }
        },
      },
      h('b', {}, label),
      h('small', {}, hint),
    );
  const menu: HTMLDetailsElement = h(
    'details',
    { class: 'menu' },
    h('summary', { title: 'Save and share' }, 'Save'),
    h(
      'div',
      { class: 'items', role: 'menu' },
      item('save-png', 'Picture', '.png of the view', async () => {
        const blob = await stage.picture();
        if (blob) download(name('png'), blob, 'image/png');
      }),
      item('save-glb', '3D file', '.glb with the recorded motion, for Blender and others', () => fetchFile('export/scene.glb', 'glb', 'model/gltf-binary')),
      item('save-lw', 'Scene', '.lw, the text as it runs', async () => download(name('lw'), app.scene?.text ?? '', 'text/plain')),
      item('save-log', 'Session log', '.json that `linkwork replay` repeats exactly', () => fetchFile('export/log.json', 'json', 'application/json')),
      item('copy-link', 'Link', 'an address that carries the scene', async () => {
        const address = location.href.split('#')[0] + (await encodeLink(app.scene?.text ?? ''));
        history.replaceState(null, '', address);
        try {
          await navigator.clipboard.writeText(address);
          app.toast('The link is in the clipboard, and in the address line.');
        } catch {
          app.toast('The link is in the address line.');
        }
      }),
      item('open-link', 'Open a link…', 'from another viewer', async () => {
        const text = await decodeLink(prompt('The link:') ?? '');
        if (text !== null) await app.do(command.setText(text));
      }),
    ),
  );
  document.addEventListener('pointerdown', (e) => {
    if (menu.open && !menu.contains(e.target as Node)) menu.open = false;
  });
  return menu;
}
