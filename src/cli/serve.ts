// `overdue serve`: runs the chosen roles until it is told to stop. What a role is, main.ts knows.
import type { Command } from "commander";
import { loadConfig } from "../config.ts";
import type { CommandContext } from "./command-context.ts";

/** Adds the command to the program. */
export function registerServe(
  program: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  program
    .command("serve")
    .description("run this process: all roles, or the chosen ones")
    .option(
      "-r, --roles <names>",
      `the roles to run, separated by commas: ${context.roleNames.join(", ")}, or all`,
    )
    .addHelpText("after", afterHelp(context))
    .action(async (options: { roles?: string }) => {
      const { config } = loadConfig(context.environment);
      const given = options.roles?.split(",").map((name) => name.trim()) ?? config.roles;
      setExitCode(await context.serve(config, { roles: given }));
    });
}

function afterHelp({ roleNames }: CommandContext): string {
  return `
Without --roles, OVERDUE_ROLES decides; without that, all roles run. The process brings the schema up to date
first (unless OVERDUE_MIGRATE_ON_START=false), logs JSON lines to standard output, and answers /healthz,
/readyz and /metrics on OVERDUE_ADMIN_LISTEN. SIGTERM or SIGINT stops it in order, a second one at once.

Examples:
  $ overdue serve
  $ overdue serve --roles ${roleNames[0] ?? "all"}`;
}
