// The benchmark of status pages at its smallest: that it runs, that everything is answered well (it throws otherwise), and
// that it gives the figures it promises. What they are means nothing here.
import { expect, test } from "vitest";
import { benchStatus } from "../bench/status/bench-status.ts";
import { STATUS_SIZES } from "../bench/status/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The benchmark of status pages runs and gives every figure",
  async () => {
    const figures = await benchStatus(STATUS_SIZES.small, () => {});
    for (const name of ["per_second", "static_per_second", "over_static"]) {
      expect(figures[`status.${name}`], name).toBeGreaterThan(0);
    }
  },
  RUN_MS_MAX,
);
