import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MINUTE_MS, SECOND_MS } from "./instant.ts";
import {
  EDGE_LOST_AFTER_MS,
  isReplayedFromLog,
  LOG_ORDER_MS_MAX,
  type LogRecord,
  mergeReports,
  NO_REFUSALS,
  partitionIntakeId,
  partitionOf,
  type PartitionState,
  absencesAfter,
  lossReadFrom,
  resumeAt,
  type TakeRules,
  takeRecord,
  topicProblems,
  topicSettings,
} from "./log.ts";

const T = 1_800_000_000_000;
const EMPTY: PartitionState = { edges: {}, watermarkAt: T, gapEndedAt: T - MINUTE_MS };

function record(given: Partial<LogRecord> & { n: number; at: number }): LogRecord {
  return {
    edge: "a",
    kind: given.n === 1 ? "enter" : "more",
    watermarkAt: given.at - SECOND_MS,
    givenUp: [],
    refused: [],
    attributed: NO_REFUSALS,
    signals: [],
    ...given,
  };
}

function take(
  state: PartitionState,
  given: Parameters<typeof record>[0],
  { routerRepeats = false, others = [] }: Partial<TakeRules> = {},
) {
  return takeRecord(state, record(given), { routerRepeats, others });
}

/** The same after records of edge "a", the last one at T + 8 s with number 8. */
function alive(state: PartitionState): PartitionState {
  return [2, 4, 6, 8].reduce(
    (before, n) => take(before, { n, at: T + n * SECOND_MS, givenUp: [n - 1] }).state,
    state,
  );
}

describe("partitions", () => {
  test("all parts of a UUID but the slot choose the partition", () => {
    expect(partitionOf("fff00000-0000-4000-8000-000000000011", 16)).toBe(1);
    expect(partitionOf("00000000-0000-4000-8000-0000000000ff", 16)).toBe(15);
    expect(partitionOf("00000000-0000-4000-8000-0000000000ff", 3)).toBe(0);
  });

  test("the intake of a partition has its number in the last digits", () => {
    expect(partitionIntakeId("81911538-071e-41be-abc1-7493951367f5", 11)).toBe(
      "81911538-071e-41be-abc1-74939513670b",
    );
  });
});

describe("the settings of a topic", () => {
  const good = (brokers: number) => ({
    partitions: [{ replicas: brokers }],
    settings: topicSettings({ brokers }),
  });

  test("those of a new topic are safe", () => {
    expect(topicProblems(good(1))).toEqual([]);
    expect(topicProblems(good(3))).toEqual([]);
  });

  test.each([
    ["min.insync.replicas", "1", "min.insync.replicas is less than 2"],
    ["unclean.leader.election.enable", "true", "unclean.leader.election.enable is not false"],
    ["cleanup.policy", "compact", "cleanup.policy is not delete"],
    ["retention.ms", "3600000", "retention.ms is less than 72 hours"],
    ["max.message.bytes", "1000", "max.message.bytes is less than 1052672"],
    ["message.timestamp.type", "CreateTime", "message.timestamp.type is not LogAppendTime"],
  ])("%s=%s is reported", (name, value, problem) => {
    const topic = good(3);
    expect(topicProblems({ ...topic, settings: { ...topic.settings, [name]: value } })).toEqual([problem]);
  });

  test("one replica without a flush per record, and two replicas, are reported", () => {
    const one = good(1);
    expect(topicProblems({ ...one, settings: { ...one.settings, "flush.messages": "10000" } })).toEqual([
      "it has one replica, and flush.messages is not 1",
    ]);
    expect(topicProblems({ ...good(3), partitions: [{ replicas: 2 }] })).toEqual([
      "it has 2 replicas instead of 3",
    ]);
    expect(topicProblems({ partitions: [], settings: good(3).settings })).toContain("it has no partitions");
  });

  test("unlimited retention is accepted", () => {
    const topic = good(3);
    expect(topicProblems({ ...topic, settings: { ...topic.settings, "retention.ms": "-1" } })).toEqual([]);
  });
});

describe("a record", () => {
  test("moves the watermark to the earliest of the open edges", () => {
    const one = take(EMPTY, { n: 1, at: T + 2_000 }).state;
    expect(one.watermarkAt).toBe(T + 1_000);
    const two = take(one, { edge: "b", n: 1, at: T + 5_000 }).state;
    expect(two.watermarkAt).toBe(T + 1_000);
    expect(take(two, { n: 2, at: T + 4_500 }).state.watermarkAt).toBe(T + 3_500);
    expect(take(two, { n: 2, at: T + 9_500 }).state.watermarkAt).toBe(T + 4_000);
  });

  test("of a new edge reports the time since another one closed its port", () => {
    const listening = take(EMPTY, { n: 1, at: T + 2_000 }).state;
    const { state } = take(listening, { n: 2, at: T + 8_000, watermarkAt: T + 2_000 });
    const entered = take(state, { edge: "b", n: 1, at: T + 8_500 });
    expect(entered.blind).toEqual([{ from: T, to: T + 10_000, reason: "no process received pings" }]);
    const both = take(listening, { n: 2, at: T + 8_000 }).state;
    expect(take(both, { edge: "b", n: 1, at: T + 8_500 }).blind).toEqual([]);
  });

  test("with a number that was applied changes nothing", () => {
    const { state } = take(EMPTY, { n: 1, at: T + 2_000 });
    const again = take(state, { n: 1, at: T + 9_000, signals: [] });
    expect(again).toMatchObject({ isNew: false, state, blind: [] });
  });

  test("after a number that was given up is complete; after any other it is not", () => {
    const { state } = take(EMPTY, { n: 1, at: T + 2_000 });
    expect(take(state, { n: 3, at: T + 4_000, givenUp: [2] })).toMatchObject({
      isIncomplete: false,
      blind: [],
    });
    expect(take(state, { n: 4, at: T + 4_000, givenUp: [2] })).toMatchObject({
      isIncomplete: true,
      blind: [{ from: T, to: T + 5_000, reason: "the log lost confirmed pings" }],
    });
    // Neither a number twice nor one outside of the range fills a gap.
    expect(take(state, { n: 4, at: T + 4_000, givenUp: [2, 2, 9] }).isIncomplete).toBe(true);
  });

  test("of an edge that arrives in the middle is incomplete", () => {
    expect(take(EMPTY, { n: 5, at: T + 2_000 }).isIncomplete).toBe(true);
  });

  test("of the first edge after a pause of all edges reports the time in between", () => {
    const { state } = take(EMPTY, { n: 1, at: T + 2_000 });
    const left = take(state, { n: 2, at: T + 3_000, kind: "leave" }).state;
    expect(left.watermarkAt).toBe(T + 2_000);
    expect(take(left, { edge: "b", n: 1, at: T + 5_000 }).blind).toEqual([]);
    expect(take(left, { edge: "b", n: 1, at: T + 60_000 }).blind).toEqual([
      { from: T, to: T + 60_000, reason: "no process received pings" },
    ]);
  });

  test("of an edge that enters again reports the time since the watermark, unless another was listening", () => {
    const { state } = take(EMPTY, { n: 1, at: T + 1_000 });
    const again = take(state, { n: 2, at: T + 60_000, kind: "enter" });
    expect(again.blind).toEqual([{ from: T, to: T + 60_000, reason: "no process received pings" }]);
    // Another one that was starting does not count.
    const starting = take(state, { edge: "b", n: 1, at: T + 4_000, watermarkAt: T + 3_000 }).state;
    expect(take(starting, { n: 2, at: T + 9_000, kind: "enter" }).blind).toHaveLength(1);
    const listening = take(starting, { n: 2, at: T + 6_000 }).state;
    expect(listening.watermarkAt).toBe(T + 3_000);
    const later = take(listening, { edge: "b", n: 2, at: T + 8_000 }).state;
    expect(take(later, { n: 3, at: T + 12_000, kind: "enter" }).blind).toEqual([]);
  });

  test("of an edge that enters again says nothing about earlier numbers", () => {
    expect(take(EMPTY, { n: 5, at: T + 2_000, kind: "enter" })).toMatchObject({
      isIncomplete: false,
      blind: [],
    });
    const { state } = take(EMPTY, { n: 1, at: T + 1_000 });
    expect(take(state, { n: 9, at: T + 2_000, kind: "enter" }).isIncomplete).toBe(false);
  });

  test("of an edge that is far ahead declares a silent one lost", () => {
    const both = take(take(EMPTY, { n: 1, at: T }).state, { edge: "b", n: 1, at: T }).state;
    const at = T + EDGE_LOST_AFTER_MS;
    const kept = take(take(both, { n: 2, at: at - 5_000 }).state, { n: 3, at });
    expect([kept.lost, kept.state.watermarkAt]).toEqual([[], T]);
    const lost = take(kept.state, { n: 4, at: at + 1_000 });
    expect(lost).toMatchObject({
      lost: ["b"],
      blind: [{ from: T - 5_000, to: T + 15_000, reason: "a receiving process was lost" }],
      state: { watermarkAt: at, edges: { b: { closedAt: at + 1_000 } } },
    });
  });

  test("of an edge that could not append either gives the others time to return", () => {
    const both = take(take(EMPTY, { n: 1, at: T }).state, { edge: "b", n: 1, at: T }).state;
    const back = take(both, { n: 2, at: T + 60_000 });
    expect([back.lost, back.blind, back.state.watermarkAt]).toEqual([[], [], T]);
    const then = take(back.state, { n: 3, at: T + 65_000 });
    expect(then.lost).toEqual([]);
    expect(take(then.state, { edge: "b", n: 2, at: T + 66_000 }).state.watermarkAt).toBe(T + 64_000);
    const later = take(then.state, { n: 4, at: T + 70_000 }).state;
    expect(take(later, { n: 5, at: T + 70_001 })).toMatchObject({
      lost: ["b"],
      blind: [{ from: T - 5_000 }],
    });
  });

  test("declares it lost without a gap if a router repeats what it did not answer", () => {
    const both = take(take(EMPTY, { n: 1, at: T - 2_000 }).state, { edge: "b", n: 1, at: T }).state;
    const given = { n: 9, at: T + EDGE_LOST_AFTER_MS + 1_000 };
    expect(take(alive(both), given, { routerRepeats: true })).toMatchObject({ lost: ["b"], blind: [] });
    // The other edge was not there yet.
    const late = take(take(EMPTY, { edge: "b", n: 1, at: T }).state, { n: 1, at: T + 4_000 }).state;
    expect(take(alive(late), given, { routerRepeats: true }).blind).toHaveLength(1);
  });

  test("declares it lost without a gap also if one notices that has just started", () => {
    const [a, b] = [
      { n: 1, at: T - 9_000 },
      { edge: "b", n: 1, at: T },
    ];
    const both = take(take(EMPTY, a).state, b).state;
    const later = take(both, { n: 2, at: T + EDGE_LOST_AFTER_MS }).state;
    const started = { edge: "c", n: 1, at: T + EDGE_LOST_AFTER_MS + 1_000 };
    expect(take(later, started, { routerRepeats: true })).toMatchObject({ lost: ["b"], blind: [] });
  });

  test("of an edge that was declared lost is applied, and the watermark stays", () => {
    const both = take(take(EMPTY, { n: 1, at: T }).state, { edge: "b", n: 1, at: T }).state;
    const { state } = take(alive(both), { n: 9, at: T + EDGE_LOST_AFTER_MS + 1_000 });
    const back = take(state, { edge: "b", n: 2, at: T + 5_000 });
    expect(back.isNew).toBe(true);
    expect(back.state.watermarkAt).toBe(state.watermarkAt);
    expect(take(back.state, { edge: "b", n: 2, at: T + 5_000 }).isNew).toBe(false);
  });

  test("an edge is forgotten an hour after it is gone, not before", () => {
    const left = take(take(EMPTY, { n: 1, at: T }).state, { n: 2, at: T + 1_000, kind: "leave" }).state;
    const after = (at: number) => take(left, { edge: "b", n: 1, at }).state.edges;
    expect(Object.keys(after(T + 3_600_000))).toEqual(["a", "b"]);
    expect(Object.keys(after(T + 3_601_000))).toEqual(["b"]);
  });

  test("the watermark never goes backwards, and records in any order are applied once", () => {
    const steps = fc.array(
      fc.record({
        edge: fc.constantFrom("a", "b", "c"),
        n: fc.integer({ min: 1, max: 8 }),
        at: fc.integer({ min: T, max: T + 60_000 }),
        kind: fc.constantFrom("enter" as const, "more" as const, "leave" as const),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(steps, (given) => {
        let state = EMPTY;
        const applied = new Map<string, number[]>();
        for (const one of given) {
          const taken = take(state, one);
          expect(taken.state.watermarkAt).toBeGreaterThanOrEqual(state.watermarkAt);
          if (taken.isNew) applied.set(one.edge, [...(applied.get(one.edge) ?? []), one.n]);
          state = taken.state;
        }
        for (const numbers of applied.values())
          expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
      }),
    );
  });
});

test("a signal counts in the order of its partition, unless it is much older than what was applied", () => {
  const state = { newestAt: T, commandAt: null };
  const isReplayed = (at: number, of: { newestAt: number | null; commandAt: number | null } = state) =>
    isReplayedFromLog(at, of, LOG_ORDER_MS_MAX);
  expect([isReplayed(T - 2_000), isReplayed(T - 2_001)]).toEqual([false, true]);
  expect(isReplayed(T - 1, { newestAt: T, commandAt: T })).toBe(true);
  expect(isReplayed(T, { newestAt: null, commandAt: null })).toBe(false);
  // Pings are also recorded without the log.
  expect([isReplayedFromLog(T, state, 0), isReplayedFromLog(T - 1, state, 0)]).toEqual([false, true]);
});

describe("reports", () => {
  const target = (n: number, from = T, to = from) => ({
    target: { by: "uuid" as const, uuid: String(n) },
    from,
    to,
  });
  const of = (targets: ReturnType<typeof target>[]) => ({
    refused: [],
    attributed: { targets, networks: [] },
  });

  test("of the same check are merged with the time between them", () => {
    expect(mergeReports(of([target(1), target(2)]), of([target(1, T + 9, T + 10)]))).toEqual(
      of([target(1, T, T + 10), target(2)]),
    );
  });

  test("of more checks or networks than fit count for all checks", () => {
    const many = Array.from({ length: 2_000 }, (_, n) => target(n, T + n));
    const more = of([target(5_000, T + 5_000)]);
    expect(mergeReports(of(many), of([]))).toEqual(of(many));
    expect(mergeReports(of(many), more)).toEqual({
      refused: [{ from: T, to: T + 5_000 }],
      attributed: NO_REFUSALS,
    });
    const networks = Array.from({ length: 2_001 }, (_, n) => ({ network: String(n), from: T, to: T + n }));
    const none = { refused: [], attributed: NO_REFUSALS };
    expect(mergeReports(none, { refused: [], attributed: { targets: [], networks } })).toEqual({
      refused: [{ from: T, to: T + 2_000 }],
      attributed: NO_REFUSALS,
    });
  });

  test("with more intervals than fit become one, which is open if one of them is", () => {
    const refused = Array.from({ length: 100 }, (_, n) => ({ from: T + n, to: T + n }));
    const more = (to: number | null) => ({ refused: [{ from: T + 200, to }], attributed: NO_REFUSALS });
    expect(mergeReports({ refused, attributed: NO_REFUSALS }, more(T + 300)).refused).toEqual([
      { from: T, to: T + 300 },
    ]);
    expect(mergeReports({ refused, attributed: NO_REFUSALS }, more(null)).refused).toEqual([
      { from: T, to: null },
    ]);
  });
});

describe("after a loss, a partition continues", () => {
  test.each([
    ["where it was, if the topic still has that", { start: 0, since: 50 }, 20],
    ["at the first record that is left", { start: 30, since: 50 }, 30],
    ["earlier, if records after that position may be others", { start: 0, since: 10 }, 10],
  ])("%s", (_, found, expected) => {
    expect(resumeAt({ topicId: "a", nextOffset: 20 }, { topicId: "a", ...found })).toBe(expected);
  });

  test("in another topic at the records that may not be applied", () => {
    expect(resumeAt({ topicId: "a", nextOffset: 20 }, { topicId: "b", start: 0, since: 50 })).toBe(50);
    expect(lossReadFrom(EMPTY)).toBeLessThan(EMPTY.watermarkAt - MINUTE_MS);
  });
});

describe("processes without the log", () => {
  const at = T + MINUTE_MS;
  const other = { startedAt: T - MINUTE_MS, heartbeatAt: at - SECOND_MS };
  const reasons = (others: TakeRules["others"]) =>
    take(EMPTY, { n: 1, at }, { others }).blind.map(({ reason }) => reason);

  test("receive while there is no edge", () => {
    expect(reasons([other])).toEqual([]);
    expect(take(EMPTY, { n: 1, at }, { others: [other] }).state.gapEndedAt).toBe(EMPTY.gapEndedAt);
  });

  test("do not, if they started later or ended before", () => {
    const absent = ["no process received pings"];
    expect(reasons([])).toEqual(absent);
    expect(reasons([{ ...other, startedAt: T + 1 }])).toEqual(absent);
    expect(reasons([{ ...other, heartbeatAt: at - 10 * SECOND_MS }])).toEqual(absent);
  });

  test("leave no time without a process behind the last edge, unless they started later", () => {
    const from = (startedAt: number, heartbeatAt = at) => ({ startedAt, heartbeatAt });
    expect(absencesAfter(EMPTY, [])).toEqual([]);
    expect(absencesAfter(EMPTY, [from(T + 4 * SECOND_MS)])).toEqual([]);
    expect(absencesAfter(EMPTY, [from(at), from(T - MINUTE_MS)])).toEqual([]);
    expect(absencesAfter(EMPTY, [from(at)])).toEqual([absence(T, at)]);
  });

  test("leave time without a process if they ended before others started", () => {
    const ended = { startedAt: T - MINUTE_MS, heartbeatAt: T + MINUTE_MS };
    const next = { startedAt: T + 2 * MINUTE_MS, heartbeatAt: T + 3 * MINUTE_MS };
    expect(absencesAfter(EMPTY, [next, ended])).toEqual([absence(ended.heartbeatAt, next.startedAt)]);
  });

  const absence = (from: number, to: number) => ({
    from: expect.toSatisfy((found: number) => found <= from && found > from - 10 * SECOND_MS),
    to: expect.toSatisfy((found: number) => found >= to && found < to + 10 * SECOND_MS),
    reason: "no process received pings",
  });
});
