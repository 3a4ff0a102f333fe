// Generates the pings of a job under one version of its settings: usually on time, sometimes early, late,
// overlapping, failing, never ending or missing. Refused pings may be retried.
import type { Chance } from "../../faults/chance.ts";
import type { Settings, SignalKind } from "../model/history.ts";
import type { GeneratorContext } from "./generator-context.ts";
import { between } from "./plan-faults.ts";
import { routeHashOf } from "./receipt.ts";
import type { Action } from "./world.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Unusual runs per day, regardless of the schedule. */
const INCIDENTS_PER_DAY = 0.04;
const INCIDENT_MAX = 0.1;
/** More often where problems are tolerated. */
const TOLERATED_INCIDENTS_PER_DAY = 0.6;
const TOLERATED_INCIDENT_MAX = 0.3;
/** Delays between retries after a refusal. */
const RETRY_MS = [1, 4, 15, 60, 180, 600, 1_800].map((seconds) => seconds * SECOND_MS);

type Job = { context: GeneratorContext; chance: Chance; index: number };
type Part = { from: number; to: number; settings: Settings };
type Style = {
  signals: "end" | "both" | "named";
  isRetrying: boolean;
  incident: number;
  isTolerant: boolean;
};

/** The pings of a job from one change of its settings to the next. */
export function planRuns(job: Job, part: Part): Action[] {
  const { chance } = job;
  const times = runTimes(job, part);
  const runsPerDay = (times.length / Math.max(1, part.to - part.from)) * DAY_MS;
  const isTolerant = part.settings.rules !== null;
  const perDay = isTolerant ? TOLERATED_INCIDENTS_PER_DAY : INCIDENTS_PER_DAY;
  const style: Style = {
    signals: chance.fraction() < 0.6 ? "end" : chance.fraction() < 0.5 ? "both" : "named",
    isRetrying: chance.fraction() < 0.7,
    incident: Math.min(
      isTolerant ? TOLERATED_INCIDENT_MAX : INCIDENT_MAX,
      perDay / Math.max(runsPerDay, 0.01),
    ),
    isTolerant,
  };
  const run = new JobRuns(job, part, style);
  for (const [place, dueAt] of times.entries()) run.one(dueAt, times[place + 1] ?? part.to);
  return run.actions.filter(({ trueAt }) => trueAt > part.from && trueAt <= job.context.base.to);
}

function runTimes({ context, chance }: Job, { from, to, settings }: Part): number[] {
  const times: number[] = [];
  if (settings.kind === "simple") {
    const periodMs = settings.periodSeconds * SECOND_MS;
    for (let at = from + chance.fraction() * periodMs; at < to; at += periodMs) times.push(Math.floor(at));
    return times;
  }
  const schedule = context.schedules.of(settings);
  for (let at = schedule.nextAfter(from); at !== null && at < to; at = schedule.nextAfter(at)) times.push(at);
  return times;
}

class JobRuns {
  readonly actions: Action[] = [];
  readonly #job: Job;
  readonly #part: Part;
  readonly #style: Style;
  #stoppedUntil = -Infinity;
  /** How many of the next runs fail. */
  #failCount = 0;
  #lastSuccessAt: number | null = null;
  #count = 0;

  constructor(job: Job, part: Part, style: Style) {
    this.#job = job;
    this.#part = part;
    this.#style = style;
  }

  /** Generates one run. */
  one(dueAt: number, nextAt: number): void {
    const { chance } = this.#job;
    if (dueAt < this.#stoppedUntil) return;
    this.#count += 1;
    if (this.#failCount > 0) {
      this.#failCount -= 1;
      return this.#run(dueAt + this.#jitter(), "fails");
    }
    // Several failures in a row, with or without successes in between.
    if (this.#style.isTolerant && chance.fraction() < this.#style.incident / 3) {
      this.#failCount = chance.between(1, 5);
    }
    if (chance.fraction() >= this.#style.incident) return this.#run(dueAt + this.#jitter(), "fine");
    const intervalMs = nextAt - dueAt;
    const graceMs = this.#part.settings.graceSeconds * SECOND_MS;
    const roll = chance.fraction();
    if (roll < 0.15) return;
    if (roll < 0.25) {
      this.#stoppedUntil = dueAt + intervalMs * chance.between(2, 6);
      return;
    }
    if (roll < 0.4) return this.#run(dueAt + between(chance, [SECOND_MS, 2 * graceMs + 3 * HOUR_MS]), "fine");
    if (roll < 0.48) return this.#atTheDeadline(dueAt + graceMs);
    if (roll < 0.55) return this.#run(dueAt - between(chance, [SECOND_MS, intervalMs / 2]), "fine");
    if (roll < 0.75) return this.#run(dueAt + this.#jitter(), "fails");
    if (roll < 0.87) return this.#run(dueAt + this.#jitter(), "overruns");
    if (roll < 0.93) return this.#run(dueAt + this.#jitter(), "never ends");
    return this.#twice(dueAt + this.#jitter(), intervalMs);
  }

  #jitter(): number {
    const mostMs = Math.min(MINUTE_MS, (this.#part.settings.graceSeconds * SECOND_MS) / 4);
    return this.#job.chance.fraction() * mostMs;
  }

  #run(beginsAt: number, how: "fine" | "fails" | "overruns" | "never ends"): void {
    const { chance } = this.#job;
    const { graceSeconds, rules } = this.#part.settings;
    const graceMs = (rules?.maxRunSeconds || graceSeconds) * SECOND_MS;
    const rid = this.#style.signals === "named" ? `r${this.#count}` : null;
    const hasStart = this.#style.signals !== "end";
    if (hasStart) this.#send(beginsAt, "start", rid);
    if (how === "never ends") return;
    const lastsMs = hasStart
      ? between(chance, how === "overruns" ? [graceMs, 3 * graceMs] : [SECOND_MS, graceMs * 0.7])
      : 0;
    if (chance.fraction() < 0.02) this.#send(beginsAt + lastsMs / 2, "log", rid);
    const endsAt = beginsAt + lastsMs;
    if (how !== "fails") return this.#send(endsAt, "success", rid);
    this.#send(endsAt, "fail", rid);
    // Either a user fixes the job, or the next run succeeds.
    if (chance.fraction() < (this.#style.isTolerant ? 0.3 : 0.6))
      this.#send(endsAt + between(chance, [MINUTE_MS, HOUR_MS]), "success", null);
  }

  /** A success exactly at the deadline, or a millisecond later. */
  #atTheDeadline(deadlineAt: number): void {
    const { settings } = this.#part;
    const graceMs = settings.graceSeconds * SECOND_MS;
    const at =
      settings.kind === "simple" && this.#lastSuccessAt !== null
        ? this.#lastSuccessAt + settings.periodSeconds * SECOND_MS + graceMs
        : deadlineAt;
    this.#send(at + (this.#job.chance.fraction() < 0.5 ? 0 : 1), "success", null);
  }

  /** Two overlapping runs with run IDs. */
  #twice(beginsAt: number, intervalMs: number): void {
    const { chance } = this.#job;
    const graceMs = this.#part.settings.graceSeconds * SECOND_MS;
    const [one, other] = [`a${this.#count}`, `b${this.#count}`];
    const apartMs = Math.min(intervalMs, graceMs) * chance.fraction();
    this.#send(beginsAt, "start", one);
    this.#send(beginsAt + apartMs, "start", other);
    const isCrossed = chance.fraction() < 0.5;
    const firstMs = apartMs + graceMs * 0.6 * chance.fraction() + 1;
    this.#send(beginsAt + firstMs, "success", isCrossed ? other : one);
    const isEnding = chance.fraction() < 0.8;
    if (isEnding)
      this.#send(beginsAt + firstMs + graceMs * 0.3 * chance.fraction(), "success", isCrossed ? one : other);
  }

  #send(at: number, what: SignalKind, rid: string | null): void {
    const { context, index } = this.#job;
    let trueAt = Math.floor(at);
    for (const pauseMs of [...RETRY_MS, null]) {
      this.actions.push({ trueAt, what, rid });
      const isAccepted =
        context.reception.receive(trueAt, routeHashOf({ checkIndex: index, trueAt })).kind === "accepted";
      if (isAccepted && what === "success") this.#lastSuccessAt = trueAt;
      if (isAccepted || !this.#style.isRetrying || pauseMs === null) return;
      trueAt += pauseMs;
    }
  }
}
