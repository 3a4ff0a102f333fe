// What each command receives, exit codes, and errors that a user can act on.
import { setTimeout as sleep } from "node:timers/promises";
import type { Config, Environment } from "../config/config.ts";
import type { AddressTest } from "../contract/api/admin.ts";
import type { Log } from "../lib/log.ts";
import type { ObjectStore } from "../lib/object-store.ts";
import type { Database, DatabaseOptions } from "../store/db.ts";
import { UnusableDatabaseError } from "../store/errors.ts";

/** Exit codes of `overdue`, as in the help and docs/guide/cli.md. 3 is reserved for differences. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unconfirmed: 4 } as const;

export type ServeOptions = {
  roles: readonly string[] | null;
  /** Log only fatal errors before `onReady` has returned. */
  isQuietUntilReady?: boolean;
  /** Called once, when everything is ready. */
  onReady?: (ready: Ready) => Promise<void>;
};

/** The log of the process, and the roles that run in it. */
export type Ready = { log: Log; roles: readonly string[] };

export type CommandContext = {
  environment: Environment;
  version: string;
  roleNames: readonly string[];
  /** The named roles; null means all. Throws CommandError for an unknown role. */
  chooseRoles(names: readonly string[] | null): readonly string[];
  /** Standard output: results only. */
  out: (text: string) => void;
  /** Standard error: errors and notes. */
  err: (text: string) => void;
  /** Whether standard error is a terminal. */
  isTerminal: boolean;
  /** Asks on the terminal and returns the line, which is not shown if it is hidden; null if there is no terminal. */
  ask(question: string, options: { isHidden: boolean }): Promise<string | null>;
  /** The text on standard input, up to a length. */
  readInput(lengthMax: number): Promise<string>;
  /**
   * The configured object store, or another bucket of it; null if there is none. When the signal is aborted, its calls
   * end.
   */
  openObjects(config: Config, options: { signal: AbortSignal; bucket?: string }): Promise<ObjectStore | null>;
  /**
   * Requests the public URL: whether a server on the database with the challenge answers (null: unknown), and what the
   * setup page would report.
   */
  testPublicUrl(
    config: Config,
    challenge: { id: string; answer: string } | null,
  ): Promise<{ isThisServer: boolean | null; test: AddressTest }>;
  /** Runs the process until it is stopped; returns its exit code. */
  serve(config: Config, options: ServeOptions): Promise<number>;
};

/** An expected error: its message says what to do, and no stack trace is shown. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints a result for scripts: one JSON object on one line. Its keys are in snake_case, as in all commands. */
export function printJson(context: CommandContext, result: Readonly<Record<string, unknown>>): void {
  context.out(`${JSON.stringify(inSnakeCase(result))}\n`);
}

/** Former keys of `overdue prune`, which scripts may still read. The next major version removes them. */
const KEPT_KEYS = new Set(["isComplete", "removed"]);

function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) =>
      KEPT_KEYS.has(key) ? [key, one] : [snakeCase(key), inSnakeCase(one)],
    ),
  );
}

function snakeCase(key: string): string {
  return key.replaceAll(/([a-z0-9])([A-Z])/g, (_, before: string, letter: string) => {
    return `${before}_${letter.toLowerCase()}`;
  });
}

/**
 * Asks before something is deleted. Throws CommandError if the answer is not yes, or if there is no terminal to ask on
 * and no --yes.
 */
export async function confirm(
  context: CommandContext,
  question: string,
  { yes = false }: { yes?: boolean },
): Promise<void> {
  if (yes) return;
  const answer = await context.ask(`${question} [y/N] `, { isHidden: false });
  if (answer === null) {
    throw new CommandError("This needs a confirmation. Run the command again with --yes.", EXIT.unconfirmed);
  }
  if (!/^y(?:es)?$/i.test(answer.trim())) {
    throw new CommandError("Canceled. Nothing was changed.", EXIT.unconfirmed);
  }
}

/** A time for scripts. */
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** A time for people, without fractions of a second. */
export function shownTime(at: number | null): string | null {
  return isoTime(at)?.replace(/\.\d+Z$/, "Z") ?? null;
}

/** Text from elsewhere, such as the output of a job, without sequences that control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ");
}

/** The same for several lines. */
export function printableLines(text: string): string {
  return text.replaceAll(/(?!\r\n)[^\P{Cc}\t\n]/gu, "?");
}

/** Rows as aligned columns, two spaces apart, without trailing spaces. */
export function renderColumns(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** How often a redrawn line changes, and how often a log gets a new line. */
const REDRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;
const ERASE_LINE = "\r\u001b[K";

export type ProgressLine = {
  /** Shows how far the command is, if it is time. */
  show(text: () => string): void;
  /** Removes the line from a terminal. Call it before anything else is printed. */
  clear(): void;
};

/** One line on standard error: redrawn on a terminal, otherwise a new one every ten seconds. */
export function progressLine(context: CommandContext, { quiet = false }: { quiet?: boolean }): ProgressLine {
  const { isTerminal, err } = context;
  let shownMs = isTerminal ? Number.NEGATIVE_INFINITY : performance.now();
  let isDrawn = false;
  return {
    show: (text) => {
      const everyMs = isTerminal ? REDRAW_EVERY_MS : LINE_EVERY_MS;
      if (quiet || performance.now() - shownMs < everyMs) return;
      shownMs = performance.now();
      err(isTerminal ? `${ERASE_LINE}${text()}` : `overdue: ${text()}\n`);
      isDrawn = isTerminal;
    },
    clear: () => {
      if (isDrawn) err(ERASE_LINE);
      isDrawn = false;
    },
  };
}

/** Commands run one statement at a time. */
const COMMAND_CONNECTIONS_MAX = 2;
/** How long a command waits for a migration, and how often it checks. After that it fails. */
const MIGRATION_WAIT_MS_MAX = 10 * 60_000;
const START_WAIT_MS_MAX = 30_000;
const MIGRATION_POLL_MS = 500;

/** How a command connects. Throws CommandError if no database is configured. */
export function databaseOptionsOf(config: Config): DatabaseOptions {
  if (config.databaseUrl === null) {
    throw new CommandError(
      "OVERDUE_DATABASE_URL is not set. Set it to the URL of your database, for example\n" +
        "  export OVERDUE_DATABASE_URL=postgres://overdue@127.0.0.1:5432/overdue\n" +
        "or run `overdue trial` to try it with a built-in database. To use `overdue admin` with a running trial,\n" +
        "run it in the folder where you started the trial.",
      EXIT.usage,
    );
  }
  return {
    url: config.databaseUrl,
    applicationName: "overdue-cli",
    connectionsMax: COMMAND_CONNECTIONS_MAX,
    // A connection that breaks while idle fails in the next statement.
    onError: () => {},
  };
}

export type WithDatabaseOptions = {
  /** Called once, if another process is migrating the database and this one waits for it. */
  onMigrating?: () => void;
  /** A process that has just been started will migrate the database, but may not have begun. */
  isStarting?: boolean;
};

/** Runs `work` on a database with the schema of this program. Waits for a running migration. */
export async function withDatabase<T>(
  config: Config,
  work: (database: Database) => Promise<T>,
  given: WithDatabaseOptions = {},
): Promise<T> {
  const { cellsOf } = await import("../config/cells.ts");
  const options = { ...databaseOptionsOf(config), slots: cellsOf(config)?.cell.slots };
  const { openDatabase } = await import("../store/db.ts");
  await waitForSchema(options, given);
  const database = openDatabase(options);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function waitForSchema(options: DatabaseOptions, given: WithDatabaseOptions): Promise<void> {
  const { isBeingMigrated, verifySchema } = await import("../store/migrate.ts");
  const begunMs = performance.now();
  for (let isFirst = true; ; isFirst = false) {
    try {
      await verifySchema(options);
      return;
    } catch (error) {
      if (!(error instanceof UnusableDatabaseError)) throw error;
      const waitedMs = performance.now() - begunMs;
      const isExpected = given.isStarting === true && waitedMs < START_WAIT_MS_MAX;
      const isUnderWay = isExpected || (await isBeingMigrated(options));
      if (!isUnderWay || waitedMs > MIGRATION_WAIT_MS_MAX) throw error;
    }
    if (isFirst) given.onMigrating?.();
    await sleep(MIGRATION_POLL_MS);
  }
}
