// The rules of one check, replayed from its beginning: which flips and notices its past makes, and when the server
// had to know of each. It keeps a list of facts in the order of their times, and reads the status off that list.
import type { CheckHistory, ServerHistory, Settings, Step, TimeSpan } from "./history.ts";
import { CHAIN_MS_MAX, RETRY_MS_MAX } from "./rules.ts";
import type { Schedules } from "./schedule.ts";
import { type VisibilityBounds, visibilityAtStep } from "./visibility.ts";

/** Something that people are to be told. */
export type Alert = {
  to: "up" | "down" | "notice";
  /** Of a flip: its date. Of a notice: when its deadline passed. */
  at: number;
  /** Of a notice: what we could not watch. */
  blind: TimeSpan | null;
  /** The server had to know of it from this moment on, on the true clock. */
  detectedTrueAt: number;
  /** It could not know of it before this one. */
  earliestTrueAt: number;
  /** False: it may be told, and need not be. */
  isOwed: boolean;
};

export type CheckVerdict = {
  alerts: readonly Alert[];
  deletedTrueAt: number | null;
  /** Deadlines of which either answer was right; the one that the server gave was taken. */
  doubtCount: number;
  /** Deadlines that passed unseen: nobody is told. */
  unseenCount: number;
};

/** What the model looks things up in; the same for all checks of a world. */
export type ModelContext = {
  server: ServerHistory;
  /** What was seen at each turn, in the order of the turns. */
  visibilityAtTurns: readonly VisibilityBounds[];
  schedules: Schedules;
  /** Whether the server let this deadline fire. Asked only where both answers are right. */
  hasFired: (deadlineAt: number) => boolean;
};

type Fact =
  | { at: number; what: "success" | "fail" | "start"; rid: string | null }
  | { at: number; what: "pause" | "resume" | "silence" }
  | { at: number; what: "excused"; expectedFromAt: number; isRunDiscarded: boolean };

type Situation = {
  status: "new" | "up" | "down" | "paused";
  /** The newest success or failure. */
  lastAt: number | null;
  run: { at: number; rid: string | null } | null;
  /** After an excuse: from when on a signal is expected anew. */
  expectedFromAt: number | null;
  /** The runs that ended last, by name. */
  ended: readonly string[];
};

type Deadline = { from: number; at: number; isOverrun: boolean };

/** Replays the past of one check. */
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
  /** Since when the present deadline has been what it is. */
  #sinceTrueAt: number;
  /** The newest pause or resume. */
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
      // A log line, and what was never acknowledged, does nothing to anybody.
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
      // A resume of what is not paused is refused, and has not been.
      if (step.what === "resume" && this.#situation.status !== "paused") return;
      this.#add({ at: step.at, what: step.what });
      this.#commandAt = Math.max(this.#commandAt, step.at);
    }
  }

  #applySignal(step: Step & { what: "signal" }): void {
    const { at, kind, rid } = step;
    // What the owner has commanded since stays commanded, and a run that may have ended since is not begun.
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

  /** Puts a fact where its time belongs, and reads the whole list again if that is not at the end. */
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

  /** The deadlines that lie before a step, or before the end of the world, in order. */
  #passDeadlines(step: Step | null): void {
    for (;;) {
      const deadline = this.#deadline();
      if (deadline === null) return;
      const { firesAt, excuse } = extended(deadline, this.#settings, this.#context.server.blind);
      // At the deadline is still in time. Nobody is asked when a check is deleted: only the sweeper may have been.
      if (step !== null && step.what !== "delete" && step.at <= firesAt) return;
      const noticed = this.#whenNoticed(firesAt, step);
      if (noticed.kind === "not") {
        // An edit lets the sweeper judge it by the new settings, and a deletion ends everything.
        if (step?.what === "signal" || step?.what === "pause") this.#unseenCount += 1;
        return;
      }
      if (noticed.kind === "either") {
        this.#doubtCount += 1;
        if (excuse === null && !this.#context.hasFired(deadline.at)) return;
      }
      const { detectedTrueAt, earliestTrueAt } = noticed;
      const isOwed = excuse === null || noticed.kind === "surely";
      const common = { detectedTrueAt, earliestTrueAt, isOwed };
      if (excuse === null) {
        this.#alerts.push({ ...common, to: "down", at: deadline.at, blind: null });
        this.#add({ at: deadline.at, what: "silence" });
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

  /** Whether and when the server came to know that nothing had come by an instant. */
  #whenNoticed(firesAt: number, step: Step | null): Noticed {
    const { server, visibilityAtTurns } = this.#context;
    let earliestTrueAt = Infinity;
    for (let index = firstTurnAfter(server, firesAt); index < server.turns.length; index += 1) {
      const turn = server.turns[index];
      const seen = visibilityAtTurns[index];
      if (turn === undefined || seen === undefined || (step !== null && turn.trueAt >= step.trueAt)) break;
      if (turn.trueAt < this.#sinceTrueAt) continue;
      if (firesAt < seen.atMost) earliestTrueAt = Math.min(earliestTrueAt, turn.trueAt);
      if (firesAt < seen.surely) return { kind: "surely", detectedTrueAt: turn.trueAt, earliestTrueAt };
    }
    // Whoever applies a step looks at the deadline first; deleting looks at nothing.
    if (step !== null && step.what !== "delete") {
      const seen = visibilityAtStep(server, step);
      if (firesAt < seen.atMost) earliestTrueAt = Math.min(earliestTrueAt, step.trueAt);
      if (firesAt < seen.surely) return { kind: "surely", detectedTrueAt: step.trueAt, earliestTrueAt };
    }
    if (earliestTrueAt === Infinity) return { kind: "not" };
    const detectedTrueAt = step?.trueAt ?? server.turns.at(-1)?.trueAt ?? earliestTrueAt;
    return { kind: "either", detectedTrueAt, earliestTrueAt };
  }
}

type Noticed =
  | { kind: "surely"; detectedTrueAt: number; earliestTrueAt: number }
  | { kind: "either"; detectedTrueAt: number; earliestTrueAt: number }
  | { kind: "not" };

/** What one more fact makes of a situation. */
function after(situation: Situation, fact: Fact, { manualResume }: Settings): Situation {
  const { status, run } = situation;
  const isIgnoringPings = status === "paused" && manualResume;
  switch (fact.what) {
    case "success":
    case "fail": {
      if (isIgnoringPings) return situation;
      // A failure, or a success that names no run, ends whatever runs; a success that names one ends that one.
      const isEnded = fact.what === "fail" || fact.rid === null || fact.rid === run?.rid;
      const next = fact.what === "success" ? ("up" as const) : ("down" as const);
      const ended = fact.rid === null ? situation.ended : [...situation.ended, fact.rid].slice(-8);
      return { status: next, lastAt: fact.at, run: isEnded ? null : run, expectedFromAt: null, ended };
    }
    case "start":
      // A start that arrives after the end of its own run begins nothing.
      if (isIgnoringPings || (fact.rid !== null && situation.ended.includes(fact.rid))) return situation;
      return { ...situation, run: { at: fact.at, rid: fact.rid } };
    case "silence":
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

/** A deadline with the time in which we could not receive taken into account. */
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
    // In order of time: what begins after the last chance is followed only by what begins later.
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

/** The first turn at which the database's clock was past an instant. */
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
