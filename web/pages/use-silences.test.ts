// Which checks are silenced now.
import { expect, test } from "vitest";
import type { Silence } from "../../src/contract/api/silences.ts";
import { silencedNow } from "./use-silences.ts";

const NOW = 1_794_735_000_000;
const check = { id: "a", tags: ["db", "prod"], state: "down" as const, lastPingAt: NOW - 500 };
const silence = (change: Partial<Silence>): Silence =>
  ({
    id: "s",
    checks: null,
    tag: null,
    state: "upcoming",
    window: { from: NOW - 1_000, until: NOW + 1_000 },
    from: NOW - 1_000,
    untilSuccess: false,
    ...change,
  }) as Silence;

test.each<[string, Partial<Silence>, boolean]>([
  ["all checks", {}, true],
  ["its tag", { tag: "db" }, true],
  ["another tag", { tag: "d" }, false],
  ["the check", { checks: [{ id: "a", name: "" }] }, true],
  ["another check", { checks: [{ id: "b", name: "" }] }, false],
  ["a window that begins later", { window: { from: NOW + 1, until: NOW + 2 } }, false],
  ["a window that began this minute", { state: "active", window: { from: NOW + 1, until: NOW + 2 } }, true],
  ["a window that ends now", { window: { from: NOW - 1, until: NOW } }, false],
  ["no window any more", { window: null }, false],
])("a silence of %s", (_, change, isSilenced) => {
  expect(silencedNow([silence(change)], check, NOW) !== null).toBe(isSilenced);
});

test("the one that lasts longest is shown", () => {
  const longer = silence({ id: "longer", window: { from: NOW, until: NOW + 9_000 } });
  expect(silencedNow([silence({}), longer, silence({})], check, NOW)).toEqual({
    silence: longer,
    until: NOW + 9_000,
  });
});

test("one that ends with a success is over for a check that is up since", () => {
  const one = silence({ untilSuccess: true });
  expect(silencedNow([one], check, NOW)).not.toBeNull();
  expect(silencedNow([one], { ...check, state: "up" }, NOW)).toBeNull();
  expect(silencedNow([one], { ...check, state: "up", lastPingAt: NOW - 5_000 }, NOW)).not.toBeNull();
});
