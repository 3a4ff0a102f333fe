// The form of a schedule: what is wrong is said beside the field, macros are spelled out, steps are explained, and a
// time zone is found by typing.
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, openRoom, type Room } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const CRON = { kind: "cron", schedule: "0 3 * * *", tz: "Europe/Kiev" };

async function openForm(settings: object = CRON): Promise<Room & { form: Locator; id: string }> {
  const room = await openRoom(used);
  const { id } = await room.make("nightly", settings);
  await room.go(`/checks/${id}/details/`);
  await button(room.page, "Edit").first().click();
  const form = await expectSeen(room.page.getByRole("dialog", { name: "Edit nightly" }));
  return { ...room, form, id };
}

const settingsOf = async (room: Room, id: string) =>
  (await room.ask<CheckPage>("GET", `/checks/${id}`)).settings;

test("the problem of an expression is shown next to it, while typing", async () => {
  const { form, page, context } = await openForm();
  const field = form.getByLabel("Cron expression");
  for (const [text, problem] of [
    ["0 3 * *", "Invalid schedule: expected 5 fields, got 4."],
    ["61 3 * * *", "Invalid schedule: minute: 61 is out of range 0-59."],
    ["*/0 * * * *", "Invalid schedule: minute: the step in */0 must be at least 1."],
    ["0 0 30 2 *", "Invalid schedule: February has no day 30."],
  ] as const) {
    await field.fill(text);
    await expectSeen(form.locator(".field .mistake").getByText(problem, { exact: true }));
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    await expectGone(form.locator(".edit-preview"));
  }
  expect(await accessibilityTrouble(page)).toEqual([]);
  await field.fill("15 3 * * *");
  await expectSoon(() => field.getAttribute("aria-invalid")).toBeNull();
  await expectSoon(() => form.locator(".edit-preview b").textContent()).toContain("03:15");
  await context.close();
});

test("a macro is spelled out in the field, and saved so", async () => {
  const room = await openForm();
  const { form, page, context, id } = room;
  await form.getByLabel("Cron expression").fill("@daily");
  await expectSoon(() => form.getByLabel("Cron expression").inputValue()).toBe("0 0 * * *");
  await expectSeen(form.getByText("@daily is saved as 0 0 * * *."));
  await button(form, "Save").click();
  await expectGone(form);
  expect(await settingsOf(room, id)).toMatchObject({ kind: "cron", schedule: "0 0 * * *" });
  // Whoever is faster than the reading has it spelled out by the server.
  const made = await room.make("hourly", { schedule: "@hourly" });
  expect(await settingsOf(room, made.id)).toMatchObject({ kind: "cron", schedule: "0 * * * *" });
  await room.go(`/projects/${room.project}/checks/`);
  await button(page, "New check").click();
  await page.getByLabel("Cron or OnCalendar", { exact: true }).check();
  await page.getByLabel("Cron or OnCalendar expression").fill("@weekly");
  await expectSoon(() => page.getByLabel("Cron or OnCalendar expression").inputValue()).toBe("0 0 * * 0");
  await context.close();
});

test("a step that does less than it seems to is warned about, and one that does not fit is noted", async () => {
  const { form, page, context } = await openForm();
  await form.getByLabel("Cron expression").fill("*/90 * * * *");
  await expectSeen(form.locator(".edit-remarks .warning", { hasText: "“*/90” matches minute 0 only" }));
  await form.getByLabel("Cron expression").fill("*/7 * * * *");
  await expectSeen(form.locator(".edit-remarks .hint", { hasText: "minute 56 is followed by minute 0" }));
  expect(await form.locator(".edit-remarks .warning").count()).toBe(0);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await form.getByLabel("Cron expression").fill("*/15 * * * *");
  await expectSoon(() => form.locator(".edit-remarks p").count()).toBe(0);
  await context.close();
});

test("an interval of 0 is refused beside its field, and not previewed", async () => {
  const { form, page, context, ...room } = await openForm({});
  await form.getByLabel("Every", { exact: true }).fill("0");
  await expectSeen(form.getByText("The interval must be at least 1 minute."));
  expect(await form.locator(".edit-preview").count()).toBe(0);
  await room.go(`/projects/${room.project}/checks/`);
  await button(page, "New check").click();
  await page.getByLabel("Every", { exact: true }).fill("0");
  await expectSeen(page.getByText("The interval must be at least 1 minute."));
  expect(await page.locator(".preview").count()).toBe(0);
  await context.close();
});

test("a time zone is found by a city, an old name or an offset, with the keyboard alone", async () => {
  const room = await openForm();
  const { form, page, context, id } = room;
  const field = form.getByRole("combobox", { name: "Time zone" });
  const names = () => form.getByRole("option").locator(".clip").allTextContents();
  // What is stored stays as it is, whatever it is called today.
  expect(await field.inputValue()).toBe("Europe/Kiev");
  await field.click();
  await expectSoon(async () => (await names()).length).toBeGreaterThan(400);
  const offered = await names();
  expect(offered).toEqual(expect.arrayContaining(["Asia/Kolkata", "Europe/Kyiv", "UTC", "America/New_York"]));
  for (const old of ["Asia/Calcutta", "Europe/Kiev", "US/Eastern"]) expect(offered).not.toContain(old);
  await field.fill("calcutta");
  await expectSoon(names).toEqual(["Asia/Kolkata"]);
  await expectSeen(form.getByText("formerly Asia/Calcutta"));
  await field.fill("new york");
  await expectSoon(names).toEqual(["America/New_York"]);
  await field.fill("+05:30");
  await expectSoon(names).toContain("Asia/Kolkata");
  await field.fill("berl");
  await expectSoon(() => field.getAttribute("aria-activedescendant")).not.toBeNull();
  expect(await accessibilityTrouble(page)).toEqual([]);
  // Escape closes the list, and neither the form nor what was chosen before is lost.
  await page.keyboard.press("Escape");
  expect(await field.inputValue()).toBe("Europe/Kiev");
  expect(await field.getAttribute("aria-expanded")).toBe("false");
  await field.fill("europe");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expectSoon(() => field.inputValue()).toBe("Europe/Andorra");
  expect(await field.evaluate((node) => node.matches(":focus"))).toBe(true);
  await field.fill("berlin");
  await page.keyboard.press("Tab");
  await expectSoon(() => field.inputValue()).toBe("Europe/Berlin");
  await button(form, "Save").click();
  await expectGone(form);
  expect(await settingsOf(room, id)).toMatchObject({ tz: "Europe/Berlin" });
  await context.close();
});

test("an old name that is typed is kept, and an unknown one is refused beside its field", async () => {
  const room = await openForm({ ...CRON, tz: "UTC" });
  const { form, page, context, id } = room;
  const field = form.getByRole("combobox", { name: "Time zone" });
  await field.fill("Mars/Base");
  await page.keyboard.press("Tab");
  await expectSeen(form.locator(".field .mistake").getByText("Unknown time zone: Mars/Base."));
  await field.fill("asia/calcutta");
  await page.keyboard.press("Tab");
  await expectSoon(() => field.inputValue()).toBe("Asia/Calcutta");
  await button(form, "Save").click();
  await expectGone(form);
  expect(await settingsOf(room, id)).toMatchObject({ tz: "Asia/Calcutta" });
  await context.close();
});
