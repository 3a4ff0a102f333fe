// How mails look: colours for light and dark, and the few styles that mail programs agree on. Colours stand inline,
// because some programs drop style sheets; the dark ones replace them by class where style sheets are read.
import type { Mood } from "../words/words.ts";

export type Palette = Readonly<Record<Colour, string>>;

type Colour =
  | "ground"
  | "surface"
  | "raised"
  | "line"
  | "ink"
  | "ink2"
  | "ink3"
  | "accent"
  | "onAccent"
  | "bad"
  | "badMark"
  | "good"
  | "goodMark"
  | "notice"
  | "noticeMark";

export const LIGHT: Palette = {
  ground: "#fbfaf8",
  surface: "#ffffff",
  raised: "#f6f5f2",
  line: "#e4e3df",
  ink: "#1f2128",
  ink2: "#53555c",
  ink3: "#6b6d73",
  accent: "#3053bc",
  onAccent: "#ffffff",
  bad: "#b71824",
  badMark: "#e23439",
  good: "#007047",
  goodMark: "#3db07c",
  notice: "#8a5600",
  noticeMark: "#efa831",
};

export const DARK: Palette = {
  ground: "#0f1013",
  surface: "#17181c",
  raised: "#212327",
  line: "#2d2f34",
  ink: "#f0eeeb",
  ink2: "#b6b4af",
  ink3: "#95928b",
  accent: "#8daffe",
  onAccent: "#101624",
  bad: "#ff8179",
  badMark: "#e94646",
  good: "#5ed99e",
  goodMark: "#35aa76",
  notice: "#f7bc50",
  noticeMark: "#e8a127",
};

export const FONT = "-apple-system, 'Segoe UI', Inter, Roboto, 'Helvetica Neue', Arial, sans-serif";
export const MONO = "ui-monospace, 'SF Mono', 'Cascadia Code', Menlo, Consolas, monospace";

/** Each state has a shape of its own, so that nobody has to tell colours apart. */
export const SHAPE: Readonly<Record<Mood, string>> = { bad: "◆", good: "✔", notice: "▲" };

/** `color` and `class` for a text in one of the colours. */
export function inked(colour: Colour): { style: string; name: string } {
  return { style: `color:${LIGHT[colour]};`, name: `c-${colour}` };
}

/** The same for a ground. */
export function grounded(colour: Colour): { style: string; name: string } {
  return { style: `background-color:${LIGHT[colour]};`, name: `g-${colour}` };
}

/** The style sheet: what is dark, and what is narrow. */
export const SHEET = [
  ":root{color-scheme:light dark;supported-color-schemes:light dark}",
  "body{-webkit-text-size-adjust:100%}",
  `@media (prefers-color-scheme:dark){${darkRules()}}`,
  "@media (max-width:480px){.pad{padding-left:16px!important;padding-right:16px!important}.page{padding:12px 8px 24px!important}.title{font-size:19px!important}.press{display:block!important;text-align:center!important}.wide{display:none!important}}",
].join("\n");

function darkRules(): string {
  const rules = (Object.keys(DARK) as Colour[]).map(
    (colour) =>
      `.c-${colour}{color:${DARK[colour]}!important}.g-${colour}{background-color:${DARK[colour]}!important}`,
  );
  const tops = (["bad", "good", "notice"] as const).map(
    (mood) => `.t-${mood}{border-top-color:${DARK[`${mood}Mark`]}!important}`,
  );
  return [...rules, `.lined{border-color:${DARK.line}!important}`, ...tops].join("");
}
