// Stored health problems: begun once, observed, ended once; and what is read to find them.
import { beforeEach, describe, expect, test } from "vitest";
import type { HealthProblem } from "../../src/core/server-health.ts";
import { insertTestDeliveries } from "../../src/store/planning.ts";
import {
  beginIncident,
  endIncident,
  findDueDelivery,
  listIncidents,
  seeIncident,
} from "../../src/store/instance.ts";
import { listFilledSpools, listLostIntakes } from "../../src/store/intakes.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON } from "../support/sample.ts";
import { makeWorld } from "../support/sweeping.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const trouble: HealthProblem = {
  kind: "spoolFilling",
  subject: "host/1",
  since: MONDAY_NOON,
  text: "It fills.",
};

beforeEach(async () => {
  await database.db.pool.query("truncate operator_incidents, intakes, deliveries cascade");
});

test("an incident begins once, and is ended once with the time it was last observed", async () => {
  const begin = () => write((tx) => beginIncident(tx, { ...trouble, seenAt: MONDAY_NOON + 10 }));
  expect([await begin(), await begin()]).toEqual([true, false]);
  await write((tx) => seeIncident(tx, { ...trouble, seenAt: MONDAY_NOON + 20 }));
  await write((tx) => seeIncident(tx, { ...trouble, seenAt: MONDAY_NOON + 15 }));
  expect(await listIncidents(database.db)).toEqual([{ ...trouble, seenAt: MONDAY_NOON + 20 }]);
  const end = (seenAt: number) => write((tx) => endIncident(tx, { ...trouble, seenAt }));
  expect(await end(MONDAY_NOON + 19)).toBe(false);
  expect([await end(MONDAY_NOON + 20), await end(MONDAY_NOON + 20)]).toEqual([true, false]);
  expect(await listIncidents(database.db)).toEqual([]);
});

describe("intakes with problems", () => {
  test("are those whose spool fills, and those that were lost", async () => {
    await database.db.pool.query(
      `insert into intakes (id, name, started_at, watermark_at, beat_at, lease_until_at, spool_empty,
         spool_fill, closed_at, lost)
       select gen_random_uuid(), name, at, at, at, at, false, fill, closed_at, lost
       from (values ('half', 0.5, null, false), ('full', 1, null, false), ('empty', 0.1, null, false),
           ('closed', 0.9, timestamptz '2026-11-16 12:00Z', false),
           ('lost', 0.9, '2026-11-16 12:00Z', true), ('long ago', 0, '2026-11-16 10:00Z', true))
         as given (name, fill, closed_at, lost), (select timestamptz '2026-11-16 12:00Z' as at) as clock`,
    );
    expect(await listFilledSpools(database.db, { fillMin: 0.5, limit: 10 })).toEqual([
      { name: "full", fill: 1 },
      { name: "half", fill: 0.5 },
    ]);
    expect(await listFilledSpools(database.db, { fillMin: 0.5, limit: 1 })).toHaveLength(1);
    expect(await listLostIntakes(database.db, { from: MONDAY_NOON - 3_600_000, limit: 10 })).toMatchObject([
      { name: "lost", lostAt: MONDAY_NOON },
    ]);
  });
});

test("the oldest sendable message is found, but not of a channel that was used recently", async () => {
  const { channels } = await makeWorld(database);
  const channelId = channels[0]?.id ?? 0;
  const find = (notifiedBefore: number) =>
    findDueDelivery(database.db, { now: MONDAY_NOON + 9_000, notifiedBefore });
  expect(await find(MONDAY_NOON)).toBeNull();
  await write((tx) => insertTestDeliveries(tx, { channelId, at: MONDAY_NOON + 5_000 }));
  await write((tx) => insertTestDeliveries(tx, { channelId, at: MONDAY_NOON + 2_000 }));
  expect(await find(MONDAY_NOON)).toBe(MONDAY_NOON + 2_000);
  await database.db.pool.query("update channels set last_notify_at = '2026-11-16 12:00:01Z' where id = $1", [
    channelId,
  ]);
  expect(await find(MONDAY_NOON + 1_000)).toBeNull();
  expect(await find(MONDAY_NOON + 1_001)).toBe(MONDAY_NOON + 2_000);
});
