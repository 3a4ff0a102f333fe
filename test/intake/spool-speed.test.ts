// The speed of the spool and the known checks on this machine. The figures are printed; the limits are wide, because
// the machine may be busy, and only detect differences of an order of magnitude.
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openKnownChecks } from "../../src/intake/known-checks.ts";
import { awakeMs } from "../support/awake.ts";
import { batchOf, signalOf, T0 } from "./support/batches.ts";
import { temporaryFolder } from "./support/folders.ts";
import { drain, spoolIn } from "./support/spools.ts";

const SIGNALS = 100;
const RUN_MS = 1_500;

describe("The spool", () => {
  test.each([1, 8])("takes batches of 100 signals, %i at a time", { timeout: 60_000 }, async (lanes) => {
    const spool = await spoolIn(temporaryFolder(), "own", { bytesMax: 1e9 });
    const { signals } = batchOf({ intakeId: "own", seq: 1, signalCount: SIGNALS, bodyBytes: 100 });
    let lastSeq = 0;
    const waits: number[] = [];
    const startedAt = performance.now();
    const lane = async () => {
      while (performance.now() - startedAt < RUN_MS) {
        lastSeq += 1;
        const askedAt = performance.now();
        await spool.append({ intakeId: "own", lane: 0, seq: lastSeq, signals });
        waits.push(performance.now() - askedAt);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    const perSecond = (1_000 * lastSeq) / (performance.now() - startedAt);
    const [p50, p99] = [0.5, 0.99].map(
      (share) => waits.toSorted((a, b) => a - b)[Math.floor(share * waits.length)],
    );
    const drainedAt = performance.now();
    const drained = await drain(spool);
    const drainedPerSecond = (1_000 * drained.length) / (performance.now() - drainedAt);
    console.log(
      `${lanes} at a time: ${perSecond.toFixed(0)} batches/s, ${(perSecond * SIGNALS).toFixed(0)} signals/s, ` +
        `p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms; drained ${drainedPerSecond.toFixed(0)} batches/s`,
    );
    expect(drained).toHaveLength(lastSeq);
    // A busy disk takes a tenth of a second for a sync.
    expect(perSecond).toBeGreaterThan(1);
  });

  test("lets batches that wait together share a sync", async () => {
    const spool = await spoolIn(temporaryFolder(), "own");
    const states = new Set<number>();
    const appends = Array.from({ length: 300 }, async (_, index) => {
      await spool.append(batchOf({ intakeId: "own", seq: index + 1 }));
      // Every batch of a group gets the same state.
      states.add(spool.state().batches);
    });
    await Promise.all(appends);
    expect(states.size).toBeLessThan(30);
  });
});

test("A look at the known checks costs about a microsecond", { timeout: 60_000 }, async () => {
  const known = await openKnownChecks({ folder: temporaryFolder(), now: T0, saveEveryMs: 3_600_000 });
  const targets = Array.from({ length: 100_000 }, (_, index) => signalOf(index).target);
  for (const target of targets) known.remember(target, T0);
  const rounds = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    const found = targets.filter((target) => known.knows(target, T0)).length;
    const { user, system } = process.cpuUsage(before);
    expect(found).toBe(targets.length);
    return (1_000 * (user + system)) / targets.length;
  });
  await known.close();
  console.log(`knows: ${Math.min(...rounds).toFixed(0)} ns`);
  expect(Math.min(...rounds)).toBeLessThan(5_000);
});

test("Two million known checks are loaded while pings are handled", async () => {
  const options = { folder: temporaryFolder(), now: T0, saveEveryMs: 3_600_000 };
  const first = await openKnownChecks(options);
  for (let number = 1; number <= 2_000_000; number += 1) {
    first.remember({ by: "uuid", uuid: String(number) }, T0);
    if (number % 100_000 === 0) await first.save();
  }
  await first.close();
  const progress = { isDone: false };
  const startedAt = awakeMs();
  const loading = openKnownChecks(options).finally(() => {
    progress.isDone = true;
  });
  // Processor time of this thread: the machine may be busy.
  let longestMs = 0;
  for (let before = process.threadCpuUsage(); !progress.isDone; before = process.threadCpuUsage()) {
    await nextTurn();
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
  }
  const known = await loading;
  const loadMs = awakeMs() - startedAt;
  const { count, failed } = known.state();
  await known.close();
  console.log(`${count} loaded in ${loadMs.toFixed(0)} ms, longest turn ${longestMs.toFixed(1)} ms`);
  // Some are dropped because the tables are not filled evenly.
  expect(count).toBeGreaterThan(1_900_000);
  expect(failed).toBeNull();
  expect(loadMs).toBeLessThan(30_000);
  expect(longestMs).toBeLessThan(200);
});
