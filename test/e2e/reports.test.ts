// The reports page: findings with the numbers behind them, exports, the preview of the email, and paper.
import { describe, expect, test } from "vitest";
import { accessibilityTrouble } from "../support/browser.ts";
import { expectSeen, expectSoon, openRoom } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

async function openReports() {
  const room = await openRoom(used, { name: "Reports" });
  const noisy = await room.make("flaky probe");
  const slower = await room.make("growing backup");
  const { pool } = used.site.database;
  await pool.query(
    `insert into alerts (check_id, cause, opened_at, opened_flip_id, closed_at, close_cause, planned_at, plan_at)
      select c.id, 'missed', t, 1, t + interval '4 minutes', 'recovered', t, to_timestamp(0)
      from checks c, (select now() - n * interval '10 days' - interval '1 hour' as t from generate_series(1, 6) n) as times
      where c.uuid = $1`,
    [noisy.id],
  );
  await pool.query(
    `insert into check_days
      select c.id, (now() at time zone 'utc')::date - n, 1, 0, 1, 60000 + (28 - n) * 2000, 0
      from checks c, generate_series(1, 28) n where c.uuid = $1`,
    [slower.id],
  );
  return room;
}

describe("The reports page", () => {
  test("shows what is noisy and what is getting slower, for two periods, and previews the email", async () => {
    const room = await openReports();
    const { page, context, complaints, project } = room;
    await room.go(`/projects/${project}/reports/`);
    await expectSeen(page.getByRole("heading", { level: 1, name: "1 noisy check, 1 check getting slower" }));
    await expectSeen(page.getByRole("row", { name: /^flaky probe 2 2 4 min/ }));
    await expectSeen(page.getByRole("row", { name: /^growing backup 28 1 min 1 min 54 s \+90% 100%/ }));
    await page.getByLabel("Period").selectOption("90");
    await expectSeen(page.getByRole("row", { name: /^flaky probe 6 6 4 min/ }));
    expect(page.url()).toContain("?days=90");
    await expectSeen(page.getByText("Weekly report", { exact: true }));
    await page.getByLabel("Report", { exact: true }).selectOption("monthly");
    await expectSeen(page.getByText("Monthly report", { exact: true }));
    expect(await accessibilityTrouble(page)).toEqual([]);
    const csv = await page.getByRole("link", { name: "Export as CSV" }).getAttribute("href");
    expect(await (await page.request.get(used.site.url + (csv ?? ""))).text()).toContain(
      '"noisy","flaky probe",6,6',
    );
    const json = await page.getByRole("link", { name: "Export as JSON" }).getAttribute("href");
    const report = (await (await page.request.get(used.site.url + (json ?? ""))).json()) as {
      project: string;
    };
    expect(report.project).toBe("Reports");
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("is printed without navigation, controls and email", async () => {
    const room = await openReports();
    const { page, context, project } = room;
    await room.go(`/projects/${project}/reports/`);
    await expectSeen(page.getByRole("row", { name: /^flaky probe/ }));
    const isShown = (selector: string) => page.locator(selector).first().isVisible();
    const shown = async () => [
      await isShown(".rail"),
      await isShown(".reports-controls"),
      await isShown(".reports-email"),
    ];
    expect(await shown()).toEqual([true, true, true]);
    await page.emulateMedia({ media: "print" });
    await expectSoon(shown).toEqual([false, false, false]);
    await expectSeen(page.getByRole("row", { name: /^flaky probe/ }));
    // The paper says which project it is about.
    await expectSeen(page.getByText("Reports:", { exact: false }));
    await context.close();
  });

  test("of a new project says what would be here", async () => {
    const room = await openRoom(used);
    await room.go(`/projects/${room.project}/reports/`);
    await expectSeen(room.page.getByRole("heading", { level: 1, name: "No noisy or slowing checks" }));
    await expectSeen(room.page.getByText("There were no alerts in this period."));
    expect(room.complaints).toEqual([]);
    await room.context.close();
  });
});
