// The messages between the run and the load process.
import type { Target } from "./outgoing.ts";

export type LoadOptions = {
  targets: readonly Target[];
  ports: readonly number[];
  perSecond: number;
  /** Maximum number of pending responses; signals due beyond that are skipped. */
  inFlightMax: number;
  /** The prefix of every marker. */
  prefix: string;
  seed: number;
  /** One line for every sent signal, written when its result is known. */
  ledgerPath: string;
};

export type ToLoad =
  | { kind: "begin"; options: LoadOptions }
  | { kind: "pace"; perSecond: number }
  /** Sends nothing more, waits for pending responses, and ends. */
  | { kind: "stop" };

export type LoadCounts = {
  sent: number;
  acknowledged: number;
  refused: number;
  unanswered: number;
  other: number;
  leftOut: number;
  inFlight: number;
  slowestMs: number;
};

export type FromLoad = { kind: "counts" | "done"; counts: LoadCounts };
