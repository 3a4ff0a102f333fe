// Times in which pings of one check, or of all senders of one network, were refused. Whom they excuse is decided in core.
import { type Instant, MINUTE_MS } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "../values.ts";

/** Either a check or a network; see `networkOf`. */
export type RefusedInterval = { checkId: number | null; network: string | null; from: Instant; to: Instant };

/** Refusals that follow within this time extend the interval before, so that a long attack leaves few rows. */
const EXTENDED_WITHIN_MS = 10 * MINUTE_MS;

const INSERT = statement({
  name: "refused_intervals.insert",
  text: `with given as (
      select g.check_id, g.network, ${sqlInstant("g.from_at")} as from_at, ${sqlInstant("g.to_at")} as to_at
      from unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[]) as g (check_id, network, from_at, to_at)
    ), of_checks as (
      update refused_intervals r set to_at = greatest(r.to_at, g.to_at) from given g
      where r.intake_id = $1 and r.check_id = g.check_id
        and r.to_at >= g.from_at - $6 * interval '1 ms' and r.from_at <= g.from_at
      returning r.check_id
    ), of_networks as (
      update refused_intervals r set to_at = greatest(r.to_at, g.to_at) from given g
      where r.intake_id = $1 and r.network = g.network
        and r.to_at >= g.from_at - $6 * interval '1 ms' and r.from_at <= g.from_at
      returning r.network
    )
    insert into refused_intervals (intake_id, check_id, network, from_at, to_at)
    select distinct on (g.check_id, g.network) $1::uuid, g.check_id, g.network, g.from_at, g.to_at from given g
    where not exists (select 1 from of_checks o where o.check_id = g.check_id)
      and not exists (select 1 from of_networks o where o.network = g.network)
    order by g.check_id, g.network, g.from_at`,
});

/** Stores intervals of one intake; one that continues an earlier one extends it. */
export async function insertRefusedIntervals(
  tx: Tx,
  { intakeId, intervals }: { intakeId: string; intervals: readonly RefusedInterval[] },
): Promise<void> {
  await tx.query(INSERT, [
    intakeId,
    toNumberArray(intervals.map(({ checkId }) => checkId)),
    toTextArray(intervals.map(({ network }) => network)),
    toNumberArray(intervals.map(({ from }) => from)),
    toNumberArray(intervals.map(({ to }) => to)),
    EXTENDED_WITHIN_MS,
  ]);
}

type RefusedRow = { check_id: number | null; network: string | null; from_at: Instant; to_at: Instant };

/** More networks than these are not told apart within one sweep. */
const NETWORKS_READ_MAX = 10_000;

const LIST = statement<RefusedRow>({
  name: "refused_intervals.list",
  text: `(select check_id, network, from_at, to_at from refused_intervals
      where check_id = any ($1::bigint[]) and to_at >= $2)
    union all
    (select check_id, null, at, at from rejected_signals where check_id = any ($1::bigint[]) and at >= $2)
    union all
    (select check_id, network, from_at, to_at from refused_intervals
      where network is not null and to_at >= $2 order by to_at desc limit ${NETWORKS_READ_MAX})`,
});

/** What was refused or quarantined since an instant: for these checks, and for senders of any network. */
export async function listRefusedIntervals(
  db: Db,
  { checkIds, from }: { checkIds: readonly number[]; from: Instant },
): Promise<RefusedInterval[]> {
  const { rows } = await db.query(LIST, [toNumberArray(checkIds), toTimestamp(from)]);
  return rows.map((row) => ({
    checkId: row.check_id,
    network: row.network,
    from: row.from_at,
    to: row.to_at,
  }));
}

/** The newest pings say well enough where a job sends from. */
const ADDRESSES_MAX = 10;

const ADDRESSES = statement<{ check_id: number; remote_addr: string }>({
  name: "refused_intervals.addresses",
  text: `select c.check_id, p.remote_addr
    from unnest($1::bigint[]) as c (check_id)
    cross join lateral (
      select remote_addr from pings where check_id = c.check_id order by n desc limit ${ADDRESSES_MAX}
    ) as p
    where p.remote_addr is not null`,
});

/** The addresses that the newest pings of these checks came from. */
export async function listRecentAddresses(
  db: Db,
  checkIds: readonly number[],
): Promise<Map<number, Set<string>>> {
  const { rows } = await db.query(ADDRESSES, [toNumberArray(checkIds)]);
  const found = new Map<number, Set<string>>();
  for (const { check_id, remote_addr } of rows) {
    const known = found.get(check_id);
    if (known === undefined) found.set(check_id, new Set([remote_addr]));
    else known.add(remote_addr);
  }
  return found;
}

const DELETE_OF_CHECK = statement({
  name: "refused_intervals.delete_of_check",
  text: "delete from refused_intervals where check_id = $1",
});

export async function deleteRefusedOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}

const PRUNE = statement({
  name: "refused_intervals.prune",
  text: `delete from refused_intervals
    where id in (select id from refused_intervals where to_at < $1 order by to_at limit $2)`,
});

/** Deletes at most `limit` intervals that ended before an instant; returns how many. */
export async function pruneRefusedIntervals(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
