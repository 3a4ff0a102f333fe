// Lookups of checks by slug and UUID, with a scripted database.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SignalTarget } from "../core/signal.ts";
import { type FoundTarget, TargetLookups } from "./target-lookups.ts";

const UUID = "00000000-0000-4000-8000-000000000001";
const OTHER = "00000000-0000-4000-8000-000000000002";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => vi.useRealTimers());

const slug = (name: string): SignalTarget => ({ by: "slug", pingKey: "key", slug: name });

function scripted() {
  const clock = { ms: 0 };
  const queries: (readonly SignalTarget[])[] = [];
  const database: { answer: () => Promise<FoundTarget> } = { answer: async () => ({ uuid: UUID }) };
  const lookups = new TargetLookups({
    find: async (targets) => {
      queries.push(targets);
      return Promise.all(targets.map(() => database.answer()));
    },
    monotonic: () => clock.ms,
  });
  return { clock, queries, database, lookups };
}

test("targets that are asked for at the same time are one query, and slugs are remembered for a moment", async () => {
  const { clock, queries, database, lookups } = scripted();
  const found = await Promise.all(["a", "b"].map((name) => lookups.find(slug(name))));
  expect([found, queries.length]).toEqual([[{ uuid: UUID }, { uuid: UUID }], 1]);
  database.answer = async () => ({ uuid: OTHER });
  clock.ms = 1_999;
  expect(await lookups.find(slug("a"))).toEqual({ uuid: UUID });
  clock.ms = 2_000;
  expect(await lookups.find(slug("a"))).toEqual({ uuid: OTHER });
  database.answer = async () => "unknown";
  clock.ms = 4_000;
  expect(await lookups.find(slug("a"))).toBe("unknown");
  database.answer = () => Promise.reject(new Error("away"));
  await expect(lookups.find(slug("a"))).rejects.toThrow("away");
});

test("while the database is unavailable, slugs of the last hour are used", async () => {
  const { clock, queries, database, lookups } = scripted();
  await lookups.find(slug("a"));
  database.answer = () => Promise.reject(new Error("away"));
  clock.ms = 60_000;
  expect(await lookups.find(slug("a"))).toEqual({ uuid: UUID });
  await expect(lookups.find(slug("b"))).rejects.toThrow("away");
  // It is not asked for every ping.
  expect(queries).toHaveLength(3);
  for (let n = 0; n < 10; n += 1) expect(await lookups.find(slug("a"))).toEqual({ uuid: UUID });
  expect(queries).toHaveLength(3);
  clock.ms = 3_600_000;
  await expect(lookups.find(slug("a"))).rejects.toThrow("away");
});

test("a database that does not answer keeps nobody waiting for more than a second", async () => {
  const { clock, database, lookups } = scripted();
  await lookups.find(slug("a"));
  clock.ms = 60_000;
  database.answer = () => new Promise(() => {});
  const known = lookups.find(slug("a"));
  const unknown = lookups.find({ by: "uuid", uuid: UUID });
  unknown.catch(() => {});
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  const late = lookups.find(slug("b"));
  vi.advanceTimersByTime(1_000);
  expect(await known).toEqual({ uuid: UUID });
  await expect(unknown).rejects.toThrow("did not answer in time");
  await expect(late).rejects.toThrow("did not answer in time");
});
