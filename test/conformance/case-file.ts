// The recorded cases as data: what a file of test/conformance/cases holds, and reading it. Nothing is sent or
// judged here.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Texts that are long and dull are written as one piece and how often it is repeated. */
export type Text = string | { repeat: string; times: number };

export type Send = {
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  json?: unknown;
  body?: Text;
  body_base64?: string;
};

/** What an answer has to be; what is not named is not looked at. A header that is null must be absent. */
export type Expectation = {
  status: number;
  headers?: Readonly<Record<string, string | null>>;
  json?: unknown;
  text?: Text;
  body_base64?: string;
  contains?: readonly string[];
};

export type Step = {
  /** Seconds to wait before sending. */
  wait?: number;
  send: Send;
  expect: Expectation;
  /** The decisions that made the expected answer differ from the recorded one. */
  decided?: string;
  /** What the reference server answered, where that differs. */
  reference?: Expectation;
};

/** A dialogue of its own with the mail server: what is said, and how each answer begins, the greeting first. */
export type MailStep = {
  smtp: readonly string[];
  expect: { hear: readonly string[] };
};

export function isMailStep(step: Step | MailStep): step is MailStep {
  return "smtp" in step;
}

/** What the projects of a case must have. */
export type Setup = { channels?: readonly { kind: string; name: string }[]; check_limit?: number };

export type Case = {
  name: string;
  /** How many projects it uses; one when it does not say. */
  projects?: number;
  setup?: Setup;
  steps: readonly (Step | MailStep)[];
};

export type Topic = { topic: string; cases: readonly Case[] };

const CASES = join(import.meta.dirname, "cases");

/** Not among the compiler's types yet: the source of a number, and numbers that are written as they came. */
const Json = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

/** The topics that are there, in the order of their names. */
export function loadTopics(): Topic[] {
  const files = readdirSync(CASES).filter((name) => name.endsWith(".json"));
  return files.toSorted().map((name) => parseExactly(readFileSync(join(CASES, name), "utf8")) as Topic);
}

/** JSON in which a number that cannot be held exactly is kept as it was written, to be sent like that. */
export function parseExactly(text: string): unknown {
  return Json.parse(text, (_key, value, { source }) => {
    const isInexact = typeof value === "number" && source !== undefined && String(value) !== source;
    return isInexact ? Json.rawJSON(source) : value;
  });
}

/** Whether a value is a number that was kept as it was written. */
export function isExactNumber(value: unknown): boolean {
  return Json.isRawJSON(value);
}

/** A text as it is sent or compared. */
export function spelledOut(text: Text): string {
  return typeof text === "string" ? text : text.repeat.repeat(text.times);
}
