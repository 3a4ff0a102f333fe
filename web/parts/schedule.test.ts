// What becomes of an expression when another kind is chosen and the server has said whose language it is.
import { expect, test } from "vitest";
import { readChange, type Schedule } from "./schedule.tsx";

const BEFORE: Schedule = {
  kind: "cron",
  timeoutSeconds: 86_400,
  graceSeconds: 3_600,
  schedule: "0 3 * * *",
  tz: "UTC",
};

const asked = {
  kind: "cron",
  schedule: "* * * * *",
  readAs: null,
  readerZone: "Europe/Riga",
  isZoneChosen: false,
} as const;

test("an expression in another language gives way to a sample, and an unwritten one to the reader's clock too", () => {
  const was = { ...BEFORE, schedule: asked.schedule };
  expect(readChange(was, asked)).toEqual({ schedule: "0 3 * * *", tz: "Europe/Riga" });
  expect(readChange(was, { ...asked, readAs: "oncalendar" })).toEqual({ schedule: "0 3 * * *" });
  expect(readChange(was, { ...asked, readAs: "cron" })).toEqual({});
  // Somebody has chosen that zone.
  expect(readChange({ ...was, tz: "Asia/Tokyo" }, asked)).toEqual({ schedule: "0 3 * * *" });
  expect(readChange(was, { ...asked, isZoneChosen: true })).toEqual({ schedule: "0 3 * * *" });
});

test("an answer about what has been changed since changes nothing", () => {
  expect(readChange({ ...BEFORE, schedule: "5 4 * * *" }, asked)).toEqual({});
  expect(readChange({ ...BEFORE, schedule: asked.schedule, kind: "oncalendar" }, asked)).toEqual({});
  expect(readChange({ ...BEFORE, schedule: asked.schedule, kind: "simple" }, asked)).toEqual({});
});
