import { expect, test } from "vitest";
import { drawHops, waitingHops } from "./fire-drill.tsx";

const AT = 1_794_735_000_000;
const HOPS = [
  { name: "deadline", at: AT },
  { name: "found", at: AT + 300 },
  { name: "written", at: AT + 400 },
] as const;

test("each step is drawn from the end of the one before it", () => {
  expect(drawHops([...HOPS])).toEqual([
    { name: "deadline", from: 0, to: 0, afterMs: 0, tookMs: 0 },
    { name: "found", from: 0, to: 75, afterMs: 300, tookMs: 300 },
    { name: "written", from: 75, to: 100, afterMs: 400, tookMs: 100 },
  ]);
});

test("a drill that runs waits for the steps that it has not reached", () => {
  const hops = [...HOPS];
  expect(waitingHops({ hops, isSent: false, endedAt: null })).toEqual(["planned", "claimed", "rendered"]);
  expect(waitingHops({ hops, isSent: true, endedAt: null }).at(-1)).toBe("answered");
  expect(waitingHops({ hops, isSent: true, endedAt: AT })).toEqual([]);
});
