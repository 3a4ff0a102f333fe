// Ticks as evidence: a stopped or suspended process leaves a gap, and a clock that is set back does not.
import { describe, expect, test } from "vitest";
import { Ticks } from "./heartbeat-state.ts";

const NOW = Date.UTC(2026, 10, 16, 12);

function ticking() {
  const time = { ms: 0, wall: NOW, now: NOW };
  const ticks = new Ticks({ monotonic: () => time.ms, wall: () => time.wall, now: () => time.now });
  const pass = (by: { ms?: number; wall?: number; now?: number }) => {
    time.ms += by.ms ?? 0;
    time.wall += by.wall ?? by.ms ?? 0;
    time.now += by.now ?? by.ms ?? 0;
    ticks.tick();
  };
  return { ticks, pass };
}

describe("ticks", () => {
  test("that follow on each other leave no gap", () => {
    const { ticks, pass } = ticking();
    for (let count = 0; count < 100; count += 1) pass({ ms: count % 2 === 0 ? 200 : 1_000 });
    expect(ticks.gaps()).toEqual([]);
    expect(ticks.takeHadGap()).toBe(false);
  });

  test("of a process that was stopped leave a gap from the last one before to the first one after", () => {
    const { ticks, pass } = ticking();
    pass({ ms: 200 });
    pass({ ms: 20_000 });
    pass({ ms: 200 });
    expect(ticks.gaps()).toEqual([{ from: NOW + 200, to: NOW + 20_200 }]);
    expect(ticks.takeHadGap()).toBe(true);
    expect(ticks.takeHadGap()).toBe(false);
    ticks.markReported(1);
    expect(ticks.gaps()).toEqual([]);
  });

  test("of a machine that was suspended leave one, though the monotonic clock stood still", () => {
    const { ticks, pass } = ticking();
    pass({ ms: 200, wall: 3_600_200 });
    expect(ticks.gaps()).toEqual([{ from: NOW, to: NOW + 200 }]);
  });

  test("are not disturbed by a clock that is set back", () => {
    const { ticks, pass } = ticking();
    pass({ ms: 200, wall: -300_000 });
    pass({ ms: 200 });
    expect(ticks.gaps()).toEqual([]);
  });

  test("that are late repeatedly are reported in a limited number of gaps, and none is left out", () => {
    const { ticks, pass } = ticking();
    for (let count = 0; count < 300; count += 1) pass({ ms: 1_500 });
    const gaps = ticks.gaps();
    expect(gaps).toHaveLength(100);
    expect(gaps.at(-1)?.to).toBe(NOW + 450_000);
  });
});
