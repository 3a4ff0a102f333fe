// Reads results from the database at the end of a run: the deliveries that were given up, the deadlines that fired,
// and every flip.
import type { GivenUp } from "../comparison.ts";
import type { Population } from "./population.ts";
import type { Environment } from "./environment.ts";

export type StoredResults = {
  givenUp: readonly GivenUp[];
  /** The deadlines that fired, per check. */
  fired: ReadonlyMap<number, ReadonlySet<number>>;
  /** Every flip in a form without IDs, for the digest. */
  flips: readonly string[];
};

const GIVEN_UP = `select f.check_id, d.channel_id, extract(epoch from f.at) * 1000 as at, f.to_status
  from deliveries d join flips f on f.id = d.flip_id where d.state = 'dead'`;
const FIRED = "select check_id, extract(epoch from at) * 1000 as at from flips where reason = 'timeout'";

const FLIPS = `select check_id, (extract(epoch from at) * 1000)::bigint as at, from_status, to_status, reason,
    taken_back_at is not null as is_taken_back from flips`;

type GivenUpRow = { check_id: string; channel_id: string; at: string; to_status: "up" | "down" };
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
  return { givenUp, fired, flips };
}
