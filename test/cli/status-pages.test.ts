// `overdue status-pages` against a running server: pages, what is published on them, and what is said if something is
// wrong.
import { beforeEach, describe, expect, test } from "vitest";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import { callOverdue } from "./run-overdue.ts";

const cast = useCast();
const status = (...args: string[]) =>
  callOverdue(["status-pages", ...args], { OVERDUE_SITE_URL: cast.site, OVERDUE_API_KEY: cast.owner.rw });
const json = async (...args: string[]) => {
  const { code, out, err } = await status(...args, "--json");
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out) as Record<string, unknown>;
};

beforeEach(async () => {
  await cast.db.pool.query("delete from status_pages");
});

const create = (...args: string[]) => status("create", "--slug", "acme", "--title", "Acme", ...args);

describe("a page", () => {
  test("is created with public names, listed, and shown", async () => {
    const { uuid: check } = await newCheck(cast, { name: "backup" });
    expect(await create("--check", `${check}=Backups`, "--tag", "db=Database")).toEqual({
      code: 0,
      out: `Created ${cast.site}/status/acme/\n`,
      err: "",
    });
    expect((await status("list")).out).toBe(`acme  unknown  Acme  ${cast.site}/status/acme/\n`);
    const { out } = await status("show", "acme");
    expect(out).toContain(`Backups (${check})`);
    expect(out).toContain("Database (tag db)");
    expect(await json("show", "acme")).toMatchObject({
      slug: "acme",
      groups: [{ entries: [{ name: "Backups" }, { name: "Database", tag: "db" }] }],
    });
  });

  test("is deleted and restored", async () => {
    await create();
    expect((await status("delete", "acme")).out).toContain("overdue status-pages restore acme");
    expect(await status("list")).toEqual({ code: 0, out: "", err: "No status pages.\n" });
    expect((await status("list", "--deleted")).out).toMatch(/^acme /);
    expect((await status("restore", "acme")).out).toBe(`Restored ${cast.site}/status/acme/\n`);
    expect(await json("delete", "acme")).toEqual({ deleted: "acme" });
  });

  test.each([
    [["--check", "nothing=Backups"], "Not the UUID of a check."],
    [["--check", "f618072a-7bde-4eee-af63-71a77c5723bc"], "Give a public name after =."],
    [["--tag", "db="], "Give a public name after =."],
  ])("%j is refused", async (args, text) => {
    const { code, err } = await create(...args);
    expect([code, err.includes(text)]).toEqual([2, true]);
  });

  test("an address that is taken, and one that does not exist, are said", async () => {
    await create();
    const again = await create();
    expect([again.code, again.err.includes("Another status page has this address.")]).toEqual([1, true]);
    const missing = await status("show", "other");
    expect([missing.code, missing.err.includes("no such status page: other")]).toEqual([1, true]);
  });
});

describe("publishing", () => {
  test("an incident is published, gets notes, and ends", async () => {
    await create();
    expect(await status("posts", "acme")).toEqual({ code: 0, out: "", err: "Nothing is published.\n" });
    const { out } = await status("publish", "acme", "--title", "Late", "--text", "We are on it.");
    expect(out).toMatch(/^Published incident [0-9a-f-]{36}\.\n$/);
    expect((await status("posts", "acme")).out).toMatch(/ {2}incident {2}.* {2}open {2}Late\n$/);
    const noted = await status("note", "acme", "--text", "Done.", "--resolved");
    expect(noted.out).toBe("Published and ended: Late\n");
    const { posts } = await json("posts", "acme");
    expect(posts).toMatchObject([
      { kind: "incident", notes: [{ text: "Done." }, { text: "We are on it." }] },
    ]);
    const more = await status("note", "acme", "--text", "More.");
    expect([more.code, more.err.includes("Everything on this page has ended.")]).toEqual([1, true]);
  });

  test("maintenance has a planned end", async () => {
    await create();
    const until = `${new Date(Date.now() + 7_200_000).toISOString().slice(0, 16)}Z`;
    const made = await json("publish", "acme", "--title", "Upgrade", "--text", "Late.", "--until", until);
    expect(made).toMatchObject({
      kind: "maintenance",
      title: "Upgrade",
      until: until.replace("Z", ":00.000Z"),
    });
  });
});
