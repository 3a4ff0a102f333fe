import type { LookupAddress } from "node:dns";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { hostsList, nameLookup, type NameLookupDeps, WAITING_MAX } from "./outgoing-http.ts";

const notFound = () => Object.assign(new Error("not found"), { code: "ENOTFOUND" });

const unanswered = (code: string) => Object.assign(new Error("no answer"), { code });

/** DNS resolves `known.example`; the system resolves the others. */
function setUp({ isListed = () => false }: { isListed?: (hostname: string) => boolean } = {}) {
  const atSystem: { hostname: string; answer: () => void }[] = [];
  let mostAtOnce = 0;
  let atOnce = 0;
  const failureOf = (hostname: string) =>
    hostname.startsWith("timeout.") ? unanswered("ETIMEOUT") : notFound();
  const parts: NameLookupDeps = {
    isListed,
    resolve4: (hostname, done) =>
      hostname === "known.example" ? done(null, ["192.0.2.1"]) : done(failureOf(hostname), []),
    resolve6: (hostname, done) => {
      if (hostname === "known.example") return done(null, ["2001:db8::1"]);
      done(hostname.startsWith("broken.") ? unanswered("ESERVFAIL") : failureOf(hostname), []);
    },
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

test("a name in DNS is resolved without the system resolver, while others hang there", async () => {
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

test.each(["chat", "localhost", "chat.", "a.localhost"])(
  "%s is only looked up by the system resolver",
  async (name) => {
    const { find, atSystem } = setUp();
    const found = find(name);
    expect(atSystem.map(({ hostname }) => hostname)).toEqual([name]);
    atSystem[0]?.answer();
    expect(await found).toEqual([{ address: "192.0.2.9", family: 4 }]);
  },
);

test("lookups beyond the queue limit of the system resolver fail", async () => {
  const { find, atSystem } = setUp();
  const waiting = Array.from({ length: WAITING_MAX + 1 }, (_, n) => find(`hangs-${n}.example`));
  await expect(find("one-more.example")).rejects.toMatchObject({ code: "EAI_AGAIN" });
  while (atSystem.length > 0) atSystem.shift()?.answer();
  expect(await Promise.all(waiting)).toHaveLength(WAITING_MAX + 1);
});

test("a name whose server does not answer fails, and does not delay other names at the system resolver", async () => {
  const { find, atSystem } = setUp();
  await expect(find("timeout.example")).rejects.toMatchObject({ code: "EAI_AGAIN" });
  await expect(find("broken.example")).rejects.toMatchObject({ code: "EAI_AGAIN" });
  expect(atSystem).toEqual([]);
  const found = find("chat");
  atSystem[0]?.answer();
  expect(await found).toEqual([{ address: "192.0.2.9", family: 4 }]);
});

test("a name in the hosts file is resolved by the system, even if DNS has another address", async () => {
  const { find, atSystem } = setUp({ isListed: (hostname) => hostname === "known.example" });
  const found = find("known.example");
  expect(atSystem.map(({ hostname }) => hostname)).toEqual(["known.example"]);
  atSystem[0]?.answer();
  expect(await found).toEqual([{ address: "192.0.2.9", family: 4 }]);
});

test("the hosts file is read again when it has changed", () => {
  const folder = mkdtempSync(join(tmpdir(), "overdue-hosts-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "hosts");
  const isListed = hostsList(path);
  expect(isListed("chat.example.org")).toBe(false);
  writeFileSync(
    path,
    "# 10.0.0.4 not.example.org\n10.0.0.5\tChat.example.org  chat # hooks.example.org\n\n::1 a.b\n",
  );
  expect(["chat.example.org", "CHAT.example.org.", "chat", "a.b"].every(isListed)).toBe(true);
  expect(["not.example.org", "hooks.example.org", "10.0.0.5", ""].some(isListed)).toBe(false);
  writeFileSync(path, "10.0.0.5 other.example.org\n");
  expect(["chat.example.org", "other.example.org"].map(isListed)).toEqual([false, true]);
});
