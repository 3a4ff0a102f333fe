// Quarantined pings by hand, through the real program: listed, retried, and gone.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { encodeSignal } from "../../src/intake/accepted-codec.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { listPings } from "../../src/store/pings.ts";
import { insertRejectedSignal } from "../../src/store/quarantine.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { signal } from "../intake/scripted-ports.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";
import { callOverdue, useDurablePostgres } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const postgres = useDurablePostgres();
let environment: Record<string, string> = {};
let db: Database;

beforeAll(async () => {
  const url = await postgres.newDatabase();
  environment = { OVERDUE_DATABASE_URL: url };
  await callOverdue(["migrate"], environment);
  db = openDatabase({ url, applicationName: "test", onError: () => {} });
});
afterAll(() => db.close());

const quarantine = (...options: string[]) => callOverdue(["admin", "quarantine", ...options], environment);

async function keep(bytes: Uint8Array, { checkId = null as number | null, reason = "why" } = {}) {
  const kept = { intakeId: randomUUID(), seq: 1, checkId, at: MONDAY_NOON, reason };
  await inTransaction(db, (tx) => insertRejectedSignal(tx, { ...kept, signal: Buffer.from(bytes) }));
}

test("quarantined pings are listed with check and reason, retried, and gone when that succeeds", async () => {
  expect((await quarantine("list")).out).toBe("No pings are quarantined.\n");
  const { id: projectId } = await sampleProject(db);
  const check = await sampleCheck(db, { projectId });
  const success = (uuid: string) =>
    encodeSignal(signal("x", { target: { by: "uuid", uuid }, at: MONDAY_NOON }));
  await keep(success(check.uuid), { checkId: check.id, reason: "value too long" });
  await keep(success(randomUUID()));
  await keep(Buffer.from("unreadable"), { reason: "unreadable: no signal" });

  const lines = (await quarantine("list")).out.trimEnd().split("\n");
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ["received", "check", "reason"],
    ["2026-11-16T12:00:00.000Z", "unknown", "unreadable: no signal"],
    ["2026-11-16T12:00:00.000Z", "unknown", "why"],
    ["2026-11-16T12:00:00.000Z", check.uuid, "value too long"],
  ]);
  const listed = JSON.parse((await quarantine("list", "--json")).out) as { count: number; pings: object[] };
  expect(listed).toMatchObject({
    count: 3,
    pings: [{ check: null }, { check: null }, { check: check.uuid }],
  });

  expect(await quarantine("retry")).toMatchObject({
    code: 0,
    out: "Recorded: 1. Dropped because the check no longer exists: 1. Still quarantined: 1.\n",
  });
  expect(await listPings(db, { checkId: check.id, afterN: 0, limit: 10 })).toMatchObject([
    { at: MONDAY_NOON },
  ]);
  expect(JSON.parse((await quarantine("retry", "--json")).out)).toEqual({
    recorded: 0,
    dropped: 0,
    failed: 1,
  });
});

test("more pings than are listed are counted", async () => {
  await db.pool.query("truncate rejected_signals");
  for (let n = 0; n < 102; n += 1) await keep(Buffer.from("unreadable"), { reason: `reason ${n}` });
  const { out } = await quarantine("list");
  expect(out.trimEnd().split("\n").at(-1)).toBe("2 more not shown.");
  expect(out).toContain("reason 101");
  expect(out).not.toContain("reason 1\n");
});
