// `overdue config`: the settings in effect and their sources, with secrets masked.
import type { Command } from "commander";
import { cellsOf } from "../config/cells.ts";
import { loadConfig } from "../config/config.ts";
import { effectiveAsJson, renderEffective, renderEnvExample } from "../config/render.ts";
import { type CommandContext, printJson } from "./command-context.ts";

const AFTER_HELP = `
Each value comes from the first of these that is set: the file named by NAME_FILE (secrets only), the variable
NAME, the Healthchecks name of the setting (SITE_ROOT, DB_HOST, ...), the default. Secrets are masked.
OVERDUE_* variables are also read from a .env file in the working directory; environment variables override it.

Examples:
  $ overdue config                    # validate the settings and print them
  $ overdue config --json | jq .OVERDUE_SITE_URL.value
  $ overdue config --example > .env   # start with a file of all settings`;

/** Adds the options and the action. */
export function defineConfig(command: Command, context: CommandContext): void {
  command
    .option("--json", "Output JSON, keyed by setting")
    .option("--example", "Print an example .env file with all settings")
    .addHelpText("after", AFTER_HELP)
    .action((options: { json?: true; example?: true }) => {
      if (options.example) return context.out(renderEnvExample());
      const { config, effective } = loadConfig(context.environment);
      context.chooseRoles(config.roles);
      cellsOf(config);
      if (options.json) return printJson(context, effectiveAsJson(effective));
      context.out(renderEffective(effective));
    });
}
