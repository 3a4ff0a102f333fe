// Number formats, at the boundaries where the text changes.
import { expect, test } from "vitest";
import { formatCount, listNames } from "../../src/contract/api/words.ts";
import { formatBytes, formatShare, plural } from "./format.ts";

test("counts have separators, and their noun is singular or plural", () => {
  expect(formatCount(10_000)).toBe("10,000");
  expect(plural(1, "check")).toBe("1 check");
  expect(plural(142, "check")).toBe("142 checks");
  expect(plural(2, "match", "matches")).toBe("2 matches");
});

test("a share below one never reads 100%", () => {
  expect(formatShare(0.9999)).toBe("99.9%");
  expect(formatShare(1)).toBe("100%");
});

test.each([
  [812, "812 B"],
  [2_100, "2.1 kB"],
  [2_000, "2 kB"],
  [14_300_000, "14 MB"],
])("%d bytes read %s", (bytes, words) => expect(formatBytes(bytes)).toBe(words));

test("names are joined, and long lists are cut short", () => {
  expect(listNames(["a"])).toBe("a");
  expect(listNames(["a", "b"])).toBe("a and b");
  expect(listNames(["a", "b", "c", "d", "e"])).toBe("a, b and 3 more");
});
