// Forms that two people have open, that are left, and whose check is deleted: nobody's text is lost without a word.
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import type { Channel } from "../../src/contract/api/channels.ts";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { ProjectSettings } from "../../src/contract/api/projects.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, notice, openRoom, type Room } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

type Open = Room & { form: Locator; id: string };

async function openForm(): Promise<Open> {
  const room = await openRoom(used);
  const { id } = await room.make("shared job", { graceSeconds: 3_600 });
  await room.go(`/checks/${id}/details/`);
  await button(room.page, "Edit").first().click();
  // It is called by the name that the check has at the moment.
  const form = await expectSeen(room.page.locator(".edit-drawer"));
  return { ...room, form, id };
}

const settingsOf = async ({ ask, id }: Open) => (await ask<CheckPage>("GET", `/checks/${id}`)).settings;
const name = (form: Locator) => form.getByLabel("Name", { exact: true });
const question = ({ page }: Room) => page.getByRole("alertdialog", { name: "Discard unsaved changes?" });

test("the second user to save sees the changes of the first, and overwrites them only by choice", async () => {
  const room = await openForm();
  const { form, page, context, ask, id } = room;
  await name(form).fill("mine");
  await ask("PATCH", `/checks/${id}`, { name: "theirs", graceSeconds: 7_200 });
  await button(form, "Save").click();
  const conflict = await expectSeen(form.locator(".conflict"));
  await expectSeen(conflict.getByText("shared job → theirs"));
  await expectSeen(conflict.getByText(/saved another change/));
  expect(await settingsOf(room)).toMatchObject({ name: "theirs" });
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(conflict, "Overwrite").click();
  await expectGone(form);
  // What only the other has changed stays.
  expect(await settingsOf(room)).toMatchObject({ name: "mine", graceSeconds: 7_200 });
  await context.close();
});

test("reload begins the form anew with what the other has saved", async () => {
  const room = await openForm();
  const { form, context, ask, id } = room;
  await name(form).fill("mine");
  await ask("PATCH", `/checks/${id}`, { name: "theirs" });
  await button(form, "Save").click();
  await button(form, "Reload").click();
  await expectSoon(() => name(form).inputValue()).toBe("theirs");
  await name(form).fill("both");
  await button(form, "Save").click();
  await expectGone(form);
  expect(await settingsOf(room)).toMatchObject({ name: "both" });
  await context.close();
});

test("a channel that a check got in the meantime is no conflict", async () => {
  const room = await openForm();
  const { form, context, ask, id } = room;
  await name(form).fill("mine");
  const config = { url_down: "https://ops.example.org/down" };
  await ask("POST", `/projects/${room.project}/channels`, { kind: "webhook", name: "", config });
  await ask("PATCH", `/checks/${id}`, { channels: "*" });
  await button(form, "Save").click();
  await expectGone(form);
  expect(await settingsOf(room)).toMatchObject({ name: "mine" });
  await context.close();
});

test("the second user to edit a channel is warned, too", async () => {
  const room = await openRoom(used);
  const { page, context, ask, project } = room;
  const config = { url_down: "https://ops.example.org/down" };
  await ask("POST", `/projects/${project}/channels`, { kind: "webhook", name: "hook", config, checks: [] });
  await room.go(`/projects/${project}/channels/`);
  await button(page.getByRole("row", { name: /hook/ }), "More").click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  const form = await expectSeen(page.getByRole("dialog", { name: "Edit hook" }));
  await form.getByLabel("Name").fill("mine");
  const { channels } = await ask<{ channels: Channel[] }>("GET", `/projects/${project}/channels`);
  await ask("PATCH", `/channels/${channels[0]?.id}`, { name: "theirs" });
  await button(form, "Save").click();
  await expectSeen(form.getByText("hook → theirs"));
  await button(form, "Overwrite").click();
  await expectGone(form);
  const after = await ask<{ channels: Channel[] }>("GET", `/projects/${project}/channels`);
  expect(after.channels[0]?.name).toBe("mine");
  await context.close();
});

test("the second user to set the schedule of several checks is warned, too", async () => {
  const room = await openRoom(used);
  const { page, context, ask, project } = room;
  const cron = { kind: "cron", schedule: "15 6 * * *", tz: "UTC" };
  const [one, two] = [await room.make("one", cron), await room.make("two", cron)];
  await room.go(`/projects/${project}/checks/`);
  await page.getByLabel("Select one").check();
  await page.getByLabel("Select two").check();
  await button(page.getByRole("toolbar", { name: "2 selected" }), "Schedule").click();
  const form = await expectSeen(page.getByRole("dialog", { name: "Set schedule for 2 checks" }));
  await form.getByLabel("Cron expression").fill("30 3 * * *");
  await ask("PATCH", `/checks/${two.id}`, { graceSeconds: 7_200 });
  await button(form, "Set for 2 checks").click();
  const conflict = await expectSeen(form.locator(".conflict"));
  expect(await accessibilityTrouble(page)).toEqual([]);
  expect((await ask<CheckPage>("GET", `/checks/${one.id}`)).settings.schedule).toBe("15 6 * * *");
  await button(conflict, "Overwrite").click();
  await expectGone(form);
  const settings = (await ask<CheckPage>("GET", `/checks/${two.id}`)).settings;
  expect(settings).toMatchObject({ kind: "cron", schedule: "30 3 * * *" });
  await context.close();
});

test("the second user to rename a project is warned, and may reload or overwrite", async () => {
  const room = await openRoom(used, { name: "Old house" });
  const { page, context, ask, project } = room;
  await room.go(`/projects/${project}/settings/`);
  const field = page.getByLabel("Project name");
  const part = page.locator("section", { has: field }).last();
  await field.fill("mine");
  await ask("PATCH", `/projects/${project}`, { name: "theirs" });
  await button(part, "Save").click();
  await expectSeen(part.getByText("Old house → theirs"));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(part, "Reload").click();
  await expectSoon(() => field.inputValue()).toBe("theirs");
  await expectGone(part.locator(".conflict"));
  await field.fill("mine again");
  await ask("PATCH", `/projects/${project}`, { name: "theirs again" });
  await button(part, "Save").click();
  await button(part, "Overwrite").click();
  await expectSeen(notice(page, "Project renamed."));
  expect((await ask<ProjectSettings>("GET", `/projects/${project}`)).name).toBe("mine again");
  await context.close();
});

test.each([
  ["project settings", (project: string) => `/projects/${project}/settings/`, "Project name"],
  ["the account", () => "/accounts/profile/", "Name"],
])("a name typed on the page of %s is not lost by a link or by going back", async (_, path, label) => {
  const room = await openRoom(used);
  const { page, context, project } = room;
  await room.go(`/projects/${project}/checks/`);
  await room.go(path(project));
  const address = page.url();
  const field = page.getByLabel(label, { exact: true });
  await field.fill("typed");
  await page.locator("a.brand").click();
  await button(await expectSeen(question(room)), "Keep editing").click();
  expect([await field.inputValue(), page.url()]).toEqual(["typed", address]);
  await page.evaluate("history.back()");
  await button(await expectSeen(question(room)), "Keep editing").click();
  expect(await field.inputValue()).toBe("typed");
  await page.locator("a.brand").click();
  await button(question(room), "Discard changes").click();
  await expectSoon(() => new URL(page.url()).pathname).toBe("/");
  await context.close();
});

test("a window over a page with unsaved changes asks for its own text only", async () => {
  const room = await openRoom(used);
  const { page, context, project } = room;
  await room.go(`/projects/${project}/settings/`);
  const field = page.getByLabel("Project name");
  await field.fill("typed");
  await button(page, "New key").click();
  const dialog = await expectSeen(page.getByRole("dialog"));
  await dialog.getByLabel("Name").fill("deploy");
  await page.keyboard.press("Escape");
  await button(await expectSeen(question(room)), "Discard changes").click();
  await expectGone(dialog);
  expect(await field.inputValue()).toBe("typed");
  await page.locator("a.brand").click();
  await button(await expectSeen(question(room)), "Keep editing").click();
  expect(await field.inputValue()).toBe("typed");
  await context.close();
});

test("Escape asks before it discards, keeps the form by default, and gives the focus back", async () => {
  const room = await openForm();
  const { form, page, context } = room;
  await page.keyboard.press("Escape");
  await expectGone(form);
  await button(page, "Edit").first().click();
  await name(form).fill("typed");
  await page.keyboard.press("Escape");
  await expectSeen(question(room));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await expectSoon(() =>
    button(question(room), "Keep editing").evaluate((node) => node.matches(":focus")),
  ).toBe(true);
  await page.keyboard.press("Escape");
  await expectGone(question(room));
  expect(await name(form).inputValue()).toBe("typed");
  await expectSoon(() => name(form).evaluate((node) => node.matches(":focus"))).toBe(true);
  await page.keyboard.press("Escape");
  await button(question(room), "Discard changes").click();
  await expectGone(form);
  expect(await settingsOf(room)).toMatchObject({ name: "shared job" });
  await context.close();
});

test("going back and closing the tab ask, too", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const { id } = await room.make("shared job");
  await room.go(`/projects/${room.project}/checks/`);
  await page.getByRole("link", { name: "shared job" }).click();
  await expectSoon(() => new URL(page.url()).pathname).toBe(`/checks/${id}/details/`);
  await button(page, "Edit").first().click();
  const form = await expectSeen(page.getByRole("dialog", { name: "Edit shared job" }));
  await name(form).fill("typed");
  await page.evaluate("history.back()");
  await button(await expectSeen(question(room)), "Keep editing").click();
  expect(await name(form).inputValue()).toBe("typed");
  const asked = page.waitForEvent("dialog");
  const closing = page.close({ runBeforeUnload: true });
  const dialog = await asked;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  await closing;
  await page.evaluate("history.back()");
  await button(await expectSeen(question(room)), "Discard changes").click();
  await expectSoon(() => new URL(page.url()).pathname).toBe(`/projects/${room.project}/checks/`);
  await context.close();
});

test("a form whose check is deleted keeps its text, says who deleted it, and saves after it is restored", async () => {
  const room = await openForm();
  const { form, page, context, ask, id } = room;
  await name(form).fill("typed for ten minutes");
  await ask("DELETE", `/checks/${id}`);
  await expectSeen(form.getByText(/deleted this check/));
  expect(await name(form).inputValue()).toBe("typed for ten minutes");
  expect(await button(form, "Save").isDisabled()).toBe(true);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(form, "Restore check").click();
  await expectGone(form.getByText(/deleted this check/));
  expect(await name(form).inputValue()).toBe("typed for ten minutes");
  await button(form, "Save").click();
  await expectSeen(notice(page, "Saved typed for ten minutes."));
  expect(await settingsOf(room)).toMatchObject({ name: "typed for ten minutes" });
  await context.close();
});
