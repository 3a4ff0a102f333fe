// Checks that cannot be evaluated: they are quarantined with a reason, and block no others.
import { beforeEach, describe, expect, test } from "vitest";
import { HOUR_MS } from "../../../src/core/instant.ts";
import { sweepDeadlines } from "../../../src/operations/sweep.ts";
import { listQuarantinedChecks } from "../../../src/store/checks.ts";
import { useDatabase } from "../../support/database.ts";
import {
  HOURLY_DOWN_AT,
  makeManyWatched,
  makeWorld,
  owedFlips,
  sightUntil,
  storedRow,
  type World,
} from "../../support/sweeping.ts";

const database = useDatabase();
const NOW = HOURLY_DOWN_AT + 2_000;
const sweep = ({ now = NOW, limit = 50 } = {}) =>
  sweepDeadlines(database.db, { now, visibility: sightUntil(now - 1_000), limit });

let world: World;
beforeEach(async () => {
  await database.db.pool.query("truncate checks, poisoned_checks, flips, deliveries cascade");
  world = await makeWorld(database);
});

/** The database rejects flips of these checks, as it would for an invalid value. */
async function refuse(checkIds: readonly number[]): Promise<void> {
  await database.db.pool.query(
    `alter table check_states add constraint test_refusal
      check (check_id not in (${checkIds.join(",")}) or status <> 'down')`,
  );
}

const permit = () => database.db.pool.query("alter table check_states drop constraint test_refusal");

describe("a check that the database refuses", () => {
  test("is quarantined for an hour with the reason, and the others of its batch fire", async () => {
    const checks = await makeManyWatched(database, world, 20);
    const [first, other] = [checks[3]?.id ?? 0, checks[17]?.id ?? 0];
    await refuse([first, other]);
    const swept = await sweep();
    await permit();
    expect(swept).toMatchObject({ looked: 20, fired: 18, isComplete: true });
    expect(swept.quarantined.map(({ checkId }) => checkId)).toEqual([first, other]);
    expect(swept.quarantined[0]?.reason).toContain("test_refusal");
    expect(await listQuarantinedChecks(database.db, 10)).toMatchObject([
      { checkId: first, sinceAt: NOW, untilAt: NOW + HOUR_MS },
      { checkId: other, sinceAt: NOW, untilAt: NOW + HOUR_MS },
    ]);
    expect(await owedFlips(database, world)).toHaveLength(18);
    expect(await storedRow(database, first)).toMatchObject({ status: "up", sweep_at: HOURLY_DOWN_AT });
  });

  test("is left alone until its hour is over, and judged again then", async () => {
    const [check] = await makeManyWatched(database, world, 1);
    await refuse([check?.id ?? 0]);
    await sweep();
    expect(await sweep({ now: NOW + 1_000 })).toMatchObject({ looked: 0, locked: [] });
    const again = await sweep({ now: NOW + HOUR_MS });
    expect(again.quarantined).toHaveLength(1);
    expect(await listQuarantinedChecks(database.db, 10)).toMatchObject([
      { sinceAt: NOW, untilAt: NOW + 2 * HOUR_MS },
    ]);
    await permit();
    expect(await sweep({ now: NOW + 2 * HOUR_MS })).toMatchObject({ fired: 1, quarantined: [] });
    expect(await owedFlips(database, world)).toMatchObject([{ at: HOURLY_DOWN_AT }]);
  });

  // Several times: the two lanes of a sweep have to collide at the wrong time for a check to be quarantined twice.
  test("in every batch blocks none of them, and is quarantined once", { repeats: 20 }, async () => {
    const checks = await makeManyWatched(database, world, 60);
    await refuse(checks.filter((_, index) => index % 5 === 0).map(({ id }) => id));
    const swept = await sweep({ limit: 5 });
    await permit();
    expect(swept.quarantined).toHaveLength(12);
    expect(swept).toMatchObject({ looked: 60, fired: 48, isComplete: true });
  });
});

describe("a check that our own code stumbles over", () => {
  test("because a value of it cannot be read, is quarantined", async () => {
    const checks = await makeManyWatched(database, world, 5);
    await database.db.pool.query("update check_states set last_start_at = 'infinity' where check_id = $1", [
      checks[2]?.id,
    ]);
    const swept = await sweep();
    expect(swept).toMatchObject({ fired: 4 });
    expect(swept.quarantined).toMatchObject([
      { checkId: checks[2]?.id, reason: expect.stringContaining("not a timestamp") },
    ]);
  });

  test("because its schedule is no longer valid, is quarantined instead of never alerting", async () => {
    const [check] = await makeManyWatched(database, world, 1);
    await database.db.pool.query("update checks set kind = 'cron', schedule = 'nonsense' where id = $1", [
      check?.id,
    ]);
    const swept = await sweep();
    expect(swept.quarantined).toMatchObject([
      { reason: expect.stringContaining("can no longer be calculated") },
    ]);
    expect(await storedRow(database, check?.id ?? 0)).toMatchObject({ status: "up" });
  });
});

test("other database errors of a batch quarantine no check", async () => {
  await makeManyWatched(database, world, 3);
  await database.db.pool.query("alter table flips rename to flips_hidden");
  await expect(sweep()).rejects.toThrow(/relation "flips" does not exist/);
  await database.db.pool.query("alter table flips_hidden rename to flips");
  expect(await listQuarantinedChecks(database.db, 10)).toEqual([]);
  expect(await sweep()).toMatchObject({ fired: 3 });
});
