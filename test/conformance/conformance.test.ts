// Every recorded answer is ours too, in both dialects: the whole corpus against the real program over HTTP.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { loadTopics, type MailStep, type Step, type Topic } from "./case-file.ts";
import { type Dialect, DIALECTS, expectationOf } from "./dialects.ts";
import { needsOf } from "./projects.ts";
import type { Report } from "./replay.ts";
import { reportLines, total, writeResults } from "./report.ts";
import { chooseTopics, LEFT_OUT, replayDialect } from "./run.ts";

/** It takes a quarter of a minute; a busy machine may need many times that. */
const REPLAY_MS_MAX = 600_000;

/** What was recorded, and what of it is replayed: all but the topics that are left out by name. */
const RECORDED = { topics: 25, cases: 536, steps: 3_024, projects: 556 };
/** Steps where a decision that the dialect reverts meets others: sent, but not checked. */
const UNJUDGED = { standard: 0, healthchecks: 12 };

const differs = (step: Step | MailStep) =>
  "send" in step && expectationOf(step, "healthchecks").expectation !== step.expect;

/** All cases; of the second dialect those with a step that it answers differently. `npm run conformance` replays all. */
function topicsFor(dialect: Dialect): Topic[] {
  const topics = chooseTopics({ only: null, text: "" });
  if (dialect === "standard") return topics;
  return topics
    .map(({ topic, cases }) => ({ topic, cases: cases.filter(({ steps }) => steps.some(differs)) }))
    .filter(({ cases }) => cases.length > 0);
}

let postgres: PostgresServer | undefined;
const reports: Report[] = [];

beforeAll(async () => {
  // The program refuses a server that does not keep its promises.
  postgres = await startPostgres({ binaries: embeddedPostgres() });
});

afterAll(async () => {
  if (reports.length === DIALECTS.length) writeResults(reports);
  await postgres?.stop();
});

describe("The recorded cases", () => {
  test("are all here", () => {
    const topics = loadTopics();
    const cases = topics.flatMap(({ cases: some }) => some);
    const steps = cases.flatMap(({ steps: some }) => some);
    expect({
      topics: topics.length,
      cases: cases.length,
      steps: steps.length,
      projects: needsOf(topics).length,
    }).toEqual(RECORDED);
  });

  test("are left out by whole topics only, which are named", () => {
    const names = loadTopics().map(({ topic }) => topic);
    const chosen = chooseTopics({ only: null, text: "" }).map(({ topic }) => topic);
    expect(names.filter((name) => !chosen.includes(name))).toEqual(LEFT_OUT);
  });
});

test.each(DIALECTS)(
  "Every recorded answer is ours in dialect %s",
  async (dialect) => {
    if (postgres === undefined) throw new Error("the database server is not there");
    const topics = topicsFor(dialect);
    const report = await replayDialect(topics, { postgres, dialect });
    reports.push(report);
    const lines = reportLines(report);
    console.log(lines.at(-1));
    expect(report.failures, lines.join("\n")).toEqual([]);
    const { cases, steps, passed, unjudged } = total(report);
    expect(cases).toBe(topics.flatMap((one) => one.cases).length);
    expect(cases).toBeGreaterThan(0);
    expect(passed).toBe(steps);
    expect(unjudged).toBe(UNJUDGED[dialect]);
  },
  REPLAY_MS_MAX,
);
