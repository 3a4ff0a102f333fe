// Reads results from the database at the end of a run: the deliveries that were given up, the deadlines that fired,
// and every flip.
import type { Flip, GivenUp } from "../comparison.ts";
import type { Population } from "./population.ts";
import type { Environment } from "./environment.ts";

export type StoredResults = {
  givenUp: readonly GivenUp[];
  /** The deadlines that fired, per check. */
  fired: ReadonlyMap<number, ReadonlySet<number>>;
  /** Opened alerts that ended in nothing for one of their channels: neither in a delivery nor dropped by a rule. */
  unaccounted: readonly GivenUp[];
  /** Every flip in a form without IDs, for the digest. */
  flips: readonly string[];
  /** Statuses and pings in a form without IDs, for the digest. */
  records: readonly string[];
};

const GIVEN_UP = `select f.check_id, d.channel_id, extract(epoch from f.at) * 1000 as at, f.to_status
  from deliveries d join flips f on f.id = d.flip_id where d.state = 'dead'`;
const UNACCOUNTED = `select a.check_id, cc.channel_id, extract(epoch from f.at) * 1000 as at, f.to_status
  from alerts a
    join flips f on f.id = a.opened_flip_id
    join check_channels cc on cc.check_id = a.check_id
    join channels ch on ch.id = cc.channel_id and ch.disabled_at is null
    join checks c on c.id = a.check_id and c.deleted_at is null
  where a.planned_at is not null and case
    when a.dropped_at is not null then a.held_by is null and a.close_cause is distinct from 'takenBack' else
    not exists (select from deliveries d where d.alert_id = a.id and d.channel_id = cc.channel_id)
    and not exists (
      select from delivery_alerts l join deliveries d on d.id = l.delivery_id
      where l.alert_id = a.id and d.channel_id = cc.channel_id
    )
    -- A grouped alert was over before the message to this channel was sent; another channel has got it.
    and not (a.closed_at is not null and exists (select from delivery_alerts l where l.alert_id = a.id)) end`;
// A check that is down already has no flip for a deadline that opens an alert.
const FIRED = `select check_id, extract(epoch from at) * 1000 as at from flips where reason = 'timeout'
  union all
  select check_id, extract(epoch from opened_at) * 1000 from alerts where cause in ('missed', 'overrun')`;

const FLIPS = `select check_id, (extract(epoch from at) * 1000)::bigint as at, from_status, to_status, reason,
    taken_back_at is not null as is_taken_back from flips`;

type GivenUpRow = { check_id: string; channel_id: string; at: string; to_status: "up" | "down" };
// Read when the message is received: a check that is deleted later takes its flips with it.
const GROUP = `select a.check_id, (extract(epoch from f.at) * 1000)::bigint as at, f.to_status
  from deliveries d
    join delivery_alerts l on l.delivery_id = d.id
    join alerts a on a.id = l.alert_id
    join flips f on f.id = case l.change when 'opened' then a.opened_flip_id else a.closed_flip_id end
  where d.kind = 'group' and d.dedupe_key = $1`;

/** The flips that a message about several checks names, by check. */
export async function readGroup(
  environment: Environment,
  population: Population,
  dedupeKey: string,
): Promise<Map<number, Flip[]>> {
  const rows = await environment.rows<Omit<GivenUpRow, "channel_id">>(GROUP, [dedupeKey]);
  const flips = new Map<number, Flip[]>();
  for (const { check_id, at, to_status: to } of rows) {
    const check = population.indexOf(Number(check_id));
    flips.set(check, [...(flips.get(check) ?? []), { at: Number(at), to }]);
  }
  return flips;
}

const STATES = `select check_id, status || ' ' || ping_count || ' ' || coalesce(extract(epoch from last_ping_at)::text, '')
    as record from check_states`;
const PINGS = "select check_id, n || ' ' || kind::text || ' ' || extract(epoch from at) as record from pings";

type FlipRow = {
  check_id: string;
  at: string;
  from_status: string;
  to_status: string;
  reason: string;
  is_taken_back: boolean;
};

export async function readStoredResults(
  environment: Environment,
  population: Population,
): Promise<StoredResults> {
  const flipOf = (row: GivenUpRow): GivenUp => ({
    check: population.indexOf(Number(row.check_id)),
    channel: population.channelIndexOf(Number(row.channel_id)),
    at: Math.round(Number(row.at)),
    to: row.to_status,
  });
  const givenUp = (await environment.rows<GivenUpRow>(GIVEN_UP)).map(flipOf);
  const unaccounted = (await environment.rows<GivenUpRow>(UNACCOUNTED)).map(flipOf);
  const fired = new Map<number, Set<number>>();
  for (const { check_id, at } of await environment.rows<{ check_id: string; at: string }>(FIRED)) {
    const check = population.indexOf(Number(check_id));
    fired.set(check, (fired.get(check) ?? new Set()).add(Math.round(Number(at))));
  }
  const flips = (await environment.rows<FlipRow>(FLIPS)).map((row) => {
    const change = `${row.at} ${row.from_status} ${row.to_status} ${row.reason}`;
    const check = population.indexOf(Number(row.check_id));
    return `${check} ${change}${row.is_taken_back ? " taken back" : ""}`;
  });
  const found = [
    ...(await environment.rows<{ check_id: string; record: string }>(STATES)),
    ...(await environment.rows<{ check_id: string; record: string }>(PINGS)),
  ];
  const records = found.map(({ check_id, record }) => `${population.indexOf(Number(check_id))} ${record}`);
  return { givenUp, unaccounted, fired, flips, records };
}
