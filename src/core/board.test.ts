import { describe, expect, test } from "vitest";
import {
  type BoardCheck,
  type BoardIncident,
  boardCards,
  boardGroups,
  boardHeadline,
  boardOrder,
  type GroupTally,
  groupTallies,
  tallyOf,
  totalOf,
  usedShare,
} from "./board.ts";
import { BOARD_CARDS_MAX, BOARD_GROUPS_MAX } from "./limits.ts";

const NOW = 1_000_000;

function check(name: string, given: Partial<BoardCheck> = {}): BoardCheck {
  return {
    name,
    tags: [],
    state: "up",
    runningSince: null,
    fuse: null,
    downSince: null,
    downReason: null,
    exitStatus: null,
    hasAlert: false,
    ...given,
  };
}

function incident(firstName: string, given: Partial<BoardIncident> = {}): BoardIncident {
  return {
    tag: null,
    firstName,
    openCount: 1,
    openedAt: NOW - 60,
    cause: "missed",
    acknowledged: null,
    nextStepAt: null,
    ...given,
  };
}

const late = (name: string, alertAt: number) =>
  check(name, { state: "late", fuse: { fromAt: 0, lateAt: 10, alertAt } });
const ACKNOWLEDGED = { at: NOW - 30, by: "Marta Ozols" };

/** What a card is about. */
const names = (given: Parameters<typeof boardCards>[0]) =>
  boardCards(given).map((card) => ("check" in card ? card.check.name : card.firstName));

describe("the cards", () => {
  test("are open incidents, checks without an alert, acknowledged incidents, and late checks", () => {
    const given = {
      checks: [late("late", NOW + 5), check("tolerated", { state: "down" })],
      incidents: [incident("handled", { acknowledged: ACKNOWLEDGED }), incident("open")],
    };
    expect(names(given)).toEqual(["open", "tolerated", "handled"]);
    expect(names({ ...given, incidents: [] })).toEqual(["tolerated", "late"]);
  });

  test.each([
    ["the largest incident first", [incident("one"), incident("many", { openCount: 12 })], ["many", "one"]],
    ["then the oldest", [incident("new", { openedAt: 9 }), incident("old", { openedAt: 8 })], ["old", "new"]],
    ["without those whose checks have recovered", [incident("over", { openCount: 0 })], []],
  ])("%s", (_, incidents, expected) => {
    expect(names({ checks: [], incidents })).toEqual(expected);
  });

  test("name late checks by their alert, the next first", () => {
    expect(names({ checks: [late("b", 30), late("a", 20), check("up")], incidents: [] })).toEqual(["a", "b"]);
  });

  test("leave out a check that an incident already stands for", () => {
    expect(names({ checks: [check("x", { state: "down", hasAlert: true })], incidents: [] })).toEqual([]);
  });

  test("are few", () => {
    const checks = Array.from({ length: 50 }, (_, n) => late(String(n), n));
    expect(boardCards({ checks, incidents: [] })).toHaveLength(BOARD_CARDS_MAX);
  });
});

describe("the headline", () => {
  const headline = (checks: BoardCheck[], incidents: BoardIncident[] = []) =>
    boardHeadline({ counts: tallyOf(checks), checks, incidents });
  const down = (name: string) => check(name, { state: "down" });

  test.each([
    ["without checks", [], [], { kind: "empty" }],
    ["all is well", [check("a"), check("b", { state: "paused" })], [], { kind: "fine", count: 1 }],
    ["one is late", [check("a"), late("b", 9)], [], { kind: "late", count: 1, name: "b" }],
    ["some are late", [late("a", 9), late("b", 9)], [], { kind: "late", count: 2, name: null }],
    ["down matters more than late", [late("a", 9), down("b")], [], { kind: "down", count: 1, name: "b" }],
    ["several are down", [down("a"), down("b")], [], { kind: "down", count: 2, name: null }],
    [
      "all that are down share a tag",
      [down("a"), down("b")],
      [incident("a", { tag: "db-3", openCount: 2 })],
      { kind: "tagDown", tag: "db-3", count: 2 },
    ],
    [
      "not all that are down share a tag",
      [down("a"), down("b"), down("c")],
      [incident("a", { tag: "db-3", openCount: 2 })],
      { kind: "down", count: 3, name: null },
    ],
  ])("%s", (_, checks, incidents, expected) => {
    expect(headline(checks, incidents)).toEqual(expected);
  });
});

describe("the groups", () => {
  const group = (tag: string | null, given: Partial<GroupTally> = {}): GroupTally => ({
    tag,
    down: 0,
    late: 0,
    up: 1,
    new: 0,
    paused: 0,
    ...given,
  });
  const total = (groups: readonly GroupTally[]) => {
    const sum = { down: 0, late: 0, up: 0, new: 0, paused: 0 };
    for (const { tag: _, ...one } of groups)
      for (const [state, count] of Object.entries(one)) sum[state as keyof typeof sum] += count;
    return sum;
  };

  test("count each check once, by its first tag", () => {
    const checks = [check("a", { tags: ["db", "prod"] }), check("b", { tags: ["prod"] }), check("c")];
    expect(groupTallies(checks).map((one) => [one.tag, totalOf(one)])).toEqual([
      ["db", 1],
      ["prod", 1],
      [null, 1],
    ]);
  });

  test("show trouble first, then names, and checks without tags last", () => {
    const groups = [
      group(null),
      group("b"),
      group("a"),
      group("late", { late: 1 }),
      group("down", { down: 1 }),
    ];
    expect(boardGroups(groups, total(groups))).toEqual({
      groups: [group("down", { down: 1 }), group("late", { late: 1 }), group("a"), group("b"), group(null)],
      rest: null,
    });
  });

  test("beyond the limit, the smallest without trouble are counted together", () => {
    const small = Array.from({ length: 40 }, (_, n) => group(`small ${n}`));
    const groups = [...small, group("big", { up: 9 }), group("broken", { up: 0, down: 1 })];
    const { groups: kept, rest } = boardGroups(groups, total(groups));
    expect(kept).toHaveLength(BOARD_GROUPS_MAX);
    expect(kept[0]?.tag).toBe("broken");
    expect(kept.map(({ tag }) => tag)).toContain("big");
    expect(rest).toMatchObject({ down: 0, up: 42 - BOARD_GROUPS_MAX });
  });

  test("a count that changed between two readings is not negative", () => {
    expect(boardGroups([group("a", { up: 5 })], { ...group(null), up: 3 }).rest).toBeNull();
  });
});

describe("a candle", () => {
  test.each([
    [{ fromAt: 0, lateAt: 50, alertAt: 100 }, 0, 0],
    [{ fromAt: 0, lateAt: 50, alertAt: 100 }, 25, 0.25],
    [{ fromAt: 0, lateAt: 50, alertAt: 100 }, 100, 1],
    [{ fromAt: 0, lateAt: 50, alertAt: 100 }, 900, 1],
    [{ fromAt: 50, lateAt: 60, alertAt: 100 }, 10, 0],
    [{ fromAt: 100, lateAt: 100, alertAt: 100 }, 10, 1],
    [null, 10, null],
  ])("burns from the last ping to the alert: %o at %i is %s", (fuse, now, share) => {
    expect(usedShare(fuse, now)).toBe(share);
  });

  test("stands where its need puts it", () => {
    const burning = (name: string, fromAt: number) =>
      check(name, { fuse: { fromAt, lateAt: 90, alertAt: 100 } });
    const given = [
      check("paused", { state: "paused" }),
      burning("b", 50),
      burning("a", 50),
      burning("early", 0),
      late("late", 100),
      check("down", { state: "down" }),
    ];
    expect(boardOrder(given, 75).map(({ name }) => name)).toEqual([
      "down",
      "late",
      "early",
      "a",
      "b",
      "paused",
    ]);
  });
});
