import { expect, test } from "vitest";
import { IMPORT_DAMAGES_LISTED_MAX } from "../core/limits.ts";
import { Limitations } from "./limitations.ts";

test("The same sentence is listed once", () => {
  const limitations = new Limitations();
  limitations.add("No names.");
  limitations.add("No names.");
  limitations.addDamage("Row 1 is damaged.");
  limitations.addDamage("Row 1 is damaged.");
  expect(limitations.lines).toEqual(["No names.", "Row 1 is damaged."]);
});

test("Many damaged values are counted", () => {
  const limitations = new Limitations();
  for (let row = 1; row <= IMPORT_DAMAGES_LISTED_MAX + 3; row += 1) limitations.addDamage(`Row ${row}.`);
  limitations.add("No names.");
  limitations.addDamage("Another row.");
  expect(limitations.lines).toHaveLength(IMPORT_DAMAGES_LISTED_MAX + 2);
  expect(limitations.lines.slice(-2)).toEqual(["No names.", "Further damaged values, not listed: 4."]);
});
