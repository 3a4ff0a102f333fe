// Local times of date and time fields, in zones whose clocks change.
import { expect, test } from "vitest";
import { instantOfLocal, localMinute } from "./format.ts";

const ZONES = ["UTC", "Europe/Riga", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"];
const HOUR_MS = 3_600_000;

test.each(ZONES)("every hour of a year in %s is read back as itself", (zone) => {
  const begin = Date.UTC(2026, 0, 1);
  for (let at = begin; at < begin + 365 * 24 * HOUR_MS; at += HOUR_MS) {
    const text = localMinute(at, zone);
    const read = instantOfLocal(text, zone) ?? 0;
    expect(localMinute(read, zone)).toBe(text);
    // Of a time that occurs twice, the first one counts.
    expect(at - read).toBeGreaterThanOrEqual(0);
    expect(at - read).toBeLessThanOrEqual(HOUR_MS);
  }
});

test("a time that the clocks skip is moved forward", () => {
  // 29 March 2026 in Riga: 03:00 is 04:00.
  expect(localMinute(instantOfLocal("2026-03-29T03:30", "Europe/Riga") ?? 0, "Europe/Riga")).toBe(
    "2026-03-29T04:30",
  );
});

test("of a time that occurs twice, the first one counts", () => {
  expect(instantOfLocal("2026-10-25T03:30", "Europe/Riga")).toBe(Date.UTC(2026, 9, 25, 0, 30));
});

test.each(["", "tomorrow"])("%j is no time", (text) => {
  expect(instantOfLocal(text, "Europe/Riga")).toBeNull();
});
