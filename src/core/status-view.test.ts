import { describe, expect, test } from "vitest";
import type { StatusChange } from "./downtime.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { NEW_STATE, type StoredStatus, type Timing } from "./state.ts";
import { DEFAULT_BRAND, type StatusEntry } from "./status-page.ts";
import {
  checksOf,
  combinedState,
  type PageCheck,
  type PagePost,
  statusView,
  stripOf,
  stripPeriods,
  type ViewFacts,
  worstState,
} from "./status-view.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const MIDNIGHT = Date.UTC(2026, 10, 16);

const TIMING: Timing = {
  kind: "simple",
  timeoutSeconds: 3_600,
  graceSeconds: 600,
  schedule: "",
  tz: "UTC",
  manualResume: false,
  rules: null,
};

const check = (
  id: number,
  status: StoredStatus,
  { lastPingAt = NOON - MINUTE_MS, tags = "" }: { lastPingAt?: number; tags?: string } = {},
): PageCheck => ({
  id,
  tags,
  createdAt: MIDNIGHT - 200 * DAY_MS,
  timing: TIMING,
  state: { ...NEW_STATE, status, lastPingAt },
});

const change = (at: number, from: StoredStatus, to: StoredStatus, isRetracted = false): StatusChange => ({
  at,
  from,
  to,
  isRetracted,
});

test("an entry has one check, or all with a whole tag", () => {
  const checks = [check(1, "up", { tags: "db prod" }), check(2, "up", { tags: "dbs" }), check(3, "up")];
  const ids = (source: StatusEntry["source"]) => checksOf({ source }, checks).map(({ id }) => id);
  expect(ids({ kind: "check", checkId: 3 })).toEqual([3]);
  expect(ids({ kind: "tag", tag: "db" })).toEqual([1]);
  expect(ids({ kind: "tag", tag: "d" })).toEqual([]);
});

describe("states", () => {
  const late = { lastPingAt: NOON - HOUR_MS - MINUTE_MS };

  test.each([
    ["no check", [], "unknown"],
    ["new and paused", [check(1, "new"), check(2, "paused")], "unknown"],
    ["up", [check(1, "up"), check(2, "paused")], "operational"],
    ["late", [check(1, "up"), check(2, "up", late)], "delayed"],
    ["down", [check(1, "up", late), check(2, "down"), check(3, "up")], "down"],
  ] as const)("%s", (_, checks, state) => {
    expect(combinedState(checks, NOON).state).toBe(state);
  });

  test.each([
    [[], "unknown"],
    [["unknown", "operational"], "operational"],
    [["maintenance", "operational"], "maintenance"],
    [["maintenance", "delayed"], "delayed"],
    [["delayed", "down"], "down"],
  ] as const)("the worst of %j is %s", (states, worst) => {
    expect(worstState(states)).toBe(worst);
  });
});

describe("strips", () => {
  const strip = (
    checks: readonly PageCheck[],
    changes: Readonly<Record<number, StatusChange[]>>,
    given: { isCut?: boolean; blind?: { from: number; to: number | null }[] } = {},
  ) => {
    const history = new Map(
      checks.map(({ id }) => [id, { changes: changes[id] ?? [], isCut: given.isCut ?? false }]),
    );
    return stripOf(checks, { zone: "UTC", history, blind: given.blind ?? [], now: NOON });
  };
  const last = (shown: ReturnType<typeof strip>, back: number) => shown.days.at(-1 - back);

  test("has ninety days of the zone, and today is the last one", () => {
    const periods = stripPeriods(NOON, "Europe/Riga");
    expect([periods.length, periods[0]?.day, periods.at(-1)?.day]).toEqual([90, "2026-08-19", "2026-11-16"]);
    expect(periods.at(-1)?.period.from).toBe(MIDNIGHT - 2 * HOUR_MS);
    // The clocks went back in October.
    const { from = 0, to = 0 } = periods.find(({ day }) => day === "2026-10-25")?.period ?? {};
    expect(to - from).toBe(25 * HOUR_MS);
  });

  test("without changes every day is good", () => {
    const shown = strip([check(1, "up")], {});
    expect(new Set(shown.days.map(({ state }) => state))).toEqual(new Set(["up"]));
    expect([shown.uptime, shown.measuredSince]).toEqual([1, null]);
  });

  test("an outage over midnight counts in both days", () => {
    const from = MIDNIGHT - 30 * MINUTE_MS;
    const shown = strip([check(1, "up")], {
      1: [change(from, "up", "down"), change(MIDNIGHT + 2 * HOUR_MS, "down", "up")],
    });
    expect(last(shown, 1)).toEqual({
      day: "2026-11-15",
      state: "brief",
      downMs: 30 * MINUTE_MS,
      share: 1 - 0.5 / 24,
    });
    expect(last(shown, 0)).toEqual({
      day: "2026-11-16",
      state: "down",
      downMs: 2 * HOUR_MS,
      share: 1 - 2 / 12,
    });
    expect(last(shown, 2)?.state).toBe("up");
    const measuredMs = NOON - (MIDNIGHT - 89 * DAY_MS);
    expect(shown.uptime).toBeCloseTo(1 - (2.5 * HOUR_MS) / measuredMs, 10);
  });

  test("checks that are down at the same time count once", () => {
    const outage = [change(MIDNIGHT, "up", "down"), change(MIDNIGHT + HOUR_MS, "down", "up")];
    const shown = strip([check(1, "up"), check(2, "up")], { 1: outage, 2: outage });
    expect(last(shown, 0)?.downMs).toBe(HOUR_MS);
  });

  test("a flip that was taken back does not count", () => {
    const shown = strip([check(1, "up")], { 1: [change(MIDNIGHT, "up", "down", true)] });
    expect(last(shown, 0)?.state).toBe("up");
  });

  test("it begins with the first status", () => {
    const at = MIDNIGHT - 10 * DAY_MS + HOUR_MS;
    const shown = strip([check(1, "up")], { 1: [change(at, "new", "up")] });
    expect(shown.measuredSince).toBe("2026-11-06");
    expect(shown.days.filter(({ state }) => state === "none")).toHaveLength(79);
    expect(last(shown, 10)).toMatchObject({ state: "up", share: 1 });
  });

  test("a check without a status has no strip, and one that is new today no uptime", () => {
    const nothing = strip([check(1, "new")], {});
    expect(nothing).toMatchObject({ uptime: null, measuredSince: null });
    expect(nothing.days.every(({ state, share }) => state === "none" && share === null)).toBe(true);
    expect(strip([check(1, "up")], { 1: [change(NOON - HOUR_MS, "new", "up")] }).uptime).toBeNull();
    expect(strip([], {}).uptime).toBeNull();
  });

  test("days before the first change that was read are not measured", () => {
    const shown = strip([check(1, "up")], { 1: [change(MIDNIGHT, "down", "up")] }, { isCut: true });
    expect([last(shown, 0)?.state, last(shown, 1)?.state]).toEqual(["up", "none"]);
  });

  test("a day that nobody measured is empty", () => {
    const blind = [{ from: MIDNIGHT - DAY_MS, to: MIDNIGHT }];
    const shown = strip([check(1, "up")], {}, { blind });
    expect([last(shown, 0)?.state, last(shown, 1)?.state, last(shown, 2)?.state]).toEqual([
      "up",
      "none",
      "up",
    ]);
  });
});

describe("views", () => {
  const post = (given: Partial<PagePost>): PagePost => ({
    id: "1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21",
    kind: "incident",
    title: "Late invoices",
    from: NOON - HOUR_MS,
    until: null,
    entries: ["aa"],
    notes: [],
    updatedAt: NOON,
    ...given,
  });
  const facts = (given: Partial<ViewFacts> = {}): ViewFacts => ({
    page: {
      slug: "nordlight",
      title: "Nordlight",
      description: "",
      brand: DEFAULT_BRAND,
      logo: null,
      domain: { name: "status.example.org", token: "secret", provedAt: null, checkedAt: null, lostAt: null },
      groups: [
        {
          name: "Billing",
          entries: [
            { id: "aa", name: "Invoices", description: "", source: { kind: "check", checkId: 7_654_321 } },
            { id: "bb", name: "Payouts", description: "", source: { kind: "tag", tag: "secret-tag" } },
          ],
        },
      ],
    },
    zone: "UTC",
    checks: [check(7_654_321, "down"), check(2, "up", { tags: "secret-tag" })],
    history: new Map(),
    blind: [],
    posts: [],
    now: NOON,
    ...given,
  });

  test("has public names only", () => {
    const view = statusView(facts());
    expect(view.groups[0]?.entries.map(({ name, state }) => [name, state])).toEqual([
      ["Invoices", "down"],
      ["Payouts", "operational"],
    ]);
    expect([view.state, view.groups[0]?.state, view.domain]).toEqual(["down", "down", null]);
    const text = JSON.stringify(view);
    for (const secret of ["secret", "7654321", '"aa"', "status.example.org"])
      expect(text).not.toContain(secret);
  });

  test("entries under maintenance say so, while it lasts", () => {
    const times = { kind: "maintenance", from: NOON - 1, until: NOON + HOUR_MS } as const;
    const during = statusView(facts({ posts: [post(times)] }));
    expect([during.state, during.groups[0]?.entries[0]?.state]).toEqual(["maintenance", "maintenance"]);
    expect(during.maintenance[0]?.entries).toEqual(["Invoices"]);
    const after = statusView(facts({ posts: [post({ ...times, until: NOON })] }));
    expect([after.state, after.maintenance.length, after.pastMaintenance.length]).toEqual(["down", 0, 1]);
  });

  test("incidents are open until they are resolved", () => {
    const view = statusView(
      facts({ posts: [post({ title: "one" }), post({ title: "two", from: NOON - 2, until: NOON - 1 })] }),
    );
    expect(view.openIncidents.map(({ title }) => title)).toEqual(["one"]);
    expect(view.pastIncidents.map(({ title }) => title)).toEqual(["two"]);
  });

  test("a view is refreshed when the clock may change it", () => {
    const refreshAfter = (given: Partial<ViewFacts>) =>
      (statusView(facts(given)).refreshAt - NOON) / SECOND_MS;
    const quiet = [check(2, "up", { tags: "secret-tag" })];
    expect(refreshAfter({ checks: quiet })).toBe(60);
    const soon = check(2, "up", { tags: "secret-tag", lastPingAt: NOON - HOUR_MS + 20 * SECOND_MS });
    expect(refreshAfter({ checks: [soon] })).toBe(20);
    const late = check(2, "up", { tags: "secret-tag", lastPingAt: NOON - HOUR_MS - 20 * SECOND_MS });
    expect(refreshAfter({ checks: [late] })).toBe(5);
    const planned = post({ kind: "maintenance", from: NOON + 7 * SECOND_MS, until: NOON + HOUR_MS });
    expect(refreshAfter({ checks: quiet, posts: [planned] })).toBe(7);
  });
});
