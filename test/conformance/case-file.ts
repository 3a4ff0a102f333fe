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
  /** The decision that made the expected answer differ from the recorded one. */
  decided?: string;
  /** What the reference server answered, where that differs. */
  reference?: Expectation;
};

/** What the projects of a case must have. */
export type Setup = { channels?: readonly { kind: string; name: string }[]; check_limit?: number };

export type Case = {
  name: string;
  /** How many projects it uses; one when it does not say. */
  projects?: number;
  setup?: Setup;
  steps: readonly Step[];
};

export type Topic = { topic: string; cases: readonly Case[] };

const CASES = join(import.meta.dirname, "cases");

/** The topics that are there, in the order of their names. */
export function loadTopics(): Topic[] {
  const files = readdirSync(CASES).filter((name) => name.endsWith(".json"));
  return files.toSorted().map((name) => JSON.parse(readFileSync(join(CASES, name), "utf8")) as Topic);
}

/** A text as it is sent or compared. */
export function spelledOut(text: Text): string {
  return typeof text === "string" ? text : text.repeat.repeat(text.times);
}
