// Which of the typed fields are changes, and how durations are typed.
import { expect, test } from "vitest";
import { secondsOf, spanOf } from "../parts/schedule.tsx";
import { changeOf, isOtherSchedule, type Settings } from "./check-edit.tsx";

const BEFORE = {
  name: "job",
  kind: "cron",
  timeoutSeconds: 86_400,
  graceSeconds: 3_600,
  schedule: "0 3 * * *",
  tz: "UTC",
} as Settings;

test("a duration is shown in the largest unit that fits, and read back", () => {
  expect(spanOf(86_400)).toEqual({ count: "1", unit: "days" });
  expect(spanOf(5_400)).toEqual({ count: "90", unit: "minutes" });
  expect(spanOf(90)).toEqual({ count: "1.5", unit: "minutes" });
  for (const seconds of [60, 90, 100, 3_600, 604_800, 31_536_000])
    expect(secondsOf(spanOf(seconds))).toBe(seconds);
  expect(secondsOf({ count: "1,5", unit: "hours" })).toBe(5_400);
  expect(secondsOf({ count: "soon", unit: "hours" })).toBe(0);
});

test("only changed fields are sent", () => {
  expect(changeOf(BEFORE, { ...BEFORE })).toEqual({});
  expect(changeOf(BEFORE, { ...BEFORE, name: "other" })).toEqual({ name: "other" });
});

test("a schedule is sent with its kind and its zone, a period without them", () => {
  expect(changeOf(BEFORE, { ...BEFORE, schedule: "0 4 * * *" })).toEqual({
    kind: "cron",
    schedule: "0 4 * * *",
    tz: "UTC",
  });
  expect(changeOf(BEFORE, { ...BEFORE, kind: "simple", schedule: "x" })).toEqual({
    kind: "simple",
    timeoutSeconds: 86_400,
  });
});

test("fields of the other kind are no change", () => {
  expect(changeOf(BEFORE, { ...BEFORE, timeoutSeconds: 60 })).toEqual({});
});

test("grace and schedule can be simulated on the history, a name cannot", () => {
  expect(isOtherSchedule(BEFORE, { ...BEFORE, graceSeconds: 60 })).toBe(true);
  expect(isOtherSchedule(BEFORE, { ...BEFORE, tz: "Europe/Riga" })).toBe(true);
  expect(isOtherSchedule(BEFORE, { ...BEFORE, name: "other" })).toBe(false);
});
