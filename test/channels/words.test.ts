// The words of messages: what was expected, what came, since when; and that they do not depend on when they are sent.
import { describe, expect, test } from "vitest";
import type { ChannelMessage } from "../../src/channels/channel-kind.ts";
import { listLines, type MessageText, messageText } from "../../src/channels/message-text.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { type FlipMessage, type GroupMessage, NO_POLICY } from "../../src/core/message.ts";
import { DEFAULT_RULES } from "../../src/core/rules.ts";
import { SITE } from "./sample-kinds.ts";
import {
  ACK_URL,
  CHECK,
  DISABLED,
  LIMIT,
  DOWN,
  EXTREME,
  FAILED,
  GROUP_DOWN,
  GROUP_UP,
  GROUP_UPDATE,
  MERGED,
  NOTICE,
  OPERATOR,
  OVERRUN,
  RELEASED,
  REPEAT,
  SIMPLE_CHECK,
  TAKEN_BACK,
  TOLERATED,
  TOO_FAST,
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

test("a monthly limit is reported with when it resets", () => {
  expect(words(LIMIT)).toMatchObject({
    tone: "notice",
    headline: 'The channel "On call" (sms) has reached its monthly limit',
    sentences: [
      "The account has reached its limit of 500 text and WhatsApp messages per month, which resets on 2026-12-01 00:00 UTC.",
      "No messages are sent to this channel until then.",
    ],
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

describe("the alert policy", () => {
  const added = (policy: Partial<FlipMessage>, message: FlipMessage = DOWN) =>
    words({ ...message, ...policy }).sentences.slice(words(message).sentences.length);

  test("reminds that a check is still down, and since when", () => {
    expect(words(REPEAT)).toMatchObject({
      tone: "bad",
      subject: "STILL DOWN | Nightly <backup> of *db_1*",
      headline: "Nightly <backup> of *db_1* is still DOWN",
      history: [],
    });
    expect(words(REPEAT).sentences.slice(-2)).toEqual([
      "It has been down for 3 hours.",
      "39 dependent checks are down too.",
    ]);
  });

  test("names what was tolerated", () => {
    expect(words(TOLERATED).sentences.at(-1)).toBe("Notified after 3 failed runs in a row.");
    expect(added({ tolerance: { kind: "failures", count: 3, of: 5 } })).toEqual([
      "Notified after 3 of the last 5 runs failed.",
    ]);
    expect(added({ tolerance: { kind: "missed", count: 2 } })).toEqual([
      "Notified after 2 missed runs in a row.",
    ]);
  });

  test("names what held the notification", () => {
    expect(added({ releasedFrom: { kind: "silence", reason: "DB upgrade" } })).toEqual([
      'This notification was held by the silence "DB upgrade".',
    ]);
    expect(added({ releasedFrom: { kind: "silence", reason: " \n" } })).toEqual([
      "This notification was held by a silence.",
    ]);
    expect(added({ releasedFrom: { kind: "dependency", name: "Database" } })).toEqual([
      'This notification was held because the check depends on "Database".',
    ]);
  });

  test("says nothing about tolerance, silences and dependents when the check is up", () => {
    const { tolerance, releasedFrom, dependentCount } = RELEASED;
    expect(added({ tolerance, releasedFrom, dependentCount }, UP)).toEqual([]);
  });

  test("names a severity that is not normal", () => {
    const severity = (message: FlipMessage) => words(message).facts.find(({ label }) => label === "Severity");
    expect(severity(DOWN)).toBeUndefined();
    expect(severity(TOLERATED)?.value).toBe("Low");
    expect(severity(RELEASED)?.value).toBe("High");
  });

  test("offers to acknowledge problems only", () => {
    const { incident } = REPEAT;
    expect(words({ ...DOWN, incident }).ack).toEqual({ text: "Acknowledge", url: ACK_URL });
    expect(words({ ...UP, incident }).ack).toBeNull();
    expect(words({ ...DOWN, incident: { number: 42, ackUrl: null } }).ack).toBeNull();
    expect(words(GROUP_DOWN).ack?.url).toBe(ACK_URL);
    expect(words(GROUP_UP).ack).toBeNull();
  });

  test("explains a run that broke a rule", () => {
    const rules = { ...DEFAULT_RULES, minRunSeconds: 300, minGapSeconds: 90 };
    expect(words(TOO_FAST).sentences).toEqual([
      "Down since 2026-11-15 06:00 Europe/Riga: the run took only 2 min 3 sec, but the minimum is 5 minutes.",
    ]);
    expect(words({ ...TOO_FAST, rules: null, lastPing: null }).sentences).toEqual([
      "Down since 2026-11-15 06:00 Europe/Riga: the run was too short.",
    ]);
    expect(words({ ...TOO_FAST, reason: "tooOften", rules }).sentences).toEqual([
      "Down since 2026-11-15 06:00 Europe/Riga: the run started less than 1 minute, 30 seconds after the previous one.",
    ]);
    expect(words({ ...TOO_FAST, reason: "tooOften", rules: null }).sentences).toEqual([
      "Down since 2026-11-15 06:00 Europe/Riga: the run started too soon after the previous one.",
    ]);
  });

  test("explains a run that took longer than it may", () => {
    const rules = { ...DEFAULT_RULES, maxRunSeconds: 6 * 3_600 };
    const state = { ...OVERRUN.check.state, lastStartAt: OVERRUN.since - 6 * HOUR_MS };
    const check = { ...OVERRUN.check, state };
    expect(words({ ...OVERRUN, check, rules, cause: "overrun" }).sentences).toEqual([
      "Down since 2026-11-15 04:00 UTC: the run that started at 2026-11-14 22:00 has not finished.",
      "A run may take at most 6 hours.",
    ]);
    const ended = { ...check, state: { ...state, silence: null, lastStartAt: null } };
    expect(words({ ...OVERRUN, check: ended, rules, cause: "overrun" }).sentences[0]).toBe(
      "Down since 2026-11-15 04:00 UTC: the run did not finish in time.",
    );
    expect(words({ ...OVERRUN, rules: DEFAULT_RULES, cause: "overrun" })).toEqual(words(OVERRUN));
  });

  test("explains a run that did not start in time", () => {
    const rules = { ...DEFAULT_RULES, startWithinSeconds: 600 };
    expect(words({ ...DOWN, rules, cause: "missed" }).sentences.slice(0, 2)).toEqual([
      "Down since 2026-11-15 06:00 Europe/Riga: no ping arrived in time.",
      "A run was expected at 2026-11-15 05:50 and had to start within 10 minutes.",
    ]);
  });

  test("adds nothing if it is empty, whatever the cause", () => {
    for (const message of [DOWN, UP, FAILED, OVERRUN, MERGED, TAKEN_BACK]) {
      const incident = { number: 42, ackUrl: null };
      expect(words({ ...message, incident, cause: "overrun" })).toEqual(words({ ...message, ...NO_POLICY }));
    }
  });
});

describe("several checks of an incident", () => {
  const group = (given: Partial<GroupMessage>) => words({ ...GROUP_DOWN, ...given });

  test("are counted and named, with what they have in common", () => {
    const { subject, headline, sentences, lists, facts } = words(GROUP_DOWN);
    expect({ subject, headline, sentences }).toEqual({
      subject: "DOWN | 25 checks last pinged from 192.0.2.7",
      headline: "25 checks last pinged from 192.0.2.7 are DOWN",
      sentences: ["The first check went down at 2026-11-15 04:00 UTC.", "No pings arrived in time."],
    });
    expect(lists).toMatchObject([{ title: "Down", count: 25 }]);
    expect(lists[0]?.checks).toHaveLength(20);
    expect(facts).toMatchObject([{ value: "Shop & Sons" }, { label: "Incident", value: "#42" }]);
  });

  test.each([
    ["tag", "db", '25 checks with the tag "db" are DOWN'],
    ["project", "Shop", "25 checks in Shop are DOWN"],
    ["parent", "Database", '25 checks that depend on "Database" are DOWN'],
  ] as const)("have a %s in common", (kind, value, headline) => {
    expect(group({ key: { kind, value } }).headline).toBe(headline);
  });

  test("were held because of the check that they depend on", () => {
    expect(group({ key: { kind: "parent", value: "Database" }, cause: null }).sentences).toEqual([
      "The first check went down at 2026-11-15 04:00 UTC.",
      'This notification was held because the checks depend on "Database".',
    ]);
  });

  test("are one check", () => {
    const one = { opened: [{ uuid: CHECK.uuid, name: "backup" }], openedCount: 1, downCount: 1 };
    expect(group(one)).toMatchObject({
      subject: "DOWN | backup",
      headline: "backup is DOWN",
      sentences: ["Down since 2026-11-15 04:00 UTC: no ping arrived in time."],
    });
  });

  test("change: how many went down and recovered, and how many are down", () => {
    expect(words(GROUP_UPDATE)).toMatchObject({
      tone: "bad",
      subject: 'UPDATE | checks with the tag "db_<1>": 2 more DOWN, 1 UP',
      headline: 'Checks with the tag "db_<1>": 2 more DOWN, 1 UP',
      sentences: [
        "26 checks in this incident are down.",
        "The first check went down at 2026-11-15 04:00 UTC.",
      ],
      lists: [
        { title: "Down", count: 2 },
        { title: "Up", count: 1 },
      ],
    });
    const recovered = words({ ...GROUP_UPDATE, opened: [], openedCount: 0, downCount: 1 });
    expect(recovered.headline).toBe('Checks with the tag "db_<1>": 1 UP');
    expect(recovered.sentences[0]).toBe("1 check in this incident is down.");
  });

  test("did not change: a reminder", () => {
    expect(group({ state: "update", opened: [], openedCount: 0 })).toMatchObject({
      subject: "STILL DOWN | 25 checks last pinged from 192.0.2.7",
      headline: "25 checks last pinged from 192.0.2.7 are still DOWN",
      lists: [],
    });
  });

  test("are all up", () => {
    expect(words(GROUP_UP)).toMatchObject({
      tone: "good",
      subject: 'UP | 4 checks that depend on "Database *main*"',
      headline: '4 checks that depend on "Database *main*" are UP',
      sentences: ["All checks in this incident are up."],
    });
  });
});

test("a list has as many names as fit, and counts the others", () => {
  const checks = ["one", "two", "three"].map((text) => ({ text, url: "" }));
  const lines = (lengthMax: number, count = 3) =>
    listLines({ title: "Down", checks, count }, { bullet: "- ", name: ({ text }) => text, lengthMax });
  expect(lines(100)).toEqual(["Down:", "- one", "- two", "- three"]);
  expect(lines(100, 7)).toEqual(["Down:", "- one", "- two", "- three", "- and 4 more"]);
  expect(lines(12, 7)).toEqual(["Down:", "- one", "- two", "- and 5 more"]);
  expect(lines(0)).toEqual(["Down:", "- and 3 more"]);
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
    { ...GROUP_DOWN, opened: [{ uuid: CHECK.uuid, name: "" }] },
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
