// Near misses: recording requests that reached no check, and what users do about them.
import { randomUUID } from "node:crypto";
import type { CheckParams } from "../core/check.ts";
import { AppError } from "../core/errors.ts";
import { hasSlugCharacters, isUuid, newUuidIn } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import {
  ALIASES_PER_CHECK_MAX,
  NEAR_MISS_LOOKUPS_MAX,
  NEAR_MISSES_MAX,
  SLUG_LENGTH_MAX,
} from "../core/limits.ts";
import {
  addSighting,
  type Attempt,
  canonicalUuid,
  guessSchedule,
  judgeSlug,
  judgeUuid,
  type Manner,
  type NamedSlug,
  reopensBefore,
  type Sighting,
  slugVariants,
  toEvict,
  uuidPieces,
  type Verdict,
} from "../core/near-miss.ts";
import type { Database, Db } from "../store/db.ts";
import {
  type Alias,
  type AliasAddress,
  countNearMisses,
  deleteAlias,
  deleteAliasAddress,
  deleteNearMisses,
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
  listNearMisses,
  listRankedNearMisses,
  lockNearMisses,
  markNearMiss,
  type NearMissSource,
  reopenNearMisses,
  type ShownNearMiss,
  type SlugOfProject,
  writeNearMiss,
} from "../store/near-misses.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { type Actor, audit } from "./audit.ts";
import { type CheckWithChannels, createCheckIn, type CreateRequest, lockCheck } from "./checks.ts";
import { inRetriedTransaction } from "./retry.ts";

/** Requests with the same address that a process has counted. */
export type MissedRequests = { attempt: Attempt; manner: Manner; sighting: Sighting; source: NearMissSource };

/** Slugs next to a given one in the alphabet that are compared with it, on each side. */
const SLUG_NEIGHBORS = 25;
/** Checks with a piece of the given UUIDs; random UUIDs have far fewer. */
const SIMILAR_MAX = 2_000;

/**
 * Records those requests that probably belong to a project; returns how many near misses that are. Requests that
 * resemble nothing cost a few lookups, and leave no row.
 */
export async function recordNearMisses(
  database: Database,
  given: readonly MissedRequests[],
  { now }: { now: Instant },
): Promise<number> {
  const requests = given.slice(0, NEAR_MISS_LOOKUPS_MAX);
  const verdicts = await judge(database, requests);
  const found = requests.flatMap((request, index) => {
    const verdict = verdicts[index] ?? null;
    return verdict === null ? [] : [{ ...request, verdict }];
  });
  if (found.length === 0) return 0;
  await inTransaction(database, async (tx) => {
    await lockNearMisses(tx);
    const stored = await findNamedNearMisses(
      tx,
      found.map(({ verdict }) => verdict),
    );
    const tallies = new Map(stored.map((miss) => [nameOf(miss), miss]));
    for (const { verdict, sighting, source } of found) {
      const name = nameOf(verdict);
      const tally = addSighting(tallies.get(name) ?? null, sighting);
      const { deletion, ...what } = verdict;
      const deleted = { deletedName: deletion?.name ?? null, deletedAt: deletion?.at ?? null };
      const miss = { ...what, ...deleted, ...source, ...tally };
      await writeNearMiss(tx, { ...miss, reopenBefore: reopensBefore(sighting) });
      tallies.set(name, { ...miss, id: 0, ignoredAt: null, resolvedAt: null });
    }
    await evict(tx, { projectIds: new Set(found.map(({ verdict }) => verdict.projectId)), now });
  });
  return found.length;
}

function nameOf({ projectId, kind, address }: Pick<Verdict, "projectId" | "kind" | "address">): string {
  return `${projectId} ${kind} ${address}`;
}

async function evict(
  tx: Tx,
  { projectIds, now }: { projectIds: ReadonlySet<number>; now: Instant },
): Promise<void> {
  const byProject = Map.groupBy(
    await listRankedNearMisses(tx, [...projectIds]),
    ({ projectId }) => projectId,
  );
  const ids = [...byProject.values()].flatMap((rows) => toEvict(rows, { max: NEAR_MISSES_MAX, now }));
  if (ids.length > 0) await deleteNearMisses(tx, ids);
}

/** What each request was; null: it belongs to no project. */
async function judge(db: Db, requests: readonly MissedRequests[]): Promise<(Verdict | null)[]> {
  const [ofUuids, ofSlugs] = await Promise.all([judgeUuids(db, requests), judgeSlugs(db, requests)]);
  return requests.map((_, index) => ofUuids[index] ?? ofSlugs[index] ?? null);
}

async function judgeUuids(db: Db, requests: readonly MissedRequests[]): Promise<(Verdict | null)[]> {
  const texts = requests.flatMap(({ attempt }) => (attempt.by === "uuid" ? [attempt.text] : []));
  if (texts.length === 0) return [];
  const uuids = [...new Set(texts.map(canonicalUuid))].filter((uuid) => uuid !== null);
  const exact = uuids.length === 0 ? [] : await findMissedChecks(db, uuids);
  const byUuid = new Map(exact.map((check) => [check.uuid, check]));
  const unknown = texts.filter((text) => !byUuid.has(canonicalUuid(text) ?? ""));
  const gone = unknown.filter(isUuid);
  const pieces = [...new Set(unknown.flatMap(uuidPieces))];
  const [deletions, similar] = await Promise.all([
    gone.length === 0 ? new Map<string, never>() : findDeletions(db, gone),
    pieces.length === 0 ? [] : findSimilarChecks(db, { pieces, limit: SIMILAR_MAX }),
  ]);
  const byPiece = new Map<string, (typeof similar)[number][]>();
  for (const check of similar) {
    for (const piece of uuidPieces(check.uuid)) byPiece.set(piece, [...(byPiece.get(piece) ?? []), check]);
  }
  return requests.map(({ attempt, manner }) => {
    if (attempt.by !== "uuid") return null;
    const near = new Set(uuidPieces(attempt.text).flatMap((piece) => byPiece.get(piece) ?? []));
    return judgeUuid(attempt, manner, {
      exact: byUuid.get(canonicalUuid(attempt.text) ?? "") ?? null,
      deletion: deletions.get(attempt.text) ?? null,
      similar: [...near],
    });
  });
}

async function judgeSlugs(db: Db, requests: readonly MissedRequests[]): Promise<(Verdict | null)[]> {
  const keys = new Set(requests.flatMap(({ attempt }) => (attempt.by === "slug" ? [attempt.pingKey] : [])));
  if (keys.size === 0) return [];
  const projects = await findProjectsByPingKeys(db, [...keys]);
  const wanted = requests.map(({ attempt }): SlugOfProject | null => {
    const projectId = attempt.by === "slug" ? projects.get(attempt.pingKey) : undefined;
    return attempt.by === "slug" && projectId !== undefined ? { projectId, slug: attempt.slug } : null;
  });
  const slugs = wanted.filter((one) => one !== null);
  if (slugs.length === 0) return [];
  const exact = await findChecksBySlugs(db, slugs);
  const known = new Map(exact.map((one) => [slugKey(one), one]));
  const unknown = slugs.filter((one) => !known.has(slugKey(one)));
  const similar = unknown.length === 0 ? [] : await similarSlugs(db, unknown);
  const byProject = Map.groupBy(similar, ({ projectId }) => projectId);
  return requests.map(({ attempt, manner }, index) => {
    const one = wanted[index] ?? null;
    if (attempt.by !== "slug" || one === null) return null;
    const candidates: readonly NamedSlug[] = byProject.get(one.projectId) ?? [];
    const check = known.get(slugKey(one)) ?? null;
    return judgeSlug(attempt, manner, { projectId: one.projectId, check, similar: candidates });
  });
}

async function similarSlugs(
  db: Db,
  unknown: readonly SlugOfProject[],
): Promise<(SlugOfProject & { id: number })[]> {
  const variants = unknown.flatMap(({ projectId, slug }) =>
    slugVariants(slug).map((variant) => ({ projectId, slug: variant })),
  );
  const [near, other] = await Promise.all([
    findSlugNeighbors(db, { slugs: unknown, limitEach: SLUG_NEIGHBORS }),
    findChecksBySlugs(db, variants),
  ]);
  return [...new Map([...near, ...other].map((one) => [one.id, one])).values()];
}

function slugKey({ projectId, slug }: SlugOfProject): string {
  return `${projectId} ${slug}`;
}

// What users do.

type Changing = { by: Actor; at: Instant };
export type NearMissId = { projectId: number; id: number };

export type NearMissPage = { nearMisses: ShownNearMiss[]; counts: { open: number; ignored: number } };

/** The near misses of a project, last seen first. */
export async function listNearMissPage(
  db: Db,
  { projectId, isIgnored, limit }: { projectId: number; isIgnored: boolean; limit: number },
): Promise<NearMissPage> {
  const [nearMisses, counts] = await Promise.all([
    listNearMisses(db, { projectId, isIgnored, limit }),
    countNearMisses(db, projectId),
  ]);
  return { nearMisses, counts };
}

/** Throws AppError `not_found`. */
async function getNearMiss(db: Db, name: NearMissId): Promise<ShownNearMiss> {
  const miss = await findNearMiss(db, name);
  if (miss === null) throw new AppError("not_found", "Near miss not found. It may have expired.");
  return miss;
}

/** Ignores a near miss, or stops that. AppError `not_found`. */
export function ignoreNearMiss(
  database: Database,
  { projectId, id, isIgnored, by, at }: NearMissId & Changing & { isIgnored: boolean },
): Promise<ShownNearMiss> {
  return inRetriedTransaction(database, async (tx) => {
    const miss = await getNearMiss(tx, { projectId, id });
    if ((miss.ignoredAt !== null) === isIgnored) return miss;
    const ignoredAt = isIgnored ? at : null;
    await markNearMiss(tx, { ...miss, ignoredAt });
    const what = isIgnored ? "nearMiss.ignored" : "nearMiss.unignored";
    const shown = { before: null, after: { kind: miss.kind } };
    await audit(tx, { ...by, projectId, what, subject: miss.address, ...shown, at });
    return { ...miss, ignoredAt };
  });
}

/** The address that becomes an alias; null if another part of the request was wrong. */
export function aliasAddressOf({
  projectId,
  kind,
  bySlug,
  address,
}: Pick<ShownNearMiss, "projectId" | "kind" | "bySlug" | "address">): AliasAddress | null {
  if (kind !== "uuid" && kind !== "slug" && kind !== "deleted") return null;
  if (!bySlug) return isUuid(address) ? { uuid: address } : { malformed: address };
  return isSlugAlias(address) ? { projectId, slug: address } : null;
}

/** Pings with other characters are rejected before anything is looked up. */
function isSlugAlias(slug: string): boolean {
  return hasSlugCharacters(slug) && slug.length <= SLUG_LENGTH_MAX;
}

/** Whether an alias can be added for a near miss. */
export function canHaveAlias(miss: Parameters<typeof aliasAddressOf>[0]): boolean {
  return aliasAddressOf(miss) !== null;
}

/**
 * From now on, requests to the address of a near miss are pings of a check. AppError `not_found`, `conflict` if the
 * address cannot be an alias, `forbidden` beyond the limit.
 */
export function addAlias(
  database: Database,
  request: NearMissId & Changing & { checkUuid: string },
): Promise<Alias> {
  const { projectId, id, checkUuid, by, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const miss = await getNearMiss(tx, { projectId, id });
    const found = await lockCheck(tx, { projectId, uuid: checkUuid });
    if ("kind" in found) throw new AppError("invalid", "The project has no such check.", "check");
    return aliasIn(tx, { miss, check: found.check, by, at });
  });
}

type NamedCheck = { id: number; uuid: string; settings: { name: string } };

async function aliasIn(
  tx: Tx,
  { miss, check, by, at }: Changing & { miss: ShownNearMiss; check: NamedCheck },
): Promise<Alias> {
  const { projectId } = miss;
  const address = aliasAddressOf(miss);
  if (address === null) {
    throw new AppError("conflict", "This URL can't be an alias. Change the URL in the job.");
  }
  await deleteAliasAddress(tx, { projectId, address });
  if ((await listAliases(tx, check.id)).length >= ALIASES_PER_CHECK_MAX) {
    const text = `A check can have at most ${ALIASES_PER_CHECK_MAX} aliases. Remove one first.`;
    throw new AppError("forbidden", text);
  }
  const created = { checkId: check.id, address, accountId: by.accountId, createdAt: at };
  const aliasId = await insertAlias(tx, created);
  if (aliasId === null) throw new AppError("conflict", "This address is already an alias.");
  await markNearMiss(tx, { ...miss, resolvedAt: at });
  const after = { address: miss.address };
  const subject = check.settings.name === "" ? check.uuid : check.settings.name;
  await audit(tx, { ...by, projectId, what: "alias.created", subject, before: null, after, at });
  const alias = (await listAliases(tx, check.id)).find((one) => one.id === aliasId);
  if (alias === undefined) throw new Error("a new alias was not found");
  return alias;
}

/** Removes an alias. Requests to its address are near misses again. False: the check has no such alias. */
export function removeAlias(
  database: Database,
  request: Changing & { projectId: number; check: NamedCheck; id: number },
): Promise<boolean> {
  const { projectId, check, id, by, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const alias = (await listAliases(tx, check.id)).find((one) => one.id === id);
    if (alias === undefined || !(await deleteAlias(tx, { checkId: check.id, id }))) return false;
    const { address, bySlug } = alias;
    await reopenNearMisses(tx, { projectId, address, bySlug });
    const subject = check.settings.name === "" ? check.uuid : check.settings.name;
    const shown = { before: { address }, after: null };
    await audit(tx, { ...by, projectId, what: "alias.deleted", subject, ...shown, at });
    return true;
  });
}

/** The settings of the check that a near miss suggests. */
function suggestedCheck(miss: ShownNearMiss): CheckParams {
  const schedule = guessSchedule(miss.arrivals) ?? {};
  const slug = miss.bySlug && isSlugAlias(miss.address) ? { slug: miss.address } : {};
  const name = miss.bySlug ? miss.address : (miss.deletedName ?? miss.check?.name ?? "");
  return { name, ...slug, ...schedule };
}

/**
 * Creates a check for a near miss: with its slug or, for a UUID, with its address as an alias. `params` replace what is
 * suggested. AppError as `addAlias`, and those of a new check.
 */
export function createMissedCheck(
  database: Database,
  request: Omit<CreateRequest, "unique" | "once" | "deriveSlug" | "projectId"> & NearMissId,
): Promise<CheckWithChannels> {
  const { projectId, id, params, at } = request;
  const by = { accountId: request.accountId, keyId: request.keyId ?? null };
  return inRetriedTransaction(database, async (tx) => {
    const miss = await getNearMiss(tx, { projectId, id });
    const address = aliasAddressOf(miss);
    if (address === null && miss.kind !== "slug") {
      throw new AppError("conflict", "The check exists. Change the URL in the job.");
    }
    const suggested = suggestedCheck(miss);
    const made = await createCheckIn(tx, {
      ...request,
      params: { ...suggested, ...params },
      deriveSlug: suggested.slug === undefined && params.slug === undefined,
      unique: [],
      uuid: newUuidIn(request.projectUuid, randomUUID, tx.slots),
    });
    if (made.kind === "refused") throw new AppError(made.code, made.text);
    if (made.kind === "not found") throw new AppError("not_found", "Project not found.");
    const { check } = made;
    const isFound = miss.bySlug && check.settings.slug === miss.address;
    if (isFound || address === null) await markNearMiss(tx, { ...miss, resolvedAt: at });
    else await aliasIn(tx, { miss, check, by, at });
    return check;
  });
}
