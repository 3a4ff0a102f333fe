// Processes that are stopped by SIGSTOP and continue: one of two receiving processes, the database, and all
// processes. Pending data in sockets is processed, the watermark is not published too early, and blind intervals are
// recorded.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import type { Entry } from "../signals/send.ts";
import { type BlindRow, databaseNow, readBlind } from "../stage/intake-rows.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { WatermarkWatch } from "../stage/watermark-watch.ts";

type Plan = { stillMs: number; perSecond: number; checks: number };

const PLANS: Record<Run["size"], Plan> = {
  full: { stillMs: 20_000, perSecond: 100, checks: 300 },
  quick: { stillMs: 8_000, perSecond: 100, checks: 300 },
  tiny: { stillMs: 6_000, perSecond: 60, checks: 200 },
};

/** Tolerance for heartbeats, and for the ends of an interval. */
const EDGE_MS = 2_000;
const SETTLE_MS = 5_000;
/** A request is rejected two seconds after its last byte, minus the time for detecting and sending. */
const REFUSED_AFTER_MS = 1_800;
/** Everything sent to a stopped process waits. */
const IN_FLIGHT_MAX = 4_000;

export const stopped: Scenario = {
  name: "stopped",
  about: "SIGSTOP of one of two processes, of the database, and no process running; sockets keep filling",
  run: (run) => {
    const plan = bySize(run, PLANS);
    return onStage(run, { checks: plan.checks }, (stage) => play(stage, plan));
  },
};

type Stretch = { from: number; to: number };

async function play(stage: Stage, plan: Plan): Promise<Result> {
  const one = await stage.receiver({ name: "one" });
  const two = await stage.receiver({ name: "two" });
  await Promise.all([one.start(), two.start()]);
  await warmUp(stage, [one, two]);
  const watch = new WatermarkWatch(stage);
  const load = stage.ledger.startLoad({
    targets: stage.targets,
    ports: [one.port, two.port],
    perSecond: plan.perSecond,
    inFlightMax: IN_FLIGHT_MAX,
  });
  await sleep(SETTLE_MS);
  const frozen = await standStill(stage, plan, one);
  await sleep(SETTLE_MS);
  const away = await standStillDatabase(stage, plan);
  await sleep(SETTLE_MS);
  await load.stop();
  const absent = await noProcess(stage, plan, [one, two]);
  await sleep(SETTLE_MS);
  const blind = await stage.withClient(readBlind);
  const complaints = [
    ...mustBeBlind("while one of two was stopped", { stretch: frozen, blind }),
    ...mustNotBeBlind("while the database was stopped", { stretch: away, blind }),
    ...mustBeBlind("while no process was running", { stretch: absent, blind }),
  ];
  const figures = { still_seconds: plan.stillMs / 1_000, blind_rows: blind.length };
  // A request to a stopped process may be past its time limit when the process continues, and then it is rejected. No
  // other may be rejected, especially while only the database is stopped.
  const mayRefuse = ({ port, sentAt, ms }: Entry) =>
    port === one.port && sentAt <= frozen.to && sentAt + ms >= frozen.to && ms >= REFUSED_AFTER_MS;
  return conclude(stage, { figures, complaints, watch, mayRefuse, mayBeSlow: true });
}

async function standStill(stage: Stage, { stillMs }: Plan, receiver: PingProcess): Promise<Stretch> {
  stage.run.say(`one of two is stopped for ${stillMs / 1_000} s`);
  const from = await stage.withClient(databaseNow);
  receiver.freeze();
  await sleep(stillMs);
  const to = await stage.withClient(databaseNow);
  receiver.thaw();
  return { from, to };
}

/** Stops the database and all its processes for this long; returns the interval on its clock. */
export async function standStillDatabase(stage: Stage, { stillMs }: Pick<Plan, "stillMs">): Promise<Stretch> {
  stage.run.say(`the database is stopped for ${stillMs / 1_000} s`);
  const from = await stage.withClient(databaseNow);
  const pids = [stage.postgres.pid(), ...childrenOf(stage.postgres.pid())];
  // The postmaster first: it would replace processes that seem to be gone.
  for (const pid of pids) signal(pid, "SIGSTOP");
  await sleep(stillMs);
  for (const pid of pids.toReversed()) signal(pid, "SIGCONT");
  const to = await stage.withClient(databaseNow);
  return { from, to };
}

async function noProcess(
  stage: Stage,
  { stillMs }: Plan,
  processes: readonly PingProcess[],
): Promise<Stretch> {
  stage.run.say(`no process runs for ${stillMs / 1_000} s`);
  await Promise.all(processes.map((one) => one.kill()));
  const from = await stage.withClient(databaseNow);
  await sleep(stillMs);
  const to = await stage.withClient(databaseNow);
  await Promise.all(processes.map((one) => one.start()));
  return { from, to };
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

/** A process that has ended in the meantime needs no signal. */
function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

type Judged = { stretch: Stretch; blind: readonly BlindRow[] };

function mustBeBlind(when: string, { stretch, blind }: Judged): string[] {
  const isCovered = blind.some(
    ({ from, to }) => from <= stretch.from + EDGE_MS && (to ?? Infinity) >= stretch.to - EDGE_MS,
  );
  return isCovered ? [] : [`the time ${when} is not recorded as blind`];
}

function mustNotBeBlind(when: string, { stretch, blind }: Judged): string[] {
  const touching = blind.filter(
    ({ from, to }) => from < stretch.to - EDGE_MS && (to ?? Infinity) > stretch.from + EDGE_MS,
  );
  return touching.map(
    ({ reason }) => `time ${when} is recorded as blind, although everything was accepted: ${reason}`,
  );
}
