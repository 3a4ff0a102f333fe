// The benchmark of cells at its smallest: that it runs, that everything is answered well (it throws otherwise), and that it
// gives the figures it promises. What they are means nothing here.
import { expect, test } from "vitest";
import { benchCells } from "../bench/cells/bench-cells.ts";
import { CELLS_SIZES } from "../bench/cells/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The benchmark of cells runs and gives every figure",
  async () => {
    const figures = await benchCells(CELLS_SIZES.small, () => {});
    for (const name of [
      "two_over_one",
      "other_p99_ratio",
      "ping_cpu_us_1",
      "router_cpu_us_0",
      "router_tls_us",
    ]) {
      expect(figures[`cells.${name}`], name).toBeGreaterThan(0);
    }
  },
  RUN_MS_MAX,
);
