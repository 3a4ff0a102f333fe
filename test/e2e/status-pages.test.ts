// Status pages: created with a check, opened as a reader, changed by the job, published on, deleted and undone; and the
// public page for axe in both themes and on a phone.
import { expect, test } from "vitest";
import { accessibilityTrouble } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, openRoom, signal, undo } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

/** The first test does a lot, on a machine that may be busy. */
const LONG_MS_MAX = 600_000;

type Pages = { pages: { title: string; slug: string; groups: { entries: { name: string }[] }[] }[] };

test(
  "a page is created with a check, read by the public, published on, deleted and restored",
  async () => {
    const room = await openRoom(used);
    const { page, context, complaints, project } = room;
    const check = await room.make("internal-checkout-job-7", { tags: "prod" });
    await signal(used, check.id);
    await room.go(`/projects/${project}/status-pages/`);
    await expectSeen(page.getByRole("heading", { level: 1, name: "No status pages yet" }));
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(page, "New status page").first().click();
    const form = page.getByRole("dialog", { name: "New status page" });
    await form.getByLabel("Title", { exact: true }).fill("Nordlight Shop");
    await expectSoon(() => form.getByLabel("Address").inputValue()).toBe("nordlight-shop");
    await form.getByLabel("Name of group 1").last().fill("Shop");
    await button(form, "Add checks").click();
    await form.getByLabel("internal-checkout-job-7").click();
    await button(form, "Done").click();
    await button(form, "Add tag").click();
    await form.getByRole("button", { name: "prod", exact: true }).click();
    await button(form, "Done").click();
    await form.getByLabel("Public name of Check: internal-checkout-job-7").fill("Checkout");
    await form.getByLabel("Public name of Tag: prod").fill("Everything");
    await button(form, "Move Everything up").click();
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(form, "Create status page").click();
    await expectGone(form);
    await expectSeen(page.getByRole("heading", { level: 1, name: "1 status page" }));
    const { pages } = await room.ask<Pages>("GET", `/projects/${project}/status-pages`);
    expect(pages[0]?.groups[0]?.entries.map(({ name }) => name)).toEqual(["Everything", "Checkout"]);
    expect(await accessibilityTrouble(page)).toEqual([]);

    // Somebody without an account.
    const reader = await used.open({ signedIn: false });
    const publicUrl = `${used.site.url}/status/nordlight-shop/`;
    await expectSoon(async () => (await fetch(publicUrl)).status).toBe(200);
    await reader.page.goto(publicUrl);
    await expectSeen(reader.page.getByRole("heading", { level: 1, name: "Everything is working" }));
    await expectSeen(reader.page.getByRole("heading", { level: 3, name: "Checkout" }));
    expect(await reader.page.content()).not.toContain("internal-checkout-job-7");

    // The job fails, and the page says so.
    await signal(used, check.id, "/fail");
    await expectSoon(async () => {
      await reader.page.reload();
      return reader.page.locator("h1").textContent();
    }).toBe("Outage: Everything and Checkout");

    await button(page, "Publish on Nordlight Shop").click();
    const posts = page.getByRole("dialog", { name: "Publish on Nordlight Shop" });
    await posts.getByLabel("Title", { exact: true }).fill("Payments fail");
    await posts.getByLabel("First note").fill("We are looking into it.");
    await posts.getByRole("button", { name: "Checkout", exact: true }).click();
    await button(posts, "Publish incident").click();
    await expectSeen(posts.getByRole("heading", { level: 4, name: "Payments fail" }));
    await expectSoon(async () => {
      await reader.page.reload();
      return reader.page.locator("h1").textContent();
    }).toBe("Payments fail");
    await expectSeen(reader.page.getByText("We are looking into it."));
    await button(posts, "Add note to Payments fail").click();
    await posts.getByLabel("Note", { exact: true }).fill("Fixed.");
    await posts.getByLabel("Also mark as resolved").click();
    await button(posts, "Publish note").click();
    await expectSeen(posts.getByText("resolved", { exact: true }));
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(posts, "Close").click();
    await expectGone(posts);

    await button(page, "Delete Nordlight Shop").click();
    await expectSeen(page.getByRole("heading", { level: 1, name: "No status pages yet" }));
    await expectSoon(async () => (await fetch(publicUrl)).status).toBe(404);
    await undo(page, "Deleted: Nordlight Shop");
    await expectSeen(page.getByRole("heading", { level: 1, name: "1 status page" }));
    await expectSoon(async () => (await fetch(publicUrl)).status).toBe(200);
    expect(complaints).toEqual([]);
    expect(reader.complaints).toEqual([]);
    await reader.context.close();
    await context.close();
  },
  LONG_MS_MAX,
);

test("a page with a password opens after it was entered, without scripts", async () => {
  const room = await openRoom(used);
  const { id } = await room.make("backup");
  await room.ask("POST", `/projects/${room.project}/status-pages`, {
    slug: "locked-page",
    title: "Locked",
    password: "correct horse",
    groups: [{ name: "", entries: [{ name: "Backups", check: id, tag: null }] }],
  });
  const url = `${used.site.url}/status/locked-page/`;
  await expectSoon(async () => (await fetch(url)).status).toBe(403);
  const { page, context } = await used.open({ signedIn: false });
  await page.goto(url);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await page.getByLabel("Password").fill("wrong");
  await button(page, "Show status").click();
  await expectSeen(page.getByText("Wrong password. Try again."));
  await page.getByLabel("Password").fill("correct horse");
  await button(page, "Show status").click();
  await expectSeen(page.getByRole("heading", { level: 3, name: "Backups" }));
  expect(page.url()).toBe(url);
  await context.close();
  await room.context.close();
});

test.each([["desktop"], ["phone"]] as const)("the public page is accessible on a %s", async (screen) => {
  const room = await openRoom(used);
  const slug = `access-${screen}`;
  const { id } = await room.make("backup");
  await signal(used, id);
  const { id: pageId } = await room.ask<{ id: string }>("POST", `/projects/${room.project}/status-pages`, {
    slug,
    title: "Nordlight",
    description: "State of our services.",
    groups: [{ name: "Data", entries: [{ name: "Backups", check: id, tag: null }] }],
  });
  for (const kind of ["incident", "maintenance"]) {
    await room.ask("POST", `/projects/${room.project}/status-pages/${pageId}/posts`, {
      kind,
      title: `Some ${kind}`,
      text: "A note.",
      ...(kind === "maintenance" && { from: Date.now() + 3_600_000, until: Date.now() + 7_200_000 }),
    });
  }
  const url = `${used.site.url}/status/${slug}/`;
  await expectSoon(async () => (await fetch(url)).text()).toContain("Some maintenance");
  const { page, context, complaints } = await used.open({ signedIn: false, screen });
  await page.goto(url);
  expect(await accessibilityTrouble(page), "light").toEqual([]);
  await page.locator("summary").click();
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await accessibilityTrouble(page, "contrast"), "dark").toEqual([]);
  const isScrolled = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
  expect(await page.evaluate<boolean>(isScrolled), "scrolls sideways").toBe(false);
  expect(complaints).toEqual([]);
  await context.close();
  await room.context.close();
});
