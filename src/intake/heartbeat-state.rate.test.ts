// The reported rate of the last minute, heartbeat by heartbeat, and after missing heartbeats.
import { expect, test } from "vitest";
import { PerMinute } from "./heartbeat-state.ts";

function second(rate: PerMinute, { from, to, each }: { from: number; to: number; each: number }): number[] {
  const rates: number[] = [];
  for (let at = from; at <= to; at += 1) rates.push(rate.look({ ms: at * 1_000, total: at * each }));
  return rates;
}

test("what came since the start is counted until a minute is over, and then what came in the last one", () => {
  const rates = second(new PerMinute({ ms: 0, total: 0 }), { from: 1, to: 180, each: 5 });
  expect(rates[0]).toBe(5);
  expect(rates[29]).toBe(150);
  expect(rates.slice(59)).toEqual(rates.slice(59).map(() => 300));
});

test("nothing is left of a burst after a minute", () => {
  const rate = new PerMinute({ ms: 0, total: 0 });
  expect(rate.look({ ms: 1_000, total: 900 })).toBe(900);
  expect(rate.look({ ms: 59_000, total: 900 })).toBe(900);
  expect(rate.look({ ms: 61_000, total: 900 })).toBe(0);
});

test("after a long time without a look, it is as much as came in a minute of it", () => {
  const rate = new PerMinute({ ms: 0, total: 0 });
  expect(rate.look({ ms: 600_000, total: 1_000 })).toBe(100);
});

test("with a stopped clock, the received signals are returned without failing", () => {
  const rate = new PerMinute({ ms: 1_000, total: 3 });
  expect(rate.look({ ms: 1_000, total: 3 })).toBe(0);
  expect(rate.look({ ms: 1_000, total: 5 })).toBe(2);
});
