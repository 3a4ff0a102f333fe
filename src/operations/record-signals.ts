// Records a batch of signals in one transaction: locks the checks, applies the rules of core, and writes
// pings, states, flips and alerts. When it returns, the batch is on disk.
import type { SignalSettings } from "../core/check.ts";
import type { AlertChange } from "../core/alert.ts";
import { type BlindTime, type PassedDeadlines, type Visibility, visibilityOf } from "../core/deadline.ts";
import type { Instant, Interval } from "../core/instant.ts";
import { isReplayedFromLog } from "../core/log.ts";
import { ERROR_MESSAGE_LENGTH_MAX, PING_COMMIT_MS_MAX } from "../core/limits.ts";
import { DAYS_KEPT, isTrimDue, keptFrom, trimmedThrough } from "../core/retention.ts";
import { countRun, dayOf, type DayTotals } from "../core/run.ts";
import {
  type AcceptedSignal,
  type Batch,
  classifyEmail,
  classifyHttp,
  isSameEnd,
  type LateEnd,
  type SignalKind,
  type SignalResult,
  type SignalTarget,
} from "../core/signal.ts";
import { type Deadline, downAtOf, type Flip, sweepAt } from "../core/state.ts";
import { applySignals, type Outcome, type SignalRules } from "../core/transition.ts";
import { networkOf, wideNetworkOf } from "../lib/http/client-address.ts";
import {
  findCheckIdsBySlugs,
  findLogLimits,
  findTargetSettings,
  lockAliasedTargets,
  lockTargets,
  type StoredState,
  writeStates,
} from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import { isOwnFault, isRefusedValue, postgresErrorName } from "../store/errors.ts";
import { type CheckEvent, insertEvents } from "../store/events.ts";
import {
  advanceSequence,
  findSequence,
  listRecentAddresses,
  listRefusedIntervals,
  type RefusedInterval,
} from "../store/intakes.ts";
import { findAliasesBySlug, findAliasesByUuid } from "../store/near-misses.ts";
import {
  findEnds,
  insertBodies,
  insertPings,
  type Ping,
  type PingBody,
  trimBodies,
  trimPings,
} from "../store/pings.ts";
import { insertRejectedSignal } from "../store/quarantine.ts";
import { addDayTotals, type EndedRun, insertRunChunks, trimDays, trimRunChunks } from "../store/runs.ts";
import { inSavepoint, inTransaction, type Tx } from "../store/transaction.ts";
import { planNotices, writeStatusChanges } from "./plan-deliveries.ts";

export type RecordOptions = FoldContext &
  LogLimits & {
    /** Encodes a signal that the database rejects, for the quarantine. */
    encode: (signal: AcceptedSignal) => Buffer;
    /** Records of the batch that could not be decoded; they are quarantined with the reason. */
    unreadable?: readonly { at: Instant; reason: string; bytes: Uint8Array }[];
    /**
     * The batch was acknowledged and failed before because of an error in our code: quarantine the signals
     * that cause it, so that the batches behind it can proceed.
     */
    quarantinesFailed?: boolean;
    /** Called for each ping that was not recorded because of an error in our code. */
    onFault?: (error: unknown) => void;
    /** On `performance.now()`. Fails if no commit is confirmed by then. */
    giveUpAtMs?: number;
  };

/**
 * "applied before": the sequence number was used, so the batch is already on disk. "out of sequence": earlier batches
 * are missing, or the intake is unknown; nothing was done.
 */
export type RecordResult = readonly SignalResult[] | "applied before" | "out of sequence";

/** With less time left than this, do not retry. */
const RETRY_MS_MIN = 100;

/**
 * Records a batch once, even if called repeatedly with the same number. Throws CommitInDoubtError if the
 * outcome of the transaction is unknown; the same batch may then be passed again. A signal that the database
 * rejects is quarantined with its reason and does not block the others.
 */
export function recordSignals(
  database: Database,
  batch: Batch,
  options: RecordOptions,
): Promise<RecordResult> {
  const claim = (tx: Tx) => takeNumber(tx, batch);
  return recordClaimed(
    database,
    { ...batch, claim, look: async () => options },
    {
      ...options,
      isAcknowledged: options.replayed !== false,
    },
  );
}

/** Signals that are recorded only if something can be claimed in the same transaction. */
export type Claimed<Refusal> = Pick<Batch, "intakeId" | "seq" | "signals"> & {
  /** Null: the signals may be applied. Otherwise nothing is written. */
  claim: (tx: Tx) => Promise<Refusal | null>;
  /** Read after the claim, in its transaction. */
  look: (tx: Tx) => Promise<Sight>;
  /** Called after the signals were applied, in their transaction. */
  after?: (tx: Tx, results: readonly SignalResult[]) => Promise<void>;
};

export type ClaimedOptions = Omit<RecordOptions, keyof Sight> & {
  /** The senders were told before that their pings are accepted. */
  isAcknowledged: boolean;
};

/** Records signals once: their effects and the claim are committed together. */
export async function recordClaimed<Refusal>(
  database: Database,
  batch: Claimed<Refusal>,
  options: ClaimedOptions,
): Promise<readonly SignalResult[] | Refusal> {
  const { giveUpAtMs } = options;
  const limit = { commitTimeoutMs: PING_COMMIT_MS_MAX, ...(giveUpAtMs !== undefined && { giveUpAtMs }) };
  for (;;) {
    try {
      return await inTransaction(database, (tx) => recordWhole(tx, batch, options), limit);
    } catch (error) {
      if (isIsolable(error, options)) {
        return inTransaction(database, (tx) => recordIsolating(tx, batch, options), limit);
      }
      if (!isPassing(error) || performance.now() + RETRY_MS_MIN > (giveUpAtMs ?? 0)) throw error;
    }
  }
}

/** Another transaction held a check for too long; nothing was done, and a retry may succeed. */
function isPassing(error: unknown): boolean {
  const name = postgresErrorName(error);
  return name === "lock_not_available" || name === "deadlock_detected";
}

async function recordWhole<Refusal>(
  tx: Tx,
  batch: Claimed<Refusal>,
  options: ClaimedOptions,
): Promise<readonly SignalResult[] | Refusal> {
  // Sent together; the locked rows are used only if the claim succeeds.
  const claiming = batch.claim(tx);
  const [refusal, targets, looked] = await Promise.all([
    claiming,
    lockTargetsOf(tx, batch.signals),
    batch.look(tx),
  ]);
  if (refusal !== null) return refusal;
  await keepUnreadable(tx, batch, options);
  const results = await applyBatch(tx, batch.signals, {
    ...options,
    ...looked,
    targets,
    isWhole: batch.after === undefined,
  });
  await batch.after?.(tx, results);
  return results;
}

/** Claims the sequence number of the batch; null if it may be applied. */
async function takeNumber(tx: Tx, batch: Batch): Promise<"applied before" | "out of sequence" | null> {
  if (await advanceSequence(tx, batch)) return null;
  const lastSeq = await findSequence(tx, batch);
  return lastSeq !== null && lastSeq >= batch.seq ? "applied before" : "out of sequence";
}

async function keepUnreadable(
  tx: Tx,
  { intakeId, seq }: Pick<Batch, "intakeId" | "seq">,
  { unreadable = [] }: ClaimedOptions,
): Promise<void> {
  for (const { at, reason, bytes } of unreadable) {
    const signal = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    await insertRejectedSignal(tx, {
      intakeId,
      seq,
      checkId: null,
      at,
      reason: clipped(`unreadable: ${reason}`),
      signal,
    });
  }
}

/** Shortens an error message for storage. Half a surrogate pair could not be stored. */
function clipped(message: string): string {
  return message.slice(0, ERROR_MESSAGE_LENGTH_MAX).toWellFormed();
}

/** Records a batch that contains a failing signal, isolating it with savepoints. */
async function recordIsolating<Refusal>(
  tx: Tx,
  batch: Claimed<Refusal>,
  options: ClaimedOptions,
): Promise<readonly SignalResult[] | Refusal> {
  const refusal = await batch.claim(tx);
  if (refusal !== null) return refusal;
  await keepUnreadable(tx, batch, options);
  // Take all locks at once, in the order of every writer; the parts below find them held.
  const { resolved } = await lockTargetsOf(tx, batch.signals);
  const checkIds = new Map(batch.signals.map((signal, index) => [signal, resolved[index]]));
  const results = await applyInHalves(tx, batch, { ...options, ...(await batch.look(tx)), checkIds });
  await batch.after?.(tx, results);
  return results;
}

type Isolated = Pick<Batch, "intakeId" | "seq" | "signals">;

type Isolating = ClaimedOptions & Sight & { checkIds: ReadonlyMap<AcceptedSignal, Resolved | undefined> };

/** Bisects the signals until the failing ones are isolated: a few of them cost a few tries, not hundreds. */
async function applyInHalves(tx: Tx, batch: Isolated, options: Isolating): Promise<SignalResult[]> {
  const { signals } = batch;
  try {
    return await inSavepoint(tx, async (part) => {
      const targets = await lockTargetsOf(part, signals);
      return applyBatch(part, signals, { ...options, targets });
    });
  } catch (error) {
    if (!isIsolable(error, options)) throw error;
    const [alone] = signals;
    if (alone !== undefined && signals.length === 1)
      return [await isolate(tx, { ...batch, alone, error }, options)];
    const middle = Math.ceil(signals.length / 2);
    const first = await applyInHalves(tx, { ...batch, signals: signals.slice(0, middle) }, options);
    const second = await applyInHalves(tx, { ...batch, signals: signals.slice(middle) }, options);
    return [...first, ...second];
  }
}

/** Quarantines one signal, or rejects it if its sender is still waiting and the error is ours. */
async function isolate(
  tx: Tx,
  { intakeId, seq, alone, error }: Omit<Isolated, "signals"> & { alone: AcceptedSignal; error: unknown },
  { encode, isAcknowledged, checkIds, onFault }: Isolating,
): Promise<SignalResult> {
  if (!isRefusedValue(error)) onFault?.(error);
  if (!isRefusedValue(error) && !isAcknowledged) return "failed";
  const reason = clipped(error instanceof Error ? error.message : String(error));
  // The receive time itself may be invalid.
  const at = Number.isSafeInteger(alone.at) ? alone.at : 0;
  const found = checkIds.get(alone);
  const checkId = typeof found === "number" ? found : null;
  await insertRejectedSignal(tx, { intakeId, seq, checkId, at, reason, signal: encode(alone) });
  return "rejected";
}

/**
 * Whether a single signal can be the cause: the database rejects a value, or our code throws on one. While a
 * sender waits, only errors that code throws on a value count, because others may be temporary; an
 * acknowledged batch is retried before anything of it is quarantined.
 */
function isIsolable(
  error: unknown,
  { isAcknowledged, quarantinesFailed = false }: Pick<ClaimedOptions, "isAcknowledged" | "quarantinesFailed">,
): boolean {
  if (isRefusedValue(error)) return true;
  if (isAcknowledged) return quarantinesFailed && isOwnFault(error);
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

/** Applies signals to their checks and writes the results, in the caller's transaction. */
export async function applyBatch(
  tx: Tx,
  signals: readonly AcceptedSignal[],
  options: FoldContext &
    LogLimits & {
      targets: LockedTargets;
      /** These are the only signals of the transaction, and nothing follows them but the commit. */
      isWhole?: boolean;
    },
): Promise<SignalResult[]> {
  const { resolved, states, settings } = options.targets;
  const byCheck = new Map<number, AcceptedSignal[]>();
  const lateEnds = lateEndsOf(signals, resolved);
  const repeated = lateEnds.length === 0 ? NONE_REPEATED : await repeatedEnds(tx, lateEnds);
  const resultsOf = (written: ReadonlySet<number>) =>
    resolved.map((one, index) => {
      if (typeof one !== "number") return one;
      return written.has(one) || repeated.has(index) ? "recorded" : "unknown";
    });
  let batchAt = 0;
  for (const [index, signal] of signals.entries()) {
    batchAt = Math.max(batchAt, signal.at);
    const id = resolved[index];
    if (typeof id !== "number" || repeated.has(index)) continue;
    const mine = byCheck.get(id);
    if (mine === undefined) byCheck.set(id, [signal]);
    else mine.push(signal);
  }
  if (byCheck.size === 0) return resultsOf(new Set());
  const writes = noWrites();
  const late = new Set(lateEnds.map(({ checkId }) => checkId));
  const passed = states.filter((stored) => needsCheckVisibility(stored, batchAt) || late.has(stored.checkId));
  const visibility = await checkVisibilities(tx, passed, options.visibility);
  for (const stored of states) {
    const given = settings.get(stored.checkId);
    const mine = byCheck.get(stored.checkId);
    if (given !== undefined && mine !== undefined) {
      const context = { ...options, visibility: visibility(stored.checkId) };
      foldSignals(writes, { stored, settings: given, signals: mine }, context);
    }
  }
  const { pingLogRows, isWhole = false } = options;
  await writeBatch(tx, writes, { pingLogRows, now: batchAt, isWhole });
  return resultsOf(new Set(writes.states.map(({ checkId }) => checkId)));
}

type LateEndOfCheck = { index: number; checkId: number; rid: string | null; lateEnd: LateEnd };

function lateEndsOf(signals: readonly AcceptedSignal[], resolved: readonly Resolved[]): LateEndOfCheck[] {
  const found: LateEndOfCheck[] = [];
  for (const [index, { rid, lateEnd }] of signals.entries()) {
    const checkId = resolved[index];
    if (lateEnd && typeof checkId === "number") found.push({ index, checkId, rid, lateEnd });
  }
  return found;
}

const NONE_REPEATED: ReadonlySet<number> = new Set();

/**
 * The late ends of runs whose end is logged already: a sender that was interrupted, or got no answer, sends it again.
 * Without a run id they cannot be told apart.
 */
async function repeatedEnds(tx: Tx, lateEnds: readonly LateEndOfCheck[]): Promise<ReadonlySet<number>> {
  const named = lateEnds.flatMap(({ rid, ...one }) => (rid === null ? [] : [{ ...one, rid }]));
  const keyOf = ({ checkId, rid }: { checkId: number; rid: string }) => `${checkId} ${rid}`;
  const logged = named.length === 0 ? [] : await findEnds(tx, named);
  const loggedAt = new Map(logged.map((one) => [keyOf(one), one.at]));
  const repeated = new Set<number>();
  for (const one of named) {
    const key = keyOf(one);
    if (isSameEnd(one.lateEnd, loggedAt.get(key) ?? -Infinity)) repeated.add(one.index);
    else loggedAt.set(key, Infinity);
  }
  return repeated;
}

/** For each signal, in order: the id of its check, or why there is none. */
export type Resolved = number | Extract<SignalResult, "unknown" | "ambiguous">;

/** The locked checks of a batch, with the settings that apply to their signals. */
export type LockedTargets = {
  resolved: readonly Resolved[];
  states: readonly StoredState[];
  settings: ReadonlyMap<number, SignalSettings>;
};

/**
 * Finds, locks and reads the checks of a batch: in one round trip, or two if a signal names a slug. Aliases are only
 * looked up for signals that name no check.
 */
export async function lockTargetsOf(tx: Tx, signals: readonly AcceptedSignal[]): Promise<LockedTargets> {
  const uuids = new Set<string>();
  const pairs = new Map<string, { pingKey: string; slug: string }>();
  for (const { target } of signals) {
    if (target.by === "uuid") uuids.add(target.uuid);
    else pairs.set(pairKey(target), target);
  }
  const found = pairs.size === 0 ? [] : await findCheckIdsBySlugs(tx, [...pairs.values()]);
  const bySlug = new Map([...pairs.keys()].map((key, index) => [key, found[index] ?? null]));
  const names = { uuids: [...uuids], ids: found.filter((one) => typeof one === "number") };
  // In this order: settings must be read under the lock, and a check may have been deleted by then.
  const [states, checks] = await Promise.all([lockTargets(tx, names), findTargetSettings(tx, names)]);
  const byUuid = new Map(checks.map(({ uuid, id }) => [uuid, id]));
  const resolved = signals.map(({ target }) => {
    const id = target.by === "uuid" ? byUuid.get(target.uuid) : bySlug.get(pairKey(target));
    return id ?? "unknown";
  });
  const settings = new Map(checks.map((check) => [check.id, check.settings]));
  const locked = { resolved, states, settings };
  return resolved.includes("unknown") ? withAliases(tx, signals, locked) : locked;
}

/** The same with the checks that unknown targets are aliases of. */
async function withAliases(
  tx: Tx,
  signals: readonly AcceptedSignal[],
  locked: LockedTargets,
): Promise<LockedTargets> {
  const missed = signals.flatMap(({ target }, index) =>
    locked.resolved[index] === "unknown" ? [{ index, target }] : [],
  );
  const aliases = await findAliases(
    tx,
    missed.map(({ target }) => target),
  );
  const resolved = [...locked.resolved];
  for (const [at, { index }] of missed.entries()) resolved[index] = aliases[at] ?? "unknown";
  const held = new Set(locked.states.map(({ checkId }) => checkId));
  const found = new Set(aliases.filter((id) => id !== null && !held.has(id)));
  if (found.size === 0) return { ...locked, resolved };
  const ids = [...found].filter((id) => id !== null);
  const names = { uuids: [], ids };
  const [states, checks] = await Promise.all([lockAliasedTargets(tx, ids), findTargetSettings(tx, names)]);
  const settings = new Map([
    ...locked.settings,
    ...checks.map((check) => [check.id, check.settings] as const),
  ]);
  return { resolved, states: [...locked.states, ...states], settings };
}

/** For each target, in order: the check of which it is an alias, or null. */
export async function findAliases(db: Db, targets: readonly SignalTarget[]): Promise<(number | null)[]> {
  const uuids = new Set<string>();
  const pairs = new Map<string, { pingKey: string; slug: string }>();
  for (const target of targets) {
    if (target.by === "uuid") uuids.add(target.uuid);
    else pairs.set(pairKey(target), target);
  }
  const [byUuid, found] = await Promise.all([
    uuids.size === 0 ? new Map<string, number>() : findAliasesByUuid(db, [...uuids]),
    pairs.size === 0 ? [] : findAliasesBySlug(db, [...pairs.values()]),
  ]);
  const bySlug = new Map([...pairs.keys()].map((key, index) => [key, found[index] ?? null]));
  return targets.map(
    (target) => (target.by === "uuid" ? byUuid.get(target.uuid) : bySlug.get(pairKey(target))) ?? null,
  );
}

function pairKey({ pingKey, slug }: { pingKey: string; slug: string }): string {
  return `${pingKey}/${slug}`;
}

/** What signals are compared with. */
type Sight = {
  visibility: Visibility;
  /** Whether newer signals may have been applied before; with `orderMs`, as `isReplayedFromLog` says for each signal. */
  replayed: boolean | { orderMs: number };
};

export type FoldContext = Sight & { rules: SignalRules };

/** Everything that a batch writes. */
export type Writes = {
  states: StoredState[];
  pings: Ping[];
  bodies: PingBody[];
  flips: { checkId: number; flip: Flip }[];
  alerts: { checkId: number; change: AlertChange }[];
  retracted: { checkId: number; deadlineAt: Instant; at: Instant }[];
  events: Omit<CheckEvent, "id">[];
  /** Deadlines excused because of a monitoring gap. */
  notices: { checkId: number; blind: Interval }[];
  days: { checkId: number; totals: DayTotals }[];
  /** Checks whose log is due for trimming, with the ping count to trim from. */
  trims: { checkId: number; pingCount: number; keepN: number | null }[];
};

function noWrites(): Writes {
  const changes = { flips: [], alerts: [], retracted: [], events: [], notices: [] };
  return { states: [], pings: [], bodies: [], ...changes, days: [], trims: [] };
}

/**
 * Applies the signals of one check, in the order in which they were received, and adds the results to
 * `writes`.
 */
function foldSignals(
  writes: Writes,
  check: { stored: StoredState; settings: SignalSettings; signals: readonly AcceptedSignal[] },
  { visibility, rules, replayed }: FoldContext,
): void {
  const { stored, settings, signals } = check;
  const { checkId } = stored;
  let { newestAt } = stored.state;
  const classified = signals.map((signal) => {
    const { commandAt } = stored.state;
    const isReplayed =
      typeof replayed === "boolean"
        ? replayed
        : isReplayedFromLog(signal.at, { newestAt, commandAt }, replayed.orderMs);
    newestAt = Math.max(newestAt ?? signal.at, signal.at);
    return {
      kind: kindOf(signal, settings),
      at: signal.at,
      rid: signal.rid,
      replayed: isReplayed,
      lateEnd: signal.lateEnd ?? null,
    };
  });
  const { state, outcomes } = applySignals(
    { timing: settings, state: stored.state },
    { signals: classified, visibility, rules },
  );
  let { lastSuccessN, today } = stored;
  for (const [index, outcome] of outcomes.entries()) {
    const signal = signals[index];
    if (signal === undefined) continue;
    writeLog(writes, { checkId, signal, outcome });
    writeChanges(writes, { checkId, outcome });
    if (signal.lateEnd) writeLateEnd(writes, { checkId, outcome, lateEnd: signal.lateEnd });
    if (outcome.recordedAs === "success" && !outcome.late) lastSuccessN = outcome.n ?? lastSuccessN;
    if (outcome.run === null) continue;
    const counted = countRun(today, outcome.run);
    today = counted.today;
    if (counted.settled !== null) writes.days.push({ checkId, totals: counted.settled });
  }
  const deadline = downAtOf({ timing: settings, state });
  const mark = sweepAt({ current: stored.sweepAt, deadline });
  writes.states.push({ checkId, state, downAt: deadline, sweepAt: mark, lastSuccessN, today });
  if (isTrimDue({ before: stored.state.pingCount, after: state.pingCount })) {
    writes.trims.push({ checkId, pingCount: state.pingCount, keepN: lastSuccessN });
  }
}

const lenient = new TextDecoder("utf-8");

function kindOf({ source, body }: AcceptedSignal, settings: SignalSettings): SignalKind {
  if (source.by === "email") return classifyEmail({ subject: source.subject, body: source.text }, settings);
  // Invalid UTF-8 must not lose the signal; the readable part is searched.
  const text = settings.filterHttpBody && body !== null ? lenient.decode(body) : "";
  return classifyHttp({ action: source.action, method: source.method, body: text }, settings);
}

type Logged = { checkId: number; signal: AcceptedSignal; outcome: Outcome };

function writeLog(writes: Writes, { checkId, signal, outcome }: Logged): void {
  const { n, at } = outcome;
  if (n === null) return;
  const { body } = signal;
  writes.pings.push({
    checkId,
    n,
    at,
    kind: outcome.recordedAs,
    durationMs: outcome.run?.durationMs ?? null,
    scheme: signal.scheme,
    method: signal.source.by === "http" ? signal.source.method : "",
    remoteAddr: signal.remoteAddr,
    ua: signal.ua,
    rid: signal.rid,
    exitStatus: signal.exitStatus,
    bodySize: body?.length ?? null,
  });
  if (body !== null) {
    writes.bodies.push({ checkId, n, at, body: Buffer.from(body.buffer, body.byteOffset, body.length) });
  }
}

function writeChanges(writes: Writes, { checkId, outcome }: Omit<Logged, "signal">): void {
  const { at } = outcome;
  for (const flip of outcome.flips) writes.flips.push({ checkId, flip });
  for (const change of outcome.alerts) writes.alerts.push({ checkId, change });
  if (outcome.retractedAt !== null) {
    writes.retracted.push({ checkId, deadlineAt: outcome.retractedAt, at });
  }
  const { notices, repeated, notObserved: unobserved } = outcome;
  for (const { blind } of notices) writes.notices.push({ checkId, blind });
  writes.events.push(...deadlineEvents(checkId, { notices, repeated, unobserved }));
}

/** The log has the time at which a late end was received; this event has the time at which the run ended. */
function writeLateEnd(
  writes: Writes,
  { checkId, outcome, lateEnd }: Omit<Logged, "signal"> & { lateEnd: LateEnd },
): void {
  const { recordedAs, n, at } = outcome;
  if (recordedAs !== "success" && recordedAs !== "fail") return;
  const detail = { n, outcome: recordedAs, ...lateEnd };
  writes.events.push({ checkId, at, kind: "late_end", accountId: null, detail });
}

export type LogLimits = { pingLogRows: number };

/** Writes the results of a batch in few statements. The states are locked by this transaction. */
async function writeBatch(
  tx: Tx,
  writes: Writes,
  limits: LogLimits & { now: Instant; isWhole: boolean },
): Promise<void> {
  // Sent together, in this order: none depends on the result of another.
  const writing: Promise<unknown>[] = [writeStates(tx, writes.states)];
  if (writes.pings.length > 0) writing.push(insertPings(tx, writes.pings));
  if (writes.bodies.length > 0) writing.push(insertBodies(tx, writes.bodies));
  const { flips, alerts, retracted, events, notices, days, trims } = writes;
  const isPlain = [flips, alerts, retracted, events, notices, days, trims].every(
    ({ length }) => length === 0,
  );
  if (isPlain && limits.isWhole) {
    tx.commitWith(Promise.all(writing));
    return;
  }
  if (flips.length + alerts.length + retracted.length > 0) writing.push(writeStatusChanges(tx, writes));
  if (writes.events.length > 0) writing.push(insertEvents(tx, writes.events));
  if (writes.notices.length > 0) writing.push(planNotices(tx, writes.notices, limits.now));
  if (writes.days.length > 0) writing.push(settleDays(tx, writes.days, limits.now));
  if (writes.trims.length > 0) writing.push(trimLogs(tx, writes.trims, limits));
  await Promise.all(writing);
}

async function settleDays(tx: Tx, days: Writes["days"], now: Instant): Promise<void> {
  const checkIds = [...new Set(days.map(({ checkId }) => checkId))];
  const adding = addDayTotals(tx, days);
  await Promise.all([adding, trimDays(tx, { checkIds, beforeDay: dayOf(keptFrom(DAYS_KEPT.run, now)) })]);
}

/**
 * Pings removed from the log are kept as packed runs: the run history is longer than the log, and much
 * smaller.
 */
async function trimLogs(
  tx: Tx,
  trims: Writes["trims"],
  { pingLogRows, now }: LogLimits & { now: Instant },
): Promise<void> {
  const checkIds = trims.map(({ checkId }) => checkId);
  const limits = await findLogLimits(tx, checkIds);
  const due = trims
    .map(({ checkId, pingCount, keepN }) => ({
      checkId,
      keepN,
      through: trimmedThrough({ pingCount, rowsMax: limits.get(checkId) ?? pingLogRows }),
    }))
    .filter(({ through }) => through > 0);
  if (due.length === 0) return;
  const [leaving] = await Promise.all([
    trimPings(tx, due),
    trimBodies(tx, due),
    trimRunChunks(tx, { checkIds, before: keptFrom(DAYS_KEPT.run, now) }),
  ]);
  const byCheck = Map.groupBy(leaving, ({ checkId }) => checkId);
  const chunks = [...byCheck].map(([checkId, runs]) => ({ checkId, runs: runs as EndedRun[] }));
  if (chunks.length > 0) await insertRunChunks(tx, chunks);
}

/**
 * Returns the visibility of each check, including refused pings that concern it alone. Must be read after the
 * watermark, so that no refusal before it is missing.
 */
export async function checkVisibilities(
  db: Db,
  states: readonly StoredState[],
  visibility: Visibility,
): Promise<(checkId: number) => Visibility> {
  if (states.length === 0) return () => visibility;
  const checkIds = states.map(({ checkId }) => checkId);
  const refused = await listRefusedIntervals(db, { checkIds, from: Math.min(...states.map(earliestOf)) });
  if (refused.length === 0) return () => visibility;
  const byNetwork = Map.groupBy(refused, ({ network }) => network);
  const ofChecks = Map.groupBy(byNetwork.get(null) ?? [], ({ checkId }) => checkId);
  byNetwork.delete(null);
  const addresses = byNetwork.size === 0 ? new Map() : await listRecentAddresses(db, checkIds);
  return (checkId) =>
    visibilityOf(visibility, [
      ...(ofChecks.get(checkId) ?? []).map((one) => blindTime(one, { isOwn: one.isGap !== true })),
      ...networksOf(addresses.get(checkId) ?? []).flatMap((network) =>
        (byNetwork.get(network) ?? []).map((one) => blindTime(one, { isOwn: false })),
      ),
    ]);
}

/** The same for one check, for a command or an edit. */
export async function checkVisibility(
  db: Db,
  stored: StoredState,
  { at, visibility }: { at: Instant; visibility: Visibility },
): Promise<Visibility> {
  return (await checkVisibilities(db, needsCheckVisibility(stored, at) ? [stored] : [], visibility))(
    stored.checkId,
  );
}

/**
 * Whether a deadline can pass, or a missed one be reevaluated, before this instant. Only then can refused
 * pings matter.
 */
export function needsCheckVisibility({ downAt, state }: StoredState, beforeAt: Instant): boolean {
  return (downAt !== null && downAt < beforeAt) || state.missed !== null;
}

/** Refusals before this instant cannot excuse the check. */
function earliestOf({ state: { lastPingAt, lastStartAt } }: StoredState): Instant {
  return Math.min(lastPingAt ?? lastStartAt ?? 0, lastStartAt ?? Infinity);
}

function networksOf(addresses: Iterable<string>): string[] {
  const networks = new Set<string>();
  for (const address of addresses) {
    const network = networkOf(address);
    networks.add(network).add(wideNetworkOf(network));
  }
  return [...networks];
}

function blindTime({ from, to }: RefusedInterval, { isOwn }: { isOwn: boolean }): BlindTime {
  return isOwn ? { from, to, isOwn } : { from, to };
}

/**
 * One event for each deadline missed while the check was down, or excused by a monitoring gap, and one for a
 * deadline that passed unobserved. They carry the time of the deadline, as a flip does, so that the result does
 * not depend on timing.
 */
export function deadlineEvents(
  checkId: number,
  { notices, repeated, unobserved }: Pick<PassedDeadlines, "notices" | "repeated" | "unobserved">,
): Omit<CheckEvent, "id">[] {
  const event = { checkId, accountId: null };
  const details = [
    ...notices.map(({ deadline, blind }) => ({ ...detailOf(deadline), blind })),
    ...(unobserved === null ? [] : [{ ...detailOf(unobserved), blind: null }]),
  ];
  return [
    ...repeated.map((deadline) => ({ ...event, kind: "missed", at: deadline.at, detail: { ...deadline } })),
    ...details.map((detail) => ({ ...event, kind: "not_observed", at: detail.at, detail })),
  ];
}

/** In stored events, a missed deadline has the cause "silence". */
function detailOf({ from, at, cause }: Deadline) {
  return { from, at, cause: cause === "missed" ? "silence" : cause };
}
