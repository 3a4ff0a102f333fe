// Drives HTTP load with wrk and counts responses. Every request is answered before it ends.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const SCRIPT = join(import.meta.dirname, "random-checks.lua");
const THREADS = 2;
/** After the last request is sent, so that all responses arrive; they are guaranteed within two seconds. */
const DRAIN_SECONDS = 2;
const END_GRACE_MS = 30_000;
const OUTPUT_BYTES_MAX = 1_000_000;

export type Load = {
  url: string;
  /** One UUID per line. */
  uuidsPath: string;
  bodyBytes: number;
  connections: number;
  seconds: number;
};

/** How many requests were answered 200 in the time. Throws if one was not. */
export async function countAnswered(load: Load): Promise<number> {
  const { accepted, refused } = await countAnswers(load);
  if (refused === 0) return accepted;
  throw new Error(`of ${accepted + refused} requests ${refused} were not answered 200`);
}

export type Answers = { accepted: number; refused: number };

/** How many requests were answered 200 in the time, and otherwise. Throws if a connection broke. */
export async function countAnswers(load: Load): Promise<Answers> {
  const { url, uuidsPath, bodyBytes, connections, seconds } = load;
  const args = ["-t", String(THREADS), "-c", String(connections), "-d", `${seconds + DRAIN_SECONDS}s`];
  const own = [uuidsPath, String(bodyBytes), String(seconds)];
  const { stdout } = await run("wrk", [...args, "--timeout", "5s", "-s", SCRIPT, url, "--", ...own], {
    timeout: (seconds + DRAIN_SECONDS) * 1_000 + END_GRACE_MS,
    killSignal: "SIGKILL",
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  const line = stdout.trimEnd().split("\n").at(-1) ?? "";
  const { answered, refused, broken } = JSON.parse(line) as Record<"answered" | "refused" | "broken", number>;
  if (broken > 0) throw new Error(`of ${answered} requests ${broken} broke`);
  return { accepted: answered - refused, refused };
}
