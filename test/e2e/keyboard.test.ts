// Every window and menu with the keyboard alone: what is reached by Tab can be seen, and when a window closes or what
// had the focus is gone, the focus is where somebody would look for it, and never on the page as a whole.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { accessibilityTrouble, visit } from "../support/browser.ts";
import { expectGone, expectSeen, expectSoon, notice, openRoom, type Room, signal } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();
/** More than the longest page of these tests has. */
const TABS_MAX = 90;

/** What has the focus, by the name that is read out; "the page" is what a browser falls back to. */
const NAME = `(() => {
  const one = document.activeElement;
  if (one === null || one === document.body) return "the page";
  const label = one.labels?.[0]?.textContent ?? one.textContent;
  return (one.getAttribute("aria-label") ?? (label.trim() || one.id || one.tagName)).trim();
})()`;
const focused = (page: Page) => page.evaluate<string>(NAME);

const expectFocus = (page: Page, name: string) => expectSoon(() => focused(page)).toBe(name);

async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Whether one sees what has the focus: it is on the screen, and it or what is drawn with it has a ring. */
const IS_MARKED = `(() => {
  const one = document.activeElement;
  const { top, bottom } = one.getBoundingClientRect();
  const hasRing = ["", "::before", "::after"].some((part) => {
    const { boxShadow, outlineStyle } = getComputedStyle(one, part);
    return boxShadow !== "none" || outlineStyle !== "none";
  });
  return hasRing && bottom > 0 && top < innerHeight && one.checkVisibility({ opacityProperty: true });
})()`;

/** Goes on by Tab until something has the focus, as people do; everything passed on the way is seen to have it. */
async function tabTo(page: Page, name: string, key = "Tab"): Promise<void> {
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    await press(page, key);
    const [at, isMarked] = await page.evaluate<[string, boolean]>(`[${NAME}, ${IS_MARKED}]`);
    if (at !== "the page" && !isMarked)
      await expectSoon(() => page.evaluate(IS_MARKED), `${at} is seen to have the focus`).toBe(true);
    if (at === name) return;
  }
  throw new Error(`nothing called “${name}” is reached by Tab`);
}

/** Opens the menu of the button that has the focus, and waits until keys are for its entries. */
async function openMenu(page: Page): Promise<void> {
  await press(page, "Enter");
  await expectSoon(() => page.evaluate("document.activeElement.closest('[role=menu]') !== null")).toBe(true);
}

/** A project with three jobs, one of which has reported. */
async function openJobs(): Promise<Room & { first: string }> {
  const room = await openRoom(used);
  const { id } = await room.make("alpha backup", { tags: "prod db" });
  await room.make("beta export", { tags: "prod" });
  await room.make("gamma sync");
  for (let run = 0; run < 3; run += 1) await signal(used, id);
  return { ...room, first: id };
}

const stateOf = (page: Page, name: string) =>
  page
    .locator(".row", { has: page.getByTitle(name, { exact: true }) })
    .locator(".state-word")
    .textContent();

test("a check is created, found, selected with another, paused, and undone", async () => {
  const { page, context, complaints, ...room } = await openJobs();
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(page.getByRole("link", { name: "gamma sync" }));
  await tabTo(page, "New check");
  await press(page, "Enter");
  await expectFocus(page, "Name");
  await press(page, "Escape");
  await expectFocus(page, "New check");
  await press(page, "Enter");
  await expectFocus(page, "Name");
  await page.keyboard.type("delta");
  await press(page, "Enter");
  await expectSeen(page.getByRole("link", { name: "delta", exact: true }));
  await expectFocus(page, "New check");

  await tabTo(page, "tag: any");
  await openMenu(page);
  await press(page, "ArrowDown");
  await expectSoon(() => focused(page)).toContain("prod");
  await press(page, "Enter", "Escape");
  await expectFocus(page, "tag: prod");
  await expectSoon(() => page.locator(".row").count()).toBe(2);

  await tabTo(page, "Select alpha backup");
  await press(page, "Space");
  await tabTo(page, "Select beta export");
  await press(page, "Space", "p");
  await expectSoon(() => stateOf(page, "beta export")).toBe("paused");
  await expectSeen(notice(page, "Paused 2 checks"));
  await press(page, "z");
  await expectSoon(() => stateOf(page, "alpha backup")).not.toBe("paused");
  await expectGone(notice(page, "Paused 2 checks"));
  await expectFocus(page, "Select beta export");
  expect(complaints).toEqual([]);
  await context.close();
});

test("Escape clears the search and returns to the list, where keys continue; without results the field stays", async () => {
  const { page, context, ...room } = await openJobs();
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(page.getByRole("link", { name: "gamma sync" }));
  const inSearch = () => expectSoon(() => page.evaluate("document.activeElement.type")).toBe("search");
  const search = async (text: string) => {
    await press(page, "/");
    await inSearch();
    await page.keyboard.type(text);
    await expectSoon(() => page.getByRole("searchbox").inputValue()).toBe(text);
    await press(page, "Escape");
    await expectSoon(() => page.getByRole("searchbox").inputValue()).toBe("");
  };
  for (const text of ["", "beta"]) {
    await search(text);
    await expectFocus(page, "Checks");
    await expectSoon(() => page.locator(".row").count()).toBe(3);
  }
  await press(page, "/");
  await inSearch();
  await page.keyboard.type("nobody is called so");
  await expectSoon(() => page.locator(".row").count()).toBe(0);
  await press(page, "Escape");
  await expectSoon(() => page.locator(".row").count()).toBe(3);
  await inSearch();
  await press(page, "Escape");
  await expectFocus(page, "Checks");
  await press(page, "j", "j");
  const second = await page.locator(".is-cursor .row-link").textContent();
  await press(page, "Enter");
  await page.waitForURL("**/details/");
  await expectSoon(() => page.title()).toContain(second ?? "");
  await context.close();
});

test("a bar, a menu and a row that disappear leave the focus next to where they were", async () => {
  const { page, context, ...room } = await openJobs();
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(page.getByRole("link", { name: "gamma sync" }));
  await tabTo(page, "Select alpha backup");
  await press(page, "Space");
  await tabTo(page, "Tags");
  // The field of the menu comes first, and the arrows lead from it to the entries and back.
  await press(page, "Enter");
  await expectFocus(page, "New tags");
  await press(page, "ArrowDown");
  await expectFocus(page, "prod");
  await press(page, "ArrowUp");
  await expectFocus(page, "New tags");
  await press(page, "Escape");
  await expectFocus(page, "Tags");
  await tabTo(page, "Clear selection");
  await press(page, "Enter");
  await expectGone(page.getByRole("toolbar"));
  await expectSoon(() => focused(page)).not.toBe("the page");

  // Keys are about the row that has the focus.
  await tabTo(page, "Select beta export");
  await press(page, "p");
  await expectSoon(() => stateOf(page, "beta export")).toBe("paused");
  await tabTo(page, "Actions for gamma sync");
  await openMenu(page);
  await expectFocus(page, "Open");
  await press(page, "End");
  await expectFocus(page, "Delete");
  await press(page, "Enter");
  await expectSoon(() => page.locator(".row").count()).toBe(2);
  await expectSoon(() => focused(page)).not.toBe("the page");
  await context.close();
});

test("a run is opened beside its check and closed, the schedule is edited and saved", async () => {
  const { page, context, first, ...room } = await openJobs();
  await room.go(`/checks/${first}/details/`);
  const run = page.getByRole("link", { name: /open this run/ }).first();
  const name = (await (await expectSeen(run)).getAttribute("aria-label")) ?? "";
  await tabTo(page, name);
  await press(page, "Enter");
  const drawer = await expectSeen(page.getByRole("dialog"));
  await expectSoon(() => drawer.textContent()).toContain("#3");
  await press(page, "ArrowLeft");
  await expectSoon(() => drawer.textContent()).toContain("#2");
  await press(page, "Escape");
  await expectGone(page.getByRole("dialog"));
  await expectFocus(page, name);

  await tabTo(page, "Edit", "Shift+Tab");
  await press(page, "Enter");
  await expectFocus(page, "Name");
  await page.keyboard.type("alpha");
  await tabTo(page, "Save");
  await press(page, "Enter");
  await expectGone(page.getByRole("dialog"));
  await expectFocus(page, "Edit");
  await tabTo(page, "More actions");
  await openMenu(page);
  await expectSoon(() => focused(page)).toMatch(/^Copy ping URL/);
  await press(page, "ArrowDown");
  await expectSoon(() => focused(page)).toMatch(/^Copy as code/);
  await press(page, "Enter");
  await expectSeen(page.getByRole("dialog", { name: "Copy as code" }));
  await press(page, "Escape");
  await expectFocus(page, "More actions");
  await context.close();
});

test("a run that was opened by its address is closed without losing the focus", async () => {
  const { page, context, first, ...room } = await openJobs();
  await room.go(`/checks/${first}/runs/1/`);
  await expectSeen(page.getByRole("dialog"));
  await press(page, "Escape");
  await expectGone(page.getByRole("dialog"));
  await expectSoon(() => page.evaluate("document.activeElement.id")).toBe("content");
  await context.close();
});

test("a channel is added, a user is invited, palette and help are opened and closed", async () => {
  const { page, context, ...room } = await openJobs();
  await room.go(`/projects/${room.project}/channels/`);
  const email = page.locator(".channels-tile", { hasText: "Email address" });
  const tile = ((await (await expectSeen(email)).textContent()) ?? "").trim();
  await tabTo(page, tile);
  await press(page, "Enter");
  await expectSeen(page.getByRole("dialog").locator("form"));
  await press(page, "Escape");
  await expectFocus(page, tile);

  await room.go(`/projects/${room.project}/settings/`);
  await tabTo(page, "Invite someone");
  await press(page, "Enter");
  await expectFocus(page, "Email address");
  await page.keyboard.type("keys@example.org");
  await press(page, "Enter");
  await expectSeen(page.getByRole("dialog", { name: "Share this link" }));
  await press(page, "Escape");
  await expectFocus(page, "Invite someone");

  await press(page, "Control+k");
  await expectFocus(page, "Search everything");
  await press(page, "Escape");
  await expectFocus(page, "Invite someone");
  await press(page, "Shift+?");
  await expectSeen(page.getByRole("dialog", { name: "Keyboard shortcuts" }));
  await press(page, "Escape");
  await expectFocus(page, "Invite someone");
  await press(page, "Control+k");
  await page.keyboard.type("events");
  await press(page, "Enter");
  await page.waitForURL("**/events/");
  await expectSoon(() => page.evaluate("document.activeElement.id")).toBe("content");
  await context.close();
});

/** Writes into the palette and presses Enter before the browser draws anything between them. */
const WRITTEN_AT_ONCE = `(text) => {
  const input = document.querySelector(".palette-input");
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, text);
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
}`;

test("the palette opens what was typed, however fast", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.go(`/projects/${room.project}/channels/`);
  await press(page, "Control+k");
  await expectSeen(page.getByRole("combobox", { name: "Search everything" }));
  await page.evaluate(`(${WRITTEN_AT_ONCE})("events")`);
  await page.waitForURL("**/events/");
  await context.close();
});

test("the last action is undone within a window, by keys, by the pointer and by its shortcut", async () => {
  const { page, context, complaints, first, ...room } = await openJobs();
  await room.go(`/checks/${first}/details/`);
  await page.clock.install();
  // Time stands still, so that no notice leaves before it is reached.
  await page.clock.pauseAt(Date.now() + 60_000);
  const form = page.getByRole("dialog", { name: "Edit alpha backup" });
  const undoing = form
    .locator(".toast", { hasText: "Paused alpha backup" })
    .getByRole("button", { name: /^Undo/ });
  const pauseAndEdit = async () => {
    await press(page, "p");
    await expectSeen(notice(page, "Paused alpha backup"));
    await press(page, "e");
    await expectFocus(page, "Name");
    await expectSeen(undoing);
    expect(await page.locator(".toast").count()).toBe(1);
  };
  const isWithin = () => page.evaluate("document.activeElement.closest('[role=dialog]') !== null");
  const expectTakenBack = async () => {
    await expectGone(undoing);
    await expectSoon(() => page.locator(".check-acts").textContent()).toContain("Pause");
    expect([await form.count(), await isWithin()]).toEqual([1, true]);
    await press(page, "Escape");
    await page.clock.runFor(1_000);
    await expectGone(form);
  };

  await pauseAndEdit();
  // It is the last thing in the window, and one comes to it backwards; on from it the window begins anew.
  await tabTo(page, "Undoz", "Shift+Tab");
  expect(await isWithin()).toBe(true);
  await press(page, "Enter");
  await expectTakenBack();

  await pauseAndEdit();
  await undoing.click();
  await expectTakenBack();

  await pauseAndEdit();
  // In a field it is a letter like any other.
  await press(page, "z");
  await expectSoon(() => form.getByLabel("Name", { exact: true }).inputValue()).toBe("alpha backupz");
  // Nothing is left to lose, so that Escape closes the window without a question.
  await press(page, "Backspace");
  await tabTo(page, "Close", "Shift+Tab");
  await press(page, "z");
  await expectTakenBack();

  await pauseAndEdit();
  await tabTo(page, "Undoz", "Shift+Tab");
  // It stays as long as it has the focus, and whoever looks at the page needs time to pass.
  await page.clock.resume();
  expect(await accessibilityTrouble(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await context.close();
});

test("single keys can be switched off, stay so, and are switched on again", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.make("quiet job");
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(page.getByRole("link", { name: "quiet job", exact: true }));
  const keys = page.getByRole("switch", { name: /^Enable single-key shortcuts/ });
  const palette = page.getByRole("combobox", { name: "Search everything" });
  // What lies under another window has no role for whoever looks by roles.
  const windows = page.locator(".window.is-dialog");
  await press(page, "Shift+?");
  await (await expectSeen(keys)).click();
  await press(page, "Escape");
  await expectGone(keys);
  await press(page, "n", "Control+k");
  await expectSeen(palette);
  expect(await windows.count(), "n did nothing").toBe(0);
  // The row is drawn by the server and seen before anything listens to keys; whoever goes there waits for both.
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(page.getByRole("link", { name: "quiet job", exact: true }));
  await press(page, "Shift+?", "Control+k");
  await expectSeen(palette);
  expect(await windows.count(), "? did nothing").toBe(0);
  await press(page, "Escape");
  await expectGone(palette);
  await page.getByRole("button", { name: "Shortcuts", exact: true }).click();
  await (await expectSeen(keys)).click();
  await press(page, "Escape");
  await expectGone(keys);
  await press(page, "n");
  await expectSeen(page.getByRole("dialog", { name: "New check" }));
  await context.close();
});

test("who comes to a page by a key can skip the rail", async () => {
  const { page, context } = await used.open();
  await visit(page, `${used.site.url}/projects/${used.seeded.demo}/events/`);
  await press(page, "Tab");
  await expectFocus(page, "Skip to content");
  await press(page, "Enter");
  await expectSoon(() => page.evaluate("document.activeElement.id")).toBe("content");
  await context.close();
});
