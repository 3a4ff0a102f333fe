// Draws a badge: two fields side by side, what it is about and how that is. A picture of its own, without script
// or anything loaded from elsewhere, and well-formed whatever the label holds.
import { escapeHtml } from "../../lib/http/html.ts";
import { charactersOf, isMeasured, textWidth } from "./text-width.ts";

export type BadgePicture = { label: string; value: string; valueFill: string };

const HEIGHT = 20;
const CORNER = 3;
const FONT_SIZE = 11;
const PADDING = 5;
/** Both texts stand a little nearer to each other than the middle of their fields: it looks calmer. */
const LEAN = 1;
const BASELINE = 14;
const SHADOW_DROP = 1;
const LABEL_FILL = "#555";
const LABEL_WIDTH_MAX = 300;
const ELLIPSIS = "…";
/** Glyphs are set in tenths of a pixel: otherwise a renderer would round each of them to whole ones. */
const FINE = 10;

/** The picture as an SVG document. */
export function drawBadge({ label, value, valueFill }: BadgePicture): string {
  const shown = shorten(readable(label));
  const left = fieldWidth(shown);
  const right = fieldWidth(value);
  const width = left + right;
  const title = escapeHtml(`${readable(label)}: ${value}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}"`,
    ` role="img" aria-label="${title}"><title>${title}</title>`,
    // Every badge has the same one, so that several may stand in one page under the same name.
    '<linearGradient id="badge-shine" x2="0" y2="100%">',
    '<stop offset="0" stop-color="#bbb" stop-opacity=".1"/><stop offset="1" stop-opacity=".1"/></linearGradient>',
    `<path fill="${LABEL_FILL}" d="${leftShape(left)}"/>`,
    `<path fill="${valueFill}" d="${rightShape({ from: left, to: width })}"/>`,
    `<rect width="${width}" height="${HEIGHT}" rx="${CORNER}" fill="url(#badge-shine)"/>`,
    '<g text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" text-rendering="geometricPrecision"',
    ` font-size="${FONT_SIZE * FINE}">`,
    drawText(shown, left / 2 + LEAN),
    drawText(value, left + right / 2 - LEAN),
    "</g></svg>\n",
  ].join("");
}

/** Each text has a shadow below it, without which white on a bright colour could not be read. */
function drawText(text: string, middle: number): string {
  if (text === "") return "";
  const length = Math.round(textWidth(text, FONT_SIZE) * FINE);
  // Gaps between letters may be adjusted unless that would tear joined letters apart.
  const adjust = isMeasured(text) ? "" : ' lengthAdjust="spacingAndGlyphs"';
  const set = (y: number, paint: string) =>
    `<text x="${Math.round(middle * FINE)}" y="${y * FINE}" transform="scale(.1)" textLength="${length}"${adjust} ${paint}>${escapeHtml(text)}</text>`;
  const shadow = set(BASELINE + SHADOW_DROP, 'fill="#010101" fill-opacity=".3" aria-hidden="true"');
  return shadow + set(BASELINE, 'fill="#fff"');
}

function fieldWidth(text: string): number {
  return Math.round(textWidth(text, FONT_SIZE)) + 2 * PADDING;
}

function leftShape(to: number): string {
  const straight = HEIGHT - 2 * CORNER;
  const corner = `a${CORNER} ${CORNER} 0 0 1`;
  return `M${CORNER} 0H${to}V${HEIGHT}H${CORNER}${corner}-${CORNER}-${CORNER}v-${straight}${corner} ${CORNER}-${CORNER}z`;
}

function rightShape({ from, to }: { from: number; to: number }): string {
  const straight = HEIGHT - 2 * CORNER;
  const corner = `a${CORNER} ${CORNER} 0 0 1`;
  return `M${from} 0H${to - CORNER}${corner} ${CORNER} ${CORNER}v${straight}${corner}-${CORNER} ${CORNER}H${from}z`;
}

// XML can hold neither these nor halves of surrogate pairs, not even escaped.
// oxlint-disable-next-line no-control-regex -- They are what is looked for.
const NOT_XML = /[\u0000-\u001f\ufffe\uffff]/g;
const REPLACEMENT = "\ufffd";

/** The text as a picture shows it: white space is one space, and what XML cannot hold has a sign in its place. */
function readable(text: string): string {
  return text.toWellFormed().replace(/\s+/g, " ").trim().replace(NOT_XML, REPLACEMENT);
}

/** As much of a text as there is room for. */
function shorten(text: string): string {
  if (textWidth(text, FONT_SIZE) <= LABEL_WIDTH_MAX) return text;
  let room = LABEL_WIDTH_MAX - textWidth(ELLIPSIS, FONT_SIZE);
  let kept = "";
  for (const character of charactersOf(text)) {
    room -= textWidth(character, FONT_SIZE);
    if (room < 0) break;
    kept += character;
  }
  return kept.trimEnd() + ELLIPSIS;
}
