import { expect, test } from "vitest";
import { acceptedSecrets, isAnyNeeded, neededOf, ownSecrets, secretsFrom } from "./secrets.ts";

const [CURRENT, PREVIOUS] = ["c".repeat(32), "p".repeat(32)];

test("the current key comes first, and a previous one that equals it is none", () => {
  expect(acceptedSecrets({ current: CURRENT, previous: PREVIOUS })).toEqual([CURRENT, PREVIOUS]);
  expect(acceptedSecrets({ current: CURRENT, previous: null })).toEqual([CURRENT]);
  expect(secretsFrom({ current: CURRENT, previous: CURRENT })).toEqual({ current: CURRENT, previous: null });
  expect(secretsFrom({ current: CURRENT, previous: PREVIOUS }).previous).toBe(PREVIOUS);
});

test("a short key of another program is accepted for keys and badges, not for links and seals", () => {
  expect(ownSecrets({ current: CURRENT, previous: PREVIOUS })).toEqual([CURRENT, PREVIOUS]);
  expect(ownSecrets({ current: CURRENT, previous: "p".repeat(31) })).toEqual([CURRENT]);
  expect(acceptedSecrets({ current: CURRENT, previous: "---" })).toEqual([CURRENT, "---"]);
  expect(ownSecrets({ current: CURRENT, previous: null })).toEqual([CURRENT]);
});

test("the previous key is needed while any value was made with it", () => {
  const none = { previous: 0, neither: 7 };
  const counts = { apiKeys: none, accessTokens: none, authenticators: none, recoveryCodes: none };
  expect(isAnyNeeded(neededOf(counts))).toBe(false);
  const one = { ...counts, recoveryCodes: { previous: 1, neither: 0 } };
  expect(neededOf(one)).toEqual({ apiKeys: 0, accessTokens: 0, authenticators: 0, recoveryCodes: 1 });
  expect(isAnyNeeded(neededOf(one))).toBe(true);
});
