// The build of the dashboard: hashed files and a manifest in dist/web. URLs are relative, so it works under any path.
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const ROOT = join(import.meta.dirname, "..");

/** Used by one page only, and loaded with it. */
const OF_A_PAGE = /node_modules\/(@simplewebauthn|@tanstack\/(react-virtual|virtual-core))\//;

function isBase(id: string): boolean {
  const isShared =
    /\/(web\/(live|ui|(api|boot|palette|page-location|shell|shortcuts)\.tsx?$)|node_modules\/)/.test(id);
  return isShared && !id.includes("live-worker") && !OF_A_PAGE.test(id);
}

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  publicDir: false,
  plugins: [react()],
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
      input: { main: join(import.meta.dirname, "main.tsx") },
      // Code that every page needs is one file, not thirty: each costs the first page a request.
      output: { codeSplitting: { groups: [{ name: "base", test: isBase }] } },
    },
  },
});
