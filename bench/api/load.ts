// Drives HTTP load with wrk and returns how many responses came in which time. Every request is answered before it
// ends.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const SCRIPT = join(import.meta.dirname, "requests.lua");
const END_GRACE_MS = 30_000;
/** A run without any response is repeated with more time, up to this. */
const SECONDS_MAX = 10;
const OUTPUT_BYTES_MAX = 1_000_000;

export type Load = {
  port: number;
  method: "GET" | "POST";
  /** UUID is replaced by the UUID of a random check. */
  path: string;
  /** A file with one UUID per line; null if the path has none. */
  uuidsPath: string | null;
  key: string;
  /** COUNTER is replaced by a unique text; empty for no body. */
  body: string;
  connections: number;
  seconds: number;
  /** How long to wait for the last responses. */
  drainSeconds: number;
};

/** Successful responses per second. Throws if one failed. */
export async function measureLoad(load: Load): Promise<number> {
  const { port, method, path, uuidsPath, key, body, connections, seconds, drainSeconds } = load;
  const duration = Math.ceil(seconds + drainSeconds);
  const args = ["-t", "1", "-c", String(connections), "-d", `${duration}s`, "--timeout", "20s", "-s", SCRIPT];
  const own = [method, path, uuidsPath ?? "-", key, body, String(seconds)];
  const { stdout } = await run("wrk", [...args, `http://127.0.0.1:${port}`, "--", ...own], {
    timeout: duration * 1_000 + END_GRACE_MS,
    killSignal: "SIGKILL",
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  const line = stdout.trimEnd().split("\n").at(-1) ?? "";
  const counted = JSON.parse(line) as Record<"answered" | "refused" | "broken" | "elapsedMs", number>;
  if (counted.refused > 0 || counted.broken > 0) {
    throw new Error(`${method} ${path}: not all was answered well: ${line}`);
  }
  // The machine stood still for as long as a short run takes.
  if (counted.answered === 0 && seconds < SECONDS_MAX) return measureLoad({ ...load, seconds: seconds * 4 });
  if (counted.answered === 0) throw new Error(`${method} ${path}: nothing was answered in ${seconds} s`);
  return (counted.answered * 1_000) / counted.elapsedMs;
}
