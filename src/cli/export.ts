// `overdue export`: writes checks in the form that the API of Healthchecks accepts, or sends them there.
import type { Command } from "commander";
import { setTimeout as sleep } from "node:timers/promises";
import { type Exported, type ExportedCheck, exportChecks, withKnownChannels } from "../core/export.ts";
import { listAssignmentsOfChecks, listChannels } from "../store/channels.ts";
import { listChecks } from "../store/checks.ts";
import type { Database } from "../store/db.ts";
import { findProjectByUuid } from "../store/projects.ts";
import { onDatabase } from "./admin-session.ts";
import { parseUuid } from "./arguments.ts";
import { type CommandContext, CommandError, EXIT, printJson, progressLine } from "./command-context.ts";

const AFTER_HELP = `
Without --api, the checks are printed as a JSON array of requests to POST /api/v3/checks/. With --api, they are
compared with the checks of the project there, by slug or name, and sent with --write. The read-write API key of that
project is read from HEALTHCHECKS_API_KEY. Channels are assigned by name. Healthchecks chooses the UUIDs of checks, so
ping URLs with a UUID change; those with ping key and slug can stay.

Examples:
  $ overdue export healthchecks --project $PROJECT > checks.json
  $ overdue export healthchecks --project $PROJECT --api https://healthchecks.io`;

type Options = { project: string; api?: string; write?: true; quiet?: true; json?: true };

/** Adds the commands below `export`. */
export function defineExport(command: Command, context: CommandContext): void {
  command
    .command("healthchecks")
    .description("Print checks as requests to Healthchecks, or send them")
    .requiredOption("--project <uuid>", "Project UUID; see `overdue admin project list`", parseUuid)
    .option("--api <url>", "URL of the installation to compare with and send to")
    .option("--write", "With --api, create and update checks there (default: report only)")
    .option("--quiet", "Do not print progress")
    .option("--json", "With --api, output JSON (written, created, updated, notes)")
    .addHelpText("after", AFTER_HELP)
    .action((options: Options) =>
      onDatabase(context, async ({ database }) => {
        const exported = await readProject(database, options.project);
        if (options.api === undefined) {
          for (const note of exported.notes) context.err(`overdue: ${note}\n`);
          return context.out(`${JSON.stringify(exported.checks, null, 2)}\n`);
        }
        await send(context, { exported, options, api: options.api });
      }),
    );
}

const CHECKS_PER_PAGE = 1_000;
const PAGE_BYTES_MAX = 8 * 1024 * 1024;

async function readProject(database: Database, uuid: string): Promise<Exported> {
  const project = await findProjectByUuid(database, uuid);
  if (project === null) throw new CommandError(`No project with UUID ${uuid}.`);
  const names = new Map((await listChannels(database, project.id)).map(({ id, name }) => [id, name]));
  const found = [];
  for (let afterId = 0; ; ) {
    const page = { afterId, limit: CHECKS_PER_PAGE, bytesMax: PAGE_BYTES_MAX };
    const checks = await listChecks(database, { projectId: project.id, page });
    if (checks.length === 0) break;
    const ids = checks.map(({ id }) => id);
    const assigned = Map.groupBy(await listAssignmentsOfChecks(database, ids), ({ checkId }) => checkId);
    for (const { id, settings } of checks) {
      const channelNames = (assigned.get(id) ?? []).map(({ channelId }) => names.get(channelId) ?? "");
      found.push({ settings, channelNames });
    }
    afterId = ids.at(-1) ?? afterId;
  }
  return exportChecks(found);
}

type Sending = { exported: Exported; options: Options; api: string };

async function send(context: CommandContext, { exported, options, api }: Sending): Promise<void> {
  const key = context.environment["HEALTHCHECKS_API_KEY"] ?? "";
  if (key === "") {
    throw new CommandError(
      "Set HEALTHCHECKS_API_KEY to the read-write API key of the project there.",
      EXIT.usage,
    );
  }
  const client = clientOf(api, key);
  const { checks: there } = await client.get<{ checks: { name: string; slug: string }[] }>("checks/");
  const { channels } = await client.get<{ channels: { name: string }[] }>("channels/");
  const known = channels.map(({ name }) => name);
  const slugs = new Set(there.map(({ slug }) => slug));
  const names = new Set(there.map(({ name }) => name));
  const missing = new Set<string>();
  const line = progressLine(context, options);
  let created = 0;
  let updated = 0;
  for (const given of exported.checks) {
    const { check, missing: without } = withKnownChannels(given, known);
    for (const name of without) missing.add(name);
    const [field] = check.unique;
    const isThere = field !== undefined && (field === "slug" ? slugs : names).has(check[field]);
    if (options.write) await client.post(check);
    if (isThere) updated += 1;
    else created += 1;
    line.show(() => `${created + updated} of ${exported.checks.length} checks`);
  }
  line.clear();
  const notes = [
    ...exported.notes,
    ...[...missing].map(
      (name) => `There is no channel "${name}", or more than one. Checks are sent without it.`,
    ),
  ];
  const written = options.write === true;
  if (options.json) return printJson(context, { written, created, updated, notes });
  for (const note of notes) context.out(`Note: ${note}\n`);
  context.out(
    written
      ? `Sent: ${created} checks created, ${updated} updated.\n`
      : `Would create ${created} checks and update ${updated}. Nothing was sent. Use --write to send.\n`,
  );
}

/** Waiting for one response, and attempts if the server is busy. */
const RESPONSE_MS_MAX = 60_000;
const ATTEMPTS_MAX = 10;
const RETRY_MS = 1_000;

function clientOf(api: string, key: string) {
  const base = `${api.replace(/(?<!\/)\/+$/, "").replace(/\/api(\/v\d)?$/, "")}/api/v3/`;
  const call = async (path: string, body: ExportedCheck | null): Promise<unknown> => {
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(base + path, {
        method: body === null ? "GET" : "POST",
        headers: { "X-Api-Key": key, "Content-Type": "application/json" },
        ...(body === null ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(RESPONSE_MS_MAX),
      }).catch((error: unknown) => {
        const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
        throw new CommandError(`Cannot connect to ${api}: ${cause instanceof Error ? cause.message : ""}`);
      });
      if (response.ok) return response.json();
      const isBusy = response.status === 429 || response.status === 503;
      if (!isBusy || attempt >= ATTEMPTS_MAX) {
        const text = (await response.text()).slice(0, 200);
        const what = body === null ? path : `"${body.name || body.slug}"`;
        throw new CommandError(`${api} responded with status ${response.status} to ${what}: ${text}`);
      }
      await response.arrayBuffer();
      await sleep(attempt * RETRY_MS);
    }
  };
  return {
    get: async <T>(path: string) => (await call(path, null)) as T,
    post: (body: ExportedCheck) => call("checks/", body),
  };
}
