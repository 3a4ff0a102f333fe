// The list of checks beyond what is done with it: who may only look, what changes by the clock alone, what is told to
// whoever was away, ranges and windows of the pointer, and notices that stay or could not be taken back.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { findProjectByUuid, insertMember } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { visit } from "../support/browser.ts";
import {
  button,
  expectGone,
  expectSeen,
  expectSoon,
  notice,
  openRoom,
  person,
  type Room,
  row,
  signal,
  stateOf,
  undo,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const box = (page: Page, name: string) => page.getByRole("checkbox", { name: `Select ${name}`, exact: true });
const sql = (text: string, values: readonly unknown[]) => used.site.database.pool.query(text, [...values]);

/** A project with these jobs, and its page of checks. */
async function openList(...names: string[]): Promise<Room & { ids: string[] }> {
  const room = await openRoom(used);
  const ids: string[] = [];
  for (const name of names) ids.push((await room.make(name)).id);
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(room.page, names[0] ?? ""));
  return { ...room, ids };
}

test("who may only look is offered nothing to change, neither by the pointer nor by a key", async () => {
  const room = await openList("watched", "deleted before");
  await room.ask("DELETE", `/checks/${room.ids[1]}`);
  const { database, url } = used.site;
  const accountId = await person(used, "looks@example.org");
  const projectId = (await findProjectByUuid(database, room.project))?.id ?? 0;
  const at = await readDatabaseClock(database);
  await inTransaction(database, (tx) => insertMember(tx, { projectId, accountId, role: "readOnly", at }));
  const { page, context } = await used.open({ accountId });
  await visit(page, `${url}/projects/${room.project}/checks/`);
  await expectSeen(row(page, "watched"));
  expect(await page.getByRole("checkbox").count()).toBe(0);
  expect(await page.locator(".row-acts").count()).toBe(0);
  expect(await button(page, "New check").count()).toBe(0);
  for (const key of ["j", "x", "p", "n"]) await page.keyboard.press(key);
  await page.keyboard.press("Shift+?");
  const help = await expectSeen(page.getByRole("dialog"));
  expect(await help.textContent()).not.toMatch(/pause|new check/i);
  await page.keyboard.press("Escape");
  expect(await page.locator(".toast, .bulk").count()).toBe(0);
  await button(page, "Deleted checks").click();
  const bin = await expectSeen(page.getByRole("dialog"));
  await expectSeen(bin.getByText("deleted before"));
  expect(await button(bin, "Restore").count()).toBe(0);
  await visit(page, `${url}/checks/${room.ids[0]}/details/`);
  await expectSeen(page.getByRole("heading", { name: "watched" }));
  for (const name of ["Pause", "Edit"]) expect(await button(page, name).count(), name).toBe(0);
  for (const one of [context, room.context]) await one.close();
});

test("a row names the current channels of its check", async () => {
  const room = await openList("told");
  const { page, context } = room;
  const mail = { kind: "email", name: "Night shift", config: { value: "night@example.org" }, checks: "*" };
  await room.ask("POST", `/projects/${room.project}/channels`, mail);
  await room.go(`/projects/${room.project}/checks/`);
  const told = row(page, "told").locator(".row-told");
  await expectSoon(() => told.getAttribute("title")).toBe("Notifies Night shift");
  await room.ask("PATCH", `/checks/${room.ids[0]}`, { channels: [] });
  await expectGone(told);
  await room.ask("PATCH", `/checks/${room.ids[0]}`, { channels: "*" });
  await expectSeen(told);
  await context.close();
});

test("a row becomes late by the clock alone, and moves to those that need attention", async () => {
  const { page, context, ids, ...room } = await openList("slow job", "other job");
  for (const id of ids) await signal(used, id);
  // Expected in half an hour, as if the last signal had come that much less than its period ago.
  await sql(
    `update check_states s set last_ping_at = d.due_at - c.timeout_seconds * interval '1 second',
        down_at = d.due_at + c.grace_seconds * interval '1 second', sweep_at = d.due_at
      from checks c, (select now() + interval '30 minutes' as due_at) d
      where c.id = s.check_id and c.uuid = $1`,
    [ids[0]],
  );
  await page.clock.install();
  await room.go(`/projects/${room.project}/checks/`);
  await expectSoon(() => stateOf(page, "slow job")).toBe("up");
  // Whatever the server would tell is held back.
  await context.setOffline(true);
  await page.clock.fastForward("31:00");
  await expectSoon(() => stateOf(page, "slow job")).toBe("late");
  await expectSoon(() => page.locator(".list-group h2").first().textContent()).toBe("Needs attention");
  await expectSoon(() => page.locator("h1").textContent()).toBe("1 job is late");
  expect(await stateOf(page, "other job")).toBe("up");
  await context.close();
});

test("a returning user sees what broke, what recovered and what is new", async () => {
  // Nobody has had the page open before: leaving it would be noted as a visit, a moment later.
  const { page, context, ...room } = await openRoom(used);
  const broken = await room.make("broken");
  const mended = await room.make("mended");
  for (const { id } of [broken, mended]) await signal(used, id, "/fail");
  await signal(used, mended.id);
  await sql("update members set seen_at = now() - interval '3 hours'", []);
  await room.go(`/projects/${room.project}/checks/`);
  const line = await expectSeen(page.locator("p.since"));
  await expectSoon(() => line.textContent()).toMatch(
    /: broken went down, mended went down and recovered, 2 new checks\./,
  );
  await line.getByRole("link", { name: "broken" }).click();
  await page.waitForURL(new RegExp(`/checks/${broken.id}/details/`));
  await context.close();
});

test("with Shift everything between two rows is picked, and with Ctrl a row opens beside the list", async () => {
  const { page, context, ids } = await openList("one", "two", "three", "four");
  await box(page, "four").click();
  await box(page, "three").click({ modifiers: ["Shift"] });
  // By name: four, one, three, two.
  await expectSeen(page.getByRole("toolbar", { name: "3 selected" }));
  expect(await box(page, "two").isChecked()).toBe(false);
  await page.keyboard.press("Escape");
  const opened = context.waitForEvent("page");
  await row(page, "two")
    .locator(".row-expected")
    .click({ modifiers: ["ControlOrMeta"] });
  await (await opened).waitForURL(new RegExp(`/checks/${ids[1]}/details/`));
  expect(page.url()).toContain("/checks/");
  await expectSeen(row(page, "one"));
  await context.close();
});

test("a failed undo is reported, in the list and on the page of the check", async () => {
  const { page, context, ids, ...room } = await openList("short-lived", "gone as well");
  const gone = (id: string | undefined) => sql("delete from checks where uuid = $1", [id]);
  await box(page, "short-lived").click();
  await button(page, "Pause").click();
  await expectSeen(notice(page, "Paused short-lived"));
  await gone(ids[0]);
  await undo(page, "Paused short-lived");
  await expectSeen(notice(page, "The check no longer exists."));
  await room.go(`/checks/${ids[1]}/details/`);
  await button(page, "Pause").click();
  await expectSeen(notice(page, "Paused gone as well"));
  await gone(ids[1]);
  await undo(page, "Paused gone as well");
  await expectSeen(notice(page, "It doesn't exist, or you don't have access to it."));
  await context.close();
});

test("a notice stays as long as the pointer is on it", async () => {
  const { page, context } = await openList("held", "other");
  await page.clock.install();
  // From here on time passes only where the test says so.
  await page.clock.pauseAt(Date.now() + 60_000);
  await box(page, "held").click();
  await button(page, "Pause").click();
  const told = await expectSeen(notice(page, "held"));
  await told.hover();
  // Second by second: what the pointer does takes effect a moment later, and the page's time must not be over by then.
  for (let second = 0; second < 20; second += 1) await page.clock.runFor(1_000);
  expect(await told.isVisible()).toBe(true);
  await page.mouse.move(0, 0);
  await expectSoon(async () => {
    await page.clock.runFor(1_000);
    return told.count();
  }).toBe(0);
  await context.close();
});

test("while a window is open its keys are its own", async () => {
  const { page, context } = await openList("behind a window", "other");
  await box(page, "behind a window").click();
  await page.keyboard.press("Shift+?");
  const help = await expectSeen(page.getByRole("dialog"));
  await page.keyboard.press("p");
  await page.keyboard.press("Escape");
  await expectGone(help);
  // Heard behind the window, it would have been paused then, and be resumed now.
  await page.keyboard.press("p");
  await expectSeen(notice(page, "behind a window"));
  await expectSoon(() => stateOf(page, "behind a window")).toBe("paused");
  expect(await notice(page, "Resumed").count()).toBe(0);
  await context.close();
});
