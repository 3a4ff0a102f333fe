// `overdue migrate`: migrates the database schema, or prints what it would do.
import type { Command } from "commander";
import { loadConfig } from "../config/config.ts";
import { lockedSeconds, type MigrationEffect } from "../core/migration.ts";
import { describeMigrations, type LockWait, migrate, type SizedWork } from "../store/migrate.ts";
import {
  type CommandContext,
  databaseOptionsOf,
  printJson,
  type ProgressLine,
  progressLine,
} from "./command-context.ts";

const AFTER_HELP = `
Each migration runs in its own transaction, under a lock, so it is safe to run this command more than once at a
time. There are no down migrations. The command fails if a newer version has migrated the database. If another
session, such as a backup, locks a table, the migration retries for up to 10 minutes. Each attempt waits at most
200 ms for the lock, so that pings are still recorded.

Examples:
  $ overdue migrate --plan    # show pending migrations and what they lock
  $ overdue migrate           # apply them`;

const WAITING = "Another process is migrating the database. Waiting for it to finish (Ctrl-C to cancel).\n";

/** Adds the options and the action. */
export function defineMigrate(command: Command, context: CommandContext): void {
  command
    .option("--plan", "Print pending migrations without applying them")
    .option("--quiet", "Do not print progress")
    .option("--json", "Output JSON (applied, pending, and with --plan steps)")
    .addHelpText("after", AFTER_HELP)
    .action(async (options: { plan?: true; quiet?: true; json?: true }) => {
      const database = databaseOptionsOf(loadConfig(context.environment).config);
      if (options.plan) {
        const steps = await describeMigrations(database);
        if (options.json) {
          return printJson(context, { applied: [], pending: steps.map(({ name }) => name), steps });
        }
        return context.out(planText(steps));
      }
      const applied = await withProgress(context, options, (line) => {
        const say = (text: string) => {
          line.clear();
          context.err(text);
        };
        return migrate({
          ...database,
          onTurn: () => say(WAITING),
          onLocked: (wait) => say(lockedLine(wait)),
        });
      });
      if (options.json) return printJson(context, { applied, pending: [] });
      const done = applied.length > 0 ? `Applied ${applied.join(", ")}. ` : "";
      context.out(`${done}${UP_TO_DATE}\n`);
    });
}

const PROGRESS_EVERY_MS = 1_000;

/** How long a migration takes is not known, so the line shows how long it has taken. */
async function withProgress<T>(
  context: CommandContext,
  options: { quiet?: true },
  work: (line: ProgressLine) => Promise<T>,
): Promise<T> {
  const line = progressLine(context, options);
  const begunMs = performance.now();
  const show = () =>
    line.show(() => `migrating the database for ${Math.round((performance.now() - begunMs) / 1_000)} s`);
  const timer = setInterval(show, PROGRESS_EVERY_MS);
  try {
    return await work(line);
  } finally {
    clearInterval(timer);
    line.clear();
  }
}

function lockedLine({ step, holders }: LockWait): string {
  const whom = holders.length === 0 ? "another session" : holders.join("; ");
  return `Migration ${step} is waiting for a lock on a table. Oldest transactions: ${whom}. Retrying.\n`;
}

const UP_TO_DATE = "The database is up to date.";

const EFFECTS: Readonly<Record<MigrationEffect, string>> = {
  brief: "locks the table for a moment",
  scan: "blocks writes while it reads the table",
  rewrite: "blocks reads and writes while it rewrites the table",
  rows: "locks the rows that it changes until it ends",
};
/** Below this, the estimate is left out. */
const SHOWN_SECONDS_MIN = 1;

function planText(steps: readonly { name: string; work: readonly SizedWork[] }[]): string {
  if (steps.length === 0) return `${UP_TO_DATE}\n`;
  const lines = steps.flatMap(({ name, work }) => [
    `  ${name}${work.length === 0 ? ": changes no existing table" : ""}`,
    ...work.map((one) => `    ${one.table} (${sizeText(one)}): ${EFFECTS[one.effect]}${timeText(one)}`),
  ]);
  return `Pending:\n${lines.join("\n")}\nRun \`overdue migrate\` to apply. Nothing was changed.\n`;
}

function sizeText({ bytes, rowCount }: SizedWork): string {
  const mebibytes = bytes / 1024 ** 2;
  const size = mebibytes < 1 ? "under 1 MiB" : `${Math.round(mebibytes).toLocaleString("en-US")} MiB`;
  return `${size}, about ${rowCount.toLocaleString("en-US")} rows`;
}

function timeText({ effect, bytes }: SizedWork): string {
  const seconds = lockedSeconds(effect, bytes);
  if (seconds < SHOWN_SECONDS_MIN) return "";
  return `, roughly ${seconds < 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`}`;
}
