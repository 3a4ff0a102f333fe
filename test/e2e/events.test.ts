// The page of events: what happened is there, is filtered and searched, comes by itself, and can be taken along as a
// file; and the page of badges, whose pictures are real.
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { button, openRoom, expectSeen, signal, expectSoon } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

/** What is in the file behind a link. */
async function saved(page: Page, link: string): Promise<string> {
  const waiting = page.waitForEvent("download");
  await page.getByRole("link", { name: link }).click();
  const download = await waiting;
  expect(download.suggestedFilename()).toBe(link.endsWith("CSV") ? "events.csv" : "events.json");
  return readFile(await download.path(), "utf8");
}

test("what happened is listed newest first, filtered by kind, searched by text, and saved as CSV", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  const first = await room.make("alpha job");
  const second = await room.make("beta job");
  await signal(used, first.id);
  await signal(used, first.id, "/fail");
  await expectSoon(
    async () => (await room.ask<{ row: { state: string } }>("GET", `/checks/${first.id}`)).row.state,
  ).toBe("down");
  await room.ask("POST", `/checks/${second.id}/pause`);
  await room.go(`/projects/${room.project}/events/`);
  const lines = page.locator("tbody tr");
  const texts = () => lines.allTextContents();
  await expectSoon(async () => (await texts())[0]).toContain("beta jobwas paused");
  await expectSoon(async () => (await texts()).join()).toContain("went down: the job reported a failure");
  await button(page, "up and down").click();
  await expectSoon(async () => (await texts()).join()).not.toContain("was paused");
  await expectSoon(async () => (await texts()).join()).toContain("went down");
  await button(page, "all events").click();
  await page.getByLabel("Search events").fill("beta");
  await expectSoon(async () => (await texts()).every((text) => text.includes("beta job"))).toBe(true);
  const csv = await saved(page, "Download as CSV");
  expect(csv.split("\r\n")[0]).toBe('"When","Check","Event","By"');
  expect(csv).toContain('"beta job","was paused"');
  expect(csv).not.toContain("alpha job");
  const json = await saved(page, "Download as JSON");
  expect(JSON.parse(json)).toMatchObject({ events: [{ what: "was paused", check: { name: "beta job" } }] });
  await page.getByLabel("Search events").fill("nothing like it");
  await expectSeen(page.getByRole("heading", { name: "No matching events" }));
  expect(complaints).toEqual([]);
  await context.close();
});

test("a flip appears in the list by itself", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("watched job");
  await signal(used, id);
  await room.go(`/projects/${room.project}/events/`);
  await signal(used, id, "/fail");
  await expectSeen(page.getByText("went down: the job reported a failure"));
  await context.close();
});

test("a range of time and a zone are kept in the address, and shown again from it", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  const { id } = await room.make("zoned job", { kind: "cron", schedule: "0 3 * * *", tz: "Asia/Tokyo" });
  await room.ask("POST", `/checks/${id}/pause`);
  await room.go(`/projects/${room.project}/events/`);
  await expectSeen(page.getByText("was paused"));
  await page.getByLabel("From").fill("2020-01-01T00:00");
  await page.getByLabel("Until").fill("2020-01-02T00:00");
  await expectSeen(page.getByRole("heading", { name: "No matching events" }));
  expect(page.url()).toContain("from=2020-01-01T00%3A00&to=2020-01-02T00%3A00");
  await page.reload();
  await expectSeen(page.getByRole("heading", { name: "No matching events" }));
  expect(await page.getByLabel("From").inputValue()).toBe("2020-01-01T00:00");
  await button(page, "Any time").click();
  await expectSeen(page.getByText("was paused"));
  await page.getByLabel("Time zone").selectOption({ label: "UTC" });
  await expectSeen(page.getByText("time zone: UTC"));
  await page.getByLabel("Time zone").selectOption({ label: "time zone of each check" });
  await expectSeen(page.getByText("time zone: Europe/Riga"));
  await expectSeen(page.locator("tbody").getByText("Asia/Tokyo"));
  expect(await page.locator("tbody time").first().getAttribute("title")).toMatch(/GMT\+9|JST/);
  expect(page.url()).toContain("zone=check");
  expect(complaints).toEqual([]);
  await context.close();
});

test("on a phone the time range is collapsed until it is opened or the URL has it", async () => {
  const room = await openRoom(used, { screen: "phone" });
  const { page, context } = room;
  const url = `/projects/${room.project}/events/`;
  await room.go(url);
  await expectSeen(page.getByRole("heading", { name: "Events appear here automatically" }));
  expect(await page.getByLabel("From").isVisible()).toBe(false);
  await button(page, "times").click();
  await expectSeen(page.getByLabel("From"));
  await room.go(`${url}?from=2020-01-01T00%3A00`);
  await expectSeen(page.getByLabel("From"));
  await room.go(url);
  await page.getByRole("link", { name: "View checks" }).click();
  await expectSeen(page.getByRole("heading", { name: "No checks yet" }));
  await context.close();
});

test("an event leads to its check", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("linked job");
  await room.ask("POST", `/checks/${id}/pause`);
  await room.go(`/projects/${room.project}/events/`);
  await page.getByRole("link", { name: "linked job" }).first().click();
  await expectSoon(() => page.url()).toMatch(`/checks/${id}/details/`);
  await context.close();
});

test("older events come when they are asked for", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.go(`/projects/${used.seeded.demo}/events/`);
  const lines = page.locator("tbody tr");
  await expectSeen(lines);
  const count = await lines.count();
  const more = button(page, "Older events");
  if ((await more.count()) > 0) {
    await more.click();
    await expectSoon(() => lines.count()).toBeGreaterThan(count);
  } else {
    await expectSeen(page.getByText("No older events."));
  }
  await context.close();
});
