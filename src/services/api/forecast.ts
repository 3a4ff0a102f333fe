// Handlers of the forecast.
import type { ForecastCrowd, ForecastEntry, forecastRoutes } from "../../contract/api/forecast.ts";
import { calendarUrl } from "../../contract/urls.ts";
import { FORECAST_CHECKS_LISTED_MAX } from "../../core/limits.ts";
import { type FixChange, type ForecastEntry as Entry, minuteText } from "../../core/project-forecast.ts";
import {
  createForecastFeed,
  fixForecast,
  type Forecast,
  markForecast,
  readCheckForecast,
  readForecast,
  revokeForecastFeed,
} from "../../operations/forecast.ts";
import { findForecastFeed } from "../../store/forecast.ts";
import { grouped } from "./check-changes.ts";
import type { ApiHandlers } from "./route.ts";

/** A read-only key does not see the IDs of checks. */
type Viewer = { keyKind: "readOnly" | "readWrite" | null };

function presentChange(
  { check, schedule, tz }: FixChange,
  { keyKind }: Viewer,
): ForecastEntry["fixes"][number]["changes"][number] {
  return {
    check: keyKind === "readOnly" ? null : check.uuid,
    name: check.name,
    schedule: check.schedule,
    tz: check.tz,
    newSchedule: schedule,
    newTz: tz,
  };
}

function presentEntry(entry: Entry, viewer: Viewer): ForecastEntry {
  const { id, kind, dates, at, zone, count, title, why, checks, fixes, isDismissed } = entry;
  return {
    id,
    kind,
    dates,
    at,
    zone,
    count,
    title,
    why,
    checkCount: checks.length,
    checks: checks.slice(0, FORECAST_CHECKS_LISTED_MAX).map(({ uuid, name, schedule, tz }) => ({
      id: viewer.keyKind === "readOnly" ? null : uuid,
      name,
      schedule,
      tz,
    })),
    fixes: fixes.map(({ changes, ...fix }) => ({
      ...fix,
      changes: changes.map((change) => presentChange(change, viewer)),
    })),
    isIntended: isDismissed,
  };
}

function presentCrowd({ crowd }: Forecast, viewer: Viewer): ForecastCrowd | null {
  if (crowd === null) return null;
  const { minute, zone, count, hours, spreadHours, atOnce, spreadMinutes, endMinute } = crowd;
  return {
    time: minuteText(minute),
    zone,
    count,
    hours,
    spreadHours,
    atOnce,
    spreadMinutes,
    endsAt: endMinute === null ? null : minuteText(endMinute),
    changes: crowd.moves.flatMap(({ id, schedule, tz }) => {
      const check = crowd.checks.get(id);
      return check === undefined ? [] : [presentChange({ check, schedule, tz }, viewer)];
    }),
    isIntended: crowd.isDismissed,
  };
}

/** Each day of an entry is one surprise. */
function totalOf({ entries }: Forecast): number {
  return entries.reduce((sum, { dates }) => sum + Math.max(1, dates.length), 0);
}

export const forecastHandlers: ApiHandlers<typeof forecastRoutes> = {
  getForecast: async (request) => {
    const { context, project, account, now } = request;
    const forecast = await readForecast(context.database, { project, now });
    const feed =
      account === null
        ? null
        : await findForecastFeed(context.database, { projectId: project.id, accountId: account.id });
    return {
      json: {
        from: forecast.window.from,
        until: forecast.window.until,
        zone: forecast.zone,
        checkCount: forecast.checkCount,
        total: totalOf(forecast),
        entries: forecast.entries.map((entry) => presentEntry(entry, request)),
        intended: forecast.intended.map((entry) => presentEntry(entry, request)),
        isTruncated: forecast.isTruncated,
        worst: forecast.worst?.id ?? null,
        crowd: presentCrowd(forecast, request),
        feedCreatedAt: feed,
      },
    };
  },
  getCheckForecast: async (request) => {
    const { context, check, now } = request;
    const entries = await readCheckForecast(context.database, { check, now });
    return { json: { entries: entries.map((entry) => presentEntry(entry, request)) } };
  },
  setForecastIntended: async ({ context, project, actor, body, now }) => {
    await markForecast(context.database, {
      project,
      entry: body.entry,
      checkUuid: body.check ?? null,
      isIntended: body.isIntended,
      by: actor,
      at: now,
    });
    return { json: null };
  },
  fixForecast: async ({ context, project, actor, body, now }) => {
    const done = await fixForecast(context.database, {
      ...actor,
      at: now,
      visibility: context.visibility(),
      projectId: project.id,
      entry: body.entry,
      fix: body.fix,
      changes: body.changes.map(({ check, newSchedule, newTz }) => ({
        uuid: check,
        schedule: newSchedule,
        tz: newTz,
      })),
    });
    const changed = done.filter(({ isChanged }) => isChanged);
    return {
      json: {
        changed: changed.length,
        previous: grouped(changed.map(({ uuid, before }) => ({ id: uuid, before }))),
        version: now,
      },
    };
  },
  createForecastFeed: async ({ context, project, account, now }) => {
    const token = await createForecastFeed(context.database, { project, accountId: account.id, at: now });
    return { json: { url: calendarUrl(context.urls, token) } };
  },
  deleteForecastFeed: async ({ context, project, account, now }) => {
    await revokeForecastFeed(context.database, { project, accountId: account.id, at: now });
    return { json: null };
  },
};
