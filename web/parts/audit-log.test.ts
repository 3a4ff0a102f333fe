// The two sides of a change, as the audit log shows them.
import { expect, test } from "vitest";
import { differences, fieldWords, valueWords } from "./audit-log.tsx";

test("only the fields that differ are shown, each with both sides", () => {
  expect(differences({ name: "a", graceSeconds: 60 }, { name: "a", graceSeconds: 300 })).toEqual([
    { field: "grace period", before: "1 min", after: "5 min" },
  ]);
});

test("a created resource has no side before, and a deleted one none after", () => {
  expect(differences(null, { name: "a" })).toEqual([{ field: "name", before: null, after: "a" }]);
  expect(differences({ name: "a" }, null)).toEqual([{ field: "name", before: "a", after: null }]);
  expect(differences(null, null)).toEqual([]);
});

test("the ID of the changed resource is not shown", () => {
  expect(differences(null, { uuid: "x", name: "a" })).toHaveLength(1);
});

test("field names are shown as words", () => {
  expect(fieldWords("graceSeconds")).toBe("grace period");
  expect(fieldWords("filterSubject")).toBe("keywords in email subject");
  expect(fieldWords("url_down")).toBe("url down");
});

test("values are short texts", () => {
  expect(valueWords(null)).toBe("none");
  expect(valueWords("")).toBe("empty");
  expect(valueWords(true)).toBe("yes");
  expect(valueWords(["a", "b"])).toBe("a, b");
  expect(valueWords([])).toBe("none");
  expect(valueWords("readOnly")).toBe("read-only");
  expect(valueWords({ a: 1 })).toBe('{"a":1}');
  expect(valueWords("x".repeat(500))).toHaveLength(120);
});
