// Holds docs/conformance.md to what it says: a proof for every statement, and none that is not there. That they
// passed is judged after the run by scripts/prove.ts, whose rules are fed with broken reports here.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { gapRows, renderConformance, SPEC_PROOFS } from "./proofs/conformance-page.ts";
import { checkProofsExist, checkProofsPassed, rowsOf } from "./proofs/judgement.ts";
import { type Kind, spoiled } from "./proofs/mutation.ts";
import { recorded, tested } from "./proofs/proof.ts";
import { gapsOf, specRows } from "./support/documents.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const readOrNull = (path: string) => (existsSync(join(ROOT, path)) ? read(path) : null);
const SPEC = read("docs/spec.md");
const GAPS = read("docs/gaps.md");

describe("docs/conformance.md", () => {
  const ids = specRows(SPEC).map(({ id }) => id);

  test("has a proof for every statement, and proves nothing else", () => {
    expect(rowsOf(ids, SPEC_PROOFS).complaints).toEqual([]);
    expect(ids).toHaveLength(323);
  });

  test("names tests and recorded cases that exist", () => {
    const rows = [...rowsOf(ids, SPEC_PROOFS).rows, ...gapRows(GAPS)];
    expect(checkProofsExist(rows, readOrNull)).toEqual([]);
  });

  test("shows each statement, and each gap with its proof or as not built", () => {
    const page = renderConformance({ spec: SPEC, gaps: GAPS });
    const missing = [...ids, ...gapsOf(GAPS).map(({ id }) => id)].filter(
      (id) => !page.includes(`| ${id} |`) && !new RegExp(`Not built yet: .*\\b${id}\\b`).test(page),
    );
    expect(missing).toEqual([]);
  });
});

describe("a page that proves too little is caught", () => {
  const files: Record<string, string> = {
    "test/conformance/cases/get.json": '{"cases": [{"name": "A \\"check\\""}]}',
    "src/a.test.ts": 'test("it holds", () => {})',
  };
  const readPlanted = (path: string) => files[path] ?? null;
  const existing = (proof: ReturnType<typeof tested>) =>
    checkProofsExist([{ id: "S1-01", proofs: [proof] }], readPlanted);

  test("a statement without a proof, and a proof without a statement", () => {
    const { complaints } = rowsOf(["S1-01", "S1-02"], {
      "S1-01": [],
      "S1-03": [tested("src/a.test.ts", "it holds")],
    });
    expect(complaints).toEqual([
      "S1-01 has no proof",
      "S1-02 has no proof",
      "S1-03 is proved, but is no statement",
    ]);
  });

  test("a test or a case that is not there", () => {
    expect(existing(tested("src/a.test.ts", "it holds"))).toEqual([]);
    expect(existing(recorded("get", 'A "check"'))).toEqual([]);
    expect(existing({ path: "src/a.test.ts", title: null })).toEqual([]);
    expect(existing(tested("src/a.test.ts", "it falls"))).toEqual([
      'S1-01: src/a.test.ts has no test "it falls"',
    ]);
    expect(existing(recorded("get", "Another"))).toHaveLength(1);
    expect(existing(recorded("put", "A check"))).toEqual([
      "S1-01: test/conformance/cases/put.json does not exist",
    ]);
  });
});

describe("a run that proves too little is caught", () => {
  const run = (title: string, status: string) => ({ ancestorTitles: ["a group"], title, status });
  const reports = {
    root: "/overdue",
    tests: JSON.stringify({
      testResults: [
        {
          name: "/overdue/src/a.test.ts",
          assertionResults: [
            run("it holds", "passed"),
            run("it falls", "failed"),
            run("it waits", "pending"),
            run("60 (or so) is 1 minute", "passed"),
            run("61 (or so) is 2 minutes", "failed"),
          ],
        },
        {
          name: "/overdue/src/b.test.ts",
          assertionResults: [run("x", "passed"), run("y", "skipped")],
        },
      ],
    }),
    conformance: JSON.stringify({
      standard: {
        cases: [
          { topic: "get", case: "good", result: "passed" },
          { topic: "get", case: "bad", result: "failed" },
          { topic: "get", case: "none", result: "skipped" },
        ],
      },
    }),
  };
  const judged = (proof: ReturnType<typeof tested>) =>
    checkProofsPassed([{ id: "S1-01", proofs: [proof] }], reports);
  const inA = (title: string) => judged(tested("src/a.test.ts", title));

  test("what passed is fine", () => {
    expect(inA("it holds")).toEqual([]);
    expect(inA("%i (or so) is $count minute")).toEqual([]);
    expect(judged(recorded("get", "good"))).toEqual([]);
    expect(judged({ path: "src/b.test.ts", title: null })).toEqual([]);
    expect(judged(tested("src/b.test.ts", "a group"))).toEqual([]);
  });

  test("what failed, was skipped or did not run is told", () => {
    expect(inA("it falls")).toEqual(['S1-01: `src/a.test.ts` "it falls" failed']);
    expect(inA("it waits")).toEqual(['S1-01: `src/a.test.ts` "it waits" was skipped']);
    expect(inA("it hold")).toEqual(['S1-01: `src/a.test.ts` "it hold" did not run']);
    expect(inA("%i (or so) is %s")).toEqual(['S1-01: `src/a.test.ts` "%i (or so) is %s" failed']);
    expect(inA("a group")).toHaveLength(1);
    expect(judged({ path: "src/a.test.ts", title: null })).toEqual(["S1-01: `src/a.test.ts` failed"]);
    expect(judged(recorded("get", "bad"))).toHaveLength(1);
    expect(judged(recorded("get", "none"))).toHaveLength(1);
    expect(judged(recorded("get", "other"))).toHaveLength(1);
    expect(judged(recorded("put", "good"))).toHaveLength(1);
  });
});

describe("an answer that is spoiled on purpose", () => {
  const id = "0f3a4b5c-1111-4222-8333-444455556666";
  const spoil = (kind: Kind, spoiling: "dropped" | "renamed", path: string, json: unknown) => {
    const text = spoiled({ path, text: JSON.stringify(json) }, { field: { kind, name: "a" }, spoiling });
    return text === null ? null : (JSON.parse(text) as unknown);
  };

  test.each([
    ["check", `/api/v3/checks/${id}/pause`, { a: 1, b: 2 }, { b: 2 }],
    ["check", "/api/v1/checks/?tag=x", { checks: [{ a: 1 }, { b: 2 }] }, { checks: [{}, { b: 2 }] }],
    ["ping", `/api/v3/checks/${id}/pings`, { pings: [{ a: 1 }] }, { pings: [{}] }],
    ["flip", `/api/v3/checks/${id}/flips/`, [{ a: 1 }], [{}]],
    ["channel", "/api/v3/channels/", { channels: [{ a: 1 }] }, { channels: [{}] }],
    ["badge", "/api/v3/badges/", { badges: { a: { a: 1 }, "*": {} } }, { badges: { a: {}, "*": {} } }],
  ] as [Kind, string, unknown, unknown][])("lacks the field of a %s, from %s", (kind, path, json, rest) => {
    expect(spoil(kind, "dropped", path, json)).toEqual(rest);
  });

  test("has the field under another name", () => {
    expect(spoil("check", "renamed", "/api/v3/checks/", { a: 1, b: 2 })).toEqual({ a_: 1, b: 2 });
  });

  test("is told from one that does not have the field, or is about something else", () => {
    expect(spoil("check", "dropped", "/api/v3/checks/", { b: 2 })).toBeNull();
    expect(spoil("ping", "dropped", "/api/v3/checks/", { a: 1 })).toBeNull();
    expect(spoil("check", "dropped", `/api/v3/checks/${id}/pings/`, { a: 1 })).toBeNull();
  });
});
