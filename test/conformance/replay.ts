// Replays recorded cases against a server, step by step, and counts. How requests are answered and where the
// projects of a case come from is handed in, so that the same replay serves a test and a whole corpus.
import { setTimeout as pause } from "node:timers/promises";
import type { Case, Setup, Step, Topic } from "./case-file.ts";
import { type Answer, type Completeness, differences, shortened } from "./comparison.ts";
import { type FilledRequest, requestOf } from "./http-server-under-test.ts";
import { type Bindings, filled, UnboundError } from "./template.ts";

const SECOND_MS = 1_000;

/** A project as a client knows it. */
export type ProjectUnderTest = {
  uuid: string;
  apiKey: string;
  apiKeyReadonly: string;
  pingKey: string;
  channelUuids: readonly string[];
};

/** What came of a request; a skipped one could not be asked for yet. */
export type Reply = { answer: Answer; completeness: Completeness } | "skipped";

export type ServerUnderTest = {
  /** Its address, as it writes it into answers. */
  site: string;
  answer(what: FilledRequest): Promise<Reply>;
  /** A fresh project; null where such projects cannot be made, and then the case is skipped. */
  newProject(setup: Setup): Promise<ProjectUnderTest | null>;
};

export type Tally = { steps: number; passed: number; skipped: number };
export type Failure = { topic: string; case: string; step: number; request: string; problems: string[] };
export type Report = { topics: ReadonlyMap<string, Tally>; failures: readonly Failure[] };

type StepResult = "passed" | "skipped" | { request: string; problems: string[] };

/** Replays all cases of the topics, each in projects of its own. */
export async function replay(topics: readonly Topic[], server: ServerUnderTest): Promise<Report> {
  const tallies = new Map<string, Tally>();
  const failures: Failure[] = [];
  for (const { topic, cases } of topics) {
    const tally = { steps: 0, passed: 0, skipped: 0 };
    tallies.set(topic, tally);
    for (const one of cases) {
      const results = await replayCase(one, server);
      for (const [index, result] of results.entries()) {
        tally.steps += 1;
        if (typeof result === "string") tally[result] += 1;
        else failures.push({ topic, case: one.name, step: index + 1, ...result });
      }
    }
  }
  return { topics: tallies, failures };
}

async function replayCase(one: Case, server: ServerUnderTest): Promise<StepResult[]> {
  const bindings = await prepare(one, server);
  if (bindings === null) return one.steps.map(() => "skipped");
  const results: StepResult[] = [];
  for (const step of one.steps) {
    results.push(await replayStep(step, { server, bindings, isAfterSkipped: results.includes("skipped") }));
  }
  return results;
}

/** The values that a case may name from the start; null when it asks for projects that cannot be had. */
async function prepare(one: Case, server: ServerUnderTest): Promise<Bindings | null> {
  const bindings: Bindings = new Map([
    ["site", server.site],
    ["now", new Date().toISOString()],
  ]);
  for (let number = 1; number <= (one.projects ?? 1); number++) {
    const project = await server.newProject(one.setup ?? {});
    if (project === null) return null;
    const tail = number === 1 ? "" : String(number);
    bindings.set(`project${tail}`, project.uuid);
    bindings.set(`rw${tail}`, project.apiKey);
    bindings.set(`ro${tail}`, project.apiKeyReadonly);
    bindings.set(`pingkey${tail}`, project.pingKey);
    const channelTail = tail === "" ? "" : `_${tail}`;
    project.channelUuids.forEach((uuid, index) => bindings.set(`channel${index + 1}${channelTail}`, uuid));
  }
  return bindings;
}

type Situation = { server: ServerUnderTest; bindings: Bindings; isAfterSkipped: boolean };

async function replayStep(step: Step, { server, bindings, isAfterSkipped }: Situation): Promise<StepResult> {
  const { method, path } = step.send;
  const failed = (...problems: string[]) => ({ request: `${method} ${shortened(path)}`, problems });
  if (step.wait !== undefined) await pause(step.wait * SECOND_MS);
  let reply: Reply;
  try {
    reply = await server.answer(requestOf(filled(step.send, bindings)));
  } catch (error) {
    if (!(error instanceof UnboundError)) return failed(`no answer: ${String(error)}`);
    // The answer that would have given the name was not asked for.
    return isAfterSkipped ? "skipped" : failed(`not sent: no earlier answer gave ${error.message}`);
  }
  if (reply === "skipped") return "skipped";
  const { answer, completeness } = reply;
  const problems = differences(step.expect, answer, { bindings, completeness });
  if (problems.length === 0) return "passed";
  return failed(...problems, `answer: ${answer.status} ${shortened(answer.body.toString("utf8"))}`);
}

/** The report for people; the last line counts. */
export function reportLines({ topics, failures }: Report): string[] {
  const lines = [...topics].map(([topic, { steps, passed, skipped }]) => {
    const tail = skipped === 0 ? "" : ` (${skipped} skipped)`;
    return `${topic.padEnd(24)} ${String(passed).padStart(4)} / ${steps}${tail}`;
  });
  for (const failure of failures) {
    lines.push(`FAILED ${failure.topic}: ${failure.case} (step ${failure.step})`, `  ${failure.request}`);
    lines.push(...failure.problems.map((problem) => `  ${problem}`));
  }
  const total = { steps: 0, passed: 0, skipped: 0 };
  for (const tally of topics.values()) {
    total.steps += tally.steps;
    total.passed += tally.passed;
    total.skipped += tally.skipped;
  }
  return [...lines, `conformance: ${total.passed} of ${total.steps} steps (${total.skipped} skipped)`];
}
