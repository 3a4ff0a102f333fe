// From the addresses of a batch to its checks: found, locked and read, with as few waits as possible.
import type { AcceptedSignal, SignalResult } from "../../core/accepted.ts";
import type { SignalSettings } from "../../core/check.ts";
import type { StoredState } from "../../store/checks/check-states.ts";
import { findCheckIdsBySlugs, findTargetSettings, lockTargets } from "../../store/checks/ping-targets.ts";
import type { Tx } from "../../store/transaction.ts";

/** For each signal, in order: the id of its check, or why it has none. */
export type Resolved = number | Extract<SignalResult, "unknown" | "ambiguous">;

/** The checks of a batch: locked, with what decides about their signals. */
export type LockedTargets = {
  resolved: readonly Resolved[];
  states: readonly StoredState[];
  settings: ReadonlyMap<number, SignalSettings>;
};

/** Finds, locks and reads the checks of a batch: in one trip, or in two when a signal names a slug. */
export async function lockTargetsOf(tx: Tx, signals: readonly AcceptedSignal[]): Promise<LockedTargets> {
  const uuids = new Set<string>();
  const pairs = new Map<string, { pingKey: string; slug: string }>();
  for (const { target } of signals) {
    if (target.by === "uuid") uuids.add(target.uuid);
    else pairs.set(pairKey(target), target);
  }
  const found = pairs.size === 0 ? [] : await findCheckIdsBySlugs(tx, [...pairs.values()]);
  const bySlug = new Map([...pairs.keys()].map((key, index) => [key, found[index] ?? null]));
  const names = { uuids: [...uuids], ids: found.filter((one) => typeof one === "number") };
  // In this order: settings are those of the moment of applying, and a check may be gone by then.
  const [states, checks] = await Promise.all([lockTargets(tx, names), findTargetSettings(tx, names)]);
  const byUuid = new Map(checks.map(({ uuid, id }) => [uuid, id]));
  const resolved = signals.map(({ target }) => {
    const id = target.by === "uuid" ? byUuid.get(target.uuid) : bySlug.get(pairKey(target));
    return id ?? "unknown";
  });
  return { resolved, states, settings: new Map(checks.map(({ id, settings }) => [id, settings])) };
}

function pairKey({ pingKey, slug }: { pingKey: string; slug: string }): string {
  return `${pingKey}/${slug}`;
}
