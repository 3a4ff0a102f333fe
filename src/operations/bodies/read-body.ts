// Reads what a signal carried, wherever it is: in the database, or in the object store it was moved to.
import type { Instant } from "../../core/instant.ts";
import { type ObjectStore, ObjectStoreError } from "../../lib/object-store.ts";
import type { Db } from "../../store/db.ts";
import { findBody } from "../../store/history/ping-bodies.ts";
import { type Breaker, CLOSED_BREAKER, isOpen, noteFailure } from "./breaker.ts";

/** none: the ping had no body, or it has been forgotten. unavailable: it exists, and cannot be read just now. */
export type ReadBody =
  | { kind: "found"; body: Buffer }
  | { kind: "none" }
  | { kind: "unavailable"; reason: string };

type Source = Pick<ObjectStore, "get">;

/** No transaction is open while the object store is asked. `objects` is null where none is configured. */
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
    // Trimmed while we were on our way: then it is gone from both places.
    if (error.trouble === "missing" && (await findBody(db, which)) === null) return { kind: "none" };
    return { kind: "unavailable", reason: error.message };
  }
}

/**
 * The same store, but one that has failed three times within a minute is not asked again until the first of
 * these is a minute old: its calls end at once, as if it were away. `now` is the caller's clock.
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
        // That one object is not there says nothing about the store.
        const isFailure = !(error instanceof ObjectStoreError) || error.trouble !== "missing";
        if (isFailure) breaker = noteFailure(breaker, now());
        throw error;
      }
    },
  };
}
