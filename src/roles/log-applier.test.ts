// The recorder's reading and applying with a scripted log and database: how much is read ahead, and when signals are
// quarantined.
import { randomUUID } from "node:crypto";
import { expect, test, vi } from "vitest";
import { NO_REFUSALS } from "../core/log.ts";
import { encodeRecord } from "../intake/log-record.ts";
import type { ReadRequest, ReadResult } from "../lib/kafka.ts";
import type { AppliedLog, LogPart } from "../operations/record-log.ts";
import type { StoredPartition } from "../store/log-partitions.ts";
import { LogApplier, type RecordLogHow } from "./log-applier.ts";

const TOPIC_ID = randomUUID();
const SOON = { timeout: 30_000, interval: 10 };

function stored(partition: number): StoredPartition {
  return {
    partition,
    topicId: TOPIC_ID,
    intakeId: randomUUID(),
    nextOffset: 0,
    state: { edges: {}, watermarkAt: 1_000, gapEndedAt: 0 },
    endOffset: 0,
    readAt: null,
    stopped: null,
  };
}

/** A heartbeat, with bytes that cannot be decoded behind it. */
function recordBytes(length: number): Buffer {
  const header = { edge: randomUUID(), kind: "more", n: 1, at: 1_000, watermarkAt: 1_000 } as const;
  const record = encodeRecord({ ...header, givenUp: [], refused: [], attributed: NO_REFUSALS }, []);
  return Buffer.concat([record, Buffer.alloc(length, 0xff)]);
}

/** An applier of as many partitions; each has records without end unless `ends` is given. */
function scripted(given: {
  partitions: number;
  record: (parts: readonly LogPart[], how: RecordLogHow) => Promise<AppliedLog | null>;
  value?: Buffer;
  perRead?: number;
  ends?: number;
}) {
  const { partitions, record, value = recordBytes(0), perRead = 1, ends = Number.POSITIVE_INFINITY } = given;
  const numbers = Array.from({ length: partitions }, (_, partition) => partition);
  const reads: ReadRequest[] = [];
  const held: (() => void)[] = [];
  let bytes = 0;
  const applier = new LogApplier({
    read: async (request): Promise<ReadResult> => {
      reads.push(request);
      await new Promise((resolve) => setImmediate(resolve));
      const count = Math.min(perRead, ends - request.offset);
      if (count <= 0) await new Promise<void>((resolve) => held.push(resolve));
      const records = Array.from({ length: Math.max(0, count) }, (_, index) => ({
        offset: request.offset + index,
        value,
      }));
      bytes += records.length * value.length;
      return { kind: "records", records, end: request.offset + records.length };
    },
    load: async () => numbers.map(stored),
    record,
    stopPartition: async () => {},
    onApplied: () => {},
    onError: () => {},
  });
  applier.setPartitions(numbers);
  applier.start();
  const stop = async () => {
    const stopping = applier.stop();
    for (const resolve of held) resolve();
    await stopping;
  };
  return { reads, bytes: () => bytes, stop };
}

function applied(parts: readonly LogPart[]): AppliedLog {
  return {
    parts: parts.map(({ at, to }) => ({ ...at, nextOffset: to })),
    lost: [],
    blind: [],
    isIncomplete: false,
    signalCount: 0,
  };
}

/** Resolves after reads that would begin now have begun. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A database that does not answer until the test ends. */
function hanging() {
  const { promise, resolve } = Promise.withResolvers<null>();
  return { record: () => promise, resolve };
}

test("large records are read ahead up to a number of bytes, also of many partitions", async () => {
  const { record, resolve } = hanging();
  const value = recordBytes(1024 * 1024);
  const few = scripted({ partitions: 2, record, value });
  const many = scripted({ partitions: 40, record, value });
  await vi.waitFor(() => expect(few.bytes()).toBeGreaterThan(24 * 1024 * 1024), SOON);
  await vi.waitFor(() => expect(many.reads.length).toBeGreaterThanOrEqual(40), SOON);
  await turns();
  expect(few.bytes()).toBeLessThanOrEqual(34 * 1024 * 1024);
  // Each has at least one record.
  expect(many.bytes()).toBe(40 * value.length);
  expect(few.reads[0]).toMatchObject({ topicId: TOPIC_ID, offset: 0 });
  resolve(null);
  await Promise.all([few.stop(), many.stop()]);
});

test("records without signals are read ahead up to a number", async () => {
  const { record, resolve } = hanging();
  const { reads, stop } = scripted({ partitions: 1, record, perRead: 500 });
  await vi.waitFor(() => expect(reads.length).toBe(4), SOON);
  await turns();
  expect(reads).toHaveLength(4);
  resolve(null);
  await stop();
});

test("signals are quarantined after their records failed five times, and others do not wait", async () => {
  const attempts: { partitions: number[]; quarantinesFailed: boolean }[] = [];
  const { stop } = scripted({
    partitions: 3,
    ends: 1,
    record: async (parts, { quarantinesFailed }) => {
      const partitions = parts.map(({ at }) => at.partition);
      attempts.push({ partitions, quarantinesFailed });
      if (partitions.includes(1) && !quarantinesFailed) throw new TypeError("a value that we cannot handle");
      return applied(parts);
    },
  });
  const quarantined = { partitions: [1], quarantinesFailed: true };
  await vi.waitFor(() => expect(attempts).toContainEqual(quarantined), SOON);
  const failed = attempts.filter((one) => one.partitions.includes(1) && !one.quarantinesFailed);
  expect(failed).toHaveLength(5);
  const second = attempts.findIndex(({ partitions }) => partitions.length === 1 && partitions[0] === 1);
  expect(second).toBeGreaterThan(0);
  const others = attempts.filter(({ partitions }) => !partitions.includes(1));
  expect(others.every((one) => !one.quarantinesFailed)).toBe(true);
  expect(new Set(others.flatMap(({ partitions }) => partitions))).toEqual(new Set([0, 2]));
  await stop();
});

test("errors of the database never lead to a quarantine", async () => {
  const deadlock = Object.assign(new Error("deadlock detected"), { code: "40P01", severity: "ERROR" });
  const errors: Error[] = [...Array.from({ length: 6 }, () => deadlock), new TypeError("once")];
  const flags: boolean[] = [];
  const { stop } = scripted({
    partitions: 1,
    ends: 1,
    record: async (parts, { quarantinesFailed }) => {
      flags.push(quarantinesFailed);
      const error = errors.shift();
      if (error !== undefined) throw error;
      return applied(parts);
    },
  });
  await vi.waitFor(() => expect(flags).toHaveLength(8), SOON);
  expect(flags).not.toContain(true);
  await stop();
});
