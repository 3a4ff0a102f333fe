// The modules of a QR code become bars, and none is lost.
import { expect, test } from "vitest";
import { qrPath } from "./account-sign-in.tsx";

test("each run of dark modules is one bar at its position", () => {
  expect(
    qrPath([
      [true, true, false, true],
      [false, false, false, false],
      [false, true, true, true],
    ]),
  ).toBe("M0 0h2v1h-2zM3 0h1v1h-1zM1 2h3v1h-3z");
});

test("no dark modules give no path", () => {
  expect(qrPath([[false], []])).toBe("");
});
