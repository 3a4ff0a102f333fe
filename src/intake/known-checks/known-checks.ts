// The checks that the intakes of this machine resolved in the last 30 days: while PostgreSQL is unavailable, only
// their signals are accepted. Used for every ping, so lookups are in memory; a thread maintains the file. Errors of
// the file never affect a ping: then only the memory is used.
import { Worker } from "node:worker_threads";
import { DAY_MS, type Instant } from "../../core/instant.ts";
import type { SignalTarget } from "../../core/signal.ts";
import { callsTo, type ThreadCalls, ThreadEnded, threadFile } from "../spool.ts";
import { FORGOTTEN, type KnownList } from "./file.ts";
import { type Fingerprint, fingerprintWith } from "./fingerprint.ts";
import type { KnownAnswer, KnownRequest } from "./messages.ts";
import { type Day, KnownTable } from "./table.ts";

/** About 21 bytes of memory and 40 bytes of disk each. */
const KNOWN_CHECKS_MAX = 2_000_000;
const SAVE_EVERY_MS = 3_000;
/** Unwritten changes; beyond this number, a check is known only until the restart. */
const UNSAVED_MAX = 200_000;
/** Changes written in one transaction, so that other intakes of the machine do not wait long for it. */
const SAVED_AT_ONCE_MAX = 20_000;
const CLOSE_TIMEOUT_MS = 10_000;

export type KnownChecksOptions = {
  /** The folder of the spool. */
  folder: string;
  now: Instant;
  countMax?: number;
  saveEveryMs?: number;
};

export type KnownChecksState = {
  count: number;
  /** Memory used by the table. */
  bytes: number;
  /** Number of unwritten changes. */
  unsaved: number;
  /** Why the file could not be read or written last time, or null. */
  failed: string | null;
};

export type KnownChecks = {
  /** Records that PostgreSQL has the target. */
  remember(target: SignalTarget, now: Instant): void;
  /** Whether the target was seen within the last 30 days by any intake of this machine. */
  knows(target: SignalTarget, now: Instant): boolean;
  /** Records that PostgreSQL does not have the target. */
  remove(target: SignalTarget): void;
  /** Writes changes and reads those of other intakes. Runs automatically every few seconds. */
  save(): Promise<void>;
  state(): KnownChecksState;
  /** Saves and closes the file; lookups in memory still work. Can be called twice. */
  close(): Promise<void>;
};

/** Resolves when everything that was known before is in memory; also if the file cannot be used. */
export async function openKnownChecks(options: KnownChecksOptions): Promise<KnownChecks> {
  const { folder, now, countMax = KNOWN_CHECKS_MAX, saveEveryMs = SAVE_EVERY_MS } = options;
  const body = threadFile("./thread.ts", import.meta.url);
  const worker = new Worker(body, { workerData: { folder, countMax }, name: "known-checks" });
  const calls = callsTo<KnownRequest, KnownAnswer>(worker);
  const { secret, failed } = await ask(calls, { kind: "open" });
  const fingerprintOf = fingerprintWith(secret ?? randomSecret());
  const checks = new KnownChecksInMemory({ calls, fingerprintOf, countMax, now, failed });
  if (failed === null) await checks.load();
  checks.saveEvery(saveEveryMs);
  return checks;
}

/** Known only until the restart, for an intake without a folder. */
export function knownUntilRestart(): Pick<KnownChecks, "remember" | "knows" | "remove"> {
  const table = new KnownTable({ countMax: KNOWN_CHECKS_MAX });
  const fingerprintOf = fingerprintWith(randomSecret());
  return {
    remember: (target, now) => void table.set(fingerprintOf(target), dayOf(now)),
    knows: (target, now) => table.has(fingerprintOf(target), dayOf(now)),
    remove: (target) => void table.delete(fingerprintOf(target)),
  };
}

class KnownChecksInMemory implements KnownChecks {
  readonly #calls: ThreadCalls<KnownRequest, KnownAnswer>;
  readonly #fingerprintOf: (target: SignalTarget) => Fingerprint;
  readonly #table: KnownTable;
  #today: Day;
  readonly #unsaved = new Map<Fingerprint, Day>();
  #saving: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #failed: string | null;

  constructor(deps: {
    calls: ThreadCalls<KnownRequest, KnownAnswer>;
    fingerprintOf: (target: SignalTarget) => Fingerprint;
    countMax: number;
    now: Instant;
    failed: string | null;
  }) {
    this.#calls = deps.calls;
    this.#fingerprintOf = deps.fingerprintOf;
    this.#table = new KnownTable({ countMax: deps.countMax });
    this.#today = dayOf(deps.now);
    this.#failed = deps.failed;
  }

  remember(target: SignalTarget, now: Instant): void {
    const fingerprint = this.#fingerprintOf(target);
    this.#today = dayOf(now);
    if (this.#table.set(fingerprint, this.#today)) this.#note(fingerprint, this.#today);
  }

  knows(target: SignalTarget, now: Instant): boolean {
    return this.#table.has(this.#fingerprintOf(target), dayOf(now));
  }

  remove(target: SignalTarget): void {
    const fingerprint = this.#fingerprintOf(target);
    if (this.#table.delete(fingerprint)) this.#note(fingerprint, FORGOTTEN);
  }

  save(): Promise<void> {
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = null;
    });
    return this.#saving;
  }

  state(): KnownChecksState {
    const { count, bytes } = this.#table;
    return { count, bytes, unsaved: this.#unsaved.size, failed: this.#failed };
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async load(): Promise<void> {
    for (;;) {
      const { list, failed } = await ask(this.#calls, { kind: "load" });
      this.#failed = failed;
      if (list === null || !this.#takeOver(list)) return;
    }
  }

  saveEvery(ms: number): void {
    this.#timer = setInterval(() => void this.save(), ms);
    this.#timer.unref();
  }

  async #saveAll(): Promise<void> {
    // Changes made in the meantime wait for the next time, so that this ends.
    let pieces = Math.ceil(this.#unsaved.size / SAVED_AT_ONCE_MAX);
    do {
      await this.#savePiece();
      pieces -= 1;
    } while (pieces > 0 && this.#failed === null);
  }

  async #savePiece(): Promise<void> {
    const piece: [Fingerprint, Day][] = [];
    for (const change of this.#unsaved) {
      if (piece.length === SAVED_AT_ONCE_MAX) break;
      piece.push(change);
      this.#unsaved.delete(change[0]);
    }
    const changes = Float64Array.from(piece.flat());
    const request: KnownRequest = { kind: "save", changes, today: this.#today };
    const { list, failed } = await ask(this.#calls, request, [changes.buffer]);
    this.#failed = failed;
    if (list !== null) this.#takeOver(list);
    if (failed === null) return;
    // To be retried, unless a newer change has been made in the meantime.
    for (const [fingerprint, day] of piece) {
      if (!this.#unsaved.has(fingerprint)) this.#note(fingerprint, day);
    }
  }

  /** False if the table is full, so that older entries need not be added. */
  #takeOver(list: KnownList): boolean {
    for (let at = 0; at < list.length; at += 2) {
      const [fingerprint = 0, day = FORGOTTEN] = [list[at], list[at + 1]];
      if (day === FORGOTTEN) this.#table.delete(fingerprint);
      else this.#table.set(fingerprint, day);
    }
    return !this.#table.isFull;
  }

  #note(fingerprint: Fingerprint, day: Day): void {
    if (this.#unsaved.size < UNSAVED_MAX) this.#unsaved.set(fingerprint, day);
  }

  async #end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.save();
    await ask(this.#calls, { kind: "close" });
    await this.#calls.waitForEnd(CLOSE_TIMEOUT_MS);
  }
}

/** A thread that has ended also means that the file cannot be used. */
async function ask(
  calls: ThreadCalls<KnownRequest, KnownAnswer>,
  request: KnownRequest,
  transfer: readonly ArrayBuffer[] = [],
): Promise<KnownAnswer> {
  try {
    return await calls.call(request, transfer);
  } catch (error) {
    if (!(error instanceof ThreadEnded)) throw error;
    return { secret: null, list: null, failed: `the thread ended: ${error.message}` };
  }
}

function randomSecret(): { low: number; high: number } {
  const [low = 0, high = 0] = crypto.getRandomValues(new Int32Array(2));
  return { low, high };
}

function dayOf(now: Instant): Day {
  return Math.floor(now / DAY_MS);
}
