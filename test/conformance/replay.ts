// Replays recorded cases against a server, step by step, and counts. How a request gets its answer and where the
// projects of a case come from is handed in, so that the replay itself can be tested without a server.
import { setTimeout as pause } from "node:timers/promises";
import { type Case, isMailStep, type MailStep, type Setup, type Step, type Topic } from "./case-file.ts";
import { type Answer, differences, shortened } from "./judging/comparison.ts";
import { type Dialect, expectationOf, toleratedFields } from "./dialects.ts";
import { type FilledRequest, requestOf } from "./http-client.ts";
import { dialogueProblems, type Dialogue } from "./mail-client.ts";
import { type CaseProject, needsOfCase } from "./projects.ts";
import { type Bindings, filled, UnboundError } from "./judging/template.ts";

const SECOND_MS = 1_000;

/** What a replay is played against. */
export type Stage = {
  site: string;
  dialect: Dialect;
  makeProject(setup: Setup): Promise<CaseProject>;
  send(what: FilledRequest): Promise<Answer>;
  mail: { domain: string; speak(lines: readonly string[]): Promise<Dialogue> };
};

/** `unjudged` steps passed because no recorded answer is right for them in this dialect. */
export type Tally = { steps: number; passed: number; unjudged: number; cases: number; casesPassed: number };
export type Failure = {
  topic: string;
  case: string;
  step: number;
  decided: string | null;
  request: string;
  problems: readonly string[];
  /** The answer; null when none came. */
  got: string | null;
};
export type CaseReport = { steps: number; unjudged: number; failures: readonly Omit<Failure, "topic">[] };
export type CaseResult = { topic: string; case: string; result: "passed" | "failed" };
export type Report = {
  dialect: Dialect;
  topics: ReadonlyMap<string, Tally>;
  cases: readonly CaseResult[];
  failures: readonly Failure[];
};

type StepResult = { problems: readonly string[]; got: string | null; isJudged: boolean };

/** Replays all cases of the topics, each in projects of its own. */
export async function replay(topics: readonly Topic[], stage: Stage): Promise<Report> {
  const tallies = new Map<string, Tally>();
  const cases: CaseResult[] = [];
  const failures: Failure[] = [];
  for (const { topic, cases: some } of topics) {
    const tally = { steps: 0, passed: 0, unjudged: 0, cases: 0, casesPassed: 0 };
    tallies.set(topic, tally);
    for (const one of some) {
      const { steps, unjudged, failures: failed } = await replayCase(one, stage);
      const hasPassed = failed.length === 0;
      tally.steps += steps;
      tally.passed += steps - failed.length;
      tally.unjudged += unjudged;
      tally.cases += 1;
      if (hasPassed) tally.casesPassed += 1;
      cases.push({ topic, case: one.name, result: hasPassed ? "passed" : "failed" });
      failures.push(...failed.map((failure) => ({ topic, ...failure })));
    }
  }
  return { dialect: stage.dialect, topics: tallies, cases, failures };
}

/** Replays one case in fresh projects. A step that fails does not keep the next ones from being sent. */
async function replayCase(one: Case, stage: Stage): Promise<CaseReport> {
  const bindings = await givenNames(one, stage);
  const failures: Omit<Failure, "topic">[] = [];
  let unjudged = 0;
  for (const [index, step] of one.steps.entries()) {
    const { problems, got, isJudged } = isMailStep(step)
      ? await replayDialogue(step, { stage, bindings })
      : await replayStep(step, { stage, bindings });
    if (!isJudged) unjudged += 1;
    if (problems.length === 0) continue;
    const request = isMailStep(step)
      ? JSON.stringify(step.smtp)
      : `${step.send.method} ${step.send.path}${shownBody(step)}`;
    const decided = isMailStep(step) ? null : (step.decided ?? null);
    failures.push({ case: one.name, step: index + 1, decided, request: shortened(request), problems, got });
  }
  return { steps: one.steps.length, unjudged, failures };
}

function shownBody({ send }: Step): string {
  const body = send.json ?? send.body ?? send.body_base64;
  return body === undefined ? "" : ` ${JSON.stringify(body)}`;
}

/** The values that a case may name from the start. */
async function givenNames(one: Case, stage: Stage): Promise<Bindings> {
  const bindings: Bindings = new Map([
    ["site", stage.site],
    ["maildomain", stage.mail.domain],
    ["now", new Date().toISOString()],
  ]);
  for (const [index, setup] of needsOfCase(one).entries()) {
    const project = await stage.makeProject(setup);
    const tail = index === 0 ? "" : String(index + 1);
    bindings.set(`project${tail}`, project.uuid);
    bindings.set(`rw${tail}`, project.api_key);
    bindings.set(`ro${tail}`, project.api_key_readonly);
    bindings.set(`pingkey${tail}`, project.ping_key);
    const channelTail = tail === "" ? "" : `_${tail}`;
    for (const [place, { id }] of (project.channels ?? []).entries()) {
      bindings.set(`channel${place + 1}${channelTail}`, id);
    }
  }
  return bindings;
}

async function replayDialogue(
  step: MailStep,
  { stage, bindings }: { stage: Stage; bindings: Bindings },
): Promise<StepResult> {
  try {
    const heard = await stage.mail.speak(filled(step.smtp, bindings));
    const problems = dialogueProblems(step.expect.hear, heard);
    return { problems, got: JSON.stringify(heard), isJudged: true };
  } catch (error) {
    return { problems: [`no answer: ${String(error)}`], got: null, isJudged: true };
  }
}

async function replayStep(
  step: Step,
  { stage, bindings }: { stage: Stage; bindings: Bindings },
): Promise<StepResult> {
  const { expectation, isJudged } = expectationOf(step, stage.dialect);
  if (step.wait !== undefined) await pause(step.wait * SECOND_MS);
  let answer: Answer | undefined;
  try {
    answer = await stage.send(requestOf(filled(step.send, bindings)));
    const tolerated = toleratedFields(stage.dialect);
    const problems = differences(expectation, answer, { bindings, tolerated });
    return { problems: isJudged ? problems : [], got: shownAnswer(answer), isJudged };
  } catch (error) {
    // A step that could not be sent, or was not answered, fails whether or not its answer would be judged.
    const got = answer === undefined ? null : shownAnswer(answer);
    const problem =
      error instanceof UnboundError
        ? `no earlier answer gave ${error.message}`
        : `no answer: ${String(error)}`;
    return { problems: [problem], got, isJudged };
  }
}

function shownAnswer({ status, body }: Answer): string {
  return `${status} ${shortened(body.toString("utf8"))}`;
}
