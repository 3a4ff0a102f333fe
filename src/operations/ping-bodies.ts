// Bodies of pings: reading them from the database or the object store, and moving large ones to the store.
import { type Instant, MINUTE_MS } from "../core/instant.ts";
import { type ObjectStore, ObjectStoreError } from "../lib/object-store.ts";
import type { Database, Db } from "../store/db.ts";
import {
  claimBodies,
  type ClaimedBody,
  deleteObjectRemovals,
  findBody,
  findMovableBodies,
  findObjectRemovals,
  markBodiesMoved,
} from "../store/pings.ts";
import { inTransaction } from "../store/transaction.ts";

/** none: the ping had no body, or it was deleted. unavailable: it exists but cannot be read now. */
export type ReadBody =
  | { kind: "found"; body: Buffer }
  | { kind: "none" }
  | { kind: "unavailable"; reason: string };

type Source = Pick<ObjectStore, "get">;

/** No transaction is open during requests to the object store. `objects` is null if none is configured. */
export async function readBody(
  db: Db,
  { objects, ...which }: { objects: Source | null; checkId: number; n: number },
): Promise<ReadBody> {
  const kept = await findBody(db, which);
  if (kept === null) return { kind: "none" };
  if (kept.body !== null) return { kind: "found", body: kept.body };
  if (objects === null) return { kind: "unavailable", reason: "no object store is configured" };
  try {
    return { kind: "found", body: await objects.get(kept.objectKey) };
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    // Trimmed in the meantime: deleted from both places.
    if (error.kind === "missing" && (await findBody(db, which)) === null) return { kind: "none" };
    return { kind: "unavailable", reason: error.message };
  }
}

/**
 * The same store with a circuit breaker: after three failures within a minute, its calls fail at once until
 * the first of these is a minute old. `now` is the caller's clock.
 */
export function guardedObjects(objects: Source, { now }: { now: () => Instant }): Source {
  let breaker: Breaker = CLOSED_BREAKER;
  return {
    get: async (key) => {
      if (isOpen(breaker, now())) {
        throw new ObjectStoreError("unavailable", "the object store failed too often in the last minute");
      }
      try {
        return await objects.get(key);
      } catch (error) {
        // A missing object is not a failure of the store.
        const isFailure = !(error instanceof ObjectStoreError) || error.kind !== "missing";
        if (isFailure) breaker = noteFailure(breaker, now());
        throw error;
      }
    },
  };
}

/** Failures within the time after which a store counts as down. */
const FAILURES_MAX = 3;
const WITHIN_MS = MINUTE_MS;

/** The times of the newest failures, oldest first; never more than the rule uses. */
export type Breaker = readonly Instant[];

export const CLOSED_BREAKER: Breaker = [];

/** The breaker after one more failure. */
export function noteFailure(breaker: Breaker, at: Instant): Breaker {
  return [...breaker, at].slice(-FAILURES_MAX);
}

/** Whether requests to the store are suspended: its newest failures are all within the last minute. */
export function isOpen(breaker: Breaker, now: Instant): boolean {
  const [oldest] = breaker;
  return breaker.length === FAILURES_MAX && oldest !== undefined && now - oldest < WITHIN_MS;
}

const BODIES_MAX = 64;
const REMOVALS_MAX = 256;
/** Bodies per piece; all are in memory. */
const AT_ONCE_MAX = 4;
/** Nothing is started after this time, so that a claim ends. */
const PIECE_MS_MAX = 60_000;
/** Margin for statements, and for calls that the store finishes after their timeout. */
const CLAIM_MARGIN_MS = 60_000;
/** After this many rejections the store is considered down; fewer may concern single objects. */
const REFUSALS_MAX = 8;

export type MoveOptions = {
  objects: Pick<ObjectStore, "put" | "delete">;
  now: Instant;
  /** Smaller bodies stay where they are. */
  bytesMin: number;
  /** Time limit of one call of the store. */
  callMsMax: number;
  bodiesMax?: number;
  removalsMax?: number;
};

export type Moved = {
  moved: number;
  removed: number;
  /** Nothing was left to do. */
  isComplete: boolean;
  /** The first error of the store. The affected bodies stay as they were. */
  problem: string | null;
};

/** Moves one piece. Errors of the store are returned; only database errors are thrown. */
export async function moveBodies(database: Database, options: MoveOptions): Promise<Moved> {
  const { bodiesMax = BODIES_MAX } = options;
  const claimed = await claim(database, options);
  const sent = await eachUntilError(claimed, (body) => send(database, options.objects, body));
  const moved =
    sent.done.length === 0 ? 0 : await inTransaction(database, (tx) => markBodiesMoved(tx, sent.done));
  if (sent.left.length > 0) {
    // Other movers need not wait for the end of the claim.
    await inTransaction(database, (tx) => claimBodies(tx, { bodies: sent.left, until: options.now }));
  }
  // A store that just failed gets no more requests.
  if (sent.problem !== null) return { moved, removed: 0, isComplete: false, problem: sent.problem };
  const gone = await removeObjects(database, options);
  const isComplete = claimed.length < bodiesMax && sent.left.length === 0 && gone.isComplete;
  return { moved, removed: gone.removed, isComplete, problem: gone.problem };
}

export type RemoveOptions = Pick<MoveOptions, "now" | "removalsMax"> & {
  objects: Pick<ObjectStore, "delete">;
};

/** Deletes a batch of objects whose bodies were deleted, with their checks or individually. */
export async function removeObjects(
  database: Database,
  { objects, now, removalsMax = REMOVALS_MAX }: RemoveOptions,
): Promise<Omit<Moved, "moved">> {
  const due = await findObjectRemovals(database, { now, limit: removalsMax });
  const gone = await eachUntilError(due, ({ objectKey }) => objects.delete(objectKey));
  const ids = gone.done.map(({ id }) => id);
  if (ids.length > 0) await inTransaction(database, (tx) => deleteObjectRemovals(tx, ids));
  const isComplete = due.length < removalsMax && gone.left.length === 0;
  return { removed: ids.length, isComplete, problem: gone.problem };
}

/** Stores the keys before anything is sent, so that every object is known even if the process dies. */
async function claim(
  database: Database,
  { now, bytesMin, callMsMax, bodiesMax = BODIES_MAX }: MoveOptions,
): Promise<ClaimedBody[]> {
  // The last put may begin this late, and consists of two calls.
  const until = now + PIECE_MS_MAX + 2 * callMsMax + CLAIM_MARGIN_MS;
  return inTransaction(database, async (tx) => {
    const movable = await findMovableBodies(tx, { bytesMin, now, limit: bodiesMax });
    const bodies = movable.map(({ checkId, checkUuid, n, at, objectKey }) => {
      return { checkId, n, objectKey: objectKey ?? objectKeyOf({ checkUuid, n, at }) };
    });
    if (bodies.length > 0) await claimBodies(tx, { bodies, until });
    return bodies;
  });
}

async function send(
  database: Database,
  objects: MoveOptions["objects"],
  { checkId, n, objectKey }: ClaimedBody,
): Promise<void> {
  const kept = await findBody(database, { checkId, n });
  // Trimmed since it was claimed; its object is already queued for deletion.
  if (kept === null || kept.body === null) return;
  await objects.put(objectKey, kept.body);
}

type Work<T> = { done: T[]; left: T[]; problem: string | null };

/**
 * Processes the items, a few at a time, and starts no more of them if the store is unavailable or the time is over.
 */
async function eachUntilError<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<Work<T>> {
  const result: Work<T> = { done: [], left: [], problem: null };
  const beginUntilMs = performance.now() + PIECE_MS_MAX;
  let refusals = 0;
  let isAway = false;
  const tryOne = async (item: T) => {
    try {
      await work(item);
      result.done.push(item);
    } catch (error) {
      if (!(error instanceof ObjectStoreError)) throw error;
      result.problem ??= error.message;
      result.left.push(item);
      if (error.kind === "refused") refusals += 1;
      else isAway = true;
    }
  };
  let next = 0;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) {
      if (isAway || refusals >= REFUSALS_MAX || performance.now() > beginUntilMs) result.left.push(item);
      else await tryOne(item);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, worker));
  return result;
}

const FIRST_LETTER = "a".charCodeAt(0);
const LAST_LETTER = "z".charCodeAt(0);
const NINE = "9".charCodeAt(0);
const BASE = 36;

/**
 * The key of one body. Keys sort descending by number: a letter for the number of digits, then a letter for each
 * digit, both in reverse. The time ensures that a reused number never matches an old object.
 */
export function objectKeyOf({ checkUuid, n, at }: { checkUuid: string; n: number; at: Instant }): string {
  const digits = String(n);
  const length = String.fromCharCode(LAST_LETTER + 1 - digits.length);
  const letters = digits.replace(/./g, (digit) =>
    String.fromCharCode(FIRST_LETTER + NINE - digit.charCodeAt(0)),
  );
  return `${checkUuid}/${length}${letters}-${n}-${at.toString(BASE)}`;
}
