// A thousand flips at one moment cause one call, later ones another, and an unsubscribed listener is not called.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FlipEvent } from "../../src/contract/api/live.ts";
import { onFlips } from "./flips.tsx";

const listeners = vi.hoisted(() => new Set<(flip: unknown) => void>());
vi.mock("./checks-store.ts", () => ({
  onFlip: (listener: (flip: unknown) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
}));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const flip = (checkId: string) => {
  for (const listener of listeners) listener({ checkId });
};
const named = (flips: readonly FlipEvent[]) => flips.map(({ checkId }) => checkId);

test("flips that arrive together are one call, in order, and later ones another", () => {
  const received: string[][] = [];
  const leave = onFlips((flips) => received.push(named(flips)));
  const many = Array.from({ length: 1_000 }, (_, n) => `job ${n}`);
  for (const check of many) flip(check);
  vi.advanceTimersByTime(10_000);
  expect(received).toEqual([many]);
  flip("another");
  vi.advanceTimersByTime(10_000);
  expect(received.slice(1)).toEqual([["another"]]);
  leave();
});

test("a listener that has unsubscribed is not called, even for earlier flips", () => {
  const listener = vi.fn<() => void>();
  const leave = onFlips(listener);
  flip("a");
  leave();
  flip("b");
  vi.advanceTimersByTime(10_000);
  expect(listener).not.toHaveBeenCalled();
  expect(listeners.size).toBe(0);
});
