// Files in the spool folder that other processes left, hold, damaged or created by mistake.
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { encodeSignals } from "../../src/intake/accepted-codec.ts";
import { adoptSpoolFile, createSpoolFile } from "../../src/intake/spool-file.ts";
import type { Spool } from "../../src/intake/spool.ts";
import { batchOf, T0 } from "./support/batches.ts";
import { temporaryFolder } from "./support/folders.ts";
import { startAppender, startSeeker } from "./support/processes.ts";
import { drain, MEGABYTE, numbersOf, spoolIn } from "./support/spools.ts";

/** For tests that start processes, on a busy machine. */
const PATIENCE = { timeout: 60_000 };

/** Leaves a file like a process that was stopped during an outage. */
function leaveOrphan(options: {
  folder: string;
  intakeId: string;
  numbers: readonly number[];
  bodyBytes?: number;
}): string {
  const { folder, intakeId, numbers, bodyBytes = 20 } = options;
  const file = createSpoolFile({ folder, intakeId });
  for (const seq of numbers) {
    const { signals } = batchOf({ intakeId, seq, bodyBytes });
    const receivedAt = Math.min(...signals.map(({ at }) => at));
    file.append([{ lane: 0, seq, signalCount: signals.length, receivedAt, payload: encodeSignals(signals) }]);
  }
  file.close();
  return file.path;
}

/** The names in a folder without those of the open spool. */
const othersIn = (folder: string) => readdirSync(folder).filter((name) => !name.startsWith("spool-own."));
const namesOf = (spool: Spool) => spool.state().lostFiles.map(({ name }) => name);

describe("An orphan", () => {
  test("is adopted with its own id and numbers, drained by age, and deleted", async () => {
    const folder = temporaryFolder();
    leaveOrphan({ folder, intakeId: "younger", numbers: [5, 6] });
    leaveOrphan({ folder, intakeId: "older", numbers: [3, 4] });
    const spool = await spoolIn(folder, "own");
    await spool.append(batchOf({ intakeId: "own", seq: 1 }));
    expect(spool.state()).toMatchObject({ batches: 5, signals: 15 });
    const drained = await drain(spool);
    expect(drained.map(({ intakeId, seq, isLast }) => [intakeId, seq, isLast])).toEqual([
      ["own", 1, false],
      ["older", 3, false],
      ["older", 4, true],
      ["younger", 5, false],
      ["younger", 6, true],
    ]);
    expect(drained[1]).toMatchObject(batchOf({ intakeId: "older", seq: 3 }));
    expect(othersIn(folder)).toEqual([]);
    expect(spool.state().files.map(({ intakeId }) => intakeId)).toEqual(["own"]);
  });

  test("that is half drained when the adopter stops is adopted again, without what was removed", async () => {
    const folder = temporaryFolder();
    leaveOrphan({ folder, intakeId: "gone", numbers: [1, 2, 3] });
    const first = await spoolIn(folder, "first");
    await first.remove({ intakeId: "gone", lane: 0, seq: 1 });
    await first.close();
    const second = await spoolIn(folder, "second");
    expect(numbersOf(await drain(second))).toEqual([2, 3]);
  });

  test("that appears while the spool is open is found on request", async () => {
    const folder = temporaryFolder();
    const spool = await spoolIn(folder, "own");
    leaveOrphan({ folder, intakeId: "gone", numbers: [1] });
    expect(await spool.oldest()).toBeNull();
    await spool.adoptOrphans();
    expect(await spool.oldest()).toMatchObject({ intakeId: "gone", lane: 0, seq: 1, isLast: true });
  });

  test("is adopted together with many others, a few at a time", async () => {
    const folder = temporaryFolder();
    for (let number = 1; number <= 20; number += 1) {
      leaveOrphan({ folder, intakeId: `gone-${number}`, numbers: [number] });
    }
    const spool = await spoolIn(folder, "own");
    expect(spool.state().files).toHaveLength(17);
    expect(numbersOf(await drain(spool)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    expect(othersIn(folder)).toEqual([]);
  });

  test("counts against the bound in bytes", async () => {
    const folder = temporaryFolder();
    leaveOrphan({ folder, intakeId: "gone", numbers: [1], bodyBytes: 300_000 });
    const spool = await spoolIn(folder, "own", { bytesMax: MEGABYTE });
    const large = batchOf({ intakeId: "own", seq: 1, signalCount: 1, bodyBytes: 200_000 });
    await expect(spool.append(large)).rejects.toMatchObject({ reason: "full" });
    await drain(spool);
    await spool.append(large);
  });

  test("whose creator died before it wrote anything is deleted without a report", async () => {
    const folder = temporaryFolder();
    writeFileSync(`${folder}/spool-empty.sqlite`, "");
    utimesSync(`${folder}/spool-empty.sqlite`, 0, 0);
    const half = new DatabaseSync(`${folder}/spool-half.sqlite`);
    half.exec("pragma journal_mode = wal");
    half.close();
    const spool = await spoolIn(folder, "own");
    expect(spool.state().lostFiles).toEqual([]);
    expect(othersIn(folder)).toEqual([]);
  });

  test("that is empty and new is left to its maker", async () => {
    const folder = temporaryFolder();
    writeFileSync(`${folder}/spool-new.sqlite`, "");
    const spool = await spoolIn(folder, "own");
    await spool.close();
    expect(readdirSync(folder)).toEqual(["spool-new.sqlite"]);
  });

  test("that holds nothing any more is kept until it is let go of", async () => {
    const folder = temporaryFolder();
    leaveOrphan({ folder, intakeId: "gone", numbers: [] });
    const spool = await spoolIn(folder, "own");
    await spool.adoptOrphans();
    expect(spool.state()).toMatchObject({ emptyOrphans: ["gone"], files: [{ intakeId: "own" }] });
    expect(await spool.oldest()).toBeNull();
    await spool.releaseIntakes(["gone", "never heard of"]);
    expect(spool.state().emptyOrphans).toEqual([]);
    expect(othersIn(folder)).toEqual([]);
  });

  test("that holds nothing is not reported while others wait for a place: it may have held those, too", async () => {
    const folder = temporaryFolder();
    leaveOrphan({ folder, intakeId: "empty", numbers: [] });
    for (let number = 1; number <= 20; number += 1) {
      leaveOrphan({ folder, intakeId: `gone-${number}`, numbers: [number] });
    }
    const spool = await spoolIn(folder, "own");
    for (let looks = 0; looks < 3; looks += 1) await spool.adoptOrphans();
    expect(spool.state().emptyOrphans).toEqual([]);
    await drain(spool);
    await spool.adoptOrphans();
    expect(spool.state().emptyOrphans).toEqual(["empty"]);
  });
});

/** How many batches a file contains; it is deleted then. Another process may hold it for a moment. */
function takeOver(path: string): number {
  while (existsSync(path)) {
    const adoption = adoptSpoolFile({ folder: dirname(path), name: basename(path), now: Date.now() });
    if (adoption.kind !== "adopted") continue;
    const { batches } = adoption.file;
    adoption.file.discard();
    return batches;
  }
  return 0;
}

describe("Two owners", () => {
  test("in two processes have a file each, and neither takes the other's", PATIENCE, async () => {
    const folder = temporaryFolder();
    const other = startAppender({ folder, intakeId: "other", lanes: 1 });
    await other.waitForLine("3");
    const spool = await spoolIn(folder, "own");
    await spool.append(batchOf({ intakeId: "own", seq: 1 }));
    await spool.adoptOrphans();
    expect(spool.state().files.map(({ intakeId }) => intakeId)).toEqual(["own"]);
    expect(spool.state().lostFiles).toEqual([]);
    other.process.kill("SIGKILL");
    const acknowledged = (await other.ended).length - 1;
    await spool.adoptOrphans();
    expect((await drain(spool)).length).toBeGreaterThanOrEqual(acknowledged + 1);
  });

  test("in two threads of one process do not disturb each other either", PATIENCE, async () => {
    const folder = temporaryFolder();
    const [one, two] = [await spoolIn(folder, "one"), await spoolIn(folder, "two")];
    for (const seq of [1, 2]) {
      await one.append(batchOf({ intakeId: "one", seq }));
      await two.append(batchOf({ intakeId: "two", seq }));
      await one.adoptOrphans();
      await two.adoptOrphans();
    }
    expect((await drain(one)).map(({ intakeId }) => intakeId)).toEqual(["one", "one"]);
    expect((await drain(two)).map(({ intakeId }) => intakeId)).toEqual(["two", "two"]);
    const third = startAppender({ folder, intakeId: "one", lanes: 1 });
    expect(await third.ended.then((lines) => lines.includes("open"))).toBe(false);
  });

  test(
    "are distinguished while a file is created: no process takes over the name of a new file",
    PATIENCE,
    async () => {
      const folder = temporaryFolder();
      const seekers = [1, 2, 3].map(() => startSeeker(folder));
      await Promise.all(seekers.map((seeker) => seeker.waitForLine("looking")));
      const row = { lane: 0, seq: 1, signalCount: 1, receivedAt: T0, payload: new Uint8Array(10) };
      let made = 0;
      const until = performance.now() + 4_000;
      while (performance.now() < until) {
        made += 1;
        const file = createSpoolFile({ folder, intakeId: `made-${made}` });
        file.append([row]);
        file.close();
        expect(takeOver(file.path)).toBe(1);
      }
      console.log(`${made} files made while three processes looked for orphans`);
    },
  );

  test("of the same id are one too many", async () => {
    const folder = temporaryFolder();
    const first = await spoolIn(folder, "own");
    await first.append(batchOf({ intakeId: "own", seq: 1 }));
    await expect(spoolIn(folder, "own")).rejects.toMatchObject({ reason: "in_use" });
    await first.append(batchOf({ intakeId: "own", seq: 2 }));
    await first.close();
    const again = await spoolIn(folder, "own");
    await again.append(batchOf({ intakeId: "own", seq: 3 }));
    expect(numbersOf(await drain(again))).toEqual([1, 2, 3]);
  });
});

/** Overwrites some bytes in the middle of a file. */
function scratch(path: string, { at, length = 64 }: { at: number; length?: number }): void {
  const descriptor = openSync(path, "r+");
  writeSync(descriptor, new Uint8Array(length).fill(0xa5), 0, length, at);
  closeSync(descriptor);
}

describe("A damaged file", () => {
  test.each([
    ["its first page", 0],
    ["the page that describes the tables", 100],
  ])("is set aside as it is when the damage is in %s", async (_where, at) => {
    const folder = temporaryFolder();
    const path = leaveOrphan({ folder, intakeId: "gone", numbers: [1, 2] });
    scratch(path, { at });
    const damaged = readFileSync(path);
    const spool = await spoolIn(folder, "own");
    expect(spool.state()).toMatchObject({ batches: 0, failed: null });
    expect(spool.state().lostFiles).toMatchObject([
      { name: "spool-gone.sqlite.set-aside", intakeId: "gone" },
    ]);
    expect(readFileSync(`${path}.set-aside`).equals(damaged)).toBe(true);
    expect(existsSync(path)).toBe(false);
    await spool.append(batchOf({ intakeId: "own", seq: 1 }));
  });

  test("gives out what comes before the damage, and nothing after it", async () => {
    const folder = temporaryFolder();
    const numbers = [1, 2, 3];
    const path = leaveOrphan({ folder, intakeId: "gone", numbers, bodyBytes: 50_000 });
    const bytes = readFileSync(path);
    // The last body of the second batch is the first one that is filled with 4.
    const at = bytes.indexOf(Buffer.alloc(2_000, 4));
    expect(at).toBeGreaterThan(0);
    scratch(path, { at: at + 500 });
    const spool = await spoolIn(folder, "own");
    expect(spool.state().batches).toBe(3);
    expect(numbersOf(await drain(spool))).toEqual([1]);
    expect(spool.state().lostFiles).toMatchObject([{ intakeId: "gone", reason: "row 2 is damaged" }]);
    expect(statSync(`${path}.set-aside`).size).toBeGreaterThan(300_000);
  });

  test("with a missing batch is set aside", async () => {
    const folder = temporaryFolder();
    const path = leaveOrphan({ folder, intakeId: "gone", numbers: [1, 2, 3] });
    const db = new DatabaseSync(path);
    db.exec("delete from batch where seq = 2");
    db.close();
    const spool = await spoolIn(folder, "own");
    expect(spool.state().lostFiles).toMatchObject([{ reason: "holds 2 rows from 1 to 3" }]);
  });

  test("whose main part is empty keeps its log, which SQLite would delete", PATIENCE, async () => {
    const folder = temporaryFolder();
    const victim = startAppender({ folder, intakeId: "gone", lanes: 1 });
    await victim.waitForLine("2");
    victim.process.kill("SIGKILL");
    await victim.ended;
    truncateSync(`${folder}/spool-gone.sqlite`, 0);
    const spool = await spoolIn(folder, "own");
    expect(spool.state().lostFiles).toMatchObject([{ reason: "the main file is empty" }]);
    expect(statSync(`${folder}/spool-gone.sqlite.set-aside-wal`).size).toBeGreaterThan(0);
  });

  test("that is the own one ends the writing and is set aside", async () => {
    const folder = temporaryFolder();
    const path = leaveOrphan({ folder, intakeId: "own", numbers: [1, 2], bodyBytes: 50_000 });
    const bytes = readFileSync(path);
    scratch(path, { at: bytes.indexOf(Buffer.alloc(2_000, 2)) + 100 });
    const spool = await spoolIn(folder, "own");
    expect(await spool.oldest()).toBeNull();
    expect(spool.state()).toMatchObject({ batches: 0, failed: "row 1 is damaged" });
    expect(namesOf(spool)).toEqual(["spool-own.sqlite.set-aside"]);
    await expect(spool.append(batchOf({ intakeId: "own", seq: 3 }))).rejects.toMatchObject({
      reason: "failed",
    });
  });

  test("is reported at every start while it exists, and never overwritten by the next one", async () => {
    const folder = temporaryFolder();
    for (let round = 0; round < 2; round += 1) {
      writeFileSync(`${folder}/spool-gone.sqlite`, `not a database ${round} `.repeat(100));
      const spool = await spoolIn(folder, `own-${round}`);
      await spool.close();
    }
    const last = await spoolIn(folder, "last");
    expect(last.state().lostFiles.map(({ name, reason }) => [name, reason])).toEqual([
      ["spool-gone.sqlite.2.set-aside", "was quarantined earlier"],
      ["spool-gone.sqlite.set-aside", "was quarantined earlier"],
    ]);
    expect(readFileSync(`${folder}/spool-gone.sqlite.set-aside`, "utf8")).toContain("not a database 0");
  });
});

describe("A foreign file", () => {
  test.each([
    ["a text", (path: string) => writeFileSync(path, "dear diary, ".repeat(1_000))],
    [
      "a database of another program",
      (path: string) => {
        const db = new DatabaseSync(path);
        db.exec("create table batch (seq integer, payload text); insert into batch values (1, 'mine')");
        db.close();
      },
    ],
  ])("that is %s is set aside unchanged", async (_what, write) => {
    const folder = temporaryFolder();
    const path = `${folder}/spool-foreign.sqlite`;
    write(path);
    const before = readFileSync(path);
    const spool = await spoolIn(folder, "own");
    expect(namesOf(spool)).toEqual(["spool-foreign.sqlite.set-aside"]);
    expect(readFileSync(`${path}.set-aside`).equals(before)).toBe(true);
  });

  test("written by a later version of this program is set aside", async () => {
    const folder = temporaryFolder();
    const path = leaveOrphan({ folder, intakeId: "gone", numbers: [1] });
    const db = new DatabaseSync(path);
    db.exec("pragma user_version = 3");
    db.close();
    const spool = await spoolIn(folder, "own");
    expect(spool.state().lostFiles).toMatchObject([
      { reason: "has format 3, but this version reads format 2" },
    ]);
  });

  test("that is a copy under another id is set aside, so that nothing is applied under a wrong number", async () => {
    const folder = temporaryFolder();
    const path = leaveOrphan({ folder, intakeId: "gone", numbers: [1] });
    copyFileSync(path, `${folder}/spool-copy.sqlite`);
    const spool = await spoolIn(folder, "own");
    expect(numbersOf(await drain(spool))).toEqual([1]);
    expect(spool.state().lostFiles).toMatchObject([{ intakeId: "copy", reason: "belongs to intake gone" }]);
  });

  test("of any other name is none of our business", async () => {
    const folder = temporaryFolder();
    writeFileSync(`${folder}/notes.txt`, "keep me");
    writeFileSync(`${folder}/spool-UPPER.sqlite`, "keep me");
    const spool = await spoolIn(folder, "own");
    await spool.close();
    expect(readdirSync(folder)).toEqual(["notes.txt", "spool-UPPER.sqlite"]);
  });
});
