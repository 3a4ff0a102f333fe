// The forecast: surprises of a project are shown, fixed, undone and marked as intended; the page of a check shows its
// own; a calendar feed is created and revoked. Schedules are chosen so that the tests pass on any day of the year.
import { expect, test } from "vitest";
import type { Forecast } from "../../src/contract/api/forecast.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, notice, openRoom, undo } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

/** Exactly one surprise on every day of the year. */
const EITHER = { schedule: "0 8 1-7 * 1", tz: "Europe/Riga" };
const REPORT = "quarterly-report runs more often than it says";
const title = (page: Awaited<ReturnType<typeof openRoom>>["page"], name: string | RegExp) =>
  page.getByRole("heading", { level: 1, name });

test("a surprise is fixed after a preview, and the fix is undone", async () => {
  const room = await openRoom(used);
  const { page, context, complaints, project } = room;
  const { id } = await room.make("quarterly-report", EITHER);
  const schedule = async () =>
    (await room.ask<{ settings: { schedule: string } }>("GET", `/checks/${id}`)).settings.schedule;
  await room.go(`/projects/${project}/forecast/`);
  await expectSeen(title(page, "1 surprise in the next 12 months"));
  await expectSeen(page.getByText("means days that match the day of the month or the day of the week"));
  expect(await accessibilityTrouble(page)).toEqual([]);

  await button(page, `Run once a month: ${REPORT}`).click();
  const dialog = page.getByRole("dialog", { name: "Run once a month" });
  await expectSeen(dialog.getByText("0 8 * * 1#1"));
  expect(await schedule()).toBe("0 8 1-7 * 1");
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(dialog, "Change 1 schedule").click();
  // The notice goes away on its own, so nothing comes before it.
  await undo(page, "1 schedule changed.");
  await expectSoon(schedule).toBe("0 8 1-7 * 1");
  await expectSeen(title(page, "1 surprise in the next 12 months"));

  // From the start: results from before Undo may still arrive.
  await room.go(`/projects/${project}/forecast/`);
  await button(page, `Run once a month: ${REPORT}`).click();
  await button(dialog, "Change 1 schedule").click();
  await expectGone(dialog);
  await expectSeen(title(page, "No surprises in the next 12 months"));
  expect(await schedule()).toBe("0 8 * * 1#1");
  expect(complaints).toEqual([]);
  await context.close();
});

test("a page that is out of date says so, and changes nothing", async () => {
  const room = await openRoom(used);
  const { page, context, project } = room;
  const { id } = await room.make("quarterly-report", EITHER);
  await room.go(`/projects/${project}/forecast/`);
  await button(page, `Run once a month: ${REPORT}`).click();
  const dialog = page.getByRole("dialog", { name: "Run once a month" });
  await expectSeen(dialog.getByText("0 8 * * 1#1"));
  await room.ask("PATCH", `/checks/${id}`, { schedule: "0 9 * * 1" });
  await button(dialog, "Change 1 schedule").click();
  await expectSeen(notice(page, "was changed since this page was loaded"));
  await expectSeen(title(page, "No surprises in the next 12 months"));
  await context.close();
});

test("a surprise is marked as intended, and unmarked", async () => {
  const room = await openRoom(used);
  const { page, context, complaints, project } = room;
  await room.make("quarterly-report", EITHER);
  const intended = async () =>
    (await room.ask<Forecast>("GET", `/projects/${project}/forecast`)).intended.length;
  await room.go(`/projects/${project}/forecast/`);
  await button(page, `That’s intended: ${REPORT}`).click();
  await undo(page, "Marked as intended");
  await expectSoon(intended).toBe(0);
  await expectSeen(title(page, "1 surprise in the next 12 months"));
  await room.go(`/projects/${project}/forecast/`);
  await button(page, `That’s intended: ${REPORT}`).click();
  await expectSeen(title(page, "No surprises in the next 12 months"));
  await expectSeen(page.getByRole("heading", { level: 2, name: "Intended" }));
  await expectSeen(button(page, `Not intended: ${REPORT}`));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(page, `Not intended: ${REPORT}`).click();
  await expectSeen(title(page, "1 surprise in the next 12 months"));
  expect(complaints).toEqual([]);
  await context.close();
});

test("clock changes and month ends are in the calendar and its table, and crowded jobs are spread out", async () => {
  const room = await openRoom(used);
  const { page, context, complaints, project } = room;
  await room.make("nightly-backup", { schedule: "*-*-* 03:30", tz: "Europe/Riga" });
  await room.make("month-close", { schedule: "0 23 31 * *", tz: "Europe/Riga" });
  const jobs: string[] = [];
  for (let index = 1; index <= 9; index += 1) {
    jobs.push((await room.make(`job-${index}`, { schedule: "0 2 * * *", tz: "UTC" })).id);
  }
  const schedules = async () => {
    const checks = await Promise.all(
      jobs.map((id) => room.ask<{ settings: { schedule: string } }>("GET", `/checks/${id}`)),
    );
    return [...new Set(checks.map(({ settings }) => settings.schedule))];
  };
  await room.go(`/projects/${project}/forecast/`);
  await expectSeen(title(page, /^\d+ surprises in the next 12 months$/));
  await expectSeen(page.getByText("03:00 to 04:00 does not exist that night in Riga").first());
  await expectSeen(page.getByRole("img", { name: /^Calendar of surprises/ }));
  await page.locator(".forecast-year summary").click();
  await expectSeen(page.locator(".forecast-year").getByRole("cell", { name: "month-close does not run" }));
  expect(await accessibilityTrouble(page)).toEqual([]);

  const panel = page.getByRole("region", { name: "02:00 is crowded" });
  await expectSeen(panel.getByText("9 jobs start at 02:00 every day."));
  await button(panel, "Show the new times").click();
  const dialog = page.getByRole("dialog", { name: "Spread out the jobs" });
  await button(dialog, "Change 6 schedules").click();
  await undo(page, "6 schedules changed.");
  await expectSoon(schedules).toEqual(["0 2 * * *"]);
  await room.go(`/projects/${project}/forecast/`);
  await expectSeen(panel);
  await button(panel, "It’s fine").click();
  await expectGone(panel);
  expect(complaints).toEqual([]);
  await context.close();
});

test("the page of a check shows its surprises", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  const { id } = await room.make("quarterly-report", EITHER);
  await room.go(`/checks/${id}/details/`);
  const section = page.getByRole("region", { name: "Surprises ahead" });
  await expectSeen(section.getByText(REPORT));
  await button(section, `Run once a month: ${REPORT}`).click();
  await button(page.getByRole("dialog", { name: "Run once a month" }), "Change 1 schedule").click();
  await undo(page, "1 schedule changed.");
  await expectSoon(
    async () =>
      (await room.ask<{ settings: { schedule: string } }>("GET", `/checks/${id}`)).settings.schedule,
  ).toBe(EITHER.schedule);
  await room.go(`/checks/${id}/details/`);
  await expectSeen(section);
  await section.getByRole("link", { name: "Forecast of the project" }).click();
  await expectSeen(title(page, "1 surprise in the next 12 months"));
  expect(complaints).toEqual([]);
  await context.close();
});

test("a calendar feed is created, read and revoked", async () => {
  const room = await openRoom(used);
  const { page, context, project, complaints } = room;
  await room.make("month-close", { schedule: "0 23 31 * *", tz: "Europe/Riga" });
  await room.go(`/projects/${project}/forecast/`);
  await button(page, "Add to calendar").click();
  const dialog = page.getByRole("dialog", { name: "Calendar feed" });
  await button(dialog, "Create URL").click();
  const shown = await expectSeen(dialog.getByLabel("URL of the feed"));
  const url = (await shown.textContent()) ?? "";
  const feed = await fetch(url);
  expect([feed.status, feed.headers.get("content-type")]).toEqual([200, "text/calendar; charset=utf-8"]);
  expect(await feed.text()).toContain("SUMMARY:month-close does not run");
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(dialog, "Revoke feed").click();
  await expectSeen(notice(page, "The calendar feed was revoked."));
  expect((await fetch(url)).status).toBe(404);
  expect(complaints).toEqual([]);
  await context.close();
});
