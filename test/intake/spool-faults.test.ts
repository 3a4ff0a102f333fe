// The spool when its process, its thread or its disk fails: nothing acknowledged is lost, and nothing is acknowledged
// that is not on disk.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { startSpool } from "../../src/intake/spool.ts";
import { createSpoolFile, faultOf } from "../../src/intake/spool-file.ts";
import { batchOf } from "./support/batches.ts";
import { temporaryFolder, tinyDisk } from "./support/folders.ts";
import { acknowledgedIn, startAppender } from "./support/processes.ts";
import { drain, MEGABYTE, numbersOf, spoolIn } from "./support/spools.ts";

const KILLS = 20;
/** For tests that start processes, on a busy machine. */
const PATIENCE = { timeout: 60_000 };
const hasStrace = spawnSync("strace", ["-V"]).status === 0;

/**
 * A trace as one letter per call: a write to the log has begun, a sync of the log has succeeded, an acknowledgment
 * has begun. A call interrupted by another thread takes two lines.
 */
function storyOf(trace: string): string {
  const syncing = new Set<string>();
  const letters = trace.split("\n").map((line) => {
    const thread = line.split(" ")[0] ?? "";
    if (/pwrite64\(\d+<[^>]*-wal>/.test(line)) return "w";
    if (/f(data)?sync\(\d+<[^>]*-wal> <unfinished/.test(line)) syncing.add(thread);
    if (/f(data)?sync\(\d+<[^>]*-wal>\) += 0/.test(line)) return "s";
    if (/f(data)?sync resumed>\) += 0/.test(line) && syncing.delete(thread)) return "s";
    return /write\(1<[^>]*>, "\d+\\n"/.test(line) ? "a" : "";
  });
  return letters.join("");
}

describe("A killed process", () => {
  test(`loses none of the acknowledged batches, ${KILLS} times`, { timeout: KILLS * 10_000 }, async () => {
    const folder = temporaryFolder();
    const reader = await spoolIn(folder, "reader");
    let total = 0;
    for (let round = 1; round <= KILLS; round += 1) {
      const intakeId = `victim-${round}`;
      const appender = startAppender({ folder, intakeId, lanes: round % 2 === 0 ? 1 : 20 });
      await appender.waitForLine("1");
      await sleep(Math.random() * 150);
      appender.process.kill("SIGKILL");
      const acknowledged = acknowledgedIn(await appender.ended);
      await reader.adoptOrphans();
      const found = await drain(reader);
      const wanted = found.map((_, index) =>
        batchOf({ intakeId, seq: index + 1, signalCount: 5, bodyBytes: 700 }),
      );
      expect(found).toMatchObject(wanted);
      expect(found.length).toBeGreaterThanOrEqual(Math.max(...acknowledged));
      total += acknowledged.length;
    }
    console.log(`${KILLS} kills: ${total} batches acknowledged, none lost`);
  });
});

describe("A disk that refuses to write", () => {
  test("ends the writing for good, and what was acknowledged can still be read", PATIENCE, async () => {
    const folder = temporaryFolder();
    // No file may exceed 400 blocks of 512 bytes or a kilobyte: the write fails, but the disk is not full.
    const through = ["sh", "-c", 'ulimit -f 400; exec "$@"', "sh"];
    const appender = startAppender({ folder, intakeId: "victim", lanes: 1, through });
    const lines = await appender.ended;
    const acknowledged = acknowledgedIn(lines);
    expect(acknowledged.length).toBeGreaterThan(3);
    expect(lines.slice(-3)).toEqual([
      'refused failed "disk I/O error (SQLite 778)"',
      "again failed",
      "oldest 1",
    ]);
    const spool = await spoolIn(folder, "reader");
    const found = numbersOf(await drain(spool));
    expect(found).toEqual(expect.arrayContaining(acknowledged));
  });

  test.skipIf(!hasStrace)("to sync is not believed a second time (needs strace)", PATIENCE, async () => {
    const folder = temporaryFolder();
    const inject = "inject=fsync,fdatasync:error=EIO:when=30";
    const through = ["strace", "-f", "-o", `${folder}/trace`, "-e", "trace=fsync,fdatasync", "-e", inject];
    const lines = await startAppender({ folder, intakeId: "victim", lanes: 1, through }).ended;
    expect(lines.slice(-3)).toEqual([
      'refused failed "disk I/O error (SQLite 1034)"',
      "again failed",
      "oldest 1",
    ]);
  });
});

test.skipIf(!hasStrace)(
  "A sync is between every write and its acknowledgment (needs strace)",
  PATIENCE,
  async () => {
    const folder = temporaryFolder();
    const trace = `${folder}/trace`;
    const calls = "trace=write,pwrite64,fsync,fdatasync";
    const through = ["strace", "-f", "-y", "-o", trace, "-e", calls];
    const appender = startAppender({ folder, intakeId: "victim", lanes: 1, batchesMax: 20, through });
    await appender.ended;
    const rounds = storyOf(readFileSync(trace, "utf8")).split("a").slice(0, -1);
    expect(rounds).toHaveLength(20);
    for (const round of rounds) expect(round).toMatch(/w+s$/);
  },
);

describe("A full disk", () => {
  test("rejects before it is full, keeps accepted batches, and continues once there is space", async ({
    skip,
  }) => {
    const folder = tinyDisk();
    if (folder === null) return skip("mounting a small disk needs the rights of root");
    const spool = await spoolIn(folder, "own");
    const large = (seq: number) => batchOf({ intakeId: "own", seq, signalCount: 1, bodyBytes: 300_000 });
    let taken = 0;
    for (; taken < 100; taken += 1) {
      const refusal: unknown = await spool.append(large(taken + 1)).catch((error: unknown) => error);
      if (refusal !== undefined) {
        expect(refusal).toMatchObject({ reason: "full" });
        break;
      }
    }
    expect(taken).toBeGreaterThan(3);
    expect(spool.state()).toMatchObject({ full: true, failed: null, batches: taken });
    expect(numbersOf(await drain(spool))).toEqual(Array.from({ length: taken }, (_, index) => index + 1));
    await spool.append(large(taken + 1));
    expect(spool.state()).toMatchObject({ full: false, batches: 1 });
  });

  test("that fills up inside a transaction takes nothing of it, and harms nothing before it", async ({
    skip,
  }) => {
    const folder = tinyDisk();
    if (folder === null) return skip("mounting a small disk needs the rights of root");
    const file = createSpoolFile({ folder, intakeId: "own" });
    const row = (seq: number) => ({
      lane: 0,
      seq,
      signalCount: 1,
      receivedAt: seq,
      payload: new Uint8Array(400_000),
    });
    let fault: string | null = null;
    let taken = 0;
    while (fault === null && taken < 20) {
      try {
        file.append([row(taken + 1)]);
        taken += 1;
      } catch (error) {
        fault = faultOf(error);
      }
    }
    expect([fault, file.writingEnded]).toEqual(["full", null]);
    // A removal without space is kept in memory, and the file can still be drained to the end.
    for (let seq = 1; seq <= taken; seq += 1) {
      expect(file.oldest()?.seq).toBe(seq);
      file.removeOldest();
    }
    expect(file.oldest()).toBeNull();
    file.close();
  });

  test("at the start leaves the spool without its own file, but lets it drain existing ones", async ({
    skip,
  }) => {
    const folder = tinyDisk();
    if (folder === null) return skip("mounting a small disk needs the rights of root");
    const before = await spoolIn(folder, "before");
    await before.append(batchOf({ intakeId: "before", seq: 1, signalCount: 1, bodyBytes: MEGABYTE }));
    await before.close();
    const spool = await spoolIn(folder, "own", { freeDiskBytesMin: 3.5 * MEGABYTE });
    expect(spool.state()).toMatchObject({ full: true, failed: null, batches: 1 });
    await expect(spool.append(batchOf({ intakeId: "own", seq: 1 }))).rejects.toMatchObject({
      reason: "full",
    });
    expect(numbersOf(await drain(spool))).toEqual([1]);
    await spool.append(batchOf({ intakeId: "own", seq: 1 }));
    expect(spool.state()).toMatchObject({ full: false, batches: 1 });
  });
});

describe("A thread that", () => {
  const options = { folder: "/nowhere", intakeId: "own", bytesMax: 1, freeDiskBytesMin: 0 };
  const state = "{batches:0,signals:0,bytes:0,full:false,failed:null,files:[],lostFiles:[]}";
  const bodyThat = (does: string) => `
    const { parentPort } = require("node:worker_threads");
    parentPort.on("message", ({ id, request }) => {
      if (request.kind === "append") { ${does} }
      else parentPort.postMessage({ id, answer: { refusal: null, state: ${state} } });
    });`;

  test.each([
    ["throws", 'setImmediate(() => { throw new Error("broken"); })', "broken"],
    ["exits", "process.exit(7)", "the thread ended with code 7"],
  ])("%s refuses what waits, says so, and can be closed", async (_what, does, why) => {
    const spool = await startSpool(new Worker(bodyThat(does), { eval: true }), options);
    const appends = [1, 2].map((seq) => spool.append(batchOf({ intakeId: "own", seq })));
    const outcomes = await Promise.allSettled(appends);
    expect(outcomes.map((one) => one.status === "rejected" && one.reason.reason)).toEqual([
      "failed",
      "failed",
    ]);
    expect(spool.state().failed).toBe(why);
    await expect(spool.oldest()).rejects.toMatchObject({ reason: "failed" });
    await spool.close();
  });
});
