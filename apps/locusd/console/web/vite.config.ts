// SPDX-License-Identifier: Apache-2.0
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
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
  // npm run dev: requests go on to a locusd, as if its own page had sent them.
  server: {
    proxy: {
      "/v1": {
        target: process.env.LOCUSD ?? "http://127.0.0.1:7070",
        changeOrigin: true,
        configure: (proxy) => proxy.on("proxyReq", (request) => request.removeHeader("origin")),
      },
    },
  },
  test: { include: ["test/unit/**/*.test.ts"] },
});
