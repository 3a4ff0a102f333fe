// Imports a crontab: shows the jobs found, creates a check for each chosen job, and returns the crontab with a ping added
// to each of them. The crontab is not stored.
import { pingUrl } from "../../contract/urls.ts";
import type { checkRoutes, CrontabChecks, CrontabImport, FoundJobs } from "../../contract/api/checks.ts";
import { curlLine, runLine } from "../../contract/api/words.ts";
import { proposedGrace } from "../../core/discovery.ts";
import { AppError } from "../../core/errors.ts";
import { pipeWarning, withReports, withWrappers } from "../../core/schedule/crontab-lines.ts";
import { type CrontabJob, LEFT_OUT_REASONS, readCrontab } from "../../core/schedule/crontab.ts";
import { nextAfter, parseSchedule } from "../../core/schedule/schedule.ts";
import { describeSchedule, noteSentence, scheduleNotes } from "../../core/schedule/wording.ts";
import { findLeanChecks } from "../../store/check-lists.ts";
import { makeCheck } from "./check-changes.ts";
import { rowsOf } from "./check-rows.ts";
import { sentenceOf } from "./params.ts";
import type { ApiHandlers, ApiRequest } from "./route.ts";

function scheduleWarnings(schedule: string): string[] {
  return scheduleNotes(schedule)
    .filter(({ kind }) => kind === "single")
    .map(noteSentence);
}

/** Pasted text can come from /etc/crontab, too. */
const PASTED = { hasUsers: "guess" } as const;

export const crontabHandlers: Pick<ApiHandlers<typeof checkRoutes>, "readCrontab" | "importCrontab"> = {
  readCrontab: async ({ body: { text, tz: zone }, now }) => {
    const { jobs, reporting, leftOut } = readCrontab(text, PASTED);
    const found: FoundJobs = {
      jobs: jobs.flatMap(({ line, name, schedule, tz, command }) => {
        const read = parseSchedule({ text: schedule, tz: tz ?? zone });
        if (read === null) return [];
        const about = {
          graceSeconds: proposedGrace({ schedule, tz: read.tz }, now),
          sentence: describeSchedule(read),
          nextAt: nextAfter(read, now),
          warnings: [pipeWarning(command, { isRewritten: true }), ...scheduleWarnings(schedule)].filter(
            (one) => one !== null,
          ),
        };
        return [{ line, name, schedule, tz: read.tz, ...about }];
      }),
      reporting,
      skipped: leftOut.map(({ why, ...where }) => ({ ...where, reason: LEFT_OUT_REASONS[why] })),
    };
    return { json: found };
  },
  importCrontab: async (request) => {
    const { context, body, now } = request;
    const chosen = chosenJobs(body);
    if (chosen.length === 0) throw new AppError("invalid", "No jobs found in the crontab.", "jobs");
    const { made, error } = await makeAll(request, chosen);
    const found = await findLeanChecks(context.database, [...made.values()]);
    const reports = new Map<number, { command: string; report: string }>();
    const wrappers = new Map<number, { job: CrontabJob; wrapper: string }>();
    for (const { job } of chosen) {
      const uuid = made.get(job.line);
      if (uuid === undefined) continue;
      reports.set(job.line, { command: job.command, report: pingCommand(pingUrl(context.urls, uuid)) });
      wrappers.set(job.line, { job, wrapper: runLine({ base: context.urls.ping, uuid }) });
    }
    const { text: crontab, unchanged } = withReports(body.text, reports);
    const wrapped = withWrappers(body.text, wrappers, { ownStatus: true });
    const answer: CrontabChecks = {
      checks: rowsOf(found, now),
      crontab,
      unchanged: unchanged.map((line) => ({ line, pingCommand: reports.get(line)?.report ?? "" })),
      wrapped: {
        crontab: wrapped.text,
        unchanged: wrapped.unchanged.map((line) => ({ line, command: wrappers.get(line)?.wrapper ?? "" })),
      },
      error,
    };
    return { json: answer };
  },
};

type Chosen = { job: CrontabJob; given: CrontabImport["jobs"][number] };

/** The jobs of the request, in the order of the crontab. */
function chosenJobs({ text, jobs }: CrontabImport): Chosen[] {
  const given = new Map(jobs.map((job) => [job.line, job]));
  return readCrontab(text, PASTED).jobs.flatMap((job) => {
    const own = given.get(job.line);
    return own === undefined ? [] : [{ job, given: own }];
  });
}

type Made = { made: Map<number, string>; error: string | null };

/** Stops at the first error: the rest would fail for the same reason. Throws it if no check was created. */
async function makeAll(
  request: ApiRequest<(typeof checkRoutes)["importCrontab"]>,
  chosen: readonly Chosen[],
): Promise<Made> {
  const { tz: zone }: CrontabImport = request.body;
  const made = new Map<number, string>();
  for (const { job, given } of chosen) {
    const timing = { schedule: job.schedule, tz: job.tz ?? zone };
    try {
      const { uuid } = await makeCheck(request, {
        ...timing,
        name: given.name ?? job.name,
        desc: job.about,
        ...(given.tags !== undefined && { tags: given.tags }),
        graceSeconds: given.graceSeconds ?? proposedGrace(timing, request.now),
      });
      made.set(job.line, uuid);
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
