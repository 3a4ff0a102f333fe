// Where the timeline draws marks, labels, changes of the clocks and columns.
import { describe, expect, test } from "vitest";
import type { Mark, MarkKind } from "../../src/contract/api/timeline-marks.ts";
import {
  atOf,
  axisOf,
  clockChanges,
  columnsOf,
  dayHours,
  lastMark,
  loadLevel,
  markAt,
  shapesOf,
  steppedMark,
  stepOf,
  xOf,
} from "./timeline-drawing.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const FROM = Date.UTC(2026, 9, 24, 12);
/** One pixel is a minute. */
const frame = { fromAt: FROM, toAt: FROM + 600 * MINUTE_MS, width: 600 };

const mark = (kind: MarkKind, fromMin: number, toMin = fromMin, change: Partial<Mark> = {}): Mark => ({
  kind,
  from: FROM + fromMin * MINUTE_MS,
  to: FROM + toMin * MINUTE_MS,
  count: 1,
  expectedAt: FROM + fromMin * MINUTE_MS,
  n: 7,
  ...change,
});
const every = (kind: MarkKind, count: number, stepMin: number) =>
  Array.from({ length: count }, (_, index) => mark(kind, 10 + index * stepMin));

test("places and instants match", () => {
  expect(xOf(FROM + 30 * MINUTE_MS, frame)).toBe(30);
  expect(atOf(30, frame)).toBe(FROM + 30 * MINUTE_MS);
});

describe("Marks", () => {
  test("a run is as wide as it was long, and never invisible", () => {
    expect(shapesOf([mark("ran", 10, 50), mark("ran", 100)], frame)).toMatchObject([
      { x: 10, width: 40, isRibbon: false },
      { x: 100, width: 3, isRibbon: false },
    ]);
  });

  test("successes closer than seven pixels are one ribbon, two of them are not", () => {
    expect(shapesOf(every("ran", 10, 5), frame)).toMatchObject([
      { isRibbon: true, x: 10, width: expect.closeTo(48), first: 0, last: 9 },
    ]);
    expect(shapesOf(every("ran", 2, 5), frame)).toHaveLength(2);
    expect(shapesOf(every("ran", 10, 8), frame)).toHaveLength(10);
  });

  test("a ribbon ends where runs are missing", () => {
    const marks = [
      ...every("ran", 5, 5),
      ...every("ran", 5, 5).map((one) => ({ ...one, from: one.from + HOUR_MS, to: one.to + HOUR_MS })),
    ];
    expect(shapesOf(marks, frame).map(({ x }) => x)).toEqual([10, 70]);
  });

  test("a mark of several runs is a ribbon, and joins its neighbors", () => {
    const marks = [mark("ran", 10, 100, { count: 40 }), mark("ran", 104), mark("ran", 109)];
    expect(shapesOf(marks, frame)).toMatchObject([{ isRibbon: true, x: 10, width: 102, last: 2 }]);
  });

  test("problems are never part of a ribbon, and lie on top of it", () => {
    const marks = [
      ...every("ran", 4, 5),
      mark("failed", 30),
      mark("late", 35, 36, { expectedAt: FROM + 20 * MINUTE_MS }),
      mark("ran", 38),
    ];
    const shapes = shapesOf(marks, frame);
    expect(shapes.map(({ kind }) => kind)).toEqual(["ran", "ran", "failed", "late"]);
    expect(shapes.at(-1)).toMatchObject({ leadX: 20, x: 35 });
  });

  test("what came is behind what is missing, and silences are behind everything", () => {
    const marks = [mark("missed", 5), mark("ran", 20), mark("silenced", 30, 90), mark("ahead", 40)];
    expect(shapesOf(marks, frame).map(({ kind }) => kind)).toEqual(["silenced", "ran", "ahead", "missed"]);
  });

  test("missing runs are boxes of their own as long as they can be told apart", () => {
    expect(shapesOf(every("missed", 3, 8), frame)).toHaveLength(3);
    expect(shapesOf(every("missed", 3, 5), frame)).toMatchObject([{ isRibbon: true, width: 17 }]);
  });

  test("a check that is late now has only its wait drawn", () => {
    const waiting = mark("late", 90, 90, { count: 0, expectedAt: FROM + 60 * MINUTE_MS });
    expect(shapesOf([waiting], frame)).toMatchObject([{ leadX: 60, x: 90, width: 0 }]);
  });

  test("what is outside of the range is not drawn", () => {
    expect(shapesOf([mark("ran", -50, -10), mark("ran", 700)], frame)).toEqual([]);
    expect(shapesOf([mark("ran", -50, 10)], frame)).toHaveLength(1);
  });

  test("failures in the same pixel are drawn once", () => {
    const marks = Array.from({ length: 50 }, (_, index) => mark("failed", 10 + index / 100));
    expect(shapesOf(marks, frame)).toHaveLength(1);
  });
});

describe("The pointer", () => {
  const marks = [...every("ran", 10, 5), mark("failed", 30), mark("silenced", 200, 300)];
  const at = (x: number) => markAt(shapesOf(marks, frame), marks, x, frame);

  test("finds the run of a ribbon that is nearest", () => {
    expect(at(51)).toBe(8);
    expect(at(10)).toBe(0);
  });

  test("prefers what lies on top, and finds nothing far away or where nothing ran", () => {
    expect(at(30)).toBe(10);
    expect(at(150)).toBeNull();
    expect(at(250)).toBeNull();
  });

  test("steps from run to run and stays at the ends", () => {
    const row = [mark("ran", 1), mark("silenced", 2), mark("failed", 3), mark("ahead", 4)];
    expect(lastMark(row)).toBe(2);
    expect(lastMark([mark("ahead", 4)])).toBe(0);
    expect(lastMark([])).toBeNull();
    expect(steppedMark(row, null, 1)).toBe(2);
    expect(steppedMark(row, 2, -1)).toBe(0);
    expect(steppedMark(row, 2, 1)).toBe(3);
    expect(steppedMark(row, 3, 1)).toBe(3);
  });
});

describe("The axis", () => {
  const texts = (
    from: number,
    hours: number,
    options: { width?: number; now?: number; zone?: string } = {},
  ) => {
    const { width = 800, now = 0, zone = "Europe/Riga" } = options;
    const axis = axisOf({ fromAt: from, toAt: from + hours * HOUR_MS, width }, { zone, now });
    return axis.labels.map(({ text }) => text);
  };

  test("has steps that leave room for their labels", () => {
    const step = (hours: number, width: number) =>
      stepOf({ fromAt: 0, toAt: hours * HOUR_MS, width }) / HOUR_MS;
    expect([
      step(6, 800),
      step(24, 800),
      step(24, 390),
      step(168, 800),
      step(720, 800),
      step(2_160, 800),
    ]).toEqual([0.5, 2, 4, 24, 168, 168]);
  });

  test("shows local times, and the day where it begins", () => {
    const shown = texts(Date.UTC(2026, 10, 17, 18), 12);
    expect(shown).toContain("22:00");
    expect(shown).toContain("Wed 18 Nov");
    expect(shown).toContain("Tue 17 Nov");
  });

  test("shows times of zones that are half an hour off", () => {
    expect(texts(Date.UTC(2026, 10, 17, 18), 12, { zone: "Asia/Kolkata" })).toContain("02:00");
  });

  test("of a week shows days, and of a month weeks", () => {
    expect(texts(Date.UTC(2026, 10, 16), 168)).toEqual(expect.arrayContaining(["Tue 17", "November 2026"]));
    expect(texts(Date.UTC(2026, 9, 20), 720)).toEqual(expect.arrayContaining(["2 Nov", "November 2026"]));
  });

  test("leaves out the time that now covers", () => {
    const now = Date.UTC(2026, 10, 17, 22, 5);
    const shown = texts(Date.UTC(2026, 10, 17, 18), 12, { now });
    expect(shown).toContain("now 00:05");
    expect(shown).not.toContain("00:00");
  });

  test("labels never overlap and never leave the picture", () => {
    for (const hours of [1, 6, 24, 168, 720, 2_160]) {
      for (const width of [280, 390, 820, 1_600]) {
        const fromAt = Date.UTC(2026, 9, 24, 15);
        const given = { fromAt, toAt: fromAt + hours * HOUR_MS, width };
        const { labels } = axisOf(given, { zone: "Europe/Riga", now: fromAt + hours * 0.6 * HOUR_MS });
        for (const line of [0, 1]) {
          const boxes = labels
            .filter((label) => label.line === line)
            .map(({ text, x, anchor }) => {
              const wide = text.length * 6.4;
              const left = anchor === "start" ? x : anchor === "end" ? x - wide : x - wide / 2;
              return { left, right: left + wide };
            })
            .toSorted((a, b) => a.left - b.left);
          for (const [index, box] of boxes.entries()) {
            expect(box.left, `${hours} ${width}`).toBeGreaterThanOrEqual(-1);
            expect(box.right, `${hours} ${width}`).toBeLessThanOrEqual(width + 1);
            expect(box.left).toBeGreaterThanOrEqual((boxes[index - 1]?.right ?? -99) - 1);
          }
        }
      }
    }
  });
});

describe("Changes of the clocks", () => {
  const night = { fromAt: Date.UTC(2026, 9, 24, 12), toAt: Date.UTC(2026, 9, 25, 12) };
  const change = Date.UTC(2026, 9, 25, 1);

  test("are found to the minute", () => {
    expect(clockChanges(night, "Europe/Riga")).toEqual([
      { at: change, byMs: -HOUR_MS, offsetMs: 2 * HOUR_MS },
    ]);
    expect(clockChanges(night, "UTC")).toEqual([]);
    expect(
      clockChanges({ fromAt: Date.UTC(2026, 0, 1), toAt: Date.UTC(2026, 2, 30) }, "Europe/Riga"),
    ).toEqual([{ at: Date.UTC(2026, 2, 29, 1), byMs: HOUR_MS, offsetMs: 3 * HOUR_MS }]);
  });

  test("say on the axis what the clocks showed", () => {
    const { labels } = axisOf({ ...night, width: 800 }, { zone: "Europe/Riga", now: 0 });
    expect(labels.filter(({ kind }) => kind === "clock").map(({ text }) => text)).toEqual([
      "04:00 → 03:00",
      "03 again",
    ]);
    const narrow = axisOf({ ...night, width: 390 }, { zone: "Europe/Riga", now: 0 });
    expect(narrow.labels.filter(({ kind }) => kind === "clock").map(({ text }) => text)).toEqual([
      "clocks −1 h",
    ]);
  });

  test("make a day longer or shorter", () => {
    expect(dayHours(change, "Europe/Riga")).toBe(25);
    expect(dayHours(change + 3 * DAY_MS, "Europe/Riga")).toBe(24);
    expect(dayHours(Date.UTC(2026, 2, 29, 12), "Europe/Riga")).toBe(23);
  });
});

describe("Columns", () => {
  const series = { fromAt: FROM, stepMs: MINUTE_MS, values: [1, 5, 2, 0, 7] };

  test("combine steps that are too narrow", () => {
    expect(columnsOf(series, frame, { leastPx: 2, by: "max" }).map(({ value }) => value)).toEqual([5, 2, 7]);
    expect(columnsOf(series, frame, { leastPx: 2, by: "sum" }).map(({ value }) => value)).toEqual([6, 2, 7]);
    expect(columnsOf(series, frame, { leastPx: 1, by: "max" })).toHaveLength(5);
  });

  test("outside of the range are left out", () => {
    const later = { ...frame, fromAt: FROM + 3 * MINUTE_MS, toAt: FROM + 603 * MINUTE_MS };
    expect(columnsOf(series, later, { leastPx: 1, by: "max" }).map(({ value }) => value)).toEqual([0, 7]);
  });

  test("have four levels", () => {
    expect([1, 3, 6, 9].map((value) => loadLevel(value, 10))).toEqual([1, 2, 3, 4]);
  });
});
