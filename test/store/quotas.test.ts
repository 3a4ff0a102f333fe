// Monthly quotas of accounts.
import { expect, test } from "vitest";
import {
  addMissingQuotas,
  lockQuotas,
  markLimitNotified,
  type QuotaName,
  writeQuotas,
} from "../../src/store/quotas.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleAccount } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const NOVEMBER = Date.parse("2026-11-01T00:00:00Z");
const DECEMBER = Date.parse("2026-12-01T00:00:00Z");

test("an account has a count for each quota, which a new month replaces", async () => {
  const [one, two] = [(await sampleAccount(database.db)).id, (await sampleAccount(database.db)).id];
  const names: QuotaName[] = [
    { accountId: one, quota: "messages" },
    { accountId: one, quota: "calls" },
    { accountId: two, quota: "messages" },
  ];
  const [first, ...others] = names;
  if (first === undefined) throw new Error("there are three names");
  await write((tx) => addMissingQuotas(tx, names));
  await write((tx) => writeQuotas(tx, [{ ...first, monthAt: NOVEMBER, usedCount: 7 }]));
  await write((tx) => addMissingQuotas(tx, names));
  const locked = await write((tx) => lockQuotas(tx, names));
  expect(locked).toHaveLength(3);
  expect(locked).toContainEqual({ ...first, monthAt: NOVEMBER, usedCount: 7 });
  for (const other of others) expect(locked).toContainEqual({ ...other, monthAt: 0, usedCount: 0 });
  expect(await write((tx) => lockQuotas(tx, [first]))).toHaveLength(1);
});

test("the owner is notified once in a month", async () => {
  const { id: accountId } = await sampleAccount(database.db);
  const name: QuotaName = { accountId, quota: "calls" };
  const mark = (monthAt: number) => write((tx) => markLimitNotified(tx, { ...name, monthAt, at: monthAt }));
  const use = (monthAt: number) => write((tx) => writeQuotas(tx, [{ ...name, monthAt, usedCount: 1 }]));
  expect(await mark(NOVEMBER)).toBe(false);
  await write((tx) => addMissingQuotas(tx, [name]));
  await use(NOVEMBER);
  expect([await mark(DECEMBER), await mark(NOVEMBER), await mark(NOVEMBER)]).toEqual([false, true, false]);
  await use(NOVEMBER);
  expect(await mark(NOVEMBER)).toBe(false);
  await use(DECEMBER);
  expect([await mark(NOVEMBER), await mark(DECEMBER)]).toEqual([false, true]);
});
