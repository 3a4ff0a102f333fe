// How many are down: of the project that the tab is about, of another one that is asked for, or of all.
import { expect, test } from "vitest";
import { countDownOf, downCount, setDownCount } from "./checks-store.ts";

test("each project has its number; a tab about none counts all that are known", () => {
  setDownCount("house", 2);
  setDownCount("garden", 3);
  expect(downCount()).toBe(5);
  expect(downCount("house")).toBe(2);
  countDownOf("garden");
  expect([downCount(), downCount("house"), downCount("unknown")]).toEqual([3, 2, 0]);
  setDownCount("garden", 0);
  expect(downCount()).toBe(0);
  countDownOf(null);
  expect(downCount()).toBe(2);
});
