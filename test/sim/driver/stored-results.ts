// Reads results from the database at the end of a run: the deliveries that were given up, the deadlines that fired,
// and every flip.
import type { GivenUp, Received } from "../comparison.ts";
import type { Population } from "./population.ts";
import type { Environment } from "./environment.ts";
import type { ReceivedGroup } from "./receivers.ts";

export type StoredResults = {
  givenUp: readonly GivenUp[];
  /** The deadlines that fired, per check. */
  fired: ReadonlyMap<number, ReadonlySet<number>>;
  /** Every flip in a form without IDs, for the digest. */
  flips: readonly string[];
  /** Statuses and pings in a form without IDs, for the digest. */
  records: readonly string[];
};

const GIVEN_UP = `select f.check_id, d.channel_id, extract(epoch from f.at) * 1000 as at, f.to_status
  from deliveries d join flips f on f.id = d.flip_id where d.state = 'dead'`;
const FIRED = "select check_id, extract(epoch from at) * 1000 as at from flips where reason = 'timeout'";

const FLIPS = `select check_id, (extract(epoch from at) * 1000)::bigint as at, from_status, to_status, reason,
    taken_back_at is not null as is_taken_back from flips`;

type GivenUpRow = { check_id: string; channel_id: string; at: string; to_status: "up" | "down" };
const GROUPS = `select d.dedupe_key, a.check_id, l.change, (extract(epoch from f.at) * 1000)::bigint as at, f.to_status
  from deliveries d
    join delivery_alerts l on l.delivery_id = d.id
    join alerts a on a.id = l.alert_id
    join flips f on f.id = case l.change when 'opened' then a.opened_flip_id else a.closed_flip_id end
  where d.kind = 'group' and d.state = 'sent'`;

type GroupRow = {
  dedupe_key: string;
  check_id: string;
  change: string;
  at: string;
  to_status: "up" | "down";
};

/** One message for each check of a group. */
export async function resolveGroups(
  environment: Environment,
  population: Population,
  groups: readonly ReceivedGroup[],
): Promise<Received[]> {
  if (groups.length === 0) return [];
  const rows = Map.groupBy(await environment.rows<GroupRow>(GROUPS), (row) => row.dedupe_key);
  const named = new Set<string>();
  return groups
    .toSorted((one, other) => one.trueAt - other.trueAt)
    .flatMap(({ channel, trueAt, dedupeKey }) => {
      const byCheck = Map.groupBy(rows.get(dedupeKey) ?? [], (row) => row.check_id);
      return [...byCheck].map(([id, changes]): Received => {
        const check = population.indexOf(Number(id));
        const key = ({ at, to_status: to }: GroupRow) => `${channel} ${check} ${at} ${to}`;
        const news = changes.filter((row) => !named.has(key(row)));
        for (const row of news) named.add(key(row));
        // A group message that names nothing new repeats the earlier ones.
        if (news.length === 0) return { channel, trueAt, about: "repeat", check };
        const flips = news.map((row) => ({ at: Number(row.at), to: row.to_status }));
        return { channel, trueAt, about: "flips", check, flips };
      });
    });
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
  const givenUp = (await environment.rows<GivenUpRow>(GIVEN_UP)).map((row) => ({
    check: population.indexOf(Number(row.check_id)),
    channel: population.channelIndexOf(Number(row.channel_id)),
    at: Math.round(Number(row.at)),
    to: row.to_status,
  }));
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
  return { givenUp, fired, flips, records };
}
