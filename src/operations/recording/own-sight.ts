// How far can be seen for single checks: what nobody could receive, and the pings of these checks alone that were refused.
import type { Instant } from "../../core/instant.ts";
import { type BlindTime, type Sight, sightOf } from "../../core/machine/deadline.ts";
import { networkOf, wideNetworkOf } from "../../lib/http/client-address.ts";
import type { StoredState } from "../../store/checks/check-states.ts";
import type { Db } from "../../store/db.ts";
import {
  listRecentAddresses,
  listRefusedIntervals,
  type RefusedInterval,
} from "../../store/intakes/refused-intervals.ts";

/**
 * Reads what excuses each of these checks, to be asked by its id. Read after the watermark, so that nothing is missing
 * that was refused before it.
 */
export async function ownSights(
  db: Db,
  states: readonly StoredState[],
  sight: Sight,
): Promise<(checkId: number) => Sight> {
  if (states.length === 0) return () => sight;
  const checkIds = states.map(({ checkId }) => checkId);
  const refused = await listRefusedIntervals(db, { checkIds, from: Math.min(...states.map(earliestOf)) });
  if (refused.length === 0) return () => sight;
  const byNetwork = Map.groupBy(refused, ({ network }) => network);
  const ofChecks = Map.groupBy(byNetwork.get(null) ?? [], ({ checkId }) => checkId);
  byNetwork.delete(null);
  const addresses = byNetwork.size === 0 ? new Map() : await listRecentAddresses(db, checkIds);
  return (checkId) =>
    sightOf(sight, [
      ...(ofChecks.get(checkId) ?? []).map((one) => blindTime(one, { isOwn: true })),
      ...networksOf(addresses.get(checkId) ?? []).flatMap((network) =>
        (byNetwork.get(network) ?? []).map((one) => blindTime(one, { isOwn: false })),
      ),
    ]);
}

/** The same for one check that is commanded or edited at an instant. */
export async function ownSight(
  db: Db,
  stored: StoredState,
  { at, sight }: { at: Instant; sight: Sight },
): Promise<Sight> {
  return (await ownSights(db, needsOwnSight(stored, at) ? [stored] : [], sight))(stored.checkId);
}

/** Whether a deadline can pass, or a silence be judged anew, before this instant: only then is there an excuse to find. */
export function needsOwnSight({ downAt, state }: StoredState, beforeAt: Instant): boolean {
  return (downAt !== null && downAt < beforeAt) || state.silence !== null;
}

/** Nothing from before this instant can excuse the check. */
function earliestOf({ state: { lastPingAt, lastStartAt } }: StoredState): Instant {
  return Math.min(lastPingAt ?? lastStartAt ?? 0, lastStartAt ?? Infinity);
}

function networksOf(addresses: Iterable<string>): string[] {
  const networks = new Set<string>();
  for (const address of addresses) {
    const network = networkOf(address);
    networks.add(network).add(wideNetworkOf(network));
  }
  return [...networks];
}

function blindTime({ from, to }: RefusedInterval, { isOwn }: { isOwn: boolean }): BlindTime {
  return isOwn ? { from, to, isOwn } : { from, to };
}
