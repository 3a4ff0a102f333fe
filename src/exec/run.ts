// One run: the job is started first, and reported beside it and after it.
import { writeSync } from "node:fs";
import { EXIT_CODE_MAX, type JobEnd, type Signals, startJob } from "./job.ts";
import { BODY_BYTES, BODY_BYTES_MAX, FLUSH_FILES_MAX, FLUSH_MS_MAX } from "./limits.ts";
import { type Captured, cutBody, openOutput } from "./output.ts";
import type { Answer, Ping, Sender, SendOptions, Server } from "./report.ts";
import { type Environment, messageOf, type PingType, type Settings } from "./settings.ts";

export type RunContext = {
  environment: Environment;
  version: string;
  /** One line on standard error. */
  say: (text: string) => void;
};

export type RunOptions = RunContext & {
  settings: Settings;
  command: readonly string[];
  signals: Signals;
  /** When reporting must end in favor of the next run, as a time of performance.now(). */
  nextRunAt?: () => number;
};

/** Runs the job once and reports it. Never throws. */
export async function runJob(options: RunOptions): Promise<JobEnd> {
  const { settings, signals, say } = options;
  const { target } = settings;
  const isReported = target !== null;
  const output = openOutput({
    ...settings,
    isCaptured: (isReported && settings.sendsOutput) || settings.echo === "on-failure",
    environment: options.environment,
  });
  const job = startJob({ ...settings, ...options, output });
  const end = job.then(async (ended) => {
    const captured = await output.collect();
    if (!ended.hasStarted && ended.note !== null) say(ended.note.replace("[overdue] ", ""));
    if (settings.echo === "on-failure" && ended.code !== 0 && captured !== null) echoHeld(captured, say);
    return { ended, captured };
  });
  // Loaded after the job has been started, which must not wait for it.
  const report = isReported
    ? import("./report.ts").then((sending) => reportRun({ ...options, job, end, keep: output.keep, sending }))
    : Promise.resolve();
  const { ended } = await end;
  try {
    await report;
  } catch (error) {
    say(`Not reported: ${messageOf(error)}`);
  }
  signals.onEnding = null;
  return ended;
}

/** Prints what the job wrote before it failed. */
function echoHeld({ stdout, stderr, isHeld }: Captured, say: (text: string) => void): void {
  if (isHeld) say("Another process still holds the output of the job open, so that it cannot be printed.");
  writeAll(1, stdout);
  writeAll(2, stderr);
}

function writeAll(fd: number, bytes: Buffer): void {
  const waiting = new Int32Array(new SharedArrayBuffer(4));
  for (let from = 0; from < bytes.length; ) {
    try {
      from += writeSync(fd, bytes, from);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return;
      // The reader is slower than we are.
      Atomics.wait(waiting, 0, 0, 10);
    }
  }
}

type Reporting = RunOptions & {
  job: Promise<JobEnd>;
  end: Promise<{ ended: JobEnd; captured: Captured | null }>;
  keep: (bytes: number) => void;
  sending: {
    send: (ping: Ping, options: SendOptions) => Promise<Answer>;
    describePing: (ping: Ping) => string;
  };
};

async function reportRun(reporting: Reporting): Promise<void> {
  const { settings, environment, version, signals, say } = reporting;
  const { target } = settings;
  if (target === null) return;
  const runId = settings.sendsRunId ? (await import("node:crypto")).randomUUID() : null;
  const sender: Sender = {
    userAgent: `overdue-exec/${version}`,
    environment,
    tryMs: settings.tryMs,
    retriesMax: settings.retriesMax,
  };
  const jobEnded = new AbortController();
  // The end waits for the answer to the start, which would otherwise begin another run; but not for its retries.
  const start = settings.sendsStart
    ? sendOrPrint({ target, suffix: "start", runId, body: Buffer.alloc(0) }, reporting, {
        sender,
        noRetry: jobEnded.signal,
      })
    : Promise.resolve(null);
  const server = start.then((answer) => {
    const announced = answer?.kind === "sent" ? answer.server : null;
    reporting.keep(limitOf(settings, announced));
    return announced;
  });
  const jobEnd = await reporting.job;
  jobEnded.abort();
  const deadline = Math.min(performance.now() + settings.reportMs, reporting.nextRunAt?.() ?? Infinity);
  const stop = new AbortController();
  signals.onEnding = () => stop.abort();
  const { captured } = await reporting.end;
  const startAnswer = await start;
  if (startAnswer !== null && startAnswer.kind !== "sent") say(`Start not reported: ${startAnswer.reason}`);
  const announced = await server;
  const ping: Ping = {
    target,
    suffix: suffixOf(jobEnd, settings),
    runId,
    body: bodyOf({
      jobEnd,
      captured: settings.sendsOutput ? captured : null,
      limit: limitOf(settings, announced),
    }),
  };
  const answer = await sendOrPrint(ping, reporting, { sender, deadline, signal: stop.signal });
  if (answer === null) return;
  if (answer.kind === "refused") {
    say(`Not reported: ${answer.reason} from ${new URL(target.baseUrl).host}.`);
    return;
  }
  const queue = await import("./queue.ts");
  const folder = queue.queueFolder(environment);
  if (answer.kind === "failed") {
    if (folder === null) {
      say(`Not reported: ${answer.reason}. The queue is off.`);
      return;
    }
    try {
      const late = { endedAtMs: jobEnd.endedAtMs, ranMs: jobEnd.ranMs };
      queue.enqueue(folder, { ...ping, late, acceptsLateEnds: announced?.acceptsLateEnds ?? null });
      say(`Not reported: ${answer.reason}. Queued in ${folder}.`);
    } catch (error) {
      say(`Not reported: ${answer.reason}. Not queued: ${messageOf(error)}`);
    }
    return;
  }
  if (answer.warning !== null) say(`Warning of the server: ${answer.warning}`);
  if (folder === null) return;
  await queue.flushQueue(folder, {
    sender,
    servers: new Map([[target.baseUrl, answer.server]]),
    filesMax: FLUSH_FILES_MAX,
    deadline: Math.min(deadline, performance.now() + FLUSH_MS_MAX),
    signal: stop.signal,
  });
}

/** Sends a ping; with --dry-run, prints it and returns null. */
function sendOrPrint(
  ping: Ping,
  { settings, say, sending }: Reporting,
  options: SendOptions,
): Promise<Answer | null> {
  if (!settings.isDryRun) return sending.send(ping, options);
  say(`Dry run: ${sending.describePing(ping)}`);
  return Promise.resolve(null);
}

export function suffixOf(
  { code, hasStarted }: Pick<JobEnd, "code" | "hasStarted">,
  settings: Pick<Settings, "onSuccess" | "onNonzeroExit" | "onExecFail">,
): string {
  const afterRun = code === 0 ? settings.onSuccess : settings.onNonzeroExit;
  const type: PingType = hasStarted ? afterRun : settings.onExecFail;
  if (type === "exit-code") return code > EXIT_CODE_MAX ? "fail" : String(code);
  return type === "success" ? "" : type;
}

/** Bytes of output to send. */
export function limitOf({ bodyLimit }: Pick<Settings, "bodyLimit">, server: Server | null): number {
  const ofServer = server?.bodyLimit ?? null;
  // 0 is a server that stores no output: sending it is useless.
  if (bodyLimit === null) return Math.min(ofServer ?? BODY_BYTES, BODY_BYTES_MAX);
  return Math.min(bodyLimit === 0 ? BODY_BYTES_MAX : bodyLimit, ofServer ?? BODY_BYTES_MAX);
}

function bodyOf(given: { jobEnd: JobEnd; captured: Captured | null; limit: number }): Buffer {
  const { jobEnd, captured, limit } = given;
  const notes = [
    ...(captured?.isHeld === true
      ? ["[overdue] Another process still holds the output open. Output omitted."]
      : []),
    ...(jobEnd.note === null ? [] : [jobEnd.note]),
  ];
  const text = notes.map((note) => `${note}\n`).join("");
  const output = captured?.both ?? Buffer.alloc(0);
  if (text === "") return cutBody(output, limit);
  const endsLine = output.length === 0 || output.at(-1) === 0x0a;
  const note = Buffer.from(`${endsLine ? "" : "\n"}${text}`);
  return Buffer.concat([cutBody(output, Math.max(0, limit - note.length)), note]).subarray(0, limit);
}
