// One partition of the log, as an edge sees it: signals that wait, one record on its way, and what the next record has to
// report.
import { HEARTBEAT_EVERY_MS } from "../core/watermark.ts";
import type { Instant } from "../core/instant.ts";
import {
  EDGE_PAUSE_MS_MAX,
  EDGE_REENTERS_AFTER_MS,
  GIVEN_UP_MAX,
  type LogRecord,
  type LogReports,
  mergeReports,
  NO_REPORTS,
} from "../core/log.ts";
import { countThatFit, type EncodedSignal, encodeRecord, encodeReports } from "./log-record.ts";

/** A signal whose sender waits. */
export type WaitingSignal = {
  encoded: EncodedSignal;
  at: Instant;
  sinceMs: number;
  settle: (result: "recorded" | "busy") => void;
};

/** Without a confirmation within this time, senders are asked to retry. */
const APPEND_MS_MAX = 1_500;
/** A record is tried for at least this long, even if its first sender has waited. */
const APPEND_MS_MIN = 300;

export type LogPartitionDeps = {
  append: (given: { partition: number; value: Buffer; giveUpAtMs: number }) => Promise<number>;
  /** Whether a record would wait for earlier ones of other partitions; until then, more signals can be put into it. */
  isBusy: (partition: number) => boolean;
  monotonic: () => number;
  /** The watermark, if the oldest signal that is not in the record was received at this instant. */
  watermarkAt: (oldestAt: Instant | null) => Instant;
  now: () => Instant;
  /** Called when a record is confirmed, or was not. */
  onSettled: (error: unknown) => void;
};

export class LogPartition {
  readonly #number: number;
  readonly #edge: string;
  readonly #deps: LogPartitionDeps;
  #n = 0;
  #waiting: WaitingSignal[] = [];
  #givenUp: number[] = [];
  #reports: LogReports = NO_REPORTS;
  #mustEnter = true;
  #sentMs = Number.NEGATIVE_INFINITY;
  /** When the newest record that was confirmed was sent. */
  #confirmed = { ms: Number.NEGATIVE_INFINITY, at: Number.NEGATIVE_INFINITY };
  #blockCount = 0;
  #sending: Promise<boolean> | null = null;

  constructor(number: number, edge: string, deps: LogPartitionDeps) {
    this.#number = number;
    this.#edge = edge;
    this.#deps = deps;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Whether no record was confirmed for so long that signals must be refused until an empty one is. */
  isBlocked(nowMs: number): boolean {
    return nowMs - this.#confirmed.ms > EDGE_PAUSE_MS_MAX;
  }

  /** Takes signals again when a record that is sent after this is confirmed. */
  block(): void {
    this.#confirmed.ms = Number.NEGATIVE_INFINITY;
    this.#blockCount += 1;
  }

  /** The next record says that the edge listens from now on. */
  enter(): void {
    this.#mustEnter = true;
  }

  push(waiting: WaitingSignal): void {
    this.#waiting.push(waiting);
  }

  /** Whether there is something to send, and no record on its way or in front of it. */
  isReady(): boolean {
    if (this.#sending !== null || this.#deps.isBusy(this.#number)) return false;
    const isDue = this.#deps.monotonic() - this.#sentMs >= HEARTBEAT_EVERY_MS;
    return this.#waiting.length > 0 || this.#mustEnter || isDue;
  }

  /** Rejected pings for the next record. */
  report(reports: LogReports): void {
    this.#reports = mergeReports(this.#reports, reports);
  }

  /** Senders that have waited for longer are asked to retry. */
  settleOlder(thanMs: number): void {
    if (!this.#waiting.some(({ sinceMs }) => sinceMs < thanMs)) return;
    const { old = [], young = [] } = Object.groupBy(this.#waiting, ({ sinceMs }) =>
      sinceMs < thanMs ? "old" : "young",
    );
    this.#waiting = young;
    for (const { settle } of old) settle("busy");
  }

  /** Sends the next record; true if it was confirmed. */
  send(kind: "more" | "leave" = "more"): Promise<boolean> {
    const sending = this.#send(kind).finally(() => {
      this.#sending = null;
    });
    this.#sending = sending;
    return sending;
  }

  /** Sends everything that waits; no record is on its way when this resolves. */
  async finish(): Promise<void> {
    await this.#sending;
    while (this.#waiting.length > 0) await this.send();
  }

  /** The last record; true if it was confirmed. No record is on its way. */
  async leave(): Promise<boolean> {
    const hasEntered = this.#confirmed.at !== Number.NEGATIVE_INFINITY;
    // Otherwise numbers that were given up would count as lost by the log.
    if (hasEntered && this.#mustEnterAt(this.#deps.now()) && !(await this.send())) return false;
    return this.send("leave");
  }

  #mustEnterAt(now: Instant): boolean {
    return (
      this.#mustEnter ||
      this.#givenUp.length > GIVEN_UP_MAX ||
      now - this.#confirmed.at > EDGE_REENTERS_AFTER_MS
    );
  }

  async #send(wanted: "more" | "leave"): Promise<boolean> {
    const { append, monotonic, now, watermarkAt, onSettled } = this.#deps;
    const sentMs = monotonic();
    if (this.isBlocked(sentMs)) for (const { settle } of this.#waiting.splice(0)) settle("busy");
    const at = now();
    const isEntering = wanted === "more" && this.#mustEnterAt(at);
    const reports = this.#reports;
    const givenUp = isEntering ? [] : this.#givenUp.slice(-GIVEN_UP_MAX);
    const encodedReports = encodeReports({ givenUp, ...reports });
    const count = countThatFit(
      this.#waiting.map(({ encoded }) => encoded),
      encodedReports.length,
    );
    const taken = this.#waiting.splice(0, count);
    this.#n += 1;
    const header = {
      edge: this.#edge,
      kind: isEntering ? ("enter" as const) : wanted,
      n: this.#n,
      at,
      watermarkAt: Math.min(at, watermarkAt(oldestOf(this.#waiting))),
      givenUp,
      ...reports,
    } satisfies Omit<LogRecord, "signals">;
    const value = encodeRecord(
      header,
      taken.map(({ encoded }) => encoded),
      encodedReports,
    );
    const n = this.#n;
    const blockCount = this.#blockCount;
    this.#sentMs = sentMs;
    this.#reports = NO_REPORTS;
    if (isEntering) this.#mustEnter = false;
    const giveUpAtMs = Math.max((taken[0]?.sinceMs ?? sentMs) + APPEND_MS_MAX, sentMs + APPEND_MS_MIN);
    try {
      await append({ partition: this.#number, value, giveUpAtMs });
    } catch (error) {
      this.#givenUp = [...this.#givenUp, n].slice(-GIVEN_UP_MAX - 1);
      this.#reports = mergeReports(reports, this.#reports);
      if (isEntering) this.#mustEnter = true;
      for (const { settle } of taken) settle("busy");
      onSettled(error);
      return false;
    }
    this.#givenUp = [];
    if (blockCount === this.#blockCount) this.#confirmed = { ms: sentMs, at };
    for (const { settle } of taken) settle("recorded");
    onSettled(null);
    return true;
  }
}

function oldestOf(waiting: readonly WaitingSignal[]): Instant | null {
  let oldestAt: Instant | null = null;
  for (const { at } of waiting) oldestAt = Math.min(oldestAt ?? at, at);
  return oldestAt;
}
