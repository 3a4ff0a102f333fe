// `overdue prune`: deletes data past its retention period. The housekeeper role does the same periodically; the rules are
// in core/retention.ts.
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Config, ConfigError, type Environment, loadConfig } from "../config/config.ts";
import { retentionOf } from "../config/retention.ts";
import { MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import { DAYS_KEPT, DEFAULT_RETENTION, type RetentionDays } from "../core/retention.ts";
import type { ObjectStore } from "../lib/object-store.ts";
import { removeObjects } from "../operations/ping-bodies.ts";
import { pruneHistory } from "../operations/prune-history.ts";
import type { Database } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { findObjectRemovals } from "../store/pings.ts";
import { parseDuration } from "./arguments.ts";
import { type CommandContext, EXIT, printJson, progressLine, withDatabase } from "./command-context.ts";

const TIME_DEFAULT = "1h";
const SECONDS_MAX = 24 * 60 * 60;

/** The periods in effect. With invalid settings, which the command itself reports, the defaults. */
function retentionIn(environment: Environment): RetentionDays {
  try {
    return retentionOf(loadConfig(environment).config);
  } catch (error) {
    if (error instanceof ConfigError) return DEFAULT_RETENTION;
    throw error;
  }
}

const shown = (days: number) => String(days).padStart(4);
const kept = (sort: keyof typeof DAYS_KEPT) => shown(DAYS_KEPT[sort]);

function afterHelp(retention: RetentionDays): string {
  return `
Days after which data is deleted; those with a setting can be changed:
${retention.ping === null ? "   -" : shown(retention.ping)}  pings and their bodies (OVERDUE_PING_RETENTION_DAYS)
${shown(retention.delivery)}  deliveries, account emails, and messages to subscribers of
      status pages that were sent or have failed
      (OVERDUE_DELIVERY_RETENTION_DAYS); pending ones are kept
${shown(retention.flip)}  status changes (OVERDUE_FLIP_RETENTION_DAYS)
${shown(retention.event)}  check events and revoked API keys (OVERDUE_EVENT_RETENTION_DAYS)
${kept("incident")}  resolved incidents with their alerts, timelines, and notes
${kept("run")}  run history of checks that no longer receive pings; for other
      checks, each ping deletes expired runs
${kept("silence")}  silences, from their end on
${kept("nearMiss")}  near misses, from their last request on
${kept("deletedStatusPage")}  deleted status pages
${kept("statusPost")}  incidents and maintenance published on status pages, from their
      end on
${kept("unconfirmedSubscriber")}  subscriptions to status pages that were not confirmed
${kept("blindInterval")}  monitoring gaps and the processes they belong to
${kept("refusedInterval")}  periods in which pings for one check or from one network were
      rejected
${kept("rejectedSignal")}  quarantined pings
${kept("idempotencyKey")}  stored responses to requests with an Idempotency-Key
${kept("session")}  unused browser sessions
${kept("signIn")}  sign-in history shown on the account page
${shown(retention.auditEntry)}  audit log entries (OVERDUE_AUDIT_RETENTION_DAYS)
${kept("deletedCheck")}  checks in the trash, with their entire history
   0  objects in the object store whose pings were deleted

Independent of their age, the log of a check never exceeds OVERDUE_PING_LOG_LIMIT pings, or the account's limit.

The role housekeeper does this every hour, and the role mover deletes objects. Use this command if you do not run these roles, or to prune immediately. It is safe to run while Overdue is running, to interrupt it, and to run it more than once at a time. It works in transactions of 1,000 rows or one check.

Progress is printed to standard error, and the number of deleted rows of each kind to standard output. The exit code is 1 if some data remains because the time limit was reached or the object store failed.

Examples:
  $ overdue prune                    # run for up to an hour
  $ overdue prune --max-time 5m      # the next run continues
  $ overdue prune --quiet --json     # for a cron job`;
}

type Options = { maxTime: number; minutes?: number; quiet?: true; json?: true };

type Result = {
  removed: Record<string, number>;
  isComplete: boolean;
  /** Why something was left; null if nothing was. */
  left: string | null;
};

/** Adds the options and the action. */
export function definePrune(
  command: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  command
    .addOption(
      new Option("--max-time <duration>", "Stop after this long (exit code 1 if data remains)")
        .argParser(duration)
        .default(duration(TIME_DEFAULT), TIME_DEFAULT),
    )
    // The former name.
    .addOption(new Option("--minutes <number>").argParser(minutes).hideHelp())
    .option("--quiet", "Do not print progress")
    .option("--json", "Output JSON (deleted, complete, left)")
    .addHelpText("after", () => afterHelp(retentionIn(context.environment)))
    .action(async (options: Options) => {
      const { config } = loadConfig(context.environment);
      const result = await withDatabase(config, (database) => prune(database, { config, context, options }));
      if (!result.isComplete) setExitCode(EXIT.failed);
      if (options.json) {
        const { removed, isComplete, left } = result;
        return printJson(context, { deleted: removed, complete: isComplete, left, removed, isComplete });
      }
      context.out(`${sentenceFor(result)}\n`);
    });
}

/** Seconds. */
function duration(text: string): number {
  const seconds = parseDuration(text);
  if (seconds > 0 && seconds <= SECONDS_MAX) return seconds;
  throw new InvalidArgumentError("Expected a duration of at most 24h.");
}

function minutes(text: string): number {
  const number = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && number > 0 && number * 60 <= SECONDS_MAX) return number;
  throw new InvalidArgumentError(`Expected a number of minutes, at most ${SECONDS_MAX / 60}.`);
}

type Work = { config: Config; context: CommandContext; options: Options };

async function prune(database: Database, { config, context, options }: Work): Promise<Result> {
  const limitMs = options.minutes === undefined ? options.maxTime * SECOND_MS : options.minutes * MINUTE_MS;
  const endMs = performance.now() + limitMs;
  const hasTime = () => performance.now() < endMs;
  const removed: Record<string, number> = {};
  const line = progressLine(context, options);
  const note = (counts: Record<string, number>) => {
    for (const [kind, count] of Object.entries(counts)) removed[kind] = (removed[kind] ?? 0) + count;
    line.show(() => `deleted so far: ${listOf(removed)}`);
  };
  try {
    let left = await pruneRows(database, { hasTime, note, retention: retentionOf(config) });
    // Last, because the objects of a check become due when the check is deleted.
    const stopping = new AbortController();
    const objects = await context.openObjects(config, { signal: stopping.signal });
    left ??=
      objects === null
        ? await withoutStore(database)
        : await pruneObjects(database, objects, { hasTime, note });
    return { removed, isComplete: left === null, left };
  } finally {
    line.clear();
  }
}

type Effort = { hasTime: () => boolean; note: (counts: Record<string, number>) => void };

const TIME_IS_OVER = "the time limit was reached; run the command again to continue";

/** Repeats until a round finds nothing. Returns why something is left, or null. */
async function pruneRows(
  database: Database,
  { hasTime, note, retention }: Effort & { retention: RetentionDays },
): Promise<string | null> {
  let runsAfter = 0;
  do {
    const now = await readDatabaseClock(database);
    const round = await pruneHistory(database, { now, retention, runsAfter });
    note(round.removed);
    if (round.isComplete) return null;
    runsAfter = round.runsThrough;
  } while (hasTime());
  return TIME_IS_OVER;
}

async function pruneObjects(
  database: Database,
  objects: Pick<ObjectStore, "delete">,
  { hasTime, note }: Effort,
): Promise<string | null> {
  do {
    const round = await removeObjects(database, { objects, now: await readDatabaseClock(database) });
    note({ storedObjects: round.removed });
    if (round.problem !== null) return `the object store failed: ${round.problem}`;
    if (round.isComplete) return null;
  } while (hasTime());
  return TIME_IS_OVER;
}

/** Objects can only be deleted if the object store is configured. */
async function withoutStore(database: Database): Promise<string | null> {
  const due = await findObjectRemovals(database, { now: await readDatabaseClock(database), limit: 1 });
  return due.length === 0
    ? null
    : "there are objects to delete, but no object store is configured (OVERDUE_S3_BUCKET)";
}

function sentenceFor({ removed, left }: Result): string {
  const done = `Deleted: ${listOf(removed)}.`;
  return left === null ? `${done} No expired data remains.` : `${done} Some expired data remains: ${left}.`;
}

/** Kinds whose table has a different name than users know. */
const LABELS: Readonly<Record<string, string>> = {
  letters: "account emails",
  flips: "status changes",
  runHistory: "run history records",
  events: "check events",
  blindIntervals: "monitoring gaps",
  refusedIntervals: "periods of rejected pings",
  intakes: "receiving processes",
  rejectedSignals: "quarantined pings",
  auditEntries: "audit log entries",
  attempts: "sign-in attempts",
};

/** "3 status changes, 12 sessions"; JSON output keeps the names of the tables. */
function listOf(removed: Record<string, number>): string {
  const found = Object.entries(removed).filter(([, count]) => count > 0);
  if (found.length === 0) return "nothing";
  return found
    .map(
      ([kind, count]) =>
        `${count} ${LABELS[kind] ?? kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
    )
    .join(", ");
}
