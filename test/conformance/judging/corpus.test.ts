// The judge on all recorded expectations: an answer made up from each is accepted, and each of many small faults
// planted in it is seen. Nothing of a recorded answer may be lost between the file and the verdict.
import { expect, test } from "vitest";
import { type Case, type Expectation, loadTopics, type Step } from "../case-file.ts";
import { type Dialect, DIALECTS, expectationOf } from "../dialects.ts";
import { type Answer, differences } from "./comparison.ts";
import { sampleAnswer } from "./sample-answer.ts";
import type { Bindings } from "./template.ts";

const NOTHING: ReadonlySet<string> = new Set();

function givenNames(): Bindings {
  const names = [
    "site",
    "rw",
    "ro",
    "pingkey",
    "project",
    "rw2",
    "ro2",
    "pingkey2",
    "project2",
    "maildomain",
  ];
  const channels = Array.from({ length: 7 }, (_, index) => `channel${index + 1}`);
  return new Map([...names, ...channels, "channel1_2", "channel2_2"].map((name) => [name, `the-${name}`]));
}

type Told = { where: string; expected: Expectation; answer: Answer; bindings: Bindings };

/** Every expectation of a case with an answer that meets it; of the second dialect, those that are its own. */
function* told(topic: string, one: Case, dialect: Dialect): Generator<Told> {
  const bindings = givenNames();
  for (const [index, step] of (one.steps as readonly Partial<Step>[]).entries()) {
    // Steps of the mail topic have no HTTP answer.
    if (step.send === undefined || step.expect === undefined) continue;
    const { expectation: expected } = expectationOf(step as Step, dialect);
    const before = new Map(bindings);
    const answer = sampleAnswer(expected, bindings);
    if (dialect !== "standard" && expected === step.expect) continue;
    yield { where: `${topic}: ${one.name} (step ${index + 1})`, expected, answer, bindings: before };
  }
}

function accepts({ expected, bindings }: Told, answer: Answer): boolean {
  return differences(expected, answer, { bindings: new Map(bindings), tolerated: NOTHING }).length === 0;
}

/** The same answer with one thing wrong, for each thing that is expected of it. */
function* faulty({ expected, answer }: Told): Generator<[fault: string, answer: Answer]> {
  yield ["another status", { ...answer, status: answer.status + 1 }];
  for (const [name, template] of Object.entries(expected.headers ?? {})) {
    const value = template === null ? "x" : undefined;
    yield [
      `header ${name} ${template === null ? "added" : "dropped"}`,
      { ...answer, headers: { ...answer.headers, [name.toLowerCase()]: value } },
    ];
  }
  if (expected.json !== undefined) {
    for (const [fault, value] of faultyValues(JSON.parse(answer.body.toString("utf8")), "body")) {
      yield [fault, { ...answer, body: Buffer.from(JSON.stringify(value)) }];
    }
  } else if (expected.text !== undefined || expected.body_base64 !== undefined) {
    // Some texts may be anything but empty.
    const body = answer.body.length === 0 ? Buffer.from([0]) : Buffer.alloc(0);
    yield ["a body that is empty, or is not", { ...answer, body }];
  } else if ((expected.contains ?? []).length > 0) {
    yield ["an empty body", { ...answer, body: Buffer.alloc(0) }];
  }
}

function* faultyValues(value: unknown, where: string): Generator<[string, unknown]> {
  if (Array.isArray(value)) {
    yield [`${where}: one more`, [...value, null]];
    if (value.length === 0) return;
    // Items are alike: what is seen in the first is seen in all.
    yield [`${where}[0] dropped`, value.slice(1)];
    for (const [fault, other] of faultyValues(value[0], `${where}[0]`)) yield [fault, value.with(0, other)];
  } else if (typeof value === "object" && value !== null) {
    yield [`${where}: one more`, { ...value, surplus: 1 }];
    for (const [key, item] of Object.entries(value)) {
      const { [key]: _dropped, ...rest } = value as Record<string, unknown>;
      yield [`${where}.${key} dropped`, rest];
      yield [`${where}.${key} renamed`, { ...rest, [`${key}_`]: item }];
      for (const [fault, other] of faultyValues(item, `${where}.${key}`))
        yield [fault, { ...value, [key]: other }];
    }
  } else {
    yield [`${where} of another type`, [value]];
  }
}

/** What the recorded expectations of a dialect come to. */
function judgeAll(dialect: Dialect): { answers: number; refused: string[]; missed: string[] } {
  const verdict = { answers: 0, refused: [] as string[], missed: [] as string[] };
  const planted = new Set<string>();
  for (const { topic, cases } of loadTopics()) {
    for (const each of cases.flatMap((one) => [...told(topic, one, dialect)])) {
      verdict.answers += 1;
      if (!accepts(each, each.answer)) verdict.refused.push(each.where);
      // Many steps expect the same but for the names that they give: once is enough.
      const same = JSON.stringify(each.expected).replace(/\{\{(\w+):\w+\}\}/g, "{{$1}}");
      if (planted.has(same)) continue;
      planted.add(same);
      for (const [fault, answer] of faulty(each)) {
        if (accepts(each, answer)) verdict.missed.push(`${each.where}: ${fault}`);
      }
    }
  }
  return verdict;
}

/** All steps but those of the mail topic that speak no HTTP; and those that the second dialect answers its way. */
const ANSWERS = { standard: 2_982, healthchecks: 151 };

/** It takes five seconds; a busy machine may need many times that. */
const JUDGING_MS_MAX = 300_000;

test.each(DIALECTS)(
  "In dialect %s a right answer passes, and no fault in it does",
  (dialect) => {
    const { answers, refused, missed } = judgeAll(dialect);
    expect(refused, "right answers that were refused").toEqual([]);
    expect(missed, "faults that were not seen").toEqual([]);
    expect(answers).toBe(ANSWERS[dialect]);
  },
  JUDGING_MS_MAX,
);
