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
    .description(
      "set what a person is mailed besides alerts, and in which time zone; shows it without options",
    )
    .option("--account <address>", "whose; not needed while there is only one account")
    .addOption(new Option("--reports <how-often>", "reports on all checks").choices(REPORTS))
    .addOption(new Option("--reminders <how-often>", "reminders while a check is down").choices(REMINDERS))
    .option(
      "--time-zone <name>",
      "such as Europe/Riga; alerts by mail tell their times in it, too. browser: none",
    )
    .option("--json", "print one JSON object: account, reports, reminders, time_zone")
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
          `${email}: reports ${reports}, reminders ${reminders}, time zone ${tz ?? "as the browser, UTC in mails"}.\n`,
        );
      }),
    );
}
