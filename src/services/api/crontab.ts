// Imports a crontab: shows the jobs found, creates a check for each chosen job, and returns the crontab with a ping added
// to each of them. The crontab is not stored.
import { pingUrl } from "../../contract/urls.ts";
import type { checkRoutes, CrontabChecks, CrontabImport, FoundJobs } from "../../contract/api/checks.ts";
import { curlLine } from "../../contract/api/words.ts";
import { AppError } from "../../core/errors.ts";
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
import { sentenceOf } from "./params.ts";
import type { ApiHandlers, ApiRequest } from "./route.ts";

const REASONS: Readonly<Record<LeftOutReason, string>> = {
  reboot: "runs at startup (@reboot), not on a schedule",
  schedule: "has no valid schedule",
  zone: "uses an unknown CRON_TZ",
  command: "has no command",
  many: `exceeds the limit of ${CRONTAB_JOBS_MAX} jobs per import; import it separately`,
};

function scheduleWarnings(schedule: string): string[] {
  return scheduleNotes(schedule)
    .filter(({ kind }) => kind === "single")
    .map(noteSentence);
}

export const crontabHandlers: Pick<ApiHandlers<typeof checkRoutes>, "readCrontab" | "importCrontab"> = {
  readCrontab: async ({ body: { text, tz: zone }, now }) => {
    const { jobs, leftOut } = readCrontab(text);
    const found: FoundJobs = {
      jobs: jobs.flatMap(({ line, name, schedule, tz, command }) => {
        const read = parseSchedule({ text: schedule, tz: tz ?? zone });
        if (read === null) return [];
        const about = {
          sentence: describeSchedule(read),
          nextAt: nextAfter(read, now),
          warnings: [pipeWarning(command), ...scheduleWarnings(schedule)].filter((one) => one !== null),
        };
        return [{ line, name, schedule, tz: read.tz, ...about }];
      }),
      skipped: leftOut.map(({ why, ...where }) => ({ ...where, reason: REASONS[why] })),
    };
    return { json: found };
  },
  importCrontab: async (request) => {
    const { context, body, now } = request;
    const chosen = readCrontab(body.text).jobs.filter(({ line }) => body.lines.includes(line));
    if (chosen.length === 0) throw new AppError("invalid", "No jobs found in the crontab.", "lines");
    const { made, error } = await makeAll(request, chosen);
    const found = await findLeanChecks(context.database, [...made.values()]);
    const reports = new Map(
      chosen.flatMap(({ line, command }) => {
        const uuid = made.get(line);
        if (uuid === undefined) return [];
        return [[line, { command, report: pingCommand(pingUrl(context.urls, uuid)) }]];
      }),
    );
    const { text: crontab, unchanged } = withReports(body.text, reports);
    const answer: CrontabChecks = {
      checks: rowsOf(found, now),
      crontab,
      unchanged: unchanged.map((line) => ({ line, pingCommand: reports.get(line)?.report ?? "" })),
      error,
    };
    return { json: answer };
  },
};

type Made = { made: Map<number, string>; error: string | null };

/** Stops at the first error: the rest would fail for the same reason. Throws it if no check was created. */
async function makeAll(
  request: ApiRequest<(typeof checkRoutes)["importCrontab"]>,
  jobs: readonly CrontabJob[],
): Promise<Made> {
  const { tz: zone }: CrontabImport = request.body;
  const made = new Map<number, string>();
  for (const { line, name, schedule, tz, about } of jobs) {
    try {
      const { uuid } = await makeCheck(request, { name, schedule, tz: tz ?? zone, desc: about });
      made.set(line, uuid);
    } catch (error) {
      if (made.size > 0 && error instanceof AppError) return { made, error: sentenceOf(error.message) };
      throw error;
    }
  }
  return { made, error: null };
}

/** Reports the exit status of the job, whatever it is. */
function pingCommand(url: string): string {
  return curlLine(`${url}/$?`, { isQuiet: true });
}
