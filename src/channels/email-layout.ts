// The HTML and text layout of every email. Uses tables, because email clients support little else.
import { type Fill, type Html, html, trusted } from "../lib/http/html.ts";
import type { Site } from "./channel-kind.ts";
import { type Link, type Tone, printable } from "./message-text.ts";

export type MailPage = {
  site: Site;
  tone: Tone | null;
  title: string;
  /** The preview text shown next to the subject. */
  preview: string;
  /** The rows of the card below its title. */
  rows: readonly Html[];
  footer: readonly FooterLine[];
};

/** A line of the footer, with an optional link. */
export type FooterLine = { text: string; link?: Link };

/** The whole email as HTML. */
export function mailPage({ site, tone, title, preview, rows, footer }: MailPage): string {
  const ground = grounded("ground");
  const surface = grounded("surface");
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${title}</title>
<style>${trusted(SHEET)}</style>
</head>
<body class="${ground.name}" style="margin:0;padding:0;${ground.style}">
<div style="display:none;max-height:0;overflow:hidden;">${preview}</div>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="${ground.name}" style="${ground.style}">
<tr><td align="center" class="page" style="padding:24px 12px 32px;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:600px;">
<tr><td style="padding:0 4px 12px;">${brand(site)}</td></tr>
<tr><td class="${surface.name} lined${tone !== null && ` t-${tone}`}" style="${surface.style}border:1px solid ${LIGHT.line};${topOf(tone)}border-radius:12px;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
<tr><td class="pad" style="padding:22px 24px 4px;">${heading(tone, title)}</td></tr>
${rows}
<tr><td style="height:20px;line-height:20px;font-size:0;">&nbsp;</td></tr>
</table>
</td></tr>
<tr><td style="padding:16px 4px 0;">${footer.map(footerLine)}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`.source;
}

function brand(site: Site): Html {
  const { name, style } = inked("ink2");
  return html`<a href="${site.url}/" class="${name}" style="font:600 14px/20px ${FONT};${style}text-decoration:none;">${site.name}</a>`;
}

/** A bar in the color of the tone. */
function topOf(tone: Tone | null): string {
  return tone === null ? "" : `border-top:4px solid ${LIGHT[`${tone}Mark`]};`;
}

function heading(tone: Tone | null, title: string): Html {
  const ink = inked("ink");
  const mark = tone === null ? null : { shape: SHAPE[tone], ...inked(tone) };
  const shape =
    mark !== null &&
    html`<span aria-hidden="true" class="${mark.name}" style="${mark.style}font-size:17px;vertical-align:1px;">${mark.shape}</span>&ensp;`;
  return html`<h1 class="title ${ink.name}" style="margin:0;font:650 22px/1.3 ${FONT};${ink.style}word-break:break-word;">${shape}${title}</h1>`;
}

function footerLine({ text, link }: FooterLine): Html {
  const { name, style } = inked("ink3");
  const end =
    link !== undefined &&
    html` <a href="${link.url}" class="${name}" style="${style}text-decoration:underline;">${link.text}</a>`;
  return html`<p class="${name}" style="margin:0 0 4px;font:400 12px/18px ${FONT};${style}word-break:break-word;">${text}${end}</p>
`;
}

/** A row of the card. */
export function row(content: Fill, { top = 12 }: { top?: number } = {}): Html {
  return html`<tr><td class="pad" style="padding:${top}px 24px 0;">${content}</td></tr>
`;
}

/** A paragraph; the first of several is the darkest. */
export function paragraph(text: string, { isMuted = false }: { isMuted?: boolean } = {}): Html {
  const { name, style } = inked(isMuted ? "ink2" : "ink");
  return html`<p class="${name}" style="margin:0 0 6px;font:400 15px/23px ${FONT};${style}word-break:break-word;">${text}</p>`;
}

/** A small heading inside the card. */
export function subheading(text: string): Html {
  const { name, style } = inked("ink2");
  return html`<p class="${name}" style="margin:0 0 6px;font:600 13px/18px ${FONT};${style}">${text}</p>`;
}

/** A button. */
export function button({ text, url }: Link): Html {
  const ground = grounded("accent");
  const ink = inked("onAccent");
  return html`<a href="${url}" class="press ${ground.name} ${ink.name}" style="display:inline-block;padding:10px 18px;border-radius:8px;font:600 14px/20px ${FONT};${ground.style}${ink.style}text-decoration:none;">${text}</a>`;
}

/** Preformatted text. */
export function literal(text: string): Html {
  const ground = grounded("raised");
  const ink = inked("ink");
  return html`<div class="${ground.name} ${ink.name}" style="padding:12px 14px;border-radius:8px;font:400 12px/18px ${MONO};${ground.style}${ink.style}white-space:pre-wrap;word-break:break-word;">${text}</div>`;
}

/** A link inside a text. */
export function inlineLink({ text, url }: Link): Html {
  const { name, style } = inked("accent");
  return html`<a href="${url}" class="${name}" style="${style}text-decoration:none;">${text}</a>`;
}

/** The text part: title, blocks, and the footer below a signature separator. */
export function mailText({
  title,
  blocks,
  footer,
}: {
  title: string;
  blocks: readonly (readonly string[])[];
  footer: readonly FooterLine[];
}): string {
  const body = [[title], ...blocks].filter((lines) => lines.length > 0).map((lines) => lines.join("\n"));
  const end = footer.map(({ text, link }) =>
    link === undefined ? text : `${text} ${link.text}: ${link.url}`,
  );
  return `${body.join("\n\n")}\n\n-- \n${end.join("\n")}\n`;
}

/** Bidirectional control characters could disguise a name. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** An untrusted text without characters that could disguise it. */
export function undisguised(text: string): string {
  return printable(text).replace(TURNING, "");
}

// Colors are inline because some clients drop style sheets; classes override them in dark mode.

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

/** Each status has its own shape, so that colors need not be distinguished. */
const SHAPE: Readonly<Record<Tone, string>> = { bad: "◆", good: "✔", notice: "▲" };

/** `color` and `class` for a text in one of the colors. */
export function inked(colour: Colour): { style: string; name: string } {
  return { style: `color:${LIGHT[colour]};`, name: `c-${colour}` };
}

/** The same for a background. */
export function grounded(colour: Colour): { style: string; name: string } {
  return { style: `background-color:${LIGHT[colour]};`, name: `g-${colour}` };
}

/** The style sheet for dark mode and narrow screens. */
const SHEET = [
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
    (tone) => `.t-${tone}{border-top-color:${DARK[`${tone}Mark`]}!important}`,
  );
  return [...rules, `.lined{border-color:${DARK.line}!important}`, ...tops].join("");
}
