// `overdue config`: the settings in effect and where each came from, secrets masked.
import type { Command } from "commander";
import { loadConfig } from "../config.ts";
import { effectiveAsJson, renderEffective, renderEnvExample } from "../config/render.ts";
import { type CommandContext, printJson } from "./command-context.ts";

const AFTER_HELP = `
Values come from, the first one found: the file that NAME_FILE names (secrets only), the variable NAME, the
name that Healthchecks uses for the same thing (SITE_ROOT, DB_HOST …), the default. Secrets are masked.
Lines OVERDUE_… of a file .env in the folder where the program is started count as variables; what the environment
says wins over them.

Examples:
  $ overdue config                    check the settings and print them
  $ overdue config --json | jq .OVERDUE_SITE_URL.value
  $ overdue config --example > .env   a file of all settings to start from`;

/** Adds the command to the program. */
export function registerConfig(program: Command, context: CommandContext): void {
  program
    .command("config")
    .description("check the settings; print those in effect, with their source")
    .option("--json", "print one JSON object, keyed by setting")
    .option("--example", "print every setting with its meaning instead")
    .addHelpText("after", AFTER_HELP)
    .action((options: { json?: true; example?: true }) => {
      if (options.example) return context.out(renderEnvExample());
      const { config, effective } = loadConfig(context.environment);
      context.chooseRoles(config.roles);
      if (options.json) return printJson(context, effectiveAsJson(effective));
      context.out(renderEffective(effective));
    });
}
