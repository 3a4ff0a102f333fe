// `overdue prune`: forgets what is older than it needs to be, now and by hand. The role housekeeper does the same by
// itself; what may go, and when, is decided in core/retention.ts.
import { type Command, InvalidArgumentError } from "commander";
import { type Config, loadConfig } from "../config.ts";
import { MINUTE_MS } from "../core/instant.ts";
import { DAYS_KEPT } from "../core/retention.ts";
import type { ObjectStore } from "../lib/object-store.ts";
import { removeObjects } from "../operations/bodies/move-bodies.ts";
import { pruneHistory } from "../operations/prune-history.ts";
import type { Database } from "../store/db.ts";
import { findObjectRemovals } from "../store/history/moving-bodies.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { type CommandContext, EXIT, printJson } from "./command-context.ts";
import { withDatabase } from "./open-database.ts";

const MINUTES_DEFAULT = 60;
const MINUTES_MAX = 24 * 60;
const PROGRESS_EVERY_MS = 2_000;

const kept = (sort: keyof typeof DAYS_KEPT) => String(DAYS_KEPT[sort]).padStart(4);

const AFTER_HELP = `
What goes, and after how many days:
${kept("delivery")}  deliveries and letters that were sent or given up; what is still owed stays, however old
${kept("flip")}  flips
${kept("event")}  events of checks, and keys that were revoked
${kept("run")}  the history of runs, of checks that nobody pings any more; others forget theirs with each ping
${kept("blindInterval")}  times in which nobody could receive, and the intakes that they are told of
${kept("refusedInterval")}  times in which pings of one check or one network were refused
${kept("rejectedSignal")}  signals that were put aside because they could not be recorded
${kept("idempotencyKey")}  what requests with an Idempotency-Key were answered
${kept("session")}  sessions of browsers that were not used any more
${kept("signIn")}  sign-ins, which their owners see on the account page
${kept("auditEntry")}  entries of the audit trail
${kept("deletedCheck")}  checks that were deleted in the dashboard, with everything that was recorded about them
   0  objects in the object store whose pings are gone
The log of a check needs no pruning: it never grows beyond its owner's limit.

The role housekeeper does this each hour, and the role mover removes objects. This command is for installations
without these roles, or for those who want to see it done. It works beside everything that runs, in transactions of
a thousand rows or one check. It may be stopped at any time and run again, also twice at once.

While it works, standard error says every two seconds how far it is. Standard output has the result: how many of
each kind are gone. The exit code is 1 when something was left: the time was over, or the object store did not work.

Examples:
  $ overdue prune                  until nothing is left, for an hour at most
  $ overdue prune --minutes 5      what can be done in five minutes; the next run goes on
  $ overdue prune --quiet --json   for a scheduled job: one line, {"removed":{"flips":1200,…},"isComplete":true}`;

type Options = { minutes: number; quiet?: true; json?: true };

type Result = {
  removed: Record<string, number>;
  isComplete: boolean;
  /** Why something was left; null when nothing was. */
  left: string | null;
};

/** Adds the command to the program. */
export function registerPrune(
  program: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  program
    .command("prune")
    .description("forget what is older than it needs to be")
    .option(
      "--minutes <number>",
      "stop after so many, and say that something is left",
      minutes,
      MINUTES_DEFAULT,
    )
    .option("--quiet", "say nothing while it works")
    .option("--json", "print one JSON object: removed, isComplete, left")
    .addHelpText("after", AFTER_HELP)
    .action(async (options: Options) => {
      const { config } = loadConfig(context.environment);
      const result = await withDatabase(config, (database) => prune(database, { config, context, options }));
      if (!result.isComplete) setExitCode(EXIT.failed);
      if (options.json) return printJson(context, result);
      context.out(`${sentenceFor(result)}\n`);
    });
}

function minutes(text: string): number {
  const number = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && number > 0 && number <= MINUTES_MAX) return number;
  throw new InvalidArgumentError(`It must be a number of minutes, at most ${MINUTES_MAX}.`);
}

type Work = { config: Config; context: CommandContext; options: Options };

async function prune(database: Database, { config, context, options }: Work): Promise<Result> {
  const endMs = performance.now() + options.minutes * MINUTE_MS;
  const hasTime = () => performance.now() < endMs;
  const removed: Record<string, number> = {};
  const tell = progress(context, options);
  const note = (counts: Record<string, number>) => {
    for (const [kind, count] of Object.entries(counts)) removed[kind] = (removed[kind] ?? 0) + count;
    tell(removed);
  };
  let left = await pruneRows(database, { hasTime, note });
  // Last, because the objects of a check become due when the check has gone.
  const stopping = new AbortController();
  const objects = context.openObjects(config, { signal: stopping.signal });
  left ??=
    objects === null
      ? await withoutStore(database)
      : await pruneObjects(database, objects, { hasTime, note });
  return { removed, isComplete: left === null, left };
}

type Effort = { hasTime: () => boolean; note: (counts: Record<string, number>) => void };

const TIME_IS_OVER = "the time was over; the next run goes on";

/** Rounds until one finds nothing. Returns why something is left, or null. */
async function pruneRows(database: Database, { hasTime, note }: Effort): Promise<string | null> {
  let runsAfter = 0;
  do {
    const now = await readDatabaseClock(database);
    const round = await pruneHistory(database, { now, runsAfter });
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
    if (round.trouble !== null) return `the object store did not work: ${round.trouble}`;
    if (round.isComplete) return null;
  } while (hasTime());
  return TIME_IS_OVER;
}

/** Objects can only be removed by somebody who knows where they are. */
async function withoutStore(database: Database): Promise<string | null> {
  const due = await findObjectRemovals(database, { now: await readDatabaseClock(database), limit: 1 });
  return due.length === 0
    ? null
    : "there are objects to remove from an object store, and the settings name none (OVERDUE_S3_BUCKET)";
}

function progress({ err }: CommandContext, { quiet }: Options): (removed: Record<string, number>) => void {
  let toldMs = performance.now();
  return (removed) => {
    if (quiet || performance.now() - toldMs < PROGRESS_EVERY_MS) return;
    toldMs = performance.now();
    err(`overdue: removed so far: ${listOf(removed)}\n`);
  };
}

function sentenceFor({ removed, left }: Result): string {
  const done = `Removed: ${listOf(removed)}.`;
  return left === null
    ? `${done} Nothing is left that may go.`
    : `${done} Not everything that may go is gone: ${left}.`;
}

/** "3 flips, 1 blind intervals": kinds are named by their tables, so that a new one needs no words here. */
function listOf(removed: Record<string, number>): string {
  const found = Object.entries(removed).filter(([, count]) => count > 0);
  if (found.length === 0) return "nothing";
  return found
    .map(([kind, count]) => `${count} ${kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`)
    .join(", ");
}
