// Ends of runs that could not be reported, one file each. A file is complete or absent after a crash, and several
// processes can use the same folder.
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import {
  CLAIM_MS_MAX,
  QUEUE_AGE_MS_MAX,
  QUEUE_BODY_BYTES_MAX,
  QUEUE_BYTES_MAX,
  QUEUE_FILES_MAX,
} from "./limits.ts";
import { cutBody } from "./output.ts";
import { type Ping, send, type Sender, type Server, urlOf } from "./report.ts";
import type { Environment, Target } from "./settings.ts";

/** The folder of the queue; null if it is turned off. */
export function queueFolder(environment: Environment): string | null {
  const chosen = environment["OVERDUE_QUEUE"] ?? "";
  if (chosen !== "") return chosen === "off" ? null : chosen;
  // systemd separates several with colons.
  const [service = ""] = (environment["STATE_DIRECTORY"] ?? "").split(":");
  if (service !== "") return join(service, "overdue", "queue");
  if (process.getuid?.() === 0) return "/var/lib/overdue/queue";
  return join(environment["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "overdue", "queue");
}

/** What a file contains. */
type Entry = {
  version: 1;
  target: Target;
  suffix: string;
  runId: string | null;
  endedAtMs: number;
  ranMs: number | null;
  /** What the server announced when the run started. */
  acceptsLateEnds: boolean | null;
  /** Base64: output is not always text. */
  body: string;
};

export type QueuedEnd = Ping & {
  late: { endedAtMs: number; ranMs: number | null };
  acceptsLateEnds: boolean | null;
};

const FILE = /^(\d{13})-[0-9a-f]{16}\.json$/;
/** The process that is sending it, and since when. */
const CLAIM = /^(\d{13}-[0-9a-f]{16}\.json)\.(\d{1,10})-(\d{13})$/;

/** Stores an end. Throws if the folder cannot be written to. */
export function enqueue(folder: string, end: QueuedEnd): void {
  const entry: Entry = {
    version: 1,
    target: end.target,
    suffix: end.suffix,
    runId: end.runId,
    endedAtMs: end.late.endedAtMs,
    ranMs: end.late.ranMs,
    acceptsLateEnds: end.acceptsLateEnds,
    body: cutBody(end.body, QUEUE_BODY_BYTES_MAX).toString("base64"),
  };
  makeFolder(folder);
  const name = `${padded(end.late.endedAtMs)}-${randomBytes(8).toString("hex")}.json`;
  const temporary = join(folder, `.${name}`);
  try {
    const file = openSync(temporary, "wx", 0o600);
    try {
      writeSync(file, JSON.stringify(entry));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, join(folder, name));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(folder);
  dropExcess(folder, Date.now());
}

/** With its parents. The recursive mkdir of Node never returns for a folder that cannot be made below /proc. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, 0o700);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(folder) === folder) throw error;
    makeFolder(dirname(folder));
    mkdirSync(folder, 0o700);
  }
}

/** Makes the rename durable. */
function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const file = openSync(folder, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Deletes the oldest files beyond the limits, and what crashes have left. */
function dropExcess(folder: string, nowMs: number): void {
  let files = 0;
  let bytes = 0;
  // The newest first.
  for (const name of filesIn(folder).toSorted().toReversed()) {
    const path = join(folder, name);
    const written = statSync(path, { throwIfNoEntry: false });
    if (written === undefined) continue;
    if (name.startsWith(".")) {
      if (nowMs - written.mtimeMs > CLAIM_MS_MAX) rmSync(path, { force: true });
      continue;
    }
    const endedAtMs = Number((FILE.exec(name) ?? CLAIM.exec(name))?.[0].slice(0, 13));
    if (!Number.isFinite(endedAtMs)) continue;
    files += 1;
    bytes += written.size;
    const isExcess =
      files > QUEUE_FILES_MAX || bytes > QUEUE_BYTES_MAX || nowMs - endedAtMs > QUEUE_AGE_MS_MAX;
    if (isExcess) rmSync(path, { force: true });
  }
}

/** Names of files only: a named pipe would block the process, and a folder cannot be deleted like a file. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

/** The files that can be sent, the oldest first. */
function listQueue(folder: string, nowMs: number): string[] {
  let names: string[];
  try {
    names = filesIn(folder);
  } catch {
    return [];
  }
  return names.filter((name) => FILE.test(name) || isAbandoned(name, nowMs)).toSorted();
}

/** Whether the process that claimed a file no longer exists, or has had it for too long. */
function isAbandoned(name: string, nowMs: number): boolean {
  const [, , pid, since] = CLAIM.exec(name) ?? [];
  if (pid === undefined) return false;
  if (Math.abs(nowMs - Number(since)) > CLAIM_MS_MAX) return true;
  if (Number(pid) === process.pid) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

export type Flushed = {
  sent: number;
  /** Refused by the server, unreadable, or too old. */
  dropped: number;
  left: number;
  /** Why sending stopped; null if nothing is left. */
  reason: string | null;
};

export type FlushOptions = {
  sender: Sender;
  /** What is known of servers, by base URL. */
  servers: Map<string, Server>;
  filesMax: number;
  /** A time of performance.now(). */
  deadline: number;
  signal?: AbortSignal | undefined;
};

/** Sends queued ends, the oldest first. A server that does not answer is not asked again. */
export async function flushQueue(folder: string, options: FlushOptions): Promise<Flushed> {
  const flushed: Flushed = { sent: 0, dropped: 0, left: 0, reason: null };
  const failed = new Set<string>();
  for (const name of listQueue(folder, Date.now())) {
    const isOver = flushed.sent + flushed.dropped + failed.size >= options.filesMax;
    if (isOver || performance.now() >= options.deadline || options.signal?.aborted === true) break;
    const entry = readEntry(join(folder, name));
    if (entry !== null && failed.has(entry.target.baseUrl)) continue;
    const base = CLAIM.exec(name)?.[1] ?? name;
    const claimed = join(folder, `${base}.${process.pid}-${padded(Date.now())}`);
    try {
      renameSync(join(folder, name), claimed);
    } catch {
      // Another process was faster.
      continue;
    }
    const isFresh = entry !== null && Date.now() - entry.endedAtMs <= QUEUE_AGE_MS_MAX;
    const result = isFresh ? await sendEntry(entry, options) : "dropped";
    if (result === "sent" || result === "dropped") {
      rmSync(claimed, { force: true });
      flushed[result] += 1;
      continue;
    }
    renameSync(claimed, join(folder, base));
    if (entry !== null) failed.add(entry.target.baseUrl);
    flushed.reason ??= result;
  }
  flushed.left = countQueue(folder);
  return flushed;
}

/** Names sort by time. */
function padded(ms: number): string {
  return String(ms).padStart(13, "0");
}

function countQueue(folder: string): number {
  try {
    return filesIn(folder).filter((name) => FILE.test(name) || CLAIM.test(name)).length;
  } catch {
    return 0;
  }
}

/** Null for a damaged file: what cannot be sent must not stay in front of the others. */
function readEntry(path: string): Entry | null {
  try {
    if (statSync(path).size > QUEUE_BYTES_MAX) return null;
    const entry = JSON.parse(readFileSync(path, "utf8")) as Entry;
    return isComplete(entry) ? entry : null;
  } catch {
    return null;
  }
}

/** Whether it can be sent. Throws for other values than objects, and for a URL or header that cannot be used. */
function isComplete({ version, target, suffix, runId, endedAtMs, ranMs, body }: Entry): boolean {
  const late = { endedAtMs, ranMs };
  const { protocol } = new URL(urlOf({ target, suffix, runId, body: Buffer.alloc(0), late }));
  for (const [name, value] of Object.entries(target.headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  const isText = [target.baseUrl, suffix, body].every((text) => typeof text === "string");
  return version === 1 && Array.isArray(target.handle) && isText && /^https?:$/.test(protocol);
}

/**
 * Sends one end with its time. A server that does not accept the time gets a log entry: to that server, a success of
 * yesterday would look like one of now. If nothing is known about the server, its answer to the log entry tells.
 */
async function sendEntry(entry: Entry, { sender, servers, deadline, signal }: FlushOptions): Promise<string> {
  const { target, suffix, runId, endedAtMs, ranMs } = entry;
  const body = Buffer.from(entry.body, "base64");
  const late = { endedAtMs, ranMs };
  const known = servers.get(target.baseUrl)?.acceptsLateEnds ?? entry.acceptsLateEnds;
  const pings: Ping[] = [];
  if (known !== true || suffix === "log") {
    const text = `Reported late. ${describeEnd(entry)}\n`;
    pings.push({ target, suffix: "log", runId, body: Buffer.concat([Buffer.from(text), body]) });
  } else pings.push({ target, suffix, runId, body, late });
  for (const ping of pings) {
    const answer = await send(ping, {
      sender: { ...sender, retriesMax: 0 },
      deadline,
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.kind === "refused") return "dropped";
    if (answer.kind === "failed") return answer.reason;
    servers.set(target.baseUrl, answer.server);
    if (ping.suffix === "log" && suffix !== "log" && answer.server.acceptsLateEnds === true) {
      pings.push({ target, suffix, runId, body, late });
    }
  }
  return "sent";
}

function describeEnd({ suffix, endedAtMs, ranMs }: Entry): string {
  const result = suffix === "" ? "success" : /^\d+$/.test(suffix) ? `exit code ${suffix}` : suffix;
  const duration = ranMs === null ? "" : ` after ${ranMs / 1_000} s`;
  return `The run ended at ${new Date(endedAtMs).toISOString()}${duration}: ${result}.`;
}
