// `overdue admin project`: creates and lists projects. API keys are shown once, when they are created.
import type { Command } from "commander";
import { secretKeyOf } from "../operations/secrets.ts";
import { createProject } from "../operations/projects.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { listProjectsOfAccount } from "../store/projects.ts";
import { addressesOf, onDatabase, ownerOf, renderKeys } from "./admin-session.ts";
import { type CommandContext, printJson, renderColumns } from "./command-context.ts";

const AFTER_HELP = `
API keys are shown only once, when they are created. Only their hashes are stored.

Examples:
  $ overdue admin project create --name Backups
  $ overdue admin project create --account you@example.org --json
  $ overdue admin project list`;

/** Adds the commands. */
export function defineAdminProject(project: Command, context: CommandContext): void {
  project.addHelpText("after", AFTER_HELP);
  registerCreate(project, context);
  registerList(project, context);
}

function registerCreate(project: Command, context: CommandContext): void {
  type Options = { name: string; account?: string; json?: true };
  project
    .command("create")
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

function registerList(project: Command, context: CommandContext): void {
  project
    .command("list")
    .description("List the projects of an account")
    .option("--account <address>", "Account email; optional if there is only one account")
    .option("--json", "Output JSON (projects)")
    .action((options: { account?: string; json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const { id } = await ownerOf(database, options.account);
        const projects = (await listProjectsOfAccount(database, id)).map(({ uuid, name, role, pingKey }) => {
          return { uuid, name, role, ping_key: pingKey };
        });
        if (options.json) return printJson(context, { projects });
        if (projects.length === 0) return context.err("No projects.\n");
        const rows = projects.map(({ uuid, name, role, ping_key: key }) => [uuid, name, role, key ?? "none"]);
        context.out(renderColumns([["UUID", "NAME", "ROLE", "PING KEY"], ...rows]));
      }),
    );
}
