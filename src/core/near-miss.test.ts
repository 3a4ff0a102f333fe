// What requests that reached no check were meant for, how they are counted, and which are kept.
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { NEAR_MISS_ARRIVALS_MAX } from "./limits.ts";
import {
  addSighting,
  canonicalUuid,
  editDistance,
  guessSchedule,
  isUuidLike,
  judgeSlug,
  judgeUuid,
  type Manner,
  nearestSlug,
  type Ranked,
  readAttempt,
  reopensBefore,
  SPARK_BAR_MS,
  SPARK_BARS,
  sparkUntil,
  type Tally,
  toEvict,
  uuidDistance,
  uuidPieces,
} from "./near-miss.ts";

const UUID = "1a9f61d7-0c1b-4f0e-9d3a-5b7c8e2f4a60";
const KEY = "abcdefghijklmnopqrstuv";
const GOOD: Manner = { isMethodAllowed: true, isInsecure: false };
const NOW = Date.UTC(2026, 10, 16, 12);

describe("a path", () => {
  test.each([
    [UUID, { by: "uuid", text: UUID, suffix: null, action: null }],
    [`${UUID}/`, { by: "uuid", text: UUID, suffix: null, action: null }],
    [`${UUID}/start`, { by: "uuid", text: UUID, suffix: null, action: "start" }],
    [`${UUID}/255`, { by: "uuid", text: UUID, suffix: null, action: "255" }],
    [`${UUID}/256`, { by: "uuid", text: UUID, suffix: "256", action: null }],
    [`${UUID}/stat`, { by: "uuid", text: UUID, suffix: "stat", action: null }],
    [`${UUID}/start/`, { by: "uuid", text: UUID, suffix: null, action: "start" }],
    [`${UUID}/start/2`, { by: "uuid", text: UUID, suffix: "start/2", action: null }],
    [UUID.toUpperCase(), { by: "uuid", text: UUID.toUpperCase(), suffix: null, action: null }],
    [UUID.replaceAll("-", ""), { by: "uuid", text: UUID.replaceAll("-", ""), suffix: null, action: null }],
    [`{${UUID}}`, { by: "uuid", text: `{${UUID}}`, suffix: null, action: null }],
    [UUID.slice(0, 20), { by: "uuid", text: UUID.slice(0, 20), suffix: null, action: null }],
    [`${UUID.slice(0, 35)}/fail`, { by: "uuid", text: UUID.slice(0, 35), suffix: null, action: "fail" }],
    [`${KEY}/backup`, { by: "slug", pingKey: KEY, slug: "backup", suffix: null, action: null }],
    [`${KEY}/Backup/log`, { by: "slug", pingKey: KEY, slug: "Backup", suffix: null, action: "log" }],
    [`${KEY}/backup/done`, { by: "slug", pingKey: KEY, slug: "backup", suffix: "done", action: null }],
    ["0123456789abcdef012345/backup", expect.objectContaining({ by: "slug", slug: "backup" })],
    ["", null],
    ["favicon.ico", null],
    [KEY, null],
    ["1a9f61d7", null],
    [`${KEY}/<script>`, null],
    [`${UUID}/<script>`, null],
    [`${"x".repeat(101)}/backup`, null],
    [`${KEY}/${"x".repeat(101)}`, null],
    [`${UUID}/${"x".repeat(41)}`, null],
  ])("%s names %j", (path, attempt) => {
    expect(readAttempt(path.split("/"))).toEqual(attempt);
  });

  test.each([
    ["z".repeat(32), false],
    ["o".repeat(3) + "1".repeat(29), true],
    ["1".repeat(37), false],
    [`${UUID}${"-".repeat(20)}`, false],
  ])("%s is like a UUID: %s", (text, isLike) => {
    expect(isUuidLike(text)).toBe(isLike);
  });
});

describe("similarity", () => {
  test.each([
    ["", "", 0],
    ["abc", "abc", 0],
    ["abc", "acb", 1],
    ["nigthly", "nightly", 1],
    ["kitten", "sitting", 3],
    ["", "abc", 3],
  ])("from %j to %j are %i edits", (from, to, edits) => {
    expect(editDistance(from, to)).toBe(edits);
    expect(editDistance(to, from)).toBe(edits);
  });

  const changed = (...changes: [number, string][]) => {
    const digits = UUID.split("");
    for (const [at, digit] of changes) digits[at] = digit;
    return digits.join("");
  };

  test.each([
    ["one digit", changed([0, "2"]), 1],
    ["three digits", changed([0, "2"], [10, "f"], [30, "0"]), 3],
    ["four digits", changed([0, "2"], [10, "f"], [20, "0"], [30, "0"]), null],
    ["two digits swapped", changed([0, "a"], [1, "1"]), 1],
    ["a letter that is no digit", changed([3, "o"]), 1],
    ["upper case", UUID.toUpperCase(), 0],
    ["no hyphens", UUID.replaceAll("-", ""), 0],
    ["a digit missing", UUID.slice(0, 5) + UUID.slice(6), 1],
    ["the end missing", UUID.slice(0, 18), 1],
    ["the beginning missing", UUID.slice(9), 1],
    ["a short beginning and one wrong digit", `2${UUID.slice(1, 18)}`, null],
  ])("a UUID with %s", (_, text, distance) => {
    expect(uuidDistance(text, UUID)).toBe(distance);
  });

  test("up to three edits at any place leave a piece by which the UUID is found", () => {
    const pieces = new Set(uuidPieces(UUID));
    const places = UUID.split("").flatMap((digit, at) => (digit === "-" ? [] : [at]));
    let tried = 0;
    for (const one of places) {
      for (const two of places.filter((at) => at > one)) {
        for (const three of places.filter((at) => at > two && (at + one + two) % 5 === 0)) {
          const text = changed([one, "x"], [two, "x"], [three, "x"]);
          if (!uuidPieces(text).some((piece) => pieces.has(piece))) throw new Error(text);
          tried += 1;
        }
      }
    }
    expect(tried).toBeGreaterThan(900);
    for (let at = 0; at < UUID.length; at += 1) {
      const cut = UUID.slice(0, at) + UUID.slice(at + 1);
      const doubled = UUID.slice(0, at) + (UUID[at] ?? "") + UUID.slice(at);
      for (const text of [cut, doubled])
        expect(uuidPieces(text).some((piece) => pieces.has(piece))).toBe(true);
    }
  });

  test.each([
    [UUID, UUID],
    [UUID.toUpperCase(), UUID],
    [`{${UUID.replaceAll("-", "")}}`, UUID],
    [UUID.slice(1), null],
    [changed([0, "g"]), null],
  ])("%s stands for %s", (text, uuid) => {
    expect(canonicalUuid(text)).toBe(uuid);
  });

  const slugs = ["nightly-backup", "nightly-report", "a", "db_dump"].map((slug, id) => ({ id, slug }));
  test.each([
    ["nigthly-backup", "nightly-backup"],
    ["nightly-bakcup", "nightly-backup"],
    ["Nightly-Backup", "nightly-backup"],
    ["nightly_backup", "nightly-backup"],
    ["nightlybackup", "nightly-backup"],
    ["db-dump", "db_dump"],
    ["warehouse-compact", null],
    ["abc", null],
  ])("the slug %s means %s", (given, meant) => {
    expect(nearestSlug(given, slugs)?.slug ?? null).toBe(meant);
  });

  test("a slug as near to two others means neither", () => {
    const both = ["backup-1", "backup-2"].map((slug, id) => ({ id, slug }));
    expect(nearestSlug("backup-3", both)).toBeNull();
  });
});

describe("a request", () => {
  const check = { id: 7, projectId: 3, uuid: UUID, isDeleted: false };
  const none = { exact: null, deletion: null, similar: [] };
  const deletion = { projectId: 3, name: "old", at: NOW };
  const judged = (
    text: string,
    found: Partial<Parameters<typeof judgeUuid>[2]>,
    { suffix = null, ...manner }: Partial<Manner> & { suffix?: string | null } = {},
  ) => judgeUuid({ text, suffix }, { ...GOOD, ...manner }, { ...none, ...found });

  test("to a random UUID belongs to no project", () => {
    expect(judged(UUID, {})).toBeNull();
    const far = { ...check, uuid: "1a9f61d7-ffff-4fff-8fff-ffffffffffff" };
    expect(judged(UUID, { similar: [far] })).toBeNull();
  });

  test("to a check that exists by now is none", () => {
    expect(judged(UUID, { exact: check })).toBeNull();
  });

  test.each([
    ["uuid", `2${UUID.slice(1)}`, { similar: [check] }, {}],
    ["uuid", UUID.toUpperCase(), { exact: check }, {}],
    ["deleted", UUID, { exact: { ...check, isDeleted: true } }, {}],
    ["method", UUID, { exact: check }, { isMethodAllowed: false }],
    ["suffix", UUID, { exact: check }, { suffix: "stat" }],
    ["http", UUID, { exact: check }, { isInsecure: true }],
  ] as const)("is of the kind %s", (kind, text, found, more) => {
    const address = kind === "suffix" ? `${UUID}/stat` : text;
    const verdict = { kind, projectId: 3, checkId: 7, address, bySlug: false, deletion: null };
    expect(judged(text, found, more)).toEqual(verdict);
  });

  test("to a UUID in the audit log belongs to its project", () => {
    expect(judged(UUID, { deletion })).toMatchObject({
      kind: "deleted",
      projectId: 3,
      checkId: null,
      deletion,
    });
  });

  test("is not meant for a deleted check with a similar UUID", () => {
    expect(judged(`2${UUID.slice(1)}`, { similar: [{ ...check, isDeleted: true }] })).toBeNull();
  });

  test("with a valid key and another slug belongs to the project, and may resemble a check", () => {
    const found = { projectId: 3, check: null, similar: [{ id: 7, slug: "backup" }] };
    expect(judgeSlug({ slug: "bakcup", suffix: null }, GOOD, found)).toMatchObject({
      kind: "slug",
      checkId: 7,
    });
    expect(judgeSlug({ slug: "other", suffix: null }, GOOD, found)).toMatchObject({
      kind: "slug",
      checkId: null,
    });
    const known = { ...found, check: { id: 7 } };
    expect(judgeSlug({ slug: "backup", suffix: "stat" }, GOOD, known)).toMatchObject({
      kind: "suffix",
      address: "backup/stat",
      bySlug: true,
    });
    expect(judgeSlug({ slug: "backup", suffix: null }, GOOD, known)).toBeNull();
  });
});

describe("counting", () => {
  const seen = (at: number, count = 1) => ({ count, firstAt: at, lastAt: at, arrivals: [at] });
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

  test("adds requests to the bars of their time, and forgets those before a week", () => {
    let tally: Tally | null = null;
    for (let day = 0; day < 10; day += 1) tally = addSighting(tally, seen(NOW + day * DAY_MS, 2));
    expect(tally).toMatchObject({ count: 20, firstAt: NOW, lastAt: NOW + 9 * DAY_MS });
    expect(tally?.spark).toHaveLength(SPARK_BARS);
    expect(total(tally?.spark ?? [])).toBe(14);
    const bar = Math.floor((NOW + 12 * DAY_MS) / SPARK_BAR_MS);
    expect(total(sparkUntil(tally, bar))).toBe(8);
    expect(total(sparkUntil(tally, bar + 1_000))).toBe(0);
  });

  test("a request that another process has seen earlier counts in its own bar", () => {
    const tally = addSighting(addSighting(null, seen(NOW)), seen(NOW - DAY_MS, 3));
    expect(tally).toMatchObject({ count: 4, firstAt: NOW - DAY_MS, lastAt: NOW });
    expect(tally.spark.slice(-5)).toEqual([3, 0, 0, 0, 1]);
    expect(addSighting(tally, seen(NOW - 30 * DAY_MS)).count).toBe(5);
  });

  test("a request right after a near miss was resolved does not open it again", () => {
    expect(reopensBefore({ lastAt: NOW })).toBeLessThan(NOW - 3 * SECOND_MS);
    expect(reopensBefore({ lastAt: NOW + MINUTE_MS })).toBeGreaterThan(NOW);
  });

  test("keeps a limited number of times", () => {
    let tally: Tally | null = null;
    for (let at = 0; at < 100; at += 1) tally = addSighting(tally, seen(NOW + at * HOUR_MS));
    expect(tally?.arrivals).toHaveLength(NEAR_MISS_ARRIVALS_MAX);
    expect(tally?.arrivals.at(-1)).toBe(NOW + 99 * HOUR_MS);
  });
});

describe("a schedule", () => {
  const every = (ms: number, count: number, jitterMs = 0) =>
    Array.from({ length: count }, (_, index) => NOW + index * ms + (index % 3) * jitterMs);
  test.each([
    ["six hours", every(6 * HOUR_MS, 5), 21_600],
    ["six hours with jitter", every(6 * HOUR_MS, 8, 5 * MINUTE_MS), 21_600],
    ["a minute", every(MINUTE_MS, 5, 2 * SECOND_MS), 60],
    ["a day", every(DAY_MS, 3), 86_400],
    ["a week", every(7 * DAY_MS, 3), 604_800],
    ["a quarter of an hour, one missing", every(15 * MINUTE_MS, 12).filter((_, at) => at !== 5), 900],
    ["an hour, each sent twice", every(HOUR_MS, 5).flatMap((at) => [at, at + SECOND_MS]), 3_600],
  ])("of %s is guessed", (_, arrivals, timeoutSeconds) => {
    const guessed = guessSchedule(arrivals);
    expect(guessed?.timeoutSeconds).toBe(timeoutSeconds);
    expect(guessed?.graceSeconds).toBeGreaterThanOrEqual(60);
    expect((guessed?.graceSeconds ?? 0) % 60).toBe(0);
  });

  test.each([
    ["too few times", every(HOUR_MS, 2)],
    ["irregular times", [0, 7, 9, 31, 33, 70].map((minutes) => NOW + minutes * MINUTE_MS)],
    ["a period that no schedule has", every(8 * MINUTE_MS - 30 * SECOND_MS, 10)],
    ["no times", []],
  ])("is not guessed from %s", (_, arrivals) => {
    expect(guessSchedule(arrivals)).toBeNull();
  });
});

describe("beyond the limit", () => {
  const row = (id: number, given: Partial<Ranked> = {}): Ranked => ({
    id,
    count: 1,
    lastAt: NOW,
    isLikely: false,
    ...given,
  });

  test("those seen again, recently, or resembling a check are kept", () => {
    const kept = [
      row(1, { count: 2, lastAt: NOW - HOUR_MS }),
      row(2, { count: 30, lastAt: NOW - 6 * DAY_MS }),
      row(3, { isLikely: true, lastAt: NOW - DAY_MS }),
    ];
    const flood = Array.from({ length: 1_000 }, (_, at) => row(10 + at));
    const old = row(4, { count: 2, lastAt: NOW - 20 * DAY_MS });
    const evicted = new Set(toEvict([...kept, old, ...flood], { max: 200, now: NOW }));
    expect(evicted.size).toBe(804);
    expect(kept.filter(({ id }) => evicted.has(id))).toEqual([]);
    expect(evicted.has(4)).toBe(true);
  });

  test("nothing is evicted up to the limit", () => {
    expect(toEvict([row(1), row(2)], { max: 2, now: NOW })).toEqual([]);
  });
});
