// Near misses: a check is created, an alias is added and counts, a deleted check is restored, and one is ignored.
import { expect, test } from "vitest";
import type { NearMissList } from "../../src/contract/api/near-misses.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import {
  button,
  expectGone,
  expectSeen,
  expectSoon,
  notice,
  openRoom,
  type Room,
  undo,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

type Project = { pingKey: string | null };

/** Sends a request as a job does, until the server, however busy, has an answer. */
async function send(path: string): Promise<number> {
  let status = 503;
  await expectSoon(async () => {
    status = (await fetch(`${used.site.url}/ping/${path}`)).status;
    return status;
  }).not.toBe(503);
  return status;
}

/** Requests that reach no check, once each of them is listed. */
async function miss(room: Room, ...paths: string[]): Promise<void> {
  for (const path of paths) expect(await send(path)).toBe(404);
  const listed = async () => (await listOf(room)).nearMisses.length;
  await expectSoon(listed).toBe(paths.length);
}

const listOf = (room: Room) => room.ask<NearMissList>("GET", `/projects/${room.project}/near-misses`);
const pingKeyOf = async (room: Room) =>
  (await room.ask<Project>("GET", `/projects/${room.project}`)).pingKey ?? "";
const changed = (uuid: string) => uuid.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));

test("A mistyped UUID becomes an alias of its check, whose pings count, until it is removed", async () => {
  const room = await openRoom(used);
  const { page, context, complaints, project } = room;
  const { id } = await room.make("alpha backup");
  const wrong = changed(id);
  await miss(room, wrong);
  await room.go(`/projects/${project}/near-misses/`);
  await expectSeen(page.getByRole("heading", { level: 1, name: "1 job uses a wrong ping URL" }));
  await expectSeen(page.getByRole("heading", { name: "It looks like alpha backup, with a mistyped UUID" }));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await page.getByRole("button", { name: /^Add as an alias/ }).click();
  await expectSeen(notice(page, "now count for alpha backup"));
  await expectSeen(page.getByRole("heading", { level: 1, name: "No near misses" }));
  await expectSoon(() => send(wrong)).toBe(200);
  await room.go(`/checks/${id}/details/`);
  await expectSeen(page.getByRole("heading", { name: "Also pinged at" }));
  await button(page, `Remove the alias ${wrong}`).click();
  await expectGone(page.getByRole("heading", { name: "Also pinged at" }));
  await expectSoon(() => send(wrong)).toBe(404);
  expect(complaints).toEqual([]);
  await context.close();
});

test("A check is created for an unknown slug, and an alias is added to a chosen check", async () => {
  const room = await openRoom(used);
  const { page, context, complaints, project } = room;
  await room.make("alpha backup");
  const key = await pingKeyOf(room);
  await miss(room, `${key}/warehouse-compact`, `${key}/other-name`);
  await room.go(`/projects/${project}/near-misses/`);
  await expectSeen(page.getByRole("heading", { level: 1, name: "2 jobs use a wrong ping URL" }));
  await page.getByRole("button", { name: /^Create a check: .*warehouse-compact/ }).click();
  await expectSeen(notice(page, "Created the check warehouse-compact"));
  await expectSeen(page.getByRole("heading", { level: 1, name: "1 job uses a wrong ping URL" }));
  await expectSoon(() => send(`${key}/warehouse-compact`)).toBe(200);

  await page.getByRole("button", { name: /^Add as an alias: .*other-name/ }).click();
  const dialog = page.getByRole("dialog", { name: "Add as an alias" });
  await (await expectSeen(dialog.getByRole("checkbox", { name: "alpha backup" }))).click();
  await button(dialog, "Add alias").click();
  await expectGone(dialog);
  await expectSeen(page.getByRole("heading", { level: 1, name: "No near misses" }));
  await expectSoon(() => send(`${key}/other-name`)).toBe(200);
  expect(complaints).toEqual([]);
  await context.close();
});

test("A deleted check is restored", async () => {
  const room = await openRoom(used);
  const { page, context, complaints, project } = room;
  const { id } = await room.make("cache warmer");
  await room.ask("DELETE", `/checks/${id}`);
  await miss(room, id);
  await room.go(`/projects/${project}/near-misses/`);
  await page.getByRole("button", { name: "Restore the check: Restore cache warmer" }).click();
  await expectSeen(notice(page, "Restored cache warmer"));
  await expectSeen(page.getByRole("heading", { level: 1, name: "No near misses" }));
  await expectSoon(() => send(id)).toBe(200);
  expect(complaints).toEqual([]);
  await context.close();
});

test("A near miss is ignored, shown among the ignored ones, and ignoring is undone", async () => {
  const room = await openRoom(used);
  const { page, context, complaints, project } = room;
  await miss(room, `${await pingKeyOf(room)}/staging-job`);
  await room.go(`/projects/${project}/checks/`);
  await expectSeen(page.locator(".rail-link", { hasText: "Near misses" }).locator(".count"));
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  await expectSeen(page.getByRole("heading", { level: 1, name: "1 job uses a wrong ping URL" }));
  await button(page, "Ignore staging-job").click();
  // The notice goes away on its own, so nothing comes before it.
  await undo(page, "Ignored: staging-job");
  await expectSoon(async () => (await listOf(room)).nearMisses.length).toBe(1);
  await room.go(`/projects/${project}/near-misses/`);
  await expectSeen(page.getByRole("heading", { level: 1, name: "1 job uses a wrong ping URL" }));
  await button(page, "Ignore staging-job").click();
  await button(page, "Ignored: 1").click();
  await expectSeen(page.getByRole("heading", { level: 1, name: "Ignored near misses" }));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(page, "Stop ignoring staging-job").click();
  await expectSeen(page.getByText("You haven't ignored any near misses."));
  await button(page, "Back to near misses").click();
  await expectSeen(page.getByRole("heading", { level: 1, name: "1 job uses a wrong ping URL" }));
  expect(complaints).toEqual([]);
  await context.close();
});
