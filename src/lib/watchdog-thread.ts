// The watchdog thread. It must not depend on the main thread: it writes directly to the file descriptor, because the
// streams of a worker are served by the main thread.
import { readFileSync, writeSync } from "node:fs";
import { type Debugger, Session } from "node:inspector";
import { workerData } from "node:worker_threads";

export type WatchdogData = {
  /** Counted up by the main thread's event loop. */
  ticks: Int32Array;
  blockedCpuMsMax: number;
};

const CHECK_MS = 500;
/** The unit of /proc/<pid>/stat is 1/100 s on every architecture that Node supports. */
const MS_PER_CLOCK_TICK = 10;
/** utime and stime, counted from the first field after the name of the program. */
const UTIME_FIELD = 11;
const STIME_FIELD = 12;
/** How long the main thread may take to report its stack. In native code it cannot. */
const STACK_MS_MAX = 10_000;
const PAUSE_AGAIN_MS = 20;
const STACK_FRAMES_MAX = 20;
/** Between two promises the stack names only Node itself; then it is read again. */
const LOOKS_MAX = 20;

const { ticks, blockedCpuMsMax } = workerData as WatchdogData;
let seenTicks = Atomics.load(ticks, 0);
let cpuMsAtTick = mainThreadCpuMs();
let isEnding = false;

setInterval(() => {
  const now = Atomics.load(ticks, 0);
  const cpuMs = mainThreadCpuMs();
  if (now !== seenTicks) {
    seenTicks = now;
    cpuMsAtTick = cpuMs;
  } else if (cpuMs - cpuMsAtTick >= blockedCpuMsMax && !isEnding) {
    isEnding = true;
    endProcess(cpuMs - cpuMsAtTick);
  }
}, CHECK_MS);

/** CPU time of the main thread, whose ID is that of the process. */
function mainThreadCpuMs(): number {
  const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[UTIME_FIELD]) + Number(fields[STIME_FIELD])) * MS_PER_CLOCK_TICK;
}

/**
 * Interrupts the main thread, reports its stack, and kills the process. The main thread is not asked to exit: that
 * would stop this thread first, and a main thread that waits for its debugger would never end.
 */
function endProcess(blockedCpuMs: number): void {
  const session = new Session();
  const urls = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params }) => urls.set(params.scriptId, params.url));
  let looks = 0;
  session.on("Debugger.paused", ({ params: { callFrames } }) => {
    looks += 1;
    const isInNode = callFrames.every(({ location }) => urls.get(location.scriptId)?.startsWith("node:"));
    if (isInNode && looks < LOOKS_MAX) {
      session.post("Debugger.stepInto");
      return;
    }
    kill(blockedCpuMs, stackOf(callFrames, urls));
  });
  setTimeout(() => kill(blockedCpuMs, []), STACK_MS_MAX);
  session.connectToMainThread();
  session.post("Debugger.enable");
  // Repeated, because between two promises a request to pause can get lost.
  setInterval(() => session.post("Debugger.pause"), PAUSE_AGAIN_MS);
}

function stackOf(frames: readonly Debugger.CallFrame[], urls: ReadonlyMap<string, string>): string[] {
  return frames.slice(0, STACK_FRAMES_MAX).map(({ functionName, location }) => {
    const { scriptId, lineNumber, columnNumber = 0 } = location;
    return `${functionName || "<anonymous>"} (${urls.get(scriptId) ?? ""}:${lineNumber + 1}:${columnNumber + 1})`;
  });
}

/** Writes one line in the format of the log. */
function kill(blockedCpuMs: number, stack: readonly string[]): void {
  const line = { level: "fatal", time: new Date().toISOString(), blockedCpuMs, stack };
  const msg = "the event loop is blocked; terminating the process so that it can be restarted";
  writeSync(1, `${JSON.stringify({ ...line, msg })}\n`);
  process.kill(process.pid, "SIGKILL");
}
