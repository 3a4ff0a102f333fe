// Blind intervals learned heartbeat by heartbeat: none is missed, and known ones are not read repeatedly.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS } from "../core/instant.ts";
import type { NumberedBlind } from "../core/watermark.ts";
import { BlindIntervals } from "./heartbeat-state.ts";

const NOW = Date.UTC(2026, 10, 16, 12);

const blind = (id: number, changes: Partial<NumberedBlind> = {}): NumberedBlind => ({
  id,
  from: NOW - 1_000 * id,
  to: NOW - 1_000 * id + 500,
  ...changes,
});

/** The answer of a database with these rows. */
const after = (rows: readonly NumberedBlind[], id: number) => rows.filter((row) => row.id > id);

describe("blind times", () => {
  test("come in the order of their beginnings", () => {
    const times = new BlindIntervals();
    times.note([blind(1), blind(2), blind(3)], NOW);
    expect(times.all().map(({ from }) => from)).toEqual([NOW - 3_000, NOW - 2_000, NOW - 1_000]);
  });

  test("are read once, except for those of the last minute and the newest", () => {
    const times = new BlindIntervals();
    const rows = [blind(1), blind(2), blind(7)];
    expect(times.afterId).toBe(0);
    times.note(rows, NOW);
    expect(times.afterId).toBe(0);
    times.note(rows, NOW + 60_001);
    expect(times.afterId).toBe(6);
    times.note([...after(rows, 6), blind(9)], NOW + 61_000);
    expect(times.afterId).toBe(7);
    expect(times.all()).toHaveLength(4);
  });

  test("that have no end yet are read again until they have one", () => {
    const times = new BlindIntervals();
    times.note([blind(1), blind(2, { to: null }), blind(3)], NOW);
    times.note([blind(1), blind(2, { to: null }), blind(3)], NOW + 61_000);
    expect(times.afterId).toBe(1);
    times.note([blind(2), blind(3)], NOW + 62_000);
    expect(times.afterId).toBe(2);
    expect(times.all().every(({ to }) => to !== null)).toBe(true);
  });

  test("that the database does not have any more are noticed", () => {
    const times = new BlindIntervals();
    expect(times.note([blind(1), blind(2)], NOW)).toBe(true);
    expect(times.note([blind(1), blind(2)], NOW + 61_000)).toBe(true);
    expect(times.note([], NOW + 62_000)).toBe(false);
    times.clear();
    expect([times.afterId, times.all()]).toEqual([0, []]);
  });

  test("that are too old are dropped", () => {
    const times = new BlindIntervals();
    times.note([blind(1)], NOW);
    expect(times.note([], NOW + 94 * DAY_MS)).toBe(true);
    expect([times.afterId, times.all()]).toEqual([0, []]);
  });

  test("are all learned, in whatever order transactions commit within a minute", () => {
    const commits = fc.array(fc.record({ gapMs: fc.nat(40_000), delayMs: fc.nat(59_000) }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(commits, fc.integer({ min: 1_000, max: 5_000 }), (given, beatMs) => {
        const times = new BlindIntervals();
        let at = NOW;
        // IDs are assigned in this order; each becomes visible some time later.
        const rows = given.map(({ gapMs, delayMs }, index) => {
          at += gapMs;
          return { row: blind(index + 1, { from: at, to: at }), seenFromAt: at + delayMs };
        });
        for (let now = NOW; now < at + 130_000; now += beatMs) {
          const visible = rows.filter(({ seenFromAt }) => seenFromAt <= now).map(({ row }) => row);
          expect(times.note(after(visible, times.afterId), now)).toBe(true);
        }
        expect(times.all()).toHaveLength(rows.length);
      }),
    );
  });
});
