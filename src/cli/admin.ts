// `overdue admin`: parses, calls an operation, and prints. A key is shown once.
import { type Command, InvalidArgumentError, Option } from "commander";
import { AppError } from "../core/errors.ts";
import { isUuid, type KeyKind } from "../core/identity.ts";
import { MINUTE_MS } from "../core/instant.ts";
import { CHECK_LIMIT_MAX } from "../core/limits.ts";
import { REMINDERS, type Reminders, REPORTS, type Reports } from "../core/report.ts";
import { INVITATION_DAYS, TOKEN_MS } from "../core/sign-in.ts";
import { decodeQuarantined } from "../intake/accepted-codec.ts";
import { createAccount } from "../operations/accounts.ts";
import { setCheckLimit } from "../operations/admin.ts";
import { createKeys } from "../operations/api-keys.ts";
import { removeAuthenticator } from "../operations/credentials.ts";
import { confirmRestore } from "../operations/database-identity.ts";
import { setPreferences } from "../operations/emails.ts";
import { readIntakes } from "../operations/intakes.ts";
import { invite } from "../operations/members.ts";
import { createProject } from "../operations/projects.ts";
import { type Retried, retryQuarantined } from "../operations/quarantine.ts";
import { secretKeyOf, secretsOf, signingWith } from "../operations/secrets.ts";
import { createLoginLink } from "../operations/sign-in.ts";
import { type Account, listAccounts } from "../store/accounts.ts";
import { type ApiKey, listApiKeys } from "../store/api-keys.ts";
import type { Database } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { listProjectsOfAccount } from "../store/projects.ts";
import { countRejectedSignals, listQuarantinedPings, type QuarantinedPing } from "../store/quarantine.ts";
import { registerChannel } from "./admin-channel.ts";
import { addressesOf, onDatabase, ownerOf, renderKeys, type Session } from "./admin-session.ts";
import { type CommandContext, CommandError, printJson, renderColumns } from "./command-context.ts";

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

/** The names of key kinds on the command line. */
const KINDS: Readonly<Record<string, readonly KeyKind[]>> = {
  "read-write": ["readWrite"],
  "read-only": ["readOnly"],
  both: ["readWrite", "readOnly"],
};

/** Adds the commands below `admin`. */
export function defineAdmin(admin: Command, context: CommandContext): void {
  admin.addHelpText("after", AFTER_HELP);
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
          isAdmin: options.operator ?? false,
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

// `overdue admin login-link`, `reset-2fa` and `invite`: for users who are locked out, and for servers that send no email.
// The output grants access, so it goes to standard output and nowhere else.

/** Adds the commands to `overdue admin`. */
function registerPeople(admin: Command, context: CommandContext): void {
  registerLoginLink(admin, context);
  registerReset(admin, context);
  registerInvite(admin, context);
}

function registerLoginLink(admin: Command, context: CommandContext): void {
  admin
    .command("login-link")
    .description("Print a one-time sign-in link; two-factor authentication still applies")
    .option("--account <address>", "Account email; optional if there is only one account")
    .option("--json", "Output JSON (account, link, minutes)")
    .action((options: { account?: string; json?: true }) =>
      onDatabase(context, async ({ database, config }) => {
        const { email } = await ownerOf(database, options.account);
        const { token } = await createLoginLink(database, { email, now: await readDatabaseClock(database) });
        const link = `${config.siteUrl}/accounts/link/${token}/`;
        const minutes = TOKEN_MS.signIn / MINUTE_MS;
        if (options.json) return printJson(context, { account: email, link, minutes });
        context.out(`One-time sign-in link for ${email}, valid for ${minutes} minutes:\n${link}\n`);
      }),
    );
}

function registerReset(admin: Command, context: CommandContext): void {
  admin
    .command("reset-2fa")
    .description("Remove an account's authenticator app and recovery codes")
    .option("--account <address>", "Account email; optional if there is only one account")
    .option("--json", "Output JSON (account, removed)")
    .action((options: { account?: string; json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const { id, email } = await ownerOf(database, options.account);
        const now = await readDatabaseClock(database);
        const person = { accountId: id, email };
        const removed = await removeAuthenticator(database, { person, actorId: null, now });
        if (options.json) return printJson(context, { account: email, removed });
        context.out(
          removed
            ? `Two-factor authentication is off for ${email}.\n`
            : `${email} has no authenticator app.\n`,
        );
      }),
    );
}

function registerInvite(admin: Command, context: CommandContext): void {
  admin
    .command("invite")
    .description("Print an invitation link for a new account")
    .requiredOption("--email <address>", "Email address of the new account")
    .option("--json", "Output JSON (email, link, days)")
    .action((options: { email: string; json?: true }) =>
      onDatabase(context, async ({ database, config }) => {
        const signing = signingWith(await secretsOf(database, config));
        const now = await readDatabaseClock(database);
        const of = { project: null, role: null, inviterId: null, byMail: false };
        const { token } = await invite(database, { ...of, email: options.email, signing, now });
        const link = `${config.siteUrl}/accounts/invitation/${token}/`;
        if (options.json) return printJson(context, { email: options.email, link, days: INVITATION_DAYS });
        context.out(`Invitation link for ${options.email}, valid for ${INVITATION_DAYS} days:\n${link}\n`);
      }),
    );
}

// `overdue admin list`: accounts, projects and keys. Shows only the prefix of an API key.

/** Maximum number of accounts in the list. */
const ACCOUNTS_MAX = 1_000;

type ListedProject = {
  uuid: string;
  name: string;
  role: string;
  ping_key: string | null;
  api_keys: { prefix: string; kind: string; name: string; created: string; last_used: string | null }[];
};

type ListedAccount = {
  uuid: string;
  email: string;
  name: string;
  operator: boolean;
  check_count: number;
  check_limit: number | null;
  projects: ListedProject[];
};

/** Adds the command to `overdue admin`. */
function registerList(admin: Command, context: CommandContext): void {
  admin
    .command("list")
    .description("List accounts, projects, and API key prefixes")
    .option("--json", "Output JSON (accounts, complete)")
    .action((options: { json?: true }) =>
      onDatabase(context, async ({ database, config }) => {
        const found = await listAccounts(database, { afterId: 0, limit: ACCOUNTS_MAX + 1 });
        const complete = found.length <= ACCOUNTS_MAX;
        const accounts: ListedAccount[] = [];
        for (const account of found.slice(0, ACCOUNTS_MAX)) {
          accounts.push(await listed(database, { account, instanceLimit: config.checkLimit }));
        }
        if (options.json) return printJson(context, { accounts, complete });
        context.out(renderAccounts(accounts));
        if (!complete) context.err(`Only the first ${ACCOUNTS_MAX} accounts are shown.\n`);
      }),
    );
}

async function listed(
  database: Database,
  { account, instanceLimit }: { account: Account & { checkCount: number }; instanceLimit: number | null },
): Promise<ListedAccount> {
  const projects: ListedProject[] = [];
  for (const project of await listProjectsOfAccount(database, account.id)) {
    const keys = (await listApiKeys(database, project.id)).filter((key) => key.revokedAt === null);
    const { uuid, name, role, pingKey } = project;
    projects.push({ uuid, name, role, ping_key: pingKey, api_keys: keys.map(listedKey) });
  }
  const { uuid, email, name, isAdmin } = account;
  return {
    uuid,
    email,
    name,
    operator: isAdmin,
    check_count: account.checkCount,
    check_limit: account.checkLimit ?? instanceLimit,
    projects,
  };
}

function listedKey(key: ApiKey): ListedProject["api_keys"][number] {
  return {
    prefix: key.prefix,
    kind: key.kind === "readWrite" ? "read-write" : "read-only",
    name: key.name,
    created: new Date(key.createdAt).toISOString(),
    last_used: key.lastUsedAt === null ? null : new Date(key.lastUsedAt).toISOString(),
  };
}

function renderAccounts(accounts: readonly ListedAccount[]): string {
  if (accounts.length === 0) {
    return "No accounts yet. Create one with `overdue admin create-account --email <address>`.\n";
  }
  return accounts.map(renderAccount).join("\n");
}

function renderAccount(account: ListedAccount): string {
  const rights = account.operator ? ", admin" : "";
  const limit = account.check_limit === null ? "" : ` of ${account.check_limit}`;
  const head = `${account.email} (${account.check_count}${limit} checks${rights})\n`;
  if (account.projects.length === 0) return `${head}  no projects\n`;
  const rows = account.projects.map(({ uuid, name, role, ping_key: pingKey, api_keys: keys }) => {
    const beginnings = keys.map(({ prefix }) => `${prefix}…`).join(" ");
    return [`  ${uuid}`, name, role, `ping key ${pingKey ?? "none"}`, beginnings];
  });
  return head + renderColumns(rows);
}

// `overdue admin set-preferences`: report emails, and the time zone of an account.

/** Means that pages use the time zone of the browser. */
const AS_BROWSER = "browser";

/** Adds the command to `overdue admin`. */
function registerSetPreferences(admin: Command, context: CommandContext): void {
  type Options = {
    account?: string;
    reports?: Reports;
    reminders?: Reminders;
    timeZone?: string;
    json?: true;
  };
  admin
    .command("set-preferences")
    .description("Set reports, reminders, and the time zone of an account; without options, print them")
    .option("--account <address>", "Account email; optional if there is only one account")
    .addOption(new Option("--reports <how-often>", "How often to send summary reports").choices(REPORTS))
    .addOption(
      new Option("--reminders <how-often>", "How often to send reminders while a check is down").choices(
        REMINDERS,
      ),
    )
    .option(
      "--time-zone <name>",
      'Time zone for the dashboard and email, such as Europe/Riga, or "browser" to use the time zone of the browser',
    )
    .option("--json", "Output JSON (account, reports, reminders, time_zone)")
    .action((options: Options) =>
      onDatabase(context, async ({ database }) => {
        const { email } = await ownerOf(database, options.account);
        const { reports, reminders, tz } = await setPreferences(database, {
          email,
          change: {
            ...(options.reports !== undefined && { reports: options.reports }),
            ...(options.reminders !== undefined && { reminders: options.reminders }),
            ...(options.timeZone !== undefined && {
              tz: options.timeZone === AS_BROWSER ? null : options.timeZone,
            }),
          },
        });
        if (options.json) return printJson(context, { account: email, reports, reminders, time_zone: tz });
        context.out(
          `${email}: reports ${reports}, reminders ${reminders}, time zone ${tz ?? "from browser, UTC in email"}.\n`,
        );
      }),
    );
}

// `overdue admin quarantine`: pings that could not be recorded.

const LISTED_MAX = 100;
const RETRY_MS_MAX = 10 * MINUTE_MS;

const QUARANTINE_HELP = `
A ping is quarantined if it was received but could not be recorded. A quarantined ping does not cause a down alert
for its check.

Examples:
  $ overdue admin quarantine list
  $ overdue admin quarantine retry     # after you fix the cause, for example by upgrading`;

function registerQuarantine(admin: Command, context: CommandContext): void {
  const quarantine = admin
    .command("quarantine")
    .description("List and retry pings that could not be recorded")
    .addHelpText("after", QUARANTINE_HELP);
  quarantine
    .command("list")
    .description("List the newest quarantined pings with reasons")
    .option("--json", "Output JSON (count, pings)")
    .action(({ json }: { json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const { count } = await countRejectedSignals(database);
        const pings = (await listQuarantinedPings(database, LISTED_MAX)).map(shown);
        if (json) printJson(context, { count, pings });
        else context.out(renderPings(count, pings));
      }),
    );
  quarantine
    .command("retry")
    .description("Retry all quarantined pings")
    .option("--json", "Output JSON (recorded, dropped, failed)")
    .action(({ json }: { json?: true }) =>
      onDatabase(context, async (session) => {
        const retried = await retry(session);
        if (json) return printJson(context, retried);
        const { recorded, dropped } = retried;
        const { count } = await countRejectedSignals(session.database);
        context.out(
          `Recorded: ${recorded}. Dropped because the check no longer exists: ${dropped}. Still quarantined: ${count}.\n`,
        );
      }),
    );
}

async function retry({ database, config }: Session): Promise<Retried> {
  const { settled: visibility } = await readIntakes(database);
  return retryQuarantined(database, {
    visibility,
    rules: { ratePerMinute: config.signalsPerMinute },
    pingLogRows: config.pingLogLimit,
    decode: decodeQuarantined,
    withinMs: RETRY_MS_MAX,
  });
}

type Shown = { id: number; received: string; check: string | null; reason: string };

function shown({ id, at, check, reason }: QuarantinedPing): Shown {
  return { id, received: new Date(at).toISOString(), check: check?.uuid ?? null, reason };
}

function renderPings(count: number, pings: readonly Shown[]): string {
  if (count === 0) return "No pings are quarantined.\n";
  const rows = pings.map(({ received, check, reason }) => [received, check ?? "unknown", reason]);
  const more = count - pings.length;
  const rest = more > 0 ? `${more} more not shown.\n` : "";
  return renderColumns([["received", "check", "reason"], ...rows]) + rest;
}

// `overdue admin confirm-restore`: ends safe mode, for a server that was restored on purpose.

const CONFIRM_RESTORE_HELP = `
A server starts in safe mode if its database was restored or copied and the server is not reachable at its public
URL. In safe mode it records pings but sends nothing. Run this command if this is the production server. Do not run
it on a test copy: the copy would send notifications to the production channels.

The time since the last heartbeat in the database counts as a monitoring gap and raises no alerts. Notifications
that were queued in the database are sent.

Example:
  $ overdue admin confirm-restore`;

/** Adds the command to `overdue admin`. */
function registerConfirmRestore(admin: Command, context: CommandContext): void {
  admin
    .command("confirm-restore")
    .description("End safe mode after a database restore and resume notifications")
    .option("--json", "Output JSON (confirmed)")
    .addHelpText("after", CONFIRM_RESTORE_HELP)
    .action((options: { json?: true }) =>
      onDatabase(context, async ({ database }) => {
        try {
          await confirmRestore(database, { accountId: null });
        } catch (error) {
          if (error instanceof AppError) throw new CommandError(error.message);
          throw error;
        }
        if (options.json) return printJson(context, { confirmed: true });
        context.out("Safe mode is off. Notifications have resumed; alerts resume in about a minute.\n");
      }),
    );
}
