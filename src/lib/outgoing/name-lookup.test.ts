import type { LookupAddress } from "node:dns";
import { expect, test } from "vitest";
import { nameLookup, type NameLookupParts, WAITING_MAX } from "./name-lookup.ts";

const notFound = () => Object.assign(new Error("not found"), { code: "ENOTFOUND" });

/** DNS knows `known.example`; the system knows the others, once it is let. */
function setUp() {
  const atSystem: { hostname: string; answer: () => void }[] = [];
  let mostAtOnce = 0;
  let atOnce = 0;
  const parts: NameLookupParts = {
    resolve4: (hostname, done) =>
      hostname === "known.example" ? done(null, ["192.0.2.1"]) : done(notFound(), []),
    resolve6: (hostname, done) =>
      hostname === "known.example" ? done(null, ["2001:db8::1"]) : done(notFound(), []),
    system: (hostname, _options, done) => {
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      const answer = () => {
        atOnce -= 1;
        done(null, [{ address: "192.0.2.9", family: 4 }]);
      };
      atSystem.push({ hostname, answer });
    },
  };
  const lookup = nameLookup(parts);
  const find = (hostname: string, family?: number) =>
    new Promise<LookupAddress[]>((resolve, reject) => {
      lookup(hostname, { all: true, ...(family !== undefined && { family }) }, (error, addresses) =>
        error === null ? resolve(addresses) : reject(error),
      );
    });
  return { find, atSystem, mostAtOnce: () => mostAtOnce };
}

test("a name that DNS knows is found without the system, while others hang there", async () => {
  const { find, atSystem, mostAtOnce } = setUp();
  const hanging = Array.from({ length: 50 }, (_, n) => find(`hangs-${n}.example`));
  expect(await find("known.example")).toEqual([
    { address: "192.0.2.1", family: 4 },
    { address: "2001:db8::1", family: 6 },
  ]);
  expect(await find("known.example", 6)).toEqual([{ address: "2001:db8::1", family: 6 }]);
  expect(atSystem).toHaveLength(1);
  while (atSystem.length > 0) atSystem.shift()?.answer();
  expect(await Promise.all(hanging)).toHaveLength(50);
  expect(mostAtOnce()).toBe(1);
});

test.each(["chat", "localhost", "chat.", "a.localhost"])("%s is asked of the system alone", async (name) => {
  const { find, atSystem } = setUp();
  const found = find(name);
  expect(atSystem.map(({ hostname }) => hostname)).toEqual([name]);
  atSystem[0]?.answer();
  expect(await found).toEqual([{ address: "192.0.2.9", family: 4 }]);
});

test("more names than may wait for the system fail", async () => {
  const { find, atSystem } = setUp();
  const waiting = Array.from({ length: WAITING_MAX + 1 }, (_, n) => find(`hangs-${n}.example`));
  await expect(find("one-more.example")).rejects.toMatchObject({ code: "EAI_AGAIN" });
  while (atSystem.length > 0) atSystem.shift()?.answer();
  expect(await Promise.all(waiting)).toHaveLength(WAITING_MAX + 1);
});
