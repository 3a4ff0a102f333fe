// Monthly quotas: counts messages when they are claimed, and gives back what was not sent. Quotas are locked after
// channels and deliveries, always in this order.
import type { Instant } from "../core/instant.ts";
import { beyondQuota, type ClaimQuota, type Quota, type QuotaLimit, takeFromQuota } from "../core/quota.ts";
import {
  addMissingQuotas,
  lockQuotas,
  markLimitNotified,
  type QuotaName,
  writeQuotas,
} from "../store/quotas.ts";
import type { Tx } from "../store/transaction.ts";
import { notifyLimit } from "./channels.ts";
import type { Claim } from "./prepare-messages.ts";

/** The quota that messages of a kind of channel use; null: none. */
export type QuotaOf = (kind: string) => QuotaLimit | null;

/** Counts claimed messages by the quotas of their channels, each at its first attempt only. */
export async function takeQuotas(
  tx: Tx,
  claims: readonly Claim[],
  { quotas, now }: { quotas: ReadonlyMap<number, QuotaLimit>; now: Instant },
): Promise<Claim[]> {
  const counted = claims.filter(
    ({ channelId, ownerId, attempt, deliveries: [{ fireDrill }] }) =>
      // A message that is only rendered uses nothing, not even for a moment.
      fireDrill !== "quiet" && attempt === 1 && ownerId !== null && quotas.has(channelId),
  );
  if (counted.length === 0) return [...claims];
  const groups = Map.groupBy(counted, ({ channelId, ownerId }) =>
    keyOf({ accountId: ownerId ?? 0, quota: quotas.get(channelId)?.quota ?? "messages" }),
  );
  const names = [...groups.keys()].map(nameOf);
  await addMissingQuotas(tx, names);
  const taken = new Map<Claim, ClaimQuota>();
  const uses = (await lockQuotas(tx, names)).map((before) => {
    const mine = groups.get(keyOf(before)) ?? [];
    const limited = quotas.get(mine[0]?.channelId ?? 0);
    const limit = limited?.limit ?? 0;
    const { taken: count, use } = takeFromQuota(before, { limit, now, count: mine.length });
    for (const [index, claim] of mine.entries()) {
      const { accountId, quota } = before;
      taken.set(claim, { accountId, quota, limit, monthAt: use.monthAt, isTaken: index < count });
    }
    return { ...before, ...use };
  });
  await writeQuotas(tx, uses);
  return claims.map((claim) => ({ ...claim, quota: taken.get(claim) ?? null }));
}

/** Gives back what was counted for messages that turned out to have nothing to send. */
export async function giveBackQuotas(tx: Tx, claims: readonly Claim[]): Promise<void> {
  const given = claims.flatMap(({ quota }) => (quota?.isTaken === true ? [quota] : []));
  if (given.length === 0) return;
  const groups = Map.groupBy(given, keyOf);
  const locked = await lockQuotas(tx, [...groups.keys()].map(nameOf));
  await writeQuotas(
    tx,
    locked.map((before) => {
      const count = (groups.get(keyOf(before)) ?? []).filter(({ monthAt }) => monthAt === before.monthAt);
      return { ...before, usedCount: Math.max(0, before.usedCount - count.length) };
    }),
  );
}

/** Notifies the owners of messages that a limit has stopped, once a month for each account and quota. */
export async function notifyLimits(
  tx: Tx,
  claims: readonly Claim[],
  { now, quotaOf }: { now: Instant; quotaOf: QuotaOf },
): Promise<void> {
  for (const { channelId, quota } of claims) {
    const reason = beyondQuota(quota);
    if (quota === null || reason === null) continue;
    if (!(await markLimitNotified(tx, { ...quota, at: now }))) continue;
    const isReachable = (kind: string) => quotaOf(kind)?.quota !== quota.quota;
    await notifyLimit(tx, { channelId, reason, at: now, isReachable });
  }
}

function keyOf({ accountId, quota }: QuotaName): string {
  return `${accountId} ${quota}`;
}

function nameOf(key: string): QuotaName {
  const [accountId, quota] = key.split(" ");
  return { accountId: Number(accountId), quota: quota as Quota };
}
