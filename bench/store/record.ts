// "Record 500": the transaction that an intake commits for a batch of signals, made of the functions of the store and
// the rules of core. The differences between layouts are passed in as a plan.
import type { Instant } from "../../src/core/instant.ts";
import { DEFAULT_SIGNALS_PER_MINUTE, FREE_PING_LOG_ROWS } from "../../src/core/limits.ts";
import { DAYS_KEPT, isTrimDue, keptFrom, trimmedThrough } from "../../src/core/retention.ts";
import { countRun, type DayTotals } from "../../src/core/run.ts";
import { downAtOf, sweepAt, type Timing } from "../../src/core/state.ts";
import { applySignals, type Run } from "../../src/core/transition.ts";
import { findChecksByIds, lockStates, type StoredState, writeStates } from "../../src/store/checks.ts";
import { advanceSequence } from "../../src/store/intakes.ts";
import { insertPings, type Ping, trimPings } from "../../src/store/pings.ts";
import { addDayTotals, insertRunChunks, trimRunChunks } from "../../src/store/runs.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { type Aim, aimed } from "./aim.ts";
import { note, type Profile, timed } from "./profile.ts";
import { COMMIT_TIMEOUT_MS, NOON, type Scale } from "./scale.ts";

type LeavingRun = Awaited<ReturnType<typeof trimPings>>[number];
type Trim = { checkId: number; through: number };

/** The history rows of a batch. */
export type HistoryBatch = {
  at: Instant;
  runs: { checkId: number; run: Run }[];
  /** Days that ended with the batch, from the current day in the state. */
  settled: { checkId: number; totals: DayTotals }[];
  /** Runs that trimming took out of the log. */
  leaving: LeavingRun[];
};

/** The input of the rule for the next sweep. */
export type MarkedCheck = {
  current: Instant | null;
  deadline: Instant | null;
  /** The time of the previous signal, and the time of this signal. */
  lastPingAt: Instant | null;
  at: Instant;
};

/** How a batch is written: the choices that the benchmark compares. */
export type Plan = {
  /** Tables to use instead of those of the schema. */
  aim?: Aim;
  nextSweepAt: (mark: MarkedCheck) => Instant | null;
  writeHistory: (tx: Tx, batch: HistoryBatch) => Promise<void>;
};

/** The plan of the program itself. */
export const SHIPPED: Plan = { nextSweepAt: sweepAt, writeHistory: writeShippedHistory };

/** Packs the runs that leave the log, and stores the days that are over. */
export async function writeShippedHistory(tx: Tx, { at, settled, leaving }: HistoryBatch): Promise<void> {
  if (settled.length > 0) await addDayTotals(tx, settled);
  if (leaving.length === 0) return;
  const byCheck = Map.groupBy(leaving, (run) => run.checkId);
  await insertRunChunks(
    tx,
    [...byCheck].map(([checkId, runs]) => ({ checkId, runs })),
  );
  await trimRunChunks(tx, { checkIds: [...byCheck.keys()], before: keptFrom(DAYS_KEPT.run, at) });
}

export type Recording = {
  checkIds: readonly number[];
  at: Instant;
  plan: Plan;
  /** Where to record the duration of each statement, by its name. */
  profile?: Profile;
};

/** Records one success for each of these checks. */
export async function recordBatch(scale: Scale, recording: Recording): Promise<void> {
  const { checkIds, at, plan, profile } = recording;
  let committing = 0;
  const work = async (plain: Tx) => {
    const watched = profile === undefined ? plain : timed(plain, profile);
    const tx = plan.aim === undefined ? watched : aimed(watched, plan.aim);
    const isNew = await advanceSequence(tx, { intakeId: scale.intakeId, lane: 0, seq: scale.nextSeq() });
    if (!isNew) throw new Error("the batch had been applied before");
    const stored = await lockStates(tx, checkIds);
    const checks = new Map((await findChecksByIds(tx, checkIds)).map((check) => [check.id, check.settings]));
    if (stored.length !== checkIds.length || checks.size !== checkIds.length)
      throw new Error("checks are missing");
    const batch: HistoryBatch = { at, runs: [], settled: [], leaving: [] };
    const pings: Ping[] = [];
    const trims: Trim[] = [];
    const states = stored.map((before) => {
      const timing = checks.get(before.checkId);
      if (timing === undefined) throw new Error("a check has no settings");
      const after = applyToState(before, { at, timing, plan, batch });
      pings.push(toPing(after, at));
      const count = { before: before.state.pingCount, after: after.state.pingCount };
      const through = trimmedThrough({ pingCount: count.after, rowsMax: FREE_PING_LOG_ROWS });
      if (isTrimDue(count) && through > 0) trims.push({ checkId: before.checkId, through });
      return after;
    });
    await writeStates(tx, states);
    await insertPings(tx, pings);
    if (trims.length > 0) batch.leaving = await trimPings(tx, trims);
    await plan.writeHistory(tx, batch);
    committing = performance.now();
  };
  await inTransaction(scale.database, work, { commitTimeoutMs: COMMIT_TIMEOUT_MS });
  if (profile !== undefined) note(profile, "commit", performance.now() - committing);
}

type Applying = { at: Instant; timing: Timing; plan: Plan; batch: HistoryBatch };

function applyToState(before: StoredState, { at, timing, plan, batch }: Applying): StoredState {
  const { state, outcomes } = applySignals(
    { timing, state: before.state },
    {
      signals: [{ kind: "success", at, rid: null, replayed: false }],
      visibility: { watermarkAt: NOON, blind: [] },
      rules: { ratePerMinute: DEFAULT_SIGNALS_PER_MINUTE },
    },
  );
  const run = outcomes[0]?.run;
  if (run === undefined || run === null) throw new Error("a success ended no run");
  const { checkId } = before;
  const { today, settled } = countRun(before.today, run);
  batch.runs.push({ checkId, run });
  if (settled !== null) batch.settled.push({ checkId, totals: settled });
  const deadline = downAtOf({ timing, state });
  return {
    checkId,
    state,
    downAt: deadline,
    sweepAt: plan.nextSweepAt({ current: before.sweepAt, deadline, lastPingAt: before.state.lastPingAt, at }),
    lastSuccessN: state.pingCount,
    today,
  };
}

function toPing({ checkId, state }: StoredState, at: Instant): Ping {
  return {
    checkId,
    n: state.pingCount,
    at,
    kind: "success",
    durationMs: state.lastDurationMs,
    scheme: "https",
    method: "GET",
    remoteAddr: "192.0.2.7",
    ua: "curl/8.5.0 (x86_64-pc-linux-gnu)",
    rid: null,
    exitStatus: null,
    bodySize: null,
  };
}
