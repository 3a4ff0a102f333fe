// The timeline's view in the URL, and its moves and zooms.
import { describe, expect, test } from "vitest";
import {
  askedOf,
  boundedRange,
  FIRST_VIEW,
  isFilteredView,
  movedView,
  nowView,
  rangeOf,
  readTimelineView,
  selectedView,
  type TimelineView,
  writeTimelineView,
  zoomedView,
} from "./timeline-view.ts";

const NOW = Date.UTC(2026, 9, 25, 4, 1);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const view = (change: Partial<TimelineView>): TimelineView => ({ ...FIRST_VIEW, ...change });

describe("The URL", () => {
  test("of the first view is empty", () => {
    expect(writeTimelineView(FIRST_VIEW)).toBe("");
    expect(readTimelineView("")).toEqual(FIRST_VIEW);
    expect(askedOf(FIRST_VIEW)).toEqual({});
  });

  test.each([
    view({ zoom: "7d", search: "backup", isTable: true }),
    view({ range: { fromAt: NOW - HOUR_MS, toAt: NOW }, tag: "db & co", state: "trouble", zoom: "7d" }),
    view({ mode: "density", isGrouped: false, state: "running" }),
  ])("keeps the range and the filters: %o", (one) => {
    expect(readTimelineView(writeTimelineView(one))).toEqual(one);
  });

  test("a selected range replaces the zoom level", () => {
    expect(askedOf(view({ zoom: "7d", range: { fromAt: NOW - HOUR_MS, toAt: NOW } }))).toEqual({
      from: NOW - HOUR_MS,
      to: NOW,
    });
  });

  test.each([
    "range=2y",
    "from=1&to=2",
    "from=abc&to=def",
    `from=${NOW}&to=${NOW - HOUR_MS}`,
    `from=${NOW - 365 * DAY_MS}&to=${NOW}`,
    "state=odd&mode=3d&group=color&view=list",
  ])("with anything invalid (%s) is the first view", (text) => {
    expect(readTimelineView(text)).toEqual(FIRST_VIEW);
  });

  test("tells whether checks are filtered out", () => {
    expect(isFilteredView(view({ zoom: "6h", mode: "rows" }))).toBe(false);
    expect(isFilteredView(view({ search: " " }))).toBe(false);
    expect(isFilteredView(view({ tag: "db" }))).toBe(true);
  });
});

describe("Moving and zooming", () => {
  test("a move is a quarter of the range, and stays at that place", () => {
    const { fromAt, toAt } = rangeOf(FIRST_VIEW, NOW);
    const { range } = movedView(FIRST_VIEW, -1, NOW);
    expect(range).toEqual({ fromAt: fromAt - 6 * HOUR_MS, toAt: toAt - 6 * HOUR_MS });
    expect(nowView(view({ range })).range).toBeNull();
  });

  test("a move into the future ends with the prediction, one into the past with the history", () => {
    const later = movedView(view({ zoom: "90d" }), 1, NOW).range;
    expect(later?.toAt).toBe(NOW + 7 * DAY_MS);
    let moved = view({ zoom: "90d" });
    for (let n = 0; n < 5; n += 1) moved = movedView(moved, -1, NOW);
    expect(moved.range?.fromAt).toBe(NOW - 92 * DAY_MS);
  });

  test("zooming goes from level to level around now", () => {
    expect(zoomedView(FIRST_VIEW, "in", NOW)).toEqual(view({ zoom: "6h" }));
    expect(zoomedView(view({ zoom: "6h" }), "in", NOW)).toEqual(view({ zoom: "6h" }));
    expect(zoomedView(FIRST_VIEW, "out", NOW)).toEqual(view({ zoom: "7d" }));
  });

  test("a selected range is halved and doubled around its middle", () => {
    const range = { fromAt: NOW - 4 * HOUR_MS, toAt: NOW };
    expect(zoomedView(view({ range }), "in", NOW).range).toEqual({
      fromAt: NOW - 3 * HOUR_MS,
      toAt: NOW - HOUR_MS,
    });
    expect(zoomedView(view({ range }), "out", NOW).range).toEqual({
      fromAt: NOW - 6 * HOUR_MS,
      toAt: NOW + 2 * HOUR_MS,
    });
  });

  test("a selection is never too short or too long to show, and begins with a minute", () => {
    const short = selectedView(FIRST_VIEW, { fromAt: NOW + 7, toAt: NOW + 9 }, NOW).range;
    expect((short?.toAt ?? 0) - (short?.fromAt ?? 0)).toBe(10 * MINUTE_MS);
    expect((short?.fromAt ?? 1) % MINUTE_MS).toBe(0);
    const long = boundedRange({ fromAt: 0, toAt: NOW }, NOW);
    expect(long.toAt - long.fromAt).toBe(90 * DAY_MS);
  });
});
