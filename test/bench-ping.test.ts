// The ping benchmark at its smallest: that it runs, that it counts right (it throws when answers and database do not
// agree), and that it gives the figures it promises. What they are means nothing here.
import { expect, test } from "vitest";
import { benchPing } from "../bench/ping/bench-ping.ts";
import { PING_SIZES } from "../bench/ping/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The ping benchmark runs and counts every answer",
  async () => {
    const tiny = { ...PING_SIZES.small, small: 300, large: 600, bodies: [1_000] };
    const figures = await benchPing(tiny, () => {});
    const names = [
      "per_second",
      "over_bare_transaction",
      "over_sum_of_parts",
      "p50_ms",
      "p99_ms",
      "p99_between_checkpoints_ms",
      "large_over_small",
    ];
    for (const name of names) expect(figures[`ping.body_${name}`], name).toBeGreaterThan(0);
    expect(figures["ping.per_second"], "only bodies were asked for").toBeUndefined();
  },
  RUN_MS_MAX,
);
