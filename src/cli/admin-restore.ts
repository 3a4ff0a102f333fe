// `overdue admin restore`: ends safe mode, for a server that was restored on purpose.
import type { Command } from "commander";
import { AppError } from "../core/errors.ts";
import { confirmRestore } from "../operations/database-identity.ts";
import { onDatabase } from "./admin-session.ts";
import { type CommandContext, CommandError, printJson } from "./command-context.ts";

const AFTER_HELP = `
A server starts in safe mode if its database was restored or copied and the server is not reachable at its public
URL. In safe mode it records pings but sends nothing. Run this command if this is the production server. Do not run
it on a test copy: the copy would send notifications to the production channels.

The time since the last heartbeat in the database counts as a monitoring gap and raises no alerts. Notifications
that were queued in the database are sent.

Examples:
  $ overdue admin restore confirm`;

/** Adds the command. */
export function defineAdminRestore(restore: Command, context: CommandContext): void {
  restore
    .command("confirm")
    .description("End safe mode after a database restore and resume notifications")
    .option("--json", "Output JSON (confirmed)")
    .addHelpText("after", AFTER_HELP)
    .action((options: { json?: true }) =>
      onDatabase(context, async ({ database }) => {
        try {
          await confirmRestore(database, { accountId: null });
        } catch (error) {
          if (error instanceof AppError) throw new CommandError(error.message);
          throw error;
        }
        if (options.json) return printJson(context, { confirmed: true });
        context.out("Safe mode is off. Notifications have resumed; alerts resume in about a minute.\n");
      }),
    );
}
