// `overdue whoami`: which API key, project, and server the other commands use.
import type { Command } from "commander";
import type { WhoAmI } from "../contract/api/account.ts";
import { addConnectionOptions, CONNECTION_HELP, type ConnectionOptions, onApi } from "./api-connection.ts";
import { type CommandContext, printJson, renderColumns } from "./command-context.ts";

const AFTER_HELP = `${CONNECTION_HELP}

Examples:
  $ overdue whoami
  $ overdue whoami --json | jq -r .project.id`;

/** Adds the options and the action. */
export function defineWhoami(command: Command, context: CommandContext): void {
  addConnectionOptions(command)
    .option("--json", "Output JSON (url, version, profile, kind, project)")
    .addHelpText("after", AFTER_HELP)
    .action(async (options: ConnectionOptions & { json?: true }) => {
      const { siteUrl, profile, whoAmI } = await onApi(context, options, async (connection) => connection);
      const { kind, project, version } = whoAmI;
      if (options.json) {
        return printJson(context, { url: siteUrl, version, profile, kind: keyName(kind), project });
      }
      context.out(
        renderColumns([
          ["Server", `${siteUrl} (version ${version})`],
          ["Project", `${project?.name ?? ""} (${project?.id ?? ""})`],
          ["API key", keyName(kind)],
          ["Profile", profile ?? "none; the key is from the environment or a file"],
        ]),
      );
    });
}

const KEY_NAMES: Readonly<Record<WhoAmI["kind"], string>> = {
  readWrite: "read-write",
  readOnly: "read-only",
  token: "token",
  session: "session",
};

/** The kind of a key, as on the command line. */
export function keyName(kind: WhoAmI["kind"]): string {
  return KEY_NAMES[kind];
}
