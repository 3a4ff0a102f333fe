// What happens outside reaches the page of checks by itself: rows change without a reload, a flip is read out, the
// title and the picture of the tab count what is down, and a second tab sees the same.
import pg from "pg";
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import {
  button,
  expectGone,
  expectSeen,
  expectSoon,
  openRoom,
  row,
  signal,
  stateOf,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const picture = async (page: Page) =>
  decodeURIComponent((await page.locator("link[rel~=icon]").getAttribute("href")) ?? "");

/** Notes from now on all that is read out, also what something else replaces. */
async function noteReadOut(page: Page): Promise<() => Promise<unknown>> {
  await page.evaluate(`
    globalThis.readOut = [];
    const log = document.querySelector("[role=log]");
    new MutationObserver(() => globalThis.readOut.push(log.textContent))
      .observe(log, { childList: true, characterData: true, subtree: true });
  `);
  return () => page.evaluate("globalThis.readOut");
}

test("a signal from outside turns a row up, and the line for the first signal says that it came", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("first job");
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(page.getByRole("heading", { name: "Send the first ping to first job" }));
  await page.evaluate("globalThis.isSamePage = true");
  await signal(used, id);
  await expectSoon(() => stateOf(page, "first job")).toBe("up");
  await expectSeen(page.getByRole("heading", { name: "Ping received: first job is up." }));
  await expectSoon(() => page.title()).toContain("The job is on time");
  expect(await page.evaluate("globalThis.isSamePage")).toBe(true);
  await context.close();
});

test("a start shows as running until the success comes", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("long job");
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(page, "long job"));
  await signal(used, id, "/start");
  await expectSoon(() => stateOf(page, "long job")).toBe("running");
  await signal(used, id);
  await expectSoon(() => stateOf(page, "long job")).toBe("up");
  await context.close();
});

test("a flip is read out once, and counted in the title, in the rail and in the picture of the tab", async () => {
  const room = await openRoom(used, { name: "Quiet house" });
  const { page, context } = room;
  const { id } = await room.make("fragile job");
  await room.make("other job");
  await signal(used, id);
  await room.go(`/projects/${room.project}/checks/`);
  const readOut = await noteReadOut(page);
  await expectSoon(() => stateOf(page, "fragile job")).toBe("up");
  expect(await page.title()).not.toMatch(/^\(/);
  await signal(used, id, "/fail");
  await expectSoon(() => stateOf(page, "fragile job")).toBe("down");
  const log = page.getByRole("log");
  await expectSoon(() => log.textContent()).toBe("fragile job went down.");
  await expectSoon(() => page.title()).toBe("(1) 1 job needs attention · Quiet house · Overdue");
  await expectSoon(() => picture(page)).toContain(">1</text>");
  await expectSeen(page.getByRole("link", { name: "Checks 1 down" }));
  await expectSoon(() => page.locator(".list-group h2").first().textContent()).toBe("Needs attention");
  await signal(used, id);
  await expectSoon(() => stateOf(page, "fragile job")).toBe("up");
  await expectSoon(() => log.textContent()).toBe("fragile job is up again.");
  await expectSoon(() => page.title()).not.toMatch(/^\(/);
  await expectSoon(() => picture(page)).not.toContain("</text>");
  expect(await readOut()).toEqual(["fragile job went down.", "fragile job is up again."]);
  await context.close();
});

test("visible content is not announced again, however long another user has been writing", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("early job");
  const writer = new pg.Client(inject("siteServerUrl"));
  await writer.connect();
  // Whoever asks what has changed begins before the oldest one that has not ended.
  await writer.query("begin; select pg_current_xact_id()");
  try {
    await signal(used, id);
    await room.go(`/projects/${room.project}/checks/`);
    const readOut = await noteReadOut(page);
    await expectSoon(() => stateOf(page, "early job")).toBe("up");
    await signal(used, id, "/fail");
    await expectSoon(() => page.getByRole("log").textContent()).toContain("early job went down.");
    expect(await readOut()).toEqual(["early job went down."]);
  } finally {
    await writer.end();
  }
  await context.close();
});

test.each([
  ["channels", "Channels"],
  ["badges", "Badges"],
  ["settings", "Settings"],
])("a flip is read out and counted on the page of %s, too", async (path, link) => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("distant job");
  await signal(used, id);
  await room.go(`/projects/${room.project}/${path}/`);
  await expectSeen(page.getByRole("link", { name: link, exact: true }));
  await expectSoon(() => page.title()).toContain("Overdue");
  const log = page.getByRole("log");
  await signal(used, id, "/fail");
  await expectSoon(() => page.title()).toMatch(/^\(1\) /);
  await expectSoon(() => picture(page)).toContain(">1</text>");
  await expectSeen(page.getByRole("link", { name: "Checks 1 down" }));
  await signal(used, id);
  await expectSoon(() => log.textContent()).toContain("distant job is up again.");
  await expectSoon(() => page.title()).not.toMatch(/^\(/);
  await context.close();
});

test("two tabs of one browser both get updates, and each shows the changes of the other", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("shared job");
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(page, "shared job"));
  const second = await context.newPage();
  await second.goto(page.url());
  await expectSeen(row(second, "shared job"));
  await signal(used, id);
  await expectSoon(() => stateOf(page, "shared job")).toBe("up");
  await expectSoon(() => stateOf(second, "shared job")).toBe("up");
  await second.locator(".row").hover();
  await button(second, "Actions for shared job").click();
  await second.getByRole("menuitem", { name: "Pause" }).click();
  await expectSoon(() => stateOf(page, "shared job")).toBe("paused");
  await context.close();
});

test("checks created or deleted elsewhere appear and disappear on this screen", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.make("stays");
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(page, "stays"));
  const { id } = await room.make("comes and goes");
  await expectSeen(row(page, "comes and goes"));
  await room.ask("DELETE", `/checks/${id}`);
  await expectSoon(() => row(page, "comes and goes").count()).toBe(0);
  await context.close();
});

test("when the connection comes back, what was missed is caught up", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("missed job");
  await room.go(`/projects/${room.project}/checks/`);
  await expectSoon(() => page.locator(".status .live").textContent()).toBe("live");
  await context.setOffline(true);
  await signal(used, id);
  await context.setOffline(false);
  await expectSoon(() => stateOf(page, "missed job")).toBe("up");
  await context.close();
});

test("while the database is down the page says so, and continues when it is back", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("patient job");
  await signal(used, id);
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(page.getByText("live", { exact: true }));
  await page.evaluate("globalThis.isSamePage = true");
  const name = new URL(used.site.databaseUrl).pathname.slice(1);
  await used.onServer(`alter database ${name} allow_connections false`);
  await used.onServer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  await expectSeen(page.getByText(/^Disconnected since/));
  await used.onServer(`alter database ${name} allow_connections true`);
  await expectSoon(async () => (await signal(used, id, "/fail"), stateOf(page, "patient job"))).toBe("down");
  await expectGone(page.getByText(/^Disconnected since/));
  await expectSeen(page.getByText("live", { exact: true }));
  expect(await page.evaluate("globalThis.isSamePage")).toBe(true);
  await context.close();
});
