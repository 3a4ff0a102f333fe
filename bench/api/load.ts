// Drives HTTP load with wrk and says how many answers came in which time. Everything that is sent is answered
// before it ends.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const SCRIPT = join(import.meta.dirname, "requests.lua");
const END_GRACE_MS = 30_000;
const OUTPUT_BYTES_MAX = 1_000_000;

export type Load = {
  port: number;
  method: "GET" | "POST";
  /** UUID stands for the UUID of a check that is drawn at random. */
  path: string;
  /** A UUID in each line; null where the path has none. */
  uuidsPath: string | null;
  key: string;
  /** COUNTER stands for a text that no other request has; empty for no body. */
  body: string;
  connections: number;
  seconds: number;
  /** For how long the last answers are waited for. */
  drainSeconds: number;
};

/** Good answers a second. Throws if even one was none. */
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
  if (counted.refused > 0 || counted.broken > 0 || counted.answered === 0) {
    throw new Error(`${method} ${path}: not all was answered well: ${line}`);
  }
  return (counted.answered * 1_000) / counted.elapsedMs;
}
