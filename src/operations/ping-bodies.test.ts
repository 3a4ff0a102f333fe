// The circuit breaker in front of an object store that keeps failing. Reading is tested with a database and a real
// store in test/storage.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ObjectErrorKind, ObjectStoreError } from "../lib/object-store.ts";
import {
  type Breaker,
  CLOSED_BREAKER,
  guardedObjects,
  isOpen,
  noteFailure,
  objectKeyOf,
} from "./ping-bodies.ts";

/** A store whose responses and clock the test controls. */
function scripted() {
  const script = { problem: null as ObjectErrorKind | null, nowMs: 0, calls: 0 };
  const objects = {
    get: async () => {
      script.calls += 1;
      if (script.problem !== null) throw new ObjectStoreError(script.problem, "scripted");
      return Buffer.from("body");
    },
  };
  return { script, guarded: guardedObjects(objects, { now: () => script.nowMs }) };
}

test("a store that works is asked, and answers", async () => {
  const { guarded } = scripted();
  expect(await guarded.get("key")).toEqual(Buffer.from("body"));
});

test.each(["unavailable", "refused"] as const)(
  "after three times %s it is left alone for a minute",
  async (problem) => {
    const { script, guarded } = scripted();
    script.problem = problem;
    for (let i = 0; i < 3; i++) await expect(guarded.get("key")).rejects.toThrow("scripted");
    const refused = await guarded.get("key").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ObjectStoreError);
    expect(refused).toMatchObject({ kind: "unavailable" });
    expect(script.calls).toBe(3);
    script.problem = null;
    script.nowMs = 60_000;
    expect(await guarded.get("key")).toEqual(Buffer.from("body"));
  },
);

test("objects that are missing are no failures of the store", async () => {
  const { script, guarded } = scripted();
  script.problem = "missing";
  for (let i = 0; i < 5; i++) await expect(guarded.get("key")).rejects.toThrow("scripted");
  expect(script.calls).toBe(5);
});

// Three failures within a minute, and no more requests until the first of them is a minute old.

const after = (...failures: number[]): Breaker => failures.reduce(noteFailure, CLOSED_BREAKER);

test("two failures are none", () => {
  expect(isOpen(CLOSED_BREAKER, 0)).toBe(false);
  expect(isOpen(after(0, 0), 0)).toBe(false);
});

test("the third within a minute opens it, until the first is a minute old", () => {
  const breaker = after(0, 10_000, 59_999);
  expect(isOpen(breaker, 59_999)).toBe(true);
  expect(isOpen(breaker, 60_000)).toBe(false);
});

test("three failures in more than a minute do not open it", () => {
  expect(isOpen(after(0, 30_000, 60_000), 60_000)).toBe(false);
});

test("a failure after it has closed opens it again only with two younger ones", () => {
  expect(isOpen(after(0, 1, 2, 60_010), 60_010)).toBe(false);
  expect(isOpen(after(0, 1, 50_000, 60_010), 60_010)).toBe(false);
  expect(isOpen(after(0, 1_000, 50_000, 60_010), 60_010)).toBe(true);
});

test("it is open exactly while three failures lie within the minute, and remembers no more than that", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(200_000)), fc.nat(70_000), (instants, later) => {
      const failures = instants.toSorted((a, b) => a - b);
      const breaker = after(...failures);
      const now = (failures.at(-1) ?? 0) + later;
      expect(breaker.length).toBeLessThanOrEqual(3);
      expect(isOpen(breaker, now)).toBe(failures.filter((at) => now - at < 60_000).length >= 3);
    }),
  );
});

// Keys of objects: readable, unique, and in the order in which bodies are searched.

const UUID = "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278";
const AT = Date.UTC(2026, 10, 16, 12);

const key = (n: number, at = AT) => objectKeyOf({ checkUuid: UUID, n, at });

test("a key contains its check and its number", () => {
  expect(key(123)).toBe(`${UUID}/xihg-123-${AT.toString(36)}`);
});

test("a number that is given anew has another key", () => {
  expect(key(1, AT)).not.toBe(key(1, AT + 1));
});

test("the newer of two bodies is listed first", () => {
  const number = fc.oneof(
    fc.integer({ min: 1, max: 2_000 }),
    fc.maxSafeNat().map((n) => n + 1),
  );
  fc.assert(
    fc.property(number, number, (a, b) => {
      fc.pre(a !== b);
      expect(key(a) < key(b)).toBe(a > b);
    }),
  );
});
