// Options of the Svelte compiler: runes everywhere.
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

export default {
  preprocess: vitePreprocess(),
  compilerOptions: { runes: true },
  vitePlugin: {
    // Libraries decide for themselves.
    dynamicCompileOptions({ filename }) {
      return filename.includes('node_modules') ? { runes: undefined } : undefined;
    },
  },
};
