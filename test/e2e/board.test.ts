// The wall board: for members, and on a screen without an account. It shows what is wrong, follows changes without a
// touch, and says so when the server is away.
import { describe, expect, test } from "vitest";
import type { BoardLinkMade } from "../../src/contract/api/board.ts";
import { accessibilityTrouble, visit } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, notice, openRoom, signal } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

/** The most that the page can be scrolled in either direction. */
const OVERFLOW = `(() => {
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.scrollingElement;
  return [scrollWidth - clientWidth, scrollHeight - clientHeight];
})()`;

async function openBoard() {
  const room = await openRoom(used, { name: "Nordlight" });
  const backup = await room.make("alpha backup", { tags: "db prod" });
  await room.make("beta export", { tags: "etl" });
  await signal(used, backup.id);
  return { ...room, backup: backup.id };
}

describe("The wall board", () => {
  test("has no navigation, follows a failure and a recovery, and fits any screen", async () => {
    const room = await openBoard();
    const { page, context, complaints, project, backup } = room;
    await page.setViewportSize({ width: 1920, height: 1080 });
    await room.go(`/projects/${project}/checks/?board`);
    await expectSeen(page.getByRole("heading", { level: 1, name: "All checks are on time" }));
    await expectSeen(page.getByText("1 is on time, 1 is new."));
    await expectSeen(page.getByRole("img", { name: "db: 1 check, 0 down, 0 late" }));
    expect(await page.getByRole("navigation").count()).toBe(0);
    await signal(used, backup, "/3");
    await expectSeen(page.getByRole("heading", { level: 1, name: "alpha backup is down" }));
    await expectSeen(page.getByRole("img", { name: "db: 1 check, 1 down, 0 late" }));
    await expectSeen(page.getByText("Reported a failure"));
    await expectSoon(() => page.title()).toContain("alpha backup is down · Nordlight");
    expect(await accessibilityTrouble(page)).toEqual([]);
    for (const [width, height] of [
      [1920, 1080],
      [3840, 2160],
      [1280, 1024],
    ] as const) {
      await page.setViewportSize({ width, height });
      await expectSoon(() => page.evaluate(OVERFLOW), `${width} × ${height}`).toEqual([0, 0]);
    }
    const size = await page.evaluate<string>("getComputedStyle(document.querySelector('h1')).fontSize");
    expect(Number.parseFloat(size), "scales with the screen").toBeGreaterThan(50);
    await signal(used, backup);
    await expectSeen(page.getByRole("heading", { level: 1, name: "All checks are on time" }));
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("of an empty project says that there is nothing yet", async () => {
    const room = await openRoom(used);
    await room.go(`/projects/${room.project}/checks/?board`);
    await expectSeen(room.page.getByRole("heading", { level: 1, name: "No checks yet" }));
    expect(room.complaints).toEqual([]);
    await room.context.close();
  });
});

describe("A share link", () => {
  test("is created, shown once, opened without an account, and revoked", async () => {
    const room = await openBoard();
    const { page, context, complaints, project } = room;
    await room.go(`/projects/${project}/badges/`);
    await expectSeen(page.getByText("No share links yet."));
    await button(page, "New share link").click();
    const form = page.getByRole("dialog", { name: "New share link" });
    await form.getByLabel("Name").fill("Office");
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(form, "Create link").click();
    const made = page.getByRole("dialog", { name: "Copy the share link" });
    await expectSeen(made);
    const url = (await made.locator("pre, code").first().textContent())?.trim() ?? "";
    expect(url).toMatch(new RegExp(`^${used.site.url}/board/[\\w-]{43}/$`));
    await button(made, "I've copied it").click();
    await expectGone(made);
    await expectSeen(page.getByText("never used"));
    expect(await page.content()).not.toContain(url);

    const screen = await used.open({ signedIn: false });
    await visit(screen.page, url);
    await expectSeen(screen.page.getByRole("heading", { level: 1, name: "All checks are on time" }));
    expect(await screen.page.getByRole("link").count()).toBe(0);
    expect(await accessibilityTrouble(screen.page)).toEqual([]);
    expect(await screen.context.cookies()).toEqual([]);
    expect(screen.complaints).toEqual([]);

    await page.reload();
    await button(page, "Revoke Office").click();
    const dialog = page.getByRole("dialog", { name: "Revoke Office?" });
    await button(await expectSeen(dialog), "Revoke").click();
    await expectSeen(notice(page, "Share link revoked."));
    await expectSeen(screen.page.getByRole("heading", { level: 1, name: "This link doesn't work" }));
    await screen.context.close();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("keeps its screen useful while the server is away, and recovers by itself", async () => {
    const room = await openBoard();
    const { url } = await room.ask<BoardLinkMade>("POST", `/projects/${room.project}/board-links`, {
      name: "TV",
    });
    const { page, context } = await used.open({ signedIn: false });
    await visit(page, url);
    await expectSeen(page.getByText("Live, updated", { exact: false }));
    await page.route("**/web/board/**", (route) => route.abort());
    await expectSeen(page.getByText(/^Disconnected since \d\d:\d\d$/));
    await expectSeen(page.getByText("Data may be out of date."));
    // What was known stays on the screen.
    await expectSeen(page.getByRole("img", { name: "db: 1 check, 0 down, 0 late" }));
    await page.unroute("**/web/board/**");
    await expectSeen(page.getByText("Live, updated", { exact: false }));
    await expectGone(page.getByText("Disconnected since"));
    await context.close();
    await room.context.close();
  });
});
