// Incidents in their groups, and their times.
import { expect, test } from "vitest";
import type { IncidentRow } from "../../src/contract/api/incidents.ts";
import { actorName, incidentSentence, incidentsWords, incidentTitle } from "../words/incidents.ts";
import { groupsOf, timesText } from "./incidents.tsx";

const NOW = Date.UTC(2026, 9, 25, 12);
const HOUR_MS = 3_600_000;
const reader = { now: NOW, zone: "UTC" };

const row = (change: Partial<IncidentRow>): IncidentRow => ({
  number: 1,
  cause: "missed",
  checks: [{ id: "a", name: "nightly-backup" }],
  checkCount: 1,
  openCount: 1,
  key: null,
  state: "open",
  severity: "normal",
  openedAt: NOW - HOUR_MS,
  acknowledged: null,
  resolvedAt: null,
  reopenCount: 0,
  isFlapping: false,
  nextStep: null,
  tags: [],
  ...change,
});
const resolved = (number: number, resolvedAt: number) => row({ number, state: "resolved", resolvedAt });
const rows = [
  row({ number: 1 }),
  row({ number: 2, state: "acknowledged" }),
  resolved(3, NOW - HOUR_MS),
  resolved(4, NOW - 13 * HOUR_MS),
  resolved(5, NOW - 50 * HOUR_MS),
];

test("incidents are grouped by status, and resolved ones by day", () => {
  const shown = groupsOf(rows, reader, null).map(({ name, rows: some }) => [
    name,
    some.map(({ number }) => number),
  ]);
  expect(shown).toEqual([
    ["open", [1]],
    ["acknowledged", [2]],
    ["today", [3]],
    ["yesterday", [4]],
    ["earlier", [5]],
  ]);
  expect(groupsOf(rows, reader, "resolved").map(({ name }) => name)).toEqual([
    "today",
    "yesterday",
    "earlier",
  ]);
});

test.each<[Partial<IncidentRow>, string]>([
  [{}, "11:00 → now"],
  [{ state: "resolved", resolvedAt: NOW }, "11:00 → 12:00"],
  [
    { openedAt: NOW - 13 * HOUR_MS, state: "resolved", resolvedAt: NOW - 11 * HOUR_MS },
    "yesterday 23:00 → 01:00",
  ],
])("the times of an incident (%#)", (change, text) => {
  expect(timesText(row(change), reader)).toBe(text);
});

test.each<[Partial<IncidentRow>, string]>([
  [{}, "nightly-backup missed a run"],
  [{ cause: "failed" }, "nightly-backup failed"],
  [{ checks: [] }, "A deleted check missed a run"],
  [
    { checkCount: 12, key: { kind: "source", value: "10.0.4.13" } },
    "12 checks from 10.0.4.13 stopped reporting",
  ],
  [{ checkCount: 12, key: { kind: "tag", value: "db-3" } }, "12 checks tagged db-3 stopped reporting"],
  [{ checkCount: 2, key: { kind: "parent", value: "gateway" } }, "gateway and 1 dependent check"],
  [{ checkCount: 3 }, "3 checks stopped reporting"],
])("the title of an incident (%#)", (change, title) => {
  expect(incidentTitle(row(change))).toBe(title);
});

test("the title of the page says what needs attention", () => {
  expect(incidentsWords.title({ open: 1, acknowledged: 4 })).toBe("1 incident needs attention");
  expect(incidentsWords.title({ open: 0, acknowledged: 2 })).toBe("2 incidents in progress");
  expect(incidentsWords.title({ open: 0, acknowledged: 0 })).toBe("No open incidents");
});

test("the sentence says what has not recovered, and who was notified", () => {
  const facts = { opened: "today 11:00", lasted: "1 h", channelCount: 2 };
  expect(incidentSentence(row({ checkCount: 12, openCount: 3 }), facts).join(" ")).toBe(
    "Opened *today 11:00*. *3 of 12 checks* have not recovered. *2 channels* were notified.",
  );
  expect(incidentSentence(row({ state: "resolved" }), { ...facts, channelCount: 0 }).join(" ")).toBe(
    "Opened *today 11:00*. It lasted *1 h*. No notifications were sent.",
  );
});

test("who acknowledged it: an account, a link, or a key", () => {
  expect(actorName({ kind: "account", name: "Ada" })).toBe("Ada");
  expect(actorName({ kind: "channel", name: "#ops" })).toBe("#ops (link)");
  expect(actorName({ kind: "key", name: null })).toBe("an API key");
});
