// The build of the dashboard: hashed files and a manifest in dist/web. URLs are relative, so it works under any path.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const ROOT = join(import.meta.dirname, "..");

/** Used by one page only, and loaded with it. */
const OF_A_PAGE = /node_modules\/(@simplewebauthn|@tanstack\/(react-virtual|virtual-core))\//;

function isBase(id: string): boolean {
  const isShared =
    /\/(web\/(live|ui|(api|boot|palette|page-location|shell|shortcuts)\.tsx?$)|node_modules\/)/.test(id);
  return isShared && !id.includes("live-worker") && !OF_A_PAGE.test(id);
}

/** Browsers remember these URLs for years, so the names have no hash. A new drawing needs a new name. */
const ICONS = ["icon-192.png", "icon-512.png", "icon-512-maskable.png"];

const icons: Plugin = {
  name: "icons",
  buildStart() {
    for (const name of ICONS) {
      const source = readFileSync(join(import.meta.dirname, "icons", name));
      this.emitFile({ type: "asset", fileName: `assets/${name}`, source });
    }
  },
};

/** Served under one URL, and never cached. */
const WORKER = "service-worker";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  publicDir: false,
  plugins: [react(), icons],
  resolve: {
    alias: {
      // The original writes a style element into the page, which the Content-Security-Policy forbids.
      "react-remove-scroll": join(import.meta.dirname, "ui/scroll-lock.tsx"),
    },
  },
  build: {
    outDir: join(ROOT, "dist/web"),
    emptyOutDir: true,
    manifest: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: {
        main: join(import.meta.dirname, "main.tsx"),
        [WORKER]: join(import.meta.dirname, `${WORKER}.ts`),
      },
      output: {
        entryFileNames: ({ name }) => (name === WORKER ? "assets/[name].js" : "assets/[name]-[hash].js"),
        // Code that every page needs is one file, not thirty: each costs the first page a request.
        codeSplitting: { groups: [{ name: "base", test: isBase }] },
      },
    },
  },
});
