// Faults of the spool's disk: it is full, a page is damaged, a file belongs to another program, or two processes
// share the folder. Nothing is acknowledged that is not stored, and nothing is deleted.
import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Scenario } from "../scenario.ts";
import { isAcknowledged } from "../signals/send.ts";
import { readBlind, readIntakes } from "../stage/intake-rows.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { DatabaseProxy } from "../stage/proxy.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { until } from "../waiting.ts";

const run = promisify(execFile);

const CHECKS = 200;
const PER_SECOND = 200;
/** What the program leaves free on a disk (see src/intake/intake-files.ts), and some space to write. */
const SMALL_DISK = "72m";
const FULL_MS_MAX = 90_000;
/** The guardian unmounts a disk with this name. */
const SMALL_DISK_FOLDER = "small-disk";
const PAGE_BYTES = 4_096;
/** Longer than the limit of the write-ahead log. */
const MOVED_BYTES = 6 * 1024 * 1024;
const BODY_BYTES = 9_000;

export const spoolDisk: Scenario = {
  name: "spool-disk",
  about: "the spool's disk full, a page damaged, a foreign file, two processes in one folder",
  run: (given) => onStage(given, { checks: CHECKS }, play),
};

type Play = {
  stage: Stage;
  proxy: DatabaseProxy;
  complaints: string[];
  figures: Record<string, number>;
  /** Signals that only a damaged file contained. */
  forgiven: Set<string>;
};

async function play(stage: Stage): Promise<Result> {
  const all: Play = {
    stage,
    proxy: await stage.proxy(),
    complaints: [],
    figures: {},
    forgiven: new Set(),
  };
  await fullDisk(all);
  await foreignFiles(all);
  await twoOwners(all);
  await damagedPage(all);
  return conclude(stage, { ...all, mayRefuse: () => true });
}

async function processIn({ stage, proxy }: Play, { name, spool }: { name: string; spool: string }) {
  const receiver = await stage.receiver({ name, spool, databaseUrl: proxy.urlFor(stage.url) });
  await receiver.start();
  return receiver;
}

/** Signals with large bodies while the link is cut, until one is rejected. */
async function fullDisk(all: Play): Promise<void> {
  const { stage, proxy, complaints, figures } = all;
  const folder = stage.subfolder(SMALL_DISK_FOLDER);
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${SMALL_DISK}`, "tmpfs", folder]);
  } catch (error) {
    stage.run.say(`no small disk can be mounted here, so it cannot be filled: ${String(error)}`);
    figures["full_disk_tried"] = 0;
    return;
  }
  const receiver = await processIn(all, { name: "small-disk", spool: SMALL_DISK_FOLDER });
  await warmUp(stage, [receiver]);
  proxy.cut();
  const isFull = await until(() => sendBodies(stage, { receiver, count: 50 }).then((taken) => taken < 50), {
    withinMs: FULL_MS_MAX,
  });
  if (!isFull) complaints.push("the disk did not fill up");
  stage.run.say("the disk is full");
  await sendBodies(stage, { receiver, count: 50 });
  const refusedAt = Date.now();
  proxy.heal();
  const isBack = await until(() => sendBodies(stage, { receiver, count: 5 }).then((taken) => taken === 5), {
    withinMs: FULL_MS_MAX,
  });
  if (!isBack) complaints.push("after the disk was full, signals are rejected although the database is back");
  const isOnRecord = await until(
    async () => {
      const blind = await stage.withClient(readBlind);
      return blind.some(({ from, to }) => from <= refusedAt && (to ?? Infinity) >= refusedAt - 1_000);
    },
    { withinMs: 30_000 },
  );
  if (!isOnRecord) complaints.push("the time in which signals were rejected is not recorded as blind");
  figures["full_disk_tried"] = 1;
  await stop(all, receiver);
  await run("umount", [folder]);
}

/** Returns how many were acknowledged. */
async function sendBodies(
  stage: Stage,
  { receiver, count }: { receiver: PingProcess; count: number },
): Promise<number> {
  const entries = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const target = stage.targets[index % stage.targets.length];
      if (target === undefined) throw new Error("there are no checks");
      const body = randomBytes(BODY_BYTES);
      return stage.ledger.send(stage.ledger.maker.make(target, { kind: "s", body }), receiver.port);
    }),
  );
  return entries.filter(isAcknowledged).length;
}

/** Foreign files with names like ours are left unchanged, under another name. */
async function foreignFiles(all: Play): Promise<void> {
  const { stage, proxy, complaints } = all;
  const folder = stage.subfolder("foreign");
  const noise = randomBytes(20_000);
  writeFileSync(join(folder, `spool-${randomUUID()}.sqlite`), noise);
  const other = new DatabaseSync(join(folder, `spool-${randomUUID()}.sqlite`));
  other.exec("create table theirs (a text); insert into theirs values ('precious')");
  other.close();
  writeFileSync(join(folder, "notes.txt"), "not a spool");
  const receiver = await processIn(all, { name: "foreign", spool: "foreign" });
  await warmUp(stage, [receiver], stage.targets.slice(0, 20));
  proxy.cut();
  await sendBodies(stage, { receiver, count: 20 });
  proxy.heal();
  await stop(all, receiver);
  const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
  const isNoiseKept = kept.some((content) => content.equals(noise));
  const isTheirsKept = kept.some((content) => content.includes("precious"));
  const isNoteKept = kept.some((content) => content.toString() === "not a spool");
  if (!isNoiseKept || !isTheirsKept || !isNoteKept) complaints.push("a foreign file is gone");
  stage.run.say(`next to foreign files: ${readdirSync(folder).length} files in the folder`);
}

/**
 * One of two processes that share a folder dies in an outage; its spool is taken over by the first process that finds
 * it.
 */
async function twoOwners(all: Play): Promise<void> {
  const { stage, proxy } = all;
  const processes = await Promise.all(
    ["first", "second"].map((name) => processIn(all, { name, spool: "shared" })),
  );
  await warmUp(stage, processes);
  const load = stage.ledger.startLoad({
    targets: stage.targets,
    ports: processes.map(({ port }) => port),
    perSecond: PER_SECOND,
  });
  const rounds = bySize(stage.run, { full: 5, quick: 2, tiny: 1 });
  for (let round = 0; round < rounds; round += 1) {
    const victim = processes[round % processes.length];
    proxy.cut();
    await sleep(2_000);
    await victim?.kill();
    proxy.heal();
    await victim?.start();
    await sleep(1_000);
  }
  await load.stop();
  for (const receiver of processes) await stop(all, receiver);
  stage.run.say(`${rounds} rounds of two in one folder`);
}

/** Some pages in the middle of a spool whose owner is dead are overwritten. */
async function damagedPage(all: Play): Promise<void> {
  const { stage, proxy, complaints, figures, forgiven } = all;
  const receiver = await processIn(all, { name: "damaged", spool: "damaged" });
  await warmUp(stage, [receiver]);
  const before = await markersSoFar(stage);
  proxy.cut();
  const folder = stage.subfolder("damaged");
  const isMoved = await until(
    () => sendBodies(stage, { receiver, count: 50 }).then(() => sizeIn(folder) > MOVED_BYTES),
    {
      withinMs: FULL_MS_MAX,
    },
  );
  if (!isMoved) complaints.push("nothing was written to the main file of the spool, so no page was damaged");
  await receiver.kill();
  const name = readdirSync(folder).find((one) => /^spool-.*\.sqlite$/.test(one)) ?? "";
  damage(join(folder, name));
  for (const marker of await markersSoFar(stage)) if (!before.has(marker)) forgiven.add(marker);
  proxy.heal();
  await receiver.start();
  await sendBodies(stage, { receiver, count: 20 });
  const intakeId = /^spool-([0-9a-f-]{36})/.exec(name)?.[1];
  const isNotified = await until(
    async () => (await stage.withClient(readIntakes)).find(({ id }) => id === intakeId)?.isLost === true,
    { withinMs: 30_000 },
  );
  if (!isNotified) complaints.push("the intake whose spool is damaged does not count as lost");
  const aside = readdirSync(folder).filter((one) => one.startsWith(name) && one.endsWith(".set-aside"));
  const bytes = aside.reduce((sum, one) => sum + statSync(join(folder, one)).size, 0);
  if (bytes === 0) complaints.push("the damaged spool was not set aside");
  figures["damaged_file_bytes"] = bytes;
  figures["damaged_file_signals"] = forgiven.size;
}

function sizeIn(folder: string): number {
  const main = readdirSync(folder).filter((name) => /^spool-.*\.sqlite$/.test(name));
  return main.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** One in ten pages becomes noise, except for the first ones, which identify the file as a spool. */
function damage(path: string): void {
  const file = openSync(path, "r+");
  const pages = Math.floor(statSync(path).size / PAGE_BYTES);
  for (let page = 4; page < pages; page += 10) {
    writeSync(file, randomBytes(PAGE_BYTES), 0, PAGE_BYTES, page * PAGE_BYTES);
  }
  closeSync(file);
}

async function markersSoFar(stage: Stage): Promise<Set<string>> {
  const markers = new Set<string>();
  for await (const { marker } of stage.ledger.entries()) markers.add(marker);
  return markers;
}

/** A graceful stop: it records its signals in the database first. */
async function stop({ complaints }: Play, receiver: PingProcess): Promise<void> {
  const code = await receiver.terminate();
  if (code !== 0) complaints.push(`${receiver.name} stopped with exit code ${code}`);
}
