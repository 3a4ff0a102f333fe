import { randomBytes, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  deleteBoardLink,
  findBoardLink,
  insertBoardLink,
  listBoardLinks,
  type NewBoardLink,
  touchBoardLink,
} from "../../src/store/board-links.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

async function sampleLink(projectId: number, name = "Office"): Promise<NewBoardLink> {
  const link = { uuid: randomUUID(), projectId, name, digest: randomBytes(32), createdAt: MONDAY_NOON };
  const { id: _, ...stored } = await write((tx) => insertBoardLink(tx, link));
  expect(stored).toEqual({ uuid: link.uuid, name, createdAt: MONDAY_NOON, lastUsedAt: null });
  return link;
}

test("a link is found by its digest, with its project", async () => {
  const project = await sampleProject(database.db);
  const { uuid, digest } = await sampleLink(project.id);
  const found = await findBoardLink(database.db, digest);
  expect([found?.link.uuid, found?.project.uuid]).toEqual([uuid, project.uuid]);
  expect(await findBoardLink(database.db, randomBytes(32))).toBeNull();
});

test("links are listed newest first, and deleted only by their project", async () => {
  const [{ id: projectId }, other] = [await sampleProject(database.db), await sampleProject(database.db)];
  const first = await sampleLink(projectId, "first");
  const second = await sampleLink(projectId, "second");
  await sampleLink(other.id);
  const uuids = async () => (await listBoardLinks(database.db, projectId)).map(({ uuid }) => uuid);
  expect(await uuids()).toEqual([second.uuid, first.uuid]);
  const remove = (of: number) => write((tx) => deleteBoardLink(tx, { uuid: first.uuid, projectId: of }));
  expect(await remove(other.id)).toBeNull();
  expect(await remove(projectId)).toMatchObject({ uuid: first.uuid, name: "first" });
  expect(await remove(projectId)).toBeNull();
  expect(await uuids()).toEqual([second.uuid]);
  expect(await findBoardLink(database.db, first.digest)).toBeNull();
});

test("the last use only moves forward", async () => {
  const { id: projectId } = await sampleProject(database.db);
  await sampleLink(projectId);
  const link = async () => {
    const [first] = await listBoardLinks(database.db, projectId);
    if (first === undefined) throw new Error("the link is gone");
    return first;
  };
  const { id } = await link();
  for (const at of [MONDAY_NOON + 60_000, MONDAY_NOON]) await write((tx) => touchBoardLink(tx, { id, at }));
  expect((await link()).lastUsedAt).toBe(MONDAY_NOON + 60_000);
});
