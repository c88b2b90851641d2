import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

/**
 * The model of one kind of controller, served from here: three would fetch it from another server, and the viewer talks
 * to nobody but its own. Controllers of other makes look like this one.
 */
function controllers(): Plugin {
  const profile = 'meta-quest-touch-plus';
  const folder = `node_modules/@webxr-input-profiles/assets/dist/profiles/${profile}`;
  return {
    name: 'controllers',
    apply: 'build',
    generateBundle() {
      for (const file of ['profile.json', 'left.glb', 'right.glb']) {
        this.emitFile({ type: 'asset', fileName: `controllers/${profile}/${file}`, source: readFileSync(`${folder}/${file}`) });
      }
      const path = `${profile}/profile.json`;
      const list = { [profile]: { path }, 'generic-trigger': { path } };
      this.emitFile({ type: 'asset', fileName: 'controllers/profilesList.json', source: JSON.stringify(list) });
    },
  };
}

// Relative addresses: the server embeds the folder and may serve it from any path.
export default defineConfig({
  base: './',
  plugins: [controllers()],
  build: { target: 'es2022', chunkSizeWarningLimit: 1500, assetsInlineLimit: 0 },
});
