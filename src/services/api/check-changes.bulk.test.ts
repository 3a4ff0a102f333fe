// Bulk changes: a few at a time, and none after an error.
import { expect, test } from "vitest";
import { each } from "./check-changes.ts";

const ids = Array.from({ length: 40 }, (_, n) => `${n}`);

test("each item is processed once, and never more than four at a time", async () => {
  const done: string[] = [];
  let [running, most] = [0, 0];
  await each(ids, async (id) => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    done.push(id);
  });
  expect([done.length, new Set(done).size, most]).toEqual([40, 40, 4]);
});

test("an error ends the request: nothing more is started, and nothing is left running", async () => {
  const begun: string[] = [];
  let running = 0;
  const work = async (id: string) => {
    begun.push(id);
    running += 1;
    await Promise.resolve();
    running -= 1;
    if (id === "5") throw new Error("the database went away");
  };
  await expect(each(ids, work)).rejects.toThrow("went away");
  expect(running).toBe(0);
  expect(begun.length).toBeLessThan(12);
});
