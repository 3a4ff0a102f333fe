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
  if (isBlocked)
    return "signals are refused: the database is away or cannot write, and nothing takes its place";
  if (!isDetour) return null;
  if (!isAnswering && spooling.knownCount() === 0)
    return "signals are refused: the database is away, and this machine has not received a ping before";
  if (!heart.mayPromise()) return "signals are refused: the lease has ended";
  const spool = spooling.state();
  if (spool?.full === true)
    return "signals are refused: the database is away, and the spool or its disk is full";
  if (spool !== null && spool.failed !== null)
    return `signals are refused: the spool failed: ${spool.failed}`;
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
    gauge("intake_queued", "Signals that wait for a batch.", () => intake()?.queued ?? null),
    gauge("intake_detour", "1 while signals go through the spool.", () => {
      const state = intake();
      return state === null ? null : Number(state.isDetour);
    }),
    counter("intake_taken", "Signals that were promised.", () => intake()?.takenCount ?? null),
    counter("intake_refused", "Signals that were not promised.", () => intake()?.refusedCount ?? null),
    {
      name: "overdue_intake_dropped_total",
      help: "Promised signals that could not be recorded any more: no such check, or several of the slug.",
      kind: "counter",
      label: "reason",
      readEach: () => intake()?.dropped ?? {},
    },
    counter("intake_rejected", "Pings that were quarantined.", () => intake()?.rejectedCount ?? null),
    counter(
      "intake_failed",
      "Pings that were refused because of an error in Overdue.",
      () => intake()?.failedCount ?? null,
    ),
    counter("intake_replayed", "Signals recorded after a detour.", () => intake()?.replayedCount ?? null),
    gauge("intake_beat_age_seconds", "Time since the last good beat.", () => seconds(heart()?.sinceBeatMs)),
    counter("intake_beat_errors", "Beats that failed.", () => heart()?.failures ?? null),
    gauge("watermark_lag_seconds", "How far the watermark is behind.", () =>
      seconds(heart()?.watermarkLagMs),
    ),
    counter("intakes_lost", "Other intakes that were declared lost.", () => heart()?.lost ?? null),
    counter("blind_intervals", "Blind times that were recorded.", () => heart()?.blind ?? null),
    gauge("spool_signals", "Signals in the spool.", () => spool()?.signals ?? null),
    gauge("spool_bytes", "Size of the spool.", () => spool()?.bytes ?? null),
    gauge("spool_lost_files", "Spool files nobody can read.", () => spool()?.lostFiles.length ?? null),
    gauge(
      "known_checks",
      "Checks known without the database.",
      () => receiving()?.spooling.knownCount() ?? null,
    ),
  ];
}
