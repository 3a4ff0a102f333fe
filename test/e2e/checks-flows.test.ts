// What people do on the page of checks: finding, picking, pausing, tagging, moving, making, deleting and taking back,
// with the pointer and with the keyboard alone.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { CheckList } from "../../src/contract/api/overview.ts";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import {
  button,
  chooseZone,
  expectGone,
  expectSeen,
  expectSoon,
  notice,
  openRoom,
  type Room,
  row,
  stateOf,
  undo,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const names = (page: Page) => page.locator(".row .row-link").allTextContents();
const tagsOf = (page: Page, name: string) => row(page, name).locator(".tag").allTextContents();

/** A project with three jobs, one of them paused, and its page of checks. */
async function openChecks(): Promise<Room> {
  const room = await openRoom(used);
  await room.make("alpha backup", { tags: "prod db" });
  await room.make("beta export", { tags: "prod" });
  const { id } = await room.make("gamma sync", { tags: "staging" });
  await room.ask("POST", `/checks/${id}/pause`);
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(room.page, "gamma sync"));
  return room;
}

describe("finding", () => {
  test("the search is in the URL, and still there after a reload", async () => {
    const { page, context } = await openChecks();
    await page.getByLabel("Search checks").fill("beta");
    await expectSoon(() => names(page)).toEqual(["beta export"]);
    expect(page.url()).toContain("?search=beta");
    await page.reload();
    await expectSoon(() => names(page)).toEqual(["beta export"]);
    await page.getByLabel("Search checks").fill("nothing like it");
    await expectSeen(page.getByRole("heading", { name: "No matching checks" }));
    await page.getByRole("link", { name: "Show all checks" }).click();
    await expectSoon(() => names(page)).toHaveLength(3);
    await context.close();
  });

  test("a status and a tag filter the list, and both are in the URL", async () => {
    const { page, context } = await openChecks();
    await button(page, "2 new").click();
    await expectSoon(() => names(page)).toEqual(["alpha backup", "beta export"]);
    await button(page, "tag: any").click();
    await page.getByRole("menuitemcheckbox", { name: "db" }).click();
    await expectSoon(() => names(page)).toEqual(["alpha backup"]);
    expect(new URL(page.url()).search).toBe("?tag=db&status=new");
    await page.keyboard.press("Escape");
    await button(page, "2 new").click();
    await expectSoon(() => new URL(page.url()).search).toBe("?tag=db");
    await context.close();
  });

  test("the list is ordered as asked, and grouped by tag", async () => {
    const { page, context } = await openChecks();
    await button(page, "sort: needs attention").click();
    await page.getByRole("menuitemcheckbox", { name: "name, Z to A" }).click();
    await expectSoon(() => names(page)).toEqual(["gamma sync", "beta export", "alpha backup"]);
    expect(page.url()).toContain("sort=-name");
    const rail = page.getByRole("navigation", { name: "Project" });
    await rail.getByRole("link", { name: "Events" }).click();
    await expectSeen(page.getByLabel("Search events"));
    await rail.getByRole("link", { name: /^Checks/ }).click();
    await expectSoon(() => names(page), "the order that was chosen last").toEqual([
      "gamma sync",
      "beta export",
      "alpha backup",
    ]);
    await button(page, "sort: name, Z to A").click();
    await page.getByRole("menuitemcheckbox", { name: "group by tag" }).click();
    await expectSoon(() => page.locator(".list-group h2").allTextContents()).toEqual(["prod", "staging"]);
    await button(page, "sort: name, Z to A").click();
    await page.getByRole("menuitemcheckbox", { name: "needs attention" }).click();
    await expectSoon(() => new URL(page.url()).search).toBe("?group=tag");
    await context.close();
  });
});

describe("changing", () => {
  test("several rows are paused at once, and the undo brings them back", async () => {
    const { page, context, complaints } = await openChecks();
    await page.getByLabel("Select alpha backup").check();
    await page.getByLabel("Select beta export").check();
    const bar = page.getByRole("toolbar", { name: "2 selected" });
    await button(bar, "Pause").click();
    await expectSoon(() => stateOf(page, "alpha backup")).toBe("paused");
    await expectSoon(() => stateOf(page, "beta export")).toBe("paused");
    await undo(page, "Paused 2 checks");
    await expectSoon(() => stateOf(page, "alpha backup")).not.toBe("paused");
    await expectSoon(() => stateOf(page, "beta export")).not.toBe("paused");
    expect(await stateOf(page, "gamma sync")).toBe("paused");
    await expectGone(bar);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("the last action is shown next to the bar of the selected rows, and not over it", async () => {
    const { page, context } = await openChecks();
    for (const size of [
      { width: 1280, height: 420 },
      { width: 390, height: 700 },
    ]) {
      await page.setViewportSize(size);
      await page.getByLabel("Select alpha backup").check();
      await page.getByLabel("Select gamma sync").check();
      await button(page, "Tags").click();
      await page.getByLabel("New tags").fill(`of-${size.width}`);
      await page.keyboard.press("Enter");
      const toast = page.locator(".toast").filter({ hasText: `with of-${size.width}` });
      await expectSeen(toast);
      await page.keyboard.press("Escape");
      const [told, bar] = await Promise.all([toast.boundingBox(), page.locator(".bulk").boundingBox()]);
      const isClear =
        told !== null && bar !== null && (told.y + told.height <= bar.y || bar.y + bar.height <= told.y);
      expect({ size, told, bar, isClear }).toMatchObject({ isClear: true });
      await undo(page, `with of-${size.width}`);
      await page.getByLabel("Select alpha backup").uncheck();
      await page.getByLabel("Select gamma sync").uncheck();
    }
    await context.close();
  });

  test("several rows get tags, which can be undone", async () => {
    const { page, context, ...room } = await openChecks();
    // Not all of them have room in a row.
    const tags = async (name: string) => {
      const { checks } = await room.ask<CheckList>("GET", `/projects/${room.project}/checks?limit=1000`);
      return checks.find((one) => one.name === name)?.tags;
    };
    await page.getByLabel("Select alpha backup").check();
    await page.getByLabel("Select gamma sync").check();
    await button(page, "Tags").click();
    await page.getByLabel("New tags").fill("nightly  staging");
    await page.keyboard.press("Enter");
    await expectSoon(() => tagsOf(page, "gamma sync")).toContain("nightly");
    await expectSoon(() => tags("alpha backup")).toEqual(["prod", "db", "nightly", "staging"]);
    await page.keyboard.press("Escape");
    await undo(page, "Tagged 2 checks with nightly, staging");
    await expectSoon(() => tags("alpha backup")).toEqual(["prod", "db"]);
    await expectSoon(() => tagsOf(page, "gamma sync")).toEqual(["staging"]);
    await context.close();
  });

  test("several rows get one schedule, and the undo restores the schedule of each of them", async () => {
    const { page, context, complaints, ...room } = await openChecks();
    const expected = async () => {
      const { checks } = await room.ask<CheckList>("GET", `/projects/${room.project}/checks`);
      return checks.toSorted((one, other) => (one.name < other.name ? -1 : 1)).map((one) => one.expected);
    };
    const { id } = await room.make("delta report", {
      kind: "cron",
      schedule: "15 6 * * *",
      tz: "Asia/Tokyo",
    });
    const before = await expected();
    const [alpha, beta, delta, gamma] = before;
    await page.getByLabel("Select delta report").check();
    await page.getByLabel("Select alpha backup").check();
    const bar = page.getByRole("toolbar", { name: "2 selected" });
    await button(bar, "Schedule").click();
    const form = await expectSeen(page.getByRole("dialog", { name: "Set schedule for 2 checks" }));
    // It begins with what the first of them has, and says what they have.
    await expectSoon(() => form.getByLabel("Cron expression").inputValue()).toBe("15 6 * * *");
    await expectSeen(form.getByText(`Current: ${delta} · ${alpha}`));
    await form.getByLabel("Cron expression").fill("61 3 * * *");
    await button(form, "Set for 2 checks").click();
    await expectSeen(form.getByRole("alert"));
    await form.getByLabel("Cron expression").fill("30 3 * * *");
    await chooseZone(form.getByLabel("Time zone"), "Europe/Riga");
    await expectSoon(() => form.locator(".edit-preview").textContent()).toContain("03:30");
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(form, "Set for 2 checks").click();
    await expectGone(form);
    await expectGone(bar);
    const nightly = "at 03:30 every day, Riga";
    await expectSoon(expected).toEqual([nightly, beta, nightly, gamma]);
    await expectSoon(() => row(page, "delta report").locator(".row-expected").textContent()).toBe(nightly);
    await undo(page, "Schedule set for 2 checks.");
    await expectSoon(expected).toEqual(before);
    const { settings } = await room.ask<CheckPage>("GET", `/checks/${id}`);
    expect(settings).toMatchObject({ schedule: "15 6 * * *", tz: "Asia/Tokyo" });
    // The browser says that a request was refused.
    expect(complaints.filter((one) => !one.includes("400"))).toEqual([]);
    await context.close();
  });

  test("a picked row is moved into another project, and leaves this list", async () => {
    const { page, context } = await openChecks();
    await page.getByLabel("Select beta export").check();
    await button(page, "Move to").click();
    await page.getByRole("menuitem", { name: "Playground" }).click();
    await expectSeen(notice(page, "Moved beta export to Playground."));
    await expectSoon(() => names(page)).not.toContain("beta export");
    await context.close();
  });

  test("one row is paused from its menu, and the undo resumes it", async () => {
    const { page, context } = await openChecks();
    await row(page, "beta export").hover();
    await button(page, "Actions for beta export").click();
    await page.getByRole("menuitem", { name: "Pause" }).click();
    await expectSoon(() => stateOf(page, "beta export")).toBe("paused");
    await undo(page, "Paused beta export");
    await expectSoon(() => stateOf(page, "beta export")).not.toBe("paused");
    await context.close();
  });

  test("a check is deleted from its menu or as a selected row, and restored immediately or from the trash", async () => {
    const { page, context, complaints } = await openChecks();
    await row(page, "alpha backup").hover();
    await button(page, "Actions for alpha backup").click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await expectSoon(() => names(page)).not.toContain("alpha backup");
    await undo(page, "Deleted alpha backup");
    await expectSoon(() => names(page)).toContain("alpha backup");
    await page.getByLabel("Select alpha backup").check();
    await button(page.getByRole("toolbar", { name: "1 selected" }), "Delete").click();
    await expectSoon(() => names(page)).not.toContain("alpha backup");
    await button(page, "Deleted checks").click();
    const bin = page.getByRole("dialog", { name: "Deleted checks" });
    await expectSeen(bin.getByText("alpha backup"));
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(bin, "Restore").click();
    await expectSeen(notice(page, "Restored alpha backup with its history."));
    await expectSeen(bin.getByText("No checks deleted in the last 7 days."));
    await page.keyboard.press("Escape");
    await expectSoon(() => names(page)).toContain("alpha backup");
    expect(complaints).toEqual([]);
    await context.close();
  });
});

test("a new check shows what it will expect, is rejected with a sentence, and is created with its line", async () => {
  const { page, context } = await openChecks();
  await button(page, "New check").click();
  const form = page.getByRole("dialog", { name: "New check" });
  await form.getByLabel("Name", { exact: true }).fill("nightly dump");
  await form.getByLabel("Cron or OnCalendar", { exact: true }).check();
  await form.getByLabel("Cron or OnCalendar expression").fill("61 3 * * *");
  await button(form, "Create check").click();
  await expectSeen(form.getByRole("alert"));
  await form.getByLabel("Slug").fill("dump-db");
  await form.getByLabel("Cron or OnCalendar expression").fill("30 3 * * *");
  await chooseZone(form.getByLabel("Time zone"), "Europe/Riga");
  await expectSoon(() => form.locator(".preview").textContent()).toMatch(/03:30.*Next: /);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(form, "Create check").click();
  await expectGone(form);
  await expectSeen(row(page, "nightly dump"));
  // It is found by the slug that it was given.
  await page.getByLabel("Search checks").fill("dump-db");
  await expectSeen(page.getByText(/^1 of \d+ checks$/));
  await page.getByLabel("Search checks").fill("");
  await expectSeen(page.getByRole("heading", { name: "Send the first ping to nightly dump" }));
  expect(await page.locator(".first pre").textContent()).toMatch(/^curl .*\/ping\/[0-9a-f-]{36}$/);
  await context.close();
});

test("a new check takes a schedule in the words of systemd, as it is typed", async () => {
  const { page, context } = await openChecks();
  await button(page, "New check").click();
  const form = page.getByRole("dialog", { name: "New check" });
  await form.getByLabel("Name", { exact: true }).fill("hourly poll");
  await form.getByLabel("Cron or OnCalendar", { exact: true }).check();
  await form.getByLabel("Cron or OnCalendar expression").fill("hourly");
  await button(form, "Create check").click();
  await expectGone(form);
  await expectSeen(row(page, "hourly poll"));
  await context.close();
});

describe("with the keyboard", () => {
  test("/ searches, j and k move, x selects, p pauses the selection, Escape clears it", async () => {
    const { page, context } = await openChecks();
    await page.keyboard.press("/");
    await page.keyboard.type("alpha");
    await expectSoon(() => names(page)).toEqual(["alpha backup"]);
    await page.keyboard.press("Escape");
    await expectSoon(() => names(page)).toHaveLength(3);
    const cursor = page.locator(".row.is-cursor .row-link");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await expectSoon(() => cursor.textContent()).toBe("beta export");
    await page.keyboard.press("x");
    await expectSeen(page.getByRole("toolbar", { name: "1 selected" }));
    await page.keyboard.press("k");
    await page.keyboard.press("x");
    await expectSeen(page.getByRole("toolbar", { name: "2 selected" }));
    await page.keyboard.press("p");
    await expectSoon(() => stateOf(page, "alpha backup")).toBe("paused");
    await expectSoon(() => stateOf(page, "beta export")).toBe("paused");
    await page.keyboard.press("Escape");
    await expectGone(page.getByRole("toolbar"));
    await context.close();
  });

  test("p pauses what was picked with the pointer too", async () => {
    const { page, context } = await openChecks();
    await page.getByLabel("Select beta export").click();
    await page.keyboard.press("p");
    await expectSoon(() => stateOf(page, "beta export")).toBe("paused");
    await context.close();
  });

  test("Enter opens the check under the cursor", async () => {
    const { page, context } = await openChecks();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await expectSoon(() => page.url()).toMatch(/\/checks\/[0-9a-f-]{36}\/details\/$/);
    await context.close();
  });

  test("? lists what works here, n begins a new check", async () => {
    const { page, context } = await openChecks();
    await page.keyboard.press("Shift+?");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await expectSeen(help.getByText("Pause or resume"));
    await expectSeen(help.getByText("Search everything"));
    await page.keyboard.press("Escape");
    await expectGone(help);
    await page.keyboard.press("n");
    await expectSeen(page.getByRole("dialog", { name: "New check" }));
    await context.close();
  });

  test("Ctrl+K finds a check by a few characters and a page by its name, also from a field", async () => {
    const { page, context, project } = await openChecks();
    await page.getByLabel("Search checks").focus();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search everything" }).fill("gam syn");
    const chosen = page.getByRole("option", { selected: true });
    await expectSoon(() => chosen.textContent()).toContain("gamma sync");
    expect(await accessibilityTrouble(page)).toEqual([]);
    await page.getByRole("combobox", { name: "Search everything" }).fill("events");
    await expectSoon(() => chosen.textContent()).toContain("Events");
    await page.keyboard.press("Enter");
    await expectSoon(() => page.url()).toMatch(`/projects/${project}/events/`);
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await expectSoon(() => page.url()).toMatch(`/projects/${project}/checks/`);
    await context.close();
  });
});
