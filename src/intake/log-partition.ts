// One partition of the log, as an edge sees it: signals that wait, one record on its way, and what the next record has to
// report.
import { HEARTBEAT_EVERY_MS, type AttributedRefusals } from "../core/watermark.ts";
import type { Instant, Interval } from "../core/instant.ts";
import { GIVEN_UP_MAX, type LogRecord } from "../core/log.ts";
import { countThatFit, type EncodedSignal, encodeRecord } from "./log-record.ts";

/** A signal whose sender waits. */
export type WaitingSignal = {
  encoded: EncodedSignal;
  at: Instant;
  sinceMs: number;
  settle: (result: "recorded" | "busy") => void;
};

/** Unreported intervals; beyond this number, they are merged with the time between them. */
const REFUSED_MAX = 100;
/** Without a confirmation within this time, senders are asked to retry. */
const APPEND_MS_MAX = 1_500;
/** A record is tried for at least this long, even if its first sender has waited. */
const APPEND_MS_MIN = 300;

export type LogPartitionDeps = {
  append: (given: { partition: number; value: Buffer; giveUpAtMs: number }) => Promise<number>;
  monotonic: () => number;
  /** The watermark, if the oldest signal that is not in the record was received at this instant. */
  watermarkAt: (oldestAt: Instant | null) => Instant;
  now: () => Instant;
  /** Called when a record is confirmed, or was not. */
  onSettled: (error: unknown) => void;
};

export class LogPartition {
  readonly #number: number;
  readonly #deps: LogPartitionDeps;
  #edge: string;
  #n = 0;
  #waiting: WaitingSignal[] = [];
  #givenUp: number[] = [];
  #refused: Interval[] = [];
  #targets: AttributedRefusals["targets"] = [];
  #networks: AttributedRefusals["networks"] = [];
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #sending: Promise<boolean> | null = null;

  constructor(number: number, edge: string, deps: LogPartitionDeps) {
    this.#number = number;
    this.#edge = edge;
    this.#deps = deps;
  }

  get length(): number {
    return this.#waiting.length;
  }

  push(waiting: WaitingSignal): void {
    this.#waiting.push(waiting);
  }

  /** Whether there is something to send, and no record on its way. */
  isReady(): boolean {
    if (this.#sending !== null) return false;
    return this.#waiting.length > 0 || this.#deps.monotonic() - this.#sentAtMs >= HEARTBEAT_EVERY_MS;
  }

  /** Times in which pings were rejected, for the next record. */
  report(refused: readonly Interval[], { targets, networks }: AttributedRefusals): void {
    this.#refused = merged([...this.#refused, ...refused]);
    if (targets.length > 0) this.#targets = [...this.#targets, ...targets];
    if (networks.length > 0) this.#networks = [...this.#networks, ...networks];
  }

  /** Sends the next record; true if it was confirmed. */
  send(kind: LogRecord["kind"] = "more"): Promise<boolean> {
    const sending = this.#send(kind);
    this.#sending = sending;
    return sending.finally(() => {
      this.#sending = null;
    });
  }

  /** Resolves when no record is on its way. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /** Senders that wait for another edge than the one that accepted them are asked to retry. */
  renew(edge: string): void {
    for (const { settle } of this.#waiting.splice(0)) settle("busy");
    this.#edge = edge;
    this.#n = 0;
    this.#givenUp = [];
  }

  async #send(kind: LogRecord["kind"]): Promise<boolean> {
    const { append, monotonic, now, onSettled } = this.#deps;
    const count = countThatFit(this.#waiting.map(({ encoded }) => encoded));
    const taken = this.#waiting.splice(0, count);
    const edge = this.#edge;
    this.#n += 1;
    const n = this.#n;
    const reports = {
      givenUp: this.#givenUp,
      refused: this.#refused,
      attributed: { targets: this.#targets, networks: this.#networks },
    };
    const watermarkAt = this.#deps.watermarkAt(this.#waiting[0]?.at ?? null);
    const header = { edge, kind, n, at: now(), watermarkAt, ...reports };
    const value = encodeRecord(
      header,
      taken.map(({ encoded }) => encoded),
    );
    const nowMs = monotonic();
    this.#sentAtMs = nowMs;
    const latestMs = Math.max((taken[0]?.sinceMs ?? nowMs) + APPEND_MS_MAX, nowMs + APPEND_MS_MIN);
    try {
      await append({ partition: this.#number, value, giveUpAtMs: latestMs });
    } catch (error) {
      if (edge === this.#edge) this.#giveUp(n);
      for (const { settle } of taken) settle("busy");
      onSettled(error);
      return false;
    }
    this.#givenUp = without(this.#givenUp, reports.givenUp);
    this.#refused = without(this.#refused, reports.refused);
    this.#targets = without(this.#targets, reports.attributed.targets);
    this.#networks = without(this.#networks, reports.attributed.networks);
    for (const { settle } of taken) settle("recorded");
    onSettled(null);
    return true;
  }

  /** A list that is too long loses its oldest numbers: recorders then report a gap. */
  #giveUp(n: number): void {
    this.#givenUp = [...this.#givenUp, n].slice(-GIVEN_UP_MAX);
  }
}

/** What was added while a record was on its way is still to be reported. */
function without<T>(list: readonly T[], reported: readonly T[]): T[] {
  if (reported.length === 0) return [...list];
  const done = new Set(reported);
  return list.filter((one) => !done.has(one));
}

function merged(intervals: readonly Interval[]): Interval[] {
  if (intervals.length <= REFUSED_MAX) return [...intervals];
  const from = Math.min(...intervals.map((one) => one.from));
  const ends = intervals.map((one) => one.to);
  return [{ from, to: ends.includes(null) ? null : Math.max(...ends.map((end) => end ?? from)) }];
}
