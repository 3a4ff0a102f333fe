// The documentation site. A server has it at /docs/; `npm run build:docs -- --base /x/ --out FOLDER` writes it for any
// other place.
import { defineConfig } from "vitepress";
import { SIDEBAR } from "./sidebar.ts";

/** A marker of a generated section or of a sample. */
const COMMENT_LINE = /^ *<!--.*-->$/gm;

export default defineConfig({
  lang: "en-US",
  title: "Overdue",
  titleTemplate: ":title · Overdue",
  description: "Cron and heartbeat monitor that alerts you when a scheduled job does not ping in time.",
  base: "/docs/",
  cleanUrls: true,
  outDir: "../dist/docs",
  cacheDir: "../node_modules/.cache/vitepress",
  srcExclude: ["examples/**"],
  // Our own pages, which are not a part of this site.
  ignoreDeadLinks: [/^\/docs\/api/],
  head: [["meta", { name: "robots", content: "noindex" }]],
  markdown: {
    // `<uuid>` is text.
    html: false,
    config: (md) => {
      md.core.ruler.before("normalize", "comments", (state) => {
        state.src = state.src.replace(COMMENT_LINE, "");
      });
    },
    languageAlias: { crontab: "sh" },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    nav: [
      { text: "Guide", link: "/guide/first-ping", activeMatch: "^/guide/" },
      { text: "Operate", link: "/operate/install", activeMatch: "^/operate/" },
      { text: "Contribute", link: "/contribute/", activeMatch: "^/contribute/" },
    ],
    sidebar: SIDEBAR,
    search: { provider: "local" },
    outline: [2, 3],
    docFooter: { prev: "Previous", next: "Next" },
  },
});
