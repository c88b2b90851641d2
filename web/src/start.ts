/** The page needs WebGL 2. Where there is none, it says so and what helps. */

import './style.css';
import { h } from './dom';

function refuse(why: string): void {
  document.querySelector('#app')!.replaceChildren(
    h(
      'main',
      { class: 'refusal', role: 'alert' },
      h('h1', {}, 'Linkwork cannot draw here'),
      h('p', {}, why),
      h('p', {}, 'What may help: turn on hardware acceleration in the browser’s settings, update the browser or the graphics driver, or use another browser. In a virtual machine or over a remote desktop, Chromium draws without a graphics card when started with --enable-unsafe-swiftshader.'),
      h('p', {}, 'The command line needs none of this: `linkwork help` shows what it can do.'),
    ),
  );
}

const probe = document.createElement('canvas').getContext('webgl2');
if (probe) {
  // Browsers give out only so many.
  probe.getExtension('WEBGL_lose_context')?.loseContext();
  import('./main').catch((error: unknown) => {
    console.error(error);
    refuse(`The view could not be started: ${error instanceof Error ? error.message : String(error)}`);
  });
} else refuse('This browser has no WebGL 2, or has switched it off.');
