// The heartbeat of an intake: sent every second from when the intake listens until after it has stopped. The intake
// is registered again if other intakes have declared it lost or its spool failed.
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Visibility } from "../core/deadline.ts";
import type { Instant, Interval } from "../core/instant.ts";
import { SPOOL_FILL_REPORTED } from "../core/limits.ts";
import {
  type AttributedRefusals,
  type ClockReading,
  HEARTBEAT_EVERY_MS,
  hasLostBatches,
  HEARTBEAT_GAP_MS_MAX,
  type HeartbeatAccepted,
  type HeartbeatRequest,
  type HeartbeatResult,
  type IntakeEntered,
  type IntakeEntry,
  mayConfirm,
  type Observation,
  type OpenIntake,
  WATERMARK_LAG_MS,
  watermarkOf,
} from "../core/watermark.ts";
import type { Log } from "../lib/log.ts";
import type { DatabaseClock } from "../core/database-clock.ts";
import type { DatabaseIntake } from "./intake.ts";
import { holdOf, PeerHeartbeats, PerMinute, Ticks } from "./heartbeat-state.ts";
import type { ClosedSpool, LastHeartbeat, Orphans } from "./intake-files.ts";
import type { BatchSpool, Identity } from "./recorder.ts";

/** A heartbeat that takes longer is given up. */
const BEAT_MS_MAX = 2_000;
const ORPHANS_EVERY_MS = 10_000;
/** More than enough to store what an intake remembers. */
const LAST_HEARTBEATS_MAX = 15;

/** For metrics and readiness. */
export type HeartbeatState = HeartbeatCounts & {
  intakeId: string;
  sinceHeartbeatMs: number;
  failures: number;
};

const SPOOL_FULL =
  "the spool has no space left: the disk is full, the limit OVERDUE_SPOOL_BYTES is reached, or the folder is missing; pings are rejected while the database is unavailable";

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #exchange: HeartbeatExchange;
  /** The newest one; batches may still be numbered under an earlier one. */
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

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#identity = deps.identity;
    this.#exchange = new HeartbeatExchange(deps);
  }

  /** The visibility; no deadline fires while heartbeats have gaps. */
  visibility(): Visibility {
    const { visibility } = this.#exchange.watch;
    return this.#sinceHeartbeatMs() > HEARTBEAT_GAP_MS_MAX
      ? { ...visibility, watermarkAt: null }
      : visibility;
  }

  /** Whether the intake is registered; before that, nothing can be recorded under its ID. */
  hasEntered(): boolean {
    return this.#exchange.hasEntered;
  }

  /** Whether a signal that is only spooled may be acknowledged. */
  mayPromise(): boolean {
    const { leaseMs } = this.#deps;
    return mayConfirm({
      sinceHeartbeatMs: this.#sinceHeartbeatMs(),
      leaseMs,
      isAlone: this.#exchange.watch.isAlone,
    });
  }

  state(): HeartbeatState {
    const { counts, intakeId } = this.#exchange;
    return { ...counts, intakeId, sinceHeartbeatMs: this.#sinceHeartbeatMs(), failures: this.#failures };
  }

  /** The intake listens from now on. Resolves after the first heartbeat, whether it succeeded or not. */
  async start(): Promise<void> {
    const { entered } = this.#deps;
    this.#exchange.listen();
    if (entered !== null) this.#exchange.enter(this.#identity.intakeId, entered);
    this.#exchange.ticks.start();
    await this.#tryHeartbeat();
    this.#running = this.#run();
  }

  /** The intake no longer listens; heartbeats continue, but confirm nothing that arrives later. */
  stopAccepting(): void {
    this.#exchange.acceptedUntilAt ??= this.#deps.clock.now();
  }

  /**
   * Ends the heartbeats. If no signals are left, unregisters the intake and returns whether that succeeded; otherwise
   * the process that finds its spool does.
   */
  async stop({ isEmpty }: { isEmpty: boolean }): Promise<boolean> {
    this.stopAccepting();
    this.#stopping.abort();
    await this.#running;
    // An intake that never listened, or was never registered, has nothing to confirm.
    if (this.#running !== null && this.#exchange.hasEntered) await this.#sendLastHeartbeats();
    this.#exchange.ticks.stop();
    return isEmpty && this.#leave();
  }

  /** Refusals of single checks may take several heartbeats. */
  async #sendLastHeartbeats(): Promise<void> {
    for (let count = 0; count < LAST_HEARTBEATS_MAX; count += 1) {
      await this.#tryHeartbeat();
      if (this.#isFailing || this.#deps.intake.state().unstoredSinceAt === null) return;
    }
  }

  async #leave(): Promise<boolean> {
    const { intake, leave, monotonic, log, noteHeartbeat, clock, wall } = this.#deps;
    const { refused, attributed, refusingSinceAt: from } = intake.state();
    const open = from === null ? [] : [{ from, to: this.#exchange.acceptedUntilAt }];
    try {
      const going = { intakeId: this.#exchange.intakeId, refused: [...refused, ...open], attributed };
      await leave(going, { giveUpAtMs: monotonic() + BEAT_MS_MAX });
    } catch (error) {
      log.warn({ err: error }, "could not unregister this process; the next start on this machine does it");
      return false;
    }
    // From now on, other intakes continue without this one: unless it was alone, a start must not rely on this
    // heartbeat.
    const { isAlone } = this.#exchange.watch;
    noteHeartbeat({ wallAt: 0, databaseAheadMs: clock.now() - wall(), isAlone });
    return true;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const waitMs = this.#lastTryMs + HEARTBEAT_EVERY_MS - this.#deps.monotonic();
      await pause(Math.max(0, waitMs), undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.#tryHeartbeat();
    }
  }

  async #tryHeartbeat(): Promise<void> {
    const { monotonic, log, spoolProblem } = this.#deps;
    this.#lastTryMs = monotonic();
    const limit = { giveUpAtMs: this.#lastTryMs + BEAT_MS_MAX };
    this.#startSearch();
    this.#noteSpool();
    try {
      if (!this.#exchange.hasEntered) await this.#enterLate(limit);
      const { spool } = this.#identity;
      const problem = spool === null ? null : spoolProblem(spool);
      if (problem !== null) await this.#leaveSpool(problem, limit);
      else if (!(await this.#exchange.sendHeartbeat(limit))) await this.#enterAnew(limit);
      this.#releaseIntakes(this.#exchange.takeClosedGone());
      if (this.#isFailing) log.info("heartbeats succeed again");
      this.#isFailing = false;
    } catch (error) {
      // While the database is unavailable every heartbeat fails: one line is logged.
      if (!this.#isFailing) log.warn({ err: error }, "heartbeats fail");
      this.#isFailing = true;
      this.#failures += 1;
    }
  }

  /** Here and not after a heartbeat: the spool fills while the database is unavailable. */
  #noteSpool(): void {
    const { spoolFill, log } = this.#deps;
    const fill = spoolFill();
    const isFilling = fill >= SPOOL_FILL_REPORTED;
    const isFull = fill >= 1;
    if (isFull && !this.#isFull) log.warn({ fill }, SPOOL_FULL);
    else if (isFilling && !this.#isFilling)
      log.warn({ fill }, "the spool is filling up; when it is full, pings are rejected");
    if (!isFilling && this.#isFilling) log.info({ fill }, "the spool has free space again");
    this.#isFilling = isFilling;
    this.#isFull = isFull;
  }

  /** Concurrently with the heartbeats: a disk that hangs must not stop them. */
  #startSearch(): void {
    const { monotonic, log } = this.#deps;
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
    const { findOrphans, intake } = this.#deps;
    const { gone, broken } = await findOrphans();
    // First: an intake that is gone may have held the watermark for what was just found.
    await intake.adopt();
    for (const id of gone) this.#exchange.gone.add(id);
    for (const id of broken) this.#exchange.broken.add(id);
  }

  /**
   * Their files are deleted only after the database has closed them: if this process dies, the next start finds them.
   */
  #releaseIntakes(intakeIds: readonly string[]): void {
    if (intakeIds.length === 0) return;
    const { releaseIntakes, log } = this.#deps;
    releaseIntakes(intakeIds).catch((error: unknown) =>
      log.warn({ err: error }, "could not remove an empty spool"),
    );
    // There may be more than one search finds.
    this.#searchedMs = Number.NEGATIVE_INFINITY;
  }

  /** The database was unavailable at the start. Signals accepted since then hold the watermark from now on. */
  async #enterLate(limit: Limit): Promise<void> {
    const { name, leaseMs, enter, clock, intake, log } = this.#deps;
    const { intakeId } = this.#identity;
    const unappliedAt = intake.state().oldestUnappliedAt;
    const entered = await enter({ intakeId, name, leaseMs, unappliedAt }, limit);
    clock.adjust(entered.look);
    this.#exchange.enter(intakeId, entered);
    log.info({ intakeId }, "connected to the database and registered");
  }

  /** The other intakes have declared this one lost, or the database does not have it. */
  async #enterAnew(limit: Limit): Promise<void> {
    const { name, leaseMs, enter, clock, log } = this.#deps;
    const intakeId = randomUUID();
    const entered = await enter({ intakeId, name, leaseMs }, limit);
    log.warn(
      { was: this.#exchange.intakeId, intakeId },
      "other processes considered this one lost; registered again",
    );
    clock.adjust(entered.look);
    this.#exchange.enter(intakeId, entered);
    await this.#renew(intakeId, { isAbandoning: false });
  }

  /** A new spool takes over the contents of the old one, under a new ID. */
  async #leaveSpool(problem: string, limit: Limit): Promise<void> {
    const { name, leaseMs, enter, closeSpool, log } = this.#deps;
    const { spool } = this.#identity;
    const intakeId = randomUUID();
    const entered = await enter({ intakeId, name, leaseMs }, limit);
    // Not before: while the database is unavailable this is tried each second.
    log.error({ problem }, "the spool failed; replacing it with a new one");
    this.#exchange.enter(intakeId, entered);
    const isRemoved = spool !== null && (await closeSpool(spool)).isRemoved;
    await this.#renew(intakeId, { isAbandoning: true, removed: isRemoved ? spool : null });
  }

  /** `removed`: a spool whose file is gone, so that no search finds it. */
  async #renew(
    intakeId: string,
    { isAbandoning, removed = null }: { isAbandoning: boolean; removed?: BatchSpool | null },
  ): Promise<void> {
    const { intake, openSpool, log } = this.#deps;
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

  /** It may take until the end of the fallback before the old spool is out of use. */
  async #discard(
    renewed: Promise<Identity>,
    { isClosed, removed }: { isClosed: boolean; removed: BatchSpool | null },
  ): Promise<void> {
    const { closeSpool, log } = this.#deps;
    try {
      const { intakeId, spool } = await renewed;
      if (spool !== null && !isClosed) await closeSpool(spool);
      // Not before: until now, batches could be in progress under the old ID.
      if (spool !== null && spool === removed) this.#exchange.gone.add(intakeId);
    } catch (error) {
      log.error({ err: error }, "could not close an old spool");
    }
  }

  #sinceHeartbeatMs(): number {
    return this.#deps.monotonic() - this.#exchange.lastHeartbeatMs;
  }
}

// The dependencies of the heartbeat. They are created in src/roles/ping.ts.

/** On the monotonic clock: fails if it is not done by then. */
export type Limit = { giveUpAtMs: number };

export type HeartbeatDeps = {
  /** Where the intake runs, for the admin. */
  name: string;
  leaseMs: number;
  /** As the intake was created, under its first ID. */
  identity: Identity;
  /** Null: the database was unavailable, and the intake has to register later. */
  entered: IntakeEntered | null;
  /**
   * The last successful heartbeat before the start, on the monotonic clock, and whether no other intake was open
   * then.
   */
  lastHeartbeat: { ms: number; isAlone: boolean };
  intake: DatabaseIntake;
  clock: DatabaseClock;
  enter: (entry: IntakeEntry, limit: Limit) => Promise<IntakeEntered>;
  sendHeartbeat: (request: HeartbeatRequest, limit: Limit) => Promise<HeartbeatResult>;
  leave: (
    going: { intakeId: string; refused: readonly Interval[]; attributed: AttributedRefusals },
    limit: Limit,
  ) => Promise<boolean>;
  /** For processes that start on this machine while the database is unavailable. */
  noteHeartbeat: (heartbeat: LastHeartbeat) => void;
  /** A spool for a new ID, which takes over the contents of the old ones; null if there is none. */
  openSpool: (intakeId: string) => Promise<BatchSpool | null>;
  /** The spool of an ID that is no longer in use. */
  closeSpool: (spool: BatchSpool) => Promise<ClosedSpool>;
  /** Why a spool can no longer be used, or null. */
  spoolProblem: (spool: BatchSpool) => string | null;
  /** Fill level of the spool in use, from 0 to 1; 0 without a spool. */
  spoolFill: () => number;
  findOrphans: () => Promise<Orphans>;
  /** These intakes left no signals and have been closed. */
  releaseIntakes: (intakeIds: readonly string[]) => Promise<void>;
  log: Log;
  monotonic: () => number;
  wall: () => number;
};

// Sends one heartbeat at a time: what an intake reports, and what it learns from the result. Reports are repeated
// until a heartbeat has succeeded, and then never again.

/**
 * After a gap, pending data of the sockets is read first: connections are accepted in one turn of the event loop,
 * read in the next.
 */
const TURNS_AFTER_GAP = 3;
/** The database's clock may go back by this much without a log entry. */
const CLOCK_BACK_MS_MAX = 1_000;

export type HeartbeatCounts = {
  count: number;
  /** Other intakes that were declared lost. */
  lost: number;
  /** Blind intervals that were written. */
  blind: number;
  /** Lag of the watermark of all intakes; null before the first heartbeat. */
  watermarkLagMs: number | null;
};

export class HeartbeatExchange {
  readonly ticks: Ticks;
  readonly watch: PeerHeartbeats;
  readonly gone = new Set<string>();
  readonly broken = new Set<string>();
  readonly counts: HeartbeatCounts = { count: 0, lost: 0, blind: 0, watermarkLagMs: null };
  /** Set when the intake has stopped listening: it confirms nothing that arrives later. */
  acceptedUntilAt: Instant | null = null;
  /** When the last successful heartbeat began, on the monotonic clock. */
  lastHeartbeatMs: number;
  readonly #deps: HeartbeatDeps;
  #intakeId: string;
  #hasEntered: boolean;
  #listensSinceAt: Instant | null = null;
  #heartbeatAt: Instant | null = null;
  /** The database's clock at the last heartbeat. */
  #lookedAt: Instant | null = null;
  /** Before this intake listened, back to the last heartbeat of any intake. */
  #before: Interval[] = [];
  #isHoldReported = false;
  readonly #taken: PerMinute;
  #signalsPerMinute = 0;
  readonly #closedGone: string[] = [];

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#intakeId = deps.identity.intakeId;
    this.lastHeartbeatMs = deps.lastHeartbeat.ms;
    this.watch = new PeerHeartbeats(deps.lastHeartbeat);
    this.#hasEntered = deps.entered !== null;
    const { monotonic, wall, clock } = deps;
    this.ticks = new Ticks({ monotonic, wall, now: () => clock.now() });
    this.#taken = new PerMinute({ ms: monotonic(), total: 0 });
  }

  get intakeId(): string {
    return this.#intakeId;
  }

  /** Whether the intake is registered. */
  get hasEntered(): boolean {
    return this.#hasEntered;
  }

  /** The intake listens from now on, registered or not. */
  listen(): void {
    this.#listensSinceAt = this.#deps.clock.now();
  }

  /** The listening intake has been registered under an ID. */
  enter(intakeId: string, { look, lastHeartbeatAt }: IntakeEntered): void {
    this.#intakeId = intakeId;
    this.#heartbeatAt = lastHeartbeatAt;
    this.lastHeartbeatMs = look.sentAtMs;
    this.watch.startOver();
    // An intake that listened before it could register has accepted pings; one that registers again was declared lost
    // in the meantime.
    const now = this.#deps.clock.now();
    const until = this.#hasEntered ? now : (this.#listensSinceAt ?? now);
    if (lastHeartbeatAt !== null && lastHeartbeatAt < until)
      this.#before.push({ from: lastHeartbeatAt, to: until });
    this.#hasEntered = true;
  }

  /** Intakes that are gone and that the database has closed since the last call. */
  takeClosedGone(): string[] {
    return this.#closedGone.splice(0);
  }

  /** Sends one heartbeat. False: the database does not have this intake any more. */
  async sendHeartbeat(limit: Limit): Promise<boolean> {
    const begunMs = this.#deps.monotonic();
    const { confirmed: confirmedBefore, takenCount: total } = this.#deps.intake.state();
    // Read before the request to the database: signals arrive even while it is unavailable.
    this.#signalsPerMinute = this.#taken.look({ ms: begunMs, total });
    const said = { gone: [...this.gone], broken: [...this.broken], before: 0, gaps: 0, refused: 0 };
    let attributed: AttributedRefusals = { targets: [], networks: [] };
    const observe = async (look: ClockReading): Promise<Observation> => {
      await this.#readWhatCame();
      said.before = this.#before.length;
      said.gaps = this.ticks.gaps().length;
      const observed = this.#observe(look);
      said.refused = observed.refused.length;
      attributed = observed.attributed ?? attributed;
      return observed;
    };
    const { watchingSinceAt, blindAfterId } = this.watch;
    const confirmedSeqs = confirmedBefore.intakeId === this.#intakeId ? confirmedBefore.seqs : [];
    const before = { heartbeatAt: this.#heartbeatAt, lookedAt: this.#lookedAt, confirmedSeqs };
    const own = { intakeId: this.#intakeId, leaseMs: this.#deps.leaseMs, ...before };
    const others = { watchingSinceAt, signs: this.watch.signs(), gone: said.gone, broken: said.broken };
    const result = await this.#deps.sendHeartbeat({ ...own, ...others, blindAfterId, observe }, limit);
    if (result.kind === "closed") return false;
    this.lastHeartbeatMs = begunMs;
    this.#before.splice(0, said.before);
    this.ticks.markReported(said.gaps);
    this.#deps.intake.markRefusalsReported(said.refused);
    this.#deps.intake.markRefusalsStored(attributed);
    this.#noteClosed(said, result.others);
    this.#note(result);
    this.#compare(result.lastSeqs, confirmedSeqs);
    return true;
  }

  /** Intakes that are still open could not be closed just now, and are reported again. */
  #noteClosed(
    { gone, broken }: Record<"gone" | "broken", readonly string[]>,
    open: readonly OpenIntake[],
  ): void {
    const isClosed = (intakeId: string) => !open.some(({ id }) => id === intakeId);
    for (const id of broken.filter(isClosed)) this.broken.delete(id);
    for (const id of gone.filter(isClosed)) {
      this.gone.delete(id);
      this.#closedGone.push(id);
    }
  }

  /** Signals that arrived during the gap are in the queue before the watermark may pass them. */
  async #readWhatCame(): Promise<void> {
    this.ticks.tick();
    if (!this.ticks.takeHadGap()) return;
    for (let turn = 0; turn < TURNS_AFTER_GAP; turn += 1) await nextTurn();
  }

  #observe(look: ClockReading): Observation {
    const { intake, clock } = this.#deps;
    const state = intake.state();
    const until = this.acceptedUntilAt;
    const watermarkAt = Math.min(
      watermarkOf({ ...state, now: clock.now() }),
      until === null ? Infinity : until - WATERMARK_LAG_MS,
    );
    return {
      watermarkAt,
      acceptedUntilAt: until,
      skippedMs: clock.aheadMs(look),
      unproven: [...this.#before, ...this.ticks.gaps()],
      refused: state.refused,
      attributed: state.attributed,
      spoolEmpty: !state.isSpooling,
      spoolFill: this.#deps.spoolFill(),
      signalsPerMinute: this.#signalsPerMinute,
    };
  }

  #note(result: HeartbeatAccepted): void {
    const { clock, log, name, wall } = this.#deps;
    const { look, lost, blind, visibility } = result;
    const aheadMs = clock.aheadMs(look);
    if (aheadMs < -CLOCK_BACK_MS_MAX) {
      log.error(
        { aheadMs },
        "the database clock went backwards; using the previous time until it catches up",
      );
    }
    clock.adjust(look);
    this.#heartbeatAt = result.heartbeatAt;
    this.#lookedAt = look.databaseAt;
    this.watch.note(result);
    const [wallAt, { isAlone }] = [wall(), this.watch];
    this.#deps.noteHeartbeat({ wallAt, databaseAheadMs: clock.now() - wallAt, isAlone });
    this.counts.count += 1;
    this.counts.lost += lost.length;
    this.counts.blind += blind.length;
    this.counts.watermarkLagMs = look.databaseAt - visibility.watermarkAt;
    for (const { id, name: where } of lost)
      log.error({ intakeId: id, name: where }, "receiving process lost");
    for (const one of blind) log.warn(blindFields(one), "monitoring gap: pings could not be received");
    const hold = holdOf(result, { id: this.#intakeId, name });
    if (hold !== null && !this.#isHoldReported)
      log.warn(hold, "the watermark is held back; alerts for missing pings are delayed");
    this.#isHoldReported = hold !== null;
  }

  /** A standby that took over, or a backup, may lack confirmed batches: then they are sent again. */
  #compare(lastSeqs: readonly number[], confirmedSeqs: readonly number[]): void {
    if (!hasLostBatches(lastSeqs, confirmedSeqs)) {
      this.#deps.intake.tidy();
      return;
    }
    this.#deps.log.error(
      { lastSeqs, confirmedSeqs },
      "the database lost confirmed pings; sending them again",
    );
    this.watch.startOver();
    this.#deps.intake.resend();
  }
}

function blindFields({ from, to, reason }: { from: Instant; to: Instant; reason: string }) {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), reason };
}
