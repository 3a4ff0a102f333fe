// Lookups for a batch of signals: checks by target, and the limits of their logs.
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  findCheckIdsBySlugs,
  findCheckIdsByUuids,
  findLogLimits,
  findTargetSettings,
  lockTargets,
  markCheckDeleted,
} from "../../src/store/checks.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const markDeleted = (checkId: number) =>
  inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId, at: MONDAY_NOON }));

test("checks are found by many uuids at once, unknown and deleted ones are left out", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const [first, second] = [
    await sampleCheck(database.db, { projectId }),
    await sampleCheck(database.db, { projectId }),
  ];
  const gone = await sampleCheck(database.db, { projectId });
  await markDeleted(gone.id);
  const found = await findCheckIdsByUuids(database.db, [second.uuid, randomUUID(), gone.uuid, first.uuid]);
  expect(found).toEqual(
    new Map([
      [first.uuid, first.id],
      [second.uuid, second.id],
    ]),
  );
});

test("checks are locked and read by uuid and by id at once, in the order of their ids", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const made = [];
  for (let i = 0; i < 4; i++)
    made.push(await sampleCheck(database.db, { projectId, methods: "POST", desc: "long" }));
  const [first, second, third, gone] = made.map(({ id, uuid }) => ({ id, uuid }));
  await markDeleted(gone?.id ?? 0);
  const names = {
    uuids: [third?.uuid ?? "", randomUUID(), gone?.uuid ?? ""],
    ids: [second?.id ?? 0, first?.id ?? 0],
  };
  const states = await inTransaction(database.db, (tx) => lockTargets(tx, names));
  expect(states.map(({ checkId }) => checkId)).toEqual([first?.id, second?.id, third?.id]);
  const found = await findTargetSettings(database.db, names);
  expect(found.map(({ id, uuid }) => ({ id, uuid })).toSorted((a, b) => a.id - b.id)).toEqual([
    first,
    second,
    third,
  ]);
  expect(found[0]?.settings).toEqual({ ...found[1]?.settings });
  expect(found[0]?.settings).toMatchObject({ kind: "simple", methods: "POST" });
  expect(found[0]?.settings).not.toHaveProperty("desc");
  expect(await findTargetSettings(database.db, { uuids: [], ids: [] })).toEqual([]);
});

test("each pair of ping key and slug gets its own answer, in order", async () => {
  const project = await sampleProject(database.db);
  const other = await sampleProject(database.db);
  const one = await sampleCheck(database.db, { projectId: project.id, slug: "one" });
  const same = await sampleCheck(database.db, { projectId: other.id, slug: "one" });
  for (let i = 0; i < 2; i++) await sampleCheck(database.db, { projectId: project.id, slug: "twice" });
  await markDeleted((await sampleCheck(database.db, { projectId: project.id, slug: "one" })).id);
  await sampleCheck(database.db, { projectId: project.id, slug: "" });
  const pair = (slug: string, pingKey = project.pingKey ?? "") => ({ pingKey, slug });
  const pairs = [
    pair("twice"),
    pair("one"),
    pair("none"),
    pair("one", other.pingKey ?? ""),
    pair(""),
    pair("one", "no"),
  ];
  expect(await findCheckIdsBySlugs(database.db, [...pairs, pair("one")])).toEqual([
    "ambiguous",
    one.id,
    null,
    same.id,
    null,
    null,
    one.id,
  ]);
});

test("a log limit is that of the owner, where the owner has one", async () => {
  const limited = await sampleAccount(database.db, { pingLogLimit: 300 });
  const [small, plain] = [
    await sampleProject(database.db, { ownerId: limited.id }),
    await sampleProject(database.db),
  ];
  const { id } = await sampleCheck(database.db, { projectId: small.id });
  const unlimited = await sampleCheck(database.db, { projectId: plain.id });
  expect(await findLogLimits(database.db, [id, unlimited.id])).toEqual(new Map([[id, 300]]));
});
