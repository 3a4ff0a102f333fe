// Realistic jobs: name, schedule, duration and recent failures. Generated from a fixed seed, so that two screenshots of
// the same page differ only where the page does.
import type { CheckParams } from "../../src/core/check.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";
import { nextAfter, parseSchedule } from "../../src/core/schedule/schedule.ts";

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** The state of a job now. */
export type Ending = "well" | "late" | "silent" | "failed" | "running" | "paused" | "new";

export type Job = {
  params: CheckParams;
  ending: Ending;
  /** Of a usual run; null: the job only sends a success ping. */
  durationMs: number | null;
  /** The share of runs that fail, and of those that are missing. */
  failing?: number;
  missing?: number;
  by?: "http" | "email";
  ua?: string;
  body?: (ok: boolean) => string;
};

const BACKUP_BODY = (ok: boolean) =>
  ok
    ? "repository db-1 opened\nFiles:         184 new,    23 changed, 91822 unmodified\nAdded to the repository: 412.7 MiB\nprocessed 92029 files, 61.254 GiB in 12:41\nsnapshot 7be1f0c2 saved\n"
    : "repository db-1 opened\nFatal: unable to save snapshot: write /mnt/backup/data/3f: no space left on device\n";
const INVOICE_BODY = (ok: boolean) =>
  ok
    ? "rendered 214 invoices, sent 214\n"
    : 'rendered 214 invoices, sent 131\nsmtp: 421 4.7.0 Try again later, closing connection\nTraceback (most recent call last):\n  File "send.py", line 88, in <module>\n    deliver(batch)\nRelayError: 83 invoices left\n';

export const JOBS: readonly Job[] = [
  {
    params: {
      name: "Nightly backup",
      tags: "prod backup",
      schedule: "30 2 * * *",
      tz: "Europe/Berlin",
      desc: "restic of db-1 to the other site. Runbook: wiki/backup",
    },
    ending: "well",
    durationMs: 13 * MINUTE_MS,
    missing: 0.02,
    body: BACKUP_BODY,
    ua: "curl/8.14.1",
  },
  {
    params: {
      name: "Restore drill",
      tags: "prod backup",
      schedule: "0 5 * * 0",
      graceSeconds: 6 * HOUR_SECONDS,
    },
    ending: "well",
    durationMs: 48 * MINUTE_MS,
    ua: "runitor/1.4.1 (+https://bdd.fi/x/runitor)",
  },
  {
    params: {
      name: "Database vacuum",
      tags: "prod db",
      timeoutSeconds: DAY_SECONDS,
      graceSeconds: 2 * HOUR_SECONDS,
    },
    ending: "late",
    durationMs: 21 * MINUTE_MS,
    ua: "Wget/1.21.3",
  },
  {
    params: {
      name: "Send invoices",
      tags: "prod billing",
      schedule: "Mon..Fri 09:00",
      tz: "America/New_York",
    },
    ending: "failed",
    durationMs: 6 * MINUTE_MS,
    failing: 0.06,
    body: INVOICE_BODY,
    ua: "python-requests/2.32.4",
  },
  {
    params: {
      name: "Certificate renewal",
      tags: "prod tls",
      timeoutSeconds: 7 * DAY_SECONDS,
      graceSeconds: DAY_SECONDS,
    },
    ending: "well",
    durationMs: 9 * SECOND_MS,
    ua: "curl/8.14.1",
  },
  {
    params: { name: "Search index", tags: "prod search", timeoutSeconds: HOUR_SECONDS, graceSeconds: 1_200 },
    ending: "running",
    durationMs: 95 * SECOND_MS,
    failing: 0.01,
    ua: "Go-http-client/2.0",
  },
  {
    params: { name: "Queue worker heartbeat", tags: "prod queue", timeoutSeconds: 900, graceSeconds: 900 },
    ending: "well",
    durationMs: null,
    ua: "okhttp/5.1.0",
  },
  {
    params: { name: "Log rotation", tags: "ops", schedule: "*-*-* 00:05:00" },
    ending: "well",
    durationMs: 4 * SECOND_MS,
    ua: "curl/7.88.1",
  },
  {
    params: {
      name: "Fetch exchange rates",
      tags: "prod billing",
      schedule: "15 */4 * * *",
      graceSeconds: 1_200,
    },
    ending: "silent",
    durationMs: 2 * SECOND_MS,
    failing: 0.03,
    missing: 0.02,
    ua: "node",
  },
  {
    params: { name: "Clean staging", tags: "staging", timeoutSeconds: DAY_SECONDS, manualResume: true },
    ending: "paused",
    durationMs: 3 * MINUTE_MS,
    ua: "curl/8.14.1",
  },
  {
    params: { name: "NAS self test", tags: "home mail", subject: "PASSED", subjectFail: "FAILED, ERROR" },
    ending: "new",
    durationMs: null,
  },
  {
    params: { name: "Deployment hook", tags: "ops", methods: "POST", timeoutSeconds: 30 * DAY_SECONDS },
    ending: "well",
    durationMs: null,
    ua: "GitHub-Hookshot/4a1c",
  },
];

/** A past or current run: starts at `at`, ends after `durationMs` (null while it runs, or with a single ping). */
export type PastRun = { at: Instant; durationMs: number | null; ok: boolean; isRunning: boolean };

/** Between 0 and 1, the same for the same number. */
export function draw(n: number): number {
  const x = Math.sin(n * 12.9898) * 43_758.5453;
  return x - Math.floor(x);
}

/** More runs of one job would be trimmed. */
const RUNS_MAX = 240;

/** The runs of a job in the days before `now`, oldest first, with the job's final state. */
export function runsOf(
  job: Job,
  { days, now, salt }: { days: number; now: Instant; salt: number },
): PastRun[] {
  if (job.ending === "new") return [];
  const times = expectedTimes(job, { from: now - days * DAY_MS, to: now, salt }).slice(-RUNS_MAX);
  const runs = times.map((at, index): PastRun => {
    const luck = draw(salt * 7_919 + index);
    const duration = job.durationMs === null ? null : Math.round(job.durationMs * (0.8 + 0.5 * luck * luck));
    return { at, durationMs: duration, ok: luck >= (job.failing ?? 0), isRunning: false };
  });
  const kept = runs.filter((_, index) => draw(salt * 104_729 + index) >= (job.missing ?? 0));
  return endAs(job.ending, kept, now);
}

function endAs(ending: Ending, runs: PastRun[], now: Instant): PastRun[] {
  const last = runs.at(-1);
  if (last === undefined) return runs;
  const before = runs.slice(0, -1).filter(({ at, durationMs }) => at + (durationMs ?? 0) < now - MINUTE_MS);
  if (ending === "failed") return [...before, { ...last, ok: false }];
  if (ending === "running") return [...before, { ...last, at: now - 70 * SECOND_MS, isRunning: true }];
  if (ending === "silent") return runs.slice(0, -2);
  return [...before, last].filter(({ at, durationMs }) => at + (durationMs ?? 0) < now);
}

function expectedTimes(
  { params, ending }: Job,
  { from, to, salt }: { from: Instant; to: Instant; salt: number },
): Instant[] {
  const times: Instant[] = [];
  if (params.schedule !== undefined) {
    const schedule = parseSchedule({ text: params.schedule, tz: params.tz ?? "UTC" });
    for (let at = schedule && nextAfter(schedule, from); at !== null && at < to; ) {
      times.push(at + Math.round(draw(salt + at / HOUR_MS) * 40 * SECOND_MS));
      at = schedule && nextAfter(schedule, at);
    }
    return times;
  }
  const everyMs = (params.timeoutSeconds ?? DAY_SECONDS) * SECOND_MS;
  const graceMs = (params.graceSeconds ?? HOUR_SECONDS) * SECOND_MS;
  // Counted back from the last one, so that it matches the final state.
  const share = ending === "running" ? 0.1 : 0.15 + 0.6 * draw(salt);
  const sinceLast = ending === "late" ? everyMs + graceMs / 3 : everyMs * share;
  const step = everyMs * 0.98;
  const first = Math.max(from, to - sinceLast - step * RUNS_MAX);
  for (let at = to - sinceLast; at > first; at -= step) {
    times.unshift(Math.round(at - draw(salt + times.length) * Math.min(everyMs, HOUR_MS) * 0.02));
  }
  return times;
}
