// `overdue import`: moves another installation to this one. Without --write, it only reports.
import type { Command } from "commander";
import { writeFile } from "node:fs/promises";
import { CONFIG_RULES } from "../channels/registry.ts";
import type { Finding } from "../core/import.ts";
import type { ImportSource } from "../core/import-source.ts";
import type { Instant } from "../core/instant.ts";
import { SourceError } from "../import/source-error.ts";
import { secretKeyOf } from "../operations/secrets.ts";
import { type ImportReport, runImport } from "../operations/import.ts";
import {
  chooseImport,
  compareImport,
  type Comparison,
  finishImport,
  type ImportStatus,
  listImportStatuses,
  undoImport,
} from "../operations/import-move.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { onDatabase, type Session } from "./admin-session.ts";
import { parseUuid } from "./arguments.ts";
import {
  type CommandContext,
  CommandError,
  databaseOptionsOf,
  EXIT,
  printableLines,
  printJson,
  progressLine,
  renderColumns,
} from "./command-context.ts";

const SOURCE_HELP = `
With --api, the read-write API key of the project is read from HEALTHCHECKS_API_KEY. With --database, the URL can also
be in HEALTHCHECKS_DATABASE_URL, so that other users do not see its password. The source is only read.`;

const AFTER_HELP = `${SOURCE_HELP}
Without --write, nothing is changed: the command reports what it would do. Checks keep their UUIDs, so ping URLs work
as before. All imported checks are silenced until \`overdue import finish\`. A repeated run takes new pings and changed
settings; checks that were changed here are listed and left alone.

API keys of a database are stored as hashes, and badge URLs are signed: both work only if OVERDUE_SECRET_KEY or
OVERDUE_SECRET_KEY_PREVIOUS is the SECRET_KEY of Healthchecks. To verify this, set HEALTHCHECKS_API_KEY to one key.

Examples:
  $ overdue import healthchecks --database postgres://hc@127.0.0.1/hc
  $ overdue import healthchecks --database hc.sqlite --report report.json
  $ overdue import healthchecks --database mysql://hc@127.0.0.1/hc --write
  $ overdue import healthchecks --api https://healthchecks.io --skip-channels
  $ overdue import healthchecks --database /srv/hc/hc.sqlite --compare
  $ overdue import finish`;

type SetExitCode = (code: number) => void;

/** Adds the commands below `import`. */
export function defineImport(command: Command, context: CommandContext, setExitCode: SetExitCode): void {
  registerHealthchecks(command, context, setExitCode);
  registerCompare(command, context, setExitCode);
  registerStatus(command, context);
  registerFinish(command, context);
  registerUndo(command, context);
}

type SourceOptions = { api?: string; database?: string | true; bodies: boolean };

function addSourceOptions(command: Command): Command {
  return command
    .option("--api <url>", "URL of the installation, read by its API: one project")
    .option("--database [url]", "postgres:// or mysql:// URL, or the path of a SQLite file")
    .option("--no-bodies", "With --api, do not read the bodies of pings");
}

type ImportOptions = SourceOptions & {
  write?: true;
  compare?: true;
  report?: string;
  project: string[];
  into?: string;
  owner?: string;
  limits?: true;
  skipChannels?: true;
  skipUnknownChannels?: true;
  quiet?: true;
  json?: true;
};

function registerHealthchecks(command: Command, context: CommandContext, setExitCode: SetExitCode): void {
  addSourceOptions(
    command
      .command("healthchecks")
      .description("Import checks, channels, accounts and history from Healthchecks"),
  )
    .option("--write", "Write to the database (default: report only)")
    .option("--compare", "Compare the statuses of imported checks with the source, and write nothing")
    .option("--report <file>", "Write a report: JSON if the name ends in .json, otherwise text")
    .option("--project <name>", "Import only this project, by name or UUID; can be repeated", collect, [])
    .option("--into <uuid>", "Add the checks to this project; see `overdue admin project list`", parseUuid)
    .option("--owner <address>", "Owner of projects whose owner is unknown")
    .option("--limits", "Take the limits of checks and logs of accounts")
    .option("--skip-channels", "With --api, import checks without their channels")
    .option("--skip-unknown-channels", "Import checks without channels that cannot be imported")
    .option("--quiet", "Do not print progress")
    .option("--json", "Output the report as JSON")
    .addHelpText("after", AFTER_HELP)
    .action((options: ImportOptions) =>
      onDatabase(context, (session) =>
        withSource(context, { session, options }, async (source) => {
          if (options.compare) return compare(context, { session, source, options, setExitCode });
          const report = await importFrom(context, { session, source, options });
          if (report.refusals.length > 0) setExitCode(EXIT.failed);
          const shown = options.json ? `${JSON.stringify(jsonReport(report))}\n` : renderReport(report);
          if (options.report !== undefined) await writeReport(options.report, report);
          context.out(shown);
        }),
      ),
    );
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}

/** Opens the source, and closes it in any case. */
async function withSource(
  { environment }: CommandContext,
  { session: { config }, options }: { session: Session; options: SourceOptions },
  work: (source: ImportSource) => Promise<void>,
): Promise<void> {
  const { api, database } = options;
  if ((api === undefined) === (database === undefined)) {
    throw new CommandError("Choose the source with either --api or --database.", EXIT.usage);
  }
  const open = async () => {
    if (api !== undefined) {
      const { openApiSource } = await import("../import/healthchecks-api.ts");
      const apiKey = environment["HEALTHCHECKS_API_KEY"] ?? "";
      // The admin who runs the command chooses the address.
      const reach = { allowPrivate: true, proxyUrl: config.outgoingProxy };
      return openApiSource(api, { apiKey, ...reach, withBodies: options.bodies });
    }
    const url = database === true ? environment["HEALTHCHECKS_DATABASE_URL"] : database;
    if (!url)
      throw new CommandError("Give a URL with --database, or set HEALTHCHECKS_DATABASE_URL.", EXIT.usage);
    return (await import("../import/healthchecks-database.ts")).openDatabaseSource(url);
  };
  try {
    const source = await open();
    try {
      await work(source);
    } finally {
      await source.close();
    }
  } catch (error) {
    throw error instanceof SourceError ? new CommandError(error.message) : error;
  }
}

async function importFrom(
  context: CommandContext,
  { session, source, options }: { session: Session; source: ImportSource; options: ImportOptions },
): Promise<ImportReport> {
  const { database, config } = session;
  const line = progressLine(context, options);
  try {
    return await runImport({
      source,
      database,
      connection: {
        ...databaseOptionsOf(config),
        slots: database.slots,
        applicationName: "overdue-import",
      },
      isWriting: options.write === true,
      projects: options.project,
      into: options.into ?? null,
      ownerEmail: options.owner ?? null,
      takesLimits: options.limits === true,
      skipsUnknownChannels: options.skipUnknownChannels === true || options.skipChannels === true,
      configRules: CONFIG_RULES,
      secretKey: await secretKeyOf(database, config.secretKey),
      secretKeyPrevious: config.secretKeyPrevious,
      knownKey: options.api === undefined ? (context.environment["HEALTHCHECKS_API_KEY"] ?? null) : null,
      onProgress: ({ project, checks, checksMax, pings }) =>
        line.show(() => `${project}: ${checks} of ${checksMax} checks, ${pings} pings`),
    });
  } finally {
    line.clear();
  }
}

async function writeReport(path: string, report: ImportReport): Promise<void> {
  const text = path.endsWith(".json")
    ? `${JSON.stringify(jsonReport(report), null, 2)}\n`
    : renderReport(report, { findingsMax: Number.POSITIVE_INFINITY });
  // Names of checks and channels can be confidential.
  await writeFile(path, text, { mode: 0o600 });
}

function jsonReport({ isWritten, findingCount, ...report }: ImportReport) {
  return { written: isWritten, ...report, finding_count: findingCount };
}

/** Findings printed on the terminal; a report file has all. */
const FINDINGS_SHOWN_MAX = 20;

const TITLES: Readonly<Record<Finding["level"], string>> = {
  impossible: "Cannot be imported",
  collision: "Already here",
  edited: "Changed here, left alone",
  adapted: "Changed by the import",
};

const SECRET_TEXT: Readonly<Record<ImportReport["secret"], string | null>> = {
  "not needed": null,
  verified:
    "API keys and tag badges work: the secret of Healthchecks was verified with HEALTHCHECKS_API_KEY.",
  wrong:
    "API keys and tag badges will NOT work: HEALTHCHECKS_API_KEY does not match. Set OVERDUE_SECRET_KEY, or on a server that is in use OVERDUE_SECRET_KEY_PREVIOUS, to the SECRET_KEY of Healthchecks.",
  "not verified":
    "API keys and tag badges work only if OVERDUE_SECRET_KEY or OVERDUE_SECRET_KEY_PREVIOUS is the SECRET_KEY of Healthchecks. Set HEALTHCHECKS_API_KEY to one of its keys to verify this.",
};

function renderReport(report: ImportReport, { findingsMax = FINDINGS_SHOWN_MAX } = {}): string {
  const { accounts, projects } = report;
  const rows = projects.map(({ name, outcome, checksInSource, channels, counts }) =>
    [
      name,
      outcome,
      checksInSource,
      counts.created,
      counts.updated,
      counts.unchanged,
      counts.left,
      counts.pings,
      channels.taken,
      channels.left,
    ].map(String),
  );
  const head = ["Project", "", "Checks", "New", "Changed", "Same", "Left", "Pings", "Channels", "Left out"];
  const secret = SECRET_TEXT[report.secret];
  const text = [
    `${report.source}\n\n`,
    renderColumns([head, ...rows]),
    `\nAccounts: ${accounts.created} new, ${accounts.existing} already here.\n`,
    secret === null ? "" : `${secret}\n`,
    ...report.limitations.map((line) => `Note: ${line}\n`),
    renderFindings(report, findingsMax),
    report.refusals.length === 0 ? "" : "\n",
    ...report.refusals.map((line) => `Refused: ${line}\n`),
    `\n${conclusion(report)}\n`,
  ].join("");
  // Names are those of the source.
  return printableLines(text);
}

function renderFindings({ findings, findingCount }: ImportReport, max: number): string {
  const byLevel = Map.groupBy(findings, ({ level }) => level);
  const parts = (Object.keys(TITLES) as Finding["level"][]).flatMap((level) => {
    const all = byLevel.get(level) ?? [];
    if (all.length === 0) return [];
    const lines = all.slice(0, max).map(({ kind, name, why }) => `  ${kind} ${name}: ${why}\n`);
    const more = all.length > max ? [`  … and ${all.length - max} more; see --report\n`] : [];
    return [`\n${TITLES[level]} (${all.length}):\n`, ...lines, ...more];
  });
  const cut =
    findingCount > findings.length ? `\n${findingCount - findings.length} more are not listed.\n` : "";
  return parts.join("") + cut;
}

function conclusion({ isWritten, refusals }: ImportReport): string {
  if (refusals.length > 0) return "Nothing was written.";
  if (!isWritten) return "Nothing was written. Use --write to import.";
  return "Imported. All imported checks are silenced until you run `overdue import finish`.";
}

function registerCompare(command: Command, context: CommandContext, setExitCode: SetExitCode): void {
  addSourceOptions(
    command
      .command("compare")
      .description("List checks whose status differs between the source and this server"),
  )
    .option("--json", "Output JSON (compared, missing, differences, difference_count)")
    .addHelpText("after", SOURCE_HELP)
    .action((options: SourceOptions & { json?: true }) =>
      onDatabase(context, (session) =>
        withSource(context, { session, options }, (source) =>
          compare(context, { session, source, options, setExitCode }),
        ),
      ),
    );
}

type Comparing = {
  session: Session;
  source: ImportSource;
  options: { json?: true };
  setExitCode: SetExitCode;
};

async function compare(
  context: CommandContext,
  { session, source, options, setExitCode }: Comparing,
): Promise<void> {
  const result = await compareImport(session.database, source);
  if (result.differenceCount > 0) setExitCode(EXIT.failed);
  const { differenceCount, ...rest } = result;
  if (options.json) return printJson(context, { ...rest, difference_count: differenceCount });
  context.out(renderComparison(result));
}

function renderComparison({ compared, missing, differences, differenceCount }: Comparison): string {
  const rows = differences.map(({ uuid, name, source, here }) => [uuid, source, here, name]);
  const table = rows.length === 0 ? "" : `${renderColumns([["Check", "Source", "Here", "Name"], ...rows])}\n`;
  const absent = missing === 0 ? "" : ` ${missing} are not here.`;
  return `${table}Compared ${compared} checks: ${differenceCount} differ.${absent}\n`;
}

function registerStatus(command: Command, context: CommandContext): void {
  command
    .command("status")
    .description("List imports, and whether they are finished")
    .option("--json", "Output JSON (imports)")
    .action((options: { json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const imports = await listImportStatuses(database);
        if (options.json) return printJson(context, { imports: imports.map(jsonStatus) });
        if (imports.length === 0) context.out("No imports yet.\n");
        for (const one of imports) context.out(renderStatus(one));
      }),
    );
}

const iso = (at: Instant | null) => (at === null ? null : new Date(at).toISOString());

function jsonStatus(one: ImportStatus) {
  return {
    uuid: one.uuid,
    source: one.source,
    created: iso(one.createdAt),
    last_run: iso(one.runAt),
    finished: iso(one.finishedAt),
    undone: iso(one.undoneAt),
    items: one.items,
    pings_since: one.newPings,
  };
}

function renderStatus(one: ImportStatus): string {
  const state =
    one.undoneAt !== null
      ? `undone ${iso(one.undoneAt)}`
      : one.finishedAt !== null
        ? `finished ${iso(one.finishedAt)}`
        : "silenced, not finished";
  const items = one.items.map(({ kind, count }) => `${count} ${kind}`).join(", ");
  return (
    `${one.uuid}  ${one.source}\n  ${state}; last run ${iso(one.runAt)}\n` +
    `  ${items || "nothing written"}; ${one.newPings} pings received here since the last run\n`
  );
}

function registerFinish(command: Command, context: CommandContext): void {
  command
    .command("finish")
    .description("Turn notifications on after a move")
    .option("--import <uuid>", "The import; optional if only one is not finished", parseUuid)
    .option("--json", "Output JSON (checks, down, recovered, taken_back, gap_from, gap_to)")
    .addHelpText("after", FINISH_HELP)
    .action((options: { import?: string; json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const chosen = await chooseImport(database, { uuid: options.import ?? null, isFinished: false });
        const line = progressLine(context, {});
        const done = await finishImport(database, {
          importId: chosen.id,
          now: await readDatabaseClock(database),
          onProgress: (checks) => line.show(() => `${checks} checks`),
        });
        line.clear();
        const { checks, down, recovered, takenBack, gapFrom, gapTo } = done;
        if (options.json) {
          const gap = { gap_from: iso(gapFrom), gap_to: iso(gapTo) };
          return printJson(context, { checks, down, recovered, taken_back: takenBack, ...gap });
        }
        const gap = gapFrom === null ? "" : ` The monitoring gap is ${iso(gapFrom)} to ${iso(gapTo)}.`;
        context.out(
          `Finished: notifications are on for ${checks} checks, ${down} of them down.` +
            (recovered === 0 ? "" : ` ${recovered} have recovered during the move.`) +
            ` ${takenBack} deadlines passed during the move and raise no alerts.${gap}\n`,
        );
      }),
    );
}

const FINISH_HELP = `
Run the last import immediately before, and move the host name of ping URLs to this server. The time since that import
is a monitoring gap: if a ping was due then, no alert is sent. Checks that were down at the source are down here; you
are notified when they recover. It can be repeated if it was interrupted.`;

function registerUndo(command: Command, context: CommandContext): void {
  command
    .command("undo")
    .description("Delete imported data that has not changed since the import")
    .option("--import <uuid>", "The import; optional if there is only one", parseUuid)
    .option("--write", "Delete (default: list only)")
    .option("--json", "Output JSON (written, removed, stays, lost_pings)")
    .action((options: { import?: string; write?: true; json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const chosen = await chooseImport(database, { uuid: options.import ?? null, isFinished: true });
        const isWriting = options.write === true;
        const { removed, stays, lostPings } = await undoImport(database, { importId: chosen.id, isWriting });
        if (options.json)
          return printJson(context, { written: isWriting, removed, stays, lost_pings: lostPings });
        const counts = Object.entries(removed).map(([kind, count]) => `${count} ${kind}`);
        context.out(`${isWriting ? "Deleted" : "Would delete"}: ${counts.join(", ") || "nothing"}.\n`);
        if (lostPings > 0) {
          context.out(`${lostPings} pings were received here since the last run of the import.\n`);
        }
        for (const { kind, name, why } of stays) context.out(`Stays: ${kind} ${name}: ${why}\n`);
        if (!isWriting) context.out("Nothing was deleted. Use --write to delete.\n");
      }),
    );
}
