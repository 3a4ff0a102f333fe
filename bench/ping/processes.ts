// Starts the parts that are measured alone, each in its own process, like the whole program.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { endWithUs } from "../../test/support/end-with-us.ts";
import { freePort } from "../../test/support/ports.ts";
import type { RecordingOrder } from "./recording-only.ts";

const run = promisify(execFile);

const ANSWERING = join(import.meta.dirname, "answering-only.ts");
const RECORDING = join(import.meta.dirname, "recording-only.ts");
const END_GRACE_MS = 60_000;

/** The HTTP server without recording. */
export async function startAnsweringOnly(): Promise<{ port: number; pid: number; stop(): Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, [ANSWERING, String(port)], { stdio: ["ignore", "pipe", "inherit"] });
  endWithUs(child);
  const ended = once(child, "exit");
  const isReady = await Promise.race([once(child.stdout, "data").then(() => true), ended.then(() => false)]);
  if (!isReady) throw new Error("the server without recording did not start");
  return {
    port,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Pings per second that are recorded without HTTP. */
export async function recordAlone(order: RecordingOrder): Promise<number> {
  const { stdout } = await run(process.execPath, [RECORDING, JSON.stringify(order)], {
    timeout: (order.warmUpSeconds + order.seconds) * 1_000 + END_GRACE_MS,
    killSignal: "SIGKILL",
  });
  const { signals, elapsedMs } = JSON.parse(stdout) as { signals: number; elapsedMs: number };
  return (signals * 1_000) / elapsedMs;
}
