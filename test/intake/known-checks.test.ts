// Known checks survive a restart, are limited, expire after 30 days, and are found immediately.
import fc from "fast-check";
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { SignalTarget } from "../../src/core/signal.ts";
import { fingerprintWith, HalfSipHash } from "../../src/intake/known-checks/fingerprint.ts";
import {
  type KnownChecks,
  type KnownChecksOptions,
  openKnownChecks,
} from "../../src/intake/known-checks/known-checks.ts";
import { KnownTable } from "../../src/intake/known-checks/table.ts";
import { T0 } from "./support/batches.ts";
import { temporaryFolder } from "./support/folders.ts";

const DAY = 86_400_000;
const uuid = (number: number): SignalTarget => ({
  by: "uuid",
  uuid: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
});
const slug = (pingKey: string, name: string): SignalTarget => ({ by: "slug", pingKey, slug: name });

async function open(folder: string, options: Partial<KnownChecksOptions> = {}): Promise<KnownChecks> {
  const known = await openKnownChecks({ folder, now: T0, saveEveryMs: 3_600_000, ...options });
  onTestFinished(() => known.close());
  return known;
}

describe("A target", () => {
  test("is known once it was added, until it is removed", async () => {
    const known = await open(temporaryFolder());
    expect(known.knows(uuid(1), T0)).toBe(false);
    known.remember(uuid(1), T0);
    known.remember(slug("key", "nightly"), T0);
    expect(
      [uuid(1), uuid(2), slug("key", "nightly"), slug("key", "daily")].map((one) => known.knows(one, T0)),
    ).toEqual([true, false, true, false]);
    known.remove(uuid(1));
    expect(known.knows(uuid(1), T0)).toBe(false);
  });

  test("is known for 30 days from the last time", async () => {
    const known = await open(temporaryFolder());
    known.remember(uuid(1), T0);
    expect(known.knows(uuid(1), T0 + 30 * DAY)).toBe(true);
    expect(known.knows(uuid(1), T0 + 31 * DAY)).toBe(false);
    known.remember(uuid(1), T0 + 31 * DAY);
    expect(known.knows(uuid(1), T0 + 60 * DAY)).toBe(true);
  });

  test("survives a restart, and so does its removal", async () => {
    const folder = temporaryFolder();
    const first = await open(folder);
    for (let number = 1; number <= 1_000; number += 1) first.remember(uuid(number), T0);
    first.remember(slug("key", "nightly"), T0);
    await first.save();
    first.remove(uuid(7));
    await first.close();
    const second = await open(folder);
    expect(second.state()).toMatchObject({ count: 1_000, unsaved: 0, failed: null });
    expect([uuid(6), uuid(7), slug("key", "nightly")].map((one) => second.knows(one, T0))).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("survives also as one of more than fit one transaction", async () => {
    const folder = temporaryFolder();
    const first = await open(folder);
    for (let number = 1; number <= 45_000; number += 1) first.remember(uuid(number), T0);
    await first.close();
    expect(first.state()).toMatchObject({ unsaved: 0, failed: null });
    const second = await open(folder);
    expect(second.state().count).toBe(45_000);
    expect([1, 20_000, 20_001, 45_000].every((number) => second.knows(uuid(number), T0))).toBe(true);
  });

  test("survives a kill once it was saved", async () => {
    const folder = temporaryFolder();
    const program = fileURLToPath(new URL("./support/remember-and-die.ts", import.meta.url));
    const words = [program, folder, "00000000-0000-4000-8000-000000000001", String(T0)];
    const child = spawnSync(process.execPath, words, { encoding: "utf8" });
    expect([child.signal, child.stderr]).toEqual(["SIGKILL", ""]);
    expect((await open(folder)).knows(uuid(1), T0)).toBe(true);
  });

  test("that another intake of the machine adds or removes is soon known here too", async () => {
    const folder = temporaryFolder();
    const [one, two] = [await open(folder), await open(folder)];
    one.remember(uuid(1), T0);
    two.remember(uuid(2), T0);
    await one.save();
    await two.save();
    await one.save();
    expect([one, two].map((known) => [known.knows(uuid(1), T0), known.knows(uuid(2), T0)])).toEqual([
      [true, true],
      [true, true],
    ]);
    one.remove(uuid(2));
    await one.save();
    await two.save();
    expect(two.knows(uuid(2), T0)).toBe(false);
  });

  test("leaves neither its UUID nor its key on the disk", async () => {
    const folder = temporaryFolder();
    const known = await open(folder);
    known.remember(uuid(123_456_789), T0);
    known.remember(slug("secret-key", "secret-slug"), T0);
    await known.close();
    const bytes = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, "latin1"));
    expect(bytes.join("")).not.toMatch(/123456789|secret-/);
    expect(statSync(`${folder}/known-checks.sqlite`).mode & 0o777).toBe(0o600);
  });
});

test("Intakes that begin at the same moment share one new file", async () => {
  const folder = temporaryFolder();
  const intakes = await Promise.all(Array.from({ length: 6 }, () => open(folder)));
  for (const [index, known] of intakes.entries()) known.remember(uuid(index), T0);
  // One that found the file locked by another writes with its next save.
  const savedStates = async () => {
    await Promise.all(intakes.map((known) => known.save()));
    return intakes.map((known) => known.state());
  };
  await expect
    .poll(savedStates, { timeout: 10_000 })
    .toMatchObject(intakes.map(() => ({ count: 6, failed: null })));
});

describe("The bound", () => {
  test("drops those that were seen longest ago", async () => {
    const known = await open(temporaryFolder(), { countMax: 10 });
    for (let number = 1; number <= 100; number += 1) known.remember(uuid(number), T0 + number * DAY);
    const now = T0 + 100 * DAY;
    expect(known.state().count).toBe(10);
    expect(known.knows(uuid(100), now)).toBe(true);
  });

  test("also applies to the file, and old entries are deleted from it", async () => {
    const folder = temporaryFolder();
    const first = await open(folder);
    for (let number = 1; number <= 50; number += 1) first.remember(uuid(number), T0);
    for (let number = 51; number <= 100; number += 1) first.remember(uuid(number), T0 + 20 * DAY);
    await first.close();
    const second = await open(folder, { countMax: 30, now: T0 + 20 * DAY });
    expect(second.state().count).toBe(30);
    await second.close();
    expect((await open(folder)).state().count).toBe(30);
    const later = await open(folder, { now: T0 + 60 * DAY });
    await later.close();
    expect((await open(folder)).state().count).toBe(0);
  });
});

describe("A file that cannot be used", () => {
  test("because it is something else is set aside, and a new one begun", async () => {
    const folder = temporaryFolder();
    writeFileSync(`${folder}/known-checks.sqlite`, "dear diary ".repeat(1_000));
    const known = await open(folder);
    known.remember(uuid(1), T0);
    await known.close();
    expect((await open(folder)).knows(uuid(1), T0)).toBe(true);
    expect(readdirSync(folder)).toContain("known-checks.sqlite.set-aside");
  });

  test("because it is damaged is replaced while the memory is still used", async () => {
    const folder = temporaryFolder();
    const first = await open(folder);
    for (let number = 1; number <= 5_000; number += 1) first.remember(uuid(number), T0);
    await first.close();
    const descriptor = openSync(`${folder}/known-checks.sqlite`, "r+");
    for (let at = 10 * 4_096; at < 16 * 4_096; at += 4_096)
      writeSync(descriptor, new Uint8Array(100).fill(0xa5), 0, 100, at);
    closeSync(descriptor);
    const second = await open(folder);
    expect(second.state().failed).toMatch(/malformed/);
    second.remember(uuid(1), T0);
    await second.save();
    expect(second.state().failed).toBeNull();
    await second.close();
    expect((await open(folder)).knows(uuid(1), T0)).toBe(true);
  });

  test("because the folder cannot be made leaves the memory", async () => {
    const folder = temporaryFolder();
    writeFileSync(`${folder}/file`, "");
    const known = await open(`${folder}/file/below`);
    expect(known.state().failed).toMatch(/ENOTDIR|EEXIST/);
    known.remember(uuid(1), T0);
    await known.save();
    expect(known.knows(uuid(1), T0)).toBe(true);
    expect(known.state().unsaved).toBe(1);
    await known.close();
    expect(known.knows(uuid(1), T0)).toBe(true);
  });
});

describe("The table", () => {
  test("answers as a plain map does, whatever is done to it", () => {
    // All in one shard, and their searches begin at only three slots, so that they collide.
    const numbers = Array.from({ length: 60 }, (_, index) => 256 * ((index % 3) + 1 + 65_536 * index));
    const fingerprint = fc.constantFrom(...numbers);
    const step = fc.record({ act: fc.constantFrom("set", "set", "delete"), fingerprint, day: fc.nat(50) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const table = new KnownTable({ countMax: 1_000 });
        const model = new Map<number, number>();
        for (const { act, fingerprint: one, day } of steps) {
          if (act === "delete") expect(table.delete(one)).toBe(model.delete(one));
          else {
            const before = model.get(one);
            const isNews = before === undefined || before < day;
            expect(table.set(one, day)).toBe(isNews);
            if (isNews) model.set(one, day);
          }
        }
        expect(table.count).toBe(model.size);
        for (const number of numbers) {
          const day = model.get(number);
          expect(table.has(number, 40)).toBe(day !== undefined && day >= 10);
        }
      }),
    );
  });

  test("never holds more than its bound", () => {
    const table = new KnownTable({ countMax: 1_000 });
    for (let number = 0; number < 20_000; number += 1) {
      table.set(1 + number * 7_919, 100 + Math.floor(number / 1_000));
      expect(table.count).toBeLessThanOrEqual(1_000);
    }
    expect(table.count).toBeGreaterThan(900);
    expect(table.has(1 + 19_999 * 7_919, 119)).toBe(true);
  });
});

describe("A fingerprint", () => {
  test("comes from the published function", () => {
    // Results for the bytes 0, 1, 2 … with the key 0 … 7, from the reference implementation.
    const wanted = ["218d1f59b9b83cc8", "d5e78a175be52ea1", "edfee820bce4858c", "7bc71f9faef5c799"];
    const hash = new HalfSipHash(0x03020100, 0x07060504);
    for (const [words, result] of wanted.entries()) {
      hash.start();
      for (let word = 0; word < words; word += 1) hash.addWord(0x03020100 + word * 0x04040404);
      hash.finish();
      const bytes = Buffer.alloc(8);
      bytes.writeInt32LE(hash.low, 0);
      bytes.writeInt32LE(hash.high, 4);
      expect(bytes.toString("hex")).toBe(result);
    }
  });

  test("is a whole number that SQLite and JavaScript both hold, and depends on the secret", () => {
    const [one, two] = [fingerprintWith({ low: 1, high: 2 }), fingerprintWith({ low: 1, high: 3 })];
    fc.assert(
      fc.property(fc.string(), fc.string(), (key, name) => {
        const target = slug(key, name);
        expect(Number.isSafeInteger(one(target)) && one(target) > 0).toBe(true);
        expect(one(target)).not.toBe(two(target));
      }),
    );
  });

  test("distinguishes texts that are equal when concatenated", () => {
    const fingerprintOf = fingerprintWith({ low: 1, high: 2 });
    const alike = [slug("ab", "c"), slug("a", "bc"), slug("abc", ""), slug("", "abc"), slug("ab", "c\0")];
    const uuids: SignalTarget[] = [{ by: "uuid", uuid: "abc" }];
    expect(new Set([...alike, ...uuids].map(fingerprintOf)).size).toBe(6);
  });
});
