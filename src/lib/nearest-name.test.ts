// Common typos, and names for which a suggestion would not help.
import { expect, test } from "vitest";
import { didYouMean, nearestName } from "./nearest-name.ts";

const KNOWN = ["OVERDUE_SITE_URL", "OVERDUE_PING_URL", "OVERDUE_LOG_LEVEL", "OVERDUE_ROLES"];

test.each([
  ["OVERDUE_SITE_ULR", "OVERDUE_SITE_URL"],
  ["OVERDUE_SITEURL", "OVERDUE_SITE_URL"],
  ["OVERDUE_LOGLEVL", "OVERDUE_LOG_LEVEL"],
  ["overdue_roles", "OVERDUE_ROLES"],
  ["OVERDUE_ROLE", "OVERDUE_ROLES"],
])("%s is corrected to %s", (given, meant) => {
  expect(nearestName(given, KNOWN)).toBe(meant);
});

test("swapped neighbors count as one mistake, not two", () => {
  expect(nearestName("ab", ["ba"])).toBe("ba");
  expect(nearestName("ab", ["dc"])).toBeNull();
});

test("a name that resembles nothing gets no suggestion", () => {
  expect(nearestName("banana", ["migrate", "serve"])).toBeNull();
  expect(didYouMean("banana", ["migrate", "serve"])).toBe("");
});

test("an overlong name is not compared", () => {
  const long = "x".repeat(65);
  expect(nearestName(long, [`${long}y`])).toBeNull();
});

test("the sentence is ready to be appended", () => {
  expect(didYouMean("migrat", ["migrate", "serve"])).toBe(" Did you mean migrate?");
});
