// Crontabs: reads their jobs, names them, and recognizes lines that already report.
import { hasSlugCharacters, uuidOfAnyCase } from "../identity.ts";
import { CRONTAB_JOBS_MAX, PING_KEY_LENGTH } from "../limits.ts";
import { expandMacro } from "./cron.ts";
import { isShellWord, jobName, REPORTERS, splitInput, WRAPPERS } from "./job-name.ts";
import { isValidSchedule } from "./schedule.ts";
import { zoneOf } from "./zone.ts";

export type CrontabJob = {
  /** Counted from 1, as editors do. */
  line: number;
  schedule: string;
  /** Time zone from `CRON_TZ`; null: the zone of the machine. */
  tz: string | null;
  /** From `SHELL`; null: the default of cron. */
  shell: string | null;
  /** From the user column; null without one. */
  user: string | null;
  /** The end of the line. */
  command: string;
  /** Unique within the crontab. */
  name: string;
  /** The comment above it; empty without one. */
  about: string;
};

/** A line that already sends pings. */
export type ReportingLine = {
  line: number;
  name: string;
  /** The program that sends them, or "URL". */
  by: string;
  /** The UUID or slug of the check; null if the line does not contain it. */
  check: string | null;
};

/**
 * Why a line is left out: it has no time, its time or zone cannot be read, nothing is run, it runs in the background, a
 * comment excludes it, or there are too many.
 */
export type LeftOutReason = "reboot" | "schedule" | "zone" | "command" | "background" | "ignored" | "many";

/** The end of a sentence that begins with the line. */
export const LEFT_OUT_REASONS: Readonly<Record<LeftOutReason, string>> = {
  reboot: "runs at startup (@reboot), not on a schedule",
  schedule: "has no valid schedule",
  zone: "uses an unknown CRON_TZ",
  command: "has no command",
  background: "runs in the background (&), so its result is unknown",
  ignored: "is excluded by “# overdue: ignore”",
  many: `exceeds the limit of ${CRONTAB_JOBS_MAX} jobs per crontab`,
};

export type LeftOutLine = { line: number; text: string; why: LeftOutReason };
export type Crontab = { jobs: CrontabJob[]; reporting: ReportingLine[]; leftOut: LeftOutLine[] };

/** Whether each line has a user before the command. "guess": decided line by line, for a text of unknown origin. */
export type HasUsers = boolean | "guess";

const SETTING = /^([A-Za-z_][A-Za-z0-9_]*|"[^"]*"|'[^']*')\s*=(.*)$/;
const QUOTED = /^(["'])(.*)\1$/;
const FIVE_FIELDS = /^((?:[^\s]+\s+){4}[^\s]+)(?:\s+(.*))?$/;
const ONE_FIELD = /^(@[a-z]+)(?:\s+(.*))?$/;
const USER_AND_COMMAND = /^([^\s]+)\s+(.*)$/;
/** The columns of a system's crontab, as its usual heading names them. */
const USERS_HEADING = /^#.*\buser(?:-name)?\s+command\b/;
/** The heading of a user's own: it describes no job. */
const COLUMNS_HEADING = /\bdom\s+mon\s+dow\b|^[-#*=.|\s]*$/;
const IGNORE = /^overdue:\s*ignore\b/i;
const IGNORE_AT_END = /(?:^|\s)#\s?overdue:\s?ignore$/i;

/** Every line is a job, already reports, is left out for a reason, or is irrelevant to cron. */
export function readCrontab(text: string, { hasUsers }: { hasUsers: HasUsers }): Crontab {
  const found: Crontab = { jobs: [], reporting: [], leftOut: [] };
  const jobs: Omit<CrontabJob, "name">[] = [];
  const reporting: { line: number; command: string; ping: Ping }[] = [];
  const settings = { tz: null as string | null, shell: null as string | null };
  let isHeaded = false;
  let about: string[] = [];
  let isIgnored = false;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const content = raw.trim();
    if (content.startsWith("#")) {
      isHeaded ||= USERS_HEADING.test(content);
      const said = commentOf(content);
      isIgnored ||= said.some((one) => IGNORE.test(one));
      about.push(...said);
      continue;
    }
    const line = index + 1;
    const setting = SETTING.exec(content);
    if (setting !== null) applySetting(settings, setting);
    else if (content !== "") {
      const users = hasUsers === "guess" && isHeaded ? true : hasUsers;
      const read = readJob(content, { hasUsers: users, ...settings });
      const leaveOut = (why: LeftOutReason) => found.leftOut.push({ line, text: content, why });
      if (typeof read === "string") leaveOut(read);
      else {
        const ping = pingOf(read.command);
        if (ping !== null) reporting.push({ line, command: read.command, ping });
        else if (isIgnored || IGNORE_AT_END.test(content)) leaveOut("ignored");
        else if (isInBackground(splitInput(read.command).run)) leaveOut("background");
        else if (jobs.length === CRONTAB_JOBS_MAX) leaveOut("many");
        else jobs.push({ line, ...read, about: about.join("\n") });
      }
    }
    about = [];
    isIgnored = false;
  }
  // Names of lines that report are taken already, so that a new line with the same name gets another one.
  const taken = new Map<string, number>();
  found.reporting = reporting.map(({ line, command, ping }) => {
    return { line, name: uniqueName(taken, jobName(command)), ...ping };
  });
  found.jobs = jobs.map((job) => ({ ...job, name: uniqueName(taken, jobName(job.command)) }));
  return found;
}

function applySetting(
  settings: { tz: string | null; shell: string | null },
  [, name = "", text = ""]: RegExpExecArray,
): void {
  const value = unquoted(text.trim());
  const key = unquoted(name);
  if (key === "CRON_TZ") settings.tz = value;
  if (key === "SHELL") settings.shell = value;
}

function unquoted(text: string): string {
  return QUOTED.exec(text)?.[2] ?? text;
}

const IN_BACKGROUND = /(?<!&)&\s*$/;

/** Whether the shell does not wait for the command. */
export function isInBackground(command: string): boolean {
  return IN_BACKGROUND.test(command);
}

type Read = Pick<CrontabJob, "schedule" | "tz" | "shell" | "user" | "command">;

function readJob(
  content: string,
  { hasUsers, tz, shell }: { hasUsers: HasUsers; tz: string | null; shell: string | null },
): Read | LeftOutReason {
  const [, when, rest = ""] = ONE_FIELD.exec(content) ?? FIVE_FIELDS.exec(content) ?? [];
  if (when === "@reboot") return "reboot";
  const schedule = when === undefined ? "" : (expandMacro(when) ?? when.replace(/\s+/g, " "));
  if (!isValidSchedule(schedule, { oncalendar: false })) return "schedule";
  if (tz !== null && zoneOf(tz) === null) return "zone";
  const hasUser = hasUsers === "guess" ? beginsWithUser(rest) : hasUsers;
  const [, user = null, after = ""] = (hasUser ? USER_AND_COMMAND.exec(rest) : null) ?? [];
  const command = hasUser ? after : rest;
  return command === "" ? "command" : { schedule, tz, shell, user, command };
}

/** Users that are no programs. */
const USERS = new Set("root www-data nobody daemon apache ubuntu debian ec2-user centos _apt".split(" "));
/** Users that are programs, too: only before a path to a program. */
const USERS_OR_PROGRAMS = new Set("postgres mysql git backup mail news man".split(" "));
const PATH_OF_PROGRAM = /^\/(?:\S*\/)?s?bin\//;
/** No program takes one of these as its first argument. */
const BEGINS_COMMAND = new Set(["cd", "[", "[[", "umask", "export"]);

/** Whether the sixth word is a user, as in /etc/crontab. In doubt it is the command. */
function beginsWithUser(rest: string): boolean {
  const [word = "", next = ""] = rest.split(/\s+/, 2);
  if (next === "") return false;
  if (USERS.has(word)) return true;
  if (USERS_OR_PROGRAMS.has(word) && PATH_OF_PROGRAM.test(next)) return true;
  return BEGINS_COMMAND.has(next) && isShellWord(word) && !WRAPPERS.has(word);
}

/** The comment above a job. A commented-out job is not one. */
function commentOf(content: string): string[] {
  const said = content.replace(/^#+\s?/, "").trim();
  const isSaying =
    !COLUMNS_HEADING.test(said) &&
    typeof readJob(said, { hasUsers: false, tz: null, shell: null }) === "string";
  return isSaying ? [said] : [];
}

/** With the last number of each name: counting from the first takes long for thousands of equal lines. */
function uniqueName(taken: Map<string, number>, name: string): string {
  let count = taken.get(name) ?? 0;
  let free = name;
  while (taken.has(free)) {
    count += 1;
    free = `${name} ${count}`;
  }
  taken.set(name, count).set(free, 1);
  return free;
}

// Lines that already report: with a ping URL in any command, or with a program that runs the job.

type Ping = Pick<ReportingLine, "by" | "check">;

const BETWEEN_WORDS = /[\s'"=;|&<>()`]+/;
const HTTP_CLIENTS = new Set(["curl", "wget", "http", "xh", "fetch"]);
/** Where ping URLs have no scheme, or a ping key instead of a UUID without `/ping` before it. */
const HOSTED = /^(?:https?:\/\/)?hc-ping\.com$/;
const PING_KEY = /^[A-Za-z0-9_-]+$/;

/** Whether a command sends pings. */
export function isPingCommand(command: string): boolean {
  return pingOf(command) !== null;
}

/** What the command reports to; null if it does not report. */
function pingOf(command: string): Ping | null {
  const words = command.split(BETWEEN_WORDS);
  const names = words.map((word) => word.slice(word.lastIndexOf("/") + 1));
  const reporter = names.findIndex(
    (name, index) =>
      REPORTERS.has(name) || (name === "overdue" && ["exec", "ping"].includes(words[index + 1] ?? "")),
  );
  if (reporter !== -1) {
    const by = names[reporter] === "overdue" ? `overdue ${words[reporter + 1]}` : (names[reporter] ?? "");
    return { by, check: valueOf(words, UUID_FLAGS) ?? valueOf(words, SLUG_FLAGS) };
  }
  for (const word of words) {
    const check = targetOf(word);
    if (check !== null) return { by: names.find((name) => HTTP_CLIENTS.has(name)) ?? "URL", check };
  }
  return null;
}

const UUID_FLAGS: readonly string[] = ["-uuid", "--uuid", "CHECK_UUID"];
const SLUG_FLAGS: readonly string[] = ["-slug", "--slug", "CHECK_SLUG"];

function valueOf(words: readonly string[], flags: readonly string[]): string | null {
  const at = words.findIndex((word) => flags.includes(word));
  return at === -1 ? null : (words[at + 1] ?? null);
}

/** The check of a ping URL; null for any other word. */
function targetOf(word: string): string | null {
  const scheme = /^https?:\/\//.exec(word)?.[0] ?? "";
  const [path = ""] = word.slice(scheme.length).split(/[?#]/, 1);
  const [host = "", ...parts] = path.split("/");
  if (scheme === "" && !HOSTED.test(host)) return null;
  for (const [index, part] of parts.entries()) {
    const isFirst = index === 0;
    const isAfterPing = parts[index - 1] === "ping";
    const uuid = isFirst || isAfterPing ? uuidOfAnyCase(part) : null;
    if (uuid !== null) return uuid;
    const slug = parts[index + 1] ?? "";
    if ((isAfterPing || (isFirst && HOSTED.test(host))) && isPingKey(part) && isSlug(slug)) return slug;
  }
  return null;
}

/** Whether a part of a URL can be what follows the base of ping URLs. */
export function isPingTarget(part: string): boolean {
  return uuidOfAnyCase(part) !== null || isPingKey(part);
}

function isPingKey(part: string): boolean {
  return part.length === PING_KEY_LENGTH && PING_KEY.test(part);
}

function isSlug(part: string): boolean {
  return part !== "" && hasSlugCharacters(part);
}
