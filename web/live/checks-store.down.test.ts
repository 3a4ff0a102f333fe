// The number of checks that are down: of the tab's project, of a given project, or of all.
import { expect, test } from "vitest";
import { countDownOf, downCount, setDownCount } from "./checks-store.ts";

test("each project has its number; a tab without a project counts all known checks", () => {
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
