// Cursors, entity tags, and idempotency keys.
import { expect, test } from "vitest";
import { cursorNumber, cursorText, entityTag, idempotencyKey, ifMatch } from "./params.ts";

test("a cursor points to the row that it was made from", () => {
  expect(cursorNumber(cursorText(4711) ?? "")).toBe(4711);
  expect([cursorText(null), cursorNumber(undefined)]).toEqual([null, null]);
});

test("an entity tag names its version, a header may name several, and other tags match nothing", () => {
  const read = (header: string) => ifMatch({ "if-match": header });
  expect(read(entityTag({ version: 7 }).ETag)).toEqual([7]);
  expect(read('"1", "23"')).toEqual([1, 23]);
  expect([ifMatch({}), read(" * ")]).toEqual([null, null]);
  expect([read('W/"1"'), read("1"), read(""), read('"x"')]).toEqual([[], [], [], []]);
});

test("an idempotency key has printable characters without spaces", () => {
  const read = (header: string) => idempotencyKey({ "idempotency-key": header });
  expect(idempotencyKey({})).toBeNull();
  expect(read("a-1")).toBe("a-1");
  for (const bad of ["", "a b", "ä", "x".repeat(256)]) expect(() => read(bad)).toThrow("Idempotency-Key");
});
