// Cursors, lengths of pages, and entity tags of channels.
import fc from "fast-check";
import { expect, test } from "vitest";
import { channelTag, cursorOf, readIfMatch, readPage } from "./channels.ts";

const read = (query: string) => readPage(new URLSearchParams(query));

test("a cursor leads back to where it was made, whatever the number", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (next) => {
      expect(read(`cursor=${cursorOf(next)}`)).toEqual({ ok: true, value: { from: next, limit: 50 } });
    }),
  );
  expect(cursorOf(null)).toBeNull();
  expect(read("")).toEqual({ ok: true, value: { from: null, limit: 50 } });
});

test.each([
  "cursor=",
  "cursor=1",
  "cursor=C1",
  "cursor=c",
  "cursor=c-1",
  "cursor=czzzzzzzzzzz",
  "cursor=c1%20",
])("%s is no cursor", (query) =>
  expect(read(query)).toEqual({ ok: false, text: "invalid query parameter: cursor" }),
);

test.each(["limit=", "limit=0", "limit=101", "limit=-1", "limit=1.5", "limit=1e1", "limit=99999"])(
  "%s is no length",
  (query) => expect(read(query)).toEqual({ ok: false, text: "invalid query parameter: limit" }),
);

test("a tag names its revision, and a header may name several; what is none of ours matches nothing", () => {
  expect(readIfMatch(channelTag({ revision: 7 }))).toEqual([7]);
  expect(readIfMatch('"1", "23"')).toEqual([1, 23]);
  expect([readIfMatch(undefined), readIfMatch(" * ")]).toEqual([null, null]);
  expect([readIfMatch('W/"1"'), readIfMatch("1"), readIfMatch(""), readIfMatch('"x"')]).toEqual([
    [],
    [],
    [],
    [],
  ]);
});
