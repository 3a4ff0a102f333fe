// Replays the history of one check: which problems, recoveries and notices result from it, and when the server must
// have detected each. Keeps a list of facts ordered by time and derives the status from it.
import type { CheckHistory, RunRules, ServerHistory, Settings, Step, TimeSpan, Turn } from "./history.ts";
import { afterOutcome, type Judgement, NOTHING_JUDGED, underRules } from "./judgement.ts";
import { CHAIN_MS_MAX, DEFAULT_RUN_RULES, RETRY_MS_MAX } from "./rules.ts";
import type { Schedules } from "./schedule.ts";
import { type SilencedSpan, silencedSpans } from "./silence.ts";
import { type VisibilityBounds, visibilityAtStep } from "./visibility.ts";

/** The beginning or end of a problem, or a notice: what requires a notification. */
export type Alert = {
  to: "up" | "down" | "notice";
  /** For a problem or its end, the date of the flip. For a notice, when its deadline passed. */
  at: number;
  /** When it began or ended; later than the flip if runs were tolerated. */
  changedAt: number;
  /** For the beginning of a problem, the newest success before it. */
  lastSuccessAt: number | null;
  /** For a notice, the blind interval. */
  blind: TimeSpan | null;
  /** By this time, on the true clock, the server must have detected it. */
  detectedTrueAt: number;
  /** The server could not detect it before this time. */
  earliestTrueAt: number;
  /** False if the notification is optional. */
  isOwed: boolean;
};

export type CheckVerdict = {
  alerts: readonly Alert[];
  /** When problems ended without a notification, because the check was paused: on the true clock. */
  endedTrueAt: readonly number[];
  /** When messages about problems are withheld. */
  silenced: readonly SilencedSpan[];
  /** When somebody acknowledged a problem, or would have, on the true clock. */
  acknowledgedTrueAt: readonly number[];
  /** Whether the check was down or late in a turn, or its problem not over. */
  isTroubledAt: (turn: Turn) => boolean;
  deletedTrueAt: number | null;
  /** Deadlines for which both results are correct; the model adopts the server's result. */
  doubtCount: number;
  /** Deadlines that passed undetected and require no notification. */
  unseenCount: number;
};

/** Shared by all checks of a world. */
export type ModelContext = {
  server: ServerHistory;
  /** One entry per turn. */
  visibilityAtTurns: readonly VisibilityBounds[];
  schedules: Schedules;
  /** Whether the server fired this deadline. Called only where both results are correct. */
  hasFired: (deadlineAt: number) => boolean;
};

/** `rules`: those that applied when the fact was recorded. */
type Fact = {
  at: number;
  rules: RunRules | null;
} /** `outcome`: null if a newer outcome was recorded before. */ & (
  | { what: "success" | "fail"; rid: string | null; outcome: "success" | "failed" | null }
  | { what: "start"; rid: string | null }
  | { what: "pause" | "resume" | "edit" }
  | { what: "timeout"; expectedFromAt: number }
  | { what: "excused"; expectedFromAt: number; isRunDiscarded: boolean }
);

type Situation = {
  status: "new" | "up" | "down" | "paused";
  judgement: Judgement;
  /** The newest success or failure, and the newest success. */
  lastAt: number | null;
  lastSuccessAt: number | null;
  /** A run that was missed once does not count again. */
  run: { at: number; rid: string | null; isMissed: boolean } | null;
  /** When the last run began; only with a shortest time between runs. */
  beganAt: number | null;
  /** After an excuse or a tolerated miss, the next ping is expected from this time. */
  expectedFromAt: number | null;
  /** IDs of the runs that ended last. */
  ended: readonly string[];
  /** Dates of the newest flips. */
  downAt: number;
  upAt: number;
};

const NEW: Situation = {
  status: "new",
  judgement: NOTHING_JUDGED,
  lastAt: null,
  lastSuccessAt: null,
  run: null,
  beganAt: null,
  expectedFromAt: null,
  ended: [],
  downAt: -Infinity,
  upAt: -Infinity,
};

type DetectionTimes = Pick<Alert, "changedAt" | "detectedTrueAt" | "earliestTrueAt">;

type Deadline = { from: number; at: number; isOverrun: boolean };

/** Replays the history of one check. */
export function replay(check: CheckHistory, context: ModelContext): CheckVerdict {
  return new Replay(check, context).run();
}

class Replay {
  readonly #check: CheckHistory;
  readonly #context: ModelContext;
  readonly #facts: Fact[] = [];
  readonly #alerts: Alert[] = [];
  readonly #endedTrueAt: number[] = [];
  /** After each step, from when the check is late or down. */
  readonly #troubles: { fromTrueAt: number; at: number }[] = [];
  #situation = NEW;
  #settings: Settings;
  /** When the current deadline was set. */
  #sinceTrueAt: number;
  /** Time of the newest pause or resume. */
  #commandAt = -Infinity;
  #doubtCount = 0;
  #unseenCount = 0;

  constructor(check: CheckHistory, context: ModelContext) {
    this.#check = check;
    this.#context = context;
    this.#settings = check.settings;
    this.#sinceTrueAt = check.createdTrueAt;
  }

  run(): CheckVerdict {
    let deletedTrueAt: number | null = null;
    const acknowledgedTrueAt: number[] = [];
    for (const step of this.#check.steps) {
      // Log lines and unacknowledged pings have no effect.
      if (step.what === "signal" && (step.kind === "log" || !step.isAcknowledged)) continue;
      if (step.what === "ack") {
        acknowledgedTrueAt.push(step.trueAt);
        continue;
      }
      this.#passDeadlines(step);
      if (step.what === "delete") {
        deletedTrueAt = step.trueAt;
        break;
      }
      this.#apply(step);
      this.#sinceTrueAt = step.trueAt;
      this.#noteTrouble(step.trueAt);
    }
    const troubles = this.#troubles;
    const endTrueAt = deletedTrueAt ?? Infinity;
    if (deletedTrueAt === null) this.#passDeadlines(null);
    const counts = { doubtCount: this.#doubtCount, unseenCount: this.#unseenCount };
    const { schedules, server } = this.#context;
    const silenced = silencedSpans(this.#check.silences, { schedules, to: server.turns.at(-1)?.at ?? 0 });
    const isTroubledAt = ({ trueAt, at }: Turn) => {
      if (trueAt >= endTrueAt) return false;
      const trouble = troubles.findLast(({ fromTrueAt }) => fromTrueAt <= trueAt);
      return trouble !== undefined && at >= trouble.at;
    };
    const found = { alerts: this.#alerts, endedTrueAt: this.#endedTrueAt, silenced };
    return { ...found, acknowledgedTrueAt, isTroubledAt, deletedTrueAt, ...counts };
  }

  /** From when the check is late or down, unless something happens before. */
  #noteTrouble(fromTrueAt: number): void {
    const { status, judgement, lastAt } = this.#situation;
    const deadline = this.#deadline();
    const expectedAt = status === "up" ? (this.#expectedAfter(lastAt) ?? Infinity) : Infinity;
    const deadlineAt = deadline === null ? Infinity : deadline.isOverrun ? deadline.at : deadline.from;
    const isNow = status === "down" || judgement.isOpen;
    this.#troubles.push({ fromTrueAt, at: isNow ? -Infinity : Math.min(expectedAt, deadlineAt) });
  }

  #apply(step: Step): void {
    if (step.what === "delete" || step.what === "ack") return;
    const { at, trueAt } = step;
    const times = { changedAt: at, detectedTrueAt: trueAt, earliestTrueAt: trueAt };
    if (step.what === "signal") return this.#applySignal(step, times);
    if (step.what === "edit") this.#settings = step.settings;
    // Resuming a check that is not paused is refused.
    else if (step.what === "resume" && this.#situation.status !== "paused") return;
    else this.#commandAt = Math.max(this.#commandAt, at);
    this.#add({ at, rules: this.#settings.rules, what: step.what }, times);
  }

  #applySignal(step: Step & { what: "signal" }, times: DetectionTimes): void {
    const { at, kind, rid } = step;
    const { rules } = this.#settings;
    const lastAt = this.#situation.lastAt ?? -Infinity;
    // Pings older than the newest pause or resume have no effect, and a start older than the newest success or
    // failure begins no run.
    if (kind === "log" || at < this.#commandAt) return;
    if (kind !== "start") {
      const outcome = at < lastAt ? null : this.#outcomeOf(step);
      this.#add({ at, rules, what: kind, rid, outcome }, times);
    } else if (at >= lastAt) this.#add({ at, rules, what: kind, rid }, times);
  }

  /** A success counts as failed if its run was too short or began too soon. */
  #outcomeOf(step: Step & { what: "signal" }): "success" | "failed" {
    const { kind, at } = step;
    const { minRunSeconds, minGapSeconds } = this.#settings.rules ?? DEFAULT_RUN_RULES;
    const { beganAt } = this.#situation;
    if (kind === "fail") return "failed";
    const startedAt = startOf(this.#situation, step);
    const isTooFast = startedAt !== null && at - startedAt < (minRunSeconds ?? 0) * 1_000;
    const isTooOften = beganAt !== null && (startedAt ?? at) - beganAt < (minGapSeconds ?? 0) * 1_000;
    return isTooFast || isTooOften ? "failed" : "success";
  }

  /** Inserts a fact in order of time, recomputes the state if it is not the newest, and notes what changed. */
  #add(fact: Fact, times: DetectionTimes): void {
    const before = this.#situation;
    const newest = this.#facts.at(-1);
    if (newest === undefined || newest.at <= fact.at) {
      this.#facts.push(fact);
      this.#situation = after(before, fact, this.#settings);
    } else {
      const isDeadline = fact.what === "timeout" || fact.what === "excused";
      // An edit may have moved a deadline into the past: it counts from the edit on.
      const place =
        this.#facts.findLastIndex((one) => one.at <= fact.at || (isDeadline && one.what === "edit")) + 1;
      this.#facts.splice(place, 0, fact);
      let situation = NEW;
      for (const one of this.#facts) situation = after(situation, one, this.#settings);
      this.#situation = situation;
    }
    const { judgement, status, downAt, upAt, lastSuccessAt } = this.#situation;
    if (judgement.isOpen === before.judgement.isOpen) return;
    const common = { ...times, blind: null, isOwed: true };
    if (judgement.isOpen) this.#alerts.push({ ...common, to: "down", at: downAt, lastSuccessAt });
    else if (status === "up") this.#alerts.push({ ...common, to: "up", at: upAt, lastSuccessAt: null });
    else this.#endedTrueAt.push(times.detectedTrueAt);
  }

  /** Applies the deadlines before a step, or before the end of the world, in order. */
  #passDeadlines(step: Step | null): void {
    for (;;) {
      const deadline = this.#deadline();
      if (deadline === null) return;
      const { firesAt, excuse } = extended(deadline, this.#settings, this.#context.server.blind);
      // A ping at the deadline is in time. Deleting a check does not apply its deadline, so only the sweeper may
      // have.
      if (step !== null && step.what !== "delete" && step.at <= firesAt) return;
      const detection = this.#detect(firesAt, step);
      if (detection.kind === "no") {
        // After an edit, the sweeper uses the new settings.
        if (step?.what === "signal" || step?.what === "pause") this.#unseenCount += 1;
        return;
      }
      if (detection.kind === "either") {
        this.#doubtCount += 1;
        if (excuse === null && !this.#context.hasFired(deadline.at)) return;
      }
      const { detectedTrueAt, earliestTrueAt } = detection;
      const times = { changedAt: deadline.at, detectedTrueAt, earliestTrueAt };
      const { rules } = this.#settings;
      if (excuse === null) {
        const expectedFromAt = deadline.isOverrun ? deadline.at : deadline.from;
        this.#add({ at: deadline.at, rules, what: "timeout", expectedFromAt }, times);
      } else {
        const isOwed = detection.kind === "certain";
        this.#alerts.push({
          ...times,
          isOwed,
          to: "notice",
          at: firesAt,
          blind: excuse,
          lastSuccessAt: null,
        });
        const expected = { expectedFromAt: excuse.to, isRunDiscarded: deadline.isOverrun };
        this.#add({ at: firesAt, rules, what: "excused", ...expected }, times);
      }
      this.#sinceTrueAt = Math.max(this.#sinceTrueAt, earliestTrueAt);
    }
  }

  #deadline(): Deadline | null {
    const { status, judgement, lastAt } = this.#situation;
    const isWaiting =
      status === "down" ? judgement.isOpen : status === "paused" && this.#settings.manualResume;
    if (isWaiting) return null;
    const { startWithinSeconds, maxRunSeconds } = this.#settings.rules ?? DEFAULT_RUN_RULES;
    const graceMs = this.#settings.graceSeconds * 1_000;
    const startMs = startWithinSeconds === null ? graceMs : startWithinSeconds * 1_000;
    const missed = (from: number | null, ms: number) =>
      from === null ? null : { from, at: from + ms, isOverrun: false };
    const expectedAt = status === "up" || status === "down" ? this.#expectedAfter(lastAt) : null;
    const run = this.#situation.run;
    // A run without a limit is noticed when the next one does not begin.
    if (run !== null && maxRunSeconds === 0) {
      return missed(this.#expectedAfter(Math.max(run.at, lastAt ?? run.at)), startMs);
    }
    if (run === null || run.isMissed) return missed(expectedAt, startMs);
    if (maxRunSeconds !== null) {
      return { from: run.at, at: run.at + maxRunSeconds * 1_000, isOverrun: true };
    }
    if (expectedAt !== null && expectedAt <= run.at) return missed(expectedAt, graceMs);
    return { from: run.at, at: run.at + graceMs, isOverrun: true };
  }

  /** When the next run is expected after a ping, or after an excuse or a tolerated miss. */
  #expectedAfter(pingAt: number | null): number | null {
    const { expectedFromAt } = this.#situation;
    const baseAt = Math.max(pingAt ?? -Infinity, expectedFromAt ?? -Infinity);
    const settings = this.#settings;
    if (baseAt === -Infinity) return null;
    if (settings.kind === "simple") return baseAt + settings.periodSeconds * 1_000;
    const schedule = this.#context.schedules.of(settings);
    const nextAt = schedule.nextAfter(baseAt);
    const earlyMs = (settings.rules?.earlySeconds ?? 0) * 1_000;
    if (nextAt === null || pingAt === null || nextAt - pingAt > earlyMs) return nextAt;
    // An early run counts, but not in the first half of the gap: there it would be a late one.
    const isEarly = 2 * (nextAt - pingAt) <= nextAt - schedule.lastBefore(nextAt);
    return isEarly ? schedule.nextAfter(nextAt) : nextAt;
  }

  /** Whether and when the server detected that no ping had arrived by an instant. */
  #detect(firesAt: number, step: Step | null): Detection {
    const { server, visibilityAtTurns } = this.#context;
    let earliestTrueAt = Infinity;
    for (let index = firstTurnAfter(server, firesAt); index < server.turns.length; index += 1) {
      const turn = server.turns[index];
      const bounds = visibilityAtTurns[index];
      if (turn === undefined || bounds === undefined || (step !== null && turn.trueAt >= step.trueAt)) break;
      if (turn.trueAt < this.#sinceTrueAt) continue;
      if (firesAt < bounds.possibleTo) earliestTrueAt = Math.min(earliestTrueAt, turn.trueAt);
      if (firesAt < bounds.certainTo) return { kind: "certain", detectedTrueAt: turn.trueAt, earliestTrueAt };
    }
    // Applying a step checks the deadline first, except for a deletion.
    if (step !== null && step.what !== "delete") {
      const bounds = visibilityAtStep(server, step);
      if (firesAt < bounds.possibleTo) earliestTrueAt = Math.min(earliestTrueAt, step.trueAt);
      if (firesAt < bounds.certainTo) return { kind: "certain", detectedTrueAt: step.trueAt, earliestTrueAt };
    }
    if (earliestTrueAt === Infinity) return { kind: "no" };
    const detectedTrueAt = step?.trueAt ?? server.turns.at(-1)?.trueAt ?? earliestTrueAt;
    return { kind: "either", detectedTrueAt, earliestTrueAt };
  }
}

type Detection =
  | { kind: "certain"; detectedTrueAt: number; earliestTrueAt: number }
  | { kind: "either"; detectedTrueAt: number; earliestTrueAt: number }
  | { kind: "no" };

/** The state after one more fact. */
function after(situation: Situation, fact: Fact, { manualResume }: Settings): Situation {
  const { status, run, judgement } = situation;
  const { at, rules } = fact;
  const isIgnoringPings = status === "paused" && manualResume;
  switch (fact.what) {
    case "success":
    case "fail": {
      if (isIgnoringPings) return situation;
      // A failure, or a success without a run ID, ends any run; a success with a run ID ends that run.
      const isEnded = fact.what === "fail" || fact.rid === null || fact.rid === run?.rid;
      const ended = fact.rid === null ? situation.ended : [...situation.ended, fact.rid].slice(-8);
      // A run that was missed does not count again.
      const next = {
        ...situation,
        ended,
        run: isEnded || run?.isMissed === true ? null : run,
        lastAt: at,
        expectedFromAt: null,
      };
      // A newer outcome follows.
      if (fact.outcome === null) return next;
      const hasGap = rules !== null && rules.minGapSeconds !== null;
      return {
        ...next,
        ...(fact.outcome === "success"
          ? { ...flippedUp(situation, at), lastSuccessAt: at }
          : flippedDown(situation, at)),
        judgement: afterOutcome(judgement, fact.outcome, rules),
        beganAt: hasGap ? (startOf(situation, fact) ?? at) : null,
      };
    }
    case "start":
      // A start that arrives after the end of its own run is ignored.
      if (isIgnoringPings || (fact.rid !== null && situation.ended.includes(fact.rid))) return situation;
      return { ...situation, run: { at, rid: fact.rid, isMissed: false } };
    case "timeout": {
      const missed = afterOutcome(judgement, "missed", rules);
      return {
        ...situation,
        ...flippedDown(situation, at),
        judgement: missed,
        expectedFromAt: missed.isOpen ? null : fact.expectedFromAt,
        run: run === null ? null : { ...run, isMissed: run.isMissed || run.at <= at },
      };
    }
    case "pause":
      return status === "paused" ? situation : { ...situation, ...NOTHING_EXPECTED, status: "paused" };
    case "resume":
      return status === "paused"
        ? { ...situation, ...NOTHING_EXPECTED, status: "new", lastAt: null }
        : situation;
    case "excused":
      return { ...situation, expectedFromAt: fact.expectedFromAt, run: fact.isRunDiscarded ? null : run };
    case "edit": {
      const beganAt = rules === null || rules.minGapSeconds === null ? null : situation.beganAt;
      return {
        ...situation,
        beganAt,
        judgement: underRules(judgement, rules, { isDown: status === "down" }),
      };
    }
  }
}

/** When the run began that a success or failure ends: known only if it has the same run ID. */
function startOf({ run }: Situation, { at, rid }: { at: number; rid: string | null }): number | null {
  return run !== null && run.at <= at && rid === run.rid ? run.at : null;
}

const NOTHING_EXPECTED = { run: null, expectedFromAt: null, judgement: NOTHING_JUDGED, beganAt: null };

function flippedUp({ status, upAt }: Situation, at: number) {
  return { status: "up" as const, upAt: status === "up" ? upAt : at };
}

function flippedDown({ status, downAt }: Situation, at: number) {
  return { status: "down" as const, downAt: status === "down" ? downAt : at };
}

/** A deadline, extended by blind intervals. */
function extended(
  deadline: Deadline,
  { graceSeconds }: Settings,
  blind: readonly TimeSpan[],
): { firesAt: number; excuse: TimeSpan | null } {
  const retryMs = Math.min(graceSeconds * 1_000, RETRY_MS_MAX);
  let firesAt = deadline.at;
  let excuse: TimeSpan | null = null;
  for (let index = firstEndingFrom(blind, deadline.from); index < blind.length; index += 1) {
    const one = blind[index];
    // Sorted by time: the remaining intervals begin even later.
    if (one === undefined || one.from > Math.min(firesAt, deadline.at + CHAIN_MS_MAX)) break;
    firesAt = Math.max(firesAt, one.to + retryMs);
    excuse = one;
  }
  return { firesAt, excuse };
}

function firstEndingFrom(blind: readonly TimeSpan[], at: number): number {
  let low = 0;
  let high = blind.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blind[middle]?.to ?? Infinity) >= at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The first turn with a database time after an instant. */
function firstTurnAfter({ turns }: ServerHistory, at: number): number {
  let low = 0;
  let high = turns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((turns[middle]?.at ?? Infinity) > at) high = middle;
    else low = middle + 1;
  }
  return low;
}
