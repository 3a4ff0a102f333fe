// From the addresses of a batch to its checks: one statement for UUIDs, one for slugs, each only if needed.
import type { AcceptedSignal, SignalResult } from "../../core/accepted.ts";
import type { Db } from "../../store/db.ts";
import { findCheckIdsBySlugs, findCheckIdsByUuids } from "../../store/checks/ping-targets.ts";

/** For each signal, in order: the id of its check, or why it has none. */
export type Resolved = number | Extract<SignalResult, "unknown" | "ambiguous">;

export async function resolveTargets(db: Db, signals: readonly AcceptedSignal[]): Promise<Resolved[]> {
  const uuids = new Set<string>();
  const pairs = new Map<string, { pingKey: string; slug: string }>();
  for (const { target } of signals) {
    if (target.by === "uuid") uuids.add(target.uuid);
    else pairs.set(pairKey(target), target);
  }
  const byUuid = uuids.size === 0 ? new Map<string, number>() : await findCheckIdsByUuids(db, [...uuids]);
  const found = pairs.size === 0 ? [] : await findCheckIdsBySlugs(db, [...pairs.values()]);
  const bySlug = new Map([...pairs.keys()].map((key, index) => [key, found[index] ?? null]));
  return signals.map(({ target }) => {
    const id = target.by === "uuid" ? byUuid.get(target.uuid) : bySlug.get(pairKey(target));
    return id ?? "unknown";
  });
}

function pairKey({ pingKey, slug }: { pingKey: string; slug: string }): string {
  return `${pingKey}/${slug}`;
}
