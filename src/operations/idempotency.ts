// Requests that create something once, however often they are repeated: the client names the request by an
// idempotency key.
import { createHash } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import { IDEMPOTENCY_KEYS_MAX } from "../core/limits.ts";
import { DAYS_KEPT, keptFrom } from "../core/retention.ts";
import { claimIdempotencyKey, findIdempotencyKey, trimIdempotencyKeys } from "../store/channels.ts";
import type { Tx } from "../store/transaction.ts";

/** The idempotency key of a request, and a fingerprint of the request. */
export type Once = { key: string; request: string };

/**
 * Claims the idempotency key for a new resource with this UUID. Returns the UUID that the same request created
 * before, or null. AppError `unprocessable` if the key was used for a different request.
 */
export async function claimOnce(
  tx: Tx,
  { projectId, once, uuid, at }: { projectId: number; once: Once | null; uuid: string; at: Instant },
): Promise<string | null> {
  if (once === null) return null;
  const named = { projectId, keyDigest: sha256(once.key), requestDigest: sha256(once.request) };
  const claim = { ...named, uuid, at, keptFrom: keptFrom(DAYS_KEPT.idempotencyKey, at) };
  if (await claimIdempotencyKey(tx, claim)) {
    await trimIdempotencyKeys(tx, { projectId, keep: IDEMPOTENCY_KEYS_MAX });
    return null;
  }
  const earlier = await findIdempotencyKey(tx, named);
  if (earlier?.requestDigest.equals(named.requestDigest) !== true) {
    throw new AppError("unprocessable", "The Idempotency-Key was already used for a different request.");
  }
  return earlier.uuid;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
