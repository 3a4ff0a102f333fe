// Kills wrappers at random points while the network comes and goes. The job must not notice, and the queue of
// `overdue exec` must deliver each end once.
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { randomOf } from "./fuzz.ts";
import { inParallel, type Result } from "./run-cases.ts";
import type { Network, Servers } from "./servers.ts";
import { endGroup, newFolder, start, type Wrapper } from "./wrapper.ts";

/** Prints on both streams, then notes that it has ended. Its exit code is checked where nobody kills its wrapper. */
const JOB =
  'echo run >>"$RUNS"; echo begin; sleep 0.3; i=0; while [ $i -lt 400 ]; do echo "out $i"; echo "err $i" >&2; i=$((i + 1)); done; sleep 0.2; echo end; echo ended >>"$RUNS"';
const numbers = Array.from({ length: 400 }, (_, at) => at);
const OUT = `begin\n${numbers.map((at) => `out ${at}\n`).join("")}end\n`;
const ERR = numbers.map((at) => `err ${at}\n`).join("");

const AT_ONCE = 6;
const KILL_MS_MAX = 2_500;
const CUT_MS_MAX = 1_500;
/** Longer than an end is reserved for a process that was killed while it sent the end. */
const FLUSH_MS_MAX = 90_000;
const FLUSH_EVERY_MS = 500;
const WATCH_MS = 20;

export type KillOptions = { servers: Servers; folder: string; count: number; seed: number };
export type Killed = {
  results: Result[];
  killed: number;
  harmed: number;
  queued: number;
  delivered: number;
  repeated: number;
};

/** Kills `count` wrappers in turn. */
export async function killWrappers(
  wrappers: readonly Wrapper[],
  { servers, folder, count, seed }: KillOptions,
): Promise<Killed> {
  const random = randomOf(seed);
  const queue = join(folder, "kills-queue");
  const states: readonly Network[] = ["recorder", "dead", "503", "hole"];
  let state: Network = "recorder";
  const done = new AbortController();
  servers.cut(() => state);
  const cutting = (async () => {
    while (!done.signal.aborted) {
      state = states[random(states.length)] ?? "recorder";
      await sleep(random(CUT_MS_MAX));
    }
  })();
  const seen = new Set<string>();
  const watching = setInterval(() => queueFiles(queue).forEach((name) => seen.add(name)), WATCH_MS);
  const runs = Array.from({ length: count }, (_, at) => ({
    at,
    killMs: random(KILL_MS_MAX),
    check: randomUUID(),
  }));
  let killed = 0;
  const results = await inParallel(runs, AT_ONCE, async ({ at, killMs, check }): Promise<Result> => {
    // Half of them is `overdue exec`, which has a queue.
    const exec = wrappers.find(({ kind }) => kind === "exec");
    const shells = wrappers.filter(({ kind }) => kind === "run");
    const wrapper = (at % 2 === 0 ? exec : undefined) ?? shells[Math.floor(at / 2) % shells.length] ?? exec;
    if (wrapper === undefined) throw new Error("there is no wrapper");
    const where = newFolder(folder);
    const environment = {
      ...where.environment,
      OVERDUE_QUEUE: queue,
      HC_API_URL: servers.url("recorder"),
      CHECK_UUID: check,
    };
    const hurry = wrapper.kind === "exec" ? ["--report-for", "1s"] : [];
    const started = start([...wrapper.command, ...hurry, "--", "/bin/sh", "-c", JOB], {
      environment,
      folder: where.path,
    });
    const timer = setTimeout(() => {
      if (started.child.exitCode !== null || started.child.signalCode !== null) return;
      killed += 1;
      started.child.kill("SIGKILL");
    }, killMs);
    // Closed streams: everything that writes to them has ended.
    const { out, err } = await started.ended;
    clearTimeout(timer);
    const notes = existsSync(where.runs) ? readFileSync(where.runs, "utf8") : "";
    endGroup(started.child);
    const own = err
      .split("\n")
      .filter((line) => !/^overdue(?:-run)?(?: exec)?: /.test(line))
      .join("\n");
    // A wrapper that is killed before the job has started is like a job that is killed then.
    const isWhole =
      notes === "" ? out === "" && own === "" : notes === "run\nended\n" && out === OUT && own === ERR;
    const shown = `notes ${JSON.stringify(notes)}, ${out.length} of ${OUT.length} and ${own.length} of ${ERR.length} bytes`;
    return { case: `kill ${at} after ${killMs} ms`, wrapper: wrapper.name, problem: isWhole ? null : shown };
  });
  done.abort();
  await cutting;
  clearInterval(watching);
  servers.cut(null);
  queueFiles(queue).forEach((name) => seen.add(name));
  const checks = runs.map(({ check }) => check);
  const flushed = await flush(wrappers, { servers, folder, queue, checks, seen });
  const harmed = results.filter(({ problem }) => problem !== null).length;
  return { results: [...results, ...flushed.results], killed, harmed, ...flushed.counts };
}

/** Those that are complete; while one is being sent, its name is longer. */
function queueFiles(queue: string): string[] {
  const names = existsSync(queue) ? readdirSync(queue) : [];
  return names.flatMap((name) => /^\d{13}-[0-9a-f]+\.json/.exec(name)?.[0] ?? []);
}

type Flushing = {
  servers: Servers;
  folder: string;
  queue: string;
  checks: readonly string[];
  /** The names of the files that were in the queue. */
  seen: ReadonlySet<string>;
};

/** Delivers the queue, and compares what arrived with what was in it. */
async function flush(
  wrappers: readonly Wrapper[],
  { servers, folder, queue, checks, seen }: Flushing,
): Promise<{ results: Result[]; counts: Pick<Killed, "queued" | "delivered" | "repeated"> }> {
  const exec = wrappers.find(({ kind }) => kind === "exec");
  if (exec === undefined) return { results: [], counts: { queued: 0, delivered: 0, repeated: 0 } };
  const command = [...exec.command.slice(0, -1), "flush"];
  let err = "";
  const until = Date.now() + FLUSH_MS_MAX;
  while (queueFiles(queue).length > 0 && Date.now() < until) {
    const where = newFolder(folder);
    const environment = { ...where.environment, OVERDUE_QUEUE: queue };
    ({ err } = await start(command, { environment, folder: where.path }).ended);
    await sleep(FLUSH_EVERY_MS);
  }
  // The time of a late end is in the query, or in the text of a log entry.
  const late = checks.flatMap((check) =>
    servers
      .pings(check)
      .filter(({ status, network }) => status === 200 && network === "recorder")
      .filter(({ query, path }) => query.has("at") || path.endsWith("/log"))
      .map(({ query }) => ({ rid: `${check} ${query.get("rid")}`, at: query.get("at") })),
  );
  const delivered = new Set(late.map(({ rid }) => rid)).size;
  // A log entry also asks what a server accepts, before the end itself. A server records an end with the same run ID
  // and time once: a process may be killed after it has sent it.
  const timed = new Set(late.flatMap(({ rid, at }) => (at === null ? [] : [rid])));
  const ends = late.filter(({ rid, at }) => at !== null || !timed.has(rid));
  const repeated = new Set(ends.map(({ rid, at }) => `${rid} ${at ?? randomUUID()}`)).size - delivered;
  const left = queueFiles(queue).length;
  const problems = [
    left === 0 ? "" : `${left} files are left: ${err.slice(-300)}`,
    delivered >= seen.size ? "" : `${seen.size - delivered} of ${seen.size} ends did not arrive`,
    repeated === 0 ? "" : `${repeated} ends arrived more than once`,
  ].filter((text) => text !== "");
  const result = {
    case: "the queue delivers each end once",
    wrapper: exec.name,
    problem: problems.join("; ") || null,
  };
  return { results: [result], counts: { queued: Math.max(seen.size, delivered), delivered, repeated } };
}
