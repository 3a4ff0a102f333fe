// Somebody who waits is answered at once; a window that was forgotten asks rarely.
import { expect, test } from "vitest";
import { pollDelayMs } from "./waiting.tsx";

test.each([
  [0, 1_000],
  [599, 1_000],
  [600, 15_000],
  [100_000, 15_000],
])("asked %i times, it is asked again after %i ms", (askedCount, ms) => {
  expect(pollDelayMs(askedCount)).toBe(ms);
});
