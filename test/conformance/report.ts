// What a replay came to, for people and for machines.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Report, Tally } from "./replay.ts";

const TOPIC_WIDTH = 24;
const COUNT_WIDTH = 4;
const RESULTS_PATH = join(import.meta.dirname, "../../test-results/conformance.json");

/** The sum over all topics. */
export function total({ topics }: Report): Tally {
  const sum = { steps: 0, passed: 0, unjudged: 0, cases: 0, casesPassed: 0 };
  for (const tally of topics.values()) {
    sum.steps += tally.steps;
    sum.passed += tally.passed;
    sum.unjudged += tally.unjudged;
    sum.cases += tally.cases;
    sum.casesPassed += tally.casesPassed;
  }
  return sum;
}

/** Failing steps, the count of each topic, and last the line that sums up. */
export function reportLines(report: Report): string[] {
  const { dialect, topics, failures } = report;
  const lines = [`dialect ${dialect}`];
  for (const failure of failures) {
    const decided = failure.decided === null ? "" : `, ${failure.decided}`;
    lines.push(
      `FAILED ${failure.topic}: ${failure.case} (step ${failure.step}${decided})`,
      `  ${failure.request}`,
    );
    lines.push(...failure.problems.map((problem) => `  ${problem}`));
    if (failure.got !== null) lines.push(`  answer: ${failure.got}`);
  }
  for (const [topic, { passed, steps }] of topics) {
    lines.push(`${topic.padEnd(TOPIC_WIDTH)} ${String(passed).padStart(COUNT_WIDTH)} / ${steps}`);
  }
  const { steps, passed, unjudged } = total(report);
  if (unjudged > 0)
    lines.push(`${unjudged} steps were sent and not judged: no recorded answer fits this dialect`);
  return [...lines, `conformance: ${passed} of ${steps} steps, dialect ${dialect}`];
}

/** The report as one plain object. */
export function reportObject(report: Report): Record<string, unknown> {
  return { ...total(report), topics: Object.fromEntries(report.topics), failures: report.failures };
}

/** Leaves what became of each case in test-results/conformance.json, for whoever proves promises by cases. */
export function writeResults(reports: readonly Report[]): void {
  const results = Object.fromEntries(reports.map(({ dialect, cases }) => [dialect, { cases }]));
  mkdirSync(dirname(RESULTS_PATH), { recursive: true });
  writeFileSync(RESULTS_PATH, `${JSON.stringify(results, null, 1)}\n`);
}
