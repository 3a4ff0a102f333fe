// `overdue serve`: runs the chosen roles until it is stopped.
import type { Command } from "commander";
import { setTimeout as sleep } from "node:timers/promises";
import { type Config, loadConfig } from "../config/config.ts";
import { isDatabaseAway } from "../store/errors.ts";
import { type CommandContext, type Ready, withDatabase } from "./command-context.ts";

/** The role that serves the page of the link. */
const WEB_ROLE = "web";
const LINK_TRIES_MAX = 5;
const LINK_PAUSE_MS = 1_000;

/** Adds the options and the action. */
export function defineServe(
  command: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  command
    .option("-r, --roles <names>", `Comma-separated roles to run: ${context.roleNames.join(", ")}, or all`)
    .addHelpText("after", afterHelp(context))
    .action(async (options: { roles?: string }) => {
      const { config } = loadConfig(context.environment);
      const given = options.roles?.split(",").map((name) => name.trim()) ?? config.roles;
      setExitCode(await context.serve(config, { roles: given, onReady: announcer(config) }));
    });
}

/**
 * On a server without an admin account, logs the link that creates the first one. Not behind an authenticating proxy,
 * where no link is accepted.
 */
function announcer(config: Config): (ready: Ready) => Promise<void> {
  return async ({ log, roles }) => {
    if (!roles.includes(WEB_ROLE) || config.remoteUserHeader !== null) return;
    try {
      const link = await ownerLink(config);
      if (link !== null) log.warn({ link }, "No admin account yet. Open this link to create one.");
    } catch (error) {
      log.warn(
        { err: error },
        "could not create the setup link for the first account; retrying at the next start",
      );
    }
  };
}

/** The page that creates the first account; null if there is an admin. Retries if the server is busy. */
export async function ownerLink(config: Config): Promise<string | null> {
  const { ensureAdminLink } = await import("../operations/sign-in.ts");
  const { readDatabaseClock } = await import("../store/instance.ts");
  for (let tries = 1; ; tries += 1) {
    try {
      return await withDatabase(config, async (database) => {
        const made = await ensureAdminLink(database, { now: await readDatabaseClock(database) });
        return made === null ? null : `${config.siteUrl}/accounts/setup/${made.token}/`;
      });
    } catch (error) {
      if (tries === LINK_TRIES_MAX || !isDatabaseAway(error)) throw error;
      await sleep(LINK_PAUSE_MS);
    }
  }
}

function afterHelp({ roleNames }: CommandContext): string {
  return `
Without --roles, the roles in OVERDUE_ROLES run, or all roles if it is not set. The server applies pending
migrations at startup (unless OVERDUE_MIGRATE_ON_START=false), logs JSON lines to standard output, and serves
/healthz, /readyz, and /metrics on OVERDUE_ADMIN_LISTEN. SIGTERM or SIGINT shuts it down gracefully; a second signal
stops it immediately. Until there is an admin account, the role web logs a link to create one at each start.

Examples:
  $ overdue serve
  $ overdue serve --roles ${roleNames[0] ?? "all"}`;
}
