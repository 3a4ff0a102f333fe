// `overdue admin key`: creates, replaces, and lists API keys. A key is shown once.
import { type Command, Option } from "commander";
import type { KeyKind } from "../core/identity.ts";
import { createKeys } from "../operations/api-keys.ts";
import { secretKeyOf } from "../operations/secrets.ts";
import { listApiKeys } from "../store/api-keys.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { addressesOf, onDatabase, projectIdOf, renderKeys, shownKey } from "./admin-session.ts";
import { parseUuid } from "./arguments.ts";
import { type CommandContext, printJson, renderColumns } from "./command-context.ts";

const AFTER_HELP = `
API keys are shown only once, when they are created. Only their hashes are stored.

Examples:
  $ PROJECT=5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11
  $ overdue admin key create --project $PROJECT --kind read-only --name grafana
  $ overdue admin key rotate --project $PROJECT
  $ overdue admin key list --project $PROJECT`;

/** The names of key kinds on the command line. */
const KINDS: Readonly<Record<string, readonly KeyKind[]>> = {
  "read-write": ["readWrite"],
  "read-only": ["readOnly"],
  both: ["readWrite", "readOnly"],
};

/** Adds the commands. */
export function defineAdminKey(key: Command, context: CommandContext): void {
  key.addHelpText("after", AFTER_HELP);
  registerCreate(key, context);
  registerRotate(key, context);
  registerList(key, context);
}

type CreateOptions = { project: string; kind: string; name: string; replace?: true; json?: true };

function registerCreate(key: Command, context: CommandContext): void {
  addOptions(key.command("create").description("Create additional API keys for a project"))
    // The former name of `rotate`.
    .addOption(new Option("--replace").hideHelp())
    .action((options: CreateOptions) => create(context, options));
}

function registerRotate(key: Command, context: CommandContext): void {
  addOptions(
    key.command("rotate").description("Create new API keys and revoke the old ones of the same kind"),
  ).action((options: CreateOptions) => create(context, { ...options, replace: true }));
}

function addOptions(command: Command): Command {
  return command
    .requiredOption("--project <uuid>", "Project UUID; see `overdue admin project list`", parseUuid)
    .addOption(new Option("--kind <kind>", "Kind of keys").choices(Object.keys(KINDS)).default("both"))
    .option("--name <name>", "Name of the keys", "")
    .option("--json", "Output JSON (uuid, api_key, api_key_readonly, ping_key)");
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  await onDatabase(context, async ({ database, config }) => {
    const made = await createKeys(database, {
      projectUuid: options.project,
      kinds: KINDS[options.kind] ?? [],
      name: options.name,
      replace: options.replace ?? false,
      secretKey: await secretKeyOf(database, config.secretKey),
      now: await readDatabaseClock(database),
    });
    const keys = {
      uuid: options.project,
      api_key: made.keys.readWrite ?? null,
      api_key_readonly: made.keys.readOnly ?? null,
      ping_key: made.pingKey,
    };
    if (options.json) return printJson(context, keys);
    if (options.replace) context.out(`Revoked keys: ${made.revokedCount}.\n\n`);
    context.out(renderKeys(keys, addressesOf(config)));
  });
}

function registerList(key: Command, context: CommandContext): void {
  key
    .command("list")
    .description("List the API keys of a project by their first characters")
    .requiredOption("--project <uuid>", "Project UUID; see `overdue admin project list`", parseUuid)
    .option("--json", "Output JSON (api_keys)")
    .action((options: { project: string; json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const found = await listApiKeys(database, await projectIdOf(database, options.project));
        const keys = found.filter(({ revokedAt }) => revokedAt === null).map(shownKey);
        if (options.json) return printJson(context, { api_keys: keys });
        if (keys.length === 0) return context.err("No API keys.\n");
        const rows = keys.map(({ prefix, kind, name, created, last_used: used }) => {
          return [`${prefix}…`, kind, name, created, used ?? "never"];
        });
        context.out(renderColumns([["KEY", "KIND", "NAME", "CREATED", "LAST USED"], ...rows]));
      }),
    );
}
