// The forecast of a project, marks of what is intended, fixes of schedules, and calendar feeds.
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import {
  addStarts,
  type Crowd,
  type CrowdDay,
  crowdDays,
  crowdOf,
  type JobGroup,
  jobGroups,
  noStarts,
} from "../core/crowd.ts";
import { AppError } from "../core/errors.ts";
import {
  changesIn,
  clockOf,
  type FixKind,
  fixesOf,
  forecastWindow,
  type ForecastWindow,
  type Surprise,
  surprisesOf,
  type Timing,
} from "../core/forecast.ts";
import { DAY_MS, type Instant } from "../core/instant.ts";
import {
  CROWD_MARKS_MAX,
  CROWD_SPREAD_MINUTES_MAX,
  FORECAST_CHECKS_MAX,
  FORECAST_ENTRIES_MAX,
} from "../core/limits.ts";
import {
  byTime,
  crowdEntries,
  crowdSubject,
  entriesOf,
  entryIdOf,
  type ForecastCheck,
  type ForecastEntry,
  markSubject,
  worstOf,
} from "../core/project-forecast.ts";
import { dayOf } from "../core/run.ts";
import { allSteps, type Steps } from "../core/steps.ts";
import { digestOfToken, newToken } from "../lib/secrets.ts";
import { findBulkChecks } from "../store/check-lists.ts";
import { type Check, findChecksByIds } from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import {
  deleteForecastFeed,
  deleteForecastMarks,
  deleteOldForecastMarks,
  findForecastFeedOwner,
  type ForecastMark,
  insertForecastMarks,
  listForecastChecks,
  listForecastMarks,
  trimForecastMarks,
  writeForecastFeed,
} from "../store/forecast.ts";
import { findProjectEntry, type Project } from "../store/projects.ts";
import { type Actor, audit } from "./audit.ts";
import { type Command, type Rescheduled, rescheduleChecks } from "./checks.ts";
import { inRetriedTransaction } from "./retry.ts";

/** What is computed from the schedules alone, without marks. */
type Computed = {
  window: ForecastWindow;
  zone: string;
  checks: readonly ForecastCheck[];
  isTruncated: boolean;
  surprises: ReadonlyMap<string, readonly Surprise[]>;
  crowd: Crowd | null;
  days: readonly CrowdDay[];
};

export type Forecast = {
  window: ForecastWindow;
  zone: string;
  checkCount: number;
  /** Whether the project has more checks than are read, or more entries than are listed. */
  isTruncated: boolean;
  /** Entries that are not intended, nearest first. */
  entries: ForecastEntry[];
  intended: ForecastEntry[];
  worst: ForecastEntry | null;
  /** The crowded minute, with the checks to move. */
  crowd: (Crowd & { zone: string; isDismissed: boolean; checks: ReadonlyMap<number, ForecastCheck> }) | null;
};

type ProjectRef = Pick<Project, "id" | "tz">;

/** Durations are averaged over this many days. */
const DURATION_DAYS = 14;
/** Computed at a time, before other requests get a turn. */
const TURN_MS = 10;
/** Projects whose forecast is kept, until a schedule changes or the day ends. */
const KEPT_MAX = 20;

const kept = new Map<number, { version: string; computed: Promise<Computed> }>();

/** The forecast of a project. Schedules that have not changed are not computed again on the same day. */
export async function readForecast(
  db: Db,
  { project, now }: { project: ProjectRef; now: Instant },
): Promise<Forecast> {
  const [computed, marks] = await Promise.all([
    compute(db, { project, now }),
    listForecastMarks(db, project.id),
  ]);
  return inTurns(present(computed, marks));
}

/** Takes the steps of a computation, and lets other requests have a turn now and then. */
async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  let since = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - since < TURN_MS) continue;
    await setImmediate();
    since = performance.now();
  }
}

async function compute(db: Db, { project, now }: { project: ProjectRef; now: Instant }): Promise<Computed> {
  const window = forecastWindow(now);
  const read = await listForecastChecks(db, {
    projectId: project.id,
    sinceDay: dayOf(now - DURATION_DAYS * DAY_MS),
    limit: FORECAST_CHECKS_MAX + 1,
  });
  const version = versionOf(read, `${window.from} ${project.tz}`);
  const known = kept.get(project.id);
  if (known?.version === version) return known.computed;
  const computed = inTurns(computeAfresh(read, { window, zone: project.tz }));
  kept.delete(project.id);
  kept.set(project.id, { version, computed });
  computed.catch(() => kept.delete(project.id));
  for (const projectId of kept.keys()) {
    if (kept.size <= KEPT_MAX) break;
    kept.delete(projectId);
  }
  return computed;
}

/** Durations count roughly, so that not every run makes a new version. */
function versionOf(checks: readonly ForecastCheck[], start: string): string {
  const hash = createHash("sha256").update(start);
  for (const { uuid, name, schedule, tz, durationMs } of checks) {
    const size = durationMs === null ? "" : Math.round(Math.log2(durationMs + 1));
    hash.update(`${uuid} ${name}\n${schedule}\n${tz} ${size}\n`);
  }
  return hash.digest("base64");
}

function* computeAfresh(
  read: readonly ForecastCheck[],
  { window, zone }: { window: ForecastWindow; zone: string },
): Steps<Computed> {
  const checks = read.slice(0, FORECAST_CHECKS_MAX);
  const changesOf = changesIn(window);
  const surprises = new Map<string, readonly Surprise[]>();
  const starts = noStarts(window);
  const groups: JobGroup[] = [];
  for (const [subject, same] of Map.groupBy(checks, markSubject)) {
    const [first] = same;
    if (first === undefined) continue;
    surprises.set(subject, surprisesOf(first, window, changesOf));
    for (const group of jobGroups(same)) {
      addStarts(starts, group, changesOf);
      groups.push(group);
    }
    yield;
  }
  const crowd = yield* crowdOf(starts, groups, zone);
  const days = yield* crowdDays(starts, groups, zone);
  return { window, zone, checks, isTruncated: read.length > checks.length, surprises, crowd, days };
}

function* present(computed: Computed, marks: readonly ForecastMark[]): Steps<Forecast> {
  const { window, zone, checks, surprises, crowd, days } = computed;
  const marked = new Set(marks.map(markKey));
  const isMarked = (mark: ForecastMark) => marked.has(markKey(mark));
  const byId = new Map(checks.map((check) => [check.id, check]));
  const found = checks.flatMap((check) => {
    const some = surprises.get(markSubject(check)) ?? [];
    return some.length === 0 ? [] : [{ check, surprises: some }];
  });
  yield;
  const own = yield* entriesOf(found, { isMarked, window });
  const all = [...own.entries, ...crowdEntries(days, { checks: byId, zone, isMarked })].toSorted(byTime);
  const allOpen = all.filter(({ isDismissed }) => !isDismissed);
  const allIntended = all.filter(({ isDismissed }) => isDismissed);
  const entries = allOpen.slice(0, FORECAST_ENTRIES_MAX);
  const intended = allIntended.slice(0, FORECAST_ENTRIES_MAX);
  return {
    window,
    zone,
    checkCount: checks.length,
    isTruncated: computed.isTruncated || own.isTruncated || entries.length + intended.length < all.length,
    entries,
    intended,
    worst: worstOf(entries),
    crowd: crowd && {
      ...crowd,
      zone,
      isDismissed: isMarked({ checkId: null, kind: "crowded", subject: crowdSubject(crowd, zone) }),
      checks: byId,
    },
  };
}

function markKey({ checkId, kind, subject }: ForecastMark): string {
  return `${checkId ?? ""} ${kind} ${subject}`;
}

/** The entries of one check, those that are intended last. */
export async function readCheckForecast(
  db: Db,
  { check, now }: { check: Pick<Check, "id" | "uuid" | "projectId" | "settings">; now: Instant },
): Promise<ForecastEntry[]> {
  const { name, schedule, tz, kind } = check.settings;
  if (kind === "simple") return [];
  const window = forecastWindow(now);
  const marked = new Set((await listForecastMarks(db, check.projectId)).map(markKey));
  const shown = { id: check.id, uuid: check.uuid, name, schedule, tz, durationMs: null };
  const found = [{ check: shown, surprises: surprisesOf(shown, window) }];
  const { entries } = allSteps(entriesOf(found, { isMarked: (mark) => marked.has(markKey(mark)), window }));
  return entries.toSorted((one, other) => Number(one.isDismissed) - Number(other.isDismissed));
}

// Marks

const GONE = "This surprise no longer exists, because a schedule was changed. Reload the page.";

type Marking = {
  project: ProjectRef;
  /** An entry, or `crowd` for the crowded minute. */
  entry: string;
  /** Only this check of the entry; null: all of them. */
  checkUuid: string | null;
  isIntended: boolean;
  by: Actor;
  at: Instant;
};

/** Marks an entry as intended, or no longer. Doing so again changes nothing. AppError `conflict` if it is gone. */
export async function markForecast(database: Database, request: Marking): Promise<void> {
  const { project, entry, checkUuid, isIntended, by, at } = request;
  const forecast = await readForecast(database, { project, now: at });
  const { title, marks } = marksOf(forecast, { entry, checkUuid });
  if (marks.length === 0) throw new AppError("conflict", GONE);
  await inRetriedTransaction(database, async (tx) => {
    const target = { projectId: project.id, marks };
    let count: number;
    if (isIntended) {
      await deleteOldForecastMarks(tx, target);
      count = await insertForecastMarks(tx, { ...target, accountId: by.accountId, at });
      await trimForecastMarks(tx, { projectId: project.id, keep: CROWD_MARKS_MAX });
    } else {
      count = await deleteForecastMarks(tx, target);
    }
    if (count === 0) return;
    const what = isIntended ? "forecast.marked" : "forecast.unmarked";
    await audit(tx, { ...by, projectId: project.id, what, subject: title, before: null, after: null, at });
  });
}

function marksOf(
  { entries, intended, crowd }: Forecast,
  { entry: id, checkUuid }: { entry: string; checkUuid: string | null },
): { title: string; marks: ForecastMark[] } {
  if (id === "crowd") {
    if (crowd === null) return { title: "", marks: [] };
    const subject = crowdSubject(crowd, crowd.zone);
    return { title: subject, marks: [{ checkId: null, kind: "crowded", subject }] };
  }
  const found = [...entries, ...intended].filter((entry) => entry.id === id);
  const marks = found.flatMap(({ kind, dates: [date = ""], id: own, checks }): ForecastMark[] =>
    kind === "crowded"
      ? [{ checkId: null, kind, subject: `${date} ${own.split("|")[2] ?? ""}` }]
      : checks
          .filter(({ uuid }) => checkUuid === null || uuid === checkUuid)
          .map((check) => ({ checkId: check.id, kind, subject: markSubject(check) })),
  );
  return { title: found[0]?.title ?? "", marks };
}

// Fixes

export type FixRequest = Omit<Command, "checkId" | "uuid"> & {
  /** The entry that is fixed. */
  entry: string;
  fix: FixKind;
  /** The new schedules, as they were shown. */
  changes: readonly (Timing & { uuid: string })[];
};

const CHANGED = "The schedule of a check was changed since this page was loaded. Reload the page.";

/**
 * Changes the schedules of checks, all or none. A check that already has the new schedule stays as it is, so repeating
 * a request changes nothing. AppError `conflict` if a check or its surprise is gone, or the fix would differ.
 */
export async function fixForecast(
  database: Database,
  request: FixRequest,
): Promise<(Rescheduled & { uuid: string })[]> {
  const { entry, fix, changes, at: now, ...command } = request;
  const found = await findBulkChecks(database, {
    uuids: changes.map(({ uuid }) => uuid),
    projectId: request.projectId,
  });
  const uuids = new Map(found.map(({ id, uuid }) => [id, uuid]));
  const checks = await findChecksByIds(database, [...uuids.keys()]);
  if (checks.length !== changes.length)
    throw new AppError("conflict", "A check no longer exists. Reload the page.");
  const window = forecastWindow(now);
  const wanted = new Map<number, Timing>();
  for (const check of checks) {
    const to = changes.find(({ uuid }) => uuid === check.uuid);
    if (to === undefined || isSame(check.settings, to)) continue;
    if (!isOffered(check, { entry, fix, to, window })) throw new AppError("conflict", CHANGED);
    wanted.set(check.id, { schedule: to.schedule, tz: to.tz });
  }
  if (wanted.size === 0) return [];
  const done = await rescheduleChecks(database, {
    ...command,
    at: now,
    wanted,
    version: Math.max(...checks.map(({ updatedAt }) => updatedAt)),
  });
  if ("kind" in done) throw new AppError("conflict", CHANGED);
  return done.map((one) => ({ ...one, uuid: uuids.get(one.checkId) ?? "" }));
}

function isSame(one: Timing & { kind?: string }, other: Timing): boolean {
  return one.kind !== "simple" && one.schedule === other.schedule && one.tz === other.tz;
}

/** Whether the forecast offers this change of a check as it is now. */
function isOffered(
  { settings, ...check }: Check,
  { entry, fix, to, window }: { entry: string; fix: FixKind; to: Timing; window: ForecastWindow },
): boolean {
  if (settings.kind === "simple") return false;
  if (fix === "spread") return entry === "crowd" && isShifted(settings, to);
  const { name, schedule, tz } = settings;
  const shown = { id: check.id, uuid: check.uuid, name, schedule, tz, durationMs: null };
  return surprisesOf(shown, window)
    .filter((surprise) => entryIdOf(surprise, shown) === entry)
    .flatMap((surprise) => fixesOf(shown, surprise, window))
    .some((offered) => offered.kind === fix && isSame(offered, to));
}

function isShifted(from: Timing, to: Timing): boolean {
  const clock = clockOf(from, true);
  if (clock === null || from.tz !== to.tz) return false;
  const shift = (clockOf(to, true)?.minutes ?? 0) - clock.minutes;
  return (
    shift > 0 && shift <= CROWD_SPREAD_MINUTES_MAX && clock.withMinutes(clock.minutes + shift) === to.schedule
  );
}

// Calendar feeds

type FeedChange = { project: Pick<Project, "id" | "name">; accountId: number; at: Instant };

/** Creates the feed of a member, or replaces it. Returns its token, of which only a digest is stored. */
export async function createForecastFeed(
  database: Database,
  { project, accountId, at }: FeedChange,
): Promise<string> {
  const token = newToken();
  await inRetriedTransaction(database, async (tx) => {
    await writeForecastFeed(tx, { projectId: project.id, accountId, digest: digestOfToken(token), at });
    await auditFeed(tx, "forecast.feedCreated", { project, accountId, at });
  });
  return token;
}

/** Deletes the feed of a member. Without one, nothing changes. */
export async function revokeForecastFeed(
  database: Database,
  { project, accountId, at }: FeedChange,
): Promise<void> {
  await inRetriedTransaction(database, async (tx) => {
    if (!(await deleteForecastFeed(tx, { projectId: project.id, accountId }))) return;
    await auditFeed(tx, "forecast.feedRevoked", { project, accountId, at });
  });
}

async function auditFeed(
  tx: Parameters<typeof audit>[0],
  what: "forecast.feedCreated" | "forecast.feedRevoked",
  { project, accountId, at }: FeedChange,
): Promise<void> {
  const by = { accountId, keyId: null, projectId: project.id };
  await audit(tx, { ...by, what, subject: project.name, before: null, after: null, at });
}

/** The project of a feed, while its owner is a member; otherwise null. */
export async function findFeedProject(db: Db, token: string): Promise<Project | null> {
  const owner = await findForecastFeedOwner(db, digestOfToken(token));
  return owner === null ? null : ((await findProjectEntry(db, owner))?.project ?? null);
}
