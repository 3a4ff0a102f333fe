// Imports a crontab: shows the jobs found, creates a check for each chosen job, and returns the crontab with a ping added
// to each of them. The crontab is not stored.
import { pingUrl } from "../../contract/urls.ts";
import {
  type CrontabChecks,
  CrontabChecksRequest,
  CrontabRequest,
  type FoundJobs,
} from "../../contract/api/checks.ts";
import { curlLine } from "../../contract/api/words.ts";
import { CRONTAB_JOBS_MAX } from "../../core/limits.ts";
import {
  type CrontabJob,
  type LeftOutReason,
  pipeWarning,
  readCrontab,
  withReports,
} from "../../core/schedule/crontab.ts";
import { nextAfter, parseSchedule } from "../../core/schedule/schedule.ts";
import { describeSchedule, noteSentence, scheduleNotes } from "../../core/schedule/wording.ts";
import { findLeanChecks } from "../../store/check-lists.ts";
import { makeCheck } from "./check-changes.ts";
import { rowsOf } from "./check-rows.ts";
import { type ProjectRequest, projectRoute, WebRefusal, type WebRoute } from "../web/route.ts";

const CREATED = 201;

const WHY: Readonly<Record<LeftOutReason, string>> = {
  reboot: "runs at startup (@reboot), not on a schedule",
  schedule: "has no valid schedule",
  zone: "uses an unknown CRON_TZ",
  command: "has no command",
  many: `exceeds the limit of ${CRONTAB_JOBS_MAX} jobs per import; import it separately`,
};

const find = projectRoute({
  name: "read crontab",
  method: "POST",
  path: "/web/api/projects/:project/crontab",
  access: "editChecks",
  body: CrontabRequest,
  answer: async ({ body: { text, tz: zone }, now }) => {
    const { jobs, leftOut } = readCrontab(text);
    const found: FoundJobs = {
      jobs: jobs.flatMap(({ line, name, schedule, tz, command }) => {
        const read = parseSchedule({ text: schedule, tz: tz ?? zone });
        if (read === null) return [];
        const said = {
          sentence: describeSchedule(read),
          nextAt: nextAfter(read, now),
          warnings: [pipeWarning(command), ...scheduleWarnings(schedule)].filter((one) => one !== null),
        };
        return [{ line, name, schedule, tz: read.tz, ...said }];
      }),
      leftOut: leftOut.map(({ why, ...where }) => ({ ...where, why: WHY[why] })),
    };
    return { json: found };
  },
});

function scheduleWarnings(schedule: string): string[] {
  return scheduleNotes(schedule)
    .filter(({ kind }) => kind === "single")
    .map(noteSentence);
}

const make = projectRoute({
  name: "create checks of crontab",
  method: "POST",
  path: "/web/api/projects/:project/crontab/checks",
  access: "editChecks",
  body: CrontabChecksRequest,
  answer: async (request) => {
    const { context, body, now } = request;
    const chosen = readCrontab(body.text).jobs.filter(({ line }) => body.lines.includes(line));
    if (chosen.length === 0) throw new WebRefusal("invalid", "No jobs found in the crontab.", "lines");
    const { made, refused } = await makeAll(request, chosen);
    const found = await findLeanChecks(context.database, [...made.values()]);
    const reports = new Map(
      chosen.flatMap(({ line, command }) => {
        const uuid = made.get(line);
        return uuid === undefined ? [] : [[line, { command, report: report(pingUrl(context.urls, uuid)) }]];
      }),
    );
    const { text: crontab, unchanged } = withReports(body.text, reports);
    const answer: CrontabChecks = {
      rows: rowsOf(found, now),
      crontab,
      unchanged: unchanged.map((line) => ({ line, report: reports.get(line)?.report ?? "" })),
      refused,
    };
    return { status: CREATED, json: answer };
  },
});

type Made = { made: Map<number, string>; refused: string | null };

/** Until one is refused: the rest would be refused for the same reason. Without a single one it is the answer. */
async function makeAll(
  request: ProjectRequest & { body: { tz: string } },
  jobs: readonly CrontabJob[],
): Promise<Made> {
  const made = new Map<number, string>();
  for (const { line, name, schedule, tz, about } of jobs) {
    try {
      const { uuid } = await makeCheck(request, { name, schedule, tz: tz ?? request.body.tz, desc: about });
      made.set(line, uuid);
    } catch (error) {
      if (made.size > 0 && error instanceof WebRefusal) return { made, refused: error.message };
      throw error;
    }
  }
  return { made, refused: null };
}

/** Tells how the job ended, whatever that was. */
function report(address: string): string {
  return curlLine(`${address}/$?`, { isQuiet: true });
}

export const crontabRoutes: readonly WebRoute[] = [find, make];
