// Minutes in which many jobs of a project start, and how to move them apart.
import { type ChangesOf, clockOf, dateOf, type ForecastWindow, type Timing } from "./forecast.ts";
import { DAY_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import {
  CROWD_DAYS_MAX,
  CROWD_JOB_MS_DEFAULT,
  CROWD_JOB_MS_MIN,
  CROWD_JOBS_MIN,
  CROWD_RUNS_PER_DAY_MAX,
  CROWD_SPREAD_MINUTES_MAX,
  FORECAST_CHECKS_LISTED_MAX,
} from "./limits.ts";
import { setMembers } from "./schedule/calendar.ts";
import { type Line, nextAfter, type ParsedSchedule, parseSchedule } from "./schedule/schedule.ts";
import { type Stretch, stretchAt, zoneOf } from "./schedule/zone.ts";
import type { Steps } from "./steps.ts";

/** A job with its usual duration; null: never measured. */
export type CrowdJob = Timing & { id: number; durationMs: number | null };

/** A day on which more jobs than usual start in one minute. */
export type CrowdDay = {
  date: string;
  at: Instant;
  count: number;
  /** Jobs that start in that minute on other days, too. */
  usual: number;
  ids: readonly number[];
};

export type Move = { id: number; schedule: string; tz: string; minutes: number };

/** The minute of the day in which most jobs usually start. */
export type Crowd = {
  /** Minutes after midnight in the zone. */
  minute: number;
  count: number;
  /** The most jobs that usually run at once, by hour of the day; now, and after the moves. */
  hours: number[];
  spreadHours: number[];
  /** The most that would run at once in the hours of the moved jobs. */
  atOnce: number;
  /** Between the first and the last start. */
  spreadMinutes: number;
  /** When the last of them ends, in minutes after midnight; null if some were never measured. */
  endMinute: number | null;
  moves: Move[];
};

/** Jobs with the same schedule start together. */
export type JobGroup = { schedule: ParsedSchedule; jobs: readonly CrowdJob[] };

const MINUTES_PER_DAY = 1_440;
const USUAL_DAYS = 28;
const HOURS = 24;
const MINUTES_PER_HOUR = 60;

/** The jobs that count, by schedule: those that run now and then, and take a while. */
export function jobGroups(jobs: readonly CrowdJob[]): JobGroup[] {
  const counted = jobs.filter(({ durationMs }) => durationMs === null || durationMs >= CROWD_JOB_MS_MIN);
  const byTiming = Map.groupBy(counted, ({ schedule, tz }) => `${tz} ${schedule}`);
  return [...byTiming.values()].flatMap((group) => {
    const [first] = group;
    const schedule = first === undefined ? null : parseSchedule({ text: first.schedule, tz: first.tz });
    return schedule !== null && runsPerDay(schedule) <= CROWD_RUNS_PER_DAY_MAX
      ? [{ schedule, jobs: group }]
      : [];
  });
}

function runsPerDay({ lines }: ParsedSchedule): number {
  const perDay = lines.map(
    ({ calendar: { rule } }) =>
      setMembers(rule.hours).length * setMembers(rule.minutes).length * setMembers(rule.seconds).length,
  );
  return perDay.reduce((sum, count) => sum + count, 0);
}

/** Starts per minute of the window. */
export type Starts = { from: Instant; counts: Uint16Array };

export function noStarts({ from, until }: ForecastWindow): Starts {
  return { from, counts: new Uint16Array((until - from) / MINUTE_MS) };
}

export function addStarts(starts: Starts, { schedule, jobs }: JobGroup, changesOf: ChangesOf): void {
  const { from, counts } = starts;
  const until = from + counts.length * MINUTE_MS;
  const [line, more] = schedule.lines;
  const add = (at: Instant) => {
    const minute = Math.floor((at - from) / MINUTE_MS);
    counts[minute] = (counts[minute] ?? 0) + jobs.length;
  };
  if (line === undefined || more !== undefined || !isEveryDay(line)) {
    for (const at of firings(schedule, { from, until })) add(at);
    return;
  }
  // Away from clock changes, every day is the same: only its first day is searched.
  let calmFrom = from;
  for (const change of [...changesOf(line.zone), null]) {
    const calmUntil = change === null ? until : Math.max(calmFrom, change.at * SECOND_MS - DAY_MS);
    const firstDay = { from: calmFrom, until: Math.min(calmUntil, calmFrom + DAY_MS) };
    for (const first of firings(schedule, firstDay)) {
      for (let at = first; at < calmUntil; at += DAY_MS) add(at);
    }
    if (change === null) return;
    const changed = { from: calmUntil, until: Math.min(until, change.at * SECOND_MS + DAY_MS) };
    for (const at of firings(schedule, changed)) add(at);
    calmFrom = changed.until;
  }
}

function* firings(schedule: ParsedSchedule, { from, until }: ForecastWindow): Generator<Instant> {
  let at = nextAfter(schedule, from - SECOND_MS);
  while (at !== null && at < until) {
    yield at;
    at = nextAfter(schedule, at);
  }
}

const DATES = 31;
const MONTHS = 12;
const WEEKDAYS = 7;

function isEveryDay({ calendar: { rule } }: Line): boolean {
  const { dates, weekdays, join } = rule.days;
  return (
    rule.years === null &&
    join === "and" &&
    setMembers(dates).length === DATES &&
    setMembers(weekdays).length === WEEKDAYS &&
    setMembers(rule.months).length === MONTHS
  );
}

/** The reading of a minute of the window, in minutes. */
function localMinutes(tz: string): (at: Instant) => number {
  const zone = zoneOf(tz);
  let stretch: Stretch | null = null;
  return (at) => {
    const second = at / SECOND_MS;
    if (zone !== null && (stretch === null || second < stretch.from || second >= stretch.to)) {
      stretch = stretchAt(zone, second);
    }
    return at / MINUTE_MS + Math.floor((stretch?.offset ?? 0) / MINUTES_PER_HOUR);
  };
}

/** Starts by minute of the day on an ordinary day: the median of the next four weeks. */
function* usualStarts({ from, counts }: Starts, tz: string): Steps<number[]> {
  const localMinute = localMinutes(tz);
  const seen = Array.from({ length: MINUTES_PER_DAY }, (): number[] => []);
  for (let minute = 0; minute < USUAL_DAYS * MINUTES_PER_DAY; minute += 1) {
    const count = counts[minute] ?? 0;
    if (count > 0) seen[localMinute(from + minute * MINUTE_MS) % MINUTES_PER_DAY]?.push(count);
    if (minute % MINUTES_PER_DAY === 0) yield;
  }
  // Days without a start count as zero.
  return seen.map((some) => some.toSorted((a, b) => b - a)[USUAL_DAYS / 2] ?? 0);
}

/** Jobs of other zones come earlier or later for a part of the year, which makes no day special. */
const SHIFTS = [0, 30, -30, 60, -60, 120, -120];

/** Days on which clearly more jobs than usual start in one minute, by date; the most crowded are kept. */
export function* crowdDays(starts: Starts, groups: readonly JobGroup[], tz: string): Steps<CrowdDay[]> {
  const usual = yield* usualStarts(starts, tz);
  const localMinute = localMinutes(tz);
  const least = usual.map((_, minute) => {
    const around = SHIFTS.map((shift) => usual[(minute + shift + MINUTES_PER_DAY) % MINUTES_PER_DAY] ?? 0);
    return Math.max(...around);
  });
  const days = new Map<number, { at: Instant; count: number; usual: number }>();
  for (let minute = 0; minute < starts.counts.length; minute += 1) {
    if (minute % MINUTES_PER_DAY === 0) yield;
    const count = starts.counts[minute] ?? 0;
    if (count < CROWD_JOBS_MIN) continue;
    const at = starts.from + minute * MINUTE_MS;
    const local = localMinute(at);
    const around = least[local % MINUTES_PER_DAY] ?? 0;
    if (count < around + Math.max(CROWD_JOBS_MIN - 2, around / 2)) continue;
    const day = Math.floor(local / MINUTES_PER_DAY);
    if (count > (days.get(day)?.count ?? 0)) days.set(day, { at, count, usual: around });
  }
  const most = [...days.entries()]
    .toSorted(([, one], [, other]) => other.count - one.count || one.at - other.at)
    .slice(0, CROWD_DAYS_MAX);
  const found: CrowdDay[] = [];
  for (const [number, day] of most) {
    const ids: number[] = [];
    for (const { schedule, jobs } of groups) {
      if (startsIn(schedule, day.at)) ids.push(...jobs.map(({ id }) => id));
      yield;
    }
    found.push({ date: dateOf((number * DAY_MS) / SECOND_MS), ...day, ids });
  }
  return found.toSorted((one, other) => one.at - other.at);
}

function startsIn(schedule: ParsedSchedule, minuteAt: Instant): boolean {
  const at = nextAfter(schedule, minuteAt - SECOND_MS);
  return at !== null && at < minuteAt + MINUTE_MS;
}

/** The most crowded minute of an ordinary day, with a better plan; null if no minute is crowded. */
export function* crowdOf(starts: Starts, groups: readonly JobGroup[], tz: string): Steps<Crowd | null> {
  const usual = yield* usualStarts(starts, tz);
  const count = Math.max(...usual);
  if (count < CROWD_JOBS_MIN) return null;
  const minute = usual.indexOf(count);
  const daily = yield* usualJobs(starts, groups, tz);
  const load = yield* loadOf(daily);
  const { moves, spread } = yield* spreadOut(daily, { minute, load });
  const hours = byHour(load);
  const after = yield* loadOf(spread);
  const moved = spread.filter((one) => one.wasAt === minute);
  const last = Math.max(minute, ...moves.map((move) => minute + move.minutes));
  const isMeasured = moved.every(({ job }) => job.durationMs !== null);
  const end = Math.max(...moved.map((one) => one.minute + one.length));
  const atOnce = Math.max(
    ...Array.from({ length: last - minute + 1 }, (_, index) => loadAt(after, minute + index)),
  );
  return {
    minute,
    count,
    hours,
    spreadHours: byHour(after),
    atOnce,
    spreadMinutes: last - minute,
    endMinute: isMeasured ? end % MINUTES_PER_DAY : null,
    moves: moves.slice(0, FORECAST_CHECKS_LISTED_MAX),
  };
}

type DailyJob = { job: CrowdJob; minute: number; wasAt: number; length: number };

/** Each start of an ordinary day: the first day of the window on which as many start as usual stands for it. */
function* usualJobs({ from }: Starts, groups: readonly JobGroup[], tz: string): Steps<DailyJob[]> {
  const localMinute = localMinutes(tz);
  const found: DailyJob[] = [];
  for (const { schedule, jobs } of groups) {
    yield;
    if (!isMostDays(schedule, from)) continue;
    let at = nextAfter(schedule, from - SECOND_MS);
    const end = at === null ? from : at + DAY_MS;
    while (at !== null && at < end) {
      const minute = localMinute(Math.floor(at / MINUTE_MS) * MINUTE_MS) % MINUTES_PER_DAY;
      for (const job of jobs) {
        const length = Math.max(1, Math.round((job.durationMs ?? CROWD_JOB_MS_DEFAULT) / MINUTE_MS));
        found.push({ job, minute, wasAt: minute, length: Math.min(length, MINUTES_PER_DAY) });
      }
      at = nextAfter(schedule, at);
    }
  }
  return found;
}

/** Whether it runs on at least half of the next two weeks' days. */
function isMostDays(schedule: ParsedSchedule, from: Instant): boolean {
  const days = 14;
  let count = 0;
  let at = nextAfter(schedule, from - SECOND_MS);
  while (at !== null && at < from + days * DAY_MS && count < days / 2) {
    count += 1;
    at = nextAfter(schedule, (Math.floor(at / DAY_MS) + 1) * DAY_MS - SECOND_MS);
  }
  return count >= days / 2;
}

/** Jobs that run at once, by minute of the day. */
function* loadOf(jobs: readonly Pick<DailyJob, "minute" | "length">[]): Steps<number[]> {
  const load = Array.from({ length: MINUTES_PER_DAY }, () => 0);
  for (const job of jobs) {
    addTo(load, job, 1);
    yield;
  }
  return load;
}

function addTo(load: number[], { minute, length }: Pick<DailyJob, "minute" | "length">, by: 1 | -1): void {
  for (let index = 0; index < length; index += 1) {
    const place = (minute + index) % MINUTES_PER_DAY;
    load[place] = (load[place] ?? 0) + by;
  }
}

function loadAt(load: readonly number[], minute: number): number {
  return load[minute % MINUTES_PER_DAY] ?? 0;
}

function byHour(load: readonly number[]): number[] {
  return Array.from({ length: HOURS }, (_, hour) =>
    Math.max(...load.slice(hour * MINUTES_PER_HOUR, (hour + 1) * MINUTES_PER_HOUR)),
  );
}

const STEP_MINUTES = 10;

/** Long jobs keep their time first; the others take the earliest time at which few run. */
function* spreadOut(
  daily: readonly DailyJob[],
  { minute, load: before }: { minute: number; load: readonly number[] },
): Steps<{ moves: Move[]; spread: DailyJob[] }> {
  const load = [...before];
  const movable = daily
    .filter((one) => one.minute === minute && clockOf(one.job, true) !== null)
    .toSorted((one, other) => other.length - one.length || one.job.id - other.job.id);
  for (const one of movable) addTo(load, one, -1);
  const target = Math.max(2, Math.ceil(movable.length / 3), loadAt(load, minute) + 1);
  const placed = new Map<DailyJob, DailyJob>();
  const moves: Move[] = [];
  for (const one of movable) {
    yield;
    const chosen = { ...one, minute: minute + bestShift(load, one, target) };
    addTo(load, chosen, 1);
    placed.set(one, chosen);
    const move = moveOf(one, chosen.minute - minute);
    if (move !== null) moves.push(move);
  }
  return { moves, spread: daily.map((one) => placed.get(one) ?? one) };
}

/** The first shift at which fewer than `target` others run, or the one with the fewest. */
function bestShift(load: readonly number[], { job, minute, length }: DailyJob, target: number): number {
  const clock = clockOf(job, true);
  const shifts: { shift: number; most: number }[] = [];
  for (let shift = 0; shift <= CROWD_SPREAD_MINUTES_MAX; shift += STEP_MINUTES) {
    // The day of the job must stay the same.
    if ((clock?.minutes ?? 0) + shift >= MINUTES_PER_DAY) break;
    let most = 0;
    for (let index = 0; index < Math.min(length, CROWD_SPREAD_MINUTES_MAX); index += 1) {
      most = Math.max(most, loadAt(load, minute + shift + index));
    }
    if (most < target) return shift;
    shifts.push({ shift, most });
  }
  return shifts.toSorted((one, other) => one.most - other.most || one.shift - other.shift)[0]?.shift ?? 0;
}

function moveOf({ job }: DailyJob, shift: number): Move | null {
  const clock = clockOf(job, true);
  if (clock === null || shift === 0) return null;
  return { id: job.id, schedule: clock.withMinutes(clock.minutes + shift), tz: job.tz, minutes: shift };
}
