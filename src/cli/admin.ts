// `overdue admin`: what an operator does by hand. Parses, calls an operation, prints; a key is shown once.
import { type Command, InvalidArgumentError, Option } from "commander";
import type { KeyKind } from "../core/identity.ts";
import { isUuid } from "../core/identity.ts";
import { CHECK_LIMIT_MAX } from "../core/limits.ts";
import { secretKeyOf } from "../operations/api-key.ts";
import { createAccount } from "../operations/create-account.ts";
import { createKeys } from "../operations/accounts/create-keys.ts";
import { createProject } from "../operations/create-project.ts";
import { setCheckLimit } from "../operations/accounts/set-check-limit.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { registerList } from "./admin-list.ts";
import { registerSetPreferences } from "./admin-mail.ts";
import { registerConfirmRestore } from "./admin-restore.ts";
import { registerPeople } from "./admin-people.ts";
import { registerQuarantine } from "./admin-quarantine.ts";
import { onDatabase, ownerOf } from "./admin-session.ts";
import { registerChannel } from "./channel/channel.ts";
import { type CommandContext, printJson } from "./command-context.ts";
import { addressesOf, renderKeys } from "./admin-text.ts";

const AFTER_HELP = `
API keys are shown only once, when they are created. Only their hashes are stored.

Examples:
  $ overdue admin create-account --email you@example.org
  $ overdue admin create-project --name Backups --account you@example.org --json
  $ overdue admin create-keys --project <uuid> --kind read-only
  $ overdue admin set-check-limit --account you@example.org --limit 500
  $ overdue admin set-preferences --account you@example.org --reports weekly --time-zone Europe/Riga
  $ overdue admin channel add --project <uuid> --kind email --set value=you@example.org
  $ overdue admin login-link --account you@example.org    # locked out, or email is not set up
  $ overdue admin reset-2fa --account you@example.org     # lost phone
  $ overdue admin invite --email colleague@example.org
  $ overdue admin list`;

/** What the command line calls a kind of key. */
const KINDS: Readonly<Record<string, readonly KeyKind[]>> = {
  "read-write": ["readWrite"],
  "read-only": ["readOnly"],
  both: ["readWrite", "readOnly"],
};

/** Adds the commands to the program. */
export function registerAdmin(program: Command, context: CommandContext): void {
  const admin = program
    .command("admin")
    .description("Manage accounts, projects, API keys, channels, and limits")
    .addHelpText("after", AFTER_HELP);
  registerCreateAccount(admin, context);
  registerCreateProject(admin, context);
  registerCreateKeys(admin, context);
  registerSetCheckLimit(admin, context);
  registerSetPreferences(admin, context);
  registerChannel(admin, context);
  registerPeople(admin, context);
  registerConfirmRestore(admin, context);
  registerQuarantine(admin, context);
  registerList(admin, context);
}

function registerCreateAccount(admin: Command, context: CommandContext): void {
  type Options = { email: string; name: string; operator?: true; checkLimit?: number; json?: true };
  admin
    .command("create-account")
    .description("Create an account")
    .requiredOption("--email <address>", "Email address")
    .option("--name <name>", "Display name", "")
    .option("--operator", "Make the account a server admin")
    .option("--check-limit <number>", "Maximum number of checks (default: OVERDUE_CHECK_LIMIT)", parseLimit)
    .option("--json", "Output JSON (uuid, email)")
    .action((options: Options) =>
      onDatabase(context, async ({ database }) => {
        const { uuid, email } = await createAccount(database, {
          email: options.email,
          name: options.name,
          isOperator: options.operator ?? false,
          checkLimit: options.checkLimit ?? null,
          now: await readDatabaseClock(database),
        });
        if (options.json) return printJson(context, { uuid, email });
        context.out(
          `Created account ${email}. Next: overdue admin create-project --account ${email} --name <name>\n`,
        );
      }),
    );
}

function registerCreateProject(admin: Command, context: CommandContext): void {
  type Options = { name: string; account?: string; json?: true };
  admin
    .command("create-project")
    .description("Create a project with API keys and a ping key")
    .option("--name <name>", "Project name", "My project")
    .option("--account <address>", "Email of the owner; optional if there is only one account")
    .option("--json", "Output JSON (uuid, api_key, api_key_readonly, ping_key)")
    .action((options: Options) =>
      onDatabase(context, async ({ database, config }) => {
        const owner = await ownerOf(database, options.account);
        const made = await createProject(database, {
          ownerId: owner.id,
          name: options.name,
          secretKey: await secretKeyOf(database, config.secretKey),
          now: await readDatabaseClock(database),
        });
        const keys = {
          uuid: made.uuid,
          api_key: made.apiKey,
          api_key_readonly: made.apiKeyReadonly,
          ping_key: made.pingKey,
        };
        if (options.json) return printJson(context, keys);
        context.out(`Created project ${options.name}, owned by ${owner.email}.\n\n`);
        context.out(renderKeys(keys, addressesOf(config)));
      }),
    );
}

function registerCreateKeys(admin: Command, context: CommandContext): void {
  type Options = { project: string; kind: string; name: string; replace?: true; json?: true };
  admin
    .command("create-keys")
    .description("Create additional API keys for a project, or replace existing ones")
    .requiredOption("--project <uuid>", "Project UUID; see `overdue admin list`", parseUuid)
    .addOption(
      new Option("--kind <kind>", "Kind of keys to create").choices(Object.keys(KINDS)).default("both"),
    )
    .option("--name <name>", "Name of the keys", "")
    .option("--replace", "Revoke existing keys of the same kind immediately")
    .option("--json", "Output JSON (uuid, api_key, api_key_readonly, ping_key)")
    .action((options: Options) =>
      onDatabase(context, async ({ database, config }) => {
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
      }),
    );
}

function registerSetCheckLimit(admin: Command, context: CommandContext): void {
  type Options = { account: string; limit: number | "default"; json?: true };
  admin
    .command("set-check-limit")
    .description("Set the maximum number of checks for an account")
    .requiredOption("--account <address>", "Account email")
    .requiredOption(
      "--limit <number>",
      'Maximum number of checks, or "default" to use OVERDUE_CHECK_LIMIT',
      parseLimitOrDefault,
    )
    .option("--json", "Output JSON (account, check_limit)")
    .action((options: Options) =>
      onDatabase(context, async ({ database, config }) => {
        const checkLimit = options.limit === "default" ? null : options.limit;
        const now = await readDatabaseClock(database);
        await setCheckLimit(database, { email: options.account, checkLimit, now });
        const effective = checkLimit ?? config.checkLimit;
        if (options.json) return printJson(context, { account: options.account, check_limit: effective });
        context.out(`Check limit for ${options.account}: ${effective ?? "unlimited"}.\n`);
      }),
    );
}

function parseLimit(text: string): number {
  const limit = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (limit <= CHECK_LIMIT_MAX) return limit;
  throw new InvalidArgumentError(`Expected a whole number from 0 to ${CHECK_LIMIT_MAX}.`);
}

function parseLimitOrDefault(text: string): number | "default" {
  return text === "default" ? text : parseLimit(text);
}

function parseUuid(text: string): string {
  const uuid = text.toLowerCase();
  if (isUuid(uuid)) return uuid;
  throw new InvalidArgumentError("Expected a UUID; see `overdue admin list`.");
}
