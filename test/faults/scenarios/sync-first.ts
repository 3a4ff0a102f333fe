// Whether a signal is on disk before it is acknowledged. A kill keeps what the system has in memory, so it cannot
// show this; tracing system calls can: of the database for one signal at a time, and of the spool.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Scenario } from "../scenario.ts";
import { isAcknowledged } from "../signals/send.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { readTrace, spoolSyncedFirst, walSyncedFirst } from "../stage/trace.ts";
import { warmUp } from "../stage/warm-up.ts";
import { demand } from "../waiting.ts";

const STRACE = "/usr/bin/strace";
/** Enough of the data read and written to find a marker in it. */
const SHOWN_BYTES = 4_096;
const CALLS = "read,recvfrom,write,writev,sendto,sendmsg,fsync,fdatasync,openat";
const ATTACH_MS_MAX = 15_000;

export const syncFirst: Scenario = {
  name: "sync-first",
  about: "system calls traced: the sync of the database, or of the spool, returns before the 200 is sent",
  run: async (run) => {
    if (!existsSync(STRACE)) return { skipped: `${STRACE} is not installed (apt-get install strace)` };
    return onStage(run, { checks: 20 }, play);
  },
};

async function play(stage: Stage): Promise<Result> {
  const proxy = await stage.proxy();
  const receiver = await stage.receiver({ name: "one", databaseUrl: proxy.urlFor(stage.url) });
  await receiver.start();
  await warmUp(stage, [receiver]);
  const complaints: string[] = [];
  const traces = await attachAll(stage, receiver);
  if (typeof traces === "string") return { skipped: traces };
  const direct = await sendSome(stage, receiver);
  proxy.cut();
  const spooled = await sendSome(stage, receiver);
  proxy.heal();
  await sleep(1_000);
  await traces.detach();
  const calls = { receiver: readTrace(traces.receiver), database: readTrace(traces.database) };
  const walFirst = direct.filter((marker) => walSyncedFirst(marker, calls));
  const spoolFirst = spooled.filter((marker) => spoolSyncedFirst(marker, calls.receiver));
  if (walFirst.length < direct.length) {
    complaints.push(`${direct.length - walFirst.length} were answered before the database had synced them`);
  }
  if (spoolFirst.length < spooled.length) {
    complaints.push(`${spooled.length - spoolFirst.length} were answered before the spool had synced them`);
  }
  const figures = {
    direct: direct.length,
    direct_synced_first: walFirst.length,
    spooled: spooled.length,
    spooled_synced_first: spoolFirst.length,
    answered_too_early: direct.length - walFirst.length + spooled.length - spoolFirst.length,
  };
  return conclude(stage, { figures, complaints });
}

/** One after the other, so that no sync can be confused with that of another signal. Returns their markers. */
async function sendSome(stage: Stage, receiver: PingProcess): Promise<string[]> {
  const count = bySize(stage.run, { full: 100, quick: 30, tiny: 10 });
  const markers: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const target = stage.targets[index % stage.targets.length];
    if (target === undefined) break;
    const entry = await stage.ledger.send(stage.ledger.maker.make(target, { kind: "s" }), receiver.port);
    if (isAcknowledged(entry)) markers.push(entry.marker);
  }
  return markers;
}

type Traces = { receiver: string; database: string; detach(): Promise<void> };

/** Traces the process with all its threads, and the database with all its processes. */
async function attachAll(stage: Stage, receiver: PingProcess): Promise<Traces | string> {
  const receiverTrace = join(stage.folder, "receiver.trace");
  const database = join(stage.folder, "database.trace");
  const tracers = [
    attach(stage, { path: receiverTrace, pids: [receiver.pid] }),
    attach(stage, { path: database, pids: [stage.postgres.pid(), ...childrenOf(stage.postgres.pid())] }),
  ];
  try {
    await demand(() => tracers.every(({ isAttached }) => isAttached()), {
      withinMs: ATTACH_MS_MAX,
      what: "strace is attached",
    });
  } catch {
    return `strace cannot be attached here: ${tracers
      .map(({ said }) => said())
      .join(" ")
      .trim()}`;
  }
  // Lines may be late, but not later than the end of the process that writes them.
  const detach = async () => {
    await sleep(500);
    await Promise.all(tracers.map(({ child }) => interrupted(child)));
  };
  return { receiver: receiverTrace, database, detach };
}

function attach(stage: Stage, { path, pids }: { path: string; pids: readonly number[] }) {
  const args = ["-f", "-ttt", "-T", "-y", "-s", String(SHOWN_BYTES), "-e", `trace=${CALLS}`, "-o", path];
  const child = spawn(STRACE, [...args, ...pids.flatMap((pid) => ["-p", String(pid)])], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  stage.guardian.watch(child);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  return { child, isAttached: () => /attached/.test(said), said: () => said };
}

async function interrupted(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGINT");
  await gone;
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}
