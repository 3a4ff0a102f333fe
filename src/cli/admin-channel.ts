// `overdue admin channel`: manages channels with the same operations as the API.
import { type Command, Option } from "commander";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { type Field, fieldsOf } from "../channels/channel-config.ts";
import { addressWarnings, CONFIG_RULES, kindNamed, KINDS, reachOf } from "../channels/registry.ts";
import { channelNameProblem, type ChosenChecks } from "../core/channel.ts";
import { PAGE_LENGTH_DEFAULT, PAGE_LENGTH_MAX } from "../core/limits.ts";
import { createChannel, deleteChannel } from "../operations/channels.ts";
import { getDelivery, listDeliveries, testChannel } from "../operations/deliveries.ts";
import { findChannelByUuid, listChannels } from "../store/channels.ts";
import type { Database } from "../store/db.ts";
import type { LoggedDelivery } from "../store/deliveries.ts";
import { findStoredIdentity, readDatabaseClock } from "../store/instance.ts";
import { onDatabase, projectIdOf } from "./admin-session.ts";
import { numberFrom, parseUuid } from "./arguments.ts";
import {
  type CommandContext,
  CommandError,
  confirm,
  EXIT,
  printJson,
  renderColumns,
} from "./command-context.ts";

const AFTER_HELP = `
For the fields of each kind, see "Channels" in the documentation. Other users on this machine can see command-line
arguments, so pass secrets with --config: a file that contains a JSON object, or "-" for standard input.

Examples:
  $ PROJECT=5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11
  $ CHANNEL=9b1f6a52-40a8-4c4d-8f2e-6f0b4a3f7d10
  $ overdue admin channel create --project $PROJECT --kind email \\
      --set value=ops@example.org
  $ overdue admin channel create --project $PROJECT --kind slack --name Ops \\
      --config slack.json
  $ overdue admin channel list --project $PROJECT
  $ overdue admin channel test $CHANNEL
  $ overdue admin channel deliveries $CHANNEL
  $ overdue admin channel delete $CHANNEL --yes`;

/** Adds the commands. */
export function defineAdminChannel(channel: Command, context: CommandContext): void {
  channel.addHelpText("after", AFTER_HELP);
  registerList(channel, context);
  registerCreate(channel, context);
  registerTest(channel, context);
  registerDelete(channel, context);
  registerDeliveries(channel, context);
}

function registerList(channel: Command, context: CommandContext): void {
  type Options = { project: string; json?: true };
  channel
    .command("list")
    .description("List the channels of a project")
    .requiredOption("--project <uuid>", "Project UUID; see `overdue admin project list`", parseUuid)
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
  if (channels.length === 0) return "No channels yet. Create one with `overdue admin channel create`.\n";
  return renderColumns(
    channels.map(({ uuid, kind, name, disabled_reason: reason, last_error: error }) => [
      uuid,
      kindNamed(kind)?.title ?? kind,
      name,
      reason === null ? (error === null ? "" : `last error: ${error}`) : `disabled: ${reason}`,
    ]),
  );
}

function registerDelete(channel: Command, context: CommandContext): void {
  channel
    .command("delete")
    .description("Delete a channel and its delivery log")
    .argument("<channel>", "Channel UUID; see `overdue admin channel list`", parseUuid)
    .option("--yes", "Do not ask for confirmation")
    .option("--json", "Output JSON (uuid)")
    .action((uuid: string, options: { yes?: true; json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const { projectId, name, kind } = await channelOf(database, uuid);
        await confirm(context, `Delete the channel ${name || kind} and its delivery log?`, options);
        const at = await readDatabaseClock(database);
        await deleteChannel(database, { projectId, uuid, expected: null, by: COMMAND_LINE, at });
        if (options.json) return printJson(context, { uuid });
        context.out(`Deleted channel ${uuid}.\n`);
      }),
    );
}

// `overdue admin channel create`: a configuration from a file and from options. A generated secret is shown once.

type CreateOptions = {
  project: string;
  kind: string;
  name: string;
  set: readonly string[];
  config?: string;
  checks: ChosenChecks;
  disabled?: true;
  json?: true;
};

function registerCreate(channel: Command, context: CommandContext): void {
  channel
    .command("create")
    .description("Create a channel")
    .requiredOption("--project <uuid>", "Project UUID; see `overdue admin project list`", parseUuid)
    .addOption(
      new Option("--kind <kind>", "Kind of channel")
        .choices(KINDS.map(({ name }) => name))
        .makeOptionMandatory(),
    )
    .option("--name <name>", "Channel name", "")
    .option("--set <field=value...>", "Configuration field; can be repeated", [])
    .option("--config <file>", 'Configuration as a JSON file, or "-" for standard input')
    .option(
      "--checks <uuids>",
      'Checks to notify for: "all", "none", or comma-separated UUIDs',
      parseChecks,
      "*",
    )
    .option("--disabled", "Create the channel disabled")
    .option("--json", "Output JSON (uuid, made)")
    .action((options: CreateOptions) =>
      onDatabase(context, async ({ database, config }) => {
        const { kind, name, checks } = options;
        const problem = channelNameProblem(name);
        if (problem !== null) throw new CommandError(`The ${problem}.`, EXIT.usage);
        const { channel: added, made } = await createChannel(database, {
          projectId: await projectIdOf(database, options.project),
          kind,
          name,
          config: { ...(await fromFile(options.config)), ...fromOptions(kind, options.set) },
          isEnabled: options.disabled !== true,
          checks,
          once: null,
          rules: CONFIG_RULES,
          mailVerification: config.mailVerification,
          by: COMMAND_LINE,
          at: await readDatabaseClock(database),
        });
        if (options.json) return printJson(context, { uuid: added.uuid, made });
        context.out(`Created channel ${added.uuid}. Notifies for ${added.checkCount} checks.\n`);
        for (const { field, text: warning } of addressWarnings(added, reachOf(config))) {
          context.out(`${field}: ${warning}\n`);
        }
        if (Object.keys(made).length === 0) return;
        context.out(
          `\n${renderColumns(Object.entries(made))}\nSave this now. You won't be able to see it again.\n`,
        );
      }),
    );
}

function parseChecks(given: string): ChosenChecks {
  if (given === "all") return "*";
  return given === "none" ? [] : given.split(",").map((uuid) => parseUuid(uuid.trim()));
}

/** A configuration file is small; a larger one is the wrong file. */
const CONFIG_LENGTH_MAX = 1_000_000;

async function fromFile(path: string | undefined): Promise<Record<string, unknown>> {
  if (path === undefined) return {};
  const content = path === "-" ? await text(process.stdin) : await readFile(path, "utf8").catch(unreadable);
  try {
    const value: unknown = JSON.parse(content.slice(0, CONFIG_LENGTH_MAX));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // The error of the parser would quote the file, which contains secrets.
  }
  throw new CommandError("The configuration is not a valid JSON object.", EXIT.usage);
}

function unreadable(error: Error): never {
  throw new CommandError(`Cannot read the configuration: ${error.message}`, EXIT.usage);
}

/** Values converted to the types of the fields; they are validated later. */
function fromOptions(kindName: string, settings: readonly string[]): Record<string, unknown> {
  const kind = kindNamed(kindName);
  const types = new Map(kind === null ? [] : fieldsOf(kind).map(([name, { type }]) => [name, type]));
  return Object.fromEntries(
    settings.map((setting) => {
      const at = setting.indexOf("=");
      if (at < 1)
        throw new CommandError(`Invalid --set value "${setting}": expected field=value.`, EXIT.usage);
      const name = setting.slice(0, at);
      const value = setting.slice(at + 1);
      return [name, valueFor(types.get(name), value)];
    }),
  );
}

function valueFor(type: Field["type"], value: string): unknown {
  if (type === "integer" && value !== "") return Number(value);
  if (type === "boolean" && ["true", "false"].includes(value)) return value === "true";
  return type === "array" ? value.split(",") : value;
}

// `overdue admin channel test` and `deliveries`.

const WAIT_SECONDS_DEFAULT = 15;
const WAIT_SECONDS_MAX = 300;
const LOOK_EVERY_MS = 250;

function registerTest(channel: Command, context: CommandContext): void {
  type Options = { wait: number; json?: true };
  channel
    .command("test")
    .description("Send a test notification and wait for the result")
    .argument("<channel>", "Channel UUID; see `overdue admin channel list`", parseUuid)
    .option(
      "--wait <seconds>",
      "Maximum time to wait",
      numberFrom({ min: 0, max: WAIT_SECONDS_MAX }),
      WAIT_SECONDS_DEFAULT,
    )
    .option("--json", "Output JSON (deliveries)")
    .action((uuid: string, options: Options) =>
      onDatabase(context, async ({ database }) => {
        const { projectId } = await channelOf(database, uuid);
        const at = await readDatabaseClock(database);
        const planned = await testChannel(database, { projectId, uuid, by: COMMAND_LINE, at });
        const ended = await outcomes(database, { projectId, planned, waitMs: options.wait * 1_000 });
        if (options.json) printJson(context, { deliveries: ended.map(shown) });
        else context.out(renderDeliveries(ended));
        if (ended.some(({ attemptCount }) => attemptCount === 0)) {
          throw new CommandError(await whyUnsent(database));
        }
        if (ended.some(({ state }) => state !== "sent"))
          throw new CommandError("The test notification was not delivered.");
      }),
    );
}

async function whyUnsent(database: Database): Promise<string> {
  const identity = await findStoredIdentity(database);
  if ((identity?.state ?? "normal") === "normal") {
    return "The test notification has not been sent yet. Check that a process with the role notifier is running.";
  }
  return (
    "The server is in safe mode and sends no notifications, because its database was restored or copied. " +
    "If this is the production server, run `overdue admin restore confirm`."
  );
}

/** The deliveries after each was attempted, or when the time is over. */
async function outcomes(
  database: Database,
  given: { projectId: number; planned: readonly LoggedDelivery[]; waitMs: number },
): Promise<LoggedDelivery[]> {
  const { projectId, planned, waitMs } = given;
  const endAtMs = performance.now() + waitMs;
  for (;;) {
    const now = await Promise.all(
      planned.map(({ id }) => getDelivery(database, { projectId, deliveryId: id })),
    );
    const isDone = now.every(({ state, reason }) => state !== "pending" || reason !== null);
    if (isDone || performance.now() >= endAtMs) return now;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function registerDeliveries(channel: Command, context: CommandContext): void {
  type Options = { limit: number; json?: true };
  channel
    .command("deliveries")
    .description("Show the delivery log of a channel, newest first")
    .argument("<channel>", "Channel UUID; see `overdue admin channel list`", parseUuid)
    .option(
      "--limit <number>",
      "Maximum number of deliveries",
      numberFrom({ min: 0, max: PAGE_LENGTH_MAX }),
      PAGE_LENGTH_DEFAULT,
    )
    .option("--json", "Output JSON (deliveries)")
    .action((uuid: string, { limit, json }: Options) =>
      onDatabase(context, async ({ database }) => {
        const { projectId } = await channelOf(database, uuid);
        const { items } = await listDeliveries(database, { projectId, uuid, from: null, limit });
        if (json) return printJson(context, { deliveries: items.map(shown) });
        context.out(items.length === 0 ? "No deliveries yet.\n" : renderDeliveries(items));
      }),
    );
}

function timeOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

function shown(delivery: LoggedDelivery) {
  return {
    id: String(delivery.id),
    channel: delivery.channel.uuid,
    kind: delivery.kind,
    check: delivery.check?.uuid ?? null,
    state: delivery.state,
    attempts: delivery.attemptCount,
    created: timeOf(delivery.createdAt),
    next_try: timeOf(delivery.nextTryAt),
    settled: timeOf(delivery.settledAt),
    request: delivery.requestSummary,
    response_code: delivery.responseCode,
    response_excerpt: delivery.responseExcerpt,
    reason: delivery.reason,
  };
}

function renderDeliveries(deliveries: readonly LoggedDelivery[]): string {
  return renderColumns(
    deliveries.map((one) => [
      timeOf(one.createdAt) ?? "",
      one.flipTo ?? one.kind,
      one.check === null ? "" : one.check.name || one.check.uuid,
      one.state,
      `${one.attemptCount} ${one.attemptCount === 1 ? "attempt" : "attempts"}`,
      one.responseCode === null ? "" : String(one.responseCode),
      one.reason ?? one.requestSummary ?? "",
    ]),
  );
}

/** The command line is neither an account nor an API key. */
const COMMAND_LINE = { accountId: null, keyId: null };

/** The channel with this UUID, in any project. */
async function channelOf(
  database: Database,
  uuid: string,
): Promise<{ projectId: number; uuid: string; name: string; kind: string }> {
  const channel = await findChannelByUuid(database, uuid);
  if (channel !== null) return channel;
  throw new CommandError(
    `No channel with UUID ${uuid}. Run \`overdue admin channel list\` to see the channels of a project.`,
  );
}
