import { escapeHtml } from "../../lib/http/html.ts";

// Character widths in the badge fonts, in thousandths of the font size: ASCII as in Verdana, the rest as in DejaVu Sans.

/** The characters of each width. Letters with accents are as wide as those without, and are not listed. */
export const CHARACTERS_OF_WIDTH: readonly (readonly [number, string])[] = [
  [224, "י"],
  [269, "'"],
  [272, "ון"],
  [274, "il"],
  [278, "ıіј"],
  [284, "ł"],
  [295, "ΙІЈ"],
  [318, "·‘’‚"],
  [337, "¦"],
  [338, "ι"],
  [342, "ŀ"],
  [344, "j"],
  [346, "ז"],
  [352, " fſ"],
  [361, "‐‑"],
  [364, ",."],
  [392, "ŧ"],
  [394, "!t"],
  [400, "נ‹›"],
  [401, "¡²³¹"],
  [412, "ג"],
  [421, "I"],
  [427, "r"],
  [454, "()-/:;[\\]|"],
  [455, "J"],
  [459, '"'],
  [471, "ªº"],
  [500, "§¨¯°´¸–†"],
  [518, "“”„"],
  [521, "csѕ"],
  [525, "zгґ"],
  [529, "כ"],
  [531, "¿"],
  [532, "з"],
  [537, "ך"],
  [540, "ץ"],
  [541, "ε"],
  [544, "ζ"],
  [545, "?"],
  [546, "ד"],
  [549, "эє"],
  [550, "с"],
  [556, "ĳ"],
  [557, "LĿΓ"],
  [558, "ξ"],
  [559, "ν"],
  [562, "Ł"],
  [564, "ר"],
  [568, "ל"],
  [575, "F"],
  [578, "χב"],
  [579, "ĸυ"],
  [583, "т"],
  [587, "ς"],
  [589, "κвь"],
  [590, "Ĳ•"],
  [591, "ч"],
  [592, "kvxyγλух"],
  [593, "צ"],
  [596, "e"],
  [601, "a"],
  [602, "πτя"],
  [603, "PΡР"],
  [604, "к"],
  [605, "Þ"],
  [607, "o"],
  [609, "У"],
  [610, "ГҐ"],
  [611, "ŦΤΥТ"],
  [612, "«»ðøδθοо"],
  [613, "а"],
  [615, "Yе"],
  [616, "T"],
  [617, "б"],
  [623, "bdgpq"],
  [625, "ђפ"],
  [626, "ע"],
  [630, "ß"],
  [632, "EΕΞΣЕ"],
  [633, "hnu"],
  [634, "ŋησ"],
  [635, "{}þđρЅр"],
  [636, "$*0123456789_`¢£¤¥µ¶μ€"],
  [638, "β"],
  [639, "л"],
  [640, "ף"],
  [641, "З"],
  [648, "ט"],
  [649, "ס"],
  [650, "и"],
  [652, "ћ"],
  [653, "הח"],
  [654, "нпџ"],
  [656, "Κ"],
  [657, "ת"],
  [659, "α"],
  [660, "φψ"],
  [664, "ם"],
  [668, "א"],
  [679, "מ"],
  [681, "ц"],
  [684, "ASVΑΔΛА"],
  [685, "XZΖΧХ"],
  [686, "BΒБВЧЬ"],
  [691, "д"],
  [693, "K"],
  [695, "RħЯ"],
  [698, "CЄСЭ"],
  [707, "ъ"],
  [708, "ש"],
  [709, "ק"],
  [710, "К"],
  [727, "&"],
  [732, "U"],
  [748, "NŊΝИ"],
  [751, "H"],
  [752, "ΗΠЏЛНП"],
  [754, "м"],
  [764, "Ω"],
  [771, "D"],
  [775, "GÐĐ"],
  [776, "Ц"],
  [781, "Д"],
  [786, "ЂЋ"],
  [787, "OQØΘΟΦΨО"],
  [790, "ы"],
  [813, "ŉ"],
  [818, "#+<=>^w~"],
  [833, "Ъ"],
  [837, "ω"],
  [838, "¬±×÷"],
  [842, "ю"],
  [843, "M"],
  [855, "ф"],
  [861, "Ф"],
  [863, "ΜМ"],
  [882, "Ы"],
  [898, "њ"],
  [901, "ж"],
  [902, "љ"],
  [915, "ш"],
  [916, "Ħ"],
  [942, "щ"],
  [969, "¼½¾"],
  [973, "m"],
  [974, "Æ"],
  [982, "æ"],
  [989, "W"],
  [1000, "@©®—…™"],
  [1023, "œ"],
  [1040, "№"],
  [1045, "Њ"],
  [1069, "Ш"],
  [1070, "Œ"],
  [1076, "%"],
  [1077, "Ж"],
  [1080, "Ю"],
  [1094, "ЉЩ"],
  [1342, "‰"],
];

/** A letter that is not listed: wide enough for most scripts. */
const UNLISTED_WIDTH = 700;
/** Full-width characters, such as Chinese, Japanese and Korean. */
const SQUARE_WIDTH = 1_000;
/** Emoji are drawn by other fonts, which make them a little wider than high. */
const PICTURE_WIDTH = 1_250;

// The width of a text without a font. Measures by grapheme, so that a flag or an accented letter counts once.

const LISTED: ReadonlyMap<string, number> = new Map(
  CHARACTERS_OF_WIDTH.flatMap(([width, characters]) =>
    Array.from(characters).map((one) => [one, width] as const),
  ),
);
const THOUSANDTHS = 1_000;

const INVISIBLE = /^[\p{M}\p{Cf}]$/u;
const SQUARE =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]$/u;
const PICTURE = /\p{Emoji_Presentation}|\ufe0f/u;

const SEGMENTER = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The graphemes of a text. */
export function charactersOf(text: string): string[] {
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment);
}

/** The width of a text in the unit of the font size. */
export function textWidth(text: string, fontSize: number): number {
  let width = 0;
  for (const character of charactersOf(text)) width += widthOf(character);
  return (width * fontSize) / THOUSANDTHS;
}

/** Whether every character is in the table, so that the width is not an estimate. */
export function isMeasured(text: string): boolean {
  return Array.from(text).every((one) => listedWidth(one) !== undefined);
}

function widthOf(character: string): number {
  if (character.length > 1 && PICTURE.test(character)) return PICTURE_WIDTH;
  let width = 0;
  for (const one of character) width += widthOfCodePoint(one);
  return width;
}

function widthOfCodePoint(one: string): number {
  const listed = listedWidth(one);
  if (listed !== undefined) return listed;
  if (INVISIBLE.test(one)) return 0;
  return SQUARE.test(one) ? SQUARE_WIDTH : UNLISTED_WIDTH;
}

function listedWidth(one: string): number | undefined {
  return LISTED.get(one) ?? LISTED.get(one.normalize("NFD").charAt(0));
}

// Draws a badge with two fields, label and status: no script, no external resources, well-formed for any label.

export type BadgePicture = { label: string; value: string; valueFill: string };

const HEIGHT = 20;
const CORNER = 3;
const FONT_SIZE = 11;
const PADDING = 5;
/** Both texts are slightly closer to each other than the middle of their fields, which looks better. */
const LEAN = 1;
const BASELINE = 14;
const SHADOW_DROP = 1;
const LABEL_FILL = "#555";
const LABEL_WIDTH_MAX = 300;
const ELLIPSIS = "…";
/** Glyphs are positioned in tenths of a pixel: otherwise a renderer would round each position to whole pixels. */
const FINE = 10;

/** The badge as an SVG document. */
export function drawBadge({ label, value, valueFill }: BadgePicture): string {
  const shown = shorten(readable(label));
  const left = fieldWidth(shown);
  const right = fieldWidth(value);
  const width = left + right;
  const title = escapeHtml(`${readable(label)}: ${value}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}"`,
    ` role="img" aria-label="${title}"><title>${title}</title>`,
    // Every badge has the same one, so that several can be on one page with the same id.
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

/** Each text has a shadow below it, without which white text on a bright color would be unreadable. */
function drawText(text: string, middle: number): string {
  if (text === "") return "";
  const length = Math.round(textWidth(text, FONT_SIZE) * FINE);
  // Gaps between letters may be adjusted unless that would separate joined letters.
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

// XML cannot contain these or unpaired surrogates, not even escaped.
// oxlint-disable-next-line no-control-regex -- These are the characters to find.
const NOT_XML = /[\u0000-\u001f\ufffe\uffff]/g;
const REPLACEMENT = "\ufffd";

/** The text as shown: white space becomes one space, and characters that XML cannot contain are replaced. */
function readable(text: string): string {
  return text.toWellFormed().replace(/\s+/g, " ").trim().replace(NOT_XML, REPLACEMENT);
}

/** The part of a text that fits. */
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
