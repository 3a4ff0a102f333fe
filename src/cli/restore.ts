// `overdue restore`: loads a backup into an empty database, or only checks it.
import type { Command } from "commander";
import { hostname } from "node:os";
import { type Config, loadConfig } from "../config/config.ts";
import {
  type BackupSource,
  type Restored,
  type RestoreProgress,
  restoreBackup,
  type Verified,
  verifyBackup,
} from "../operations/backup.ts";
import { interruptible, sizeText, onData } from "./backup.ts";
import { openBackup } from "./backup-place.ts";
import {
  type CommandContext,
  CommandError,
  databaseOptionsOf,
  EXIT,
  printJson,
  type ProgressLine,
  progressLine,
} from "./command-context.ts";

const AFTER_HELP = `
The database must be empty: create a new one and set OVERDUE_DATABASE_URL to it. The whole backup is checked first.
Then it is loaded in one transaction, so the database stays empty if anything fails. A backup of an older version is
migrated to this version; one of a newer version is refused.

The server then starts in safe mode: it records pings and sends nothing. When it is in service, run
\`overdue admin restore confirm\`. Do not confirm a test copy: it would notify the production channels.

Examples:
  $ overdue restore --verify /backups/overdue-2026-11-01.tar
  $ overdue restore --from /backups/overdue-2026-11-01.tar
  $ overdue restore --from s3://backups/overdue-2026-11-01.tar --json
  $ overdue restore --from trial.tar --data new-trial    # into a new trial`;

type Options = { from?: string; verify?: string; data?: string; quiet?: true; json?: true };

/** Adds the options and the action. */
export function defineRestore(command: Command, context: CommandContext): void {
  command
    .option("--from <location>", "Backup to restore: a file, or s3://bucket/key")
    .option("--verify <location>", "Only check this backup; no database is needed")
    .option("-d, --data <folder>", "Restore into a new trial with this data folder")
    .option("--quiet", "Print only errors")
    .option(
      "--json",
      "Output JSON (created_at, version, tables, rows, bodies, bytes; migrated, bodies_missing)",
    )
    .addHelpText("after", AFTER_HELP)
    .action(async (options: Options) => {
      const { from, verify } = options;
      if ((from === undefined) === (verify === undefined)) {
        throw new CommandError("Give either --from or --verify, and a location.", EXIT.usage);
      }
      if (verify !== undefined) return check(context, { place: verify, options });
      await onData(context, options.data, ({ config }) =>
        restore(context, { place: from ?? "", config, options }),
      );
    });
}

type Work = { place: string; options: Options };

async function check(context: CommandContext, { place, options }: Work): Promise<void> {
  const { config } = loadConfig(context.environment);
  const verified = await reading(context, { place, config, options }, (source, onProgress) =>
    verifyBackup(source, { onProgress }),
  );
  if (options.json) return printJson(context, jsonOf(verified));
  if (options.quiet !== true) {
    context.out(`The backup is complete and undamaged: ${countsOf(verified)}.\n`);
  }
}

async function restore(context: CommandContext, work: Work & { config: Config }): Promise<void> {
  const { config, options } = work;
  const databaseOptions = { ...databaseOptionsOf(config), applicationName: "overdue-restore" };
  const restored = await reading(context, work, async (source, onProgress) =>
    restoreBackup({
      databaseOptions,
      source,
      hasObjectStore: config.s3Bucket !== null,
      notice: { channelUuid: config.adminChannel, host: hostname() },
      onProgress,
    }),
  );
  if (options.json) {
    const { migrated, bodiesMissing } = restored;
    return printJson(context, { ...jsonOf(restored), migrated, bodies_missing: bodiesMissing });
  }
  if (options.quiet !== true) context.out(sentenceFor(restored));
}

async function reading<T>(
  context: CommandContext,
  { place, config, options }: Work & { config: Config },
  work: (source: BackupSource, onProgress: (progress: RestoreProgress) => void) => Promise<T>,
): Promise<T> {
  const line: ProgressLine = progressLine(context, options);
  try {
    return await interruptible(async (signal) => {
      const source = await openBackup(place, { context, config, signal });
      return work(source, (progress) => line.show(() => progressText(progress)));
    });
  } finally {
    line.clear();
  }
}

function progressText({ step, section, rows, bytes }: RestoreProgress): string {
  return `${step === "verify" ? "checking" : "loading"} ${section}: ${rows} rows, ${sizeText(bytes)} read`;
}

function jsonOf({ header, rows, bodies, bytes }: Verified): Record<string, unknown> {
  const { createdAt, version, tables } = header;
  return { created_at: createdAt, version, tables: tables.length, rows, bodies, bytes };
}

function countsOf({ header, rows, bodies, bytes }: Verified): string {
  const moved = bodies === 0 ? "" : `, ${bodies} bodies from the object store`;
  return `${rows} rows of ${header.tables.length} tables${moved}, ${sizeText(bytes)}, made at ${header.createdAt} by version ${header.version}`;
}

function sentenceFor(restored: Restored): string {
  const { bodiesMissing, migrated } = restored;
  const gone = bodiesMissing === 0 ? "" : ` ${bodiesMissing} bodies were not in the backup.`;
  const newer = migrated.length === 0 ? "" : ` Applied ${migrated.join(", ")}.`;
  return (
    `Restored ${countsOf(restored)}.${gone}${newer}\n` +
    "The server starts in safe mode: it records pings and sends nothing. If it is in service, start it and run\n" +
    "`overdue admin restore confirm`. Do not confirm a test copy.\n"
  );
}
