// `overdue exec`, `overdue ping` and `overdue flush`. These load nothing but built-in modules, read no .env file, and
// have no settings of the server: they run on every host that has jobs.
import { writeSync } from "node:fs";
import { constants } from "node:os";
import type { Runner } from "./flags.ts";
import { forwardSignals } from "./job.ts";
import { runJob, type RunContext } from "./run.ts";
import { type Environment, type Given, readSettings } from "./settings.ts";

const USAGE = 2;
/** Time for a signal to end this process. */
const RAISE_MS = 200;

/** Runs one of the commands to its end, and ends the process. */
export async function runRunner(
  runner: Runner,
  { args, version, environment }: { args: readonly string[]; version: string; environment: Environment },
): Promise<never> {
  const say = (text: string) => write(2, `overdue ${runner}: ${text}\n`);
  const given = readSettings(runner, { args, environment });
  const context: RunContext = { environment, version, say };
  const isAsked = runner !== "exec" || given.rest.length === 0;
  if (given.line.values.has("help") && isAsked) {
    const { helpOf } = await import("./help.ts");
    write(1, helpOf(runner));
    return process.exit(0);
  }
  if (given.line.values.has("version") && isAsked) {
    write(1, `overdue ${version}\n`);
    return process.exit(0);
  }
  if (runner === "exec") return execute(given, context);
  const commands = await import("./ping.ts");
  return process.exit(await (runner === "ping" ? commands.sendPing : commands.flush)(given, context));
}

async function execute({ settings, rest: command, problems }: Given, context: RunContext): Promise<never> {
  const { say } = context;
  if (command.length === 0) {
    say("No command. Usage: overdue exec [flags] -- command [arguments]");
    return process.exit(USAGE);
  }
  for (const problem of problems) say(problem);
  if (settings.isStrict && problems.length > 0) {
    say("The job was not run because of --strict.");
    return process.exit(USAGE);
  }
  // A mistake of ours must not hide the exit code of the job.
  process.on("uncaughtException", (error) => say(`Internal error: ${error.stack ?? error.message}`));
  const signals = forwardSignals();
  limitLookups();
  const options = { ...context, settings, command, signals };
  if (settings.everyMs !== null) {
    const { runEvery } = await import("./every.ts");
    const { everyMs, jitterMs } = settings;
    const signal = await runEvery({
      everyMs,
      jitterMs,
      signals,
      run: (nextRunAt) => runJob({ ...options, nextRunAt }),
    });
    return end(128 + constants.signals[signal], signal);
  }
  const { code, signal } = await runJob(options);
  return end(code, signal);
}

/**
 * A name server that does not answer must not delay the end of this process, which waits for lookups. The job has a
 * copy of the environment without this.
 */
function limitLookups(): void {
  // oxlint-disable-next-line node/no-process-env -- The C library reads it.
  process.env["RES_OPTIONS"] ??= "timeout:2 attempts:1";
}

/** Ends this process as the job ended. */
function end(code: number, signal: NodeJS.Signals | null): never {
  // The first process of a container gets no signal that it does not handle.
  if (signal !== null && process.pid !== 1 && process.platform !== "win32") {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RAISE_MS);
  }
  return process.exit(code);
}

/** Writes without the streams of Node, which take long to load. A closed output changes nothing. */
function write(fd: number, text: string): void {
  try {
    writeSync(fd, text);
  } catch {
    // Nothing reads it.
  }
}
