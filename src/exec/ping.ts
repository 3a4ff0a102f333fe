// `overdue ping` and `overdue flush`.
import { fstatSync, readSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { EXIT_CODE_MAX } from "./job.ts";
import { BODY_BYTES_MAX } from "./limits.ts";
import { cutBody } from "./output.ts";
import { enqueue, flushQueue, queueFolder } from "./queue.ts";
import { describePing, type Ping, send, type Sender } from "./report.ts";
import { limitOf, type RunContext } from "./run.ts";
import { type Given, messageOf } from "./settings.ts";

const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** The last part of the ping URL; null if the word is no ping. */
function suffixIn(word: string): string | null {
  if (word === "success") return "";
  if (["start", "fail", "log"].includes(word)) return word;
  return /^\d{1,3}$/.test(word) && Number(word) <= EXIT_CODE_MAX ? String(Number(word)) : null;
}

/** Sends one ping and returns the exit code. */
export async function sendPing(given: Given, { environment, version, say }: RunContext): Promise<number> {
  const { settings, rest, problems, line } = given;
  const [, word = "success", ...more] = rest;
  const suffix = suffixIn(word);
  if (suffix === null) problems.push("A ping is start, success, fail, log, or an exit code from 0 to 255.");
  if (more.length > 0) problems.push("Too many arguments.");
  for (const problem of problems) say(problem);
  const { target } = settings;
  if (problems.length > 0 || target === null || suffix === null) return EXIT.usage;
  const output = suffix === "start" ? Buffer.alloc(0) : readStdin();
  const ping: Ping = {
    target,
    suffix,
    runId: line.values.get("rid") ?? null,
    body: cutBody(output, limitOf(settings, null)),
  };
  if (settings.isDryRun) {
    say(`Dry run: ${describePing(ping)}`);
    return EXIT.ok;
  }
  const { tryMs, retriesMax } = settings;
  const sender: Sender = { userAgent: `overdue-exec/${version}`, environment, tryMs, retriesMax };
  const endedAtMs = Date.now();
  const answer = await send(ping, { sender, deadline: performance.now() + settings.reportMs });
  if (answer.kind === "sent") {
    if (answer.warning !== null) say(`Warning of the server: ${answer.warning}`);
    return EXIT.ok;
  }
  const folder = queueFolder(environment);
  // A start that arrives late would begin a run that has ended.
  if (answer.kind === "refused" || suffix === "start" || folder === null) {
    say(`Not sent: ${answer.reason}`);
    return EXIT.failed;
  }
  try {
    enqueue(folder, { ...ping, late: { endedAtMs, ranMs: null }, acceptsLateEnds: null });
    say(`Not sent: ${answer.reason}. Queued in ${folder}.`);
    return EXIT.ok;
  } catch (error) {
    say(`Not sent: ${answer.reason}. Not queued: ${messageOf(error)}`);
    return EXIT.failed;
  }
}

/** The end of standard input; nothing if it is a terminal or closed. */
function readStdin(): Buffer {
  const stdin = 0;
  let chunks: Buffer[] = [];
  let length = 0;
  const waiting = new Int32Array(new SharedArrayBuffer(4));
  try {
    if (isatty(stdin) || fstatSync(stdin).isDirectory()) return Buffer.alloc(0);
    for (;;) {
      const chunk = Buffer.allocUnsafe(65_536);
      let read = 0;
      try {
        read = readSync(stdin, chunk, 0, chunk.length, null);
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) break;
        // The writer is slower than we are.
        Atomics.wait(waiting, 0, 0, 20);
        continue;
      }
      if (read === 0) break;
      chunks.push(chunk.subarray(0, read));
      length += read;
      while (length - (chunks[0]?.length ?? 0) > BODY_BYTES_MAX) length -= chunks.shift()?.length ?? 0;
    }
  } catch {
    chunks = [];
  }
  return Buffer.concat(chunks);
}

/** Sends the whole queue and returns the exit code. */
export async function flush(given: Given, { environment, version, say }: RunContext): Promise<number> {
  const { settings, rest, problems, line } = given;
  if (rest.length > 0) problems.push("Too many arguments.");
  for (const problem of problems) say(problem);
  if (problems.length > 0) return EXIT.usage;
  const folder = queueFolder(environment);
  const { tryMs, retriesMax } = settings;
  const flushed =
    folder === null
      ? { sent: 0, dropped: 0, left: 0, reason: null }
      : await flushQueue(folder, {
          sender: { userAgent: `overdue-exec/${version}`, environment, tryMs, retriesMax },
          servers: new Map(),
          filesMax: Number.POSITIVE_INFINITY,
          deadline: Number.POSITIVE_INFINITY,
        });
  const { sent, dropped, left, reason } = flushed;
  const text = line.values.has("json")
    ? JSON.stringify({ sent, dropped, left, reason })
    : `Sent ${sent}, dropped ${dropped}, ${left} left${reason === null ? "" : ` (${reason})`}.`;
  writeSync(1, `${text}\n`);
  return left === 0 ? EXIT.ok : EXIT.failed;
}
