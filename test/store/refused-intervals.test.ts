import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  deleteRefusedOfCheck,
  insertRefusedIntervals,
  listRecentAddresses,
  listRefusedIntervals,
  pruneRefusedIntervals,
  type RefusedInterval,
} from "../../src/store/intakes.ts";
import { insertPings } from "../../src/store/pings.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as AT, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const MINUTE_MS = 60_000;

const ofCheck = (checkId: number, from: number, to = from): RefusedInterval => ({
  checkId,
  network: null,
  from,
  to,
});
const ofNetwork = (network: string, from: number, to = from): RefusedInterval => ({
  checkId: null,
  network,
  from,
  to,
});

test("intervals are listed by check, and those of networks for all checks", async () => {
  const intakeId = randomUUID();
  const [one, other] = [ofCheck(1, AT), ofCheck(2, AT)];
  const network = ofNetwork("192.0.2.1", AT, AT + 1);
  const insert = (intervals: RefusedInterval[], by = intakeId) =>
    inTransaction(database.db, (tx) => insertRefusedIntervals(tx, { intakeId: by, intervals }));
  await insert([one, other, network]);
  const list = (checkIds: number[], from = AT) => listRefusedIntervals(database.db, { checkIds, from });
  expect(await list([1])).toEqual([one, network]);
  expect(await list([3])).toEqual([network]);
  expect(await list([1], AT + 2)).toEqual([]);
  // A continued interval of the same intake is extended; another intake has its own intervals.
  await insert([ofCheck(1, AT + MINUTE_MS), ofNetwork("192.0.2.1", AT + MINUTE_MS)]);
  await insert([ofCheck(1, AT + MINUTE_MS)], randomUUID());
  expect(await list([1])).toEqual([
    { ...one, to: AT + MINUTE_MS },
    ofCheck(1, AT + MINUTE_MS),
    { ...network, to: AT + MINUTE_MS },
  ]);
  await inTransaction(database.db, (tx) => deleteRefusedOfCheck(tx, 1));
  expect(await list([1])).toHaveLength(1);
  const prune = (before: number) =>
    inTransaction(database.db, (tx) => pruneRefusedIntervals(tx, { before, limit: 10 }));
  expect(await prune(AT)).toBe(0);
  expect(await prune(AT + 1)).toBe(1);
  expect(await prune(AT + 2 * MINUTE_MS)).toBe(1);
});

test("a check is known by the addresses of its newest pings", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const check = await sampleCheck(database.db, { projectId });
  const pings = Array.from({ length: 12 }, (_, index) => ({
    checkId: check.id,
    n: index + 1,
    at: AT + index,
    kind: "success" as const,
    durationMs: null,
    scheme: "http",
    method: "GET",
    remoteAddr: index === 11 ? null : `192.0.2.${index}`,
    ua: "",
    rid: null,
    exitStatus: null,
    bodySize: null,
  }));
  await inTransaction(database.db, (tx) => insertPings(tx, pings));
  const found = await listRecentAddresses(database.db, [check.id, check.id + 1]);
  const newest = Array.from({ length: 9 }, (_, index) => `192.0.2.${index + 2}`);
  expect([...(found.get(check.id) ?? [])].toSorted()).toEqual(newest.toSorted());
  expect(found.has(check.id + 1)).toBe(false);
});
