// The steps of an explanation as sentences.
import { expect, test } from "vitest";
import type { Explanation, ExplanationStep } from "../../src/contract/api/history.ts";
import {
  firstDeliveryMs,
  formatOffset,
  silenceOf,
  stepText,
  summaryOf,
  deliveryText,
  zoneSum,
} from "./check.ts";

const AT = Date.UTC(2026, 10, 15, 1);
const READER = { now: AT + 3 * 3_600_000, zone: "Europe/Riga" };
const ABOUT = { zone: "Europe/Riga", reader: READER };
const expected: Extract<ExplanationStep, { kind: "expected" }> = {
  kind: "expected",
  at: AT,
  sentence: "At 03:00 every day, Europe/Riga time.",
  offsetMinutes: 120,
  clockChange: { at: Date.UTC(2026, 9, 25, 1), beforeMinutes: 180 },
};
const sent: Extract<ExplanationStep, { kind: "notified" }> = {
  kind: "notified",
  at: AT + 1_200,
  id: 1,
  channel: { id: "c", kind: "slack", name: "Slack #ops" },
  isInOtherProject: false,
  state: "sent",
  createdAt: AT,
  attemptedAt: AT + 900,
  settledAt: AT + 1_200,
  attempts: 1,
  nextAttemptAt: null,
  responseCode: 200,
  reason: null,
};

test("the expected time has the offset and the last clock change", () => {
  expect(stepText(expected, ABOUT)).toMatch(
    /^Expected at 03:00 every day, Europe\/Riga time \(.*UTC\+2; clocks went back 21 d ago\)$/,
  );
  expect(stepText({ ...expected, clockChange: null, offsetMinutes: 0 }, { ...ABOUT, zone: "UTC" })).toBe(
    "Expected at 03:00 every day, Europe/Riga time",
  );
});

test("the calculation of the zone has local time, UTC and the shift", () => {
  expect(zoneSum(expected, ABOUT)).toBe(
    "03:00 in Europe/Riga was 01:00 UTC (offset UTC+2). Clocks went back by 1 h on 25 Oct 03:00, from UTC+3. A job whose clock ignores this change is off by 1 h.",
  );
});

test("an offset has its half hours and its sign", () => {
  expect([0, 120, -210, 345].map(formatOffset)).toEqual(["UTC", "UTC+2", "UTC−3:30", "UTC+5:45"]);
});

test("each rule has a text", () => {
  const text = (rule: "silence" | "overrun" | "failure") =>
    stepText({ kind: "down", at: AT, rule, graceSeconds: 3_000 }, ABOUT);
  expect(text("silence")).toContain("Down: the grace period of 50 min ended without a success");
  expect(text("overrun")).toContain("didn't finish within the grace period of 50 min");
  expect(text("failure")).toContain("immediately");
});

test("a delivery has its response, its duration and its attempts", () => {
  expect(deliveryText(sent, READER)).toBe("Slack #ops notified (HTTP 200, 300 ms)");
  expect(deliveryText({ ...sent, attempts: 2 }, READER)).toMatch(/attempt 2\)$/);
  const dead = { ...sent, state: "dead" as const, attempts: 5, reason: "refused" };
  expect(deliveryText(dead, READER)).toBe("Slack #ops couldn't be notified after 5 attempts: refused");
  expect(deliveryText({ ...sent, state: "pending", nextAttemptAt: AT, reason: null }, READER)).toContain(
    "Next attempt",
  );
});

test("the summary has the ping and the number of notified channels", () => {
  const explanation = {
    flip: { id: 1, at: AT, from: "up", to: "down", reason: "timeout", retractedAt: null },
    zone: "Europe/Riga",
    isEditedSince: false,
    steps: [{ kind: "down", at: AT, rule: "silence", graceSeconds: 60 }, sent],
  } satisfies Explanation;
  expect(summaryOf(explanation, READER)).toBe(
    "No success was reported, so the check went down when the grace period ended today 03:00. 1 channel was notified.",
  );
  expect(firstDeliveryMs(explanation)).toBe(1_200);
});

test("a first success sends no notification, and the channels are not given as the reason", () => {
  const explanation = {
    flip: { id: 1, at: AT, from: "new", to: "up", reason: "success", retractedAt: null },
    zone: "Europe/Riga",
    isEditedSince: false,
    steps: [{ kind: "up", at: AT }],
  } satisfies Explanation;
  expect(summaryOf(explanation, READER)).toBe(
    "The job reported success today 03:00, so the check is up. No notifications were sent.",
  );
  expect(silenceOf(explanation)).toContain("The first success");
  const again = { ...explanation, flip: { ...explanation.flip, from: "down" as const } };
  expect(summaryOf(again, READER)).toContain("is up again");
  expect(silenceOf(again)).toContain("no channel is assigned");
});
