// Filters, orders and groups of the list. Nothing moves under the pointer.
import { describe, expect, test } from "vitest";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import {
  countStates,
  countTags,
  fitting,
  heldInPlace,
  inOrder,
  type Item,
  readView,
  toItems,
} from "./checks-view.ts";

const NOW = 1_000_000;

function row(name: string, more: Partial<CheckRow> = {}): CheckRow {
  return {
    id: `id-${name}`,
    name,
    slug: name,
    tags: [],
    state: "up",
    runningSince: null,
    expected: "",
    lastPingAt: null,
    lastDurationMs: null,
    fuse: null,
    downSince: null,
    downReason: null,
    exitStatus: null,
    tolerance: null,
    channelCount: 0,
    change: 1,
    readingOrder: 1,
    ...more,
  };
}

const late = (name: string, alertAt: number) => row(name, { fuse: { fromAt: 0, lateAt: NOW - 1, alertAt } });
const down = (name: string, downSince: number) => row(name, { state: "down", downSince });

const namesOf = (rows: readonly CheckRow[], query = "") => {
  const view = readView(query);
  const { urgent, calm } = fitting(inOrder(rows, view.order, NOW), view, NOW);
  return [...urgent, ...calm].map(({ name }) => name);
};

describe("The order", () => {
  test("puts the newest failures first, then the next alerts, then names, then new and paused", () => {
    const rows = [
      row("z", { state: "paused" }),
      row("y", { state: "new" }),
      row("b"),
      row("a"),
      late("late-2", NOW + 200),
      late("late-1", NOW + 100),
      down("down-1", 10),
      down("down-2", 20),
    ];
    expect(namesOf(rows)).toEqual(["down-2", "down-1", "late-1", "late-2", "a", "b", "y", "z"]);
  });

  test("compares numbers in names as numbers, and ignores case", () => {
    expect(namesOf([row("job-10"), row("Job-9"), row("job-1")])).toEqual(["job-1", "Job-9", "job-10"]);
    expect(namesOf([row("a"), row("b")], "?sort=-name")).toEqual(["b", "a"]);
  });

  test("by last ping puts checks that were never pinged at the old end", () => {
    const rows = [row("never"), row("old", { lastPingAt: 1 }), row("fresh", { lastPingAt: 9 })];
    expect(namesOf(rows, "?sort=-last_ping")).toEqual(["fresh", "old", "never"]);
    expect(namesOf(rows, "?sort=last_ping")).toEqual(["never", "old", "fresh"]);
  });

  test("keeps checks that need attention on top in every order", () => {
    expect(namesOf([row("a"), down("z", 1)], "?sort=name")).toEqual(["z", "a"]);
  });
});

describe("The filter", () => {
  const one = row("Nightly", { slug: "nb", tags: ["db", "prod"], runningSince: 1 });
  test.each([
    ["?search=night", true],
    ["?search=NB", true],
    ["?search=id-night", true],
    ["?search=prod", true],
    ["?search=x", false],
    ["?tag=db&tag=prod", true],
    ["?tag=db&tag=etl", false],
    ["?status=started", true],
    ["?status=up", false],
    ["?status=down&status=started", true],
  ])("%s: %s", (query, isThere) => expect(namesOf([one], query)).toEqual(isThere ? [one.name] : []));
});

describe("The lines", () => {
  const headings = { attention: "Needs attention", rest: "Everything else", untagged: "No tag" };
  const shownAs = (items: readonly Item[]) =>
    items.map((item) => (item.kind === "head" ? `# ${item.text}` : item.key));

  test("have headings only when there is more than one group", () => {
    const calm = [row("a")];
    expect(shownAs(toItems({ urgent: [], calm }, { ...headings, isGrouped: false }))).toEqual(["id-a"]);
    expect(shownAs(toItems({ urgent: [down("d", 1)], calm }, { ...headings, isGrouped: false }))).toEqual([
      "# Needs attention",
      "id-d",
      "# Everything else",
      "id-a",
    ]);
  });

  test("are grouped by their first tag on request, those without at the end", () => {
    const calm = [row("a"), row("b", { tags: ["prod"] }), row("c", { tags: ["db", "prod"] })];
    expect(shownAs(toItems({ urgent: [], calm }, { ...headings, isGrouped: true }))).toEqual([
      "# db",
      "id-c",
      "# prod",
      "id-b",
      "# No tag",
      "id-a",
    ]);
  });

  test("do not move while they are held: removed ones are left out, new ones come last", () => {
    const items = (...ids: string[]): Item[] => ids.map((key) => ({ kind: "row", key }));
    expect(heldInPlace(items("a", "b", "c"), items("c", "d", "a"))).toEqual(items("a", "c", "d"));
  });
});

describe("The counts", () => {
  test("count every row once, by the state that it shows", () => {
    const rows = [row("a"), row("r", { runningSince: 1 }), late("l", NOW + 1), down("d", 1)];
    expect(countStates(rows, NOW)).toEqual({ down: 1, late: 1, running: 1, up: 1, paused: 0, new: 0 });
  });

  test("of a tag have its worst state", () => {
    const rows = [row("a", { tags: ["db"] }), { ...down("d", 1), tags: ["db", "x"] }];
    expect(countTags(rows, NOW)).toEqual([
      { name: "db", count: 2, state: "down" },
      { name: "x", count: 1, state: "down" },
    ]);
  });
});
