// Uses of keys in memory. Writing them to the database is tested in test/api.
import { expect, test } from "vitest";
import { KeyUses } from "./auth.ts";

test("the newest use of each key is kept, in any order of arrival", () => {
  const uses = new KeyUses();
  uses.note({ keyId: 1, at: 10 });
  uses.note({ keyId: 2, at: 5 });
  uses.note({ keyId: 1, at: 30 });
  uses.note({ keyId: 1, at: 20 });
  expect(uses.take(10)).toEqual([
    { keyId: 1, at: 30 },
    { keyId: 2, at: 5 },
  ]);
});

test("taken uses are removed, and the others stay for the next batch", () => {
  const uses = new KeyUses();
  for (const keyId of [1, 2, 3]) uses.note({ keyId, at: 1 });
  expect(uses.take(2).map(({ keyId }) => keyId)).toEqual([1, 2]);
  expect(uses.take(2).map(({ keyId }) => keyId)).toEqual([3]);
  expect(uses.take(2)).toEqual([]);
});

test("memory is bounded: new keys beyond the limit are not recorded, recorded ones still are", () => {
  const uses = new KeyUses({ keysMax: 2 });
  for (const keyId of [1, 2, 3]) uses.note({ keyId, at: 1 });
  uses.note({ keyId: 2, at: 9 });
  expect(uses.take(10)).toEqual([
    { keyId: 1, at: 1 },
    { keyId: 2, at: 9 },
  ]);
});
