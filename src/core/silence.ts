// Silences: times in which no notifications about problems are sent, once or recurring. They change only when a
// notification is sent, never what is observed.
import { isLongerThan } from "./check.ts";
import { splitTags } from "./identity.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import {
  DEFAULT_RECURRING_HOLD_SECONDS,
  DEFAULT_TZ,
  SILENCE_FIRINGS_MAX,
  SILENCE_HOLD_SECONDS_MAX,
  SILENCE_REASON_LENGTH_MAX,
  SILENCE_SECONDS_MAX,
  SILENCE_SECONDS_MIN,
  SILENCE_WINDOW_SECONDS_MAX,
  SILENCED_RUNS_COUNTED_MAX,
} from "./limits.ts";
import { isValidSchedule, nextAfter, type ParsedSchedule, parseSchedule } from "./schedule/schedule.ts";
import { expectedAt, graceMs, type Timing, type WatchedCheck } from "./state.ts";

export type SilenceScope =
  | { kind: "checks"; checkIds: readonly number[] }
  | { kind: "tag"; tag: string }
  | { kind: "all" };

/** What a user chooses. Once: `until` is set. Recurring: `schedule`, `tz` and `durationSeconds` are. */
export type SilencePlan = {
  scope: SilenceScope;
  from: Instant;
  until: Instant | null;
  /** It is over for each check with the next success, and at `until`. */
  untilSuccess: boolean;
  schedule: string | null;
  tz: string | null;
  durationSeconds: number | null;
  /** How long after a window a notification waits for the next run of its check. */
  holdAfterSeconds: number;
  reason: string;
};

export type Silence = SilencePlan & {
  id: number;
  uuid: string;
  /** Null: created with an API key. */
  accountId: number | null;
  /** When a user ended it. */
  endedAt: Instant | null;
  version: number;
};

/** `to` is the first instant that is no longer silent. */
export type SilenceWindow = { from: Instant; to: Instant };

type Times = Pick<Silence, "from" | "until" | "schedule" | "tz" | "durationSeconds"> &
  Partial<Pick<Silence, "endedAt">>;

/** The window of a silence that contains an instant. */
export function windowAt(silence: Times, at: Instant): SilenceWindow | null {
  const window = nextWindow(silence, at);
  return window !== null && window.from <= at ? window : null;
}

/** The first window that ends after an instant; overlapping and adjacent windows are one. */
export function nextWindow(silence: Times, at: Instant): SilenceWindow | null {
  const { from, until, endedAt = null } = silence;
  const whole = until === null ? nextRecurring(silence, Math.max(at, from)) : { from, to: until };
  if (whole === null) return null;
  const window = { from: Math.max(whole.from, from), to: Math.min(whole.to, endedAt ?? Infinity) };
  return window.to > Math.max(at, window.from) ? window : null;
}

/** The current window, if there is one, and the next. */
export function nextWindows(silence: Times, { at, count }: { at: Instant; count: number }): SilenceWindow[] {
  const windows: SilenceWindow[] = [];
  for (let window = nextWindow(silence, at); window !== null && windows.length < count; ) {
    windows.push(window);
    window = nextWindow(silence, window.to);
  }
  return windows;
}

function nextRecurring({ schedule: text, tz, durationSeconds }: Times, at: Instant): SilenceWindow | null {
  const schedule = text === null || tz === null ? null : parseSchedule({ text, tz });
  if (schedule === null || durationSeconds === null) return null;
  const lengthMs = durationSeconds * SECOND_MS;
  const first = nextAfter(schedule, at - lengthMs);
  if (first === null) return null;
  return { from: firstOf(schedule, first, lengthMs), to: lastOf(schedule, first, lengthMs) + lengthMs };
}

/** The first of the firings before this one whose windows touch. */
function firstOf(schedule: ParsedSchedule, firing: Instant, lengthMs: number): Instant {
  let first = firing;
  for (let count = 0; count < SILENCE_FIRINGS_MAX; count += 1) {
    const earlier = nextAfter(schedule, first - lengthMs - 1);
    if (earlier === null || earlier >= first) break;
    first = earlier;
  }
  return first;
}

/** The last of the firings after this one whose windows touch. */
function lastOf(schedule: ParsedSchedule, firing: Instant, lengthMs: number): Instant {
  let last = firing;
  for (let count = 0; count < SILENCE_FIRINGS_MAX; count += 1) {
    const later = nextAfter(schedule, last);
    if (later === null || later > last + lengthMs) break;
    last = later;
  }
  return last;
}

export type SilenceState = "upcoming" | "active" | "ended";

export function silenceState(silence: Times, now: Instant): SilenceState {
  const window = nextWindow(silence, now);
  if (window === null) return "ended";
  return window.from <= now ? "active" : "upcoming";
}

/** A check as far as silences are concerned. `tags` as stored, separated by spaces. */
export type SilenceableCheck = { id: number; tags: string; timing: Timing };

export function covers(
  { scope }: Pick<Silence, "scope">,
  check: Pick<SilenceableCheck, "id" | "tags">,
): boolean {
  switch (scope.kind) {
    case "checks":
      return scope.checkIds.includes(check.id);
    case "tag":
      return splitTags(check.tags).includes(scope.tag);
    case "all":
      return true;
  }
}

export type SilenceQuestion = {
  check: SilenceableCheck;
  /** `openedAt` null: there is no problem. `lastSuccessAt` is the last success before the problem. */
  alert: { openedAt: Instant | null; lastSuccessAt: Instant | null };
  now: Instant;
};

/** When notifications are no longer held, and the silence that ends last. */
export type Held<S extends Silence = Silence> = { silence: S; until: Instant };

/** Silences that follow one another, looked through for the end. After that, the alert is looked at again. */
const CHAIN_MAX = 20;

/**
 * Until when notifications about an alert are held, and the silence that ends last. Null: they are not held. Silences
 * that follow one another without a pause give one end.
 */
export function silencedUntil<S extends Silence>(
  silences: readonly S[],
  { check, alert, now }: SilenceQuestion,
): Held<S> | null {
  const relevant = silences.filter((one) => covers(one, check) && !isOver(one, alert));
  let held: Held<S> | null = null;
  for (let count = 0; count < CHAIN_MAX; count += 1) {
    const at: Instant = held?.until ?? now;
    let longest: Held<S> | null = null;
    for (const silence of relevant) {
      const until = heldUntil(silence, { check, alert, now: at });
      if (until !== null && until > (longest?.until ?? at)) longest = { silence, until };
    }
    if (longest === null) break;
    held = longest;
  }
  return held;
}

/** Whether a silence until the next success is over for a check. */
export function isOver(silence: Silence, { lastSuccessAt }: SilenceQuestion["alert"]): boolean {
  return silence.untilSuccess && lastSuccessAt !== null && lastSuccessAt >= silence.from;
}

/** The end of the current window, or of the wait for the next run after the last one. */
function heldUntil(silence: Silence, { check, alert, now }: SilenceQuestion): Instant | null {
  const holdMs = silence.holdAfterSeconds * SECOND_MS;
  const { openedAt } = alert;
  let ended: SilenceWindow | null = null;
  let window = nextWindow(silence, now - holdMs);
  while (window !== null && window.to <= now) {
    ended = window;
    window = nextWindow(silence, window.to);
  }
  if (window !== null && window.from <= now) return window.to;
  // What began after the window is not delayed.
  if (ended === null || openedAt === null || openedAt >= ended.to) return null;
  const deadline = deadlineAfter(check.timing, { at: ended.to, openedAt });
  return Math.min(ended.to + holdMs, deadline ?? Infinity);
}

/** The first deadline of a check after an instant, of a run that follows the problem. */
function deadlineAfter(timing: Timing, { at, openedAt }: { at: Instant; openedAt: Instant }): Instant | null {
  const grace = graceMs(timing);
  if (timing.kind === "simple") {
    const everyMs = timing.timeoutSeconds * SECOND_MS;
    const first = openedAt + everyMs + grace;
    return first > at ? first : first + (Math.floor((at - first) / everyMs) + 1) * everyMs;
  }
  const schedule = parseSchedule({ text: timing.schedule, tz: timing.tz });
  const expected = schedule && nextAfter(schedule, Math.max(at - grace, openedAt));
  return expected === null ? null : expected + grace;
}

/** How many runs of a check are expected in a window, up to a limit, and the first of them. */
export function runsIn(
  { timing, state }: WatchedCheck,
  window: SilenceWindow,
): { count: number; firstAt: Instant | null } {
  if (state.status === "new" || state.status === "paused") return { count: 0, firstAt: null };
  const firstAt = firstRunIn({ timing, state }, window);
  if (firstAt === null || firstAt >= window.to) return { count: 0, firstAt: null };
  const schedule = timing.kind === "simple" ? null : parseSchedule({ text: timing.schedule, tz: timing.tz });
  let count = 0;
  for (
    let at: Instant | null = firstAt;
    at !== null && at < window.to && count < SILENCED_RUNS_COUNTED_MAX;
  ) {
    count += 1;
    at = schedule === null ? at + timing.timeoutSeconds * SECOND_MS : nextAfter(schedule, at);
  }
  return { count, firstAt };
}

function firstRunIn(check: WatchedCheck, { from }: SilenceWindow): Instant | null {
  const { timing } = check;
  if (timing.kind !== "simple") {
    const schedule = parseSchedule({ text: timing.schedule, tz: timing.tz });
    return schedule && nextAfter(schedule, from - 1);
  }
  const expected = expectedAt(check);
  if (expected === null) return null;
  const everyMs = timing.timeoutSeconds * SECOND_MS;
  return expected >= from ? expected : expected + Math.ceil((from - expected) / everyMs) * everyMs;
}

/** Fields that are not given keep their values, or get their defaults. */
export type SilenceRequest = {
  scope?: SilenceScope;
  from?: Instant;
  until?: Instant;
  durationSeconds?: number;
  untilSuccess?: boolean;
  /** Null: it does not recur. */
  schedule?: string | null;
  tz?: string;
  holdAfterSeconds?: number;
  reason?: string;
};

/** The field of the request, and a sentence. */
export type SilenceProblem = { field: string; text: string };

/** Clocks of clients may be slow by this much: an earlier beginning counts as now. */
const CLOCK_MS_MAX = MINUTE_MS;

/** The silence that a request asks for; `before` is the one to change, or null. */
export function planSilence(
  request: SilenceRequest,
  { now, before }: { now: Instant; before: SilencePlan | null },
): { ok: true; value: SilencePlan } | ({ ok: false } & SilenceProblem) {
  const merged = merge(request, { now, before });
  const problem =
    problemOfFrom(request, { now, before }) ??
    (merged.schedule === null
      ? problemOfOnce(request, merged, now)
      : problemOfRecurring(request, merged, now)) ??
    problemOfRest(merged);
  return problem === null ? { ok: true, value: merged } : { ok: false, ...problem };
}

function merge(
  request: SilenceRequest,
  { now, before }: { now: Instant; before: SilencePlan | null },
): SilencePlan {
  const schedule = request.schedule === undefined ? (before?.schedule ?? null) : request.schedule;
  const from = request.from === undefined ? (before?.from ?? now) : beginning(request.from, { now, before });
  const isRecurring = schedule !== null;
  const isSameKind = before !== null && (before.schedule !== null) === isRecurring;
  const kept = isSameKind ? before : null;
  const untilSuccess = request.untilSuccess ?? kept?.untilSuccess ?? false;
  return {
    scope: request.scope ?? before?.scope ?? { kind: "all" },
    from,
    until: isRecurring ? null : endOf(request, { from, now, untilSuccess, kept: kept?.until ?? null }),
    untilSuccess,
    schedule,
    tz: isRecurring ? (request.tz ?? kept?.tz ?? DEFAULT_TZ) : null,
    durationSeconds: isRecurring ? (request.durationSeconds ?? kept?.durationSeconds ?? null) : null,
    holdAfterSeconds:
      request.holdAfterSeconds ??
      kept?.holdAfterSeconds ??
      (isRecurring ? DEFAULT_RECURRING_HOLD_SECONDS : 0),
    reason: request.reason?.trim() ?? before?.reason ?? "",
  };
}

function beginning(from: Instant, { now, before }: { now: Instant; before: SilencePlan | null }): Instant {
  return from === before?.from || from < now - CLOCK_MS_MAX ? from : Math.max(from, now);
}

/** The end of a silence that does not recur; null if it is missing. */
function endOf(
  { until, durationSeconds }: SilenceRequest,
  at: { from: Instant; now: Instant; untilSuccess: boolean; kept: Instant | null },
): Instant | null {
  if (until !== undefined) return until;
  if (durationSeconds !== undefined) return at.from + durationSeconds * SECOND_MS;
  return at.kept ?? (at.untilSuccess ? latestAt(at.now) : null);
}

function latestAt(now: Instant): Instant {
  return now + SILENCE_SECONDS_MAX * SECOND_MS;
}

function problemOfFrom(
  { from }: SilenceRequest,
  { now, before }: { now: Instant; before: SilencePlan | null },
): SilenceProblem | null {
  if (from === undefined || from === before?.from) return null;
  if (from < now - CLOCK_MS_MAX) return { field: "from", text: "A silence can't begin in the past." };
  if (from > latestAt(now)) return { field: "from", text: "A silence can begin at most 90 days from now." };
  return null;
}

function problemOfOnce(
  request: SilenceRequest,
  { from, until }: SilencePlan,
  now: Instant,
): SilenceProblem | null {
  if (request.tz !== undefined) return { field: "tz", text: "A time zone is only used with a schedule." };
  if (request.until !== undefined && request.durationSeconds !== undefined) {
    return { field: "duration", text: "Give either an end or a duration, not both." };
  }
  const field = request.durationSeconds === undefined ? "until" : "duration";
  if (until === null) return { field, text: "Give an end, a duration, or a schedule." };
  if (until <= Math.max(from, now))
    return { field, text: "The end must be after the beginning, and in the future." };
  const isGiven = request.until !== undefined || request.durationSeconds !== undefined;
  if (isGiven && until > latestAt(now)) return { field, text: "A silence can end at most 90 days from now." };
  return null;
}

function problemOfRecurring(request: SilenceRequest, plan: SilencePlan, now: Instant): SilenceProblem | null {
  const { schedule: text, tz, durationSeconds } = plan;
  if (request.until !== undefined)
    return { field: "until", text: "A recurring silence has a duration, not an end." };
  if (request.untilSuccess === true) {
    return { field: "untilSuccess", text: "A recurring silence can't end with the next success." };
  }
  if (durationSeconds === null) return { field: "duration", text: "A recurring silence needs a duration." };
  if (durationSeconds < SILENCE_SECONDS_MIN || durationSeconds > SILENCE_WINDOW_SECONDS_MAX) {
    return { field: "duration", text: "A window of a recurring silence lasts 1 minute to 7 days." };
  }
  const isValid = text !== null && tz !== null && isValidSchedule(text, { oncalendar: true });
  const schedule = isValid ? parseSchedule({ text, tz }) : null;
  if (schedule === null) return { field: "schedule", text: "Invalid schedule or time zone." };
  if (nextWindow(plan, now) === null) return { field: "schedule", text: "The schedule has no more windows." };
  return hasPause(schedule, { after: now, lengthMs: durationSeconds * SECOND_MS })
    ? null
    : { field: "duration", text: "There is no pause between the windows. Choose a shorter duration." };
}

/** Whether windows end before the next one begins: otherwise the silence would have no end. */
function hasPause(
  schedule: ParsedSchedule,
  { after, lengthMs }: { after: Instant; lengthMs: number },
): boolean {
  let at = nextAfter(schedule, after);
  for (let count = 0; count < SILENCE_FIRINGS_MAX; count += 1) {
    const next: Instant | null = at === null ? null : nextAfter(schedule, at);
    if (at === null || next === null || next > at + lengthMs) return true;
    at = next;
  }
  return false;
}

function problemOfRest({ holdAfterSeconds, reason }: SilencePlan): SilenceProblem | null {
  if (holdAfterSeconds < 0 || holdAfterSeconds > SILENCE_HOLD_SECONDS_MAX) {
    return { field: "holdAfter", text: "Notifications can wait at most 1 day after a silence." };
  }
  if (isLongerThan(reason, SILENCE_REASON_LENGTH_MAX)) {
    return { field: "reason", text: `The reason can have at most ${SILENCE_REASON_LENGTH_MAX} characters.` };
  }
  return null;
}
