// Silences and policies: a silence is previewed, created, edited, ended and undone; checks are silenced from the list;
// the policy of a check, of a project and of a tag is changed.
import { describe, expect, test } from "vitest";
import { accessibilityTrouble } from "../support/browser.ts";
import {
  button,
  expectGone,
  expectSeen,
  expectSoon,
  notice,
  openRoom,
  row,
  signal,
  undo,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

async function openJobs(options: Parameters<typeof openRoom>[1] = {}) {
  const room = await openRoom(used, options);
  const { id } = await room.make("alpha backup", { tags: "prod db" });
  await room.make("beta export", { tags: "prod" });
  await room.make("gamma sync");
  return { ...room, first: id };
}

type Silences = {
  silences: { tag: string | null; reason: string; state: string; checks: { name: string }[] | null }[];
};

describe("A silence", () => {
  test("is a sentence that is previewed and saved, and can be edited, ended and undone", async () => {
    const room = await openJobs();
    const { page, context, complaints, project } = room;
    const silences = async () => (await room.ask<Silences>("GET", `/projects/${project}/silences`)).silences;
    await room.go(`/projects/${project}/silences/`);
    await expectSeen(page.getByRole("heading", { level: 1, name: "No silences yet" }));
    await button(page, "New silence").first().click();
    const form = page.getByRole("dialog", { name: "New silence" });
    await expectSeen(button(form, "Silence 3 checks"));
    await form.locator("[data-token=what]").click();
    await button(form, "By tag").click();
    await expectSeen(form.getByText("Choose a tag."));
    await form.getByRole("button", { name: "db" }).click();
    await expectSeen(button(form, "Silence 1 check"));
    await expectSeen(form.getByText("1 check", { exact: false }));
    await expectSeen(form.getByText(/^If a problem is still open at the end/));
    // Escape closes the panel and returns to its button, and only then the drawer.
    await page.keyboard.press("Escape");
    await expectGone(form.locator("[data-panel]"));
    expect(await page.evaluate("document.activeElement.dataset.token")).toBe("what");
    await form.getByLabel("Reason:").fill("Postgres 17 upgrade");
    await button(form, "Copy as code").click();
    await expectSoon(() => form.locator("pre").first().textContent()).toContain('"tag": "db"');
    await form.getByRole("tab", { name: "overdue CLI" }).click();
    await expectSoon(() => form.locator("pre").first().textContent()).toContain("--tag 'db'");
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(form, "Silence 1 check").click();
    await expectGone(form);
    await expectSeen(page.getByRole("heading", { level: 1, name: "1 silence is active" }));
    expect(await silences()).toMatchObject([{ tag: "db", reason: "Postgres 17 upgrade", state: "active" }]);

    await button(page, "Edit Postgres 17 upgrade").click();
    const edit = page.getByRole("dialog", { name: "Edit Postgres 17 upgrade" });
    await edit.getByLabel("Reason:").fill("Postgres 18 upgrade");
    await button(edit, "Save").click();
    await expectSeen(page.getByRole("heading", { level: 3, name: /Postgres 18 upgrade/ }));

    await button(page, "End now: Postgres 18 upgrade").click();
    await expectSeen(page.getByRole("heading", { level: 1, name: "No silence is active" }));
    await undo(page, "Ended: Postgres 18 upgrade");
    await expectSeen(page.getByRole("heading", { level: 1, name: "1 silence is active" }));
    expect((await silences()).map(({ state }) => state).toSorted()).toEqual(["active", "ended"]);
    expect(await accessibilityTrouble(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("can recur by a schedule", async () => {
    const { page, context, project, ...room } = await openJobs();
    await room.go(`/projects/${project}/silences/`);
    await page.keyboard.press("n");
    const form = page.getByRole("dialog", { name: "New silence" });
    await form.locator("[data-token=often]").click();
    await button(form, "Recurring").click();
    await form.locator("[data-token=when]").click();
    await button(form, "Saturday at 22:00").click();
    await expectSoon(() => form.locator("[data-token=when]").textContent()).toContain(
      "at 22:00 every Saturday",
    );
    await button(form, "Silence 3 checks").click();
    await expectSeen(page.getByText(/^At 22:00 every Saturday/));
    await expectSeen(page.getByRole("heading", { level: 2, name: "Planned" }));
    await context.close();
  });

  test("of selected checks is created from the list, by a key, and marks them", async () => {
    const { page, context, project, complaints, ...room } = await openJobs();
    await room.go(`/projects/${project}/checks/`);
    await expectSeen(row(page, "gamma sync"));
    await row(page, "alpha backup").getByRole("checkbox").check();
    await row(page, "beta export").getByRole("checkbox").check();
    await page.keyboard.press("s");
    const form = page.getByRole("dialog", { name: "New silence" });
    await button(form, "Silence 2 checks").click();
    await expectSeen(notice(page, "Created:"));
    await expectSeen(row(page, "alpha backup").locator(".row-silenced"));
    expect(await row(page, "gamma sync").locator(".row-silenced").count()).toBe(0);
    // "g s" leads to the settings, and "s" alone is not meant.
    await page.keyboard.press("j");
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await expectSoon(() => page.url()).toMatch(/\/settings\/$/);
    expect(await form.count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

describe("A policy", () => {
  test("of a check is a sentence, and its form shows what is inherited", async () => {
    const room = await openJobs();
    const { page, context, project, first, complaints } = room;
    await room.ask("PATCH", `/projects/${project}/policy`, { missed: 2 });
    await signal(used, first);
    await room.go(`/checks/${first}/details/`);
    await expectSeen(page.getByText(/2 missed runs in a row/));
    await button(page, "Edit the notification policy").click();
    const form = page.getByRole("dialog", { name: "Notification policy for alpha backup" });
    await expectSeen(form.getByLabel("Notify after missed runs", { exact: true }));
    expect(await form.getByLabel("Notify after missed runs", { exact: true }).textContent()).toContain(
      "From the project: 2 in a row",
    );
    await form.getByLabel("Notify after failed runs", { exact: true }).selectOption("Custom");
    await expectSeen(form.getByRole("heading", { name: "Preview with past runs" }));
    await form.getByRole("checkbox", { name: "gamma sync" }).check();
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(form, "Save").click();
    await expectGone(form);
    await expectSeen(page.getByText(/^Notifies after 3 failed runs in a row/));
    await signal(used, first, "/fail");
    await expectSeen(page.getByText("Pending: 1 of 3 failures. No notification yet."));
    await undo(page, "Saved the notification policy for alpha backup");
    await expectSeen(page.getByText(/^Notifies on every failure/));
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("of a project and its tags is edited in the settings", async () => {
    const room = await openJobs();
    const { page, context, project, complaints } = room;
    await room.go(`/projects/${project}/settings/`);
    await button(page, "Edit policy").click();
    const form = page.getByRole("dialog", { name: "Notification policy for the project" });
    await form.getByLabel("Repeat until acknowledged", { exact: true }).selectOption("Custom");
    await button(form, "Save").click();
    await expectSeen(page.getByText(/Repeats every hour until acknowledged/));

    for (const tag of ["prod", "db"]) {
      await button(page, "Add rule").click();
      const rule = page.getByRole("dialog", { name: "New tag rule" });
      await rule.getByLabel("Tag", { exact: true }).fill(tag);
      await rule.getByLabel("Notify after missed runs", { exact: true }).selectOption("Custom");
      await button(rule, "Add rule").click();
      await expectGone(rule);
    }
    type Rules = { rules: { tag: string }[] };
    const tags = async () =>
      (await room.ask<Rules>("GET", `/projects/${project}/tag-rules`)).rules.map(({ tag }) => tag);
    expect(await tags()).toEqual(["prod", "db"]);
    await button(page, "Move the rule for db up").click();
    await expectSoon(tags).toEqual(["db", "prod"]);
    await button(page, "Remove the rule for prod").click();
    await expectSoon(tags).toEqual(["db"]);
    await undo(page, "Removed the rule for prod");
    await expectSoon(tags).toEqual(["db", "prod"]);

    await page.getByRole("switch", { name: "Include acknowledge links" }).click();
    await expectSeen(notice(page, "Notifications no longer contain acknowledge links."));
    expect(await room.ask("GET", `/projects/${project}/policy`)).toMatchObject({ ackLinks: false });
    expect(await accessibilityTrouble(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
