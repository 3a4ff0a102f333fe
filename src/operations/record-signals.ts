// Records a numbered batch of signals: one transaction, in which each check is locked, its signals are folded
// through the rules, and what follows for it is written, the messages that are owed included. When it returns, the
// batch is on disk.
import type { SignalSettings } from "../core/check.ts";
import { type BlindTime, type PassedDeadlines, type Visibility, visibilityOf } from "../core/deadline.ts";
import type { Instant, Interval } from "../core/instant.ts";
import { ERROR_MESSAGE_LENGTH_MAX } from "../core/limits.ts";
import { isTrimDue, keptFrom, trimmedThrough } from "../core/retention.ts";
import { countRun, dayOf, type DayTotals } from "../core/run.ts";
import {
  type AcceptedSignal,
  type Batch,
  classifyEmail,
  classifyHttp,
  type SignalKind,
  type SignalResult,
} from "../core/signal.ts";
import { downAtOf, type Flip, sweepAt } from "../core/state.ts";
import { applySignals, type Outcome, type SignalRules } from "../core/transition.ts";
import { networkOf, wideNetworkOf } from "../lib/http/client-address.ts";
import {
  findCheckIdsBySlugs,
  findLogLimits,
  findTargetSettings,
  lockTargets,
  type StoredState,
  writeStates,
} from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import { isOwnFault, isRefusedValue, postgresErrorName } from "../store/errors.ts";
import { type CheckEvent, insertEvents } from "../store/events.ts";
import { insertFlips, retractFlip } from "../store/flips.ts";
import {
  advanceSequence,
  findSequence,
  listRecentAddresses,
  listRefusedIntervals,
  type RefusedInterval,
} from "../store/intakes.ts";
import {
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
import { planDeliveries, planNotices, retractDeliveries } from "./plan-deliveries.ts";

export type RecordOptions = FoldContext &
  LogLimits & {
    /** How a signal is kept that the database refuses. */
    encode: (signal: AcceptedSignal) => Buffer;
    /** What was part of the batch and cannot be read any more: kept with its reason, like a refused signal. */
    unreadable?: readonly { at: Instant; reason: string; bytes: Uint8Array }[];
    /**
     * The batch was promised and has failed before because of an error of our own: what causes it is quarantined, so
     * that the batches behind it go on.
     */
    quarantinesFailed?: boolean;
    /** Called for each ping that an error of our own kept from being recorded. */
    onFault?: (error: unknown) => void;
    /** On `performance.now()`: no confirmed commit by then, and it fails. */
    giveUpAtMs?: number;
  };

/**
 * "applied before": the number of the batch has been used, so it is on disk already. "out of sequence": batches
 * that belong before it are not there, or the intake itself is unknown, so nothing was done.
 */
export type RecordResult = readonly SignalResult[] | "applied before" | "out of sequence";

/** A batch whose commit is not confirmed by then goes to the spool, so that its pings are answered in time. */
const COMMIT_MS_MAX = 1_000;
/** With less time than this, another try would only be cut off. */
const RETRY_MS_MIN = 100;

/**
 * Records a batch once, however often it is called with the same number. Throws CommitInDoubtError when the
 * end of the transaction is unknown: the same batch may then be given again. A signal that the database
 * refuses is put aside with its reason and holds up nobody.
 */
export async function recordSignals(
  database: Database,
  batch: Batch,
  options: RecordOptions,
): Promise<RecordResult> {
  const { giveUpAtMs } = options;
  const limit = { commitTimeoutMs: COMMIT_MS_MAX, ...(giveUpAtMs !== undefined && { giveUpAtMs }) };
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

/** Somebody else held a check for too long; nothing was done, and the next moment it may be free. */
function isPassing(error: unknown): boolean {
  const name = postgresErrorName(error);
  return name === "lock_not_available" || name === "deadlock_detected";
}

async function recordWhole(tx: Tx, batch: Batch, options: RecordOptions): Promise<RecordResult> {
  // Sent together: what was locked and read is not used unless the number was free.
  const numbering = takeNumber(tx, batch);
  const [refusal, targets] = await Promise.all([numbering, lockTargetsOf(tx, batch.signals)]);
  if (refusal !== null) return refusal;
  await keepUnreadable(tx, batch, options);
  return applyBatch(tx, batch.signals, { ...options, targets });
}

/** Claims the number of the batch; otherwise why it cannot be applied. */
async function takeNumber(tx: Tx, batch: Batch): Promise<"applied before" | "out of sequence" | null> {
  if (await advanceSequence(tx, batch)) return null;
  const lastSeq = await findSequence(tx, batch.intakeId);
  return lastSeq !== null && lastSeq >= batch.seq ? "applied before" : "out of sequence";
}

async function keepUnreadable(tx: Tx, batch: Batch, { unreadable = [] }: RecordOptions): Promise<void> {
  const { intakeId, seq } = batch;
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

/** What is stored of an error message. Half of a surrogate pair could not be stored. */
function clipped(message: string): string {
  return message.slice(0, ERROR_MESSAGE_LENGTH_MAX).toWellFormed();
}

/** The careful way, for a batch in which something is poisonous. */
async function recordIsolating(tx: Tx, batch: Batch, options: RecordOptions): Promise<RecordResult> {
  const refusal = await takeNumber(tx, batch);
  if (refusal !== null) return refusal;
  await keepUnreadable(tx, batch, options);
  // All locks at once, in the order of every writer; the parts below then find them held.
  const { resolved } = await lockTargetsOf(tx, batch.signals);
  const checkIds = new Map(batch.signals.map((signal, index) => [signal, resolved[index]]));
  return applyInHalves(tx, batch, { ...options, checkIds });
}

type Isolating = RecordOptions & { checkIds: ReadonlyMap<AcceptedSignal, Resolved | undefined> };

/** Halves the signals until the poisonous ones stand alone: a few of them cost a few tries, not hundreds. */
async function applyInHalves(tx: Tx, batch: Batch, options: Isolating): Promise<SignalResult[]> {
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

/** Quarantines one signal, or refuses it where its sender still waits and the error is our own. */
async function isolate(
  tx: Tx,
  { intakeId, seq, alone, error }: Omit<Batch, "signals"> & { alone: AcceptedSignal; error: unknown },
  { encode, replayed, checkIds, onFault }: Isolating,
): Promise<SignalResult> {
  if (!isRefusedValue(error)) onFault?.(error);
  if (!isRefusedValue(error) && !replayed) return "failed";
  const reason = clipped(error instanceof Error ? error.message : String(error));
  // Its time may be what is wrong with it.
  const at = Number.isSafeInteger(alone.at) ? alone.at : 0;
  const found = checkIds.get(alone);
  const checkId = typeof found === "number" ? found : null;
  await insertRejectedSignal(tx, { intakeId, seq, checkId, at, reason, signal: encode(alone) });
  return "rejected";
}

/**
 * Whether single signals can be the cause: the database refuses a value, or our own code fails on one. While a sender
 * waits, only errors that code raises on a value count, because any other may pass; a batch that was promised is tried
 * again before anything of it is quarantined.
 */
function isIsolable(error: unknown, { replayed, quarantinesFailed = false }: RecordOptions): boolean {
  if (isRefusedValue(error)) return true;
  if (replayed) return quarantinesFailed && isOwnFault(error);
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

/** Folds signals through the rules and writes what follows, inside the caller's transaction. */
export async function applyBatch(
  tx: Tx,
  signals: readonly AcceptedSignal[],
  options: FoldContext & LogLimits & { targets: LockedTargets },
): Promise<SignalResult[]> {
  const { resolved, states, settings } = options.targets;
  const byCheck = new Map<number, AcceptedSignal[]>();
  let batchAt = 0;
  for (const [index, signal] of signals.entries()) {
    batchAt = Math.max(batchAt, signal.at);
    const id = resolved[index];
    if (typeof id !== "number") continue;
    const mine = byCheck.get(id);
    if (mine === undefined) byCheck.set(id, [signal]);
    else mine.push(signal);
  }
  if (byCheck.size === 0) return resolved.map((one) => (typeof one === "number" ? "unknown" : one));
  const writes = noWrites();
  const passed = states.filter((stored) => needsCheckVisibility(stored, batchAt));
  const visibility = await checkVisibilities(tx, passed, options.visibility);
  for (const stored of states) {
    const given = settings.get(stored.checkId);
    const mine = byCheck.get(stored.checkId);
    if (given !== undefined && mine !== undefined) {
      const context = { ...options, visibility: visibility(stored.checkId) };
      foldSignals(writes, { stored, settings: given, signals: mine }, context);
    }
  }
  await writeBatch(tx, writes, { pingLogRows: options.pingLogRows, now: batchAt });
  const written = new Set(writes.states.map(({ checkId }) => checkId));
  return resolved.map((one) => (typeof one === "number" ? (written.has(one) ? "recorded" : "unknown") : one));
}

// From the addresses of a batch to its checks: found, locked and read, with as few waits as possible.

/** For each signal, in order: the id of its check, or why it has none. */
export type Resolved = number | Extract<SignalResult, "unknown" | "ambiguous">;

/** The checks of a batch: locked, with what decides about their signals. */
export type LockedTargets = {
  resolved: readonly Resolved[];
  states: readonly StoredState[];
  settings: ReadonlyMap<number, SignalSettings>;
};

/** Finds, locks and reads the checks of a batch: in one trip, or in two when a signal names a slug. */
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
  // In this order: settings are those of the moment of applying, and a check may be gone by then.
  const [states, checks] = await Promise.all([lockTargets(tx, names), findTargetSettings(tx, names)]);
  const byUuid = new Map(checks.map(({ uuid, id }) => [uuid, id]));
  const resolved = signals.map(({ target }) => {
    const id = target.by === "uuid" ? byUuid.get(target.uuid) : bySlug.get(pairKey(target));
    return id ?? "unknown";
  });
  return { resolved, states, settings: new Map(checks.map(({ id, settings }) => [id, settings])) };
}

function pairKey({ pingKey, slug }: { pingKey: string; slug: string }): string {
  return `${pingKey}/${slug}`;
}

// What a batch of signals makes of one check: asks the rules, and collects what has to be written. It reads
// and writes nothing itself.

export type FoldContext = { visibility: Visibility; rules: SignalRules; replayed: boolean };

/** Everything that a batch writes, of all its checks. */
export type Writes = {
  states: StoredState[];
  pings: Ping[];
  bodies: PingBody[];
  flips: { checkId: number; flip: Flip }[];
  takenBack: { checkId: number; deadlineAt: Instant; at: Instant }[];
  events: Omit<CheckEvent, "id">[];
  /** Deadlines that were excused because we could not watch. */
  notices: { checkId: number; blind: Interval }[];
  days: { checkId: number; totals: DayTotals }[];
  /** Checks whose log has grown enough to be trimmed, with the count to trim from. */
  trims: { checkId: number; pingCount: number; keepN: number | null }[];
};

function noWrites(): Writes {
  const changes = { flips: [], takenBack: [], events: [], notices: [] };
  return { states: [], pings: [], bodies: [], ...changes, days: [], trims: [] };
}

/** Folds the signals of one check, in the order in which they were accepted, and adds to the writes. */
function foldSignals(
  writes: Writes,
  check: { stored: StoredState; settings: SignalSettings; signals: readonly AcceptedSignal[] },
  { visibility, rules, replayed }: FoldContext,
): void {
  const { stored, settings, signals } = check;
  const { checkId } = stored;
  const classified = signals.map((signal) => ({
    kind: kindOf(signal, settings),
    at: signal.at,
    rid: signal.rid,
    replayed,
  }));
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
  // Bytes that are no UTF-8 must not cost the signal: they are searched as far as they can be read.
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
  if (outcome.takenBackAt !== null) {
    writes.takenBack.push({ checkId, deadlineAt: outcome.takenBackAt, at });
  }
  const { notices, notObserved: unobserved } = outcome;
  for (const { blind } of notices) writes.notices.push({ checkId, blind });
  writes.events.push(...notObservedEvents(checkId, { notices, unobserved }));
}

// Writes what the fold has collected, in few statements; whatever a batch does not have costs nothing.

export type LogLimits = { pingLogRows: number };

/** The states are locked by this transaction. */
async function writeBatch(tx: Tx, writes: Writes, limits: LogLimits & { now: Instant }): Promise<void> {
  // Sent in this order and at once: none of them needs the answer of another.
  const writing: Promise<unknown>[] = [writeStates(tx, writes.states)];
  if (writes.pings.length > 0) writing.push(insertPings(tx, writes.pings));
  if (writes.bodies.length > 0) writing.push(insertBodies(tx, writes.bodies));
  if (writes.flips.length > 0 || writes.takenBack.length > 0)
    writing.push(writeFlips(tx, writes, limits.now));
  if (writes.events.length > 0) writing.push(insertEvents(tx, writes.events));
  if (writes.notices.length > 0) writing.push(planNotices(tx, writes.notices, limits.now));
  if (writes.days.length > 0) writing.push(settleDays(tx, writes.days, limits.now));
  if (writes.trims.length > 0) writing.push(trimLogs(tx, writes.trims, limits));
  await Promise.all(writing);
}

/** Flips with what is owed for them. Sent at once as far as it can be: a delivery needs the id of its flip. */
async function writeFlips(tx: Tx, { flips, takenBack }: Writes, now: Instant): Promise<void> {
  const inserting = flips.length > 0 ? insertFlips(tx, flips) : Promise.resolve([]);
  // After the inserts: a batch may take back what it has written itself.
  const takingBack = Promise.all(takenBack.map((flip) => retractFlip(tx, flip)));
  const [flipIds, takenBackIds] = await Promise.all([inserting, takingBack]);
  const written = flips.map(({ checkId, flip }, index) => ({ checkId, flip, flipId: flipIds[index] ?? 0 }));
  const planning = planDeliveries(tx, written, now);
  const correcting = retractDeliveries(
    tx,
    takenBackIds.filter((id) => id !== null),
    now,
  );
  await Promise.all([planning, correcting]);
}

async function settleDays(tx: Tx, days: Writes["days"], now: Instant): Promise<void> {
  const checkIds = [...new Set(days.map(({ checkId }) => checkId))];
  const adding = addDayTotals(tx, days);
  await Promise.all([adding, trimDays(tx, { checkIds, beforeDay: dayOf(keptFrom("run", now)) })]);
}

/** What leaves the log stays as a packed run: the history is longer than the log, and much smaller. */
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
    trimRunChunks(tx, { checkIds, before: keptFrom("run", now) }),
  ]);
  const byCheck = Map.groupBy(leaving, ({ checkId }) => checkId);
  const chunks = [...byCheck].map(([checkId, runs]) => ({ checkId, runs: runs as EndedRun[] }));
  if (chunks.length > 0) await insertRunChunks(tx, chunks);
}

// How far can be seen for single checks: what nobody could receive, and the pings of these checks alone that were refused.

/**
 * Reads what excuses each of these checks, to be asked by its id. Read after the watermark, so that nothing is missing
 * that was refused before it.
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
      ...(ofChecks.get(checkId) ?? []).map((one) => blindTime(one, { isOwn: true })),
      ...networksOf(addresses.get(checkId) ?? []).flatMap((network) =>
        (byNetwork.get(network) ?? []).map((one) => blindTime(one, { isOwn: false })),
      ),
    ]);
}

/** The same for one check that is commanded or edited at an instant. */
export async function checkVisibility(
  db: Db,
  stored: StoredState,
  { at, visibility }: { at: Instant; visibility: Visibility },
): Promise<Visibility> {
  return (await checkVisibilities(db, needsCheckVisibility(stored, at) ? [stored] : [], visibility))(
    stored.checkId,
  );
}

/** Whether a deadline can pass, or a silence be judged anew, before this instant: only then is there an excuse to find. */
export function needsCheckVisibility({ downAt, state }: StoredState, beforeAt: Instant): boolean {
  return (downAt !== null && downAt < beforeAt) || state.silence !== null;
}

/** Nothing from before this instant can excuse the check. */
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

// The lines that a check's history gets when we cannot answer for a stretch of time.

/**
 * One event for each deadline that our blindness excused, and one for a deadline that passed unseen. They carry the
 * deadline's own time, as a flip does: it must not matter who was quicker.
 */
export function notObservedEvents(
  checkId: number,
  { notices, unobserved }: Pick<PassedDeadlines, "notices" | "unobserved">,
): Omit<CheckEvent, "id">[] {
  const details = [
    ...notices.map(({ deadline, blind }) => ({ ...deadline, blind })),
    ...(unobserved === null ? [] : [{ ...unobserved, blind: null }]),
  ];
  const event = { checkId, kind: "not_observed", accountId: null };
  return details.map((detail) => ({ ...event, at: detail.at, detail }));
}
