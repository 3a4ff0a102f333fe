// Monitoring gaps: which deadlines they move and excuse, and one notice per channel and blind interval.
import { beforeEach, describe, expect, test } from "vitest";
import { HOUR_MS, type Interval, MINUTE_MS } from "../../../src/core/instant.ts";
import { sweepDeadlines } from "../../../src/operations/sweep.ts";
import { listEvents } from "../../../src/store/events.ts";
import { sampleIntake } from "../../support/checks-under-change.ts";
import { useDatabase } from "../../support/database.ts";
import {
  HOURLY_DOWN_AT,
  makeManyWatched,
  makeWatched,
  makeWorld,
  owedFlips,
  sightUntil,
  storedRow,
  type World,
} from "../../support/sweeping.ts";

const database = useDatabase();
const BLIND = { from: HOURLY_DOWN_AT - MINUTE_MS, to: HOURLY_DOWN_AT + MINUTE_MS };
/** Until then jobs with a grace period of ten minutes may retry. */
const RETRIES_END_AT = BLIND.to + 10 * MINUTE_MS;

const sweep = (watermarkAt: number, blind: readonly Interval[] = [BLIND]) =>
  sweepDeadlines(database.db, { now: watermarkAt + 1_000, visibility: sightUntil(watermarkAt, blind) });

let world: World;
beforeEach(async () => {
  await database.db.pool.query("truncate checks, flips, deliveries, notice_checks, events cascade");
  world = await makeWorld(database, { channels: 2 });
});

async function notices(): Promise<{ channelId: number; from: number; to: number; checks: number }[]> {
  const { rows } = await database.db.pool.query(
    `select d.channel_id as "channelId", d.blind_from_at as from, d.blind_to_at as to, count(n.check_id)::int as checks
     from deliveries d left join notice_checks n on n.delivery_id = d.id where d.kind = 'notice'
     group by d.id order by d.channel_id, d.blind_from_at`,
  );
  return rows;
}

const noticesOf = (checks: number, { from, to }: Interval = BLIND) =>
  world.channels.map(({ id }) => ({ channelId: id, from, to, checks }));

describe("a deadline that our blindness touches", () => {
  test("waits for retries, and is not looked at again before", async () => {
    const check = await makeWatched(database, world);
    expect(await sweep(HOURLY_DOWN_AT + 2 * MINUTE_MS)).toMatchObject({ looked: 1, moved: 1, fired: 0 });
    expect(await storedRow(database, check.id)).toEqual({
      status: "up",
      down_at: HOURLY_DOWN_AT,
      sweep_at: RETRIES_END_AT,
      held_until_at: RETRIES_END_AT,
    });
    expect(await sweep(RETRIES_END_AT)).toMatchObject({ looked: 0 });
    expect(await notices()).toEqual([]);
  });

  test("is excused when still nothing has come: no flip, one notice for each channel, a line in the history", async () => {
    const check = await makeWatched(database, world);
    expect(await sweep(RETRIES_END_AT + 1)).toMatchObject({ fired: 0, excused: 1 });
    expect(await owedFlips(database, world)).toEqual([]);
    expect(await notices()).toEqual(noticesOf(1));
    const [event] = await listEvents(database.db, { checkId: check.id, limit: 5 });
    expect(event).toMatchObject({ kind: "not_observed", at: HOURLY_DOWN_AT, detail: { blind: BLIND } });
    const row = await storedRow(database, check.id);
    expect(row).toMatchObject({ status: "up", sweep_at: BLIND.to + HOUR_MS + 10 * MINUTE_MS });
    expect(row.sweep_at).toBe(row.down_at);
    expect(await sweep(RETRIES_END_AT + MINUTE_MS)).toMatchObject({ looked: 0 });
  });

  test("fires when the next ping is missing", async () => {
    await makeWatched(database, world);
    await sweep(RETRIES_END_AT + 1);
    const anewAt = BLIND.to + HOUR_MS + 10 * MINUTE_MS;
    expect(await sweep(anewAt + 1)).toMatchObject({ fired: 1, excused: 0 });
    expect(await owedFlips(database, world)).toMatchObject([{ at: anewAt, owed: 2 }]);
    expect(await notices()).toHaveLength(2);
  });

  test("is dropped when a retry arrives", async () => {
    const check = await makeWatched(database, world);
    await sweep(HOURLY_DOWN_AT + 2 * MINUTE_MS);
    const ping = await sampleIntake(database.db);
    await ping([{ uuid: check.uuid, at: HOURLY_DOWN_AT + 3 * MINUTE_MS }]);
    expect(await sweep(RETRIES_END_AT + MINUTE_MS)).toMatchObject({ moved: 1, fired: 0, excused: 0 });
    expect(await notices()).toEqual([]);
  });

  test("does not excuse a failure that the job reported", async () => {
    const check = await makeWatched(database, world);
    const ping = await sampleIntake(database.db, { visibility: sightUntil(RETRIES_END_AT, [BLIND]) });
    const at = HOURLY_DOWN_AT + 3 * MINUTE_MS;
    await ping([{ uuid: check.uuid, at, action: "fail" }]);
    expect(await storedRow(database, check.id)).toMatchObject({ status: "down" });
    expect(await owedFlips(database, world)).toMatchObject([{ at, owed: 2 }]);
    expect(await notices()).toEqual([]);
  });

  test("that is edited in the meantime is evaluated at its new deadline", async () => {
    const check = await makeWatched(database, world);
    await sweep(HOURLY_DOWN_AT + 2 * MINUTE_MS);
    // What an edit writes: the mark at or before the deadline. The hold must not prevent that.
    await database.db.pool.query(
      "update check_states set down_at = down_at - interval '5 min', sweep_at = down_at - interval '5 min' where check_id = $1",
      [check.id],
    );
    expect(await sweep(HOURLY_DOWN_AT + 2 * MINUTE_MS)).toMatchObject({ looked: 1 });
  });
});

describe("one notice", () => {
  test("names all checks affected by the same blind interval, however many sweeps find them", async () => {
    await makeManyWatched(database, world, 12);
    const options = {
      now: RETRIES_END_AT + 2_000,
      visibility: sightUntil(RETRIES_END_AT + 1, [BLIND]),
      limit: 5,
    };
    const swept = await Promise.all([1, 2, 3].map(() => sweepDeadlines(database.db, options)));
    expect(swept.reduce((sum, { excused }) => sum + excused, 0)).toBe(12);
    expect(await notices()).toEqual(noticesOf(12));
  });

  test("is owed for each blind time", async () => {
    const second = { from: RETRIES_END_AT + 5 * MINUTE_MS, to: RETRIES_END_AT + HOUR_MS + 10 * MINUTE_MS };
    await makeWatched(database, world);
    await sweep(RETRIES_END_AT + 1);
    const end = second.to + 10 * MINUTE_MS;
    expect(await sweep(end + 1, [BLIND, second])).toMatchObject({ excused: 1, fired: 0 });
    expect(await notices()).toEqual(
      world.channels.flatMap(({ id }) =>
        [BLIND, second].map((blind) => ({ channelId: id, ...blind, checks: 1 })),
      ),
    );
  });

  test("is owed by a signal that comes first just as by the sweeper", async () => {
    const [swept, pinged] = await makeManyWatched(database, world, 2);
    if (swept === undefined || pinged === undefined) throw new Error("there are two");
    const ping = await sampleIntake(database.db, { visibility: sightUntil(RETRIES_END_AT + 5_000, [BLIND]) });
    await ping([{ uuid: pinged.uuid, at: RETRIES_END_AT + 3_000 }]);
    expect(await notices()).toEqual(noticesOf(1));
    await sweep(RETRIES_END_AT + 5_000);
    expect(await notices()).toEqual(noticesOf(2));
    const histories = await Promise.all(
      [swept, pinged].map(({ id }) => listEvents(database.db, { checkId: id, limit: 5 })),
    );
    const [one, other] = histories.map((events) =>
      events.map(({ kind, at, detail }) => ({ kind, at, detail })),
    );
    expect(one).toEqual(other);
  });
});
