// `overdue admin list`: accounts, their projects and keys. Shows the beginnings of API keys, never more.
import type { Command } from "commander";
import type { Database } from "../store/db.ts";
import { type ApiKey, listApiKeys } from "../store/keys.ts";
import { type Account, listAccounts, listProjectsOfAccount } from "../store/accounts/projects.ts";
import { onDatabase } from "./admin-session.ts";
import { renderColumns } from "./admin-text.ts";
import { type CommandContext, printJson } from "./command-context.ts";

/** An installation with more accounts than this has better tools than a list in a terminal. */
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
export function registerList(admin: Command, context: CommandContext): void {
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
  const { uuid, email, name, isOperator } = account;
  return {
    uuid,
    email,
    name,
    operator: isOperator,
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
