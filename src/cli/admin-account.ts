// `overdue admin account`: creates and lists accounts, and helps users who are locked out. Links grant access, so they go
// to standard output and nowhere else.
import { type Command, Option } from "commander";
import { MINUTE_MS } from "../core/instant.ts";
import { CHECK_LIMIT_MAX } from "../core/limits.ts";
import { REMINDERS, type Reminders, REPORTS, type Reports } from "../core/report.ts";
import { INVITATION_DAYS, TOKEN_MS } from "../core/sign-in.ts";
import { createAccount } from "../operations/accounts.ts";
import { setCheckLimit } from "../operations/admin.ts";
import { removeAuthenticator } from "../operations/credentials.ts";
import { setPreferences } from "../operations/emails.ts";
import { secretsOf, signingWith } from "../operations/secrets.ts";
import { invite } from "../operations/members.ts";
import { createLoginLink } from "../operations/sign-in.ts";
import { type Account, listAccounts } from "../store/accounts.ts";
import { listApiKeys } from "../store/api-keys.ts";
import type { Database } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { listProjectsOfAccount } from "../store/projects.ts";
import { onDatabase, ownerOf, type ShownKey, shownKey } from "./admin-session.ts";
import { numberFrom } from "./arguments.ts";
import { type CommandContext, printJson, renderColumns } from "./command-context.ts";

const AFTER_HELP = `
Two-factor authentication still applies to sign-in links. Without options, set-preferences prints the preferences.

Examples:
  $ overdue admin account create --email you@example.org
  $ overdue admin account list
  $ overdue admin account invite --email colleague@example.org
  $ overdue admin account login-link --account you@example.org
  $ overdue admin account reset-2fa --account you@example.org
  $ overdue admin account set-limit --account you@example.org --limit 500
  $ overdue admin account set-preferences --reports weekly --reminders off`;

/** Adds the commands. */
export function defineAdminAccount(account: Command, context: CommandContext): void {
  account.addHelpText("after", AFTER_HELP);
  registerCreate(account, context);
  registerList(account, context);
  registerInvite(account, context);
  registerLoginLink(account, context);
  registerReset(account, context);
  registerSetLimit(account, context);
  registerSetPreferences(account, context);
}

function registerCreate(account: Command, context: CommandContext): void {
  type Options = {
    email: string;
    name: string;
    admin?: true;
    operator?: true;
    checkLimit?: number;
    json?: true;
  };
  account
    .command("create")
    .description("Create an account")
    .requiredOption("--email <address>", "Email address")
    .option("--name <name>", "Display name", "")
    .option("--admin", "Make the account a server admin")
    .addOption(new Option("--operator").hideHelp())
    .option("--check-limit <number>", "Maximum number of checks (default: OVERDUE_CHECK_LIMIT)", parseLimit)
    .option("--json", "Output JSON (uuid, email)")
    .action((options: Options) =>
      onDatabase(context, async ({ database }) => {
        const { uuid, email } = await createAccount(database, {
          email: options.email,
          name: options.name,
          isAdmin: options.admin ?? options.operator ?? false,
          checkLimit: options.checkLimit ?? null,
          now: await readDatabaseClock(database),
        });
        if (options.json) return printJson(context, { uuid, email });
        context.out(
          `Created account ${email}. Next: overdue admin project create --account ${email} --name <name>\n`,
        );
      }),
    );
}

/** Maximum number of accounts in the list. */
const ACCOUNTS_MAX = 1_000;

type ListedProject = {
  uuid: string;
  name: string;
  role: string;
  ping_key: string | null;
  api_keys: ShownKey[];
};

type ListedAccount = {
  uuid: string;
  email: string;
  name: string;
  admin: boolean;
  /** The former name of `admin`. */
  operator: boolean;
  check_count: number;
  check_limit: number | null;
  projects: ListedProject[];
};

function registerList(account: Command, context: CommandContext): void {
  account
    .command("list")
    .description("List accounts, projects, and API key prefixes")
    .option("--json", "Output JSON (accounts, complete)")
    .action((options: { json?: true }) =>
      onDatabase(context, async ({ database, config }) => {
        const found = await listAccounts(database, { afterId: 0, limit: ACCOUNTS_MAX + 1 });
        const complete = found.length <= ACCOUNTS_MAX;
        const accounts: ListedAccount[] = [];
        for (const one of found.slice(0, ACCOUNTS_MAX)) {
          accounts.push(await listed(database, { account: one, instanceLimit: config.checkLimit }));
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
    projects.push({ uuid, name, role, ping_key: pingKey, api_keys: keys.map(shownKey) });
  }
  const { uuid, email, name, isAdmin } = account;
  return {
    uuid,
    email,
    name,
    admin: isAdmin,
    operator: isAdmin,
    check_count: account.checkCount,
    check_limit: account.checkLimit ?? instanceLimit,
    projects,
  };
}

function renderAccounts(accounts: readonly ListedAccount[]): string {
  if (accounts.length === 0) {
    return "No accounts yet. Create one with `overdue admin account create --email <address>`.\n";
  }
  return accounts.map(renderAccount).join("\n");
}

function renderAccount(account: ListedAccount): string {
  const rights = account.admin ? ", admin" : "";
  const limit = account.check_limit === null ? "" : ` of ${account.check_limit}`;
  const head = `${account.email} (${account.check_count}${limit} checks${rights})\n`;
  if (account.projects.length === 0) return `${head}  no projects\n`;
  const rows = account.projects.map(({ uuid, name, role, ping_key: pingKey, api_keys: keys }) => {
    const beginnings = keys.map(({ prefix }) => `${prefix}…`).join(" ");
    return [`  ${uuid}`, name, role, `ping key ${pingKey ?? "none"}`, beginnings];
  });
  return head + renderColumns(rows);
}

function registerLoginLink(account: Command, context: CommandContext): void {
  account
    .command("login-link")
    .description("Print a one-time sign-in link")
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

function registerReset(account: Command, context: CommandContext): void {
  account
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

function registerInvite(account: Command, context: CommandContext): void {
  account
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

function registerSetLimit(account: Command, context: CommandContext): void {
  type Options = { account: string; limit: number | "default"; json?: true };
  account
    .command("set-limit")
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

const parseLimit = numberFrom({ min: 0, max: CHECK_LIMIT_MAX });

function parseLimitOrDefault(text: string): number | "default" {
  return text === "default" ? text : parseLimit(text);
}

/** Means that pages use the time zone of the browser. */
const AS_BROWSER = "browser";

function registerSetPreferences(account: Command, context: CommandContext): void {
  type Options = {
    account?: string;
    reports?: Reports;
    reminders?: Reminders;
    timeZone?: string;
    json?: true;
  };
  account
    .command("set-preferences")
    .description("Set or print reports, reminders, and the time zone")
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
