// An edge with a scripted log: partitions that confirm, refuse or keep records waiting, and clocks that the test moves.
// Ticks are those of fake timers, so a test that uses this has to fake setInterval.
import { setImmediate as nextTurn } from "node:timers/promises";
import { vi } from "vitest";
import type { Instant } from "../../src/core/instant.ts";
import { type LogRecord, type PartitionState, takeRecord } from "../../src/core/log.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import type { Blindness } from "../../src/core/watermark.ts";
import { LogIntake, type LogIntakeDeps } from "../../src/intake/log-intake.ts";
import { decodeRecord } from "../../src/intake/log-record.ts";
import { signal } from "./scripted-ports.ts";

export const START_AT = 1_800_000_000_000;
const TICK_MS = 250;
/** More than any chain of promises in an edge needs. */
const TURNS = 5;

/** What the log does with a record of a partition. "hangs": it is under way until the test releases it. */
export type LogBehaviour = "confirms" | "fails" | "hangs";

export type Appended = LogRecord & { partition: number; bytes: number };

export function scriptedLog({ partitions = 2, ...given }: Partial<LogIntakeDeps> = {}) {
  const clock = { ms: 0, aheadMs: 0 };
  const behaviour = new Map<number, LogBehaviour>();
  const records: Appended[] = [];
  /** Also those that were not confirmed. */
  const tried: Appended[] = [];
  const hanging: { confirm: () => void; fail: () => void }[] = [];
  const append: LogIntakeDeps["append"] = async ({ partition, value }) => {
    const decoded = decodeRecord(value);
    if (!decoded.ok) throw new Error(decoded.reason);
    const record = { ...decoded.record, partition, bytes: value.length };
    tried.push(record);
    const does = behaviour.get(partition) ?? "confirms";
    if (does === "fails") throw new Error("not confirmed");
    if (does === "hangs") {
      await new Promise<void>((resolve, reject) => {
        hanging.push({ confirm: resolve, fail: () => reject(new Error("not confirmed")) });
      });
    }
    return records.push(record);
  };
  let edges = 0;
  const intake = new LogIntake({
    newEdge: () => {
      edges += 1;
      return `00000000-0000-4000-8000-${String(edges).padStart(12, "0")}`;
    },
    partitions,
    append,
    isBusy: () => false,
    now: () => START_AT + clock.ms + clock.aheadMs,
    monotonic: () => clock.ms,
    known: { knows: () => true, remember: () => {}, remove: () => {} },
    find: async () => "unknown",
    create: async () => "unknown",
    refusal: () => null,
    onError: () => {},
    ...given,
  });

  /** A check of a partition. */
  const uuidIn = (partition: number, number = 0) =>
    `00000000-0000-4000-8000-${number.toString(16).padStart(10, "0")}${partition.toString(16).padStart(2, "0")}`;

  const send = async (sent: Partial<AcceptedSignal> = {}): Promise<string> => {
    const full = signal("job", {
      target: { by: "uuid", uuid: uuidIn(0) },
      source: { by: "http", action: "success", method: "GET" },
      body: null,
      at: intake.now(),
      ...sent,
    });
    return (await intake.accept(full, { create: false, network: null })).kind;
  };

  const settle = async () => {
    for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  };

  /** Time passes, with a tick of the edge every 250 ms. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= TICK_MS) {
      clock.ms += Math.min(left, TICK_MS);
      vi.advanceTimersByTime(TICK_MS);
      await settle();
    }
  };

  /** What recorders know of a partition after everything confirmed was applied. */
  const applied = (partition: number, watermarkAt: Instant = START_AT - 1_000) => {
    const before = { edges: {}, watermarkAt, gapEndedAt: watermarkAt };
    let state: PartitionState = before;
    const blind: Blindness[] = [];
    for (const record of records.filter((one) => one.partition === partition)) {
      const taken = takeRecord(state, record, { routerRepeats: false, others: [] });
      state = taken.state;
      blind.push(...taken.blind);
    }
    return { state, blind, watermarkAt: state.watermarkAt };
  };

  return { intake, clock, behaviour, records, tried, hanging, uuidIn, send, settle, pass, applied };
}
