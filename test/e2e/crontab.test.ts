// From a crontab to its checks in the browser: pasted, chosen from, and given back with lines that report.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { accessibilityTrouble } from "../support/browser.ts";
import { button, chooseZone, expectSeen, expectSoon, openRoom, row } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const CRONTAB = `# Everything, to the other house.
0 3 * * * /srv/bin/backup.sh
*/5 * * * * cd /srv/app && php artisan schedule:run
@reboot /srv/agent
0 4 * * * /srv/watch # nightly
0 6 * * * overdue-run -slug nightly -- /srv/report`;

test("a pasted crontab becomes the checks that are chosen, and comes back with lines that report", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.go(`/projects/${room.project}/checks/`);
  await button(page, "Import crontab").click();
  await page.getByLabel("Crontab", { exact: true }).fill(CRONTAB);
  await chooseZone(page.getByLabel("Time zone of that machine"), "UTC");
  await expectSeen(page.getByText("3 jobs found"));
  await expectSeen(page.getByText("At 03:00 every day, UTC."));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await page.getByText("1 line skipped").click();
  await expectSeen(page.getByText("runs at startup (@reboot), not on a schedule"));

  await page.getByText("1 line already reports").click();
  await expectSeen(page.getByText("sends pings with overdue-run to nightly"));

  await page.getByRole("checkbox", { name: "Monitor artisan" }).click();
  await page.getByLabel("Tags for all checks").fill("web1");
  await page.getByLabel("Edit watch").press("Enter");
  const watch = page.locator(".crontab-job").nth(2);
  await watch.getByLabel("Name", { exact: true }).fill("Watch dog");
  await watch.getByLabel("Grace period", { exact: true }).fill("2");
  await expectSeen(page.getByText("Grace period: 2 h."));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(page, "Create 2 checks").click();
  await expectSeen(page.getByRole("heading", { name: "2 checks created" }));
  const given = (await page.getByLabel("New crontab").textContent())?.split("\n") ?? [];
  expect(given[1]).toMatch(/backup\.sh; curl -fsS -m 10 --retry 5 -o \/dev\/null http:\S+\/\$\?$/);
  expect(given[2]).toBe(CRONTAB.split("\n")[2]);
  // What ends in a comment cannot be followed by a report in the same line.
  expect(given[4]).toBe(CRONTAB.split("\n")[4]);
  await expectSeen(page.locator(".crontab-by-hand").getByText("line 5"));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await page.getByRole("tab", { name: "curl" }).press("ArrowRight");
  await expectSeen(page.getByLabel("Install overdue-run"));
  const wrapped = (await page.getByLabel("New crontab").textContent())?.split("\n") ?? [];
  expect(wrapped[4]).toMatch(/overdue-run -api-url \S+ -uuid \S+ -- \$SHELL -c '\/srv\/watch # nightly'$/);
  expect(await accessibilityTrouble(page)).toEqual([]);

  await button(page, "Done").click();
  await expectSoon(() => page.locator(".row .row-link").allTextContents()).toEqual(["backup", "Watch dog"]);
  await context.close();
});

test("a line with a pipe is warned about, and comes back with a line that reports the job's own exit code", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.go(`/projects/${room.project}/checks/`);
  await button(page, "Import crontab").click();
  await page.getByLabel("Crontab", { exact: true }).fill("0 3 * * * sh -c 'exit 7' | cat\n*/90 4 * * * ls");
  await expectSeen(
    page.getByText("This command contains a pipe, so its exit code is that of “cat”.", { exact: false }),
  );
  await expectSeen(page.getByText("“*/90” matches minute 0 only", { exact: false }));
  expect(await page.locator(".crontab-warning").count()).toBe(2);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(page, "Create 2 checks").click();
  await expectSeen(page.getByRole("heading", { name: "2 checks created" }));
  const [line = ""] = (await page.getByLabel("New crontab").textContent())?.split("\n") ?? [];
  await promisify(execFile)("sh", ["-c", line.split(" ").slice(5).join(" ")], { timeout: 60_000 });
  await button(page, "Done").click();
  await expectSoon(() => row(page, "exit").locator(".row-next").textContent()).toContain("exit 7");
  await context.close();
});

test("a text without a job says so and makes nothing, and the way there is also in the form of a new check", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.make("first");
  await room.go(`/projects/${room.project}/checks/`);
  await button(page, "New check").click();
  await button(page, "Import several from a crontab").click();
  await page.getByLabel("Crontab", { exact: true }).fill("MAILTO=me\nhello");
  await expectSeen(page.getByText("No jobs found."));
  expect(await button(page, "Create checks").isDisabled()).toBe(true);
  await page.keyboard.press("Escape");
  await button(page, "Discard changes").click();
  await expectSoon(() => page.locator(".window").count()).toBe(0);
  await context.close();
});
