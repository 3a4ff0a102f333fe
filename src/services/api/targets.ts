// The check that a path names, as access is decided by it: by UUID in whatever project, by unique key only in the
// key's own.
import type { Target } from "../../core/access.ts";
import { isUniqueKey, isUuid, uniqueKey } from "../../core/identity.ts";
import type { CheckNaming } from "../../contract/route.ts";
import { sha1Hex } from "../../lib/hashes.ts";
import { listCheckUuids } from "../../store/checks/check-search.ts";
import { type CheckWithState, findCheckByUuid } from "../../store/checks/checks.ts";
import type { Db } from "../../store/db.ts";

/** How a path segment names a check; null when it cannot. */
export function namingOf(segment: string): CheckNaming | null {
  if (isUuid(segment)) return "uuid";
  return isUniqueKey(segment) ? "uniqueKey" : null;
}

export type NamedCheck = { naming: CheckNaming; name: string };

/** What is meant by the name of a check, to somebody whose key belongs to a project. */
export async function findNamedCheck(
  db: Db,
  { naming, name, projectId }: NamedCheck & { projectId: number },
): Promise<CheckWithState | null> {
  if (naming === "uuid") return findCheckByUuid(db, name);
  // Nothing is stored to find it by: the key is a hash of the UUID, and a project's UUIDs are few.
  const uuids = await listCheckUuids(db, projectId);
  const named = uuids.find(({ uuid }) => uniqueKey(uuid, sha1Hex) === name);
  return named === undefined ? null : findCheckByUuid(db, named.uuid);
}

/** What a found check is to the project of the key. */
export function targetOf(check: CheckWithState | null, projectId: number): Target {
  if (check === null) return "absent";
  return check.projectId === projectId ? "own" : "foreign";
}
