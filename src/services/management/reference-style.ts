// The style of the API reference page, light and dark. Colors are data, so that a test can compare them with the
// dashboard's and check their contrast.

export type Palette = Readonly<Record<Colour, string>>;
type Colour =
  | "page"
  | "surface"
  | "text"
  | "quiet"
  | "muted"
  | "link"
  | "line"
  | "code"
  | "get"
  | "post"
  | "delete"
  | "mark"
  | "onMark"
  | "signal";

export const LIGHT: Palette = {
  page: "#fbfaf8",
  surface: "#ffffff",
  text: "#1f2128",
  quiet: "#52555c",
  muted: "#696c72",
  link: "#3053bc",
  line: "#e4e3df",
  code: "#f6f5f2",
  get: "#0064a3",
  post: "#007047",
  delete: "#b71824",
  mark: "#fef2da",
  onMark: "#8a5600",
  signal: "#e23439",
};

export const DARK: Palette = {
  page: "#0f1013",
  surface: "#17181c",
  text: "#f0eeeb",
  quiet: "#b6b4af",
  muted: "#9b9891",
  link: "#8daffe",
  line: "#2d2f34",
  code: "#212327",
  get: "#7ac8f5",
  post: "#5ed99e",
  delete: "#ff8179",
  mark: "#342611",
  onMark: "#f7bc50",
  signal: "#e94646",
};

/**
 * What each colour is called among the tokens of the dashboard.
 *
 * @internal Only tests use it.
 */
export const TOKENS: Readonly<Record<Colour, string>> = {
  page: "bg",
  surface: "surface",
  text: "ink",
  quiet: "ink-2",
  muted: "ink-3",
  link: "accent",
  line: "line",
  code: "raised",
  get: "run",
  post: "up",
  delete: "down",
  mark: "late-soft",
  onMark: "late",
  signal: "down-mark",
};

/**
 * What is written on what; each pair has to be readable.
 *
 * @internal Only tests use it.
 */
export const PAIRS: readonly (readonly [Colour, Colour])[] = [
  ["text", "page"],
  ["text", "code"],
  ["muted", "page"],
  ["muted", "code"],
  ["link", "page"],
  ["link", "code"],
  ["quiet", "page"],
  ["get", "code"],
  ["post", "code"],
  ["delete", "code"],
  ["onMark", "mark"],
];

function variables(palette: Palette): string {
  return Object.entries(palette)
    .map(([name, value]) => `--${name}:${value}`)
    .join(";");
}

/** The dashboard's font, if the dashboard is built; otherwise the system font is used. */
function fontFace(font: string | null): string {
  if (font === null) return "";
  return `@font-face{font-family:"Inter Variable";font-style:normal;font-display:swap;font-weight:100 900;src:url("${font}") format("woff2-variations")}\n`;
}

/** The style sheet of the page. */
export function styleWith(font: string | null): string {
  return fontFace(font) + STYLE;
}

const STYLE = `:root{color-scheme:light dark;${variables(LIGHT)}}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){${variables(DARK)}}}
:root[data-theme=light]{color-scheme:light}
:root[data-theme=dark]{color-scheme:dark;${variables(DARK)}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%;-webkit-font-smoothing:antialiased}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--page);color:var(--text);font:400 .875rem/1.55 "Inter Variable",system-ui,-apple-system,"Segoe UI",sans-serif}
a{color:var(--link);text-underline-offset:3px}
:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:4px}
code,pre{font-family:ui-monospace,"SF Mono","Cascadia Code","JetBrains Mono",Menlo,monospace;font-size:.8125rem}
code{background:var(--code);padding:.1em .35em;border-radius:4px;overflow-wrap:anywhere}
pre{background:var(--code);padding:12px 16px;border-radius:8px;overflow-x:auto;margin:8px 0 16px}
pre code{background:none;padding:0;overflow-wrap:normal}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:1rem;background:var(--surface);padding:8px 16px;z-index:2}
.rail{padding:16px 16px 8px;border-bottom:1px solid var(--line)}
.brand{display:inline-flex;align-items:center;gap:8px;padding:4px 8px;color:var(--text);font-size:1.0625rem;font-weight:650;letter-spacing:-.015em;text-decoration:none}
.brand circle{fill:var(--signal)}
header,main,footer{padding:0 16px}
h1{font-size:1.75rem;font-weight:620;letter-spacing:-.022em;line-height:1.2;margin:24px 0 8px;text-wrap:balance}
h2{font-size:1.375rem;font-weight:620;letter-spacing:-.015em;margin:40px 0 8px;padding-top:24px;border-top:1px solid var(--line)}
h3{font-size:1.0625rem;font-weight:600;margin:32px 0 4px}
h4{font-size:.8125rem;font-weight:600;color:var(--quiet);margin:20px 0 4px}
.muted{color:var(--muted)}
header p{max-width:68ch;color:var(--quiet)}
nav ul{list-style:none;margin:0 0 12px;padding:0}
nav a{display:block;padding:6px 8px;border-radius:8px;color:var(--quiet);text-decoration:none}
nav a:hover{background:var(--code);color:var(--text)}
nav p{margin:12px 8px 4px;font-size:.75rem;font-weight:600;color:var(--muted)}
nav .back{font-weight:560;color:var(--link)}
summary{cursor:pointer;padding:6px 8px}
main summary{padding-inline:0}
.request{display:flex;flex-wrap:wrap;gap:8px;align-items:baseline;margin:4px 0}
.method{background:var(--code);color:var(--get);font-weight:650;font-size:.75rem;padding:2px 8px;border-radius:99px}
.method.post,.method.put,.method.patch{color:var(--post)}
.method.delete{color:var(--delete)}
.flag{background:var(--mark);color:var(--onMark);font-size:.75rem;padding:0 6px;border-radius:4px}
dl{margin:4px 0 16px}
dt{margin-top:8px}
dd{margin:0 0 0 16px;color:var(--quiet)}
section.operation{margin:24px 0;padding:4px 20px 12px;background:var(--surface);border:1px solid var(--line);border-radius:12px;scroll-margin-top:16px}
section.operation h3{margin-top:16px}
footer{padding-bottom:32px}
@media (max-width:40rem){section.operation{padding-inline:14px}nav a{padding-block:10px}}
@media (min-width:60rem){
body{display:grid;grid-template:"rail head" auto "rail main" 1fr "rail foot" auto/15rem minmax(0,54rem);gap:0 32px}
.rail{grid-area:rail;position:sticky;top:0;align-self:start;height:100vh;overflow-y:auto;padding:24px 12px;border:0;border-inline-end:1px solid var(--line)}
header{grid-area:head;padding-top:8px}
main{grid-area:main}
footer{grid-area:foot}
@supports selector(::details-content){
nav details>summary{display:none}
nav details::details-content{content-visibility:visible;display:block}
}
}`;
