// SPDX-License-Identifier: Apache-2.0
import { defineConfig, type Plugin } from "vite";
import { notice } from "./notice";

// The licences of what is bundled, in front of the script: others' terms ask for it.
function banner(): Plugin {
  return {
    name: "locus-notice",
    generateBundle(_, bundle) {
      for (const part of Object.values(bundle)) {
        if (part.type === "chunk") part.code = `${notice()}\n${part.code}`;
      }
    },
  };
}

// Names without hashes: locusd is built from a fixed list of files. It answers with an ETag.
export default defineConfig({
  base: "./",
  publicDir: "public",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  plugins: [banner()],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        entryFileNames: "console.js",
        assetFileNames: "console[extname]",
        inlineDynamicImports: true,
      },
    },
  },
  test: { include: ["test/unit/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
