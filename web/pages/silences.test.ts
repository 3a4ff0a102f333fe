// The times of silences in a week, and silences that are created again by undo.
import { expect, test } from "vitest";
import type { Silence } from "../../src/contract/api/silences.ts";
import { againOf, spansOf, weekOf } from "./silences.tsx";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// Sunday 25 October 2026, 06:00 in Riga: the clocks went back that night.
const NOW = Date.UTC(2026, 9, 25, 4, 0);

const SILENCE: Silence = {
  id: "1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21",
  checks: null,
  tag: "db",
  reason: "",
  state: "active",
  window: { from: NOW - HOUR_MS, until: NOW + HOUR_MS },
  from: NOW - HOUR_MS,
  until: NOW + HOUR_MS,
  untilSuccess: false,
  schedule: null,
  tz: null,
  duration: null,
  holdAfter: 0,
  createdAt: NOW,
  createdBy: null,
  endedAt: null,
  version: 1,
};

test("a week begins yesterday at midnight and has seven days, also when the clocks change", () => {
  const days = weekOf(NOW, "Europe/Riga");
  expect(days[0]).toBe(Date.UTC(2026, 9, 23, 21));
  const lengths = days.slice(1).map((at, index) => (at - (days[index] ?? 0)) / HOUR_MS);
  expect(lengths).toEqual([24, 25, 24, 24, 24, 24, 24]);
});

const week = { begins: NOW - DAY_MS, ends: NOW + 6 * DAY_MS };

test("a silence that lasts longer than the week is cut to it", () => {
  const long = { ...SILENCE, from: NOW - 9 * DAY_MS, until: NOW + 9 * DAY_MS };
  expect(spansOf(long, [], week)).toEqual([{ from: week.begins, until: week.ends }]);
});

test("a silence that was ended early is drawn until then", () => {
  expect(spansOf({ ...SILENCE, endedAt: NOW }, [], week)).toEqual([{ from: NOW - HOUR_MS, until: NOW }]);
});

test("a recurring silence has its current window and the next ones", () => {
  const nightly = { ...SILENCE, until: null, schedule: "0 2 * * *", tz: "UTC", duration: 3_600 };
  const nextAt = [NOW + DAY_MS, NOW + 2 * DAY_MS, NOW + 8 * DAY_MS];
  expect(spansOf(nightly, nextAt, week)).toEqual([
    nightly.window,
    { from: NOW + DAY_MS, until: NOW + DAY_MS + HOUR_MS },
    { from: NOW + 2 * DAY_MS, until: NOW + 2 * DAY_MS + HOUR_MS },
  ]);
});

test("undo creates the rest of a silence again", () => {
  expect(againOf(SILENCE, NOW)).toEqual({
    tag: "db",
    until: NOW + HOUR_MS,
    untilSuccess: false,
    holdAfter: 0,
    reason: "",
  });
  const planned = { ...SILENCE, tag: null, checks: [{ id: "a", name: "x" }], from: NOW + 1_000 };
  expect(againOf(planned, NOW)).toMatchObject({ checks: ["a"], from: NOW + 1_000 });
});
