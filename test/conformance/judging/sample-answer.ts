// Makes up the answer that an expectation describes, so that the judge can be tried on all recorded expectations
// without any server.
import { randomBytes, randomUUID } from "node:crypto";
import { type Expectation, isExactNumber, spelledOut } from "../case-file.ts";
import type { Answer } from "./comparison.ts";
import { type Bindings, filled } from "./template.ts";

/** A value that a hole of a kind accepts. */
const SAMPLES: Readonly<Record<string, () => string>> = {
  uuid: () => randomUUID(),
  sha1: () => randomBytes(20).toString("hex"),
  int: () => "7",
  number: () => "7.5",
  time: () => "2026-01-31T11:59:59+00:00",
  microtime: () => "2026-01-31T11:59:59.123456+00:00",
  url: () => "https://example.org/x",
  any: () => "anything",
  text: () => "some text",
};

/** An answer that is as expected. Names that the expectation gives are bound, as by a real answer. */
export function sampleAnswer(expected: Expectation, bindings: Bindings): Answer {
  const headers = Object.entries(expected.headers ?? {}).flatMap(([name, template]) =>
    template === null ? [] : [[name.toLowerCase(), sampleHeader(template, bindings)]],
  );
  return {
    status: expected.status,
    headers: Object.fromEntries(headers) as Answer["headers"],
    body: sampleBody(expected, bindings),
  };
}

function sampleHeader(template: string, bindings: Bindings): string {
  const list = /^\{\{list:(.*)\}\}$/.exec(template)?.[1];
  return list === undefined ? sampleText(template, bindings) : list.split(",").toReversed().join(",");
}

function sampleBody(expected: Expectation, bindings: Bindings): Buffer {
  if (expected.json !== undefined) return Buffer.from(JSON.stringify(sampleValue(expected.json, bindings)));
  if (expected.text !== undefined) return Buffer.from(sampleText(spelledOut(expected.text), bindings));
  if (expected.body_base64 !== undefined) return Buffer.from(expected.body_base64, "base64");
  return Buffer.from((expected.contains ?? []).map((part) => filled(part, bindings)).join("\n"));
}

function sampleValue(template: unknown, bindings: Bindings): unknown {
  if (typeof template === "string") {
    if (/^\{\{(?:int|number)\}\}$/.test(template)) return 7;
    return sampleText(template, bindings);
  }
  if (Array.isArray(template)) return template.map((item: unknown) => sampleValue(item, bindings));
  if (typeof template !== "object" || template === null || isExactNumber(template)) return template;
  const fields = Object.entries(template).map(([key, value]) => [key, sampleValue(value, bindings)] as const);
  const [first] = fields;
  const isSet = fields.length === 1 && first?.[0] === "unordered" && Array.isArray(first[1]);
  return isSet ? (first[1] as unknown[]).toReversed() : Object.fromEntries(fields);
}

function sampleText(template: string, bindings: Bindings): string {
  return template.replace(/\{\{([^{}]+)\}\}/g, (hole, inner: string) => {
    const [, kind = "", name = ""] = /^(\w+):?(\w*)$/.exec(inner) ?? [];
    const sample = SAMPLES[kind];
    if (sample === undefined || bindings.has(name)) return filled(hole, bindings);
    const value = sample();
    if (name !== "") bindings.set(name, value);
    return value;
  });
}
