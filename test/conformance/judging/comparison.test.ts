// The judge of recorded cases is judged here: what it must accept, and above all what it must not.
import { describe, expect, test } from "vitest";
import type { Expectation } from "../case-file.ts";
import { type Answer, differences } from "./comparison.ts";
import { type Bindings, filled, textProblem, UnboundError } from "./template.ts";

const UUID = "0f3a4b5c-1111-4222-8333-444455556666";
const OTHER = "0f3a4b5c-1111-4222-8333-444455557777";

function answerOf(body: unknown, given: Partial<Answer> = {}): Answer {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status: 200, headers: {}, body: Buffer.from(text), ...given };
}

function judged(
  expected: Partial<Expectation>,
  answer: Answer,
  bindings: Bindings = new Map(),
): readonly string[] {
  return differences({ status: 200, ...expected }, answer, { bindings, tolerated: new Set(["extra"]) });
}

describe("Sent values", () => {
  const bindings = new Map([
    ["a", UUID],
    ["t", "2026-01-31T11:59:59+00:00"],
  ]);

  test.each([
    ["/ping/{{a}}", `/ping/${UUID}`],
    ["{{upper:a}}", UUID.toUpperCase()],
    ["{{bare:a}}", UUID.replaceAll("-", "")],
    ["{{key:a}}", "821b210170547f6255fdedf4d3ff8b65dbc7f62b"],
    ["{{unix:t}}", "1769860799"],
    ["{{unix:t+1}}", "1769860800"],
    ["{{unix:t-9}}", "1769860790"],
  ])("has its holes filled: %s", (template, text) => {
    expect(filled(template, bindings)).toBe(text);
  });

  test("is filled in keys and values, however deep", () => {
    expect(filled({ "{{a}}": [{ b: "x {{a}}" }], c: 1 }, bindings)).toEqual({
      [UUID]: [{ b: `x ${UUID}` }],
      c: 1,
    });
  });

  test("is not sent with a hole in it", () => {
    expect(() => filled("{{b}}", bindings)).toThrow(UnboundError);
  });
});

describe("A text", () => {
  const fits = (template: string, text: string, known: [string, string][] = []) =>
    textProblem({ template, text }, new Map(known)) === null;

  test.each<[string, string, [string, string][]]>([
    ["OK", "OK", []],
    ["a.b (c)", "a.b (c)", []],
    ["{{uuid}}", UUID, []],
    ["{{time:t}}", "2026-01-31T12:00:00+00:00", []],
    ["{{microtime}}", "2026-01-31T12:00:00.123456+00:00", []],
    ["{{time:t+3600}}", "2026-01-31T12:59:59+00:00", [["t", "2026-01-31T11:59:59+00:00"]]],
    ["{{time:t^3600}}", "2026-01-31T12:00:00+00:00", [["t", "2026-01-31T11:59:59+00:00"]]],
    ["{{time:t^3600}}", "2026-01-31T13:00:00+00:00", [["t", "2026-01-31T12:00:00+00:00"]]],
    ["{{sorted:b,a}}", "1,2", Object.entries({ a: "2", b: "1" })],
    ["x/{{any}}/y", "x/anything/y", []],
    ["{{uuid:a}} {{uuid:a}}", `${UUID} ${UUID}`, []],
    ["{{text}}", "line\nline", []],
  ])("%s accepts %s", (template, text, known) => {
    expect(fits(template, text, known)).toBe(true);
  });

  test.each<[string, string, [string, string][]]>([
    ["OK", "OK\n", []],
    ["a.b", "aXb", []],
    ["{{uuid}}", UUID.toUpperCase(), []],
    ["{{uuid:a}}", OTHER, [["a", UUID]]],
    ["{{time:t}}", "2026-01-31T12:00:00Z", []],
    ["{{time:t+1}}", "2026-01-31T12:00:00+00:00", []],
    ["{{microtime}}", "2026-01-31T12:00:00+00:00", []],
    ["x/{{any}}/y", "x/a/b/y", []],
    ["{{uuid:a}} {{uuid:a}}", `${UUID} ${OTHER}`, []],
    ["{{text}}", "", []],
    ["{{nothing}}", "nothing", []],
  ])("%s does not accept %s", (template, text, known) => {
    expect(fits(template, text, known)).toBe(false);
  });

  test("gives names to what it finds", () => {
    const bindings: Bindings = new Map();
    textProblem({ template: "{{url}}/{{uuid:a}}", text: `http://h/${UUID}` }, bindings);
    expect([...bindings]).toEqual([["a", UUID]]);
  });
});

describe("JSON", () => {
  test.each<[unknown, unknown]>([
    [
      { a: 1, b: [true, null] },
      { b: [true, null], a: 1.0 },
    ],
    [
      { n: "{{int}}", f: "{{number}}", x: "{{any}}" },
      { n: 3, f: 0.25, x: { y: [] } },
    ],
    [{ unordered: [{ id: 2 }, { id: 1 }] }, [{ id: 1 }, { id: 2 }]],
    [{ a: 1 }, { a: 1, filter_http_body: true }],
    [{ a: 1 }, { a: 1, extra: false }],
  ])("%j is %j", (expected, got) => {
    expect(judged({ json: expected }, answerOf(got))).toEqual([]);
  });

  test.each<[unknown, unknown]>([
    [{ a: 1 }, { a: true }],
    [{ a: 1 }, { a: "1" }],
    [{ a: null }, {}],
    [{ extra: 1 }, {}],
    [{ id: "{{uuid}}" }, { id: null }],
    [{ t: "{{time}}" }, { t: 1 }],
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1 }, { a: 1, filter_http_body: false }],
    [{ n: "{{int}}" }, { n: 1.5 }],
    [{ n: "{{int}}" }, { n: "1" }],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], [1, 2]],
    [{ unordered: [{ id: 1 }, { id: 1 }] }, [{ id: 1 }, { id: 2 }]],
    [{ unordered: [] }, [1]],
    [{ a: [] }, { a: {} }],
    [{}, null],
  ])("%j is not %j", (expected, got) => {
    expect(judged({ json: expected }, answerOf(got))).not.toEqual([]);
  });

  test("that is none is a difference", () => {
    expect(judged({ json: {} }, answerOf("<html>"))).toHaveLength(1);
  });

  test("that is not UTF-8 is none", () => {
    const body = Buffer.from([0x22, 0xff, 0x22]);
    expect(judged({ json: "{{text}}" }, { ...answerOf(""), body })).toHaveLength(1);
  });

  test("of a shorter list is compared as far as it goes, and gives its names", () => {
    const bindings: Bindings = new Map();
    expect(judged({ json: ["{{uuid:a}}", "x"] }, answerOf([UUID]), bindings)).toHaveLength(1);
    expect(judged({ json: { unordered: ["{{uuid:b}}", "x"] } }, answerOf([UUID]), bindings)).toHaveLength(2);
    expect([...bindings.keys()]).toEqual(["a", "b"]);
  });

  test("of an item that does not fit gives no names", () => {
    const bindings: Bindings = new Map();
    const json = { unordered: [{ id: "{{uuid:a}}", n: 2 }] };
    expect(judged({ json }, answerOf([{ id: UUID, n: 1 }]), bindings)).toHaveLength(1);
    expect([...bindings]).toEqual([]);
  });
});

describe("An answer", () => {
  test.each<[string, Partial<Expectation>, Answer]>([
    ["status", { status: 201 }, answerOf("")],
    ["a header", { headers: { "X-A": "1" } }, answerOf("", { headers: { "x-a": "2" } })],
    ["a missing header", { headers: { "X-A": "1" } }, answerOf("")],
    ["an unwanted header", { headers: { "X-A": null } }, answerOf("", { headers: { "x-a": "2" } })],
    ["a list", { headers: { A: "{{list:GET, POST}}" } }, answerOf("", { headers: { a: "GET" } })],
    ["its text", { text: { repeat: "x", times: 3 } }, answerOf("xx")],
    ["its bytes", { body_base64: "AAE=" }, answerOf("")],
    ["a part of it", { contains: ["b"] }, answerOf("a")],
  ])("is wrong by %s", (_what, expected, answer) => {
    expect(judged(expected, answer)).toHaveLength(1);
  });

  test("may list a set in any order", () => {
    const answer = answerOf("", { headers: { allow: "POST,GET" } });
    expect(judged({ headers: { Allow: "{{list:GET, POST}}", "X-A": null } }, answer)).toEqual([]);
  });
});
