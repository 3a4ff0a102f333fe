// The memory benchmark at its smallest: that it runs on the built program, and that it gives the figures it promises.
// What they are means nothing here.
import { expect, test } from "vitest";
import { benchMemory } from "../bench/memory/bench-memory.ts";
import { MEMORY_SIZES } from "../bench/memory/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The memory benchmark runs and gives every figure",
  async () => {
    const figures = await benchMemory(MEMORY_SIZES.small, () => {});
    expect(Object.keys(figures)).toEqual([
      "memory.idle_mb",
      "memory.pings_1000_mb",
      "memory.dashboard_10k_mb",
      "memory.version_over_bare_node_ms",
    ]);
    for (const [name, value] of Object.entries(figures)) expect(value, name).toBeGreaterThan(0);
  },
  RUN_MS_MAX,
);
