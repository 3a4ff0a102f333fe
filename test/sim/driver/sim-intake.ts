// An intake without a process: accepts pings, spools them while it is cut off, and sends heartbeats, using the real
// operations. Heartbeats that cannot change anything are skipped.
import { randomUUID } from "node:crypto";
import type { Visibility } from "../../../src/core/deadline.ts";
import type { Instant, Interval } from "../../../src/core/instant.ts";
import type { AcceptedSignal, Batch } from "../../../src/core/signal.ts";
import { HEARTBEAT_EVERY_MS, type HeartbeatAccepted, watermarkOf } from "../../../src/core/watermark.ts";
import { enterIntake, leaveIntake, recordHeartbeat } from "../../../src/operations/intakes.ts";
import { recordSignals } from "../../../src/operations/record-signals.ts";
import type { Database } from "../../../src/store/db.ts";

const LEASE_MS = 600_000;
const BATCH_MAX = 500;
const RULES = { ratePerMinute: 60 };
const LOG_ROWS = 100;

/** The database time and the receipt time of a turn. */
export type Moment = { databaseAt: Instant; receiptAt: Instant };

/** The values that a skipped heartbeat would have written. */
export type SkippedHeartbeat = {
  id: string;
  heartbeatAt: Instant;
  watermarkAt: Instant;
  leaseUntilAt: Instant;
};

export type HeartbeatReport = {
  /** How far the database clock was set forward. */
  skippedMs?: number;
  refused?: readonly Interval[];
  gone?: readonly string[];
};

export class SimIntake {
  readonly id = randomUUID();
  /** The watermark in the database. */
  watermarkAt: Instant = -Infinity;
  isCut = false;
  refusingSinceAt: Instant | null = null;
  readonly spool: AcceptedSignal[] = [];
  readonly #database: Database;
  #seq = 0;
  #heartbeatAt: Instant | null = null;
  #lookedAt: Instant | null = null;
  #before: Interval[] = [];
  #watchingSinceAt: Instant | null = null;
  /** The last batch. When the intake is cut off, it cannot determine whether this batch was applied. */
  #last: Batch | null = null;
  #uncertain: Batch | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Registers the intake before it listens. */
  async enter(name: string, { databaseAt }: Moment): Promise<void> {
    const { lastHeartbeatAt } = await enterIntake(this.#database, {
      intakeId: this.id,
      name,
      leaseMs: LEASE_MS,
    });
    this.#heartbeatAt = lastHeartbeatAt;
    if (lastHeartbeatAt !== null && lastHeartbeatAt < databaseAt)
      this.#before = [{ from: lastHeartbeatAt, to: databaseAt }];
  }

  /** Sends a heartbeat and reports what could not be received. */
  async heartbeat(
    { databaseAt, receiptAt }: Moment,
    report: HeartbeatReport = {},
  ): Promise<HeartbeatAccepted> {
    const { skippedMs = 0, refused = [], gone = [] } = report;
    const watermarkAt = watermarkOf({
      now: receiptAt,
      oldestUnappliedAt: this.spool[0]?.at ?? null,
      refusingSinceAt: this.refusingSinceAt,
    });
    const unproven = this.#before;
    const observed = {
      watermarkAt,
      acceptedUntilAt: null,
      skippedMs,
      unproven,
      refused,
      spoolFill: 0,
      signalsPerMinute: 0,
    };
    const result = await recordHeartbeat(this.#database, {
      intakeId: this.id,
      leaseMs: LEASE_MS,
      heartbeatAt: this.#heartbeatAt,
      lookedAt: this.#lookedAt,
      confirmedSeqs: [this.#seq],
      watchingSinceAt: this.#watchingSinceAt,
      signs: new Map(),
      gone,
      broken: [],
      observe: () => Promise.resolve({ ...observed, spoolEmpty: this.spool.length === 0 }),
    });
    if (result.kind === "closed") throw new Error("an intake was given up although it sent heartbeats");
    if (result.lost.length > 0) throw new Error("an intake was declared lost within its lease");
    this.#heartbeatAt = result.heartbeatAt;
    this.#lookedAt = databaseAt;
    this.#before = [];
    this.watermarkAt = watermarkAt;
    this.#watchingSinceAt ??= databaseAt;
    return result;
  }

  /** The values of the last heartbeat that was skipped since the previous turn. */
  skipHeartbeats({ databaseAt, receiptAt }: Moment): SkippedHeartbeat | null {
    const at = databaseAt - HEARTBEAT_EVERY_MS;
    if (this.#lookedAt === null || at <= this.#lookedAt) return null;
    this.watermarkAt = Math.max(this.watermarkAt, this.watermarkFor(receiptAt - HEARTBEAT_EVERY_MS));
    this.#lookedAt = at;
    this.#heartbeatAt = Math.max(this.#heartbeatAt ?? at, at);
    const { id, watermarkAt } = this;
    return { id, heartbeatAt: this.#heartbeatAt, watermarkAt, leaseUntilAt: this.#heartbeatAt + LEASE_MS };
  }

  /** The watermark if every accepted ping is applied. */
  watermarkFor(receiptAt: Instant): Instant {
    if (this.isCut) return this.watermarkAt;
    return watermarkOf({ now: receiptAt, oldestUnappliedAt: null, refusingSinceAt: this.refusingSinceAt });
  }

  /** The database stops responding, and the result of the last batch is unknown. */
  cut(): void {
    this.isCut = true;
    this.#uncertain = this.#last;
    // While cut off, the intake cannot observe missing heartbeats of others.
    this.#watchingSinceAt = null;
  }

  async record(signals: readonly AcceptedSignal[], visibility: Visibility): Promise<void> {
    for (let from = 0; from < signals.length; from += BATCH_MAX) {
      this.#seq += 1;
      const part = signals.slice(from, from + BATCH_MAX);
      this.#last = { intakeId: this.id, lane: 0, seq: this.#seq, signals: part };
      await this.#apply(this.#last, { visibility, replayed: false });
    }
  }

  /** Replays the spool, and first the batch with an unknown result. */
  async drain(visibility: Visibility): Promise<void> {
    this.isCut = false;
    const uncertain = this.#uncertain;
    this.#uncertain = null;
    if (
      uncertain !== null &&
      (await this.#apply(uncertain, { visibility, replayed: true })) !== "applied before"
    ) {
      throw new Error("a batch that had been applied was applied again");
    }
    const spooled = this.spool.splice(0);
    for (let from = 0; from < spooled.length; from += BATCH_MAX) {
      this.#seq += 1;
      const signals = spooled.slice(from, from + BATCH_MAX);
      await this.#apply(
        { intakeId: this.id, lane: 0, seq: this.#seq, signals },
        { visibility, replayed: true },
      );
    }
  }

  async #apply(batch: Batch, { visibility, replayed }: { visibility: Visibility; replayed: boolean }) {
    const result = await recordSignals(this.#database, batch, {
      visibility,
      replayed,
      rules: RULES,
      pingLogRows: LOG_ROWS,
      encode: ({ ua }) => Buffer.from(ua),
    });
    if (result === "out of sequence") throw new Error("a batch was out of sequence");
    return result;
  }

  /** Deregisters the intake. */
  async leave(): Promise<void> {
    await leaveIntake(this.#database, { intakeId: this.id });
  }
}
