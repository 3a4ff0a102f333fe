// The drawer of one run: opened from the table, walked through, compared with the last success, a mail decoded, and its
// output taken along as a file.
import { readFile } from "node:fs/promises";
import { createTransport } from "nodemailer";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { CheckList } from "../../src/contract/api/overview.ts";
import { freePort } from "../support/ports.ts";
import { button, expectGone, expectSeen, expectSoon, openRoom, type Room, signal } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const MAIL_PORT = await freePort();
const used = useSite({
  OVERDUE_PING_MAIL_LISTEN: `127.0.0.1:${MAIL_PORT}`,
  OVERDUE_PING_MAIL_DOMAIN: "ping.example.org",
});

const rows = (page: Page) => page.locator(".check-runs tbody tr");
const drawer = (page: Page) => page.getByRole("dialog");

async function openCheck(): Promise<Room & { id: string }> {
  const room = await openRoom(used);
  const { id } = await room.make("watched job", { schedule: "0 3 * * *", tz: "America/New_York" });
  await signal(used, id, "", "line one\nline two\nall is well\n");
  await signal(used, id, "/3", "line one\nline two\ndisk is full\n");
  await room.go(`/checks/${id}/details/`);
  await expectSoon(() => rows(room.page).count()).toBe(2);
  return { ...room, id };
}

test("a run opens under its own URL, its neighbors are a key away, and Escape closes it", async () => {
  const { page, context, complaints } = await openCheck();
  await rows(page).first().getByRole("link").click();
  await page.waitForURL(/\/runs\/2\/$/);
  await expectSeen(drawer(page).getByText("Failure, exit code 3"));
  const elsewhere = drawer(page).locator(".run-facts > div", { hasText: "In other time zones" });
  await expectSoon(() => elsewhere.locator("time").allTextContents()).toEqual([
    expect.stringMatching(/ UTC$/),
    expect.stringMatching(/ (EST|EDT|GMT-[45])$/),
  ]);
  await button(drawer(page), "← Older").click();
  await page.waitForURL(/\/runs\/1\/$/);
  await expectSeen(drawer(page).getByText("Success", { exact: true }));
  await page.keyboard.press("ArrowRight");
  await page.waitForURL(/\/runs\/2\/$/);
  await page.reload();
  await expectSeen(drawer(page).getByText("Failure, exit code 3"));
  await page.keyboard.press("Escape");
  await expectGone(drawer(page));
  await page.waitForURL(/\/details\/$/);
  expect(complaints).toEqual([]);
  await context.close();
});

test("a failure is shown against the last success, line by line", async () => {
  const { page, context, id } = await openCheck();
  await page.goto(`${used.site.url}/checks/${id}/runs/2/`);
  const difference = drawer(page).getByRole("region", { name: "Compare with last success" });
  await expectSoon(() => difference.locator(".is-new").allTextContents()).toEqual(["+disk is full"]);
  await expectSoon(() => difference.locator(".is-gone").allTextContents()).toEqual(["−all is well"]);
  await drawer(page).getByRole("tab", { name: "Text" }).click();
  await drawer(page).getByLabel("Search output").fill("line");
  await expectSeen(drawer(page).getByText("2 matches"));
  await context.close();
});

test("the output is downloaded as it came", async () => {
  const { page, context, id } = await openCheck();
  await page.goto(`${used.site.url}/checks/${id}/runs/1/`);
  const waiting = page.waitForEvent("download");
  await (await expectSeen(drawer(page).getByRole("link", { name: /^Download/ }))).click();
  const file = await (await waiting).path();
  expect(await readFile(file, "utf8")).toBe("line one\nline two\nall is well\n");
  await context.close();
});

test("terminal colors are removed from the display and the comparison, and stay in the file and the copy", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("colourful job");
  await signal(used, id, "", "start\nfine\n");
  const came = "start\n\u001b[1;31mdisk is full\u001b[0m\n";
  await signal(used, id, "/fail", came);
  await room.go(`/checks/${id}/details/`);
  await expectSoon(() => rows(page).first().locator("code").textContent()).toBe("start disk is full");
  await page.goto(`${used.site.url}/checks/${id}/runs/2/`);
  const difference = drawer(page).getByRole("region", { name: "Compare with last success" });
  await expectSoon(() => difference.locator(".is-new").allTextContents()).toEqual(["+disk is full"]);
  await drawer(page).getByRole("tab", { name: "Text" }).click();
  await expectSoon(() => drawer(page).locator("pre").textContent()).toBe("start\ndisk is full\n");
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await button(drawer(page), "Copy").click();
  await expectSoon(() => page.evaluate("navigator.clipboard.readText()")).toBe(came);
  const waiting = page.waitForEvent("download");
  await drawer(page)
    .getByRole("link", { name: /^Download/ })
    .click();
  expect(await readFile(await (await waiting).path(), "utf8")).toBe(came);
  await context.close();
});

test("an email is shown decoded, with its sender and subject", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("mailing job");
  const { pingAddresses } = await room.ask<CheckPage>("GET", `/checks/${id}`);
  const transport = createTransport({ host: "127.0.0.1", port: MAIL_PORT, secure: false, ignoreTLS: true });
  await transport.sendMail({
    from: "nas@example.org",
    to: pingAddresses.email ?? "",
    subject: "Nächtliche Sicherung",
    text: "Größe: 12 GB – fertig\n",
  });
  await room.go(`/checks/${id}/details/`);
  await expectSoon(() => rows(page).count()).toBe(1);
  await rows(page).first().getByRole("link").click();
  await expectSoon(() => drawer(page).textContent()).toContain("Nächtliche Sicherung");
  await expectSoon(() => drawer(page).textContent()).toContain("nas@example.org");
  await expectSoon(() => drawer(page).textContent()).toContain("Größe: 12 GB – fertig");
  await context.close();
});

test("older runs come when they are asked for", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { checks } = await room.ask<CheckList>("GET", `/projects/${used.seeded.demo}/checks?limit=1000`);
  const id = checks.find(({ name }) => name === "Search index")?.id ?? "";
  await room.go(`/checks/${id}/details/`);
  await expectSoon(() => rows(page).count()).toBeGreaterThan(10);
  const first = await rows(page).count();
  await button(page, "Older runs").click();
  await expectSoon(() => rows(page).count()).toBeGreaterThan(first);
  await context.close();
});
