// `overdue migrate`: migrates the database schema, or prints what it would do.
import type { Command } from "commander";
import { loadConfig } from "../config/config.ts";
import { type LockWait, migrate, planMigrations } from "../store/migrate.ts";
import { type CommandContext, databaseOptionsOf, printJson } from "./command-context.ts";

const AFTER_HELP = `
Each migration runs in its own transaction, under a lock, so it is safe to run this command more than once at a
time. There are no down migrations. The command fails if a newer version has migrated the database. If another
session, such as a backup, locks a table, the migration retries for up to 10 minutes. Each attempt waits at most
200 ms for the lock, so that pings are still recorded.

Examples:
  $ overdue migrate --plan    # show pending migrations
  $ overdue migrate           # apply them`;

const WAITING = "Another process is migrating the database. Waiting for it to finish (Ctrl-C to cancel).\n";

/** Adds the options and the action. */
export function defineMigrate(command: Command, context: CommandContext): void {
  command
    .option("--plan", "Print pending migrations without applying them")
    .option("--json", "Output JSON (applied, pending)")
    .addHelpText("after", AFTER_HELP)
    .action(async (options: { plan?: true; json?: true }) => {
      const database = databaseOptionsOf(loadConfig(context.environment).config);
      const done = options.plan
        ? { applied: [], pending: (await planMigrations(database)).pending }
        : {
            applied: await migrate({
              ...database,
              onTurn: () => context.err(WAITING),
              onLocked: (wait) => context.err(lockedLine(wait)),
            }),
            pending: [],
          };
      if (options.json) return printJson(context, done);
      context.out(`${sentenceFor(done)}\n`);
    });
}

function lockedLine({ step, holders }: LockWait): string {
  const whom = holders.length === 0 ? "another session" : holders.join("; ");
  return `Migration ${step} is waiting for a lock on a table. Oldest transactions: ${whom}. Retrying.\n`;
}

function sentenceFor({ applied, pending }: { applied: string[]; pending: string[] }): string {
  if (applied.length > 0) return `Applied ${applied.join(", ")}. The database is up to date.`;
  if (pending.length > 0) return `Pending: ${pending.join(", ")}. Run \`overdue migrate\` to apply.`;
  return "The database is up to date.";
}
