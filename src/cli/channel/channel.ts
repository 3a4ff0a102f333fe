// `overdue admin channel`: channels by hand. It calls the operations that the API calls.
import type { Command } from "commander";
import { kindNamed } from "../../channels/registry.ts";
import { deleteChannel } from "../../operations/alerts/channels/change-channel.ts";
import { listChannels } from "../../store/alerts/channels.ts";
import { readDatabaseClock } from "../../store/instance.ts";
import { onDatabase } from "../admin-session.ts";
import { renderColumns } from "../admin-text.ts";
import { type CommandContext, printJson } from "../command-context.ts";
import { registerChannelAdd } from "./channel-add.ts";
import { registerChannelLog, registerChannelTest } from "./channel-log.ts";
import { channelOf, COMMAND_LINE, parseUuid, projectIdOf } from "./channel-names.ts";

const AFTER_HELP = `
docs/channels.md lists the fields of each kind. Other users on this machine can see command-line arguments, so pass
secrets with --config: a file that contains a JSON object, or "-" for standard input.

Examples:
  $ overdue admin channel add --project <uuid> --kind email --set value=ops@example.org
  $ overdue admin channel add --project <uuid> --kind slack --name Ops --config slack.json
  $ overdue admin channel test <channel>
  $ overdue admin channel log <channel>`;

/** Adds the commands to `overdue admin`. */
export function registerChannel(admin: Command, context: CommandContext): void {
  const channel = admin
    .command("channel")
    .description("List, add, test, and remove channels; show deliveries")
    .addHelpText("after", AFTER_HELP);
  registerChannelList(channel, context);
  registerChannelAdd(channel, context);
  registerChannelTest(channel, context);
  registerChannelRemove(channel, context);
  registerChannelLog(channel, context);
}

function registerChannelList(channel: Command, context: CommandContext): void {
  type Options = { project: string; json?: true };
  channel
    .command("list")
    .description("List the channels of a project")
    .requiredOption("--project <uuid>", "Project UUID; see `overdue admin list`", parseUuid)
    .option("--json", "Output JSON (channels)")
    .action((options: Options) =>
      onDatabase(context, async ({ database }) => {
        const found = await listChannels(database, await projectIdOf(database, options.project));
        const channels = found.map(({ uuid, kind, name, disabledReason, lastError }) => {
          return { uuid, kind, name, disabled_reason: disabledReason, last_error: lastError };
        });
        if (options.json) return printJson(context, { channels });
        context.out(renderChannels(channels));
      }),
    );
}

type Listed = {
  uuid: string;
  kind: string;
  name: string;
  disabled_reason: string | null;
  last_error: string | null;
};

function renderChannels(channels: readonly Listed[]): string {
  if (channels.length === 0) return "No channels yet. Create one with `overdue admin channel add`.\n";
  return renderColumns(
    channels.map(({ uuid, kind, name, disabled_reason: reason, last_error: error }) => [
      uuid,
      kindNamed(kind)?.title ?? kind,
      name,
      reason === null ? (error === null ? "" : `last error: ${error}`) : `disabled: ${reason}`,
    ]),
  );
}

function registerChannelRemove(channel: Command, context: CommandContext): void {
  channel
    .command("remove")
    .description("Delete a channel and its delivery log")
    .argument("<channel>", "Channel UUID; see `overdue admin channel list`", parseUuid)
    .option("--json", "Output JSON (uuid)")
    .action((uuid: string, options: { json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const { projectId } = await channelOf(database, uuid);
        const at = await readDatabaseClock(database);
        await deleteChannel(database, { projectId, uuid, expected: null, by: COMMAND_LINE, at });
        if (options.json) return printJson(context, { uuid });
        context.out(`Removed channel ${uuid}.\n`);
      }),
    );
}
