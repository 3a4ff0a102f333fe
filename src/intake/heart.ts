// The heart of an intake: it beats each second from when the intake listens until after it has stopped, and
// enters anew when the others have given it up or its spool can be used no more.
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Sight } from "../core/machine/deadline.ts";
import { SPOOL_FILL_TOLD } from "../core/limits.ts";
import { BEAT_EVERY_MS, BEAT_GAP_MS_MAX, mayPromise } from "../core/machine/watermark.ts";
import type { HeartParts, Limit } from "./beat/parts.ts";
import { Pulse, type PulseCounts } from "./beat/pulse.ts";
import type { BatchSpool, Identity } from "./direct/parts.ts";

/** A beat that takes longer is given up. */
const BEAT_MS_MAX = 2_000;
const ORPHANS_EVERY_MS = 10_000;
/** More than it takes to store what an intake remembers. */
const LAST_BEATS_MAX = 15;

/** For metrics and readiness. */
export type HeartState = PulseCounts & { intakeId: string; sinceBeatMs: number; failures: number };

const SPOOL_FULL =
  "the spool has no space left: the disk or OVERDUE_SPOOL_BYTES is exhausted, or the folder is missing; pings are rejected while the database is unavailable";

export class Heart {
  readonly #parts: HeartParts;
  readonly #pulse: Pulse;
  /** The newest one; batches may still be numbered under one before it. */
  #identity: Identity;
  #failures = 0;
  #isFailing = false;
  #isFilling = false;
  #isFull = false;
  #lastTryMs = Number.NEGATIVE_INFINITY;
  #searchedMs = Number.NEGATIVE_INFINITY;
  #isSearching = false;
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;

  constructor(parts: HeartParts) {
    this.#parts = parts;
    this.#identity = parts.identity;
    this.#pulse = new Pulse(parts);
  }

  /** How far can be seen; nothing fires while beats do not follow on each other. */
  sight(): Sight {
    const { sight } = this.#pulse.watch;
    return this.#sinceBeatMs() > BEAT_GAP_MS_MAX ? { ...sight, watermarkAt: null } : sight;
  }

  /** Whether the database has heard of the intake; before, nothing can be recorded under its id. */
  hasEntered(): boolean {
    return this.#pulse.hasEntered;
  }

  /** Whether a signal may be promised that is only spooled. */
  mayPromise(): boolean {
    const { leaseMs } = this.#parts;
    return mayPromise({ sinceBeatMs: this.#sinceBeatMs(), leaseMs, isAlone: this.#pulse.watch.isAlone });
  }

  state(): HeartState {
    const { counts, intakeId } = this.#pulse;
    return { ...counts, intakeId, sinceBeatMs: this.#sinceBeatMs(), failures: this.#failures };
  }

  /** The intake listens from now on. Resolves after the first beat, whether it succeeded or not. */
  async start(): Promise<void> {
    const { entered } = this.#parts;
    this.#pulse.listen();
    if (entered !== null) this.#pulse.enter(this.#identity.intakeId, entered);
    this.#pulse.ticks.start();
    await this.#tryToBeat();
    this.#running = this.#run();
  }

  /** The intake listens no more; beats go on, but vouch for nothing that comes later. */
  stopAccepting(): void {
    this.#pulse.acceptedUntilAt ??= this.#parts.clock.now();
  }

  /**
   * Ends the beats. If nothing is left it says goodbye, and returns whether that was heard; otherwise that is for
   * whoever finds the rest.
   */
  async stop({ isEmpty }: { isEmpty: boolean }): Promise<boolean> {
    this.stopAccepting();
    this.#stopping.abort();
    await this.#running;
    // Whoever never listened, or was never heard of, has nothing to vouch for.
    if (this.#running !== null && this.#pulse.hasEntered) await this.#beatToTheEnd();
    this.#pulse.ticks.stop();
    return isEmpty && this.#leave();
  }

  /** Refusals of single checks may take several beats. */
  async #beatToTheEnd(): Promise<void> {
    for (let beats = 0; beats < LAST_BEATS_MAX; beats += 1) {
      await this.#tryToBeat();
      if (this.#isFailing || this.#parts.intake.state().unstoredSinceAt === null) return;
    }
  }

  async #leave(): Promise<boolean> {
    const { intake, leave, monotonic, log, noteBeat, clock, wall } = this.#parts;
    const { refused, attributed, refusingSinceAt: from } = intake.state();
    const open = from === null ? [] : [{ from, to: this.#pulse.acceptedUntilAt }];
    try {
      const going = { intakeId: this.#pulse.intakeId, refused: [...refused, ...open], attributed };
      await leave(going, { giveUpAtMs: monotonic() + BEAT_MS_MAX });
    } catch (error) {
      log.warn({ err: error }, "could not unregister this process; the next start on this machine does it");
      return false;
    }
    // From now on the others go on without us: as one of several, a start may not count on this beat.
    const { isAlone } = this.#pulse.watch;
    noteBeat({ wallAt: 0, databaseAheadMs: clock.now() - wall(), isAlone });
    return true;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const waitMs = this.#lastTryMs + BEAT_EVERY_MS - this.#parts.monotonic();
      await pause(Math.max(0, waitMs), undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.#tryToBeat();
    }
  }

  async #tryToBeat(): Promise<void> {
    const { monotonic, log, spoolTrouble } = this.#parts;
    this.#lastTryMs = monotonic();
    const limit = { giveUpAtMs: this.#lastTryMs + BEAT_MS_MAX };
    this.#startSearch();
    this.#noteSpool();
    try {
      if (!this.#pulse.hasEntered) await this.#enterLate(limit);
      const { spool } = this.#identity;
      const trouble = spool === null ? null : spoolTrouble(spool);
      if (trouble !== null) await this.#leaveSpool(trouble, limit);
      else if (!(await this.#pulse.beat(limit))) await this.#enterAnew(limit);
      this.#letGo(this.#pulse.takeHeardGone());
      if (this.#isFailing) log.info("heartbeats succeed again");
      this.#isFailing = false;
    } catch (error) {
      // While the database is away every beat fails: one line says it.
      if (!this.#isFailing) log.warn({ err: error }, "heartbeats fail");
      this.#isFailing = true;
      this.#failures += 1;
    }
  }

  /** Here and not after a beat: it fills while the database is away. */
  #noteSpool(): void {
    const { spoolFill, log } = this.#parts;
    const fill = spoolFill();
    const isFilling = fill >= SPOOL_FILL_TOLD;
    const isFull = fill >= 1;
    if (isFull && !this.#isFull) log.warn({ fill }, SPOOL_FULL);
    else if (isFilling && !this.#isFilling)
      log.warn({ fill }, "the spool is filling up; when it is full, pings are rejected");
    if (!isFilling && this.#isFilling) log.info({ fill }, "the spool has free space again");
    this.#isFilling = isFilling;
    this.#isFull = isFull;
  }

  /** Beside the beats: a disk that hangs must not stop them. */
  #startSearch(): void {
    const { monotonic, log } = this.#parts;
    if (this.#isSearching || monotonic() - this.#searchedMs < ORPHANS_EVERY_MS) return;
    this.#isSearching = true;
    this.#searchedMs = monotonic();
    this.#findOrphans()
      .catch((error: unknown) => log.warn({ err: error }, "could not search the spool folder"))
      .finally(() => {
        this.#isSearching = false;
      });
  }

  async #findOrphans(): Promise<void> {
    const { findOrphans, intake } = this.#parts;
    const { gone, broken } = await findOrphans();
    // First: whoever is gone may have held the watermark for what was found just now.
    await intake.adopt();
    for (const id of gone) this.#pulse.gone.add(id);
    for (const id of broken) this.#pulse.broken.add(id);
  }

  /** Their files go only now that the database does not count on them: if we die, the next start finds them. */
  #letGo(intakeIds: readonly string[]): void {
    if (intakeIds.length === 0) return;
    const { letGo, log } = this.#parts;
    letGo(intakeIds).catch((error: unknown) => log.warn({ err: error }, "could not remove an empty spool"));
    // There may be more than are found at a time.
    this.#searchedMs = Number.NEGATIVE_INFINITY;
  }

  /** The database was away at the start. What was taken since then holds the watermark from this moment on. */
  async #enterLate(limit: Limit): Promise<void> {
    const { name, leaseMs, enter, clock, intake, log } = this.#parts;
    const { intakeId } = this.#identity;
    const unappliedAt = intake.state().oldestUnappliedAt;
    const entered = await enter({ intakeId, name, leaseMs, unappliedAt }, limit);
    clock.adjust(entered.look);
    this.#pulse.enter(intakeId, entered);
    log.info({ intakeId }, "connected to the database and registered");
  }

  /** The others have declared this intake lost, or the database has never heard of it. */
  async #enterAnew(limit: Limit): Promise<void> {
    const { name, leaseMs, enter, clock, log } = this.#parts;
    const intakeId = randomUUID();
    const entered = await enter({ intakeId, name, leaseMs }, limit);
    log.warn(
      { was: this.#pulse.intakeId, intakeId },
      "other processes considered this one lost; registered again",
    );
    clock.adjust(entered.look);
    this.#pulse.enter(intakeId, entered);
    await this.#renew(intakeId, { isAbandoning: false });
  }

  /** What the old spool holds is taken over by a new one, under a new id. */
  async #leaveSpool(trouble: string, limit: Limit): Promise<void> {
    const { name, leaseMs, enter, closeSpool, log } = this.#parts;
    const { spool } = this.#identity;
    const intakeId = randomUUID();
    const entered = await enter({ intakeId, name, leaseMs }, limit);
    // Not before: while the database is away this is tried each second.
    log.error({ trouble }, "the spool failed; replacing it with a new one");
    this.#pulse.enter(intakeId, entered);
    const isRemoved = spool !== null && (await closeSpool(spool)).isRemoved;
    await this.#renew(intakeId, { isAbandoning: true, removed: isRemoved ? spool : null });
  }

  /** `removed`: a spool whose file is gone, so that no search finds it. */
  async #renew(
    intakeId: string,
    { isAbandoning, removed = null }: { isAbandoning: boolean; removed?: BatchSpool | null },
  ): Promise<void> {
    const { intake, openSpool, log } = this.#parts;
    const spool = await openSpool(intakeId).catch((error: unknown) => {
      log.error(
        { err: error },
        "could not open a spool; pings are rejected while the database is unavailable",
      );
      return null;
    });
    this.#identity = { intakeId, spool };
    const renewed = intake.renew({ identity: this.#identity, isAbandoning });
    void this.#discard(renewed, { isClosed: isAbandoning, removed });
  }

  /** It may take as long as the detour does until the old spool is out of use. */
  async #discard(
    renewed: Promise<Identity>,
    { isClosed, removed }: { isClosed: boolean; removed: BatchSpool | null },
  ): Promise<void> {
    const { closeSpool, log } = this.#parts;
    try {
      const { intakeId, spool } = await renewed;
      if (spool !== null && !isClosed) await closeSpool(spool);
      // Not before: until now, batches could be under way under the old id.
      if (spool !== null && spool === removed) this.#pulse.gone.add(intakeId);
    } catch (error) {
      log.error({ err: error }, "could not close an old spool");
    }
  }

  #sinceBeatMs(): number {
    return this.#parts.monotonic() - this.#pulse.lastBeatMs;
  }
}
