// Schedules of many checks: set in batches, and undone to the previous schedule of each.
import { expect, test } from "vitest";
import type { ScheduleGroup, SchedulesRequest } from "../../src/contract/api/checks.ts";
import { BULK_CHECKS_MAX } from "../../src/contract/api/limits.ts";
import { portionsOf, setSchedules } from "./checks-schedule.tsx";

const timing = (schedule: string): ScheduleGroup["timing"] => ({
  kind: "cron",
  timeoutSeconds: 60,
  graceSeconds: 60,
  schedule,
  tz: "UTC",
});
const ids = Array.from({ length: BULK_CHECKS_MAX + 1 }, (_, n) => `check ${n}`);
const portions = portionsOf({ ids, timing: timing("0 3 * * *"), version: 7 });

/** A server where the checks of each batch had a schedule of their own before. */
function server(failsAt = 0) {
  const asked: SchedulesRequest[] = [];
  const ask = async (request: SchedulesRequest) => {
    asked.push(request);
    if (asked.length === failsAt) throw new Error("gone");
    const done = request.groups.flatMap((group) => group.ids);
    const previous = [{ ids: done, timing: timing(`${asked.length} 0 * * *`) }];
    return { done, unchanged: [], failed: [], previous, version: 100 + asked.length };
  };
  return { asked, ask };
}

test("more checks than fit in one request are set in batches, and undone in batches to their old schedules", async () => {
  const { asked, ask } = server();
  const { done, undo, fault } = await setSchedules(ask, portions);
  expect(asked.map(({ groups }) => groups.map((group) => group.ids.length))).toEqual([
    [BULK_CHECKS_MAX],
    [1],
  ]);
  expect([done.length, fault]).toEqual([ids.length, null]);
  await setSchedules(ask, undo);
  expect(asked.slice(2).map(({ groups }) => groups.map((group) => group.timing.schedule))).toEqual([
    ["2 0 * * *"],
    ["1 0 * * *"],
  ]);
  // Changes by others between the change and its undo are detected by the version.
  expect(asked.map(({ version }) => version)).toEqual([7, 7, 102, 101]);
});

test("if the second batch fails, no more requests are sent, and the first can be undone", async () => {
  const { asked, ask } = server(2);
  const { done, undo, fault } = await setSchedules(ask, [...portions, ...portions]);
  expect(asked).toHaveLength(2);
  expect(fault).toEqual(new Error("gone"));
  expect(done).toHaveLength(BULK_CHECKS_MAX);
  expect(undo).toHaveLength(1);
});
