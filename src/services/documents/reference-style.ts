// How the reference page looks: one style sheet, light and dark, from a telephone to a wide screen. Colours are data,
// so that a test can hold their contrast to what people with weak eyes need.

export type Palette = Readonly<Record<Colour, string>>;
type Colour =
  | "page"
  | "text"
  | "muted"
  | "link"
  | "line"
  | "code"
  | "get"
  | "post"
  | "delete"
  | "onMethod"
  | "mark"
  | "onMark";

export const LIGHT: Palette = {
  page: "#ffffff",
  text: "#1b1f24",
  muted: "#545d68",
  link: "#0b57d0",
  line: "#d0d7de",
  code: "#f3f5f7",
  get: "#0a5f9e",
  post: "#1a6b37",
  delete: "#b3261e",
  onMethod: "#ffffff",
  mark: "#fff1cc",
  onMark: "#5c4400",
};

export const DARK: Palette = {
  page: "#14171a",
  text: "#e6e8ea",
  muted: "#a9b1ba",
  link: "#8ab4f8",
  line: "#3a424a",
  code: "#1f252b",
  get: "#9ccbff",
  post: "#8fd6a5",
  delete: "#ffb4ab",
  onMethod: "#14171a",
  mark: "#4a3a08",
  onMark: "#ffe49c",
};

/** What is written on what; each pair has to be readable. */
export const PAIRS: readonly (readonly [Colour, Colour])[] = [
  ["text", "page"],
  ["text", "code"],
  ["muted", "page"],
  ["muted", "code"],
  ["link", "page"],
  ["link", "code"],
  ["onMethod", "get"],
  ["onMethod", "post"],
  ["onMethod", "delete"],
  ["onMark", "mark"],
];

function variables(palette: Palette): string {
  return Object.entries(palette)
    .map(([name, value]) => `--${name}:${value}`)
    .join(";");
}

export const STYLE = `:root{color-scheme:light dark;${variables(LIGHT)}}
@media (prefers-color-scheme:dark){:root{${variables(DARK)}}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.55 system-ui,sans-serif}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:2px}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875rem}
code{background:var(--code);padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}
pre{background:var(--code);padding:.75rem 1rem;border-radius:6px;overflow-x:auto;margin:.5rem 0 1rem}
pre code{background:none;padding:0;overflow-wrap:normal}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:1rem;background:var(--page);padding:.5rem 1rem;z-index:2}
header,nav,main,footer{padding:0 1rem}
h1{font-size:1.75rem;line-height:1.2;margin:1.5rem 0 .25rem}
h2{font-size:1.375rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.125rem;margin:2rem 0 .25rem}
h4{font-size:.9375rem;margin:1.25rem 0 .25rem}
.muted{color:var(--muted)}
nav ul{list-style:none;margin:0 0 .75rem;padding:0}
nav a{display:block;padding:.375rem 0;text-decoration:none}
nav a:hover{text-decoration:underline}
nav p{margin:.75rem 0 0;font-weight:600}
summary{cursor:pointer;padding:.375rem 0}
.request{display:flex;flex-wrap:wrap;gap:.5rem;align-items:baseline;margin:.25rem 0}
.method{background:var(--get);color:var(--onMethod);font-weight:700;font-size:.8125rem;padding:.1rem .5rem;border-radius:4px}
.method.post{background:var(--post)}
.method.delete{background:var(--delete)}
.flag{background:var(--mark);color:var(--onMark);font-size:.8125rem;padding:0 .375rem;border-radius:3px}
dl{margin:.25rem 0 1rem}
dt{margin-top:.5rem}
dd{margin:0 0 0 1rem}
section.operation{border-bottom:1px solid var(--line);padding-bottom:1rem}
@media (min-width:60rem){
body{display:grid;grid-template:"head head" auto "nav main" 1fr "nav foot" auto/17rem minmax(0,50rem);gap:0 2rem}
header{grid-area:head;padding-left:2rem}
nav{grid-area:nav;padding-left:2rem;position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto}
main{grid-area:main}
footer{grid-area:foot}
}`;
