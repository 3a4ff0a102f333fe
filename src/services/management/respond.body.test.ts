// Request bodies as bytes: what is parsed as an object, and what cannot be parsed.
import { describe, expect, test } from "vitest";
import { parseBody } from "./respond.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a body", () => {
  test.each<[string, unknown]>([
    ["{}", {}],
    ["null", {}],
    [" null\n", {}],
    ['{"name": "ā 🦆"}', { name: "ā 🦆" }],
    ['{"a": 1, "a": 2}', { a: 2 }],
    ['{"a": "\\ud800"}', { a: "\ud800" }],
    ['{"a": "[[[[\\"{{{{"}', { a: '[[[["{{{{' }],
  ])("%s is parsed", (text, value) => {
    expect(parseBody(bytes(text))).toEqual(value);
  });

  test.each<[string, number]>([
    ["1e400", Number.NaN],
    ["-1E+400", Number.NaN],
    [`${"9".repeat(400)}.5`, Number.NaN],
    ["9".repeat(400), Infinity],
    [`-${"9".repeat(400)}`, -Infinity],
    ["1e30", 1e30],
    ["1e-400", 0],
  ])("distinguishes whole numbers by how %s is written", (written, value) => {
    expect(parseBody(bytes(`{"a": ${written}, "b": "1e400"}`))).toEqual({ a: value, b: "1e400" });
  });

  test("may be missing or empty", () => {
    expect(parseBody(null)).toEqual({});
    expect(parseBody(new Uint8Array())).toEqual({});
  });

  test("keeps a field with the name of an object property", () => {
    expect(Object.hasOwn(parseBody(bytes('{"__proto__": 1}')), "__proto__")).toBe(true);
  });

  test.each([
    " ",
    "{",
    "nul",
    "NaN",
    '{"a": NaN}',
    '{"a": Infinity}',
    '{"a": -Infinity}',
    '{"a": 01}',
    "{'a': 1}",
    '{"a": 1,}',
    "\uFEFF{}",
    "{}\0",
    "a=1&b=2",
  ])("%j cannot be parsed", (text) => {
    expect(() => parseBody(bytes(text))).toThrow("could not parse request body");
  });

  test.each([[[0xff]], [[0x22, 0xc3, 0x28, 0x22]], [[0x22, 0xed, 0xa0, 0x80, 0x22]]])(
    "%j is not UTF-8 and cannot be parsed",
    (raw) => {
      expect(() => parseBody(Uint8Array.from(raw))).toThrow("could not parse request body");
    },
  );

  test.each(["[]", '"x"', "1", "true", "[[[]]]"])("%s is not an object", (text) => {
    expect(() => parseBody(bytes(text))).toThrow("json validation error: value is not an object");
  });

  test("has a maximum number of values, whatever its strings contain", () => {
    const list = (count: number) => `{"unique": [${"1,".repeat(count - 1)}1]}`;
    const unreadable = "could not parse request body";
    expect(parseBody(bytes(list(9_000)))).toHaveProperty("unique");
    expect(() => parseBody(bytes(list(11_000)))).toThrow(unreadable);
    expect(() => parseBody(bytes(`{"z": 1e999, "a": [${"{},".repeat(800_000)}1]}`))).toThrow(unreadable);
    expect(parseBody(bytes(JSON.stringify({ desc: ',[{\\"'.repeat(20_000) })))).toHaveProperty("desc");
  });

  test("may be nested a hundred levels deep and no deeper", () => {
    const nested = (depth: number) => `{"a": ${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
    expect(() => parseBody(bytes(nested(100)))).not.toThrow();
    expect(() => parseBody(bytes(nested(101)))).toThrow("could not parse request body");
    expect(() => parseBody(bytes("[".repeat(2_000_000)))).toThrow("could not parse request body");
  });

  test("that cannot be parsed is not quoted", () => {
    expect(() => parseBody(bytes('{"api_key": "odw_secret'))).toThrow(/^could not parse request body$/);
  });
});
