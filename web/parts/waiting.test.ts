// Polling is fast at first, and slow in a tab that was left open.
import { expect, test } from "vitest";
import { pollDelayMs } from "./waiting.tsx";

test.each([
  [0, 1_000],
  [599, 1_000],
  [600, 15_000],
  [100_000, 15_000],
])("after %i polls, the next one follows after %i ms", (askedCount, ms) => {
  expect(pollDelayMs(askedCount)).toBe(ms);
});
