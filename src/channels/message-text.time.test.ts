// Instants in a time zone.
import { expect, test } from "vitest";
import { instantText, isoText, readingText } from "./message-text.ts";

const SUMMER = Date.UTC(2026, 6, 1, 23, 59, 59, 999);
const WINTER = Date.UTC(2026, 11, 31, 23, 0);

test.each([
  [SUMMER, "UTC", "2026-07-01 23:59 UTC"],
  [SUMMER, "Europe/Riga", "2026-07-02 02:59 Europe/Riga"],
  [WINTER, "Europe/Riga", "2027-01-01 01:00 Europe/Riga"],
  [WINTER, "America/St_Johns", "2026-12-31 19:30 America/St_Johns"],
  [WINTER, "Nowhere/At_All", "2026-12-31 23:00 UTC"],
])("%i in %s is %s", (at, zone, text) => {
  expect(instantText(at, zone)).toBe(text);
  expect(text.startsWith(readingText(at, zone))).toBe(true);
});

test("times for programs have seconds and an offset", () => {
  expect(isoText(SUMMER)).toBe("2026-07-01T23:59:59+00:00");
});
