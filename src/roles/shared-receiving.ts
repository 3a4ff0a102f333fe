// The one intake of a process, whichever roles hand signals to it. It enters with the first of them, beats once they
// all listen, and leaves after the last one has closed.
import { SECOND_MS } from "../core/instant.ts";
import { addFigures, type Figure, type Metrics } from "../lib/metrics.ts";
import { type Receiving, type ReceivingResources, startReceiving } from "./receiving.ts";

export type SharedReceiving = {
  /** Enters, if nobody has; each that joined has to leave. */
  join(): Promise<Receiving>;
  /** Those that joined listen. From the first beat on others rely on that. */
  opened(): Promise<void>;
  /** They are about to stop listening. */
  closing(): void;
  /** One that joined hands over nothing any more. The last one stops the intake. */
  leave(): Promise<void>;
  /** What is the matter with the intake; null when nothing is, or nobody has joined. */
  trouble(): string | null;
  current(): Receiving | null;
  /** Adds the intake's figures to the process's, once. */
  addFigures(): void;
};

/** An intake that nobody has joined yet. */
export function sharedReceiving(resources: ReceivingResources & { metrics: Metrics }): SharedReceiving {
  let starting: Promise<Receiving> | null = null;
  let receiving: Receiving | null = null;
  let joined = 0;
  let opening: Promise<void> | null = null;
  let hasFigures = false;
  return {
    join: async () => {
      starting ??= startReceiving(resources);
      try {
        receiving = await starting;
      } catch (error) {
        starting = null;
        throw error;
      }
      joined += 1;
      return receiving;
    },
    opened: async () => {
      opening ??= receiving?.heart.start() ?? null;
      await opening;
    },
    closing: () => receiving?.heart.stopAccepting(),
    leave: async () => {
      joined -= 1;
      if (joined === 0) await receiving?.stop();
    },
    trouble: () => (receiving === null ? null : troubleOf(receiving)),
    current: () => receiving,
    addFigures: () => {
      if (hasFigures) return;
      hasFigures = true;
      addFigures(
        resources.metrics,
        figures(() => receiving),
      );
    },
  };
}

/** Why every ping is refused; null when pings of known checks are taken. */
function troubleOf({ intake, heart, spooling }: Receiving): string | null {
  const { isBlocked, isDetour, isAnswering } = intake.state();
  if (isBlocked) return "pings are rejected: the database is unavailable or read-only, and there is no spool";
  if (!isDetour) return null;
  if (!isAnswering && spooling.knownCount() === 0)
    return "pings are rejected: the database is unavailable, and no checks are known on this machine yet";
  if (!heart.mayPromise()) return "pings are rejected: the lease has expired";
  const spool = spooling.state();
  if (spool?.full === true)
    return "pings are rejected: the database is unavailable, and the spool or its disk is full";
  if (spool !== null && spool.failed !== null) return `pings are rejected: the spool failed: ${spool.failed}`;
  return null;
}

function figures(receiving: () => Receiving | null): Figure[] {
  const intake = () => receiving()?.intake.state() ?? null;
  const heart = () => receiving()?.heart.state() ?? null;
  const spool = () => receiving()?.spooling.state() ?? null;
  const seconds = (ms: number | null = null) => (ms === null ? null : ms / SECOND_MS);
  const gauge = (name: string, help: string, read: () => number | null): Figure => ({
    name: `overdue_${name}`,
    help,
    kind: "gauge",
    read,
  });
  const counter = (name: string, help: string, read: () => number | null): Figure => ({
    name: `overdue_${name}_total`,
    help,
    kind: "counter",
    read,
  });
  return [
    gauge("intake_queued", "Pings waiting for a batch.", () => intake()?.queued ?? null),
    gauge("intake_detour", "1 while pings are stored in the spool.", () => {
      const state = intake();
      return state === null ? null : Number(state.isDetour);
    }),
    counter("intake_taken", "Accepted pings.", () => intake()?.takenCount ?? null),
    counter("intake_refused", "Rejected pings.", () => intake()?.refusedCount ?? null),
    {
      name: "overdue_intake_dropped_total",
      help: "Accepted pings that were dropped because the check no longer exists or the slug is ambiguous.",
      kind: "counter",
      label: "reason",
      readEach: () => intake()?.dropped ?? {},
    },
    counter("intake_rejected", "Quarantined pings.", () => intake()?.rejectedCount ?? null),
    counter(
      "intake_failed",
      "Pings rejected because of an error in Overdue.",
      () => intake()?.failedCount ?? null,
    ),
    counter("intake_replayed", "Pings recorded from the spool.", () => intake()?.replayedCount ?? null),
    gauge("intake_beat_age_seconds", "Time since the last successful heartbeat.", () =>
      seconds(heart()?.sinceBeatMs),
    ),
    counter("intake_beat_errors", "Failed heartbeats.", () => heart()?.failures ?? null),
    gauge("watermark_lag_seconds", "Watermark lag.", () => seconds(heart()?.watermarkLagMs)),
    counter("intakes_lost", "Other receiving processes declared lost.", () => heart()?.lost ?? null),
    counter("blind_intervals", "Recorded monitoring gaps.", () => heart()?.blind ?? null),
    gauge("spool_signals", "Pings in the spool.", () => spool()?.signals ?? null),
    gauge("spool_bytes", "Size of the spool.", () => spool()?.bytes ?? null),
    gauge("spool_lost_files", "Unreadable spool files.", () => spool()?.lostFiles.length ?? null),
    gauge(
      "known_checks",
      "Checks known without access to the database.",
      () => receiving()?.spooling.knownCount() ?? null,
    ),
  ];
}
