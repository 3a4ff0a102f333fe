// Near misses and aliases: their rows, and the searches for what a request was meant for, by index.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DAY_MS, type Instant } from "../../src/core/instant.ts";
import { addSighting, uuidPieces } from "../../src/core/near-miss.ts";
import { lockAliasedTargets, lockTargets, markCheckDeleted, restoreCheck } from "../../src/store/checks.ts";
import { insertAuditEntries } from "../../src/store/audit.ts";
import {
  countNearMisses,
  deleteAlias,
  deleteAliasAddress,
  deleteNearMisses,
  findAliasesBySlug,
  findAliasesByUuid,
  findChecksBySlugs,
  findDeletions,
  findMissedChecks,
  findNamedNearMisses,
  findNearMiss,
  findProjectsByPingKeys,
  findSimilarChecks,
  findSlugNeighbors,
  insertAlias,
  listAliases,
  listMalformedAliases,
  listNearMisses,
  listRankedNearMisses,
  lockNearMisses,
  markNearMiss,
  pruneNearMisses,
  reopenNearMisses,
  type WrittenNearMiss,
  writeNearMiss,
} from "../../src/store/near-misses.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

function missIn(projectId: number, given: Partial<WrittenNearMiss> & { at?: Instant } = {}): WrittenNearMiss {
  const { at = MONDAY_NOON, ...values } = given;
  return {
    projectId,
    kind: "slug",
    bySlug: true,
    address: "bakcup",
    checkId: null,
    deletedName: null,
    deletedAt: null,
    method: "POST",
    remoteAddr: "203.0.113.7",
    ua: "curl/8.5.0",
    ...addSighting(null, { count: 1, firstAt: at, lastAt: at, arrivals: [at] }),
    ...values,
  };
}

async function writeMiss(projectId: number, given: Parameters<typeof missIn>[1] = {}) {
  const miss = missIn(projectId, given);
  await write((tx) => writeNearMiss(tx, { ...miss, reopenBefore: miss.lastAt }));
  const [stored] = await findNamedNearMisses(database.db, [miss]);
  if (stored === undefined) throw new Error("the near miss that was just written is not there");
  return stored;
}

const openOf = async (projectId: number) =>
  (await listNearMisses(database.db, { projectId, isIgnored: false, limit: 10 })).map(({ id }) => id);

describe("the search for what was meant", () => {
  test("finds checks by UUID, also in the trash, and by a piece of it", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const [one, gone] = [
      await sampleCheck(database.db, { projectId }),
      await sampleCheck(database.db, { projectId }),
    ];
    await write((tx) => markCheckDeleted(tx, { checkId: gone.id, at: MONDAY_NOON }));
    const found = await findMissedChecks(database.db, [one.uuid, gone.uuid, randomUUID()]);
    expect(found.toSorted((a, b) => a.id - b.id)).toEqual([
      { id: one.id, projectId, uuid: one.uuid, isDeleted: false },
      { id: gone.id, projectId, uuid: gone.uuid, isDeleted: true },
    ]);
    for (const piece of uuidPieces(one.uuid)) {
      const [similar] = await findSimilarChecks(database.db, { pieces: [piece], limit: 10 });
      expect(similar?.id).toBe(one.id);
    }
    const other = uuidPieces(randomUUID());
    expect(await findSimilarChecks(database.db, { pieces: other, limit: 10 })).toEqual([]);
  });

  test("uses the index of pieces, not the table", async () => {
    const plan = await write(async (tx) => {
      await tx.query({ name: "test.no_seqscan", text: "set local enable_seqscan = off" }, []);
      const { rows } = await tx.query<{ "QUERY PLAN": string }>(
        {
          name: "test.explain_similar",
          text: `explain select id from checks where (array[
            '0' || substr(replace(uuid::text, '-', ''), 1, 8), '1' || substr(replace(uuid::text, '-', ''), 9, 8),
            '2' || substr(replace(uuid::text, '-', ''), 17, 8), '3' || substr(replace(uuid::text, '-', ''), 25, 8)
          ]) && '{01a9f61d7}'::text[]`,
        },
        [],
      );
      return rows.map((row) => row["QUERY PLAN"]).join("\n");
    });
    expect(plan).toContain("checks_uuid_pieces");
  });

  test("finds deletions in the audit log", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const uuid = randomUUID();
    const entry = { projectId, accountId: null, keyId: null, after: null } as const;
    await write((tx) =>
      insertAuditEntries(tx, [
        { ...entry, what: "check.deleted", subject: "old", before: { uuid }, at: MONDAY_NOON },
        { ...entry, what: "check.deleted", subject: "newer", before: { uuid }, at: MONDAY_NOON + DAY_MS },
      ]),
    );
    const found = await findDeletions(database.db, [uuid, randomUUID()]);
    expect([...found]).toEqual([[uuid, { projectId, name: "newer", at: MONDAY_NOON + DAY_MS }]]);
  });

  test("finds projects by key, checks by slug, and slugs next to a given one", async () => {
    const project = await sampleProject(database.db);
    const projectId = project.id;
    const slugs = ["alpha", "nightly-backup", "nightly-report", "zeta"];
    const made = new Map<string, number>();
    for (const slug of slugs) made.set(slug, (await sampleCheck(database.db, { projectId, slug })).id);
    const key = project.pingKey ?? "";
    expect([...(await findProjectsByPingKeys(database.db, [key, "no-such-key"]))]).toEqual([
      [key, projectId],
    ]);
    const asked = [
      { projectId, slug: "zeta" },
      { projectId, slug: "nigthly-backup" },
    ];
    expect(await findChecksBySlugs(database.db, asked)).toEqual([
      { projectId, slug: "zeta", id: made.get("zeta") },
    ]);
    const near = await findSlugNeighbors(database.db, {
      slugs: [{ projectId, slug: "nigthly-backup" }],
      limitEach: 1,
    });
    expect(near.map(({ slug }) => slug).toSorted()).toEqual(["nightly-report", "zeta"]);
  });
});

describe("a near miss", () => {
  test("is written once for its address, and read with its check", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId, name: "Backup", slug: "backup" });
    const first = await writeMiss(projectId, { checkId: check.id });
    const again = await writeMiss(projectId, { checkId: check.id, count: 9, ua: "wget" });
    expect(again).toEqual({ ...first, count: 9, ua: "wget" });
    const shown = await findNearMiss(database.db, { projectId, id: first.id });
    expect(shown?.check).toEqual({ uuid: check.uuid, name: "Backup", slug: "backup", deletedAt: null });
    const other = await sampleProject(database.db);
    expect(await findNearMiss(database.db, { projectId: other.id, id: first.id })).toBeNull();
    expect(await countNearMisses(database.db, projectId)).toEqual({ open: 1, ignored: 0 });
  });

  test("that is ignored or resolved is not open, until a resolved one is seen again", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const [one, two] = [await writeMiss(projectId), await writeMiss(projectId, { address: "other" })];
    await write((tx) => markNearMiss(tx, { id: one.id, ignoredAt: MONDAY_NOON, resolvedAt: null }));
    await write((tx) => markNearMiss(tx, { id: two.id, ignoredAt: null, resolvedAt: MONDAY_NOON }));
    expect(await openOf(projectId)).toEqual([]);
    expect(await countNearMisses(database.db, projectId)).toEqual({ open: 0, ignored: 1 });
    await writeMiss(projectId, { at: MONDAY_NOON + 1 });
    await writeMiss(projectId, { at: MONDAY_NOON, address: "other" });
    expect(await openOf(projectId)).toEqual([]);
    await writeMiss(projectId, { at: MONDAY_NOON + 1, address: "other" });
    expect(await openOf(projectId)).toEqual([two.id]);
    await write((tx) => markNearMiss(tx, { id: two.id, ignoredAt: null, resolvedAt: MONDAY_NOON + 2 }));
    await write((tx) => reopenNearMisses(tx, { projectId, address: "other", bySlug: true }));
    expect(await openOf(projectId)).toEqual([two.id]);
  });

  test("of a deleted check is open until the check is restored", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId });
    await write((tx) => markCheckDeleted(tx, { checkId: check.id, at: MONDAY_NOON }));
    const given = { kind: "deleted", bySlug: false, address: check.uuid, checkId: check.id } as const;
    const { id } = await writeMiss(projectId, given);
    expect(await openOf(projectId)).toEqual([id]);
    await write((tx) => restoreCheck(tx, check.id));
    expect(await openOf(projectId)).toEqual([]);
  });

  test("is ranked, deleted and pruned by its last request", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const [one, two] = [
      await writeMiss(projectId, { at: MONDAY_NOON - 40 * DAY_MS }),
      await writeMiss(projectId, { address: "other" }),
    ];
    await write((tx) => lockNearMisses(tx));
    expect((await listRankedNearMisses(database.db, [projectId])).toSorted((a, b) => a.id - b.id)).toEqual([
      { id: one.id, projectId, count: 1, lastAt: one.lastAt, isLikely: false },
      { id: two.id, projectId, count: 1, lastAt: two.lastAt, isLikely: false },
    ]);
    const before = MONDAY_NOON - 30 * DAY_MS;
    expect(await write((tx) => pruneNearMisses(tx, { before, limit: 1_000 }))).toBe(1);
    expect(await openOf(projectId)).toEqual([two.id]);
    await write((tx) => deleteNearMisses(tx, [two.id]));
    expect(await openOf(projectId)).toEqual([]);
  });
});

describe("an alias", () => {
  test("names its check, by UUID, slug, or any text, until it is deleted", async () => {
    const account = await sampleAccount(database.db);
    const { id: projectId, ...project } = await sampleProject(database.db, { ownerId: account.id });
    const pingKey = project.pingKey ?? "";
    const check = await sampleCheck(database.db, { projectId });
    const uuid = randomUUID();
    const malformed = uuid.slice(1);
    const add = (address: Parameters<typeof insertAlias>[1]["address"]) =>
      write((tx) =>
        insertAlias(tx, { checkId: check.id, address, accountId: account.id, createdAt: MONDAY_NOON }),
      );
    const ids = [await add({ uuid }), await add({ projectId, slug: "bakcup" }), await add({ malformed })];
    expect(await add({ uuid })).toBeNull();
    expect(await listAliases(database.db, check.id)).toEqual(
      [uuid, "bakcup", malformed].map((address, index) => ({
        id: ids[index],
        checkId: check.id,
        address,
        bySlug: index === 1,
        createdAt: MONDAY_NOON,
        email: account.email,
      })),
    );
    expect([...(await findAliasesByUuid(database.db, [uuid, randomUUID()]))]).toEqual([[uuid, check.id]]);
    const pairs = [
      { pingKey, slug: "bakcup" },
      { pingKey, slug: "backup" },
      { pingKey: "other", slug: "bakcup" },
    ];
    expect(await findAliasesBySlug(database.db, pairs)).toEqual([check.id, null, null]);
    expect((await listMalformedAliases(database.db, 1_000)).get(malformed)).toBe(check.uuid);
    await write((tx) => deleteAliasAddress(tx, { projectId, address: { uuid } }));
    expect(await write((tx) => deleteAlias(tx, { checkId: check.id, id: ids[1] ?? 0 }))).toBe(true);
    expect(await write((tx) => deleteAlias(tx, { checkId: check.id, id: ids[1] ?? 0 }))).toBe(false);
    expect((await listAliases(database.db, check.id)).map(({ address }) => address)).toEqual([malformed]);
    await write((tx) => markCheckDeleted(tx, { checkId: check.id, at: MONDAY_NOON }));
    expect((await listMalformedAliases(database.db, 1_000)).has(malformed)).toBe(false);
  });

  test("of another project's check is not deleted", async () => {
    const [mine, other] = [await sampleProject(database.db), await sampleProject(database.db)];
    const check = await sampleCheck(database.db, { projectId: other.id });
    const uuid = randomUUID();
    const alias = { checkId: check.id, address: { uuid }, accountId: null, createdAt: MONDAY_NOON };
    await write((tx) => insertAlias(tx, alias));
    await write((tx) => deleteAliasAddress(tx, { projectId: mine.id, address: { uuid } }));
    expect((await findAliasesByUuid(database.db, [uuid])).size).toBe(1);
  });

  test("does not wait for a check that another transaction has locked", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId });
    await write(async (tx) => {
      expect((await lockAliasedTargets(tx, [check.id])).map(({ checkId }) => checkId)).toEqual([check.id]);
    });
    await write(async (tx) => {
      await lockTargets(tx, { uuids: [], ids: [check.id] });
      await expect(write((other) => lockAliasedTargets(other, [check.id]))).rejects.toMatchObject({
        code: "55P03",
      });
    });
  });
});
