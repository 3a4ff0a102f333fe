// `overdue admin confirm-restore`: ends safe mode, for a server that was restored on purpose.
import type { Command } from "commander";
import { AppError } from "../core/errors.ts";
import { confirmRestore } from "../operations/database-identity.ts";
import { onDatabase } from "./admin-session.ts";
import { CommandError, type CommandContext, printJson } from "./command-context.ts";

const AFTER_HELP = `
A server whose database was restored or copied, and that does not answer at its public URL, is in safe mode:
it records pings and sends nothing. Run this command if the server is in service. Never run it on a copy for
testing: the copy would send notifications to the channels of production.

Everything since the last heartbeat in the data counts as a monitoring gap and raises no alerts. Notifications
that were waiting in the data are sent.

Example:
  $ overdue admin confirm-restore`;

/** Adds the command to `overdue admin`. */
export function registerConfirmRestore(admin: Command, context: CommandContext): void {
  admin
    .command("confirm-restore")
    .description("end safe mode after a restore: notifications are sent again")
    .option("--json", "print one JSON object: confirmed")
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
        context.out("Safe mode has ended. Notifications are sent again; alerts resume in about a minute.\n");
      }),
    );
}
