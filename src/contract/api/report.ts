// The report of a project: noisy checks and rising durations. And the report email of an account.
import { type Static, Type } from "typebox";
import {
  NOISE_ALERTS_MIN,
  NOISE_MINUTES_MAX,
  REPORT_ALERTS_READ_MAX,
  TREND_CHECKS_MAX,
  TREND_DAYS_MIN,
  TREND_RISE_MIN,
  TREND_RISE_MS_MIN,
  TREND_Z_MIN,
} from "../../core/limits.ts";
import { route } from "./route.ts";
import { Time, UuidText } from "./types.ts";

const NoisyCheck = Type.Object({
  id: UuidText,
  name: Type.String(),
  alertCount: Type.Integer({ description: "All alerts of the check in the period." }),
  noiseCount: Type.Integer({ description: "Alerts that ended by themselves." }),
  medianRecoveryMs: Type.Integer({ description: "The median time until they ended." }),
});
export type NoisyCheck = Static<typeof NoisyCheck>;

const SlowerCheck = Type.Object({
  id: UuidText,
  name: Type.String(),
  dayCount: Type.Integer({ description: "Days with measured runs." }),
  startMs: Type.Integer({ description: "The trend line on the first day." }),
  endMs: Type.Integer({ description: "The trend line on the last day." }),
  rise: Type.Number({ description: "The rise of the trend line as a share of its start. 0.2 means 20%." }),
  slowerShare: Type.Number({
    description: "Of all pairs of days, the share in which the later day was slower, from 0 to 1.",
  }),
  z: Type.Number({ description: "The score of the Mann-Kendall test." }),
  days: Type.Array(Type.Object({ day: Type.String(), averageMs: Type.Integer() }), {
    description: "The average duration of the runs of each day, in UTC.",
  }),
});
export type SlowerCheck = Static<typeof SlowerCheck>;

export const Report = Type.Object({
  project: Type.String({ description: "The name of the project." }),
  from: Time,
  to: Time,
  noise: Type.Object(
    {
      alertCount: Type.Integer({ description: "All alerts of the project in the period." }),
      noiseCount: Type.Integer({ description: "Alerts that ended by themselves." }),
      isComplete: Type.Boolean({
        description: `False if only the newest ${REPORT_ALERTS_READ_MAX} alerts were counted.`,
      }),
      minutesMax: Type.Integer({ description: "An alert that recovers later is not noise." }),
      alertsMin: Type.Integer({ description: "Checks with fewer such alerts are not listed." }),
      unlistedCount: Type.Integer({ description: "Noisy checks that are not listed." }),
      checks: Type.Array(NoisyCheck, { description: "The noisiest first." }),
    },
    {
      description: `An alert is noise if the check recovered within ${NOISE_MINUTES_MAX} minutes without an acknowledgment or an edit. Checks with at least ${NOISE_ALERTS_MIN} such alerts are listed.`,
    },
  ),
  slower: Type.Object(
    {
      comparedCount: Type.Integer({ description: "Checks with runs on enough days." }),
      daysMin: Type.Integer(),
      riseMin: Type.Number(),
      riseMsMin: Type.Integer(),
      zMin: Type.Number(),
      isComplete: Type.Boolean({
        description: `False if more than ${TREND_CHECKS_MAX} checks have runs on enough days. Then only those that rose most were examined.`,
      }),
      unlistedCount: Type.Integer({ description: "Slower checks that are not listed." }),
      checks: Type.Array(SlowerCheck, { description: "The largest rise first." }),
    },
    {
      description: `Checks whose runs take longer and longer. The trend is the Theil-Sen line through the average duration of each day. It is reported if there are at least ${TREND_DAYS_MIN} days, the line rises by at least ${TREND_RISE_MIN * 100}% and ${TREND_RISE_MS_MIN} ms, and the Mann-Kendall score is at least ${TREND_Z_MIN}.`,
    },
  ),
});
export type Report = Static<typeof Report>;

const ReportQuery = Type.Object(
  {
    days: Type.Optional(
      Type.Enum(["30", "90"], { description: "The length of the period in days. Default: 30." }),
    ),
  },
  { additionalProperties: false },
);

export const REPORT_LENGTHS = ["daily", "weekly", "monthly"] as const;

const PreviewQuery = Type.Object(
  { length: Type.Optional(Type.Enum([...REPORT_LENGTHS], { description: "Default: `weekly`." })) },
  { additionalProperties: false },
);

const ReportPreview = Type.Object({ subject: Type.String(), text: Type.String() });
export type ReportPreview = Static<typeof ReportPreview>;

const REPORT = "/projects/{project}/report";

export const reportRoutes = {
  getReport: route({
    method: "GET",
    path: REPORT,
    access: "view",
    keys: "readWrite",
    tag: "History",
    summary: "Get a report of a project",
    description: "Returns which checks have noisy alerts, and which are getting slower.",
    query: ReportQuery,
    success: { status: 200, description: "The report.", schema: Report },
  }),
  exportReportCsv: route({
    method: "GET",
    path: `${REPORT}.csv`,
    access: "view",
    keys: "readWrite",
    tag: "History",
    summary: "Export a report as CSV",
    query: ReportQuery,
    success: {
      status: 200,
      description: "A line for each listed check.",
      schema: Type.String(),
      type: "text/csv; charset=utf-8",
    },
  }),
  previewReport: route({
    method: "GET",
    path: "/account/report-preview",
    access: "account",
    keys: null,
    tag: "Account",
    summary: "Preview a report email",
    description: "Returns the report email about all your projects as it would be sent now. Nothing is sent.",
    query: PreviewQuery,
    success: { status: 200, description: "The email.", schema: ReportPreview },
  }),
} as const;
