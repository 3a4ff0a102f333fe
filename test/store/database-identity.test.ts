import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  findChallengeAnswer,
  findStoredIdentity,
  insertChallenge,
  insertIdentity,
  lockStoredIdentity,
  readActualIdentity,
  writeIdentity,
} from "../../src/store/instance.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON } from "../support/sample.ts";

const database = useDatabase();

test("the identity is stored once, and replaced as a whole", async () => {
  const { db } = database;
  expect(await findStoredIdentity(db)).toBeNull();
  const identity = await readActualIdentity(db);
  expect(identity).toEqual({
    systemIdentifier: expect.stringMatching(/^\d+$/),
    databaseOid: expect.any(Number),
  });
  const first = { identity, siteUrl: null, now: MONDAY_NOON };
  await inTransaction(db, (tx) => insertIdentity(tx, first));
  await inTransaction(db, (tx) => insertIdentity(tx, { ...first, siteUrl: "http://later.example" }));
  const stored = {
    ...identity,
    siteUrl: null,
    state: "normal",
    stateSinceAt: MONDAY_NOON,
    gapFromAt: null,
    reason: null,
    noticeId: null,
  } as const;
  expect(await inTransaction(db, (tx) => lockStoredIdentity(tx))).toEqual(stored);
  const safe = { ...stored, state: "safe", gapFromAt: MONDAY_NOON - 1, reason: "why", noticeId: 7 } as const;
  await inTransaction(db, (tx) => writeIdentity(tx, safe));
  expect(await findStoredIdentity(db)).toEqual(safe);
});

test("a challenge is found by its id, and old ones are deleted", async () => {
  const { db } = database;
  const old = { id: randomUUID(), answer: "old", now: MONDAY_NOON, keptFrom: MONDAY_NOON };
  const young = { id: randomUUID(), answer: "young", now: MONDAY_NOON + 2, keptFrom: MONDAY_NOON + 1 };
  await inTransaction(db, (tx) => insertChallenge(tx, old));
  expect(await findChallengeAnswer(db, old.id)).toBe("old");
  await inTransaction(db, (tx) => insertChallenge(tx, young));
  expect(await findChallengeAnswer(db, old.id)).toBeNull();
  expect(await findChallengeAnswer(db, young.id)).toBe("young");
});
