// `overdue migrate`: brings the schema of the database forward, or says what it would do.
import type { Command } from "commander";
import { loadConfig } from "../config.ts";
import { type LockWait, migrate, planMigrations } from "../store/migrate.ts";
import { type CommandContext, printJson } from "./command-context.ts";
import { databaseOptionsOf } from "./open-database.ts";

const AFTER_HELP = `
Migrations only go forward, each in a transaction of its own, under a lock: running this twice at once is
safe. A database that a newer version has migrated is refused. A table that another session uses, such as a
backup, is tried for 200 ms at a time, for up to 10 minutes, so that pings are still recorded.

Examples:
  $ overdue migrate --plan    see what is missing
  $ overdue migrate           apply it`;

const WAITING = "Another process brings the schema up to date; waiting for it. Ctrl-C ends the wait.\n";

/** Adds the command to the program. */
export function registerMigrate(program: Command, context: CommandContext): void {
  program
    .command("migrate")
    .description("bring the database's schema up to date")
    .option("--plan", "only print what would be applied")
    .option("--json", "print one JSON object: applied, pending")
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
  return `Migration ${step} waits for a table in use. Oldest transactions: ${whom}. Retrying.\n`;
}

function sentenceFor({ applied, pending }: { applied: string[]; pending: string[] }): string {
  if (applied.length > 0) return `Applied ${applied.join(", ")}. The database is up to date.`;
  if (pending.length > 0) return `Would apply ${pending.join(", ")}. Run \`overdue migrate\` to do so.`;
  return "The database is up to date.";
}
