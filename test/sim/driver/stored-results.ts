// Reads results from the database at the end of a run: the deliveries that were given up, and the deadlines that
// fired.
import type { GivenUp } from "../comparison.ts";
import type { Population } from "./population.ts";
import type { Environment } from "./environment.ts";

export type StoredResults = {
  givenUp: readonly GivenUp[];
  /** The deadlines that fired, per check. */
  fired: ReadonlyMap<number, ReadonlySet<number>>;
};

const GIVEN_UP = `select f.check_id, d.channel_id, extract(epoch from f.at) * 1000 as at, f.to_status
  from deliveries d join flips f on f.id = d.flip_id where d.state = 'dead'`;
const FIRED = "select check_id, extract(epoch from at) * 1000 as at from flips where reason = 'timeout'";

type GivenUpRow = { check_id: string; channel_id: string; at: string; to_status: "up" | "down" };

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
  return { givenUp, fired };
}
