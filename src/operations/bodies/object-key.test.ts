// Keys of objects: readable, unique, and in the order in which bodies are looked for.
import fc from "fast-check";
import { expect, test } from "vitest";
import { objectKeyOf } from "./object-key.ts";

const UUID = "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278";
const AT = Date.UTC(2026, 10, 16, 12);

const key = (n: number, at = AT) => objectKeyOf({ checkUuid: UUID, n, at });

test("a key tells its check and its number", () => {
  expect(key(123)).toBe(`${UUID}/xihg-123-${AT.toString(36)}`);
});

test("a number that is given anew has another key", () => {
  expect(key(1, AT)).not.toBe(key(1, AT + 1));
});

test("the newer of two bodies is listed first", () => {
  const number = fc.oneof(
    fc.integer({ min: 1, max: 2_000 }),
    fc.maxSafeNat().map((n) => n + 1),
  );
  fc.assert(
    fc.property(number, number, (a, b) => {
      fc.pre(a !== b);
      expect(key(a) < key(b)).toBe(a > b);
    }),
  );
});
