// Shared by the admin commands: load the settings, open the database, find the account, print keys.
import { resolve } from "node:path";
import { type Config, type Environment, loadConfig } from "../config/config.ts";
import { normalEmail } from "../operations/accounts.ts";
import { type Account, findAccountByEmail, listAccounts } from "../store/accounts.ts";
import type { ApiKey } from "../store/api-keys.ts";
import type { Database } from "../store/db.ts";
import { findProjectByUuid } from "../store/projects.ts";
import { type CommandContext, CommandError, renderColumns, withDatabase } from "./command-context.ts";
import { DEFAULT_FOLDER, findRunning } from "./trial.ts";

const MIGRATING = "overdue: A database migration is running. Waiting for it to finish (Ctrl-C to cancel).\n";

export type Session = { database: Database; config: Config };

/** Runs an admin command on the configured database, or on that of the trial running in this folder. */
export async function onDatabase(
  context: CommandContext,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const { config, isTrial } = configOf(context.environment);
  await withDatabase(config, (database) => work({ database, config }), {
    isStarting: isTrial,
    onMigrating: () => context.err(MIGRATING),
  });
}

function configOf(environment: Environment): { config: Config; isTrial: boolean } {
  const { config } = loadConfig(environment);
  const trial = config.databaseUrl === null ? findRunning(resolve(DEFAULT_FOLDER)) : null;
  if (trial === null) return { config, isTrial: false };
  const { databaseUrl, siteUrl } = trial;
  const there = { ...environment, OVERDUE_DATABASE_URL: databaseUrl, OVERDUE_SITE_URL: siteUrl };
  return { config: loadConfig(there).config, isTrial: true };
}

/** The account with this address, or the only account. */
export async function ownerOf(database: Database, email: string | undefined): Promise<Account> {
  if (email !== undefined) {
    const account = await findAccountByEmail(database, normalEmail(email));
    if (account !== null) return account;
    throw new CommandError(
      `No account found for ${email}. Create it with \`overdue admin account create --email ${email}\`.`,
    );
  }
  const [first, second] = await listAccounts(database, { afterId: 0, limit: 2 });
  if (first === undefined) {
    throw new CommandError(
      "No accounts yet. Create one with `overdue admin account create --email <address>`.",
    );
  }
  if (second !== undefined) {
    throw new CommandError(
      "There is more than one account. Choose one with --account; `overdue admin account list` shows them.",
    );
  }
  return first;
}

/** The id of a project. */
export async function projectIdOf(database: Database, uuid: string): Promise<number> {
  const project = await findProjectByUuid(database, uuid);
  if (project !== null) return project.id;
  throw new CommandError(`No project with UUID ${uuid}. Run \`overdue admin account list\` to see them.`);
}

/** An API key without its secret part. */
export type ShownKey = {
  prefix: string;
  kind: string;
  name: string;
  created: string;
  last_used: string | null;
};

export function shownKey({ prefix, kind, name, createdAt, lastUsedAt }: ApiKey): ShownKey {
  return {
    prefix,
    kind: kind === "readWrite" ? "read-write" : "read-only",
    name,
    created: new Date(createdAt).toISOString(),
    last_used: lastUsedAt === null ? null : new Date(lastUsedAt).toISOString(),
  };
}

export type ShownKeys = {
  uuid: string;
  api_key: string | null;
  api_key_readonly: string | null;
  ping_key: string | null;
};

/** The URLs for clients of this server. */
export function addressesOf(config: Config): { api: string; ping: string } {
  return {
    api: config.apiUrl ?? `${config.siteUrl}/api`,
    ping: config.pingUrl ?? `${config.siteUrl}/ping`,
  };
}

/** The keys, shown once, with labels. */
export function renderKeys(keys: ShownKeys, addresses: { api: string; ping: string }): string {
  const rows = [
    ["Project", keys.uuid],
    ["API key (read-write)", keys.api_key],
    ["API key (read-only)", keys.api_key_readonly],
    ["Ping key", keys.ping_key],
    ["API URL", `${addresses.api}/v3/checks/`],
    ["Ping URL", keys.ping_key === null ? null : `${addresses.ping}/${keys.ping_key}/<slug>`],
  ].filter((row): row is [string, string] => typeof row[1] === "string");
  return `${renderColumns(rows)}\nSave these API keys now. You won't be able to see them again.\n`;
}
