// Squares become bars, and nothing is lost between them.
import { expect, test } from "vitest";
import { qrPath } from "./account-sign-in.tsx";

test("each run of dark squares is one bar at its place", () => {
  expect(
    qrPath([
      [true, true, false, true],
      [false, false, false, false],
      [false, true, true, true],
    ]),
  ).toBe("M0 0h2v1h-2zM3 0h1v1h-1zM1 2h3v1h-3z");
});

test("nothing dark is no path", () => {
  expect(qrPath([[false], []])).toBe("");
});
