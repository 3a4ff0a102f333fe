// Monthly quotas of accounts: one row for each account and quota, which a new month starts again.
import type { Instant } from "../core/instant.ts";
import type { Quota, QuotaUse } from "../core/quota.ts";
import { statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

export type QuotaName = { accountId: number; quota: Quota };

const ADD_MISSING_QUOTAS = statement({
  name: "quotas.add_missing",
  text: `insert into channel_quotas (account_id, quota, month_at, used_count)
    select account_id, quota, to_timestamp(0), 0
    from unnest($1::bigint[], $2::text[]) as n (account_id, quota) order by account_id, quota
    on conflict do nothing`,
});

/** Adds the rows of quotas that were never used, so that they can be locked. */
export async function addMissingQuotas(tx: Tx, names: readonly QuotaName[]): Promise<void> {
  await tx.query(ADD_MISSING_QUOTAS, [...namesOf(names)]);
}

const LOCK_QUOTAS = statement<{ account_id: number; quota: Quota; month_at: Instant; used_count: number }>({
  name: "quotas.lock",
  text: `select q.account_id, q.quota, q.month_at, q.used_count
    from channel_quotas q join unnest($1::bigint[], $2::text[]) as n (account_id, quota) using (account_id, quota)
    order by q.account_id, q.quota for update of q`,
});

/** Locks quotas until the end of the transaction. */
export async function lockQuotas(tx: Tx, names: readonly QuotaName[]): Promise<(QuotaName & QuotaUse)[]> {
  const { rows } = await tx.query(LOCK_QUOTAS, [...namesOf(names)]);
  return rows.map((row) => ({
    accountId: row.account_id,
    quota: row.quota,
    monthAt: row.month_at,
    usedCount: row.used_count,
  }));
}

const WRITE_QUOTAS = statement({
  name: "quotas.write",
  text: `update channel_quotas q set used_count = n.used_count, month_at = ${sqlInstant("n.month_at")},
      notified_at = case when q.month_at = ${sqlInstant("n.month_at")} then q.notified_at end
    from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) as n (account_id, quota, month_at, used_count)
    where q.account_id = n.account_id and q.quota = n.quota`,
});

/** Writes quotas that this transaction has locked. */
export async function writeQuotas(tx: Tx, uses: readonly (QuotaName & QuotaUse)[]): Promise<void> {
  await tx.query(WRITE_QUOTAS, [
    ...namesOf(uses),
    toNumberArray(uses.map(({ monthAt }) => monthAt)),
    toNumberArray(uses.map(({ usedCount }) => usedCount)),
  ]);
}

const MARK_LIMIT_NOTIFIED = statement<{ account_id: number }>({
  name: "quotas.mark_notified",
  text: `update channel_quotas set notified_at = $4
    where account_id = $1 and quota = $2 and month_at = $3 and notified_at is null
    returning account_id`,
});

/** Marks that the owner is notified. False: that was done in this month, or the month is over. */
export async function markLimitNotified(
  tx: Tx,
  { accountId, quota, monthAt, at }: QuotaName & { monthAt: Instant; at: Instant },
): Promise<boolean> {
  const { rows } = await tx.query(MARK_LIMIT_NOTIFIED, [
    accountId,
    quota,
    toTimestamp(monthAt),
    toTimestamp(at),
  ]);
  return rows.length > 0;
}

function namesOf(names: readonly QuotaName[]) {
  return [
    toNumberArray(names.map(({ accountId }) => accountId)),
    toTextArray(names.map(({ quota }) => quota)),
  ] as const;
}
