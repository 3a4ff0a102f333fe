// Flips and the other events of a check.
import { describe, expect, test } from "vitest";
import type { Flip } from "../../src/core/state.ts";
import {
  deleteEventsOfCheck,
  insertEvents,
  listEdits,
  listEvents,
  listEventsOfProject,
  pruneEvents,
} from "../../src/store/events.ts";
import {
  deleteFlipsOfCheck,
  findFlips,
  findFlipsBefore,
  insertFlips,
  listFlips,
  listFlipsOfProject,
  pruneFlips,
  retractFlip,
} from "../../src/store/flips.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const DOWN: Flip = { at: MONDAY_NOON, from: "up", to: "down", reason: "timeout" };
const UP: Flip = { at: MONDAY_NOON + 1_000, from: "down", to: "up", reason: "success" };

const insert = (flips: { checkId: number; flip: Flip }[]) =>
  inTransaction(database.db, (tx) => insertFlips(tx, flips));

describe("flips", () => {
  test("are listed newest first and found one by one", async () => {
    const ids = await insert([
      { checkId: 1, flip: DOWN },
      { checkId: 1, flip: UP },
      { checkId: 2, flip: DOWN },
    ]);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    const down = { id: ids[0], checkId: 1, ...DOWN, retractedAt: null };
    const up = { id: ids[1], checkId: 1, ...UP, retractedAt: null };
    expect(await listFlips(database.db, { checkId: 1 })).toEqual([up, down]);
    expect(await findFlips(database.db, [ids[0] ?? 0, 999_999])).toEqual([down]);
  });

  test("the previous one is found, unless it was retracted", async () => {
    const [first, second, third] = await insert([
      { checkId: 6, flip: DOWN },
      { checkId: 6, flip: UP },
      { checkId: 6, flip: { ...DOWN, at: UP.at + 1 } },
    ]);
    const before = async (flipId = 0) =>
      (await findFlipsBefore(database.db, [{ checkId: 6, flipId }])).map(({ id }) => id);
    expect(await before(first)).toEqual([]);
    expect(await before(second)).toEqual([first]);
    expect(await before(third)).toEqual([second]);
    await inTransaction(database.db, (tx) =>
      retractFlip(tx, { checkId: 6, deadlineAt: DOWN.at, at: MONDAY_NOON + 9 }),
    );
    expect(await before(second)).toEqual([]);
  });

  test("of the same instant keep the order in which they happened", async () => {
    const ids = await insert([
      { checkId: 3, flip: DOWN },
      { checkId: 3, flip: { ...UP, at: DOWN.at } },
    ]);
    expect((await listFlips(database.db, { checkId: 3 })).map(({ id }) => id)).toEqual(ids.toReversed());
  });

  test("the range includes its beginning and not its end", async () => {
    await insert([
      { checkId: 4, flip: DOWN },
      { checkId: 4, flip: UP },
    ]);
    const list = async (range: { from?: number; before?: number; limit?: number }) =>
      (await listFlips(database.db, { checkId: 4, ...range })).map(({ to }) => to);
    expect(await list({ from: UP.at })).toEqual(["up"]);
    expect(await list({ from: UP.at + 1 })).toEqual([]);
    expect(await list({ before: UP.at })).toEqual(["down"]);
    expect(await list({ from: DOWN.at, before: UP.at + 1 })).toEqual(["up", "down"]);
    expect(await list({ limit: 1 })).toEqual(["up"]);
  });

  test("only the missed-deadline flip of exactly that deadline is retracted, and once", async () => {
    const [failed, silent] = await insert([
      { checkId: 5, flip: { ...DOWN, reason: "fail" } },
      { checkId: 5, flip: DOWN },
    ]);
    const retract = (deadlineAt: number) =>
      inTransaction(database.db, (tx) => retractFlip(tx, { checkId: 5, deadlineAt, at: MONDAY_NOON + 9 }));
    expect(await retract(DOWN.at + 1)).toBeNull();
    expect(await retract(DOWN.at)).toBe(silent);
    expect(await retract(DOWN.at)).toBeNull();
    const retractedAt = async (id = 0) => (await findFlips(database.db, [id]))[0]?.retractedAt;
    expect(await retractedAt(silent)).toBe(MONDAY_NOON + 9);
    expect(await retractedAt(failed)).toBeNull();
  });

  test("old ones are deleted, a few at a time", async () => {
    await database.db.pool.query("truncate flips");
    await insert([DOWN, UP, { ...DOWN, at: UP.at + 1 }].map((flip) => ({ checkId: 6, flip })));
    const prune = (before: number) =>
      inTransaction(database.db, (tx) => pruneFlips(tx, { before, limit: 1 }));
    expect(await prune(DOWN.at)).toBe(0);
    expect(await prune(UP.at + 1)).toBe(1);
    expect(await prune(UP.at + 1)).toBe(1);
    expect(await prune(UP.at + 1)).toBe(0);
    expect((await listFlips(database.db, { checkId: 6 })).length).toBe(1);
  });

  test("those of a deleted check go with it", async () => {
    await insert([7, 8].map((checkId) => ({ checkId, flip: DOWN })));
    await inTransaction(database.db, (tx) => deleteFlipsOfCheck(tx, 7));
    expect(await listFlips(database.db, { checkId: 7 })).toEqual([]);
    expect((await listFlips(database.db, { checkId: 8 })).length).toBe(1);
  });
});

describe("events", () => {
  const PAUSED = { kind: "paused", at: MONDAY_NOON, accountId: 3, detail: {} };
  const EDITED = {
    kind: "edited",
    at: MONDAY_NOON + 5,
    accountId: null,
    detail: { grace: [60, 120], ä: "“" },
  };

  test("are listed newest first, page by page, with their detail", async () => {
    await inTransaction(database.db, (tx) =>
      insertEvents(tx, [
        { checkId: 1, ...PAUSED },
        { checkId: 1, ...EDITED },
        { checkId: 2, ...PAUSED },
      ]),
    );
    const events = await listEvents(database.db, { checkId: 1, limit: 10 });
    expect(events).toMatchObject([EDITED, PAUSED]);
    expect(await listEvents(database.db, { checkId: 1, limit: 1 })).toEqual(events.slice(0, 1));
    const edits = (after: number) => listEdits(database.db, { checkIds: [1, 2], after, limit: 10 });
    expect(await edits(EDITED.at - 1)).toEqual(events.slice(0, 1));
    expect(await edits(EDITED.at)).toEqual([]);
    expect(await listEvents(database.db, { checkId: 1, before: EDITED.at, limit: 10 })).toEqual(
      events.slice(1),
    );
    for (const one of [{ from: EDITED.at }, { kind: "edited" }]) {
      expect(await listEvents(database.db, { checkId: 1, ...one, limit: 10 })).toEqual(events.slice(0, 1));
    }
  });

  test("are deleted when they are old or their check is gone", async () => {
    await database.db.pool.query("truncate events");
    await inTransaction(database.db, (tx) =>
      insertEvents(
        tx,
        [PAUSED, EDITED].flatMap((event) => [3, 4].map((checkId) => ({ checkId, ...event }))),
      ),
    );
    const before = EDITED.at;
    expect(await inTransaction(database.db, (tx) => pruneEvents(tx, { before, limit: 10 }))).toBe(2);
    await inTransaction(database.db, (tx) => deleteEventsOfCheck(tx, 3));
    expect(await listEvents(database.db, { checkId: 3, limit: 10 })).toEqual([]);
    expect((await listEvents(database.db, { checkId: 4, limit: 10 })).length).toBe(1);
  });
});

describe("the log of a project", () => {
  test("has flips and events of all its checks and of no other, newest first, page by page", async () => {
    const project = await sampleProject(database.db);
    const stranger = await sampleCheck(database.db, { projectId: (await sampleProject(database.db)).id });
    const one = await sampleCheck(database.db, { projectId: project.id });
    const other = await sampleCheck(database.db, { projectId: project.id });
    await insert([
      { checkId: one.id, flip: DOWN },
      { checkId: other.id, flip: { ...DOWN, at: DOWN.at + 500 } },
      { checkId: one.id, flip: UP },
      { checkId: stranger.id, flip: DOWN },
    ]);
    const event = (checkId: number, at: number) => ({
      checkId,
      at,
      kind: "paused",
      accountId: null,
      detail: {},
    });
    await inTransaction(database.db, (tx) =>
      insertEvents(tx, [event(one.id, 1), event(other.id, 2), event(stranger.id, 3)]),
    );
    const page = { projectId: project.id, limit: 2 };
    const flips = async (before?: number) =>
      (await listFlipsOfProject(database.db, { ...page, ...(before !== undefined && { before }) })).map(
        ({ at }) => at,
      );
    expect(await flips()).toEqual([UP.at, DOWN.at + 500]);
    expect(await flips(DOWN.at + 500)).toEqual([DOWN.at]);
    const events = await listEventsOfProject(database.db, page);
    expect(events.map(({ checkId }) => checkId)).toEqual([other.id, one.id]);
    expect(await listEventsOfProject(database.db, { ...page, before: 2 })).toHaveLength(1);
    expect(await listEventsOfProject(database.db, { ...page, from: 2 })).toHaveLength(1);
    const since = await listFlipsOfProject(database.db, { ...page, from: UP.at });
    expect(since.map(({ at }) => at)).toEqual([UP.at]);
  });
});
