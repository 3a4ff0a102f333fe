// Work that only the server in service may do: whatever is sent, and whatever changes something outside the database.
import type { TickResult } from "../lib/loop.ts";
import { readService } from "../operations/database-identity.ts";
import type { Database } from "../store/db.ts";

type Tick = (signal: AbortSignal) => Promise<TickResult>;

/** The tick of a loop, left out while the database is a restored copy that is not in service. */
export function whileInService(database: Database, tick: Tick): Tick {
  return async (signal) => ((await readService(database)).isInService ? tick(signal) : "idle");
}
