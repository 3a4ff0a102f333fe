// Reads a crontab as cron does: its jobs with schedule, zone and a name for people, and the lines that are no job that
// can be watched. The text itself is never changed here.

import { CRONTAB_JOBS_MAX } from "../../limits.ts";
import { expandMacro } from "../macros.ts";
import { isValidSchedule } from "../schedule.ts";
import { zoneOf } from "../zone.ts";
import { jobName } from "./job-name.ts";

export type CrontabJob = {
  /** Counted from 1, as editors do. */
  line: number;
  schedule: string;
  /** What the crontab itself says (`CRON_TZ`); null: the zone of the machine. */
  tz: string | null;
  command: string;
  /** Different from all others of the same crontab. */
  name: string;
  /** The comment above it; empty without one. */
  about: string;
};

/** Why a line is left out: it has no time, its time or zone cannot be read, nothing is run, or there are too many. */
export type LeftOutReason = "reboot" | "schedule" | "zone" | "command" | "many";
export type LeftOutLine = { line: number; text: string; why: LeftOutReason };
export type Crontab = { jobs: CrontabJob[]; leftOut: LeftOutLine[] };

const SETTING = /^[A-Za-z_][A-Za-z0-9_]*\s*=/;
const ZONE_SETTING = /^CRON_TZ\s*=(.*)$/;
const QUOTED = /^(["'])(.*)\1$/;
const FIVE_FIELDS = /^((?:[^\s]+\s+){4}[^\s]+)(?:\s+(.*))?$/;
const ONE_FIELD = /^(@[a-z]+)(?:\s+(.*))?$/;
const USER_AND_COMMAND = /^[^\s]+\s+(.*)$/;
/** The columns of a system's crontab, as its usual heading names them, and the user nearly all of its jobs run as. */
const USERS_HEADING = /^#.*\buser(-name)?\s+command\b/m;
const ROOT_COLUMN = /^[ \t]*(?:@[a-z]+|[^\s#]+(?:[ \t]+[^\s]+){4})[ \t]+root[ \t]+\S/m;
/** The heading of a user's own: it describes no job. */
const COLUMNS_HEADING = /\bdom\s+mon\s+dow\b|^[-#*=.|\s]*$/;

/** Every line is a job, is left out for a reason, or is none of cron's business. */
export function readCrontab(text: string): Crontab {
  const found: Crontab = { jobs: [], leftOut: [] };
  const hasUsers = USERS_HEADING.test(text) || ROOT_COLUMN.test(text);
  const taken = new Set<string>();
  let tz: string | null = null;
  let about: string[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const content = raw.trim();
    if (content.startsWith("#")) {
      about.push(...commentOf(content));
      continue;
    }
    tz = zoneSetBy(content) ?? tz;
    if (content !== "" && !SETTING.test(content)) {
      const read = readJob(content, { hasUsers, tz });
      const line = index + 1;
      if (typeof read === "string") found.leftOut.push({ line, text: content, why: read });
      else if (found.jobs.length === CRONTAB_JOBS_MAX)
        found.leftOut.push({ line, text: content, why: "many" });
      else {
        const name = unlike(taken, jobName(read.command));
        found.jobs.push({ line, ...read, name, about: about.join("\n") });
      }
    }
    about = [];
  }
  return found;
}

function zoneSetBy(content: string): string | null {
  const value = ZONE_SETTING.exec(content)?.[1]?.trim();
  return value === undefined ? null : (QUOTED.exec(value)?.[2] ?? value);
}

type Read = Pick<CrontabJob, "schedule" | "tz" | "command">;

function readJob(
  content: string,
  { hasUsers, tz }: { hasUsers: boolean; tz: string | null },
): Read | LeftOutReason {
  const [, when, rest = ""] = ONE_FIELD.exec(content) ?? FIVE_FIELDS.exec(content) ?? [];
  if (when === "@reboot") return "reboot";
  const schedule = when === undefined ? "" : (expandMacro(when) ?? when.replace(/\s+/g, " "));
  if (!isValidSchedule(schedule, { oncalendar: false })) return "schedule";
  if (tz !== null && zoneOf(tz) === null) return "zone";
  const command = hasUsers ? (USER_AND_COMMAND.exec(rest)?.[1] ?? "") : rest;
  return command === "" ? "command" : { schedule, tz, command };
}

/** What a comment says of the job below it. One that is a job itself, switched off, says nothing. */
function commentOf(content: string): string[] {
  const said = content.replace(/^#+\s?/, "").trim();
  const isSaying =
    !COLUMNS_HEADING.test(said) && typeof readJob(said, { hasUsers: false, tz: null }) === "string";
  return isSaying ? [said] : [];
}

function unlike(taken: Set<string>, name: string): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name} ${count}`;
  taken.add(free);
  return free;
}
