// What a batch of signals makes of one check: asks the rules, and collects what has to be written. It reads
// and writes nothing itself.
import type { AcceptedSignal } from "../../core/accepted.ts";
import type { SignalSettings } from "../../core/check.ts";
import { countRun, type DayTotals } from "../../core/machine/day-totals.ts";
import type { Sight } from "../../core/machine/deadline.ts";
import type { Instant, Interval } from "../../core/instant.ts";
import { isTrimDue } from "../../core/retention.ts";
import { classifyEmail, classifyHttp, type SignalKind } from "../../core/signal.ts";
import type { Flip } from "../../core/machine/state.ts";
import { downAt, sweepAt } from "../../core/machine/status.ts";
import { applySignals, type Outcome, type SignalRules } from "../../core/machine/transition.ts";
import type { StoredState } from "../../store/checks/check-states.ts";
import type { CheckEvent } from "../../store/history/events.ts";
import type { PingBody } from "../../store/history/ping-bodies.ts";
import type { Ping } from "../../store/history/pings.ts";
import { notObservedEvents } from "./not-observed.ts";

export type FoldContext = { sight: Sight; rules: SignalRules; replayed: boolean };

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

export function noWrites(): Writes {
  const changes = { flips: [], takenBack: [], events: [], notices: [] };
  return { states: [], pings: [], bodies: [], ...changes, days: [], trims: [] };
}

/** Folds the signals of one check, in the order in which they were accepted, and adds to the writes. */
export function foldSignals(
  writes: Writes,
  check: { stored: StoredState; settings: SignalSettings; signals: readonly AcceptedSignal[] },
  { sight, rules, replayed }: FoldContext,
): void {
  const { stored, settings, signals } = check;
  const { checkId } = stored;
  const told = signals.map((signal) => ({
    kind: kindOf(signal, settings),
    at: signal.at,
    rid: signal.rid,
    replayed,
  }));
  const { state, outcomes } = applySignals(
    { timing: settings, state: stored.state },
    { signals: told, sight, rules },
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
  const deadline = downAt({ timing: settings, state });
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
  const { notices, notObserved: unseen } = outcome;
  for (const { blind } of notices) writes.notices.push({ checkId, blind });
  writes.events.push(...notObservedEvents(checkId, { notices, unseen }));
}
