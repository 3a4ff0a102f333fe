// `overdue admin channel add`: a configuration from a file and from options. A secret that we made is shown once.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { type Command, Option } from "commander";
import { addressWarnings, reachOf } from "../../channels/config/address-warnings.ts";
import { type Field, fieldsOf } from "../../channels/config/channel-config.ts";
import { CONFIG_RULES } from "../../channels/config/config-rules.ts";
import { KINDS, kindNamed } from "../../channels/registry.ts";
import { type ChosenChecks, readChannelRequest } from "../../core/alerts/channel-request.ts";
import { createChannel } from "../../operations/alerts/channels/create-channel.ts";
import { readDatabaseClock } from "../../store/instance.ts";
import { onDatabase } from "../admin-session.ts";
import { renderColumns } from "../admin-text.ts";
import { CommandError, type CommandContext, EXIT, printJson } from "../command-context.ts";
import { COMMAND_LINE, parseUuid, projectIdOf } from "./channel-names.ts";

type AddOptions = {
  project: string;
  kind: string;
  name: string;
  set: readonly string[];
  config?: string;
  checks: ChosenChecks;
  disabled?: true;
  json?: true;
};

/** Adds the command to `overdue admin channel`. */
export function registerChannelAdd(channel: Command, context: CommandContext): void {
  channel
    .command("add")
    .description("Create a channel")
    .requiredOption("--project <uuid>", "Project UUID; see `overdue admin list`", parseUuid)
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
    .action((options: AddOptions) =>
      onDatabase(context, async ({ database, config }) => {
        const { kind, checks } = options;
        const named = readChannelRequest({ name: options.name });
        if (!named.ok) throw new CommandError(`The ${named.text}.`, EXIT.usage);
        const { name = "" } = named.value;
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

/** A configuration file is small; whatever is larger is another file. */
const CONFIG_LENGTH_MAX = 1_000_000;

async function fromFile(path: string | undefined): Promise<Record<string, unknown>> {
  if (path === undefined) return {};
  const content = path === "-" ? await text(process.stdin) : await readFile(path, "utf8").catch(unreadable);
  try {
    const value: unknown = JSON.parse(content.slice(0, CONFIG_LENGTH_MAX));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // What the parser says would quote the file, in which there are secrets.
  }
  throw new CommandError("The configuration is not a valid JSON object.", EXIT.usage);
}

function unreadable(error: Error): never {
  throw new CommandError(`Cannot read the configuration: ${error.message}`, EXIT.usage);
}

/** Values as the fields of the kind want them; what they may be is judged later. */
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
