import { describe, expect, test } from "vitest";
import { ASK_MS_MAX, isSameDatabase, UNASKED_MS_MAX, verdictOf } from "./database-identity.ts";

describe("the same database", () => {
  const stored = { systemIdentifier: "1", databaseOid: 5 };
  test.each([
    ["the same pair", { systemIdentifier: "1", databaseOid: 5 }, true],
    ["another cluster", { systemIdentifier: "2", databaseOid: 5 }, false],
    ["another database of the cluster", { systemIdentifier: "1", databaseOid: 6 }, false],
    ["a cluster that may not be read", { systemIdentifier: null, databaseOid: 5 }, true],
    ["a cluster that may not be read, another database", { systemIdentifier: null, databaseOid: 6 }, false],
  ])("%s", (_, actual, isSame) => {
    expect(isSameDatabase(stored, actual)).toBe(isSame);
    expect(isSameDatabase(actual, stored)).toBe(isSame);
  });
});

describe("while it is unknown who is in service", () => {
  const siteUrl = "https://overdue.example";
  const asking = {
    now: 0,
    sinceAt: 0,
    storedSiteUrl: siteUrl,
    siteUrl,
    askedMs: null,
    askMsMax: ASK_MS_MAX,
  };

  test("a process that listens asks for a minute", () => {
    expect(verdictOf(asking)).toEqual({ kind: "ask" });
    expect(verdictOf({ ...asking, askedMs: ASK_MS_MAX - 1 })).toEqual({ kind: "ask" });
    expect(verdictOf({ ...asking, askedMs: ASK_MS_MAX })).toEqual({
      kind: "safe",
      reason: "This server is not reachable at the public URL https://overdue.example.",
    });
  });

  test("a URL that was not known before is asked", () => {
    expect(verdictOf({ ...asking, storedSiteUrl: null })).toEqual({ kind: "ask" });
  });

  test("an answer at a changed URL is not accepted", () => {
    const verdict = verdictOf({ ...asking, storedSiteUrl: "https://old.example" });
    expect(verdict).toEqual({
      kind: "safe",
      reason: "The public URL has changed from https://old.example to https://overdue.example.",
    });
  });

  test("a process that does not listen waits for one that does, but not for ever", () => {
    const silent = { ...asking, siteUrl: null };
    expect(verdictOf({ ...silent, now: UNASKED_MS_MAX - 1 })).toEqual({ kind: "wait" });
    expect(verdictOf({ ...silent, now: UNASKED_MS_MAX })).toMatchObject({ kind: "safe" });
  });
});
