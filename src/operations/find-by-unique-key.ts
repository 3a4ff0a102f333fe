// The check that a unique key names. Checks from before unique keys were stored get theirs when one is looked up.
import { uniqueKey } from "../core/identity.ts";
import { sha1Hex } from "../lib/secrets/hashes.ts";
import {
  findUuidByUniqueKey,
  listWithoutUniqueKey,
  type UuidOfCheck,
  writeUniqueKeys,
} from "../store/checks/unique-keys.ts";
import type { Database } from "../store/db.ts";
import { inTransaction } from "../store/transaction.ts";

/** So many keys are made between two statements, which is well below a millisecond each hundred. */
const KEYS_AT_ONCE = 500;

/** The UUID of the check with this key in one of these projects; null when there is none. */
export async function findByUniqueKey(
  database: Database,
  { key, projectIds }: { key: string; projectIds: readonly number[] },
): Promise<string | null> {
  const known = await findUuidByUniqueKey(database, { key, projectIds });
  if (known !== null) return known;
  let found: string | null = null;
  for (let afterId = 0; ; ) {
    const checks = await listWithoutUniqueKey(database, { projectIds, afterId, limit: KEYS_AT_ONCE });
    const keyed = checks.map((check) => ({ ...check, key: uniqueKey(check.uuid, sha1Hex) }));
    if (keyed.length > 0) await inTransaction(database, (tx) => writeUniqueKeys(tx, keyed));
    found ??= keyed.find((check) => check.key === key && !check.isDeleted)?.uuid ?? null;
    const last: UuidOfCheck | undefined = checks.at(-1);
    if (last === undefined || checks.length < KEYS_AT_ONCE) return found;
    afterId = last.id;
  }
}
