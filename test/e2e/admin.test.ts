// The page of whoever runs the installation: how it is doing, who has an account, and what was changed. Nobody else
// sees it.
import { expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import { button, notice, person, expectSeen, expectSoon } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

test("the state of the server is shown: receiving processes, queues, version", async () => {
  const { page, context, complaints } = await used.open();
  await visit(page, `${used.site.url}/admin/`);
  const text = () => page.locator("main").textContent();
  await expectSoon(text).toMatch(/Receiving pings.*1 process running/);
  await expectSoon(text).toMatch(/pings? in the last minute/i);
  await expectSoon(text).toContain("all applied");
  const kept = page.getByRole("table", { name: "Data retention" });
  await expectSeen(kept.getByRole("row", { name: /^Pings and their bodies latest 1,000 per check/ }));
  await expectSeen(kept.getByRole("row", { name: /^Run history for 93 days/ }));
  await expectSoon(() => page.title()).toMatch(/No problems|needs? attention/);
  expect(complaints).toEqual([]);
  await context.close();
});

test("an account gets another limit and admin rights, and both are in the audit log", async () => {
  const email = "colleague@example.org";
  const accountId = await person(used, email);
  const { page, context } = await used.open();
  await visit(page, `${used.site.url}/admin/?tab=accounts`);
  const choose = async (entry: string) => {
    await button(page, `Actions for ${email}`).click();
    await page.getByRole("menuitem", { name: entry }).click();
  };
  await choose("Change check limit");
  const form = page.getByRole("dialog");
  await form.getByLabel("Limit", { exact: true }).fill("7");
  await button(form, "Save").click();
  await expectSeen(notice(page, "Account updated."));
  const line = page.getByRole("row", { name: new RegExp(email) });
  await expectSoon(() => line.textContent()).toContain("0 of 7");
  await choose("Make admin");
  await button(page.getByRole("dialog"), "Make admin").click();
  await expectSoon(() => line.textContent()).toContain("admin");
  const theirs = await used.open({ accountId });
  expect((await theirs.page.goto(`${used.site.url}/admin/`))?.status()).toBe(200);
  await theirs.context.close();
  await page.getByRole("tab", { name: "Audit log" }).click();
  await expectSeen(page.getByRole("row", { name: /changed the check limit/ }));
  await expectSeen(page.getByRole("row", { name: /changed admin rights/ }));
  await context.close();
});

test("a user is invited by a link that creates an account", async () => {
  const { page, context } = await used.open();
  await visit(page, `${used.site.url}/admin/?tab=accounts`);
  await button(page, "Invite someone").click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Email address").fill("invited@example.org");
  await expectSeen(form.getByText(/^This server doesn't send email\. You'll get a link to share/));
  await button(form, "Create link").click();
  const link = await (await expectSeen(page.getByLabel("Invitation link"))).textContent();
  const theirs = await used.open({ signedIn: false });
  await visit(theirs.page, link ?? "");
  // No mail could let them in again.
  await theirs.page.getByLabel("Choose a password").fill("correct horse battery");
  await theirs.page.locator("main form button").first().click();
  await theirs.page.waitForURL((url) => !url.pathname.startsWith("/accounts/"));
  await expectSeen(theirs.page.getByRole("heading", { level: 1 }));
  await theirs.context.close();
  await context.close();
});

test("no other user can see it, and it is not offered to them", async () => {
  const accountId = await person(used, "outsider@example.org");
  const { page, context } = await used.open({ accountId });
  const answer = await page.goto(`${used.site.url}/admin/`);
  expect(answer?.status()).not.toBe(200);
  await visit(page, `${used.site.url}/`);
  await page.locator(".account-button").click();
  await expectSeen(page.getByRole("menuitem", { name: "Sign out" }));
  expect(await page.getByRole("menuitem", { name: "Server admin" }).count()).toBe(0);
  await context.close();
});
