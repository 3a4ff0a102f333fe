// The timeline benchmark at its smallest: that it runs in a browser, and that it gives the figures it promises. What they
// are means nothing here.
import { expect, test } from "vitest";
import { benchTimeline } from "../bench/timeline/bench-timeline.ts";
import { TIMELINE_SIZES } from "../bench/timeline/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The timeline benchmark runs and gives every figure",
  async () => {
    const figures = await benchTimeline(TIMELINE_SIZES.small, () => {});
    expect(Object.keys(figures)).toEqual([
      "timeline.first_paint_ms",
      "timeline.kb",
      "timeline.statements",
      "timeline.longest_task_ms",
      "timeline.month_over_day",
    ]);
    for (const [name, value] of Object.entries(figures)) {
      if (name !== "timeline.longest_task_ms") expect(value, name).toBeGreaterThan(0);
    }
  },
  RUN_MS_MAX,
);
