// `overdue admin set-preferences`: what a person gets by mail besides alerts, and in whose time.
import { type Command, Option } from "commander";
import { REMINDERS, type Reminders } from "../core/alerts/reminders.ts";
import { REPORTS, type Reports } from "../core/alerts/reports.ts";
import { setPreferences } from "../operations/alerts/mail/preferences.ts";
import { onDatabase, ownerOf } from "./admin-session.ts";
import { type CommandContext, printJson } from "./command-context.ts";

/** Says that pages are to be shown in whatever zone the browser is in. */
const AS_BROWSER = "browser";

/** Adds the command to `overdue admin`. */
export function registerSetPreferences(admin: Command, context: CommandContext): void {
  type Options = {
    account?: string;
    reports?: Reports;
    reminders?: Reminders;
    timeZone?: string;
    json?: true;
  };
  admin
    .command("set-preferences")
    .description("Set reports, reminders, and the time zone of an account; without options, print them")
    .option("--account <address>", "Account email; optional if there is only one account")
    .addOption(new Option("--reports <how-often>", "How often to send summary reports").choices(REPORTS))
    .addOption(
      new Option("--reminders <how-often>", "How often to send reminders while a check is down").choices(
        REMINDERS,
      ),
    )
    .option(
      "--time-zone <name>",
      'Time zone for the dashboard and email, such as Europe/Riga, or "browser" to use the time zone of the browser',
    )
    .option("--json", "Output JSON (account, reports, reminders, time_zone)")
    .action((options: Options) =>
      onDatabase(context, async ({ database }) => {
        const { email } = await ownerOf(database, options.account);
        const { reports, reminders, tz } = await setPreferences(database, {
          email,
          change: {
            ...(options.reports !== undefined && { reports: options.reports }),
            ...(options.reminders !== undefined && { reminders: options.reminders }),
            ...(options.timeZone !== undefined && {
              tz: options.timeZone === AS_BROWSER ? null : options.timeZone,
            }),
          },
        });
        if (options.json) return printJson(context, { account: email, reports, reminders, time_zone: tz });
        context.out(
          `${email}: reports ${reports}, reminders ${reminders}, time zone ${tz ?? "from browser, UTC in email"}.\n`,
        );
      }),
    );
}
