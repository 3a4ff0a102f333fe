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
const FLUSHES_MAX = 40;

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
  let isDone = false;
  servers.cut(() => state);
  const cutting = (async () => {
    while (!isDone) {
      state = states[random(states.length)] ?? "recorder";
      await sleep(random(CUT_MS_MAX));
    }
  })();
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
    const wrapper =
      (at % 2 === 0 ? exec : undefined) ?? (shells[Math.floor(at / 2) % shells.length] as Wrapper);
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
  isDone = true;
  await cutting;
  servers.cut(null);
  const checks = runs.map(({ check }) => check);
  const queue_ = await flush(wrappers, { servers, folder, queue, checks });
  const harmed = results.filter(({ problem }) => problem !== null).length;
  return { results: [...results, ...queue_.results], killed, harmed, ...queue_.counts };
}

type Flushing = { servers: Servers; folder: string; queue: string; checks: readonly string[] };

/** Delivers the queue, and compares what arrived with what was in it. */
async function flush(
  wrappers: readonly Wrapper[],
  { servers, folder, queue, checks }: Flushing,
): Promise<{ results: Result[]; counts: Pick<Killed, "queued" | "delivered" | "repeated"> }> {
  const exec = wrappers.find(({ kind }) => kind === "exec");
  if (exec === undefined) return { results: [], counts: { queued: 0, delivered: 0, repeated: 0 } };
  const command = [...exec.command.slice(0, -1), "flush"];
  let err = "";
  const files = () => (existsSync(queue) ? readdirSync(queue).filter((name) => name.endsWith(".json")) : []);
  for (let at = 0; at < FLUSHES_MAX && (at === 0 || files().length > 0); at += 1) {
    const where = newFolder(folder);
    const environment = { ...where.environment, OVERDUE_QUEUE: queue };
    ({ err } = await start(command, { environment, folder: where.path }).ended);
  }
  // An end that is reported late has its time in the query.
  const late = checks.flatMap((check) => {
    const found = servers
      .pings(check)
      .filter(({ query, status, network }) => query.has("at") && status === 200 && network === "recorder");
    return found.map(({ query }) => `${check} ${query.get("rid")} ${query.get("at")}`);
  });
  const delivered = new Set(late).size;
  const repeated = late.length - delivered;
  const problems = [
    files().length === 0 ? "" : `${files().length} files are left: ${err.slice(-300)}`,
    repeated === 0 ? "" : `${repeated} ends were delivered more than once`,
  ].filter((text) => text !== "");
  const result = {
    case: "the queue delivers each end once",
    wrapper: exec.name,
    problem: problems.join("; ") || null,
  };
  return { results: [result], counts: { queued: delivered + files().length, delivered, repeated } };
}
