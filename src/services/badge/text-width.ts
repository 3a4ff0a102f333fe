// How wide a text will be drawn, without a font at hand. It measures what people see as one character at a time,
// so that a flag or a letter with accents counts once.
import { CHARACTERS_OF_WIDTH, PICTURE_WIDTH, SQUARE_WIDTH, UNLISTED_WIDTH } from "./glyph-widths.ts";

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

/** The characters of a text as people count them. */
export function charactersOf(text: string): string[] {
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment);
}

/** The width of a text in the unit of the font's size. */
export function textWidth(text: string, fontSize: number): number {
  let width = 0;
  for (const character of charactersOf(text)) width += widthOf(character);
  return (width * fontSize) / THOUSANDTHS;
}

/** Whether every character is in the table, so that the width is more than a guess. */
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
