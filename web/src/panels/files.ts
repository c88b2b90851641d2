/**
 * What comes in and goes out: a new scene, one from a file or a link, and what can be taken away: picture, video, 3D file,
 * text, log of the session, and a link that carries the scene.
 */

import { type App, Refused } from '../app';
import * as command from '../commands';
import { download, fileName, h } from '../dom';
import { encodeLink, readLink } from '../link';
import type { Stage } from '../view/stage';
import { Film } from '../view/film';
import { askLine } from './ask';

/** A scene to build in. */
export const EMPTY = 'scene title "Untitled"; end\n';
/** Scenes are texts; a film dropped by mistake is not read. */
const MOST = 64 << 20;

export interface FilesHooks {
  /** A text with errors, for the editor: that is where it can be mended. */
  mend: (text: string) => void;
}

export function files(app: App, stage: Stage, hooks: FilesHooks): HTMLElement {
  const name = (ending: string) => fileName(app.scene?.name ?? '', ending);
  const fetchFile = async (path: string, ending: string, type: string) => {
    const answer = await fetch(app.url(path));
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    download(name(ending), await answer.arrayBuffer(), type);
  };
  /** Another scene, by its text. */
  const show = async (title: string, text: string) => {
    if (!(await app.leave())) return;
    try {
      await app.ask({ 'open-text': { name: title, text } });
    } catch (error) {
      if (!(error instanceof Refused) || error.diagnostics.length === 0) throw error;
      hooks.mend(text);
      const first = error.diagnostics[0]!;
      app.toast(`${title} has errors; line ${first.line}: ${first.message}. Its text is in the Text panel.`, true);
    }
  };
  const take = async (file: File) => {
    if (file.size > MOST) throw new Error(`${file.name} is too large for a scene.`);
    await show(file.name.replace(/\.lw$/i, ''), await file.text());
  };
  const chooser = h('input', { type: 'file', accept: '.lw,text/plain', id: 'file-chooser', hidden: true, tabindex: -1, 'aria-hidden': 'true' });
  chooser.addEventListener('change', () => {
    const file = chooser.files?.[0];
    chooser.value = '';
    if (file) void take(file).catch((e: Error) => app.toast(e.message, true));
  });
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
  const film = new Film(stage);
  const stop = h('button', { type: 'button', id: 'stop-film', class: 'filming', hidden: true, title: 'Stop and save the video', onclick: () => film.stop() }, 'Stop video');
  film.onend = (blob, ending) => {
    stop.hidden = true;
    if (blob && blob.size > 0) download(name(ending), blob, blob.type);
    else app.toast('Nothing was recorded.', true);
  };
  const menu: HTMLDetailsElement = h(
    'details',
    { class: 'menu' },
    h('summary', { title: 'New, open, save and share' }, 'File'),
    h(
      'div',
      { class: 'items', role: 'menu' },
      item('new-scene', 'New', 'an empty scene to build in', () => {
        // A name of its own tells it from the empty scene that was there before.
        const before = /^untitled(?:-(\d+))?$/.exec(app.scene?.name ?? '');
        return show(before ? `untitled-${Number(before[1] ?? 1) + 1}` : 'untitled', EMPTY);
      }),
      item('open-file', 'Open…', 'a .lw file; or drop one on the page', async () => chooser.click()),
      item('open-link', 'Open a link…', 'from another viewer', async () => {
        const address = await askLine('Open a link', 'Paste a link made with “File”, “Copy link”:');
        if (address === null) return;
        const text = await readLink(address);
        // What is shown already needs no question.
        if (text === app.scene?.text || (await app.leave())) await app.do(command.setText(text));
      }),
      h('hr', {}),
      item('save-lw', 'Save the scene', '.lw, the text of the running scene', async () => download(name('lw'), app.scene?.text ?? '', 'text/plain')),
      item('save-png', 'Save a picture', '.png of the view', async () => {
        const blob = await stage.picture();
        if (blob) download(name('png'), blob, 'image/png');
      }),
      item('save-film', 'Record a video', '.webm of the view, until you stop it', async () => {
        film.start();
        stop.hidden = false;
        stop.focus();
      }),
      item('save-glb', 'Save a 3D file', '.glb with the recorded motion, for Blender and others', () => fetchFile('export/scene.glb', 'glb', 'model/gltf-binary')),
      item('save-log', 'Save the session log', '.json that `linkwork replay` repeats exactly', () => fetchFile('export/log.json', 'json', 'application/json')),
      item('copy-link', 'Copy link', 'an address that carries the scene', async () => {
        // Without the token: the link carries a scene, not the right to come in here.
        const address = location.origin + location.pathname + (await encodeLink(app.scene?.text ?? ''));
        try {
          await navigator.clipboard.writeText(address);
          app.toast('Link copied. Anyone can open it with “Open a link…” in their viewer.');
        } catch {
          await askLine('Link', 'Copy this link. Anyone can open it with “Open a link…” in their viewer.', address);
        }
      }),
    ),
    chooser,
  );
  document.addEventListener('pointerdown', (e) => {
    if (menu.open && !menu.contains(e.target as Node)) menu.open = false;
  });
  menu.addEventListener('keydown', (e) => {
    if (e.key !== 'Escape' || !menu.open) return;
    menu.open = false;
    menu.querySelector('summary')!.focus();
    e.stopPropagation();
  });

  // A file dropped anywhere on the page.
  addEventListener('dragover', (e) => {
    if (!e.dataTransfer?.types.includes('Files')) return;
    e.preventDefault();
    e.dataTransfer.dropEffect = 'copy';
    document.body.classList.add('dropping');
  });
  addEventListener('dragleave', (e) => e.relatedTarget === null && document.body.classList.remove('dropping'));
  addEventListener('drop', (e) => {
    document.body.classList.remove('dropping');
    const file = e.dataTransfer?.files[0];
    if (!file) return;
    e.preventDefault();
    void take(file).catch((error: Error) => app.toast(error.message, true));
  });
  return h('span', { class: 'file' }, stop, menu);
}
