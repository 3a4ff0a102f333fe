// How long each statement of a transaction takes at the client: which of them grows with the database.
import type { Db } from "../../src/store/db.ts";
import { median, printTable, shown } from "./figures.ts";

/** Times in milliseconds by the name of the statement. */
export type Profile = Map<string, number[]>;

export function note(profile: Profile, name: string, ms: number): void {
  const times = profile.get(name);
  if (times === undefined) profile.set(name, [ms]);
  else times.push(ms);
}

/** A session that records the duration of every statement. */
export function timed<Session extends Db>(session: Session, profile: Profile): Session {
  const query: Db["query"] = async (what, values) => {
    const begin = performance.now();
    const result = await session.query(what, values);
    note(profile, what.name, performance.now() - begin);
    return result;
  };
  return { ...session, query };
}

/** Prints the statements of two profiles side by side, in the order in which they ran. */
export function printProfiles(title: string, small: Profile, large: Profile): void {
  const rows = [...large].map(([name, times]) => {
    const [before, after] = [median(small.get(name) ?? []), median(times)];
    return [name, shown(before, 2), shown(after, 2), shown(after - before, 2)];
  });
  printTable(title, [["statement", "small ms", "large ms", "more"], ...rows]);
}
