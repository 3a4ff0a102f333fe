import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, SECOND_MS } from "./instant.ts";
import {
  afterDomainCheck,
  announce,
  type Announced,
  brandProblem,
  contrastOf,
  DEFAULT_BRAND,
  domainProblem,
  domainRecord,
  domainState,
  groupsProblem,
  incidentTimesProblem,
  isSubscriberToken,
  isUnlockCookie,
  maintenanceProblem,
  type PublicState,
  subscriberOfToken,
  subscriberToken,
  unlockCookie,
  webhookSecret,
} from "./status-page.ts";

const NOON = Date.UTC(2026, 10, 16, 12);

describe("colors", () => {
  test.each([
    ["#ffffff", "#000000", 21],
    ["#777777", "#777777", 1],
    ["#767676", "#ffffff", 4.54],
  ])("the contrast of %s and %s is %d", (one, other, contrast) => {
    expect(contrastOf(one, other)).toBeCloseTo(contrast, 2);
    expect(contrastOf(other, one)).toBeCloseTo(contrast, 2);
  });

  test("the defaults can be read", () => {
    expect(brandProblem(DEFAULT_BRAND)).toBeNull();
  });

  test.each(["background", "accent", "button"] as const)("text on %s must be readable", (token) => {
    expect(brandProblem({ ...DEFAULT_BRAND, [token]: "#767676" })).toBeNull();
    expect(brandProblem({ ...DEFAULT_BRAND, [token]: "#777777" })).toEqual({
      field: "brand",
      text: `Text on the color "${token}" has a contrast of 4.4 to 1. It needs 4.5 to 1.`,
    });
  });

  test("a dark text needs other colors, too", () => {
    expect(brandProblem({ ...DEFAULT_BRAND, ink: "#000000" })?.field).toBe("brand");
    const light = { background: "#ffffff", accent: "#eeeeee", button: "#ffffff", ink: "#000000" };
    expect(brandProblem(light)).toBeNull();
  });
});

describe("groups", () => {
  const entry = (id: string, name = "Invoices") => ({
    id,
    name,
    description: "",
    source: { kind: "tag", tag: "billing" } as const,
  });
  const ids = (count: number) => Array.from({ length: count }, (_, index) => entry(String(index)));

  test.each([
    [[{ name: "", entries: ids(100) }], null],
    [[{ name: "", entries: ids(101) }], "A page can have at most 100 entries."],
    [[{ name: "", entries: [entry("a", " ")] }], "Give each entry a public name."],
    [
      [
        { name: "A", entries: [entry("a")] },
        { name: "B", entries: [entry("a")] },
      ],
      "Two entries have the same ID.",
    ],
  ])("%#", (groups, text) => {
    expect(groupsProblem(groups)?.text ?? null).toBe(text);
  });
});

describe("domains", () => {
  const own = ["overdue.example.org"];

  test.each(["status.example.org", "a.b", "xn--bcher-kva.example", "1.2.3.example"])(
    "%s can be used",
    (domain) => {
      const isShort = domain === "a.b";
      expect(domainProblem(domain, own) === null).toBe(!isShort);
    },
  );

  test.each([
    "overdue.example.org",
    "localhost",
    "127.0.0.1",
    "10.1",
    "-a.example",
    "a-.example",
    "a..example",
    "a.example.",
  ])("%s cannot be used", (domain) => {
    expect(domainProblem(domain, own)?.field).toBe("domain");
  });

  test("the record has the token", () => {
    expect(domainRecord({ name: "status.example.org", token: "abc" })).toEqual({
      name: "_overdue.status.example.org",
      value: "overdue-status-page=abc",
    });
  });

  const check = (
    before: { provedAt: number | null; lostAt: number | null },
    answer: "found" | "missing" | "unknown",
  ) => afterDomainCheck(before, { answer, now: NOON });
  const soon = NOON + 300 * SECOND_MS;
  const tomorrow = NOON + DAY_MS;

  test.each([
    [
      "a new one is proved",
      { provedAt: null, lostAt: null },
      "found",
      { provedAt: NOON, lostAt: null, checkAt: tomorrow },
    ],
    [
      "a new one waits",
      { provedAt: null, lostAt: null },
      "missing",
      { provedAt: null, lostAt: NOON, checkAt: soon },
    ],
    [
      "a new one waits for DNS",
      { provedAt: null, lostAt: null },
      "unknown",
      { provedAt: null, lostAt: NOON, checkAt: soon },
    ],
    [
      "after a week it is checked on request",
      { provedAt: null, lostAt: NOON - 7 * DAY_MS },
      "missing",
      { provedAt: null, lostAt: NOON - 7 * DAY_MS, checkAt: null },
    ],
    [
      "a proved one stays",
      { provedAt: 5, lostAt: null },
      "found",
      { provedAt: 5, lostAt: null, checkAt: tomorrow },
    ],
    [
      "a record disappears",
      { provedAt: 5, lostAt: null },
      "missing",
      { provedAt: 5, lostAt: NOON, checkAt: soon },
    ],
    [
      "an outage of DNS says nothing",
      { provedAt: 5, lostAt: null },
      "unknown",
      { provedAt: 5, lostAt: null, checkAt: soon },
    ],
    [
      "it is served for three days",
      { provedAt: 5, lostAt: NOON - 3 * DAY_MS + 1 },
      "missing",
      { provedAt: 5, lostAt: NOON - 3 * DAY_MS + 1, checkAt: soon },
    ],
    [
      "and then no longer",
      { provedAt: 5, lostAt: NOON - 3 * DAY_MS },
      "missing",
      { provedAt: null, lostAt: NOON, checkAt: soon },
    ],
    [
      "not because DNS does not answer",
      { provedAt: 5, lostAt: NOON - 9 * DAY_MS },
      "unknown",
      { provedAt: 5, lostAt: NOON - 9 * DAY_MS, checkAt: soon },
    ],
    [
      "it is back",
      { provedAt: 5, lostAt: NOON - DAY_MS },
      "found",
      { provedAt: 5, lostAt: null, checkAt: tomorrow },
    ],
  ] as const)("%s", (_, before, answer, after) => {
    expect(check(before, answer)).toEqual(after);
  });

  test("states", () => {
    const domain = { name: "a.example", token: "t", checkedAt: null };
    expect(domainState({ ...domain, provedAt: null, lostAt: 1 })).toBe("unproved");
    expect(domainState({ ...domain, provedAt: 1, lostAt: null })).toBe("proved");
    expect(domainState({ ...domain, provedAt: 1, lostAt: 2 })).toBe("lost");
  });
});

test.each([
  [{ from: NOON, until: null }, "until"],
  [{ from: NOON, until: NOON + 59 * SECOND_MS }, "until"],
  [{ from: NOON, until: NOON + 60 * SECOND_MS }, null],
  [{ from: NOON, until: NOON + 30 * DAY_MS + 1 }, "until"],
  [{ from: NOON + 366 * DAY_MS, until: NOON + 366 * DAY_MS + HOUR_MS }, "from"],
])("maintenance %#", (times, field) => {
  expect(maintenanceProblem(times, NOON)?.field ?? null).toBe(field);
});

test.each([
  [{ from: NOON, until: null }, null],
  [{ from: NOON + 1, until: null }, "from"],
  [{ from: NOON - 2, until: NOON - 3 }, "until"],
  [{ from: NOON - 2, until: NOON + 1 }, "until"],
  [{ from: NOON - 2, until: NOON }, null],
])("incident %#", (times, field) => {
  expect(incidentTimesProblem(times, NOON)?.field ?? null).toBe(field);
});

describe("what subscribers are told", () => {
  /** Feeds states of one entry every 30 seconds, and returns what is announced. */
  function told(...states: PublicState[]): string[] {
    let known: Announced = {};
    return states.flatMap((state, index) => {
      const result = announce(known, [{ id: "a", state }], NOON + index * 30 * SECOND_MS);
      ({ known } = result);
      return result.news.map(({ from, to, at }) => `${from}>${to}@${(at - NOON) / SECOND_MS}`);
    });
  }

  test.each<[string, PublicState[], string[]]>([
    ["the first state is not news", ["down", "down", "down"], []],
    ["an outage is told after a minute", ["operational", "down", "down", "down"], ["operational>down@30"]],
    ["a short one is not", ["operational", "down", "down", "operational", "operational", "operational"], []],
    [
      "nor is a delay",
      ["operational", "delayed", "delayed", "delayed", "operational", "operational", "operational"],
      [],
    ],
    [
      "a delay after an outage is its end",
      ["down", "delayed", "delayed", "delayed"],
      ["down>operational@30"],
    ],
    ["nothing is told during maintenance", ["operational", "maintenance", "maintenance", "maintenance"], []],
    [
      "an outage that outlasts maintenance is told",
      ["operational", "maintenance", "down", "down", "down"],
      ["operational>down@60"],
    ],
    ["a pause is not told", ["operational", "unknown", "unknown", "unknown", "operational"], []],
  ])("%s", (_, states, news) => {
    expect(told(...states)).toEqual(news);
  });

  test("entries that are gone are forgotten", () => {
    const known: Announced = { a: { state: "down", next: null } };
    expect(announce(known, [], NOON)).toEqual({ known: {}, news: [] });
  });
});

describe("signed values", () => {
  const signing = {
    sign: (text: string) => `${text.length}-${text.replaceAll(/\W/g, "_")}`.slice(0, 90),
    previous: null,
    isSame: (one: string, other: string) => one === other,
  };
  const of = { uuid: "1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21", address: "a@example.org" };

  test("a link is for one purpose, subscriber and address", () => {
    const token = subscriberToken(signing, "statusConfirm", of);
    expect(subscriberOfToken(token)).toBe(of.uuid);
    expect(isSubscriberToken(token, { signing, purpose: "statusConfirm", of })).toBe(true);
    expect(isSubscriberToken(token, { signing, purpose: "statusUnsubscribe", of })).toBe(false);
    const other = { ...of, address: "b@example.org" };
    expect(isSubscriberToken(token, { signing, purpose: "statusConfirm", of: other })).toBe(false);
  });

  test.each([
    "",
    "x",
    `${of.uuid}.`,
    `${of.uuid}.short`,
    `${of.uuid}.${"a".repeat(101)}`,
    `x.${"a".repeat(43)}`,
  ])("%j is no token", (token) => {
    expect(subscriberOfToken(token)).toBeNull();
  });

  test("a cookie is for one page and password", () => {
    const page = { uuid: of.uuid, passwordHash: "one" };
    const cookie = unlockCookie(signing, page);
    expect(isUnlockCookie(cookie, { signing, page })).toBe(true);
    expect(isUnlockCookie(cookie, { signing, page: { ...page, passwordHash: "two" } })).toBe(false);
    expect(isUnlockCookie(cookie, { signing, page: { ...page, uuid: of.uuid.replace("1", "2") } })).toBe(
      false,
    );
    expect(webhookSecret(signing, of.uuid)).not.toBe(cookie);
  });
});
