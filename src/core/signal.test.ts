// How the kind of a signal is determined from a request or an email: paths, methods, keywords and filters.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CheckSettings, DEFAULT_SETTINGS } from "./check.ts";
import {
  classifyEmail,
  classifyHttp,
  type HttpAction,
  laneOf,
  LANES,
  matchKeywords,
  parseExitStatus,
  parseRunId,
  type SignalKind,
  signalName,
  splitKeywords,
} from "./signal.ts";

const KEYWORDS = { failureKw: "ERROR, FATAL", successKw: "DONE", startKw: "BEGIN" };
const settings = (patch: Partial<CheckSettings>): CheckSettings => ({ ...DEFAULT_SETTINGS, ...patch });
const http = (patch: { action?: HttpAction; method?: string; body?: string }) => ({
  action: "success" as HttpAction,
  method: "POST",
  body: "",
  ...patch,
});

describe("names", () => {
  test.each([
    ["success", null, "Success"],
    ["success", 0, "Success"],
    ["fail", null, "Failure"],
    ["fail", 0, "Failure"],
    ["fail", 3, "Exit status 3"],
    ["start", null, "Start"],
    ["start", 3, "Start"],
    ["log", null, "Log"],
    ["ign", 3, "Ignored"],
  ] as [SignalKind, number | null, string][])("%s with exit status %s is called %j", (kind, status, name) => {
    expect(signalName(kind, status)).toBe(name);
  });
});

describe("run ids and exit statuses", () => {
  test("a run ID is a UUID in either letter case, stored in lower case", () => {
    const rid = "11111111-AAAA-4111-8111-111111111111";
    expect(parseRunId(rid)).toBe(rid.toLowerCase());
    expect(parseRunId("")).toBeNull();
    expect(parseRunId("123")).toBeNull();
  });

  test.each([
    ["0", 0],
    ["1", 1],
    ["255", 255],
    ["007", 7],
    ["00000000256", "too large"],
    ["256", "too large"],
    ["9".repeat(400), "too large"],
    ["-1", null],
    ["+1", null],
    ["1.0", null],
    ["1e1", null],
    ["", null],
    ["start", null],
    ["١", null],
    [" 1", null],
    ["1\n", null],
  ])("the segment %j is the exit status %j", (segment, expected) => {
    expect(parseExitStatus(segment)).toBe(expected);
  });
});

describe("keywords", () => {
  test.each([
    ["", []],
    [", ,", []],
    [",OK ,", ["OK"]],
    ["a, b c ,d", ["a", "b c", "d"]],
  ])("the field %j holds %j", (field, expected) => {
    expect(splitKeywords(field)).toEqual(expected);
  });

  test.each([
    ["failure wins over success and start", "BEGIN DONE ERROR", "fail"],
    ["success wins over start", "BEGIN DONE", "success"],
    ["start comes last", "BEGIN now", "start"],
    ["a later keyword of the list counts too", "a FATAL one", "fail"],
    ["a part of a word is enough", "UNDONE", "success"],
    ["letter case counts", "error done begin", null],
    ["an empty text holds none", "", null],
  ])("%s", (_, text, expected) => {
    expect(matchKeywords(text, KEYWORDS)).toBe(expected);
  });

  test("empty items match nothing, not everything", () => {
    expect(matchKeywords("x", { failureKw: ", ,", successKw: "", startKw: "," })).toBeNull();
  });

  test("a text that holds a keyword of a single list is what that list says", () => {
    const keyword = fc.string({ minLength: 1 }).filter((text) => !text.includes(",") && text.trim() === text);
    fc.assert(
      fc.property(keyword, fc.string(), fc.string(), (word, before, after) => {
        const none = { failureKw: "", successKw: "", startKw: "" };
        const text = before + word + after;
        expect(matchKeywords(text, { ...none, failureKw: word })).toBe("fail");
        expect(matchKeywords(text, { ...none, successKw: word })).toBe("success");
        expect(matchKeywords(text, { ...none, startKw: word })).toBe("start");
      }),
    );
  });
});

describe("an HTTP signal", () => {
  test.each([
    ["success", "success"],
    ["start", "start"],
    ["fail", "fail"],
    ["log", "log"],
    [{ exitStatus: 0 }, "success"],
    [{ exitStatus: 1 }, "fail"],
    [{ exitStatus: 255 }, "fail"],
  ] as [HttpAction, SignalKind][])("without filters is what its path says: %j is %s", (action, kind) => {
    expect(classifyHttp(http({ action }), settings({}))).toBe(kind);
  });

  test.each(["GET", "HEAD"])("by %s to a check that takes only POST is ignored", (method) => {
    expect(classifyHttp(http({ method, action: "fail" }), settings({ methods: "POST" }))).toBe("ign");
    expect(classifyHttp(http({ method, action: "fail" }), settings({ methods: "" }))).toBe("fail");
  });

  test("by POST to a check that takes only POST counts", () => {
    expect(classifyHttp(http({ action: "start" }), settings({ methods: "POST" }))).toBe("start");
  });

  test("that methods ignores is not looked into", () => {
    const check = settings({ ...KEYWORDS, filterHttpBody: true, methods: "POST" });
    expect(classifyHttp(http({ method: "GET", body: "ERROR" }), check)).toBe("ign");
  });

  test.each([
    ["success", "ERROR", "fail"],
    ["fail", "DONE", "success"],
    ["fail", "nothing", "ign"],
    ["log", "ERROR", "fail"],
    ["start", "DONE", "success"],
    ["start", "", "ign"],
    [{ exitStatus: 3 }, "DONE", "success"],
    [{ exitStatus: 0 }, "FATAL", "fail"],
    [{ exitStatus: 1 }, "BEGIN", "start"],
  ] as [HttpAction, string, SignalKind][])(
    "under a body filter is what the body says, not the path: %j with %j is %s",
    (action, body, kind) => {
      const check = settings({ ...KEYWORDS, filterHttpBody: true });
      expect(classifyHttp(http({ action, body }), check)).toBe(kind);
    },
  );

  test("under a body filter without any match is ignored, or failed if the owner wants it so", () => {
    const check = settings({ filterHttpBody: true });
    expect(classifyHttp(http({ body: "anything" }), check)).toBe("ign");
    expect(classifyHttp(http({ body: "" }), { ...check, filterDefaultFail: true })).toBe("fail");
  });

  test("is not touched by the filters for email, nor by keywords alone", () => {
    const check = settings({ ...KEYWORDS, filterSubject: true, filterBody: true, filterDefaultFail: true });
    expect(classifyHttp(http({ body: "ERROR" }), check)).toBe("success");
  });
});

describe("an email signal", () => {
  const classify = (patch: Partial<CheckSettings>, subject: string, body = "") =>
    classifyEmail({ subject, body }, settings(patch));

  test("without filters is a success, whatever it says and whatever the method rule", () => {
    expect(classify({ ...KEYWORDS, filterDefaultFail: true, methods: "POST" }, "ERROR")).toBe("success");
  });

  test("with subject_fail alone is a success unless the subject holds a failure keyword", () => {
    const subjectFailOnly = { failureKw: "FAIL", filterSubject: true };
    expect(classify(subjectFailOnly, "it did FAIL")).toBe("fail");
    expect(classify(subjectFailOnly, "fine")).toBe("success");
  });

  test("with subject alone is ignored unless the subject holds a success keyword", () => {
    const subjectOnly = { successKw: "OK", filterSubject: true };
    expect(classify(subjectOnly, "all OK")).toBe("success");
    expect(classify(subjectOnly, "fine")).toBe("ign");
    expect(classify(subjectOnly, "")).toBe("ign");
  });

  test("that matches nothing fails if the owner wants it so, even without success keywords", () => {
    expect(classify({ ...KEYWORDS, filterSubject: true, filterDefaultFail: true }, "x")).toBe("fail");
    expect(classify({ failureKw: "A", filterSubject: true, filterDefaultFail: true }, "x")).toBe("fail");
  });

  test("under a filter without any keyword is a success", () => {
    expect(classify({ filterSubject: true }, "x")).toBe("success");
    expect(classify({ filterBody: true, successKw: " , " }, "x")).toBe("success");
  });

  test("with start keywords only is a success when it holds none of them", () => {
    expect(classify({ startKw: "BEGIN", filterSubject: true }, "BEGIN")).toBe("start");
    expect(classify({ startKw: "BEGIN", filterSubject: true }, "end")).toBe("success");
  });

  test("is searched in the subject, the body or both, as the filters say", () => {
    const subjectOnly = { ...KEYWORDS, filterSubject: true };
    const bodyOnly = { ...KEYWORDS, filterBody: true };
    const both = { ...KEYWORDS, filterSubject: true, filterBody: true };
    expect(classify(subjectOnly, "x", "ERROR")).toBe("ign");
    expect(classify(bodyOnly, "ERROR", "all DONE")).toBe("success");
    expect(classify(both, "ERROR", "DONE")).toBe("fail");
    expect(classify(both, "DONE", "x")).toBe("success");
  });

  test("finds no keyword that only the seam of subject and body would make", () => {
    const both = { successKw: "AB", filterSubject: true, filterBody: true };
    expect(classify(both, "A", "B")).toBe("ign");
  });

  test("is not touched by the filter for HTTP bodies", () => {
    expect(classify({ ...KEYWORDS, filterHttpBody: true }, "ERROR", "ERROR")).toBe("success");
  });
});

describe("laneOf", () => {
  test("spreads UUIDs and numbered slugs evenly, and is the same for the same target", () => {
    const counts = Array.from({ length: LANES }, () => 0);
    const total = 4_000;
    for (let number = 0; number < total / 2; number += 1) {
      const targets = [
        { by: "uuid" as const, uuid: crypto.randomUUID() },
        { by: "slug" as const, pingKey: "k".repeat(22), slug: `job-${number}` },
      ];
      for (const target of targets) {
        const lane = laneOf(target);
        expect(laneOf({ ...target })).toBe(lane);
        counts[lane] = (counts[lane] ?? 0) + 1;
      }
    }
    for (const count of counts) expect(Math.abs(count - total / LANES)).toBeLessThan(total / LANES / 4);
  });
});
