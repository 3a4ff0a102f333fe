// The delivery benchmark at its smallest: that it runs, that every message came once (it throws otherwise), and that it
// gives the figures it promises. What they are means nothing here.
import { expect, test } from "vitest";
import { benchDeliver } from "../bench/deliver/bench-deliver.ts";
import { DELIVER_SIZES } from "../bench/deliver/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The delivery benchmark runs and counts every message",
  async () => {
    const tiny = { ...DELIVER_SIZES.small, deliveries: 60, channels: 4, spreadSeconds: 1 };
    const figures = await benchDeliver(tiny, () => {});
    for (const name of ["p50_s", "p99_s", "burst_per_second"]) {
      expect(figures[`deliver.${name}`], name).toBeGreaterThan(0);
    }
  },
  RUN_MS_MAX,
);
