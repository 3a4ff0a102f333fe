// The timeline of an incident: what happened together is one entry, and recoveries are told from problems.
import { describe, expect, test } from "vitest";
import type { Incident, IncidentAlert, IncidentDelivery } from "../../src/contract/api/incidents.ts";
import { notifiedChannels, storyOf } from "./incident-story.ts";

const AT = 1_794_735_000_000;
const MINUTE_MS = 60_000;
const ADA = { kind: "account", name: "Ada" } as const;

const alert = (id: number, change: Partial<IncidentAlert> = {}): IncidentAlert => ({
  id,
  check: { id: `check ${id}`, name: `job ${id}` },
  cause: "missed",
  openedAt: AT,
  closedAt: null,
  closeCause: null,
  rule: null,
  ...change,
});

const delivery = (id: number, change: Partial<IncidentDelivery> = {}): IncidentDelivery => ({
  id,
  channel: { id: `channel ${id}`, kind: "ntfy", name: `Phone ${id}` },
  isInOtherProject: false,
  state: "sent",
  attempts: 1,
  createdAt: AT + 1_000,
  attemptedAt: AT + 1_000,
  nextAttemptAt: null,
  settledAt: AT + 1_400,
  responseCode: 200,
  reason: null,
  kind: "flip",
  check: { id: "check 1", name: "job 1" },
  ...change,
});

const incident = (change: Partial<Incident>): Incident => ({
  number: 7,
  cause: "missed",
  checks: [],
  checkCount: 1,
  openCount: 1,
  key: null,
  state: "open",
  severity: "normal",
  openedAt: AT,
  acknowledged: null,
  resolvedAt: null,
  reopenCount: 0,
  isFlapping: false,
  nextStep: null,
  tags: [],
  alerts: [],
  deliveries: [],
  events: [],
  notes: [],
  ...change,
});

const titles = (change: Partial<Incident>) => storyOf(incident(change)).map(({ title }) => title);

describe("Alerts", () => {
  test("of the same cause within a minute are one entry with the names", () => {
    const alerts = [
      alert(1),
      alert(2, { openedAt: AT + 30_000 }),
      alert(3, { openedAt: AT + 3 * MINUTE_MS }),
    ];
    const story = storyOf(incident({ alerts }));
    expect(story.map(({ title, text }) => [title, text])).toEqual([
      ["2 checks missed their deadlines", "job 1 and job 2"],
      ["job 3 missed its deadline", null],
    ]);
  });

  test("of another cause are told separately", () => {
    expect(titles({ alerts: [alert(1), alert(2, { cause: "failed" })] })).toEqual([
      "job 1 missed its deadline",
      "job 2 reported a failure",
    ]);
  });

  test("say how they ended, and which rule held them", () => {
    const closed = { closedAt: AT + MINUTE_MS, closeCause: "recovered" } as const;
    const story = storyOf(incident({ alerts: [alert(1, { ...closed, rule: "silence DB upgrade" })] }));
    expect(story.map(({ title, text, mark }) => [title, text, mark])).toEqual([
      ["job 1 missed its deadline", "No notification: silence DB upgrade", "down"],
      ["job 1 recovered", null, "up"],
    ]);
  });

  test("of a deleted check have no name", () => {
    expect(titles({ alerts: [alert(1, { check: null })] })).toEqual(["A deleted check missed its deadline"]);
  });
});

describe("Notifications", () => {
  test("that were sent together are one entry, with the time each took", () => {
    const [, sent] = storyOf(
      incident({ alerts: [alert(1)], deliveries: [delivery(1), delivery(2, { settledAt: AT + 3_000 })] }),
    );
    expect(sent).toMatchObject({ title: "Notified 2 channels", text: "Last delivery after 2 s" });
    expect(sent?.hops.map(({ tookMs }) => tookMs)).toEqual([400, 2_000]);
  });

  test("after the end of the alert are recoveries", () => {
    const closed = { closedAt: AT + 5 * MINUTE_MS, closeCause: "recovered" } as const;
    const later = { createdAt: AT + 5 * MINUTE_MS + 500, settledAt: AT + 6 * MINUTE_MS };
    expect(titles({ alerts: [alert(1, closed)], deliveries: [delivery(1), delivery(2, later)] })).toEqual([
      "job 1 missed its deadline",
      "Notified 1 channel",
      "job 1 recovered",
      "Notified 1 channel of the recovery",
    ]);
  });

  test("are about the newest alert of their check", () => {
    const alerts = [
      alert(1, { closedAt: AT + MINUTE_MS, closeCause: "recovered" }),
      alert(2, { check: alert(1).check, openedAt: AT + 9 * MINUTE_MS }),
    ];
    const again = delivery(1, { createdAt: AT + 9 * MINUTE_MS + 500 });
    expect(titles({ alerts, deliveries: [again] }).at(-1)).toBe("Notified 1 channel");
  });

  test("that were canceled are not told, reminders and failures are", () => {
    const deliveries = [
      delivery(1, { state: "withdrawn" }),
      delivery(2, { kind: "repeat", createdAt: AT + 60 * MINUTE_MS, state: "dead", settledAt: AT }),
    ];
    const story = storyOf(incident({ alerts: [alert(1)], deliveries }));
    expect(story.map(({ title }) => title)).toEqual([
      "job 1 missed its deadline",
      "Sent a reminder to 1 channel",
    ]);
    expect(story.at(-1)?.hops.map(({ tookMs }) => tookMs)).toEqual([null]);
    expect(notifiedChannels(incident({ deliveries }))).toBe(0);
  });
});

test("events and notes are in order, and the line shows who is on it", () => {
  const story = storyOf(
    incident({
      alerts: [alert(1)],
      events: [
        { id: 2, at: AT + 4 * MINUTE_MS, kind: "acknowledged", by: ADA },
        { id: 3, at: AT + 9 * MINUTE_MS, kind: "resolved", by: null },
      ],
      notes: [{ id: 4, at: AT + 5 * MINUTE_MS, by: ADA, text: "The disk is full." }],
    }),
  );
  expect(story.map(({ title, text, line }) => [title, text, line])).toEqual([
    ["job 1 missed its deadline", null, "open"],
    ["Acknowledged", "by Ada", "handled"],
    ["Ada added a note", "The disk is full.", "handled"],
    ["Resolved", null, "over"],
  ]);
});
