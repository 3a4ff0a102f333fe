// `overdue discover`: finds the jobs of this machine or of a cluster, creates checks for them, and makes them report.
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { defineDiscoverCrontab } from "./discover-crontab.ts";
import { defineDiscoverKubernetes } from "./discover-kubernetes.ts";
import { defineDiscoverSystemd } from "./discover-systemd.ts";

const AFTER_HELP = `
Prints the checks to create and the changes to make as a diff. Without --write,
nothing is changed, and no server is needed.

Examples:
  $ overdue discover                   # the crontabs that you can read
  $ sudo overdue discover crontab --all-users
  $ overdue discover systemd
  $ overdue discover kubernetes

Run \`overdue discover crontab --help\` for all options.`;

/** Adds the commands. */
export function defineDiscover(command: Command, context: CommandContext): void {
  command.helpCommand(false).addHelpText("after", AFTER_HELP);
  defineDiscoverCrontab(
    command
      .command("crontab", { isDefault: true })
      .description("Find the jobs in crontabs (the default command)"),
    context,
  );
  defineDiscoverSystemd(command.command("systemd").description("Find the timers of systemd"), context);
  defineDiscoverKubernetes(
    command.command("kubernetes").description("Find the CronJobs of a Kubernetes cluster"),
    context,
  );
}
