import { expect, test } from "vitest";
import { csvLine } from "./csv.ts";

test.each([
  [["plain", 1.5], '"plain",1.5\r\n'],
  [['say "hi", please'], '"say ""hi"", please"\r\n'],
  [["=1+1"], `"'=1+1"\r\n`],
  [["+1"], `"'+1"\r\n`],
  [["-1"], `"'-1"\r\n`],
  [["@SUM(A1)"], `"'@SUM(A1)"\r\n`],
  [["\t=1"], `"'\t=1"\r\n`],
  [[-3], "-3\r\n"],
])("%j is %j", (cells, line) => {
  expect(csvLine(cells)).toBe(line);
});
