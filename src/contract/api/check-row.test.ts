// The sort order by urgency, and the title of a list.
import { expect, test } from "vitest";
import { type CheckRow, comparePlaces, naturalKey, placeByNeed } from "./check-row.ts";
import { checksTitle } from "./words.ts";

const row = (name: string, more: Partial<CheckRow> = {}) =>
  ({ id: name, name, state: "up", fuse: null, downSince: null, ...more }) as CheckRow;

test("the latest failures come first, then the next alerts, then names in natural order, then new and paused", () => {
  const late = (name: string, alertAt: number) =>
    row(name, { state: "late", fuse: { fromAt: 0, lateAt: 1, alertAt } });
  const rows = [
    row("z", { state: "paused" }),
    row("y", { state: "new" }),
    row("job-10"),
    row("Job-9"),
    late("late-2", 200),
    late("late-1", 100),
    row("down-1", { state: "down", downSince: 10 }),
    row("down-2", { state: "down", downSince: 20 }),
  ];
  const placed = rows.map((one) => placeByNeed(one, one.state, naturalKey(one.name)));
  expect(placed.toSorted(comparePlaces).map(({ id }) => id)).toEqual([
    "down-2",
    "down-1",
    "late-1",
    "late-2",
    "Job-9",
    "job-10",
    "y",
    "z",
  ]);
});

const NONE = { new: 0, up: 0, late: 0, down: 0, paused: 0, running: 0 };
test.each([
  [{}, 0, "No checks yet"],
  [{ down: 1, up: 9 }, 10, "1 job needs attention"],
  [{ down: 13, late: 2 }, 15, "13 jobs need attention"],
  [{ late: 2, up: 1 }, 3, "2 jobs are late"],
  [{ running: 1 }, 1, "The job is on time"],
  [{ up: 1, running: 1 }, 2, "Both jobs are on time"],
  [{ up: 9_999, running: 1 }, 10_000, "All 10,000 jobs are on time"],
  [{ new: 3 }, 3, "Waiting for the first ping"],
  [{ paused: 3 }, 3, "All checks are paused"],
])("%j of %i: %s", (counts, total, title) => {
  expect(checksTitle({ ...NONE, ...counts }, total)).toBe(title);
});
