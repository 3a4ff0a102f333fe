// What badges and metrics read of many checks: counted in SQL, and evaluated individually only if the stored deadline
// leaves the status open.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitTags } from "../../src/core/identity.ts";
import { MINUTE_MS } from "../../src/core/instant.ts";
import { mayBeLate, NEW_STATE, statusAt } from "../../src/core/state.ts";
import { findWatchedChecks, listScrapedChecks, tallyStatuses } from "../../src/store/check-lists.ts";
import { findCheckByUuid, markCheckDeleted } from "../../src/store/checks.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleIntake } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const EVERY_ONE = { afterId: 0, limit: 100 };
const HOURLY = { timeoutSeconds: 3_600, graceSeconds: 600 };

describe("a tally", () => {
  test("of a project without checks is zero, and of no project there is none", async () => {
    const { badgeKey } = await sampleProject(database.db);
    const asked = { tag: null, now: MONDAY_NOON };
    const none = { total: 0, down: 0, uncertain: [] };
    expect(await tallyStatuses(database.db, { ...asked, badgeKey })).toEqual(none);
    expect(await tallyStatuses(database.db, { ...asked, badgeKey, tag: "x" })).toEqual(none);
    expect(await tallyStatuses(database.db, { ...asked, badgeKey: "no such key" })).toBeNull();
  });

  test("counts down checks and returns those that may be late, exactly as core does", async () => {
    const { id: projectId, badgeKey } = await sampleProject(database.db);
    const check = () => sampleCheck(database.db, { projectId, ...HOURLY });
    const [up, down, started] = [await check(), await check(), await check(), await check()];
    const record = await sampleIntake(database.db);
    await record([
      { uuid: up?.uuid ?? "" },
      { uuid: down?.uuid ?? "", action: "fail" },
      { uuid: started?.uuid ?? "", action: "start" },
    ]);
    const checks = await listScrapedChecks(database.db, { projectId, ...EVERY_ONE });
    const lateAt = async (now: number) => {
      const tally = await tallyStatuses(database.db, { badgeKey, tag: null, now });
      expect(tally).toMatchObject({ total: 4, down: 1 });
      expect(tally?.uncertain.length).toBe(checks.filter((one) => mayBeLate(one, now)).length);
      return tally?.uncertain.toSorted((a, b) => a - b);
    };
    expect(await lateAt(MONDAY_NOON - 1)).toEqual([]);
    expect(await lateAt(MONDAY_NOON)).toEqual([started?.id]);
    expect(await lateAt(MONDAY_NOON + 60 * MINUTE_MS - 1)).toEqual([started?.id]);
    expect(await lateAt(MONDAY_NOON + 60 * MINUTE_MS)).toEqual([up?.id, started?.id]);
  });

  test("leaves out deleted checks and those of other projects", async () => {
    const { id: projectId, badgeKey } = await sampleProject(database.db);
    const other = await sampleProject(database.db);
    await sampleCheck(database.db, { projectId: other.id, tags: "a" });
    await sampleCheck(database.db, { projectId, tags: "a" });
    const deleted = await sampleCheck(database.db, { projectId, tags: "a" });
    await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: deleted.id, at: MONDAY_NOON }));
    for (const tag of [null, "a"]) {
      expect(await tallyStatuses(database.db, { badgeKey, tag, now: MONDAY_NOON })).toMatchObject({
        total: 1,
      });
    }
    expect(await listScrapedChecks(database.db, { projectId, ...EVERY_ONE })).toHaveLength(1);
    expect(await findWatchedChecks(database.db, [deleted.id])).toEqual([]);
  });

  test("of a tag has exactly the checks that carry it", async () => {
    const tag = fc.constantFrom("a", "b", "ab", "a-b", "a,b", "a%", "_", "\\", "A", "ā", "a\tb");
    const tags = fc.array(fc.oneof(tag, fc.constant("")), { maxLength: 4 }).map((list) => list.join(" "));
    await fc.assert(
      fc.asyncProperty(fc.array(tags, { minLength: 1, maxLength: 6 }), tag, async (texts, wanted) => {
        const { id: projectId, badgeKey } = await sampleProject(database.db);
        for (const text of texts) await sampleCheck(database.db, { projectId, tags: text });
        const tally = await tallyStatuses(database.db, { badgeKey, tag: wanted, now: MONDAY_NOON });
        expect(tally?.total).toBe(texts.filter((text) => splitTags(text).includes(wanted)).length);
      }),
      { numRuns: 25 },
    );
  });
});

test("a check is read as core needs it, whichever way", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const cron = { kind: "cron", schedule: "5 4 * * *", tz: "Europe/Riga", manualResume: true } as const;
  const check = await sampleCheck(database.db, { projectId, name: "n", tags: "x y", ...HOURLY, ...cron });
  const record = await sampleIntake(database.db);
  await record([{ uuid: check.uuid }, { uuid: check.uuid, action: "start", at: MONDAY_NOON + MINUTE_MS }]);
  const { settings, state, downAt } = (await findCheckByUuid(database.db, check.uuid)) ?? check;
  const { kind, schedule, tz, timeoutSeconds, graceSeconds, manualResume, rules } = settings;
  const { status, lastPingAt, lastStartAt, expectFromAt } = state;
  const watched = {
    timing: { kind, schedule, tz, timeoutSeconds, graceSeconds, manualResume, rules },
    state: { ...NEW_STATE, status, lastPingAt, lastStartAt, expectFromAt },
  };
  expect(watched.state).toMatchObject({ status: "up", lastStartAt: MONDAY_NOON + MINUTE_MS });
  expect(await findWatchedChecks(database.db, [check.id])).toEqual([{ id: check.id, ...watched }]);
  const scraped = { id: check.id, uuid: check.uuid, name: "n", tags: "x y", downAt, ...watched };
  expect(await listScrapedChecks(database.db, { projectId, ...EVERY_ONE })).toEqual([scraped]);
  const later = MONDAY_NOON + 60 * MINUTE_MS;
  expect(statusAt(watched, later)).toBe(statusAt({ timing: settings, state }, later));
});

test("checks are listed in portions, oldest first", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const make = async () => (await sampleCheck(database.db, { projectId })).id;
  const ids = [await make(), await make(), await make()];
  const list = async (afterId: number) => {
    const found = await listScrapedChecks(database.db, { projectId, afterId, limit: 2 });
    return found.map(({ id }) => id);
  };
  expect([await list(0), await list(ids[1] ?? 0), await list(ids[2] ?? 0)]).toEqual([
    ids.slice(0, 2),
    ids.slice(2),
    [],
  ]);
});
