// The report of a project, its export, and the preview of report emails.
import { reportMail } from "../../channels/report-email.ts";
import type { Report, reportRoutes, SlowerCheck } from "../../contract/api/report.ts";
import { csvLine } from "../../core/csv.ts";
import { DAY_MS, type Instant } from "../../core/instant.ts";
import {
  NOISE_ALERTS_MIN,
  NOISE_MINUTES_MAX,
  REPORT_ALERTS_READ_MAX,
  SLOWER_CHECKS_LISTED_MAX,
  TREND_CHECKS_MAX,
  TREND_DAYS_MIN,
  TREND_RISE_MIN,
  TREND_RISE_MS_MIN,
  TREND_Z_MIN,
} from "../../core/limits.ts";
import type { PeriodLength } from "../../core/local-time.ts";
import { noiseOf } from "../../core/noise.ts";
import { isSlower, type Trend, trendOf } from "../../core/trend.ts";
import type { RenderedMail } from "../../channels/kinds/email.ts";
import { previewReport } from "../../operations/emails.ts";
import { findCheckNames } from "../../store/checks.ts";
import type { Database } from "../../store/db.ts";
import type { Project } from "../../store/projects.ts";
import { listDayAverages, listReportAlerts, listRisingChecks } from "../../store/report.ts";
import type { ApiContext, ApiHandlers } from "./route.ts";

const DEFAULT_DAYS = 30;

type Asked = { project: Project; days: number; now: Instant };

/** A few statements for any number of checks. */
async function readReport(database: Database, { project, days, now }: Asked): Promise<Report> {
  const from = now - days * DAY_MS;
  const [noise, slower] = await Promise.all([
    readNoise(database, { projectId: project.id, from }),
    readSlower(database, { projectId: project.id, fromDay: dayOf(from) }),
  ]);
  const ids = [...noise.checks, ...slower.checks].map(({ checkId }) => checkId);
  const names = new Map((await findCheckNames(database, ids)).map((check) => [check.id, check]));
  /** Without checks that were deleted in the meantime. */
  const named = <T extends { checkId: number }>(checks: readonly T[]) =>
    checks.flatMap(({ checkId, ...check }) => {
      const found = names.get(checkId);
      return found === undefined ? [] : [{ id: found.uuid, name: found.name, ...check }];
    });
  return {
    project: project.name,
    from,
    to: now,
    noise: { ...noise, checks: named(noise.checks) },
    slower: { ...slower, checks: named(slower.checks) },
  };
}

async function readNoise(database: Database, { projectId, from }: { projectId: number; from: Instant }) {
  const limit = REPORT_ALERTS_READ_MAX + 1;
  const alerts = await listReportAlerts(database, { projectId, from, limit });
  return {
    ...noiseOf(alerts.slice(0, REPORT_ALERTS_READ_MAX)),
    isComplete: alerts.length < limit,
    minutesMax: NOISE_MINUTES_MAX,
    alertsMin: NOISE_ALERTS_MIN,
  };
}

async function readSlower(
  database: Database,
  { projectId, fromDay }: { projectId: number; fromDay: string },
) {
  const limit = TREND_CHECKS_MAX + 1;
  const rising = await listRisingChecks(database, { projectId, fromDay, daysMin: TREND_DAYS_MIN, limit });
  const checkIds = rising.ids.slice(0, TREND_CHECKS_MAX);
  const averages = checkIds.length === 0 ? [] : await listDayAverages(database, { checkIds, fromDay });
  const byCheck = Map.groupBy(averages, ({ checkId }) => checkId);
  const found = [...byCheck]
    .flatMap(([checkId, days]) => {
      const trend = trendOf(days.map(({ day, averageMs }) => ({ day: Date.parse(day) / DAY_MS, averageMs })));
      return trend === null || !isSlower(trend) ? [] : [{ checkId, ...presentTrend(trend, days) }];
    })
    .toSorted((one, other) => other.rise - one.rise || one.checkId - other.checkId);
  return {
    comparedCount: rising.comparedCount,
    daysMin: TREND_DAYS_MIN,
    riseMin: TREND_RISE_MIN,
    riseMsMin: TREND_RISE_MS_MIN,
    zMin: TREND_Z_MIN,
    isComplete: rising.ids.length < limit,
    unlistedCount: Math.max(0, found.length - SLOWER_CHECKS_LISTED_MAX),
    checks: found.slice(0, SLOWER_CHECKS_LISTED_MAX),
  };
}

function presentTrend(
  trend: Trend,
  days: readonly { day: string; averageMs: number }[],
): Omit<SlowerCheck, "id" | "name"> {
  return { ...trend, days: days.map(({ day, averageMs }) => ({ day, averageMs })) };
}

/** The day in UTC, as days of runs are stored. */
function dayOf(at: Instant): string {
  return new Date(at).toISOString().slice(0, "2026-11-18".length);
}

/** A table of both lists: what a line does not have is empty. */
function reportCsv({ noise, slower }: Report): string {
  const head = ["Finding", "Check", "Alerts", "Noisy alerts", "Median recovery (s)"];
  const trend = ["Days", "Start (s)", "End (s)", "Rise (%)", "Later day slower (%)", "z"];
  const seconds = (ms: number) => Math.round(ms) / 1_000;
  const percent = (share: number) => Math.round(share * 1_000) / 10;
  return [
    csvLine([...head, ...trend]),
    ...noise.checks.map(({ name, alertCount, noiseCount, medianRecoveryMs }) =>
      csvLine(["noisy", name, alertCount, noiseCount, seconds(medianRecoveryMs), ...trend.map(() => "")]),
    ),
    ...slower.checks.map(({ name, dayCount, startMs, endMs, rise, slowerShare, z }) =>
      csvLine([
        "slower",
        name,
        "",
        "",
        "",
        dayCount,
        seconds(startMs),
        seconds(endMs),
        percent(rise),
        percent(slowerShare),
        Math.round(z * 100) / 100,
      ]),
    ),
  ].join("");
}

/** The report email that an account would get now. Its link to unsubscribe leads nowhere. */
export async function previewMail(
  { database, site }: Pick<ApiContext, "database" | "site">,
  { account, length, now }: { account: { id: number; email: string }; length: PeriodLength; now: Instant },
): Promise<RenderedMail> {
  const report = await previewReport(database, { accountId: account.id, length, now });
  return reportMail(report, { site, address: account.email, unsubscribeUrl: `${site.url}/`, now });
}

export const reportHandlers: ApiHandlers<typeof reportRoutes> = {
  getReport: async ({ context, project, query, now }) => {
    const days = Number(query.days ?? DEFAULT_DAYS);
    return { json: await readReport(context.database, { project, days, now }) };
  },
  exportReportCsv: async ({ context, project, query, now }) => {
    const days = Number(query.days ?? DEFAULT_DAYS);
    const report = await readReport(context.database, { project, days, now });
    return {
      content: reportCsv(report),
      type: "text/csv; charset=utf-8",
      headers: { "Content-Disposition": 'attachment; filename="report.csv"' },
    };
  },
  previewReport: async ({ context, account, query, now }) => {
    const { subject, text } = await previewMail(context, { account, length: query.length ?? "weekly", now });
    return { json: { subject, text } };
  },
};
