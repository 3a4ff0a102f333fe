// With a log, a ping is acknowledged before it is recorded. Whoever reads one check waits a moment for the pings that
// were in the log when they asked.
import { setTimeout as pause } from "node:timers/promises";
import { partitionOf } from "../core/log.ts";
import type { KafkaAddress } from "../lib/kafka-address.ts";
import type { Database } from "../store/db.ts";
import { listLogPositions, type LogPosition } from "../store/log-partitions.ts";

/** After this time, the request is answered with what is recorded. */
const WAIT_MS_MAX = 500;
/** How often positions are read while a request waits. */
const LOOK_EVERY_MS = 20;
/** Waiting requests; further ones do not wait. */
const WAITING_MAX = 100;
/** After Kafka did not answer, requests do not wait for this time. */
const AWAY_MS = 5_000;

export type LogWaitDeps = {
  /** The position after the last record of a partition. */
  end: (partition: number) => Promise<number>;
  /** The positions of recorders. */
  positions: () => Promise<readonly LogPosition[]>;
  monotonic: () => number;
};

export class LogWait {
  readonly #deps: LogWaitDeps;
  #waiting = 0;
  #awayUntilMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<readonly LogPosition[]> | null = null;

  constructor(deps: LogWaitDeps) {
    this.#deps = deps;
  }

  /** Resolves when all pings of a check that were acknowledged before are recorded, or after half a second. */
  async forCheck(uuid: string): Promise<void> {
    if (this.#waiting >= WAITING_MAX || this.#deps.monotonic() < this.#awayUntilMs) return;
    this.#waiting += 1;
    const { promise: timeout, resolve } = Promise.withResolvers<"over">();
    const timer = setTimeout(() => resolve("over"), WAIT_MS_MAX);
    try {
      await this.#untilApplied(uuid, timeout);
    } catch {
      // What is recorded is read without waiting; if the database is away, reading it says so.
    } finally {
      clearTimeout(timer);
      this.#waiting -= 1;
    }
  }

  async #untilApplied(uuid: string, timeout: Promise<"over">): Promise<void> {
    const stored = await Promise.race([this.#look(), timeout]);
    if (stored === "over" || stored.length === 0) return;
    const partition = partitionOf(uuid, stored.length);
    const end = await this.#end(partition, timeout);
    if (end === null) return;
    for (;;) {
      const positions = await Promise.race([this.#look(), timeout]);
      if (positions === "over") return;
      const at = positions.find((one) => one.partition === partition);
      if (at === undefined || at.isStopped || at.nextOffset >= end) return;
      if ((await Promise.race([pause(LOOK_EVERY_MS), timeout])) === "over") return;
    }
  }

  /** Null: Kafka does not answer. */
  async #end(partition: number, timeout: Promise<"over">): Promise<number | null> {
    const asking = this.#deps.end(partition).catch(() => null);
    const end = await Promise.race([asking, timeout]);
    if (typeof end === "number") return end;
    this.#awayUntilMs = this.#deps.monotonic() + AWAY_MS;
    return null;
  }

  /** Requests share it: an older position only makes them wait longer. */
  #look(): Promise<readonly LogPosition[]> {
    this.#looking ??= this.#deps.positions().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }
}

/** Waits for the log at this address. */
export async function openLogWait(
  address: KafkaAddress,
  database: Database,
): Promise<{ forCheck: (uuid: string) => Promise<void>; close: () => Promise<void> }> {
  const { KafkaTopic } = await import("../lib/kafka.ts");
  const topic = await KafkaTopic.open(address);
  const wait = new LogWait({
    end: (partition) => topic.end(partition),
    positions: () => listLogPositions(database),
    monotonic: () => performance.now(),
  });
  return { forCheck: (uuid) => wait.forCheck(uuid), close: () => topic.close() };
}
