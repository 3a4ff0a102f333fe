// The settings of a project: its name, its people and their roles, its keys, handing it over and removing it; and the
// record of changes, which has all of it.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import {
  button,
  expectGone,
  notice,
  openRoom,
  person,
  type Room,
  expectSeen,
  expectSoon,
  undo,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const part = (page: Page, title: string) =>
  page.locator("section.section", { has: page.getByRole("heading", { name: title, exact: true }) });

async function openSettings(name: string): Promise<Room> {
  const room = await openRoom(used, { name });
  await room.go(`/projects/${room.project}/settings/`);
  await expectSeen(part(room.page, "Members"));
  return room;
}

/** Invites somebody who has an account, by the link that is shown where no mail is sent, and lets them follow it. */
async function join(room: Room, email: string): Promise<Page> {
  const accountId = await person(used, email);
  await button(room.page, "Invite someone").click();
  const form = room.page.getByRole("dialog");
  await form.getByLabel("Email address").fill(email);
  await form.getByLabel("Role").selectOption("readOnly");
  await button(form, "Create link").click();
  const link = await (await expectSeen(room.page.getByLabel("Invitation link"))).textContent();
  await button(room.page.getByRole("dialog"), "Done").click();
  await expectSeen(room.page.getByRole("list", { name: "Pending invitations" }).getByText(email));
  const theirs = await used.open({ accountId });
  await visit(theirs.page, link ?? "");
  await theirs.page.locator("main form button").first().click();
  await theirs.page.waitForURL(/\/projects\/[0-9a-f-]{36}\/checks\//);
  return theirs.page;
}

test("a new name is shown immediately in the sidebar, and is in the audit log with the old one", async () => {
  const { page, context, complaints } = await openSettings("Old house");
  await part(page, "Name").getByLabel("Project name").fill("New house");
  await button(part(page, "Name"), "Save").click();
  await expectSeen(notice(page, "Project renamed."));
  await expectSeen(button(page, "Switch project: New house"));
  await page.getByRole("tab", { name: "Audit log" }).click();
  const line = page.getByRole("row", { name: /renamed the project/ });
  await expectSeen(line);
  expect(await line.locator("del").textContent()).toBe("Old house");
  expect(await line.locator("ins").textContent()).toBe("New house");
  expect(complaints).toEqual([]);
  await context.close();
});

test("a user is invited, joins, gets another role with undo, and is removed", async () => {
  const room = await openSettings("Club");
  const { page, context } = room;
  const theirs = await join(room, "guest@example.org");
  expect(await button(theirs, "New check").count()).toBe(0);
  await page.reload();
  const role = page.getByLabel("Role of guest@example.org");
  await expectSeen(role);
  expect(await role.inputValue()).toBe("readOnly");
  await role.selectOption("manager");
  await expectSeen(notice(page, "guest@example.org is now manager."));
  await theirs.reload();
  await expectSeen(button(theirs, "New check"));
  await undo(page, "guest@example.org is now manager.");
  await expectSoon(() => role.inputValue()).toBe("readOnly");
  await button(page, "Remove guest@example.org").click();
  await button(page.getByRole("dialog"), "Remove").click();
  await expectGone(role);
  expect((await theirs.reload())?.status()).toBe(404);
  await theirs.context().close();
  await context.close();
});

test("a user who cannot invite without a mail server is told so instead", async () => {
  const accountId = await person(used, "mailless@example.org");
  const room = await openRoom(used, { name: "Quiet house", accountId });
  await room.go(`/projects/${room.project}/settings/`);
  await expectSeen(part(room.page, "Members").getByText(/OVERDUE_SMTP_HOST/));
  expect(await button(room.page, "Invite someone").count()).toBe(0);
  expect(room.complaints).toEqual([]);
  await room.context.close();
});

test("an invitation can be withdrawn", async () => {
  const { page, context } = await openSettings("Quiet club");
  await button(page, "Invite someone").click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Email address").fill("late@example.org");
  await button(form, "Create link").click();
  const link = await (await expectSeen(page.getByLabel("Invitation link"))).textContent();
  await button(page.getByRole("dialog"), "Done").click();
  await button(page, "Withdraw the invitation for late@example.org").click();
  await expectSeen(notice(page, "Withdrew the invitation for late@example.org."));
  const nobody = await used.open({ signedIn: false });
  expect((await nobody.page.goto(link ?? ""))?.status()).toBe(404);
  await nobody.context.close();
  await context.close();
});

test("a key is shown once, works against the API, and is refused once it is revoked", async () => {
  const room = await openSettings("Keys");
  const { page, context } = room;
  await room.make("known by key");
  await button(part(page, "API keys"), "New key").click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Name").fill("deploy");
  await button(form, "Create").click();
  const made = page.getByRole("dialog", { name: "Copy your API key" });
  const key = (await (await expectSeen(made.getByLabel("New API key"))).textContent()) ?? "";
  await button(page.getByRole("dialog"), "I've copied it").click();
  const ask = () => fetch(`${used.site.url}/api/v3/checks/`, { headers: { "X-Api-Key": key } });
  const answer = await ask();
  expect(answer.status).toBe(200);
  expect(JSON.stringify(await answer.json())).toContain("known by key");
  expect(await page.content()).not.toContain(key);
  await button(page, "Revoke deploy").click();
  await button(page.getByRole("dialog"), "Revoke").click();
  await expectSeen(notice(page, "API key revoked."));
  await expectGone(button(page, "Revoke deploy"));
  await expectSoon(async () => (await ask()).status).toBe(401);
  await context.close();
});

test("signals by name are taken with the ping key, with the new one after it was renewed, and never without", async () => {
  const room = await openSettings("Pings");
  const { page, context } = room;
  await room.make("nightly", { slug: "nightly" });
  const pingKey = part(page, "Ping key");
  const make = button(pingKey, "Create ping key");
  if ((await make.count()) > 0) await make.click();
  const shown = () => pingKey.getByLabel("Ping key", { exact: true }).textContent();
  await expectSeen(pingKey.getByLabel("Ping key", { exact: true }));
  const old = await shown();
  const ping = async (key: string | null) => (await fetch(`${used.site.url}/ping/${key}/nightly`)).status;
  await expectSoon(() => ping(old)).toBe(200);
  await button(pingKey, "Replace").click();
  await button(page.getByRole("dialog"), "Replace").click();
  await expectSoon(shown).not.toBe(old);
  const renewed = await shown();
  await expectSoon(() => ping(renewed)).toBe(200);
  await expectSoon(() => ping(old)).toBe(404);
  await button(pingKey, "Remove").click();
  await button(page.getByRole("dialog"), "Remove").click();
  await expectSeen(pingKey.getByText("No ping key."));
  await expectSoon(() => ping(renewed)).toBe(404);
  await context.close();
});

test("a project is handed over to a member who agrees, and the record says so", async () => {
  const room = await openSettings("Inheritance");
  const { page, context } = room;
  const theirs = await join(room, "heir@example.org");
  await page.reload();
  await button(part(page, "Transfer ownership"), "Send request").click();
  await expectSeen(page.getByText("Waiting for heir@example.org to accept."));
  await visit(theirs, `${used.site.url}/projects/${room.project}/settings/`);
  await button(theirs, "Accept").click();
  await expectSeen(part(theirs, "Delete project"));
  await page.reload();
  await expectSeen(part(page, "Members"));
  await expectSoon(() => part(page, "Delete project").count()).toBe(0);
  await theirs.getByRole("tab", { name: "Audit log" }).click();
  await expectSeen(theirs.getByRole("row", { name: /accepted ownership of the project/ }));
  await theirs.context().close();
  await context.close();
});

test("a project is removed when its name is typed", async () => {
  const room = await openSettings("Doomed house");
  const { page, context } = room;
  await button(part(page, "Delete project"), "Delete project").click();
  const question = page.getByRole("dialog", { name: "Delete Doomed house?" });
  const act = button(question, "Delete project");
  expect(await act.isDisabled()).toBe(true);
  await question.getByRole("textbox").fill("Doomed house");
  await act.click();
  await page.waitForURL(`${used.site.url}/`);
  await expectSoon(() => page.locator(".project-link").allTextContents()).not.toContain("Doomed house");
  await context.close();
});
