import { describe, expect, test } from "vitest";
import { decodeQuarantined, encodeSignal } from "../../src/intake/accepted-codec.ts";
import { retryQuarantined } from "../../src/operations/quarantine.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import { listPings } from "../../src/store/pings.ts";
import { countRejectedSignals, insertRejectedSignal } from "../../src/store/quarantine.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { signal } from "../intake/scripted-ports.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON } from "../support/sample.ts";
import { HOURLY_DOWN_AT, makeWatched, makeWorld, sightUntil, storedRow } from "../support/sweeping.ts";

const database = useDatabase();
const INTAKE_ID = "11111111-1111-4111-8111-111111111111";

async function quarantine(bytes: Uint8Array, { checkId, at }: { checkId: number | null; at: number }) {
  const kept = { intakeId: INTAKE_ID, seq: 1, checkId, at, reason: "why", signal: Buffer.from(bytes) };
  await inTransaction(database.db, (tx) => insertRejectedSignal(tx, kept));
}

const success = (uuid: string, at: number) => encodeSignal(signal("x", { target: { by: "uuid", uuid }, at }));
const retry = ({ withinMs = 60_000 } = {}) =>
  retryQuarantined(database.db, {
    withinMs,
    visibility: sightUntil(null),
    rules: { ratePerMinute: 60 },
    pingLogRows: 100,
    decode: decodeQuarantined,
  });

describe("a quarantined ping", () => {
  test("keeps its check from being reported as down, and no other", async () => {
    const world = await makeWorld(database);
    const [check, other] = [await makeWatched(database, world), await makeWatched(database, world)];
    // It arrived slightly before the expected time, as pings do.
    const at = MONDAY_NOON + 3_590_000;
    await quarantine(success(check.uuid, at), { checkId: check.id, at });
    const visibility = sightUntil(HOURLY_DOWN_AT + 1_000);
    await sweepDeadlines(database.db, { now: HOURLY_DOWN_AT + 2_000, visibility });
    expect(await storedRow(database, check.id)).toMatchObject({ status: "up" });
    expect(await storedRow(database, other.id)).toMatchObject({ status: "down" });
  });

  test("is recorded with its own time when it is retried, and leaves the quarantine", async () => {
    await database.db.pool.query("truncate rejected_signals");
    const world = await makeWorld(database);
    const check = await makeWatched(database, world);
    const at = MONDAY_NOON + 60_000;
    await quarantine(success(check.uuid, at), { checkId: check.id, at });
    await quarantine(success(INTAKE_ID, at), { checkId: null, at });
    await quarantine(Buffer.from("unreadable"), { checkId: null, at });
    expect(await retry()).toEqual({ recorded: 1, dropped: 1, failed: 1 });
    expect(await listPings(database.db, { checkId: check.id, afterN: 0, limit: 10 })).toMatchObject([{ at }]);
    expect(await countRejectedSignals(database.db)).toMatchObject({ count: 1 });
    expect(await retry()).toEqual({ recorded: 0, dropped: 0, failed: 1 });
  });

  test("is left for the next call when there is no time left", async () => {
    await database.db.pool.query("truncate rejected_signals");
    await quarantine(success(INTAKE_ID, MONDAY_NOON), { checkId: null, at: MONDAY_NOON });
    expect(await retry({ withinMs: 0 })).toEqual({ recorded: 0, dropped: 0, failed: 0 });
    expect(await retry()).toEqual({ recorded: 0, dropped: 1, failed: 0 });
  });

  test("stays quarantined when the database still refuses it, and holds up no other", async () => {
    await database.db.pool.query("truncate rejected_signals");
    const world = await makeWorld(database);
    const check = await makeWatched(database, world);
    const target = { by: "uuid", uuid: check.uuid } as const;
    const at = MONDAY_NOON + 60_000;
    await quarantine(encodeSignal(signal("nul \u0000", { target, at })), { checkId: check.id, at });
    await quarantine(success(check.uuid, at), { checkId: check.id, at });
    expect(await retry()).toEqual({ recorded: 1, dropped: 0, failed: 1 });
  });
});
