// `overdue backup`: writes all data to a file or an object store.
import type { Command } from "commander";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadConfig, type LoadedConfig } from "../config/config.ts";
import { renderSettingsFile } from "../config/render.ts";
import { type BackupProgress, type BackupSummary, writeBackup } from "../operations/backup.ts";
import { createBackup } from "./backup-place.ts";
import {
  type CommandContext,
  CommandError,
  databaseOptionsOf,
  printJson,
  progressLine,
  withDatabase,
} from "./command-context.ts";
import { DEFAULT_FOLDER, findRunning, withTrialDatabase } from "./trial.ts";

const AFTER_HELP = `
The backup has everything that was confirmed before it began, ping bodies in the object store included. It is a tar
archive that only its owner can read. It contains channel credentials and, unless OVERDUE_SECRET_KEY is set, the
secret key of the server: protect it accordingly. The command works while the server is running, and without
PostgreSQL's own programs. Migrations wait until the tables are copied.

For s3:// locations, the store is the one in OVERDUE_S3_ENDPOINT, with its access key. An existing file or object is
never overwritten. On a terminal, progress is one line; otherwise a line is printed every ten seconds.

Examples:
  $ overdue backup --to /backups/overdue-$(date +%F).tar
  $ overdue backup --to s3://backups/overdue-$(date +%F).tar --quiet --json
  $ overdue backup --to trial.tar --data overdue-data    # of a trial`;

const WAITING = "overdue: A database migration is running. Waiting for it to finish (Ctrl-C to cancel).\n";

type Options = { to: string; withSecrets?: true; data?: string; quiet?: true; json?: true };

/** Adds the options and the action. */
export function defineBackup(command: Command, context: CommandContext): void {
  command
    .requiredOption("--to <location>", "New file, or s3://bucket/key")
    .option("--with-secrets", "Include secret settings, such as passwords and OVERDUE_SECRET_KEY")
    .option("-d, --data <folder>", "Back up the trial in this data folder")
    .option("--quiet", "Print only errors")
    .option("--json", "Output JSON (location, created_at, tables, rows, bodies, bodies_missing, bytes)")
    .addHelpText("after", AFTER_HELP)
    .action(async (options: Options) => {
      if (options.data !== undefined && !existsSync(join(options.data, "postgres"))) {
        throw new CommandError(`There is no trial in ${resolve(options.data)}. Correct --data.`);
      }
      const summary = await onData(context, options.data, (loaded) => backUp(context, { loaded, options }));
      if (options.json) {
        const { createdAt, bodiesMissing, ...counts } = summary;
        return printJson(context, {
          location: options.to,
          created_at: createdAt,
          ...counts,
          bodies_missing: bodiesMissing,
        });
      }
      if (options.quiet !== true) context.out(`${sentenceFor(options.to, summary)}\n`);
    });
}

/** The settings for the configured database, that of the given trial, or that of the trial running in this folder. */
export async function onData<T>(
  { environment }: CommandContext,
  folder: string | undefined,
  work: (loaded: LoadedConfig) => Promise<T>,
): Promise<T> {
  const loaded = loadConfig(environment);
  const isConfigured = loaded.config.databaseUrl !== null;
  if (folder === undefined && (isConfigured || findRunning(resolve(DEFAULT_FOLDER)) === null)) {
    return work(loaded);
  }
  if (folder !== undefined && isConfigured) {
    throw new CommandError("OVERDUE_DATABASE_URL is set, so --data is not available. Unset one of them.");
  }
  return withTrialDatabase(resolve(folder ?? DEFAULT_FOLDER), (url) =>
    work(loadConfig({ ...environment, OVERDUE_DATABASE_URL: url })),
  );
}

async function backUp(
  context: CommandContext,
  { loaded, options }: { loaded: LoadedConfig; options: Options },
): Promise<BackupSummary> {
  const { config } = loaded;
  const withSecrets = options.withSecrets === true;
  const line = progressLine(context, options);
  return interruptible((signal) =>
    withDatabase(
      config,
      async (database) => {
        const target = await createBackup(options.to, { context, config, signal });
        try {
          const summary = await writeBackup({
            database,
            databaseOptions: { ...databaseOptionsOf(config), applicationName: "overdue-backup" },
            sink: target,
            objects: await context.openObjects(config, { signal }),
            version: context.version,
            settings: { text: renderSettingsFile(loaded, { withSecrets }), hasSecrets: withSecrets },
            onProgress: (progress) => line.show(() => progressText(progress)),
          });
          signal.throwIfAborted();
          await target.finish();
          return summary;
        } catch (error) {
          await target.abort().catch(() => {});
          throw error;
        } finally {
          line.clear();
        }
      },
      { onMigrating: () => context.err(WAITING) },
    ),
  );
}

/** Runs `work` with a signal that SIGINT and SIGTERM abort, so that no partial file is left. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new CommandError("Interrupted. Nothing was changed."));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    return await work(stopping.signal);
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

function progressText({ section, at, of, rows, bytes }: BackupProgress): string {
  return `backing up ${section} (${at} of ${of}): ${rows} rows, ${sizeText(bytes)} written`;
}

export function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function sentenceFor(
  place: string,
  { createdAt, tables, rows, bodies, bodiesMissing, bytes }: BackupSummary,
): string {
  const moved = bodies === 0 ? "" : `, ${bodies} bodies from the object store`;
  const gone =
    bodiesMissing === 0
      ? ""
      : ` ${bodiesMissing} bodies were deleted from the object store during the backup.`;
  return (
    `Wrote ${place}: ${rows} rows of ${tables} tables${moved}, ${sizeText(bytes)}. ` +
    `It has everything confirmed before ${createdAt}.${gone}`
  );
}
