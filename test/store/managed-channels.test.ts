// Channels as their owners manage them, the delivery log, and idempotency keys.
import { createHash, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DAY_MS } from "../../src/core/instant.ts";
import {
  assignChecks,
  claimIdempotencyKey,
  countChannels,
  disableChannel,
  findAssignableChecks,
  findIdempotencyKey,
  findManagedChannel,
  listAssignedChecks,
  listManagedChannels,
  lockChannelsOfProject,
  pruneIdempotencyKeys,
  trimIdempotencyKeys,
  writeChannel,
} from "../../src/store/channels.ts";
import { type CheckWithState, markCheckDeleted } from "../../src/store/checks.ts";
import {
  countRecentTests,
  findLoggedDeliveries,
  listLoggedDeliveries,
  noteReport,
  reopenDelivery,
} from "../../src/store/deliveries.ts";
import { insertTestDeliveries } from "../../src/store/planning.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { addChannel, assign, flip, owe } from "../support/owed.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

describe("managed channels", () => {
  test("are found in their project only, counted, and listed after an id", async () => {
    const { id: projectId, uuid: projectUuid } = await sampleProject(database.db);
    const { id: otherId } = await sampleProject(database.db);
    const [one, two] = [
      await addChannel(database.db, { projectId }),
      await addChannel(database.db, { projectId }),
    ];
    const found = await findManagedChannel(database.db, { projectId, uuid: one.uuid });
    expect(found).toEqual({ ...one, revision: 1, checkCount: 0 });
    expect(await findManagedChannel(database.db, { projectId: otherId, uuid: one.uuid })).toBeNull();
    const list = (afterId: number) => listManagedChannels(database.db, { projectId, afterId, limit: 9 });
    expect((await list(0)).map(({ uuid }) => uuid)).toEqual([one.uuid, two.uuid]);
    expect((await list(one.id)).map(({ uuid }) => uuid)).toEqual([two.uuid]);
    expect(await countChannels(database.db, projectId)).toBe(2);
    expect(await write((tx) => lockChannelsOfProject(tx, projectId))).toBe(projectUuid);
    expect(await write((tx) => lockChannelsOfProject(tx, 999_999))).toBeNull();
  });

  test("count their changes, and stay disabled when that is said", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId, uuid } = await addChannel(database.db, { projectId });
    await write((tx) => disableChannel(tx, { channelId, at: MONDAY_NOON, reason: "gone" }));
    const disabled = { at: MONDAY_NOON, reason: "gone" };
    await write((tx) => writeChannel(tx, { channelId, name: "renamed", disabled }));
    expect(await findManagedChannel(database.db, { projectId, uuid })).toMatchObject({
      revision: 3,
      name: "renamed",
      disabledAt: MONDAY_NOON,
      disabledReason: "gone",
    });
  });

  test("notify only for their assigned checks; deleted ones are left out", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const checks: CheckWithState[] = [];
    for (let n = 0; n < 3; n += 1) checks.push(await sampleCheck(database.db, { projectId }));
    const { id: channelId, uuid } = await addChannel(database.db, { projectId });
    const uuids = checks.map((check) => check.uuid);
    const found = await findAssignableChecks(database.db, { projectId, uuids: [...uuids, randomUUID()] });
    expect(found.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(checks.map(({ id }) => id));
    const heard = async (afterId = 0) =>
      (await listAssignedChecks(database.db, { channelId, afterId, limit: 9 })).map(({ id }) => id);
    await write((tx) => assignChecks(tx, { channelId, checkIds: checks.map(({ id }) => id) }));
    expect(await heard()).toEqual(checks.map(({ id }) => id));
    const [first, , last] = checks;
    if (first === undefined || last === undefined) throw new Error("three checks were made");
    await write((tx) => assignChecks(tx, { channelId, checkIds: [first.id, last.id] }));
    expect([await heard(), await heard(first.id)]).toEqual([[first.id, last.id], [last.id]]);
    await write((tx) => markCheckDeleted(tx, { checkId: last.id, at: MONDAY_NOON }));
    expect(await heard()).toEqual([first.id]);
    expect(await findManagedChannel(database.db, { projectId, uuid })).toMatchObject({ checkCount: 1 });
    expect(await findAssignableChecks(database.db, { projectId, uuids: [last.uuid] })).toEqual([]);
  });
});

describe("the delivery log", () => {
  test("names channel and check, newest first, of several channels at once, and of one project", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId, name: "Nightly" });
    const [one, two] = [
      await addChannel(database.db, { projectId }),
      await addChannel(database.db, { projectId }),
    ];
    await assign(database.db, check, [one, two]);
    await owe(database.db, { check }, flip("down"));
    await write((tx) => insertTestDeliveries(tx, { channelId: one.id, at: MONDAY_NOON }));
    const list = (page: { beforeId: number | null; limit: number }) =>
      listLoggedDeliveries(database.db, { channelIds: [one.id, two.id], ...page });
    const all = await list({ beforeId: null, limit: 9 });
    expect(all.map(({ kind, channel, check: about }) => [kind, channel.uuid, about?.name ?? null])).toEqual([
      ["test", one.uuid, null],
      ["flip", two.uuid, "Nightly"],
      ["flip", one.uuid, "Nightly"],
    ]);
    const [newest, middle] = all;
    if (newest === undefined || middle === undefined) throw new Error("three deliveries were owed");
    expect(await list({ beforeId: newest.id, limit: 1 })).toEqual([middle]);
    const find = (id: number) =>
      findLoggedDeliveries(database.db, { projectId: id, deliveryIds: [newest.id, middle.id] });
    expect(await find(projectId)).toEqual([middle, newest]);
    expect(await find((await sampleProject(database.db)).id)).toEqual([]);
  });

  test("a message that was given up is due again as a whole, one that was sent is not", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId });
    const channel = await addChannel(database.db, { projectId });
    await assign(database.db, check, [channel]);
    await owe(database.db, { check }, flip("down"), flip("up", MONDAY_NOON + 1_000));
    const list = () =>
      listLoggedDeliveries(database.db, { channelIds: [channel.id], beforeId: null, limit: 9 });
    const [second, first] = await list();
    if (first === undefined || second === undefined) throw new Error("two deliveries were owed");
    const settle = (state: string) =>
      database.db.pool.query(
        `update deliveries set state = $2, settled_at = now(), next_try_at = null, message_id = $3
         where channel_id = $1`,
        [channel.id, state, first.id],
      );
    const reopen = () => write((tx) => reopenDelivery(tx, { deliveryId: second.id, channelId: channel.id }));
    await settle("dead");
    expect(await reopen()).toBe(true);
    expect((await list()).map(({ state, messageId }) => [state, messageId])).toEqual([
      ["pending", null],
      ["pending", null],
    ]);
    await settle("sent");
    expect(await reopen()).toBe(false);
  });

  test("a report of the receiver is noted on the message that it accepted, and on no other", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId });
    const channel = await addChannel(database.db, { projectId });
    await assign(database.db, check, [channel]);
    await owe(database.db, { check }, flip("down"), flip("up", MONDAY_NOON + 1_000));
    await write((tx) => insertTestDeliveries(tx, { channelId: channel.id, at: MONDAY_NOON }));
    const list = () =>
      listLoggedDeliveries(database.db, { channelIds: [channel.id], beforeId: null, limit: 9 });
    const [other, second, first] = await list();
    if (first === undefined || second === undefined) throw new Error("two deliveries were owed");
    const bind = (id: number, state: string) =>
      database.db.pool.query(
        `update deliveries set message_id = $2, state = $3,
           settled_at = case when $3 = 'pending' then null else now() end,
           next_try_at = case when $3 = 'pending' then now() end
         where id = $1`,
        [id, first.id, state],
      );
    const note = (dedupeKey = first.dedupeKey, channelUuid = channel.uuid) =>
      write((tx) => noteReport(tx, { channelUuid, dedupeKey, reason: "busy" }));
    const reasons = async () => (await list()).map(({ reason }) => reason);
    await bind(first.id, "pending");
    await bind(second.id, "pending");
    expect(await note()).toBe("pending");
    expect(await reasons()).toEqual([null, null, null]);
    await bind(first.id, "merged");
    await bind(second.id, "sent");
    expect(await note()).toBe("sent");
    expect(await reasons()).toEqual([null, "busy", "busy"]);
    expect(await note(randomUUID())).toBeNull();
    expect(await note(first.dedupeKey, randomUUID())).toBeNull();
    // It was not sent yet.
    expect(await note(other?.dedupeKey)).toBeNull();
  });

  test("tests of the last minute are counted by the most tested channel", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const [one, two] = [
      await addChannel(database.db, { projectId }),
      await addChannel(database.db, { projectId }),
    ];
    const count = () =>
      countRecentTests(database.db, { channelIds: [one.id, two.id], after: MONDAY_NOON - 60_000 });
    expect(await count()).toBe(0);
    const press = (channelId: number, at: number) =>
      write((tx) => insertTestDeliveries(tx, { channelId, at }));
    await press(one.id, MONDAY_NOON - 60_000);
    await press(one.id, MONDAY_NOON);
    await press(two.id, MONDAY_NOON);
    await press(two.id, MONDAY_NOON);
    expect(await count()).toBe(2);
  });
});

describe("names of requests", () => {
  const digest = (text: string) => createHash("sha256").update(text).digest();

  test("are taken once, until they are old", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const claim = (at: number, uuid: string) =>
      write((tx) =>
        claimIdempotencyKey(tx, {
          projectId,
          keyDigest: digest("key"),
          requestDigest: digest("request"),
          uuid,
          at,
          keptFrom: at - DAY_MS,
        }),
      );
    const [first, second] = [randomUUID(), randomUUID()];
    const find = () => findIdempotencyKey(database.db, { projectId, keyDigest: digest("key") });
    expect(await find()).toBeNull();
    expect(await claim(MONDAY_NOON, first)).toBe(true);
    expect(await claim(MONDAY_NOON + DAY_MS, second)).toBe(false);
    expect(await find()).toEqual({ requestDigest: digest("request"), uuid: first });
    expect(await claim(MONDAY_NOON + DAY_MS + 1, second)).toBe(true);
    expect((await find())?.uuid).toBe(second);
  });

  test("are deleted by number and by age", async () => {
    const { id: projectId } = await sampleProject(database.db);
    for (const n of [1, 2, 3, 4]) {
      await write((tx) =>
        claimIdempotencyKey(tx, {
          projectId,
          keyDigest: digest(`${n}`),
          requestDigest: digest(""),
          uuid: randomUUID(),
          at: MONDAY_NOON + n,
          keptFrom: 0,
        }),
      );
    }
    const left = async () => {
      const found = await Promise.all(
        [1, 2, 3, 4].map((n) => findIdempotencyKey(database.db, { projectId, keyDigest: digest(`${n}`) })),
      );
      return found.flatMap((one, index) => (one === null ? [] : [index + 1]));
    };
    expect(await write((tx) => trimIdempotencyKeys(tx, { projectId, keep: 3 }))).toBe(1);
    expect(await left()).toEqual([2, 3, 4]);
    await database.db.pool.query("delete from idempotency_keys where project_id <> $1", [projectId]);
    const prune = (limit: number) =>
      write((tx) => pruneIdempotencyKeys(tx, { before: MONDAY_NOON + 4, limit }));
    expect([await prune(1), await prune(9), await prune(9)]).toEqual([1, 1, 0]);
    expect(await left()).toEqual([4]);
  });
});
