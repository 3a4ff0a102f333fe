// The words of messages: what was expected, what came, since when; and that they do not depend on when they are sent.
import { describe, expect, test } from "vitest";
import type { ChannelMessage } from "../../src/channels/channel-kind.ts";
import { type MessageText, messageText } from "../../src/channels/message-text.ts";
import { DAY_MS, MINUTE_MS } from "../../src/core/instant.ts";
import type { FlipMessage } from "../../src/core/message.ts";
import { SITE } from "./sample-kinds.ts";
import {
  CHECK,
  DISABLED,
  DOWN,
  EXTREME,
  FAILED,
  MERGED,
  NOTICE,
  OPERATOR,
  OVERRUN,
  SIMPLE_CHECK,
  TAKEN_BACK,
  UP,
} from "./sample-messages.ts";

/** The zone of the sample's schedule; messages about anything else are read in UTC. */
function sampleZone(message: unknown): string {
  const settings = (message as { check?: typeof SIMPLE_CHECK }).check?.settings;
  return settings === undefined || settings.kind === "simple" ? "UTC" : settings.tz;
}

const words = (message: unknown, zone = sampleZone(message)): MessageText =>
  messageText(message as ChannelMessage, { site: SITE, zone });

describe("a check that is down", () => {
  test("missed deadline: when a ping was expected, and the last ping", () => {
    expect(words(DOWN)).toMatchObject({
      tone: "bad",
      subject: "DOWN | Nightly <backup> of *db_1*",
      headline: "Nightly <backup> of *db_1* is DOWN",
      sentences: [
        "Down since 2026-11-15 06:00 Europe/Riga: no success ping arrived in time.",
        "A ping was expected by 2026-11-15 05:00, plus a grace period of 1 hour.",
        "The last ping (Success) was received at 2026-11-14 05:00.",
      ],
      history: [],
      output: "starting\ndone: 3 tables, <b>1 234</b> rows & ```no``` @everyone",
    });
  });

  test("missed deadline without any ping: no pings received yet", () => {
    const { sentences, facts } = words({ ...DOWN, lastPing: null });
    expect(sentences.at(-1)).toBe("No pings have been received yet.");
    expect(facts.at(-1)).toMatchObject({ label: "Last ping", value: "Never" });
  });

  test("by a run that did not end: when it began", () => {
    expect(words(OVERRUN).sentences).toEqual([
      "Down since 2026-11-15 04:00 UTC: the run that started at 2026-11-15 03:59 has not finished.",
      "The job did not report success or failure within the grace period of 1 minute.",
    ]);
  });

  test("by a failure: what was reported, and how long it ran", () => {
    expect(words(FAILED)).toMatchObject({
      sentences: [
        "Down since 2026-11-15 04:00 UTC: the job reported exit status 3.",
        "The run took 2 min 3 sec.",
      ],
      output: "disk full",
      others: null,
    });
    const lastPing = { ...FAILED.lastPing, exitStatus: null, durationMs: null };
    expect(words({ ...FAILED, lastPing }).sentences).toEqual([
      "Down since 2026-11-15 04:00 UTC: the job reported a failure.",
    ]);
  });

  test("says nothing about an expectation that is no longer the one that was missed", () => {
    const check = { ...CHECK, state: { ...CHECK.state, missed: null } };
    expect(words({ ...DOWN, check }).sentences).toEqual([
      "Down since 2026-11-15 06:00 Europe/Riga: no success ping arrived in time.",
      "The last ping (Success) was received at 2026-11-14 05:00.",
    ]);
  });
});

test("a check that is up again: since when, and how long it was down", () => {
  expect(words(UP)).toMatchObject({
    tone: "good",
    subject: "UP | Nightly <backup> of *db_1*",
    sentences: [
      "Up since 2026-11-15 06:12 Europe/Riga: a success ping was received.",
      "It was down for 12 minutes, 5 seconds.",
    ],
    others: { text: "No other checks are down.", down: [] },
  });
  expect(words({ ...UP, downtimeMs: null }).sentences).toHaveLength(1);
});

test("several changes in one message are listed individually, and every failure is named", () => {
  expect(words(MERGED).history).toEqual([
    "2026-11-15 06:00: down, no ping arrived in time",
    "2026-11-15 06:02: up, success ping received",
    "2026-11-15 06:05: down, the job reported a failure",
    "2026-11-15 06:12: up, success ping received",
  ]);
  const { history } = words(EXTREME);
  expect(history).toHaveLength(13);
  expect(history[0]).toMatch(
    /^Before that: 88 status changes, with failures at 2026-11-15 06:00, 2026-11-15 06:02, /,
  );
  const named = history.join("\n");
  const failures = EXTREME.flips.filter(({ reason }) => reason === "fail");
  const missing = failures.filter(({ at }) => {
    const minute = Math.round((at - DOWN.since) / MINUTE_MS);
    const hour = 6 + Math.floor(minute / 60);
    return !named.includes(
      `2026-11-15 ${String(hour).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`,
    );
  });
  expect({ failures: failures.length, missing }).toEqual({ failures: 50, missing: [] });
});

test("a wrong alert is corrected explicitly", () => {
  expect(words(TAKEN_BACK).sentences).toEqual([
    "Correction: the alert from 2026-11-15 06:00 Europe/Riga was wrong. The ping arrived in time, but we recorded it late. The job was not down.",
  ]);
  const both: FlipMessage = { ...UP, corrections: TAKEN_BACK.corrections };
  expect(words(both).sentences).toHaveLength(3);
});

test("a notice says that it is one, what was not watched, and when", () => {
  expect(words(NOTICE)).toMatchObject({
    tone: "notice",
    subject: "NOTICE | monitoring gap: Nightly <backup> of *db_1* and 11 more",
    headline: "Monitoring gap: Nightly <backup> of *db_1* and 11 more",
    sentences: [
      "Between 2026-11-15 02:58 and 2026-11-15 03:05 UTC, we could not receive pings, and no ping has arrived since.",
      "This is a notice, not an alert: the jobs may have run normally. Monitoring continues from now on.",
    ],
  });
  const one = { ...NOTICE, checks: [{ uuid: CHECK.uuid, name: "" }], checkCount: 1 };
  expect(words({ ...one, blind: { from: DOWN.since, to: null } })).toMatchObject({
    headline: "Monitoring gap: unnamed check",
    sentences: [
      expect.stringMatching(/^Since 2026-11-15 04:00 UTC, we have been unable/),
      expect.any(String),
    ],
    facts: [{ value: "Shop & Sons" }, { label: "Check", value: "unnamed check" }],
  });
});

test("a disabled channel and a health problem are reported with advice", () => {
  expect(words(DISABLED)).toMatchObject({
    tone: "notice",
    headline: 'The channel "#ops" (slack) was disabled',
    sentences: [expect.stringContaining("HTTP 404"), expect.any(String)],
  });
  expect(words(OPERATOR)).toMatchObject({
    tone: "bad",
    subject: "Overdue | Alerts for missing pings are delayed",
  });
  expect(words({ ...OPERATOR, isOver: true })).toMatchObject({ tone: "good" });
});

test("the other checks are counted, and named when they are few", () => {
  const others = (given: object, kind = "down") => words({ ...DOWN, kind, otherChecks: given }).others?.text;
  expect(others({ total: 1, downCount: 1, down: [] })).toBe("1 other check is down.");
  expect(others({ total: 14, downCount: 12, down: [] })).toBe("12 of the 14 other checks are down.");
  expect(others({ total: 14, downCount: 12, down: [] }, "up")).toBe("12 of the 14 other checks are down.");
  expect(words(DOWN).others?.down.map(({ text }) => text)).toEqual(["Invoices [weekly](x)", "unnamed check"]);
});

test("nothing reveals the UUID of a check", () => {
  for (const message of [
    DOWN,
    UP,
    NOTICE,
    { ...DOWN, check: { ...CHECK, settings: { ...CHECK.settings, name: "" } } },
  ]) {
    expect(JSON.stringify(words(message))).not.toContain(CHECK.uuid);
  }
});

test("times are in the zone that is asked for, whatever the kind of the check", () => {
  for (const check of [DOWN.check, SIMPLE_CHECK]) {
    expect(words({ ...DOWN, check }, "UTC").sentences[0]).toContain("04:00 UTC");
    expect(words({ ...DOWN, check }, "Europe/Berlin").sentences[0]).toContain("05:00 Europe/Berlin");
  }
});

test("an old message is old by its own time, so that a repetition says the same", () => {
  const { facts } = words({ ...DOWN, at: DOWN.at + DAY_MS });
  expect(facts.at(-1)?.value).toBe("Success, 2 days, 1 hour ago");
});

test("all times of a message are in one zone, whatever the zone of the check is", () => {
  const { sentences, history } = words(DOWN, "America/New_York");
  const text = [...sentences, ...history].join("\n");
  expect(text).toContain("2026-11-14 23:00 America/New_York");
  expect(text).not.toContain("Europe/Riga");
  expect(text).not.toContain("2026-11-15 0");
});
