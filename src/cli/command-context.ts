// What every command is handed, and how a command ends: its exit code, and errors that a person can act on.
import type { Config, Environment } from "../config.ts";
import type { Log } from "../lib/log.ts";
import type { ObjectStore } from "../lib/object-store.ts";

/** Exit codes of `overdue`; the help and docs/operating.md say the same. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

export type ServeOptions = {
  roles: readonly string[] | null;
  /** Log nothing but fatal errors before `onReady` has returned. */
  isQuietUntilReady?: boolean;
  /** Called once, when everything answers. */
  onReady?: (ready: Ready) => Promise<void>;
};

/** The log of the process, and the roles that run in it. */
export type Ready = { log: Log; roles: readonly string[] };

export type CommandContext = {
  environment: Environment;
  version: string;
  roleNames: readonly string[];
  /** The named roles; null means all. Throws CommandError for a name that is no role. */
  chooseRoles(names: readonly string[] | null): readonly string[];
  /** Standard output: results, and nothing else. */
  out: (text: string) => void;
  /** Standard error: what went wrong, and notes beside the result. */
  err: (text: string) => void;
  /** The object store that the settings name; null when they name none. When the signal fires, its calls end. */
  openObjects(config: Config, options: { signal: AbortSignal }): Pick<ObjectStore, "delete"> | null;
  /** Runs the process until it is told to stop; returns its exit code. */
  serve(config: Config, options: ServeOptions): Promise<number>;
};

/** An error that was to be expected: its message says what to do, and no stack trace is shown. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints a result for programs: one JSON object on one line. */
export function printJson(context: CommandContext, result: unknown): void {
  context.out(`${JSON.stringify(result)}\n`);
}
