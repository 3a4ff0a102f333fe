// The database connection of a process that is killed in the middle of its work: after a number of statements,
// transactions in progress are rolled back, and no call returns.
import type pg from "pg";
import type { Database } from "../../../src/store/db.ts";

export function dyingDatabase(
  database: Database,
  { statements, kill }: { statements: number; kill: AbortController },
): Database {
  let left = statements;
  const never = () => new Promise<never>(() => {});
  /** Whether the process is still alive after one more statement. */
  const lives = () => {
    left -= 1;
    if (left < 0) kill.abort();
    return left >= 0;
  };
  const connect = async () => {
    if (!lives()) return never();
    const client = await database.pool.connect();
    let isReleased = false;
    const release = (how?: Error | boolean) => {
      if (!isReleased) client.release(how);
      isReleased = true;
    };
    // Closing the connection rolls its transaction back.
    kill.signal.addEventListener("abort", () => release(true));
    return new Proxy(client, {
      get: (target, name) => {
        if (name === "release") return release;
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "query") return value.bind(target) as unknown;
        return (...args: unknown[]) =>
          lives() && !isReleased ? Reflect.apply(value, target, args) : never();
      },
    });
  };
  return {
    ...database,
    pool: { connect } as unknown as pg.Pool,
    query: (what, values) => (lives() ? database.query(what, values) : never()),
  };
}
