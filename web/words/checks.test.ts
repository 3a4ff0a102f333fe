// Rows whose notifications do not follow the status.
import { expect, test } from "vitest";
import { toleranceLabel, toleranceText } from "./checks.ts";

test.each([
  [
    { kind: "tolerated", of: "failures", count: 1, needed: 3 },
    "pending, 1 of 3",
    "Pending: 1 of 3 failures. No notification yet.",
  ],
  [
    { kind: "tolerated", of: "missed", count: 1, needed: 2 },
    "pending, 1 of 2",
    "Pending: 1 of 2 missed runs. No notification yet.",
  ],
  [
    { kind: "tolerated", of: "failures", count: 0, needed: 1 },
    "resolved",
    "Resolved manually. No notification until the next failed or missed run.",
  ],
  [
    { kind: "recovering", of: "successes", count: 1, needed: 3 },
    "recovering, 1 of 3",
    "Recovering: 1 of 3 successes. The recovery is not reported yet.",
  ],
] as const)("%j", (tolerance, label, text) => {
  expect([toleranceLabel(tolerance), toleranceText(tolerance)]).toEqual([label, text]);
});
