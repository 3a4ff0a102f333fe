// The replay is judged here with answers that are made up: what it counts, what it sends, and which recorded answer
// it holds against what came, in each dialect.
import { describe, expect, test } from "vitest";
import { type Case, parseExactly, type Step } from "./case-file.ts";
import type { Answer } from "./judging/comparison.ts";
import type { Dialect } from "./dialects.ts";
import { type FilledRequest, requestOf } from "./http-client.ts";
import type { CaseProject } from "./projects.ts";
import { needsOf } from "./projects.ts";
import { replay, type Report, type Stage } from "./replay.ts";
import { reportLines, total } from "./report.ts";
import { filled } from "./judging/template.ts";

const UUID = "0f3a4b5c-1111-4222-8333-444455556666";
const PROJECT: CaseProject = { uuid: UUID, api_key: "w", api_key_readonly: "r", ping_key: "p" };

const plain = (text: string, status = 200): Answer => ({ status, headers: {}, body: Buffer.from(text) });

type Play = { steps: readonly Step[]; dialect?: Dialect; answer: (path: string) => Answer };

async function played({ steps, dialect = "standard", answer }: Play): Promise<Report> {
  const stage: Stage = {
    site: "http://h",
    dialect,
    makeProject: async () => PROJECT,
    send: async ({ path }) => answer(path),
    mail: { domain: "d", speak: async (lines) => lines.map(() => "250 OK") },
  };
  return replay([{ topic: "planted", cases: [{ name: "A planted case", steps }] }], stage);
}

const step = (path: string, text: string): Step => ({
  send: { method: "GET", path },
  expect: { status: 200, text },
});

describe("A replay", () => {
  test("counts steps and cases that pass and fail, and reports problems", async () => {
    const steps = [step("/a", "{{uuid:a}}"), step("/{{a}}", "OK"), step("/b", "OK")];
    const answers: Record<string, string> = { "/a": UUID, [`/${UUID}`]: "OK" };
    const report = await played({ steps, answer: (path) => plain(answers[path] ?? "no") });
    expect(total(report)).toEqual({ steps: 3, passed: 2, unjudged: 0, cases: 1, casesPassed: 0 });
    expect(reportLines(report)).toEqual([
      "dialect standard",
      "FAILED planted: A planted case (step 3)",
      "  GET /b",
      '  body: expected "OK", got "no"',
      "  answer: 200 no",
      "planted                     2 / 3",
      "conformance: 2 of 3 steps, dialect standard",
    ]);
  });

  test("does not send what it does not know, and says so", async () => {
    const report = await played({ steps: [step("/{{a}}", "OK")], answer: () => plain("OK") });
    expect(report.failures[0]?.problems).toEqual(["no earlier answer gave a"]);
  });

  test("counts a step without a response as failed", async () => {
    const answer = () => {
      throw new Error("connection refused");
    };
    const report = await played({ steps: [step("/", "OK")], answer });
    expect(report.failures[0]?.problems).toEqual(["no answer: Error: connection refused"]);
  });

  test("counts a step as failed whose expectation has an unknown name", async () => {
    const unknown: Step = {
      send: { method: "GET", path: "/" },
      expect: { status: 200, contains: ["{{x}}"] },
    };
    const report = await played({ steps: [unknown], answer: () => plain("OK") });
    expect(report.failures[0]?.problems).toEqual(["no earlier answer gave x"]);
  });

  test("gives the projects of a case their names", async () => {
    const asked: string[] = [];
    const twoProjects: Case = {
      name: "Two",
      projects: 2,
      setup: { channels: [{ kind: "email", name: "Ops" }] },
      steps: [step("/{{project}}/{{rw}}/{{ro}}/{{pingkey}}/{{channel1}}/{{rw2}}/{{channel1_2}}", "OK")],
    };
    const report = await replay([{ topic: "planted", cases: [twoProjects] }], {
      site: "http://h",
      dialect: "standard",
      makeProject: async ({ channels = [] }) => ({
        ...PROJECT,
        channels: channels.map((channel) => ({ id: "c", ...channel })),
      }),
      send: async ({ path }: FilledRequest) => {
        asked.push(path);
        return plain("OK");
      },
      mail: { domain: "d", speak: async () => [] },
    });
    expect(report.failures).toEqual([]);
    expect(asked).toEqual([`/${UUID}/w/r/p/c/w/c`]);
  });
});

describe("What a step is held against", () => {
  const agreed = { status: 403 };
  const recorded = { status: 401 };
  const decidedBy = (decided: string): Step => ({
    send: { method: "GET", path: "/" },
    expect: agreed,
    reference: recorded,
    decided,
  });

  test.each<[string, Dialect, number, boolean]>([
    ["D2", "standard", 403, true],
    ["D2", "standard", 401, false],
    ["D2", "healthchecks", 401, true],
    ["D2", "healthchecks", 403, false],
    ["D12", "healthchecks", 403, true],
    ["D12", "healthchecks", 401, false],
    ["D2, D5", "healthchecks", 401, true],
    ["D2, D5", "healthchecks", 403, false],
    // D11 begins with D1, and is another one.
    ["D11", "healthchecks", 401, false],
  ])("follows %s in dialect %s: %i passes %s", async (decided, dialect, status, isRight) => {
    const report = await played({ steps: [decidedBy(decided)], dialect, answer: () => plain("", status) });
    expect(report.failures.length === 0).toBe(isRight);
    expect(total(report).unjudged).toBe(0);
  });

  test("is nothing if one decision is reverted and another kept", async () => {
    const answer = () => plain("", 500);
    const report = await played({ steps: [decidedBy("D1, D9")], dialect: "healthchecks", answer });
    expect(total(report)).toMatchObject({ steps: 1, passed: 1, unjudged: 1 });
    const standard = await played({ steps: [decidedBy("D1, D9")], answer });
    expect(total(standard)).toMatchObject({ steps: 1, passed: 0, unjudged: 0 });
  });

  test("has the reference's fields in its dialect only", async () => {
    const steps: Step[] = [{ send: { method: "GET", path: "/" }, expect: { status: 200, json: { n: 1 } } }];
    const answer = () => plain('{"n": 1, "last_duration": 2}');
    expect((await played({ steps, answer })).failures).toHaveLength(1);
    expect((await played({ steps, answer, dialect: "healthchecks" })).failures).toEqual([]);
  });
});

describe("A request", () => {
  test("keeps numbers as they were written", () => {
    const json = parseExactly('{"a": 1000000000000000000000000000000, "b": 60.0, "c": [1, "{{x}}"]}');
    const { body, headers } = requestOf(filled({ method: "POST", path: "/", json }, new Map([["x", "y"]])));
    expect(body?.toString()).toBe('{"a":1000000000000000000000000000000,"b":60.0,"c":[1,"y"]}');
    expect(headers).toEqual({ "Content-Type": "application/json" });
  });

  test("is sent with the bytes and headers of its step", () => {
    const bytes = requestOf({ method: "POST", path: "/", headers: { A: "b" }, body_base64: "AAE=" });
    expect(bytes).toEqual({ method: "POST", path: "/", headers: { A: "b" }, body: Buffer.from([0, 1]) });
    expect(requestOf({ method: "POST", path: "/", body: { repeat: "xy", times: 2 } }).body?.toString()).toBe(
      "xyxy",
    );
    expect(requestOf({ method: "GET", path: "/" }).body).toBeNull();
  });
});

test("Every project of every case is asked for, in order", () => {
  const channels = [{ kind: "sms", name: "" }];
  const cases: Case[] = [
    { name: "a", steps: [] },
    { name: "b", projects: 2, setup: { channels }, steps: [] },
    { name: "c", setup: { check_limit: 2 }, steps: [] },
  ];
  expect(needsOf([{ topic: "t", cases }])).toEqual([{}, { channels }, { channels }, { check_limit: 2 }]);
});
