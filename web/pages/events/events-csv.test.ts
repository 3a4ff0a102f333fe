// A file that a spreadsheet reads as it was meant, whatever a check is called.
import { expect, test } from "vitest";
import { csvOf } from "./events-csv.ts";

const FLIP = {
  type: "flip",
  id: 1,
  at: 0,
  from: "up",
  to: "down",
  reason: "fail",
  takenBackAt: null,
} as const;

test("each event is a line, quoted, with a head", () => {
  const lines = csvOf([{ ...FLIP, check: { id: "x", name: 'nightly "big" one' } }]).split("\r\n");
  expect(lines[0]).toBe('"When","Check","What","By"');
  expect(lines[1]).toBe(
    '"1970-01-01T00:00:00.000Z","nightly ""big"" one","went down: the job said that it failed",""',
  );
});

test("a name that a spreadsheet would run is text", () => {
  expect(csvOf([{ ...FLIP, check: { id: "x", name: "=1+1" } }])).toContain(`"'=1+1"`);
});
