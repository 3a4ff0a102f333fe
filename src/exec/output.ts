// Captures the end of a job's output. The output flows from the job through a named pipe and `tee` to our standard
// output and error, and a copy to `tail`, which keeps the end. It does not pass through this process, so that the job
// and its output are complete even if this process is killed. Without these programs, it does pass through.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, constants, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { BODY_BYTES_MAX, MKFIFO_MS_MAX, OUTPUT_WAIT_MS } from "./limits.ts";
import type { Echo, Environment } from "./settings.ts";

export type OutputOptions = {
  /** Whether the output is sent, or printed later. */
  isCaptured: boolean;
  echo: Echo;
  isMerged: boolean;
  dropsStdout: boolean;
  dropsStderr: boolean;
  environment: Environment;
};

/** What is known about the output when the job has ended. */
export type Captured = {
  /** The end of stdout and stderr, in the order in which they were written. */
  both: Buffer;
  /** With the echo mode on-failure: the end of each, to be printed. */
  stdout: Buffer;
  stderr: Buffer;
  /** Another process still holds the output open, so that its end is not known. */
  isHeld: boolean;
};

type Stdio = "ignore" | "pipe" | number;

/** Where a job writes to. */
export type Output = {
  stdio: [Stdio, Stdio, Stdio];
  /** To be called with the job, or null if it could not be started. */
  connect: (job: ChildProcess | null) => void;
  /** How many bytes of both streams are needed at most, once that is known. */
  keep: (bytes: number) => void;
  /** Waits for the end of the output, but not long. Null if it is not captured. */
  collect: () => Promise<Captured | null>;
};

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/** Bytes that are kept of each stream: one more than are ever sent tells whether something is missing. */
const KEPT_BYTES = BODY_BYTES_MAX + 1;

/** Never throws: the last resort is not to capture. */
export function openOutput(options: OutputOptions): Output {
  if (options.isCaptured) return outputByPrograms(options) ?? outputThroughUs(options);
  leaveStreamsClosed();
  return outputAsOurs(options);
}

function outputByPrograms(options: OutputOptions): Output | null {
  if (process.platform === "win32") return null;
  for (const folder of [options.environment["TMPDIR"] || "/tmp", "/dev/shm"]) {
    try {
      const output = outputByPipes(options, folder);
      leaveStreamsClosed();
      return output;
    } catch {
      // No folder to write to, no programs, or too many open files.
    }
  }
  return null;
}

/**
 * Keeps Node from opening our standard output and error, as it does on its own to find out whether messages are
 * colored. What it opens no longer blocks, also for the job and `tee`, which share it and lose what cannot be written
 * at once.
 */
function leaveStreamsClosed(): void {
  for (const name of ["stdout", "stderr"])
    Object.defineProperty(process, name, { configurable: true, value: { isTTY: false, write: () => true } });
}

/** The job inherits our output. */
function outputAsOurs({ echo, isMerged, dropsStdout, dropsStderr }: OutputOptions): Output {
  const isShown = echo !== "never";
  const stdout = isShown && !dropsStdout ? STDOUT : "ignore";
  const stderr = isShown && !dropsStderr ? (isMerged ? stdout : STDERR) : "ignore";
  return { stdio: [STDIN, stdout, stderr], connect: () => {}, keep: () => {}, collect: async () => null };
}

/** The file descriptors of the shell that starts the programs. */
const FD = { stdout: 3, stderr: 4, tailIn: 5, tailOut: 6, both: 7, heldStdout: 8, heldStderr: 9 } as const;
const CLOSE_ALL = Object.values(FD)
  .map((fd) => `${fd}<&-`)
  .join(" ");
/** tee opens its copy by number, so that it needs this one. */
const CLOSE_OTHERS = CLOSE_ALL.replace(` ${FD.tailOut}<&-`, "");

/**
 * Starts the programs and ends. They ignore the signals that a terminal or service manager sends to all processes of a
 * job, because its last lines pass through them. Each holds only its own pipes: a reader that nobody reads from would
 * block the job instead of ending it.
 */
function plumbing({ echo, isMerged, dropsStdout, dropsStderr }: OutputOptions): string {
  const tail = (from: string, to: number) => `"$1" -c "$3" ${from} >&${to} ${CLOSE_ALL}`;
  const lines = [
    "trap '' HUP INT QUIT TERM",
    `${tail(`<&${FD.tailIn}`, FD.both)} &`,
    // Without it, a job goes on when its reader has reset the connection. Not all versions of tee have it.
    `exits=--output-error=exit; "$2" $exits </dev/null >/dev/null 2>&1 || exits=`,
  ];
  const tee = (from: number, { ours, held }: { ours: number; held: number }) => {
    const copy = `"$2" $exits /dev/fd/${FD.tailOut} <&${from}`;
    if (echo === "always") lines.push(`${copy} >&${ours} ${CLOSE_OTHERS} &`);
    else lines.push(`${copy} ${CLOSE_OTHERS} | ${tail("", held)} &`);
  };
  if (echo === "never") return lines.join("\n");
  if (!dropsStdout) tee(FD.stdout, { ours: STDOUT, held: FD.heldStdout });
  if (!dropsStderr && !isMerged) tee(FD.stderr, { ours: STDERR, held: FD.heldStderr });
  return lines.join("\n");
}

function outputByPipes(options: OutputOptions, folder: string): Output {
  const { environment, echo, isMerged, dropsStdout, dropsStderr } = options;
  if (!existsSync("/dev/fd")) throw new Error("/dev/fd does not exist");
  const [mkfifo, tee, tail] = ["mkfifo", "tee", "tail"].map((name) => programIn(environment, name));
  if (mkfifo === undefined || tee === undefined || tail === undefined)
    throw new Error("a program is missing");
  const held: number[] = [];
  const hold = (fd: number) => {
    held.push(fd);
    return fd;
  };
  const close = () => {
    for (const fd of held.splice(0)) closeSync(fd);
  };
  try {
    const pipes = makePipes({ folder, mkfifo, count: 3, hold });
    const [stdout, stderr, copy] = pipes as [Pipe, Pipe, Pipe];
    const isDirect = echo === "never";
    const ends = Array.from({ length: echo === "on-failure" ? 3 : 1 }, () => "pipe" as const);
    // Detached: Ctrl-C must end the job, not the programs that its last lines pass through.
    const shell = spawn("/bin/sh", ["-c", plumbing(options), "sh", tail, tee, String(KEPT_BYTES)], {
      detached: true,
      env: {},
      stdio: ["ignore", STDOUT, STDERR, stdout.read, stderr.read, copy.read, copy.write, ...ends],
    });
    shell.on("error", () => {});
    if (shell.pid === undefined) throw new Error("/bin/sh cannot be started");
    shell.unref();
    // Listened to at once: Node discards what nobody listens to when the shell ends.
    const sockets = (shell.stdio as NodeJS.ReadableStream[]).slice(FD.both, FD.both + ends.length);
    const tails = sockets.map((socket) => keepEnd(socket));
    const jobStdout = dropsStdout ? "ignore" : isDirect ? copy.write : stdout.write;
    const jobStderr = dropsStderr ? "ignore" : isDirect ? copy.write : isMerged ? jobStdout : stderr.write;
    return {
      stdio: [STDIN, jobStdout, jobStderr],
      connect: close,
      keep: (bytes) => tails[0]?.keep(bytes),
      collect: () => collect(tails),
    };
  } catch (error) {
    close();
    throw error;
  }
}

type Pipe = { read: number; write: number };

/** Named pipes that no longer have a name: nothing is left to be deleted. */
function makePipes(options: {
  folder: string;
  mkfifo: string;
  count: number;
  hold: (fd: number) => number;
}): Pipe[] {
  const { hold } = options;
  const folder = mkdtempSync(join(options.folder, "overdue-"));
  try {
    const paths = Array.from({ length: options.count }, (_, index) => join(folder, String(index)));
    const made = spawnSync(options.mkfifo, ["-m", "600", ...paths], {
      env: {},
      stdio: "ignore",
      timeout: MKFIFO_MS_MAX,
    });
    if (made.status !== 0) throw new Error("mkfifo failed");
    return paths.map((path) => {
      // Opening one end blocks until the other is open, except with O_NONBLOCK, which the programs cannot read from.
      const opener = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const write = hold(openSync(path, constants.O_WRONLY));
        return { write, read: hold(openSync(path, constants.O_RDONLY)) };
      } finally {
        closeSync(opener);
      }
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function programIn(environment: Environment, name: string): string | undefined {
  const folders = (environment["PATH"] || "/usr/bin:/bin").split(delimiter);
  return folders
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

/** What the programs have kept, which they write when the output has ended. */
async function collect(tails: readonly EndOfStream[]): Promise<Captured> {
  const isHeld = !(await endsInTime(tails.map(({ end }) => end)));
  const [both, stdout, stderr] = tails.map((tail) => tail.bytes());
  return { both: both ?? EMPTY, stdout: stdout ?? EMPTY, stderr: stderr ?? EMPTY, isHeld };
}

const EMPTY = Buffer.alloc(0);

async function endsInTime(ends: readonly Promise<void>[]): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, OUTPUT_WAIT_MS, false);
  });
  const isInTime = await Promise.race([Promise.all(ends).then(() => true), late]);
  clearTimeout(timer);
  return isInTime;
}

/** The output passes through this process: on Windows, and without a folder for temporary files. */
function outputThroughUs({ echo, isMerged, dropsStdout, dropsStderr }: OutputOptions): Output {
  const both = endOfBytes();
  const held = { stdout: endOfBytes(), stderr: endOfBytes() };
  const ends: Promise<void>[] = [];
  const copy = (from: NodeJS.ReadableStream | null, name: "stdout" | "stderr") => {
    if (from === null) return;
    const ours = process[isMerged ? "stdout" : name];
    from.on("data", (chunk: Buffer) => {
      both.push(chunk);
      if (echo === "on-failure") held[isMerged ? "stdout" : name].push(chunk);
      // The job waits while the reader of our output does.
      if (echo !== "always" || ours.write(chunk)) return;
      from.pause();
      ours.once("drain", () => from.resume());
    });
    ends.push(ended(from));
  };
  return {
    stdio: [STDIN, dropsStdout ? "ignore" : "pipe", dropsStderr ? "ignore" : "pipe"],
    keep: both.keep,
    connect: (job) => {
      if (job === null) return;
      if (echo === "always") {
        // As without us: a job whose reader is gone gets an error when it writes.
        process.stdout.on("error", () => job.stdout?.destroy());
        process.stderr.on("error", () => job.stderr?.destroy());
      }
      copy(job.stdout, "stdout");
      copy(job.stderr, "stderr");
    },
    collect: async () => {
      const isHeld = !(await endsInTime(ends));
      return { both: both.bytes(), stdout: held.stdout.bytes(), stderr: held.stderr.bytes(), isHeld };
    },
  };
}

type Tail = { push: (chunk: Buffer) => void; keep: (bytes: number) => void; bytes: () => Buffer };

/** The last bytes of what is pushed. */
function endOfBytes(): Tail {
  let max = KEPT_BYTES;
  let chunks: Buffer[] = [];
  let length = 0;
  const shorten = () => {
    for (let first = chunks[0]; first !== undefined && length - first.length >= max; first = chunks[0]) {
      chunks.shift();
      length -= first.length;
    }
  };
  return {
    push: (chunk) => {
      chunks.push(chunk);
      length += chunk.length;
      shorten();
    },
    keep: (bytes) => {
      // One more tells whether something is missing.
      max = Math.min(KEPT_BYTES, bytes + 1);
      shorten();
    },
    bytes: () => {
      const all = Buffer.concat(chunks);
      chunks = [];
      length = 0;
      return all.subarray(-max);
    },
  };
}

type EndOfStream = { end: Promise<void> } & Pick<Tail, "keep" | "bytes">;

function keepEnd(stream: NodeJS.ReadableStream): EndOfStream {
  const tail = endOfBytes();
  stream.on("data", (chunk: Buffer) => tail.push(chunk));
  return { end: ended(stream), keep: tail.keep, bytes: tail.bytes };
}

function ended(stream: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ["end", "close", "error"]) stream.once(event, () => resolve());
  });
}

/**
 * The end of the output as it is sent: at most so many bytes with a line on what is missing, and not from the middle
 * of a character.
 */
export function cutBody(output: Buffer, limit: number): Buffer {
  if (output.length <= limit) return output;
  const noticeOf = (bytes: number) => `[overdue] Earlier output omitted. Last ${bytes} bytes:\n`;
  // The number may get shorter, never longer.
  let start = output.length - Math.max(0, limit - noticeOf(limit).length);
  for (let skipped = 0; skipped < 3 && isContinuation(output[start]); skipped += 1) start += 1;
  const kept = output.subarray(start);
  return Buffer.concat([Buffer.from(noticeOf(kept.length)), kept]).subarray(0, limit);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
