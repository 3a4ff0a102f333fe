// Metrics that are read on request: unknown values are omitted, not reported as zero.
import { expect, test } from "vitest";
import { addFigures, createMetrics } from "./metrics.ts";

test("a metric is read on request, and absent while it is null", async () => {
  const metrics = createMetrics({ version: "0" });
  let value: number | null = null;
  addFigures(metrics, [
    { name: "one_gauge", help: "A gauge.", kind: "gauge", read: () => value },
    { name: "one_total", help: "A counter.", kind: "counter", read: () => value },
    {
      name: "by_word",
      help: "A gauge for each word.",
      kind: "gauge",
      label: "word",
      readEach: (): Record<string, number> => (value === null ? {} : { a: value, b: 0 }),
    },
  ]);
  const shown = async () =>
    (await metrics.registry.metrics()).split("\n").filter((line) => /^(one_|by_word)/.test(line));
  expect(await shown()).toEqual([]);
  for (const next of [3, 0]) {
    value = next;
    const all = ["one_gauge", "one_total", 'by_word{word="a"}'].map((name) => `${name} ${next}`);
    expect(await shown()).toEqual([...all, 'by_word{word="b"} 0']);
  }
  value = null;
  expect(await shown()).toEqual([]);
});
