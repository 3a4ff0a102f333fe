// The batches of the last minute are kept in order, for a minute, and up to a number of bytes.
import { expect, test } from "vitest";
import type { Batch } from "../core/signal.ts";
import { RecentBatches } from "./recorder.ts";

function batch(seq: number, { intakeId = "a", lane = 0, bodyBytes = 0 } = {}): Batch {
  const signal = {
    target: { by: "uuid" as const, uuid: "u" },
    source: { by: "http" as const, action: "success" as const, method: "GET" },
    rid: null,
    exitStatus: null,
    scheme: "http",
    remoteAddr: null,
    ua: "",
    body: new Uint8Array(bodyBytes),
    at: 0,
  };
  return { intakeId, lane, seq, signals: [signal] };
}

test("batches are kept in order for a minute", () => {
  const recent = new RecentBatches();
  for (const seq of [1, 2, 3]) recent.add(batch(seq), seq * 1_000);
  recent.add(batch(7, { intakeId: "b" }), 4_000);
  expect(recent.all().map(({ seq }) => seq)).toEqual([1, 2, 3, 7]);
  recent.add(batch(1, { lane: 1 }), 4_500);
  expect(recent.before({ intakeId: "a", lane: 0, seq: 3 }).map(({ seq }) => seq)).toEqual([1, 2]);
  recent.drop(62_000);
  expect(recent.all().map(({ seq }) => seq)).toEqual([2, 3, 7, 1]);
  recent.drop(999_999);
  expect([recent.all(), recent.bytes]).toEqual([[], 0]);
});

test("the oldest go when there are too many bytes", () => {
  const recent = new RecentBatches({ bytesMax: 3_000 });
  for (const seq of [1, 2, 3, 4]) recent.add(batch(seq, { bodyBytes: 600 }), 0);
  expect(recent.all().map(({ seq }) => seq)).toEqual([2, 3, 4]);
  recent.add(batch(5, { bodyBytes: 5_000 }), 0);
  expect([recent.all(), recent.bytes]).toEqual([[], 0]);
});
