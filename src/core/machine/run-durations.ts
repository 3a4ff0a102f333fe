// How long the runs took that a list of pings shows. A list pairs ends with starts by run id, more generously
// than the machine, which watches the newest start only; what the machine does with a signal is in transition.ts.
import { HOUR_MS, type Instant } from "../instant.ts";
import { RUN_PAIRING_HOURS_MAX } from "../limits.ts";
import type { SignalKind } from "../signal.ts";

/** What pairing looks at. `durationMs` is what the machine measured when the signal was applied. */
export type PairedPing = {
  n: number;
  at: Instant;
  kind: SignalKind;
  rid: string | null;
  durationMs: number | null;
};

/**
 * The durations of the pings of a list, by their number; one that is not known has none. A success or failure is
 * paired with the nearest earlier start, success or failure of its run id, where no id is an id as well; only a
 * start gives a duration. Log lines, ignored signals and other runs in between do not matter. Where the list ends
 * before anything of the run, what was measured at the time is told.
 */
export function runDurations(newestFirst: readonly PairedPing[]): Map<number, number> {
  const durations = new Map<number, number>();
  const before = new Map<string | null, PairedPing>();
  for (const ping of newestFirst.toReversed()) {
    if (ping.kind === "log" || ping.kind === "ign") continue;
    if (ping.kind !== "start") {
      const durationMs = durationOf(ping, before.get(ping.rid));
      if (durationMs !== null && durationMs <= RUN_PAIRING_HOURS_MAX * HOUR_MS) {
        durations.set(ping.n, durationMs);
      }
    }
    before.set(ping.rid, ping);
  }
  return durations;
}

function durationOf(ping: PairedPing, earlier: PairedPing | undefined): number | null {
  if (earlier === undefined) return ping.durationMs;
  // A replayed ping stands where it was logged, and may be older than what stands before it.
  if (earlier.kind !== "start" || earlier.at > ping.at) return null;
  return ping.at - earlier.at;
}
