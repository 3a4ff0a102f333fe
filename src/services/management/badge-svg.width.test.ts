// Widths taken from the fonts, and characters without their own width.
import { expect, test } from "vitest";
import { CHARACTERS_OF_WIDTH, charactersOf, isMeasured, textWidth } from "./badge-svg.ts";

test.each([
  ["", 0],
  ["up", 1_256],
  ["late", 1_865],
  ["down", 2_681],
  ["iiii", 1_096],
  ["WWWW", 3_956],
  ["Резервная копия", 8_932],
  ["Ωmega", 3_557],
])("%j is %i thousandths wide", (text, width) => {
  expect(textWidth(text, 1_000)).toBe(width);
});

test("the width grows with the font", () => {
  expect(textWidth("build", 11)).toBeCloseTo(26.7, 1);
});

test.each([
  ["é", "e"],
  ["Å", "A"],
  ["ṩ", "s"],
  ["e\u0301", "e"],
  ["zero\u200bwidth", "zerowidth"],
])("%j is as wide as %j", (text, same) => {
  expect(textWidth(text, 11)).toBe(textWidth(same, 11));
});

test.each(["👍", "👍🏽", "👩‍👩‍👧", "🇱🇻", "❤️"])("the emoji %s counts once", (picture) => {
  expect(charactersOf(picture)).toHaveLength(1);
  expect(textWidth(picture, 1_000)).toBe(1_250);
});

test.each(["漢", "あ", "ア", "한", "。", "！"])("%s fills a square", (character) => {
  expect(textWidth(character, 1_000)).toBe(1_000);
});

test("the width of characters in unknown fonts is an estimate", () => {
  expect(["backup", "Café", "naïve", "Копия"].map(isMeasured)).toEqual([true, true, true, true]);
  expect(["漢", "👍", "ก", "\u200b"].map(isMeasured)).toEqual([false, false, false, false]);
});

test("each character is in the table once, and all characters of a keyboard are in it", () => {
  const listed = CHARACTERS_OF_WIDTH.flatMap(([, characters]) => Array.from(characters));
  expect(listed.filter((one, index) => listed.indexOf(one) !== index)).toEqual([]);
  const keyboard = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
  expect(keyboard.filter((one) => !listed.includes(one))).toEqual([]);
});
