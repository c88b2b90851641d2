/** What can be taken away: picture, 3D file, text, log of the session, and a link that carries the scene. */

import type { App } from '../app';
import * as command from '../commands';
import { download, fileName, h } from '../dom';
import { encodeLink, readLink } from '../link';
import type { Stage } from '../view/stage';
import { askLine } from './ask';

export function files(app: App, stage: Stage): HTMLElement {
  const name = (ending: string) => fileName(app.scene?.name ?? '', ending);
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
        // Without the token: the link carries a scene, not the right to come in here.
        const address = location.origin + location.pathname + (await encodeLink(app.scene?.text ?? ''));
        try {
          await navigator.clipboard.writeText(address);
          app.toast('The link is in the clipboard. “Open a link…” of any viewer shows the scene.');
        } catch {
          await askLine('Link', 'Copy it. “Open a link…” of any viewer shows the scene.', address);
        }
      }),
      item('open-link', 'Open a link…', 'from another viewer', async () => {
        const address = await askLine('Open a link', 'A link that a viewer made under “Save”, “Link”:');
        if (address === null) return;
        const text = await readLink(address);
        if (await app.leave()) await app.do(command.setText(text));
      }),
    ),
  );
  document.addEventListener('pointerdown', (e) => {
    if (menu.open && !menu.contains(e.target as Node)) menu.open = false;
  });
  return menu;
}
