// The lines across the page: a lost connection, a monitoring gap that is over, and safe mode after a restore.
import { expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, openRoom, row, signal } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const query = (sql: string, values: unknown[] = []) => used.site.database.pool.query(sql, values);

/** We could not receive for so long, until a minute ago. */
const addGap = (seconds: number) =>
  query(
    `insert into blind_intervals (from_at, to_at, reason)
     select now() - make_interval(secs => 60 + $1), now() - interval '60 s', 'test'`,
    [seconds],
  );

test("a gap as short as a restart is not shown; a longer one can be dismissed, and is below down checks", async () => {
  const room = await openRoom(used, { name: "Gaps" });
  const { page, context } = room;
  const { id } = await room.make("broken job");
  await signal(used, id, "/fail");
  await addGap(20);
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(page, "broken job"));
  expect(await page.getByText(/Monitoring gap/).count()).toBe(0);
  await addGap(300);
  const band = page
    .getByRole("status")
    .filter({ hasText: "Monitoring gap: no pings were received for 5 min" });
  await expectSeen(band);
  const below = async () =>
    ((await band.boundingBox())?.y ?? 0) > ((await row(page, "broken job").boundingBox())?.y ?? 0);
  await expectSoon(below).toBe(true);
  await button(page, "Dismiss").click();
  await expectGone(band);
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(page, "broken job"));
  await expectSoon(() => page.locator(".status .live").textContent()).toBe("live");
  expect(await page.getByText(/Monitoring gap/).count()).toBe(0);
  // On the page of all projects neither.
  await room.go("/");
  await expectSeen(page.locator(".project-card", { hasText: "Gaps" }));
  expect(await page.getByText(/Monitoring gap/).count()).toBe(0);
  await context.close();
});

test("in safe mode every page says so, and an admin confirms that the server is in service", async () => {
  await query("update database_identity set state = 'safe', reason = 'The public URL has changed.'");
  const { page, context, complaints } = await used.open();
  const line = page.getByText(/^Safe mode: this server runs on a restored or copied database/);
  await expectSoon(async () => {
    await visit(page, `${used.site.url}/projects/${used.seeded.demo}/checks/`);
    return line.count();
  }).toBe(1);
  await page.getByRole("link", { name: "Review" }).click();
  await expectSeen(page.getByText("The public URL has changed."));
  await expectSoon(() => page.title()).toMatch(/needs? attention/);
  await button(page, "Confirm and resume notifications").click();
  await button(page.getByRole("dialog"), "Confirm and resume notifications").click();
  await expectGone(line);
  await expectGone(page.getByText("The public URL has changed."));
  const { rows } = await query("select state from database_identity");
  expect(rows).toEqual([{ state: "normal" }]);
  await page.getByRole("tab", { name: "Audit log" }).click();
  await expectSeen(page.getByRole("row", { name: /confirmed the restore/ }));
  expect(complaints).toEqual([]);
  await context.close();
});

// The last one: it ends the server.
test("a lost connection is shown within seconds, and visible to a user who has scrolled", async () => {
  const { page, context } = await used.open();
  await page.setViewportSize({ width: 900, height: 420 });
  await visit(page, `${used.site.url}/projects/${used.seeded.demo}/checks/`);
  await expectSoon(() => page.locator(".status .live").textContent()).toBe("live");
  await page.evaluate("scrollTo(0, document.body.scrollHeight)");
  const band = page
    .getByRole("status")
    .filter({ hasText: /^Disconnected since .*\. Data may be out of date\.$/ });
  const stoppedMs = performance.now();
  const stopping = used.site.program.stop();
  await expectSeen(band);
  // Two seconds, and room for a slow machine; it was ten.
  expect(performance.now() - stoppedMs).toBeLessThan(8_000);
  const box = await band.boundingBox();
  expect(box?.y).toBeGreaterThanOrEqual(0);
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(420);
  await stopping;
  await context.close();
});
