// Changes of many checks: in batches, with undo of what was changed, also after a failure halfway.
import { expect, test } from "vitest";
import type { BulkResult, BulkRequest } from "../../src/contract/api/checks.ts";
import { BULK_CHECKS_MAX } from "../../src/contract/api/limits.ts";
import { runInBulk } from "./checks-actions.ts";

const ids = Array.from({ length: BULK_CHECKS_MAX + 500 }, (_, n) => `check ${n}`);
const first = ids.slice(0, BULK_CHECKS_MAX);
const pausing = { ids, change: { action: "pause" }, back: { action: "resume" } } as const;

/** A server that accepts every request and records it. */
function server(answer: (request: BulkRequest, nth: number) => Partial<BulkResult> = () => ({})) {
  const asked: BulkRequest[] = [];
  const ask = async (request: BulkRequest): Promise<BulkResult> => {
    asked.push(request);
    return { done: request.ids, unchanged: [], failed: [], ...answer(request, asked.length) };
  };
  return { asked, ask };
}

test("more checks than fit in one request are changed in batches, and undone in batches", async () => {
  const { asked, ask } = server();
  const { done, undo, fault } = await runInBulk(ask, [pausing]);
  expect(asked.map((request) => request.ids.length)).toEqual([BULK_CHECKS_MAX, 500]);
  expect([done.length, fault]).toEqual([ids.length, null]);
  await runInBulk(ask, undo);
  expect(asked.slice(2).map((request) => [request.action, request.ids.length])).toEqual([
    ["resume", 500],
    ["resume", BULK_CHECKS_MAX],
  ]);
});

test("if the second batch fails, the first can be undone", async () => {
  const { ask } = server((_, nth) => {
    if (nth === 2) throw new Error("the server went away");
    return {};
  });
  const { done, undo, fault } = await runInBulk(ask, [pausing]);
  expect(fault).toEqual(new Error("the server went away"));
  expect(done).toEqual(first);
  expect(undo).toEqual([{ ids: first, change: { action: "resume" }, back: null }]);
});

test("checks that were already in that state are not changed by undo", async () => {
  const { ask } = server(() => ({ unchanged: ["b"] }));
  const step = {
    ids: ["a", "b"],
    change: { action: "addChannel", channel: "c" },
    back: { action: "removeChannel", channel: "c" },
  } as const;
  const { done, undo } = await runInBulk(ask, [step]);
  expect(done).toEqual(["a", "b"]);
  expect(undo).toEqual([{ ids: ["a"], change: step.back, back: null }]);
});

test("after an error the next step is not started", async () => {
  const { asked, ask } = server(() => {
    throw new Error("gone");
  });
  await runInBulk(ask, [pausing, pausing]);
  expect(asked).toHaveLength(1);
});
