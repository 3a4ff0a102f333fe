// The mail benchmark at its smallest: that it runs, that every message is answered well (it throws otherwise), and that
// it gives the figures it promises. What they are means nothing here.
import { expect, test } from "vitest";
import { benchSmtp } from "../bench/smtp/bench-smtp.ts";
import { SMTP_SIZES } from "../bench/smtp/sizes.ts";

const RUN_MS_MAX = 600_000;

test(
  "The mail benchmark runs and gives every figure",
  async () => {
    const figures = await benchSmtp(SMTP_SIZES.small, () => {});
    expect(Object.keys(figures)).toEqual(["smtp.per_second", "smtp.bare_per_second", "smtp.over_bare"]);
    for (const [name, value] of Object.entries(figures)) expect(value, name).toBeGreaterThan(0);
  },
  RUN_MS_MAX,
);
