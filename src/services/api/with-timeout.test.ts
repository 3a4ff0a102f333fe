// Which errors mean that the database is unavailable, and the time limit.
import { describe, expect, test, vi } from "vitest";
import { CommitInDoubtError, isDatabaseAway } from "../../store/errors.ts";
import { withTimeout } from "./with-timeout.ts";

/** In the form in which the driver reports server errors. */
function fromServer(code: string): Error {
  return Object.assign(new Error("said by the server"), { code, severity: "ERROR" });
}

describe("the database is unavailable", () => {
  test.each([
    ["when it cannot be reached", Object.assign(new Error("no"), { code: "ECONNREFUSED" })],
    ["when the connection breaks", new Error("Connection terminated unexpectedly")],
    ["when no connection is free for too long", new Error("timeout exceeded when trying to connect")],
    ["when it shuts down", fromServer("57P01")],
    ["when others hold what is needed", fromServer("55P03")],
    ["when a statement takes too long", fromServer("57014")],
    ["when it can only be read", fromServer("25006")],
    ["when its disk is full", fromServer("53100")],
    ["when it is too slow to be connected to", new Error("Query read timeout")],
    ["when a commit is in doubt", new CommitInDoubtError("not confirmed")],
  ])("%s", (_when, error) => {
    expect(isDatabaseAway(error)).toBe(true);
  });

  test.each([
    ["for a fault in a statement", fromServer("42601")],
    ["for a value that it refuses", fromServer("23505")],
    ["for a fault of ours", new TypeError("x is undefined")],
    ["for something that is no error", "away"],
  ])("not %s", (_what, error) => {
    expect(isDatabaseAway(error)).toBe(false);
  });
});

describe("work with a time limit", () => {
  test("returns its own result or error", async () => {
    await expect(withTimeout(Promise.resolve(7), 1_000)).resolves.toBe(7);
    await expect(withTimeout(Promise.reject(new Error("own")), 1_000)).rejects.toThrow("own");
  });

  test("is unavailable if it takes too long, and its later result is ignored", async () => {
    vi.useFakeTimers();
    const work = Promise.withResolvers<number>();
    const answer = withTimeout(work.promise, 1_000).catch((error: unknown) => String(error));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await answer).toContain("service unavailable");
    work.reject(new Error("much later"));
    vi.useRealTimers();
  });
});
