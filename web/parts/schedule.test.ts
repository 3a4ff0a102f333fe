// How the expression changes when another kind is chosen and the server has detected its language.
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

test("an expression in another language is replaced by an example, and a new one also gets the user's zone", () => {
  const was = { ...BEFORE, schedule: asked.schedule };
  expect(readChange(was, asked)).toEqual({ schedule: "0 3 * * *", tz: "Europe/Riga" });
  expect(readChange(was, { ...asked, readAs: "oncalendar" })).toEqual({ schedule: "0 3 * * *" });
  expect(readChange(was, { ...asked, readAs: "cron" })).toEqual({});
  // The user has chosen that zone.
  expect(readChange({ ...was, tz: "Asia/Tokyo" }, asked)).toEqual({ schedule: "0 3 * * *" });
  expect(readChange(was, { ...asked, isZoneChosen: true })).toEqual({ schedule: "0 3 * * *" });
});

test("a response about fields that have changed since is ignored", () => {
  expect(readChange({ ...BEFORE, schedule: "5 4 * * *" }, asked)).toEqual({});
  expect(readChange({ ...BEFORE, schedule: asked.schedule, kind: "oncalendar" }, asked)).toEqual({});
  expect(readChange({ ...BEFORE, schedule: asked.schedule, kind: "simple" }, asked)).toEqual({});
});
