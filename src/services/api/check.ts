// The page of one check: uptime, schedule, explanation of alerts, and replayed settings.
import { setImmediate as nextTurn } from "node:timers/promises";
import { pingUrl } from "../../contract/urls.ts";
import type { CheckChannel, CheckPage, checkPageRoutes, Expectation } from "../../contract/api/check-page.ts";
import type {
  Availability,
  DayMark,
  EventsFileQuery,
  EventType,
  Explanation,
  ExplanationStep,
  historyRoutes,
  MonthDowntime,
  Replay,
  SchedulePreview,
  ScheduleRemark,
  ReplayRequest,
  ScheduleRequest,
  Zones,
} from "../../contract/api/history.ts";
import { channelName } from "../../contract/api/words.ts";
import { mayDo, type Role } from "../../core/access.ts";
import {
  type CheckHistory,
  downtimesOf,
  isUnmonitoredDay,
  lifeIn,
  type Period,
  unseenMs,
  upShare,
} from "../../core/downtime.ts";
import { sentenceText } from "../../core/duration-text.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { DAY_MS, type Instant, type Interval, SECOND_MS } from "../../core/instant.ts";
import { DEFAULT_SCHEDULE, STATUS_CHANGES_READ_MAX } from "../../core/limits.ts";
import { periodsBefore } from "../../core/local-time.ts";
import { compareSettings, graceToPropose } from "../../core/replay.ts";
import { dayOf, type DayTotals } from "../../core/run.ts";
import { expandMacro } from "../../core/schedule/cron.ts";
import { problemSentence } from "../../core/schedule/problem.ts";
import { detectKind, findScheduleProblem, nextAfter, parseSchedule } from "../../core/schedule/schedule.ts";
import { describeSchedule, noteSentence, scheduleNotes } from "../../core/schedule/wording.ts";
import {
  CURRENT_ZONE_NAMES,
  OFFERED_ZONE_NAMES,
  stretchAt,
  type Zone,
  ZONE_NAMES,
  zoneOf,
} from "../../core/schedule/zone.ts";
import { expectedAt, storedDeadline, type Timing } from "../../core/state.ts";
import { ConcurrencyByKey } from "../../lib/concurrency-by-key.ts";
import { listChannels } from "../../store/channels.ts";
import { type CheckWithState, findChecksBySlug } from "../../store/checks.ts";
import { listStatusChanges } from "../../store/emails.ts";
import { listEvents } from "../../store/events.ts";
import { listFlips, type StoredFlip } from "../../store/flips.ts";
import { listBlindIntervals } from "../../store/intakes.ts";
import { findLeanChecks } from "../../store/check-lists.ts";
import type { Project } from "../../store/projects.ts";
import { countRejectedSignals } from "../../store/quarantine.ts";
import { listDays } from "../../store/runs.ts";
import { readExpression } from "./check-changes.ts";
import { rowsOf } from "./check-rows.ts";
import { readSetup } from "./check-setup.ts";
import { rangeOf, readEvents, readProjectEvents, sendEventsFile } from "./events.ts";
import { cursorNumber, entityTag, notFound, numberParam } from "./params.ts";
import { rulesToTry } from "./policies.ts";
import type { ApiContext, ApiHandlers, CheckRecord } from "./route.ts";
import {
  FLIPS_READ_MAX,
  type HistoryContext,
  type KeptPing,
  presentFlip,
  readDeliveries,
  readDurations,
  readLog,
  readPastRuns,
  readRawBody,
  readRun,
  readRuns,
  SHOWN_DAYS,
  shownFrom,
  usualOfLog,
} from "./runs.ts";

const MONTHS_SHOWN = 3;
/** Maximum number of expected signals during monitoring gaps that are listed. */
const MISSED_READ_MAX = 1_000;

type Facts = {
  history: CheckHistory;
  blind: readonly Interval[];
  totals: ReadonlyMap<string, DayTotals>;
  /** Days on which a signal was due during a monitoring gap. */
  missedDays: ReadonlySet<string>;
  now: Instant;
};

/** The last 90 days and three months of a check. */
export async function readAvailability(
  { database }: Pick<HistoryContext, "database">,
  { check, now }: { check: CheckWithState; now: Instant },
): Promise<Availability> {
  const days = shownDays(now);
  const months = shownMonths(now);
  const from = Math.min(...[...days, ...months].map((period) => period.from));
  const [changes, blind, totals, missed] = await Promise.all([
    listStatusChanges(database, { checkIds: [check.id], from, limitEach: STATUS_CHANGES_READ_MAX }),
    listBlindIntervals(database, { from, to: now }),
    listDays(database, { checkId: check.id, fromDay: dayOf(from) }),
    listEvents(database, { checkId: check.id, from, kind: "not_observed", limit: MISSED_READ_MAX }),
  ]);
  const all = [...totals, ...(check.today === null ? [] : [check.today])];
  const facts: Facts = {
    history: {
      createdAt: check.createdAt,
      status: check.state.status,
      ...(changes.get(check.id) ?? { changes: [], isCut: false }),
    },
    blind,
    totals: new Map(all.map((day) => [day.day, day])),
    missedDays: new Set(missed.map(({ at }) => dayOf(at))),
    now,
  };
  const marks = markDays(facts, days);
  return { days: marks, last90Days: overAll(facts, { days, marks }), months: markMonths(facts, months) };
}

/** The current day and the days before it, oldest first, in UTC like the roll-ups. */
function shownDays(now: Instant): Period[] {
  const today = now - (now % DAY_MS);
  return Array.from({ length: SHOWN_DAYS }, (_, index) => {
    const from = today - (SHOWN_DAYS - 1 - index) * DAY_MS;
    return { from, to: from + DAY_MS };
  });
}

/** The current month and the months before it, newest first. */
function shownMonths(now: Instant): Period[] {
  const before = periodsBefore(now, { length: "monthly", zone: "UTC", count: MONTHS_SHOWN - 1 });
  const past = before.toSorted((one, other) => other.from - one.from);
  return [{ from: past[0]?.to ?? now, to: now + 1 }, ...past];
}

function markDays({ history, blind, totals, missedDays, now }: Facts, days: readonly Period[]): DayMark[] {
  const downtimes = downtimesOf(history, { periods: days, now });
  return days.map((period, index) => {
    const day = dayOf(period.from);
    const counted = totals.get(day);
    const blindMs = unseenMs(blind, lifeIn(period, { createdAt: history.createdAt, now }));
    return {
      day,
      successCount: counted?.successCount ?? 0,
      failCount: counted?.failCount ?? 0,
      downMs: downtimes[index] === "uncounted" ? null : (downtimes[index]?.durationMs ?? 0),
      unmonitoredMs: blindMs,
      isUnmonitored: isUnmonitoredDay({ unseenMs: blindMs, isSignalMissed: missedDays.has(day) }),
      isBeforeCreation: history.createdAt >= period.to,
    };
  });
}

function overAll(
  { history, blind, now }: Facts,
  { days, marks }: { days: readonly Period[]; marks: readonly DayMark[] },
): Availability["last90Days"] {
  const whole = { from: Math.max(days[0]?.from ?? now, history.createdAt), to: now };
  const [down = null] = downtimesOf(history, { periods: [whole], now });
  const unmonitoredDays = marks.filter((day) => day.isUnmonitored && !day.isBeforeCreation).length;
  if (down === "uncounted") return { upShare: null, downCount: null, downMs: null, unmonitoredDays };
  return {
    upShare: upShare(whole, { downMs: down?.durationMs ?? 0, unseenMs: unseenMs(blind, whole) }),
    downCount: down?.count ?? 0,
    downMs: down?.durationMs ?? 0,
    unmonitoredDays,
  };
}

function markMonths({ history, blind, now }: Facts, months: readonly Period[]): MonthDowntime[] {
  const downtimes = downtimesOf(history, { periods: months, now });
  return months.map((period, index) => {
    const month = dayOf(period.from).slice(0, 7);
    const down = downtimes[index] ?? null;
    if (down === null || down === "uncounted") {
      return { month, count: null, downMs: null, upShare: null, isUncounted: down !== null };
    }
    const life = lifeIn(period, { createdAt: history.createdAt, now });
    const share = upShare(life, { downMs: down.durationMs, unseenMs: unseenMs(blind, life) });
    return { month, count: down.count, downMs: down.durationMs, upShare: share, isUncounted: false };
  });
}

const TIMES_SHOWN = 10;

type When = Pick<ScheduleRequest, "kind" | "timeoutSeconds" | "schedule" | "tz">;

/** When signals of a check are expected from now on. */
export function expectationOf({ settings, state }: CheckWithState, now: Instant): Expectation {
  const first = settings.kind === "simple" ? expectedAt({ timing: settings, state }) : null;
  return { sentence: whenSentence(settings), nextAt: nextTimes(settings, { now, first }) };
}

/** The same for settings in a form. An interval is counted as if a ping arrived now. */
export function previewOf(typed: ScheduleRequest, now: Instant): SchedulePreview {
  const expanded = typed.kind === "simple" ? null : expandMacro(typed.schedule);
  const request = { ...typed, schedule: expanded ?? typed.schedule };
  const shared = { scheduleKind: writtenKind(request), expanded };
  if (request.kind !== "simple") {
    // A form with one field for both syntaxes sends cron.
    const problem = findScheduleProblem(request.schedule, request.kind === "cron" ? null : request.kind);
    if (problem !== null) return { error: problemSentence(problem), ...shared };
  }
  const first = now + request.timeoutSeconds * SECOND_MS;
  const nextAt = nextTimes(request, { now, first });
  const { tz } = request;
  return { sentence: whenSentence(request), nextAt, tz, remarks: remarksOf(request), ...shared };
}

function remarksOf({ kind, schedule }: When): ScheduleRemark[] {
  if (kind === "simple") return [];
  return scheduleNotes(schedule).map((note) => ({
    kind: note.kind === "single" ? "warning" : "note",
    text: noteSentence(note),
  }));
}

/** The expression of a Simple check is a default, unless it was a Cron check before. */
function writtenKind({ kind, schedule }: When): SchedulePreview["scheduleKind"] {
  const isUnwritten = schedule.trim() === "" || (kind === "simple" && schedule === DEFAULT_SCHEDULE);
  return isUnwritten ? null : detectKind(schedule);
}

/** When a signal is expected, as a sentence. */
function whenSentence({ kind, timeoutSeconds, schedule: text, tz }: When): string {
  if (kind === "simple") return `Every ${withoutOne(sentenceText(timeoutSeconds))}.`;
  const schedule = parseSchedule({ text, tz });
  return schedule === null ? text : describeSchedule(schedule);
}

/** "Every day", not "every 1 day". */
function withoutOne(duration: string): string {
  return duration.replace(/^1 (?=\D+$)/, "");
}

function nextTimes(
  { kind, timeoutSeconds, schedule: text, tz }: When,
  { now, first }: { now: Instant; first: Instant | null },
): Instant[] {
  if (kind === "simple") {
    if (first === null) return [];
    return Array.from({ length: TIMES_SHOWN }, (_, index) => first + index * timeoutSeconds * SECOND_MS);
  }
  const schedule = parseSchedule({ text, tz });
  const times: Instant[] = [];
  for (let at = schedule && nextAfter(schedule, now); at !== null && times.length < TIMES_SHOWN; ) {
    times.push(at);
    at = schedule && nextAfter(schedule, at);
  }
  return times;
}

// Why an alert was raised, step by step.

/** A clock change is mentioned for this long. */
const CLOCK_CHANGE_SHOWN_MS = 31 * DAY_MS;

/**
 * The explanation of one flip; without one, of the newest to down, or else of the newest. Throws "not found" when
 * there is none.
 */
export async function readExplanation(
  context: HistoryContext,
  { check, flipId }: { check: CheckWithState; flipId: number | null },
): Promise<Explanation> {
  const flips = await listFlips(context.database, { checkId: check.id, limit: FLIPS_READ_MAX });
  const flip =
    flipId === null
      ? (flips.find(({ to }) => to === "down") ?? flips[0])
      : flips.find(({ id }) => id === flipId);
  if (flip === undefined) throw new AppError("not_found", ERROR_TEXT.notFound);
  const [log, deliveries, edits] = await Promise.all([
    readLog(context, check),
    readDeliveries(context.database, { flipId: flip.id, projectId: check.projectId }),
    listEvents(context.database, { checkId: check.id, from: flip.at + 1, kind: "edited", limit: 1 }),
  ]);
  const before = log.filter(({ at }) => at <= flip.at);
  const steps: ExplanationStep[] = [
    ...(flip.to === "down" ? stepsDown(check, { flip, before }) : stepsUp(flip, before)),
    ...(flip.retractedAt === null ? [] : [{ kind: "retracted" as const, at: flip.retractedAt }]),
    ...deliveries.map((delivery) => ({
      kind: "notified" as const,
      at: delivery.settledAt ?? delivery.attemptedAt ?? delivery.createdAt,
      ...delivery,
    })),
  ];
  return {
    flip: presentFlip(flip),
    zone: check.settings.kind === "simple" ? "UTC" : check.settings.tz,
    steps: steps.toSorted((one, other) => one.at - other.at),
    isEditedSince: edits.length > 0,
  };
}

type Past = { flip: StoredFlip; before: readonly KeptPing[] };

/**
 * The expected time of the signal whose absence caused a flip; null: a failure was reported, or a run took too long.
 */
function missedAt({ settings }: Pick<CheckWithState, "settings">, { flip, before }: Past): Instant | null {
  if (flip.reason !== "timeout") return null;
  const start = before.find(({ kind }) => kind === "start");
  const { from, cause } = storedDeadline(settings, { downAt: flip.at, lastStartAt: start?.at ?? null });
  return cause === "overrun" ? null : from;
}

function stepsDown(check: CheckWithState, { flip, before }: Past): ExplanationStep[] {
  const { graceSeconds } = check.settings;
  const success = before.find(({ kind }) => kind === "success");
  const start = before.find(({ kind }) => kind === "start");
  const came: ExplanationStep[] =
    success === undefined ? [] : [{ kind: "success", at: success.at, n: success.n }];
  if (flip.reason === "fail") {
    const fail = before.find(({ kind, at }) => kind === "fail" && at === flip.at);
    const failed = { at: flip.at, n: fail?.n ?? null, exitStatus: fail?.exitStatus ?? null };
    const started = start !== undefined && start.at > (success?.at ?? 0) ? [startStep(start.at)] : [];
    return [
      ...came,
      ...started,
      { kind: "failed", ...failed },
      { kind: "down", at: flip.at, rule: "failure", graceSeconds },
    ];
  }
  const dueAt = missedAt(check, { flip, before });
  if (dueAt === null && start !== undefined) {
    return [...came, startStep(start.at), { kind: "down", at: flip.at, rule: "overrun", graceSeconds }];
  }
  const expected = dueAt === null ? [] : [expectedStep(check, dueAt)];
  return [...came, ...expected, { kind: "down", at: flip.at, rule: "silence", graceSeconds }];
}

function stepsUp(flip: StoredFlip, before: readonly KeptPing[]): ExplanationStep[] {
  const success = before.find(({ kind, at }) => kind === "success" && at === flip.at);
  return [
    { kind: "success", at: flip.at, n: success?.n ?? null },
    { kind: "up", at: flip.at },
  ];
}

function startStep(at: Instant): ExplanationStep {
  return { kind: "started", at };
}

/** The expected time with the calculation in its time zone. */
function expectedStep({ settings }: CheckWithState, at: Instant): ExplanationStep {
  const expected = { kind: "expected" as const, at, sentence: whenSentence(settings) };
  const zone = settings.kind === "simple" ? null : zoneOf(settings.tz);
  if (zone === null) return { ...expected, offsetMinutes: 0, clockChange: null };
  const offsetMinutes = offsetMinutesAt(zone, at);
  return { ...expected, offsetMinutes, clockChange: clockChangeBefore(zone, at) };
}

function offsetMinutesAt(zone: Zone, at: Instant): number {
  return stretchAt(zone, Math.floor(at / SECOND_MS)).offset / 60;
}

/** The last clock change before an instant, if it is recent; found by bisection. */
function clockChangeBefore(zone: Zone, at: Instant): { at: Instant; beforeMinutes: number } | null {
  const beforeMinutes = offsetMinutesAt(zone, at - CLOCK_CHANGE_SHOWN_MS);
  if (beforeMinutes === offsetMinutesAt(zone, at)) return null;
  let [from, to] = [at - CLOCK_CHANGE_SHOWN_MS, at];
  while (to - from > SECOND_MS) {
    const middle = Math.floor((from + to) / 2 / SECOND_MS) * SECOND_MS;
    if (offsetMinutesAt(zone, middle) === beforeMinutes) from = middle;
    else to = middle;
  }
  return { at: to, beforeMinutes };
}

// What other settings would have reported in the past.

type Wanted = { check: CheckWithState; wanted: ReplayRequest; now: Instant };

/**
 * A trial over 5,000 runs uses the CPU for a tenth of a second: a process runs one at a time, so that pings are
 * answered.
 */
const trials = new ConcurrencyByKey({ runningMax: 1, perKeyMax: 1, waitingPerKeyMax: 100 });
const ALL = "all";
/** A trial that has not started by then is rejected. */
const TRIAL_WAIT_MS_MAX = 30_000;

/** The past under the current and under the proposed settings. */
export async function readReplay(context: HistoryContext, wanted: Wanted): Promise<Replay> {
  const end = await trials.begin(ALL, { withinMs: TRIAL_WAIT_MS_MAX });
  if (end === null)
    throw new AppError("unavailable", "Too many previews are running. Try again in a moment.");
  try {
    await nextTurn();
    return await computeReplay(context, wanted);
  } finally {
    end();
  }
}

/** The settings of a check with some of them changed. */
async function settingsToTry(
  { database }: HistoryContext,
  { check, wanted }: Omit<Wanted, "now">,
): Promise<Timing> {
  const { kind, timeoutSeconds, graceSeconds, schedule, tz, ...change } = wanted;
  const timing = { kind, timeoutSeconds, graceSeconds, schedule, tz };
  const given = Object.fromEntries(Object.entries(timing).filter(([, value]) => value !== undefined));
  const settings: Timing = { ...check.settings, ...given };
  if (settings.kind !== "simple") settings.schedule = readExpression(settings.schedule);
  return { ...settings, rules: await rulesToTry(database, { check, change, ...settings }) };
}

async function computeReplay(context: HistoryContext, { check, wanted, now }: Wanted): Promise<Replay> {
  const after = await settingsToTry(context, { check, wanted });
  const from = shownFrom(now);
  const [ended, blind] = await Promise.all([
    readPastRuns(context, { check, from }),
    listBlindIntervals(context.database, { from, to: now }),
  ]);
  const runs = ended.map(({ endAt, outcome, durationMs }) => ({
    startAt: durationMs === null ? null : endAt - durationMs,
    endAt,
    outcome,
  }));
  const { quietGraceSeconds, ...compared } = compareSettings(
    { before: check.settings, after },
    { runs, blind, toAt: now },
  );
  const runCount = runs.length;
  return {
    fromAt: runs[0]?.endAt ?? now,
    runCount,
    ...compared,
    before: [...compared.before],
    after: [...compared.after],
    proposedGraceSeconds: graceToPropose(after, { quietGraceSeconds, runCount }),
  };
}

/** Some of the newest flips may have been corrected. */
const LAST_FLIPS_READ = 100;

/** The sources of a check page. */
export type CheckContext = HistoryContext & Pick<ApiContext, "urls" | "mailDomain">;

/** The initial data of the page. */
export async function readCheckPage(
  context: CheckContext,
  { check, project, role, now }: { check: CheckRecord; project: Project; role: Role; now: Instant },
): Promise<CheckPage> {
  const [rows, log, availability, channels, flips, quarantined, slugUrl] = await Promise.all([
    findLeanChecks(context.database, [check.uuid]),
    readLog(context, check),
    readAvailability(context, { check, now }),
    listChannels(context.database, project.id),
    listFlips(context.database, { checkId: check.id, limit: LAST_FLIPS_READ }),
    countRejectedSignals(context.database, check.id),
    // The ping key allows creating checks.
    mayDo(role, "manageKeys") ? slugAddress(context, { check, project }) : null,
  ]);
  const [row] = rowsOf(rows, now);
  if (row === undefined) throw notFound();
  const lastFlip = flips.find(({ retractedAt }) => retractedAt === null);
  const { rules: _, ...settings } = check.settings;
  return {
    projectId: project.uuid,
    row,
    settings,
    version: check.updatedAt,
    readAt: now,
    createdAt: check.createdAt,
    pingCount: check.state.pingCount,
    quarantinedCount: quarantined.count,
    ...lastSuccessOf(check, log),
    pingAddresses: {
      url: pingUrl(context.urls, check.uuid),
      slugUrl,
      email: context.mailDomain === null ? null : `${check.uuid}@${context.mailDomain}`,
    },
    expectation: expectationOf(check, now),
    ...availability,
    usual: usualOfLog(log),
    channels: channels.map(
      (channel): CheckChannel => ({
        id: channel.uuid,
        kind: channel.kind,
        name: channelName(channel),
        isOn: check.channelUuids.includes(channel.uuid),
        disabledReason: channel.disabledAt === null ? null : (channel.disabledReason ?? ""),
      }),
    ),
    lastFlip: lastFlip === undefined ? null : presentFlip(lastFlip),
    missedAt:
      lastFlip?.to === "down" ? missedAt(check, { flip: lastFlip, before: upTo(log, lastFlip) }) : null,
  };
}

function upTo(log: readonly KeptPing[], flip: { at: Instant }): KeptPing[] {
  return log.filter(({ at }) => at <= flip.at);
}

/**
 * The last ping of a check that is up was a success; for any other check the log is searched, as far as it goes back.
 */
function lastSuccessOf(
  { state, lastSuccessN }: CheckRecord,
  log: readonly KeptPing[],
): Pick<CheckPage, "lastSuccessAt" | "hasSucceeded"> {
  const logged = log.find(({ kind }) => kind === "success")?.at ?? null;
  const lastSuccessAt = state.status === "up" ? state.lastPingAt : logged;
  return { lastSuccessAt, hasSucceeded: lastSuccessAt !== null || lastSuccessN !== null };
}

/** The ping URL by key and slug, if it leads to this check and to no other. */
async function slugAddress(
  { database, urls }: CheckContext,
  { check, project }: { check: CheckRecord; project: Project },
): Promise<string | null> {
  const { slug } = check.settings;
  if (project.pingKey === null || slug === "") return null;
  const named = await findChecksBySlug(database, { pingKey: project.pingKey, slug });
  return named.length === 1 ? `${urls.ping}/${project.pingKey}/${slug}` : null;
}

function readZones(): Zones {
  const zones = OFFERED_ZONE_NAMES.map((name) => ({
    name,
    aliases: ZONE_NAMES.filter((old) => CURRENT_ZONE_NAMES.get(old) === name),
  }));
  const offered = new Set(OFFERED_ZONE_NAMES);
  return { zones, others: ZONE_NAMES.filter((name) => !offered.has(name) && !CURRENT_ZONE_NAMES.has(name)) };
}

const ZONES: Zones = readZones();

export const checkPageHandlers: ApiHandlers<typeof checkPageRoutes> = {
  getCheck: async ({ context, ...about }) => {
    const json = await readCheckPage(context, about);
    return { json, headers: entityTag(json) };
  },
};

export const historyHandlers: ApiHandlers<typeof historyRoutes> = {
  listRuns: async ({ context, check, query }) => ({
    json: await readRuns(context, check, { before: cursorNumber(query.cursor) }),
  }),
  getRun: async ({ context, check, params }) => ({
    json: await readRun(context, { check, n: numberParam(params.run) }),
  }),
  getRunBody: async ({ context, check, params }) => {
    const n = numberParam(params.run);
    return {
      content: await readRawBody(context, { check, n }),
      type: "application/octet-stream",
      headers: { "Content-Disposition": `attachment; filename="${check.uuid}-${n}.txt"` },
    };
  },
  listDurations: async ({ context, check, now }) => ({ json: await readDurations(context, { check, now }) }),
  getAvailability: async ({ context, check, now }) => ({
    json: await readAvailability(context, { check, now }),
  }),
  listEvents: async ({ context, check, query }) => ({
    json: await readEvents(context, check, {
      before: cursorNumber(query.cursor),
      types: typesOf(query),
      pingKinds: query.pingKinds?.split(",") ?? null,
    }),
  }),
  explainAlert: async ({ context, check, query }) => ({
    json: await readExplanation(context, { check, flipId: query.flip ?? null }),
  }),
  replayCheck: async ({ context, check, body, now }) => ({
    json: await readReplay(context, { check, wanted: body, now }),
  }),
  getCheckSetup: async (request) => ({ json: await readSetup(request) }),
  listProjectEvents: async ({ context, project, query }) => ({
    json: await readProjectEvents(context, {
      ...chosenOf(project.id, query),
      before: query.cursor ?? null,
    }),
  }),
  exportEventsCsv: async ({ context, project, query }) => {
    const file = { format: "csv" as const, chosen: chosenOf(project.id, query) };
    return { stream: (response) => void sendEventsFile(context, response, file) };
  },
  exportEventsJson: async ({ context, project, query }) => {
    const file = { format: "json" as const, chosen: chosenOf(project.id, query) };
    return { stream: (response) => void sendEventsFile(context, response, file) };
  },
  previewSchedule: async ({ body, now }) => ({ json: previewOf(body, now) }),
  listTimeZones: async () => ({ json: ZONES }),
};

const ALL_TYPES: readonly EventType[] = ["ping", "flip", "event"];

function chosenOf(projectId: number, query: EventsFileQuery) {
  return { projectId, types: typesOf(query), text: query.text ?? "", ...rangeOf(query) };
}

function typesOf({ types }: { types?: string }): EventType[] {
  const chosen = types?.split(",") ?? ALL_TYPES;
  return ALL_TYPES.filter((type) => chosen.includes(type));
}
