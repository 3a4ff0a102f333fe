// Scripted ports of the intake: a database that can be down, slow, lose commits or leave them in doubt, and a spool
// that can be full. Both log their calls, so that a test can check them.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseClock } from "../../src/core/database-clock.ts";
import {
  type AcceptedSignal,
  type Batch,
  type BatchNumber,
  laneOf,
  type SignalTarget,
} from "../../src/core/signal.ts";
import { DatabaseIntake, type IntakeDeps } from "../../src/intake/intake.ts";
import type { BatchSpool, Recorded, RecordHow } from "../../src/intake/recorder.ts";
import { awakeMs } from "../support/awake.ts";

/** What the database does with a batch: it responds, is down, or commits and loses the response. */
export type Behaviour = "answers" | "away" | "hangs" | "in doubt";

/** A database as record-signals presents it: numbers are applied once and in order. */
export class ScriptedDatabase {
  behaviour: Behaviour = "answers";
  delayMs = 0;
  /** By intake for lane 0, which the usual target takes, and by intake and lane for the others. */
  readonly lastSeq = new Map<string, number>();
  /** Every signal that was applied, in order. */
  readonly applied: (BatchNumber & { ua: string; replayed: boolean })[] = [];
  readonly skipped: BatchNumber[] = [];
  readonly unreadable: string[] = [];
  /** Targets that do not exist. */
  readonly unknown = new Set<string>();
  inFlight = 0;
  inFlightMax = 0;
  calls = 0;

  async record(batch: Batch, how: RecordHow): Promise<Recorded> {
    this.calls += 1;
    this.inFlight += 1;
    this.inFlightMax = Math.max(this.inFlightMax, this.inFlight);
    try {
      if (this.behaviour === "hangs") {
        await sleep(Math.max(0, how.giveUpAtMs - awakeMs()));
        throw new Error("gave up");
      }
      await sleep(this.delayMs);
      if (this.behaviour === "away") throw new Error("away");
      const result = this.#apply(batch, how);
      if (this.behaviour === "in doubt") throw new Error("the commit was not confirmed");
      return result;
    } finally {
      this.inFlight -= 1;
    }
  }

  async skipTo(batch: BatchNumber): Promise<void> {
    if ((this.lastSeq.get(laneName(batch)) ?? 0) >= batch.seq) return;
    this.skipped.push(batch);
    this.lastSeq.set(laneName(batch), batch.seq);
  }

  uas(): string[] {
    return this.applied.map(({ ua }) => ua);
  }

  #apply(batch: Batch, how: RecordHow): Recorded {
    const last = this.lastSeq.get(laneName(batch)) ?? 0;
    if (batch.seq <= last) return "applied before";
    if (batch.seq > last + 1) return "out of sequence";
    this.lastSeq.set(laneName(batch), batch.seq);
    this.unreadable.push(...how.unreadable.map(({ reason }) => reason));
    return batch.signals.map(({ target, ua }) => {
      if (this.unknown.has(nameOf(target))) return "unknown";
      const { intakeId, lane, seq } = batch;
      this.applied.push({ intakeId, lane, seq, ua, replayed: how.replayed });
      return "recorded";
    });
  }
}

/** An in-memory spool with the guarantees of the real one. */
export class ScriptedSpool implements BatchSpool {
  readonly batches: Batch[] = [];
  isFull = false;
  /** The batch is written to disk, but the response says that it was not. */
  liesOnce = false;
  delayMs = 0;
  appends = 0;
  /** Belongs to the currently oldest batch. */
  unreadable: { reason: string; bytes: Uint8Array }[] = [];
  readonly orphans = new Set<string>();

  async append(batch: Batch): Promise<void> {
    this.appends += 1;
    await sleep(this.delayMs);
    if (this.isFull) throw new Error("full");
    const newest = this.batches.findLast((one) => laneName(one) === laneName(batch));
    if (newest !== undefined && batch.seq !== newest.seq + 1) throw new Error("out of order");
    this.batches.push(batch);
    if (this.liesOnce) {
      this.liesOnce = false;
      throw new Error("the disk failed");
    }
  }

  async oldest() {
    await sleep(0);
    const [first] = this.batches;
    if (first === undefined) return null;
    const count = this.batches.filter(({ intakeId }) => intakeId === first.intakeId).length;
    const isLast = this.orphans.has(first.intakeId) && count === 1;
    const oldestAt = Math.min(...this.batches.flatMap(({ signals }) => signals.map(({ at }) => at)));
    return { ...first, isLast, unreadable: this.unreadable, oldestAt };
  }

  async remove(batch: BatchNumber): Promise<boolean> {
    const [first] = this.batches;
    if (first === undefined || laneName(first) !== laneName(batch) || first.seq !== batch.seq)
      throw new Error("not the oldest");
    this.batches.shift();
    this.unreadable = [];
    return true;
  }
}

function laneName({ intakeId, lane }: Omit<BatchNumber, "seq">): string {
  return lane === 0 ? intakeId : `${intakeId}/${lane}`;
}

export function nameOf(target: SignalTarget): string {
  return target.by === "uuid" ? target.uuid : `${target.pingKey}/${target.slug}`;
}

export type Scripted = {
  intake: DatabaseIntake;
  database: ScriptedDatabase;
  spool: ScriptedSpool;
  known: Set<string>;
  closed: string[];
  problems: string[];
  /** Sends a signal that contains a word by which it is found. */
  ping: (
    word: string,
    given?: Partial<AcceptedSignal> & { create?: boolean; network?: string },
  ) => Promise<string>;
};

/** An intake on scripted ports. Every target is known unless the test says otherwise. */
export function scripted(given: Partial<IntakeDeps> & { spoolless?: boolean } = {}): Scripted {
  const database = new ScriptedDatabase();
  const spool = new ScriptedSpool();
  const known = new Set<string>([TARGET.uuid]);
  const closed: string[] = [];
  const problems: string[] = [];
  const start = performance.now();
  const clock = new DatabaseClock({ databaseAt: Date.now(), sentAtMs: start, receivedAtMs: start }, () =>
    performance.now(),
  );
  const intake = new DatabaseIntake({
    identity: { intakeId: randomUUID(), spool: given.spoolless === true ? null : spool },
    clock,
    record: (batch, how) => database.record(batch, how),
    skipTo: (batch) => database.skipTo(batch),
    known: {
      remember: (target) => void known.add(nameOf(target)),
      knows: (target) => known.has(nameOf(target)),
      remove: (target) => void known.delete(nameOf(target)),
    },
    find: async (target) => (database.unknown.has(nameOf(target)) ? "unknown" : "known"),
    create: async (target) => (database.unknown.delete(nameOf(target)) ? "created" : "exists"),
    closeOrphan: async (intakeId) => void closed.push(intakeId),
    hasEntered: () => true,
    mayPromise: () => true,
    onError: (error, what) => problems.push(`${what}: ${error instanceof Error ? error.message : "?"}`),
    // Delays of a busy machine would make signals wait longer than they may.
    monotonic: awakeMs,
    ...given,
  });
  const ping: Scripted["ping"] = async (word, { create = false, network = null, ...fields } = {}) => {
    const { kind } = await intake.accept(signal(word, { at: intake.now(), ...fields }), { create, network });
    return kind;
  };
  return { intake, database, spool, known, closed, problems, ping };
}

/** A target that takes a lane. */
export function targetOf(lane: number): { by: "uuid"; uuid: string } {
  for (;;) {
    const target = { by: "uuid" as const, uuid: randomUUID() };
    if (laneOf(target) === lane) return target;
  }
}

const TARGET = targetOf(0);

export function signal(word: string, given: Partial<AcceptedSignal> = {}): AcceptedSignal {
  return {
    target: TARGET,
    source: { by: "http", action: "success", method: "GET" },
    rid: null,
    exitStatus: null,
    scheme: "http",
    remoteAddr: "127.0.0.1",
    ua: word,
    body: null,
    at: Date.now(),
    ...given,
  };
}

export const words = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
