// The sweep benchmark at its smallest: that it runs, that every deadline has fired with its delivery (it throws when the
// counts are wrong), and that it gives the figures it promises. What they are means nothing here.
import { expect, test } from "vitest";
import { benchSweep } from "../bench/sweep/bench-sweep.ts";
import { SWEEP_SIZES } from "../bench/sweep/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The sweep benchmark runs and counts every flip and delivery",
  async () => {
    const figures = await benchSweep(SWEEP_SIZES.small, () => {});
    expect(Object.keys(figures)).toEqual(["sweep.seconds", "sweep.per_second", "sweep.over_bare_sql"]);
    for (const [name, value] of Object.entries(figures)) expect(value, name).toBeGreaterThan(0);
  },
  RUN_MS_MAX,
);
