// The spool in normal use: acknowledged batches are stored, in order, once, until they are removed; and its limits.
import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { adoptSpoolFile, createSpoolFile } from "../../src/intake/spool-file.ts";
import { firstValue } from "../../src/intake/spool-file.ts";
import { batchOf, signalOf, T0 } from "./support/batches.ts";
import { temporaryFolder } from "./support/folders.ts";
import { drain, MEGABYTE, numbersOf, spoolIn } from "./support/spools.ts";

const own = (seq: number) => batchOf({ intakeId: "own", seq });
const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Error && "reason" in error ? error.reason : error),
  );

describe("A batch", () => {
  test("comes back as it was appended", async () => {
    const spool = await spoolIn(temporaryFolder(), "own");
    const batch = {
      intakeId: "own",
      lane: 1,
      seq: 1,
      signals: [
        signalOf(1, { body: new Uint8Array([0, 255, 0]), ua: "nul \0 and \ud800" }),
        signalOf(2, {
          target: { by: "slug", pingKey: "k".repeat(22), slug: "nightly" },
          source: { by: "email", subject: "s", text: "t" },
        }),
      ],
    };
    await spool.append(batch);
    expect(await spool.oldest()).toMatchObject({ ...batch, unreadable: [], isLast: false });
  });

  test("stays the oldest until it is removed, and is removed once", async () => {
    const spool = await spoolIn(temporaryFolder(), "own");
    await Promise.all([1, 2, 3].map((seq) => spool.append(own(seq))));
    expect((await spool.oldest())?.seq).toBe(1);
    expect((await spool.oldest())?.seq).toBe(1);
    expect(await spool.remove({ intakeId: "own", lane: 0, seq: 1 })).toBe(true);
    expect(await spool.remove({ intakeId: "own", lane: 0, seq: 1 })).toBe(false);
    expect(await spool.remove({ intakeId: "stranger", lane: 0, seq: 2 })).toBe(false);
    expect(numbersOf(await drain(spool))).toEqual([2, 3]);
    expect(await spool.oldest()).toBeNull();
    expect(await spool.remove({ intakeId: "own", lane: 0, seq: 3 })).toBe(false);
  });

  test("that is not the oldest cannot be removed", async () => {
    const spool = await spoolIn(temporaryFolder(), "own");
    await Promise.all([1, 2].map((seq) => spool.append(own(seq))));
    expect(await reasonOf(spool.remove({ intakeId: "own", lane: 0, seq: 2 }))).toBe("order");
    expect(numbersOf(await drain(spool))).toEqual([1, 2]);
  });

  test.each([
    ["of another intake", batchOf({ intakeId: "other", seq: 1 })],
    ["without signals", { intakeId: "own", lane: 0, seq: 1, signals: [] }],
    ["without a number", { ...own(1), seq: 0 }],
    [
      "larger than may wait at all",
      batchOf({ intakeId: "own", seq: 1, signalCount: 1, bodyBytes: 65 * MEGABYTE }),
    ],
  ])("%s is refused as invalid", async (_what, batch) => {
    const spool = await spoolIn(temporaryFolder(), "own");
    expect(await reasonOf(spool.append(batch))).toBe("invalid");
  });
});

describe("Numbers", () => {
  test("run without a gap while anything is spooled", async () => {
    const spool = await spoolIn(temporaryFolder(), "own");
    await spool.append(own(7));
    expect(await reasonOf(spool.append(own(9)))).toBe("order");
    expect(await reasonOf(spool.append(own(7)))).toBe("order");
    await spool.append(own(8));
    expect(numbersOf(await drain(spool))).toEqual([7, 8]);
  });

  test("may leave out what went straight to the database once all is drained, but never go back", async () => {
    const spool = await spoolIn(temporaryFolder(), "own");
    await spool.append(own(7));
    await drain(spool);
    expect(await reasonOf(spool.append(own(7)))).toBe("order");
    await spool.append(own(12));
    expect(numbersOf(await drain(spool))).toEqual([12]);
  });

  test("keep their order when hundreds wait together", async () => {
    const spool = await spoolIn(temporaryFolder(), "own");
    const numbers = Array.from({ length: 500 }, (_, index) => index + 1);
    await Promise.all(numbers.map((seq) => spool.append(own(seq))));
    expect(spool.state()).toMatchObject({ batches: 500, signals: 1_500 });
    expect(numbersOf(await drain(spool))).toEqual(numbers);
    expect(spool.state()).toMatchObject({ batches: 0, signals: 0 });
  });
});

describe("Bounds", () => {
  test("in bytes refuse what does not fit, keep what was taken, and open again when it is drained", async () => {
    const spool = await spoolIn(temporaryFolder(), "own", { bytesMax: MEGABYTE });
    const large = (seq: number) => batchOf({ intakeId: "own", seq, signalCount: 1, bodyBytes: 100_000 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => reasonOf(spool.append(large(index + 1)))),
    );
    const taken = answers.filter((answer) => answer === "done").length;
    expect(taken).toBeGreaterThan(5);
    expect(answers.slice(0, taken + 1)).toEqual([...Array(taken).fill("done"), "full"]);
    // Those behind the rejected one find no space or, if sent after its response, that its number is missing.
    expect(answers.slice(taken).filter((answer) => answer !== "full" && answer !== "order")).toEqual([]);
    expect(spool.state()).toMatchObject({ full: true, failed: null, batches: taken });
    expect(spool.state().bytes).toBeLessThanOrEqual(MEGABYTE);
    // The refused number was not used up.
    await spool.remove({ intakeId: "own", lane: 0, seq: 1 });
    await spool.append(large(taken + 1));
    expect(numbersOf(await drain(spool))).toEqual(Array.from({ length: taken }, (_, index) => index + 2));
    expect(spool.state().full).toBe(false);
  });

  test("never let a small batch pass a large one that found no room", async () => {
    const spool = await spoolIn(temporaryFolder(), "own", { bytesMax: MEGABYTE });
    const sizes = [400_000, 900_000, 10];
    const answers = await Promise.all(
      sizes.map((bodyBytes, index) =>
        reasonOf(spool.append(batchOf({ intakeId: "own", seq: index + 1, signalCount: 1, bodyBytes }))),
      ),
    );
    expect(answers.slice(0, 2)).toEqual(["done", "full"]);
    // Whether it is evaluated with the large one or after it, it is rejected.
    expect(["full", "order"]).toContain(answers[2]);
    expect(await reasonOf(spool.append(own(3)))).toBe("order");
  });

  test("leave the rest of the disk to others", async () => {
    const spool = await spoolIn(temporaryFolder(), "own", { freeDiskBytesMin: Number.MAX_SAFE_INTEGER });
    expect(spool.state().full).toBe(true);
    expect(await reasonOf(spool.append(own(1)))).toBe("full");
  });

  test("keep what waits for the disk within memory", async () => {
    const spool = await spoolIn(temporaryFolder(), "own", { bytesMax: 300 * MEGABYTE });
    const large = (seq: number) =>
      batchOf({ intakeId: "own", seq, signalCount: 1, bodyBytes: 30 * MEGABYTE });
    const answers = await Promise.all([1, 2, 3].map((seq) => reasonOf(spool.append(large(seq)))));
    expect(answers).toEqual(["done", "done", "busy"]);
    await spool.append(large(3));
    expect(numbersOf(await drain(spool))).toEqual([1, 2, 3]);
  });
});

describe("Room", () => {
  test("of an emptied large file is given back to the disk", async () => {
    const folder = temporaryFolder();
    const spool = await spoolIn(folder, "own", { bytesMax: 300 * MEGABYTE });
    for (const seq of [1, 2, 3]) {
      await spool.append(batchOf({ intakeId: "own", seq, signalCount: 1, bodyBytes: 30 * MEGABYTE }));
    }
    await drain(spool);
    await spool.append(own(4));
    expect(spool.state().bytes).toBeLessThan(100_000);
    const onDisk = readdirSync(folder).reduce((sum, name) => sum + statSync(`${folder}/${name}`).size, 0);
    expect(onDisk).toBeLessThan(MEGABYTE);
  });
});

describe("Closing", () => {
  test("finishes what was asked, and refuses what comes after", async () => {
    const folder = temporaryFolder();
    const spool = await spoolIn(folder, "own");
    const appended = [1, 2, 3].map((seq) => spool.append(own(seq)));
    await spool.close();
    await Promise.all(appended);
    await spool.close();
    expect(await reasonOf(spool.append(own(4)))).toBe("closed");
    expect(await reasonOf(spool.oldest())).toBe("closed");
    expect(await reasonOf(spool.remove({ intakeId: "own", lane: 0, seq: 1 }))).toBe("closed");
    const next = await spoolIn(folder, "next");
    expect(numbersOf(await drain(next))).toEqual([1, 2, 3]);
  });

  test("leaves no file behind when nothing is left in it", async () => {
    const folder = temporaryFolder();
    const spool = await spoolIn(folder, "own");
    await spool.append(own(1));
    await drain(spool);
    await spool.close();
    expect(readdirSync(folder)).toEqual([]);
  });
});

test.each(["made", "adopted"])(
  "A file that is %s is written with the pragmas that durability requires",
  (how) => {
    const folder = temporaryFolder();
    const file = createSpoolFile({ folder, intakeId: "own" });
    const exec = vi.spyOn(DatabaseSync.prototype, "exec");
    onTestFinished(() => exec.mockRestore());
    if (how === "adopted") {
      file.append([{ lane: 0, seq: 1, signalCount: 1, receivedAt: T0, payload: new Uint8Array(1) }]);
      file.close();
      expect(adoptSpoolFile({ folder, name: basename(file.path), now: T0 }).kind).toBe("adopted");
    } else file.append([{ lane: 0, seq: 1, signalCount: 1, receivedAt: T0, payload: new Uint8Array(1) }]);
    // The connection of the last statement.
    const db = exec.mock.contexts.at(-1) as DatabaseSync;
    const found = ["locking_mode", "journal_mode", "synchronous", "wal_autocheckpoint"].map((name) =>
      firstValue(db, `pragma ${name}`),
    );
    expect(found).toEqual(["exclusive", "wal", 2, 0]);
    db.close();
  },
);

test("An id that cannot be part of a file's name is refused", async () => {
  expect(await reasonOf(spoolIn(temporaryFolder(), "../own"))).toBe("invalid");
});

test("a spool whose file was removed takes nothing more, and what it holds can still be read", async () => {
  const folder = temporaryFolder();
  const spool = await spoolIn(folder, "own");
  await spool.append(own(1));
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  expect(await reasonOf(spool.append(own(2)))).toBe("full");
  expect(spool.state()).toMatchObject({ batches: 1, hasRoom: false, full: true, failed: null });
  expect((await spool.oldest())?.seq).toBe(1);
  expect(await spool.remove({ intakeId: "own", lane: 0, seq: 1 })).toBe(true);
  // Empty, it can be replaced by another one.
  expect(spool.state()).toMatchObject({ batches: 0, failed: expect.stringContaining("was removed") });
});
