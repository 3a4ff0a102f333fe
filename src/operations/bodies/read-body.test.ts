// The guard in front of an object store that keeps failing. Reading itself is tested with a database and a real
// store in test/storage.
import { expect, test } from "vitest";
import { ObjectStoreError, type ObjectTrouble } from "../../lib/object-store.ts";
import { guardedObjects } from "./read-body.ts";

/** A store whose answer and whose clock the test sets. */
function scripted() {
  const script = { trouble: null as ObjectTrouble | null, nowMs: 0, calls: 0 };
  const objects = {
    get: async () => {
      script.calls += 1;
      if (script.trouble !== null) throw new ObjectStoreError(script.trouble, "scripted");
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
  async (trouble) => {
    const { script, guarded } = scripted();
    script.trouble = trouble;
    for (let i = 0; i < 3; i++) await expect(guarded.get("key")).rejects.toThrow("scripted");
    const refused = await guarded.get("key").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ObjectStoreError);
    expect(refused).toMatchObject({ trouble: "unavailable" });
    expect(script.calls).toBe(3);
    script.trouble = null;
    script.nowMs = 60_000;
    expect(await guarded.get("key")).toEqual(Buffer.from("body"));
  },
);

test("objects that are missing are no failures of the store", async () => {
  const { script, guarded } = scripted();
  script.trouble = "missing";
  for (let i = 0; i < 5; i++) await expect(guarded.get("key")).rejects.toThrow("scripted");
  expect(script.calls).toBe(5);
});
