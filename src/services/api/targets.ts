// The check that a path names, as access is decided by it: by UUID in whatever project, by unique key only in the
// key's own.
import type { Target } from "../../core/access.ts";
import { isUniqueKey, isUuid, uniqueKey } from "../../core/identity.ts";
import type { CheckNaming } from "../../contract/route.ts";
import { sha1Hex } from "../../lib/secrets/hashes.ts";
import { findShownCheck, listCheckUuids } from "../../store/checks/check-search.ts";
import type { Db } from "../../store/db.ts";
import type { FoundCheck } from "./exchange.ts";

/** How a path segment names a check; null when it cannot. */
export function namingOf(segment: string): CheckNaming | null {
  if (isUuid(segment)) return "uuid";
  return isUniqueKey(segment) ? "uniqueKey" : null;
}

/** The check with a UUID, whosever it is. */
export function findByUuid(db: Db, uuid: string): Promise<FoundCheck | null> {
  return findShownCheck(db, uuid);
}

/** The check of a project that a unique key names. */
export async function findByUniqueKey(
  db: Db,
  { key, projectId }: { key: string; projectId: number },
): Promise<FoundCheck | null> {
  // Nothing is stored to find it by: the key is a hash of the UUID, and a project's UUIDs are few.
  const uuids = await listCheckUuids(db, projectId);
  const named = uuids.find(({ uuid }) => uniqueKey(uuid, sha1Hex) === key);
  return named === undefined ? null : findShownCheck(db, named.uuid);
}

/** What a found check is to the project of the key. */
export function targetOf(check: FoundCheck | null, projectId: number): Target {
  if (check === null) return "absent";
  return check.projectId === projectId ? "own" : "foreign";
}
