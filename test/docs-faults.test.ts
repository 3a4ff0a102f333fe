// Holds the page about the fault run to what there is: every scenario, and every fault that can be planted for alerts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PLANTED } from "./faults/planted.ts";
import { SCENARIOS } from "./faults/scenarios/scenarios.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../docs/contribute/faults.md"), "utf8");
const PINGS = PAGE.slice(PAGE.indexOf("## Pings"), PAGE.indexOf("## Alerts"));
const ALERTS = PAGE.slice(PAGE.indexOf("## Alerts"));

/** Names in the first column of a table. */
function namesIn(text: string): string[] {
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ""),
  );
}

test("docs/contribute/faults.md has a row for every scenario, and for no other", () => {
  const named = [...namesIn(PINGS), ...namesIn(ALERTS)];
  expect(named.toSorted()).toEqual(SCENARIOS.map(({ name }) => name).toSorted());
});

test("docs/contribute/faults.md names every planted fault beside the alerts that show it", () => {
  const rows = ALERTS.split("\n").filter((line) => line.startsWith("| `"));
  for (const row of rows) {
    const [scenario = ""] = namesIn(row);
    const expected = Object.entries(PLANTED).filter(([, planted]) => planted.scenario === scenario);
    expect(expected.length).toBeGreaterThan(0);
    for (const [name] of expected) expect(row).toContain(`\`${name}\``);
  }
});
