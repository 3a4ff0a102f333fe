// Whether ids are in the database of this cell, and the files of the router.
import type { RequestId } from "../core/cells.ts";
import type { Secrets } from "../core/secrets.ts";
import type { Db } from "../store/db.ts";
import { findApiKeyDigests, findCheckIds, findProjectKeys } from "../store/cells.ts";
import { digestsOfKey } from "./secrets.ts";

/** Those of the ids that are in this database. */
export async function findOwnIds(
  db: Db,
  { ids, secrets }: { ids: readonly RequestId[]; secrets: () => Promise<Secrets> },
): Promise<Set<string>> {
  const named = (by: RequestId["by"]) => ids.filter((one) => one.by === by).map(({ id }) => id);
  const checks = named("check");
  const keys = named("key");
  const apiKeys = named("apiKey");
  const found = await Promise.all([
    checks.length === 0 ? [] : findCheckIds(db, checks),
    keys.length === 0 ? [] : findProjectKeys(db, keys),
    apiKeys.length === 0 ? [] : findApiKeys(db, { keys: apiKeys, secrets: await secrets() }),
  ]);
  return new Set(found.flat());
}

async function findApiKeys(
  db: Db,
  { keys, secrets }: { keys: readonly string[]; secrets: Secrets },
): Promise<string[]> {
  const digests = keys.map((key) => ({ key, digests: digestsOfKey(key, secrets) }));
  const found = await findApiKeyDigests(
    db,
    digests.flatMap((one) => one.digests),
  );
  const hex = new Set(found.map((digest) => digest.toString("hex")));
  return digests
    .filter((one) => one.digests.some((digest) => hex.has(digest.toString("hex"))))
    .map(({ key }) => key);
}
