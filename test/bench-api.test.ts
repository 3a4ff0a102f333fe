// The API benchmark at its smallest: that it runs, that everything it sends is answered well and that bare SQL does
// the same work (it throws otherwise), and that it gives the figures it promises. What they are means nothing here.
import { expect, test } from "vitest";
import { benchApi } from "../bench/api/bench-api.ts";
import { API_SIZES } from "../bench/api/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The API benchmark runs and gives every figure",
  async () => {
    const figures = await benchApi(API_SIZES.small, () => {});
    const { small, large } = API_SIZES.small;
    for (const work of ["create", "get", "unique_key_get", "update", `list_${small}`, `list_${large}`]) {
      for (const figure of ["per_second", "over_bare_sql", "over_noop"]) {
        expect(figures[`api.${work}.${figure}`], `${work}.${figure}`).toBeGreaterThan(0);
      }
    }
    for (const figure of [`list_${large}_ms`, "list_304_ms"])
      expect(figures[`api.${figure}`]).toBeGreaterThan(0);
    expect(Object.keys(figures)).toHaveLength(20);
  },
  RUN_MS_MAX,
);
