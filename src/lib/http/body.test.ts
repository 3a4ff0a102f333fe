// Counting the values of a JSON text, at the limits and with strings in it.
import { expect, test } from "vitest";
import { isBeyondBounds } from "./body.ts";

const BOUNDS = { valuesMax: 4, nestingMax: 2 };

test.each([
  ["", false],
  ["[1,2,3]", false],
  ["[1,2,3,4]", true],
  ['{"a":{"b":1}}', false],
  ['{"a":{"b":{}}}', true],
  ["[[]]", false],
  ["[[[]]]", true],
  ['["[[[,,,,,"]', false],
  [String.raw`["\",,,,,,"]`, false],
  [String.raw`["\\",1,2,3]`, true],
])("%s is beyond: %s", (text, isBeyond) => {
  expect(isBeyondBounds(new TextEncoder().encode(text), BOUNDS)).toBe(isBeyond);
});
