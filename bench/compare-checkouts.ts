// Compares this checkout with another one, such as the release before: start, idle memory, and the cost of a ping, of all
// roles in one process. Both take turns. Processor time counts, because it hardly depends on what else runs.
//
//   git worktree add ../before v1.2.3 && (cd ../before && npm ci)
//   node bench/compare-checkouts.ts ../before [rounds]
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { startPingProcess } from "../test/support/ping-process.ts";
import { freePort } from "../test/support/ports.ts";
import { processorMs } from "./log/processor-time.ts";
import { createPingScale, type PingScale } from "./ping/ping-scale.ts";
import { countAnswered } from "./ping/wrk.ts";
import { type Engine, onEngine } from "./store/engine.ts";
import { median, printTable } from "./store/figures.ts";

const run = promisify(execFile);

const ROUNDS = 7;
const CHECKS = 5_000;
const SETTLE_MS = 3_000;
const WARM_UP_SECONDS = 3;
const SECONDS = 5;
const CONNECTIONS = 64;
const BYTES_PER_MB = 1_000_000;

type Round = { startMs: number; idleMb: number; pingUs: number; perSecond: number };
type Checkout = { program: string; scale: PingScale; rounds: Round[] };

async function prepare(folder: string, name: string, engine: Engine, files: string): Promise<Checkout> {
  await run(process.execPath, ["scripts/build.ts", "--only", "server"], { cwd: folder });
  const program = join(folder, "bin", "overdue.js");
  const migrateBy = (url: string) =>
    run(process.execPath, [program, "migrate"], { env: { OVERDUE_DATABASE_URL: url } });
  const scale = await createPingScale(engine, {
    checkCount: CHECKS,
    pingsPerCheck: 2,
    folder: files,
    name,
    migrateBy,
  });
  return { program, scale, rounds: [] };
}

async function measure({ program, scale }: Checkout): Promise<Round> {
  const process = await startPingProcess({
    databaseUrl: scale.url,
    port: await freePort(),
    builtProgram: program,
    isBuilt: true,
    roles: "all",
    settings: { OVERDUE_SIGNALS_PER_MINUTE: "0" },
  });
  try {
    const startMs = processorMs(process.pid);
    await sleep(SETTLE_MS);
    const idleMb = (await process.residentBytes()) / BYTES_PER_MB;
    const url = `http://127.0.0.1:${process.port}`;
    const load = { url, uuidsPath: scale.uuidsPath, bodyBytes: 0, connections: CONNECTIONS };
    await countAnswered({ ...load, seconds: WARM_UP_SECONDS });
    const before = processorMs(process.pid);
    const count = await countAnswered({ ...load, seconds: SECONDS });
    const pingUs = ((processorMs(process.pid) - before) * 1_000) / count;
    return { startMs, idleMb, pingUs, perSecond: count / SECONDS };
  } finally {
    await process.stop();
  }
}

const [other = "", rounds = String(ROUNDS)] = process.argv.slice(2);
if (other === "") throw new Error("usage: node bench/compare-checkouts.ts FOLDER [ROUNDS]");
const cleanUps: (() => Promise<void>)[] = [];
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(
    signal,
    () => void Promise.allSettled(cleanUps.map((one) => one())).then(() => process.exit(130)),
  );
}
await onEngine(
  (cleanUp) => cleanUps.push(cleanUp),
  async (engine, files) => {
    const ours = await prepare(join(import.meta.dirname, ".."), "this_one", engine, files);
    const theirs = await prepare(resolve(other), "other_one", engine, files);
    for (let round = 0; round < Number(rounds); round += 1) {
      const turns = round % 2 === 0 ? [ours, theirs] : [theirs, ours];
      for (const one of turns) one.rounds.push(await measure(one));
    }
    const row = (about: string, key: keyof Round) => {
      const [own, before] = [ours, theirs].map((one) => one.rounds.map((round) => round[key]));
      const ratios = (own ?? []).map((value, index) => value / (before?.[index] ?? Number.NaN));
      return [
        about,
        median(own ?? []).toFixed(1),
        median(before ?? []).toFixed(1),
        median(ratios).toFixed(3),
      ];
    };
    printTable("median of the rounds", [
      ["", "this checkout", "the other", "ratio"],
      row("start, processor time in ms", "startMs"),
      row("idle memory in MB", "idleMb"),
      row("a ping, processor time in microseconds", "pingUs"),
      row("pings a second", "perSecond"),
    ]);
    await Promise.all([ours.scale.close(), theirs.scale.close()]);
  },
);
