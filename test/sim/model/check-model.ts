// Replays the history of one check: which flips and notices result from it, and when the server must have detected
// each. Keeps a list of facts ordered by time and derives the status from it.
import type { CheckHistory, ServerHistory, Settings, Step, TimeSpan } from "./history.ts";
import { CHAIN_MS_MAX, RETRY_MS_MAX } from "./rules.ts";
import type { Schedules } from "./schedule.ts";
import { type VisibilityBounds, visibilityAtStep } from "./visibility.ts";

/** A flip or notice that requires a notification. */
export type Alert = {
  to: "up" | "down" | "notice";
  /** For a flip, its date. For a notice, when its deadline passed. */
  at: number;
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

type Fact =
  | { at: number; what: "success" | "fail" | "start"; rid: string | null }
  | { at: number; what: "pause" | "resume" | "timeout" }
  | { at: number; what: "excused"; expectedFromAt: number; isRunDiscarded: boolean };

type Situation = {
  status: "new" | "up" | "down" | "paused";
  /** The newest success or failure. */
  lastAt: number | null;
  run: { at: number; rid: string | null } | null;
  /** After an excuse, the next ping is expected from this time. */
  expectedFromAt: number | null;
  /** IDs of the runs that ended last. */
  ended: readonly string[];
};

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
  #situation: Situation = { status: "new", lastAt: null, run: null, expectedFromAt: null, ended: [] };
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
    for (const step of this.#check.steps) {
      // Log lines and unacknowledged pings have no effect.
      if (step.what === "signal" && (step.kind === "log" || !step.isAcknowledged)) continue;
      this.#passDeadlines(step);
      if (step.what === "delete") {
        deletedTrueAt = step.trueAt;
        break;
      }
      this.#apply(step);
      this.#sinceTrueAt = step.trueAt;
    }
    if (deletedTrueAt === null) this.#passDeadlines(null);
    const counts = { doubtCount: this.#doubtCount, unseenCount: this.#unseenCount };
    return { alerts: this.#alerts, deletedTrueAt, ...counts };
  }

  #apply(step: Step): void {
    if (step.what === "edit") this.#settings = step.settings;
    else if (step.what === "signal") this.#applySignal(step);
    else if (step.what !== "delete") {
      // Resuming a check that is not paused is refused.
      if (step.what === "resume" && this.#situation.status !== "paused") return;
      this.#add({ at: step.at, what: step.what });
      this.#commandAt = Math.max(this.#commandAt, step.at);
    }
  }

  #applySignal(step: Step & { what: "signal" }): void {
    const { at, kind, rid } = step;
    // Pings older than the newest pause or resume have no effect, and a start older than the newest success or
    // failure begins no run.
    if (kind === "log" || at < this.#commandAt) return;
    if (kind === "start" && at < (this.#situation.lastAt ?? -Infinity)) return;
    const before = this.#situation.status;
    this.#add({ at, what: kind, rid });
    const { status } = this.#situation;
    if (status === before || (status === "up" && before !== "down")) return;
    if (status !== "up" && status !== "down") return;
    const { trueAt } = step;
    this.#alerts.push({
      to: status,
      at,
      blind: null,
      detectedTrueAt: trueAt,
      earliestTrueAt: trueAt,
      isOwed: true,
    });
  }

  /** Inserts a fact in order of time and recomputes the state if it is not the newest. */
  #add(fact: Fact): void {
    const newest = this.#facts.at(-1);
    if (newest === undefined || newest.at <= fact.at) {
      this.#facts.push(fact);
      this.#situation = after(this.#situation, fact, this.#settings);
      return;
    }
    const place = this.#facts.findLastIndex((other) => other.at <= fact.at) + 1;
    this.#facts.splice(place, 0, fact);
    let situation: Situation = { status: "new", lastAt: null, run: null, expectedFromAt: null, ended: [] };
    for (const one of this.#facts) situation = after(situation, one, this.#settings);
    this.#situation = situation;
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
      const isOwed = excuse === null || detection.kind === "certain";
      const common = { detectedTrueAt, earliestTrueAt, isOwed };
      if (excuse === null) {
        this.#alerts.push({ ...common, to: "down", at: deadline.at, blind: null });
        this.#add({ at: deadline.at, what: "timeout" });
      } else {
        this.#alerts.push({ ...common, to: "notice", at: firesAt, blind: excuse });
        this.#add({
          at: firesAt,
          what: "excused",
          expectedFromAt: excuse.to,
          isRunDiscarded: deadline.isOverrun,
        });
      }
      this.#sinceTrueAt = Math.max(this.#sinceTrueAt, earliestTrueAt);
    }
  }

  #deadline(): Deadline | null {
    const { status, run } = this.#situation;
    if (status === "down" || (status === "paused" && this.#settings.manualResume)) return null;
    const graceMs = this.#settings.graceSeconds * 1_000;
    const expectedAt = this.#expectedAt();
    if (run !== null && (expectedAt === null || run.at < expectedAt)) {
      return { from: run.at, at: run.at + graceMs, isOverrun: true };
    }
    return expectedAt === null ? null : { from: expectedAt, at: expectedAt + graceMs, isOverrun: false };
  }

  #expectedAt(): number | null {
    const { status, lastAt, expectedFromAt } = this.#situation;
    if (status !== "up" || lastAt === null) return null;
    const baseAt = Math.max(lastAt, expectedFromAt ?? lastAt);
    const settings = this.#settings;
    if (settings.kind === "simple") return baseAt + settings.periodSeconds * 1_000;
    return this.#context.schedules.of(settings).nextAfter(baseAt);
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
  const { status, run } = situation;
  const isIgnoringPings = status === "paused" && manualResume;
  switch (fact.what) {
    case "success":
    case "fail": {
      if (isIgnoringPings) return situation;
      // A failure, or a success without a run ID, ends any run; a success with a run ID ends that run.
      const isEnded = fact.what === "fail" || fact.rid === null || fact.rid === run?.rid;
      const next = fact.what === "success" ? ("up" as const) : ("down" as const);
      const ended = fact.rid === null ? situation.ended : [...situation.ended, fact.rid].slice(-8);
      return { status: next, lastAt: fact.at, run: isEnded ? null : run, expectedFromAt: null, ended };
    }
    case "start":
      // A start that arrives after the end of its own run is ignored.
      if (isIgnoringPings || (fact.rid !== null && situation.ended.includes(fact.rid))) return situation;
      return { ...situation, run: { at: fact.at, rid: fact.rid } };
    case "timeout":
      return { ...situation, status: "down", expectedFromAt: null };
    case "pause":
      return status === "paused"
        ? situation
        : { ...situation, status: "paused", run: null, expectedFromAt: null };
    case "resume":
      return status === "paused"
        ? { ...situation, status: "new", lastAt: null, run: null, expectedFromAt: null }
        : situation;
    case "excused":
      return { ...situation, expectedFromAt: fact.expectedFromAt, run: fact.isRunDiscarded ? null : run };
  }
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
