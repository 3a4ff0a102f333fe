// The documentation site. `npm run build:docs` writes it to dist/docs, for a server to serve at /docs/. With a base path
// it is a static site for any host: `npm run build:docs -- --base /x/ --outDir FOLDER`.
import { defineConfig, type HeadConfig } from "vitepress";
import { THEME_COOKIE } from "../../src/contract/api/boot.ts";
import { DOCS_BASE, EXAMPLE_URL } from "../../src/contract/docs-site.ts";
import { accessible } from "./accessible.ts";
import { sidebar } from "./sidebar.ts";

/** A marker of a generated section or of a sample. */
const COMMENT_LINE = /^ *<!--.*-->$/gm;

/** A static site has no dashboard and no API reference. */
const IS_SERVED = !process.argv.some((argument) => argument.startsWith("--base"));

/** The theme of the dashboard applies until another one is chosen here. */
const ADOPT_THEME = `(() => {
  const chosen = /(?:^|; )${THEME_COOKIE}=(light|dark)(?:;|$)/.exec(document.cookie)?.[1] ?? "auto";
  if (localStorage.getItem("overdue-theme") === chosen) return;
  localStorage.setItem("overdue-theme", chosen);
  localStorage.setItem("vitepress-theme-appearance", chosen);
})();`;

const DASHBOARD = { text: "Dashboard", link: `${EXAMPLE_URL}/`, target: "_self", noIcon: true };

export default defineConfig({
  lang: "en-US",
  title: "Overdue",
  titleTemplate: ":title · Overdue",
  description: "Cron and heartbeat monitor that alerts you when a scheduled job does not ping in time.",
  base: DOCS_BASE,
  cleanUrls: true,
  outDir: "../dist/docs",
  cacheDir: "../node_modules/.cache/vitepress",
  // Inline, it would be a part of every page.
  metaChunk: true,
  srcExclude: ["examples/**"],
  head: IS_SERVED ? [["script", {}, ADOPT_THEME]] : [],
  transformHead: ({ siteData }): HeadConfig[] => [
    ["link", { rel: "icon", type: "image/svg+xml", href: `${siteData.base}favicon.svg` }],
  ],
  vite: { plugins: [accessible] },
  markdown: {
    // `<uuid>` is text.
    html: false,
    config: (md) => {
      md.core.ruler.before("normalize", "comments", (state) => {
        state.src = state.src.replace(COMMENT_LINE, "");
      });
      // The first cell of a table may be empty, but is then no heading.
      md.core.ruler.push("empty-headings", ({ tokens }) => {
        for (const [at, token] of tokens.entries()) {
          const [content, end] = tokens.slice(at + 1);
          if (token.type !== "th_open" || content?.content !== "" || end === undefined) continue;
          token.tag = "td";
          end.tag = "td";
        }
      });
    },
    languageAlias: { crontab: "sh", caddyfile: "nginx" },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    logo: { light: "/logo-light.svg", dark: "/logo-dark.svg", alt: "" },
    nav: [
      { text: "Guide", link: "/guide/first-ping", activeMatch: "^/guide/" },
      { text: "Operate", link: "/operate/install", activeMatch: "^/operate/" },
      { text: "Contribute", link: "/contribute/", activeMatch: "^/(contribute|decisions)/" },
      ...(IS_SERVED ? [DASHBOARD] : []),
    ],
    sidebar: sidebar({ isServed: IS_SERVED }),
    search: { provider: "local" },
    notFound: {
      title: "Page not found",
      quote: "No page exists at this URL.",
      linkText: "Go to the start page",
    },
    outline: [2, 3],
    docFooter: { prev: "Previous", next: "Next" },
  },
});
