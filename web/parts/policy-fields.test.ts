// What a form of a policy changes, and durations in their units.
import { expect, test } from "vitest";
import { policyChange, unitOf, withChange } from "./policy-fields.tsx";

test("only fields that differ are sent, and null where one is inherited again", () => {
  const before = { missed: 2, repeat: 3_600, failures: { count: 3, of: 3 } };
  const after = { missed: 2, failures: { count: 3, of: 5 }, groupBy: [] };
  expect(policyChange(before, after)).toEqual({
    failures: { count: 3, of: 5 },
    repeat: null,
    groupBy: [],
  });
  expect(policyChange(before, { ...before })).toEqual({});
});

test("a field that is inherited again is removed", () => {
  expect(withChange({ missed: 2, repeat: 0 }, { missed: undefined, recovery: 3 })).toEqual({
    repeat: 0,
    recovery: 3,
  });
});

test.each([
  [30, "seconds"],
  [90, "seconds"],
  [120, "minutes"],
  [5_400, "minutes"],
  [7_200, "hours"],
  [86_400, "days"],
  [0, "seconds"],
])("%d seconds are shown in %s", (seconds, unit) => {
  expect(unitOf(seconds)).toBe(unit);
});
