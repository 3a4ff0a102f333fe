// Providers that refuse the key of the server, by kind of channel.
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTextArray, toTimestamp } from "./values.ts";

export type ProviderRefusal = { kind: string; reason: string };

const NOTE_REFUSALS = statement({
  name: "provider_refusals.note",
  text: `insert into provider_refusals as r (kind, reason, since_at, last_at)
    select kind, reason, $3, $3 from unnest($1::text[], $2::text[]) as n (kind, reason) order by kind
    on conflict (kind) do update set reason = excluded.reason, last_at = excluded.last_at,
      since_at = case when r.last_at < $4 then excluded.since_at else r.since_at end`,
});

/** Notes refusals, at most one per kind. One that was last noted before `after` begins again. */
export async function noteRefusals(
  tx: Tx,
  { refusals, at, after }: { refusals: readonly ProviderRefusal[]; at: Instant; after: Instant },
): Promise<void> {
  await tx.query(NOTE_REFUSALS, [
    toTextArray(refusals.map(({ kind }) => kind)),
    toTextArray(refusals.map(({ reason }) => reason)),
    toTimestamp(at),
    toTimestamp(after),
  ]);
}

const CLEAR_REFUSALS = statement({
  name: "provider_refusals.clear",
  text: "delete from provider_refusals where kind = any ($1::text[])",
});

/** Removes the refusals of kinds whose messages are accepted again. */
export async function clearRefusals(tx: Tx, kinds: readonly string[]): Promise<void> {
  await tx.query(CLEAR_REFUSALS, [toTextArray(kinds)]);
}

const LIST_REFUSALS = statement<{ kind: string; reason: string; since_at: Instant }>({
  name: "provider_refusals.list",
  text: "select kind, reason, since_at from provider_refusals where last_at >= $1 order by kind",
});

/** Refusals that were noted since an instant. */
export async function listRefusals(
  db: Db,
  { from }: { from: Instant },
): Promise<(ProviderRefusal & { since: Instant })[]> {
  const { rows } = await db.query(LIST_REFUSALS, [toTimestamp(from)]);
  return rows.map(({ kind, reason, since_at: since }) => ({ kind, reason, since }));
}
