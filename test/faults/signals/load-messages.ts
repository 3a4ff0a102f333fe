// What the run and the process that makes the load say to each other.
import type { Target } from "./outgoing.ts";

export type LoadOptions = {
  targets: readonly Target[];
  ports: readonly number[];
  perSecond: number;
  /** The most that may wait for an answer; what is due beyond it is left out, never sent later. */
  inFlightMax: number;
  /** Begins every marker. */
  prefix: string;
  seed: number;
  /** One line for every signal that was sent, written when its end is known. */
  ledgerPath: string;
};

export type ToLoad =
  | { kind: "begin"; options: LoadOptions }
  | { kind: "pace"; perSecond: number }
  /** Sends nothing more, waits for what is under way, and ends. */
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
