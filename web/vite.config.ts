import { defineConfig } from 'vite';

// Relative addresses: the server embeds the folder and may serve it from any path.
export default defineConfig({
  base: './',
  build: { target: 'es2022', chunkSizeWarningLimit: 1500, assetsInlineLimit: 0 },
});
