// The timeline: rows of runs with their cards, ranges by button, key and pointer, filters that a link keeps, the table,
// lanes for many checks, and the same with a finger.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { accessibilityTrouble } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, openRoom, signal } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** More than are drawn as rows. */
const MANY = 151;
const AT_ONCE = 10;

const chart = (page: Page) => page.locator(".tl");
const link = (page: Page, name: string) => page.locator(".tl-row").getByRole("link", { name });
const card = (page: Page) => page.locator(".tl-card");

/** The length of the range that is drawn. */
async function spanMs(page: Page): Promise<number> {
  const [from, to] = [await chart(page).getAttribute("data-from"), await chart(page).getAttribute("data-to")];
  return Number(to) - Number(from);
}

async function openDemo(query = "", options: Parameters<typeof openRoom>[1] = {}) {
  const room = await openRoom(used, options);
  await room.go(`/projects/${used.seeded.demo}/timeline/${query}`);
  await expectSeen(chart(room.page));
  return room;
}

/** How many pixels of a canvas are drawn. */
const drawnPixels = (page: Page, selector: string) =>
  page.evaluate<number>(`(() => {
    const canvas = document.querySelector(${JSON.stringify(selector)});
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((sum, value, index) => sum + (index % 4 === 3 && value > 0 ? 1 : 0), 0);
  })()`);

describe("The runs of all checks", () => {
  test("are drawn in rows, and the keyboard shows and opens them", async () => {
    const { page, context, complaints } = await openDemo();
    await expectSeen(link(page, "Queue worker heartbeat"));
    await expectSeen(page.getByRole("button", { name: /^prod 8 checks/ }));
    const line = await page
      .locator("[data-line]", { has: page.getByTitle("Queue worker heartbeat", { exact: true }) })
      .getAttribute("data-line");
    expect(await drawnPixels(page, `[data-line="${line}"] canvas`)).toBeGreaterThan(200);
    expect(await page.evaluate("performance.getEntriesByName('timeline-drawn').length")).toBe(1);

    // One stop of the tab key; arrows move from there.
    await page.locator("[data-stop][tabindex='0']").focus();
    await expectSoon(() => page.evaluate("document.activeElement.getAttribute('aria-expanded')")).toBe(
      "true",
    );
    const isAtHeartbeat = () =>
      page.evaluate<boolean>("document.activeElement.getAttribute('title') === 'Queue worker heartbeat'");
    for (let n = 0; n < 10 && !(await isAtHeartbeat()); n += 1) await page.keyboard.press("ArrowDown");
    expect(await isAtHeartbeat()).toBe(true);
    await expectSeen(card(page).getByText("Queue worker heartbeat"));
    const before = await card(page).locator("dd").first().textContent();
    await page.keyboard.press("Shift+ArrowLeft");
    await expectSoon(() => card(page).locator("dd").first().textContent()).not.toBe(before);
    await expectSoon(() => page.locator("[aria-live=polite]").allTextContents()).toContainEqual(
      expect.stringMatching(/^Queue worker heartbeat, /),
    );
    await page.keyboard.press("Escape");
    await expectGone(card(page));
    await page.keyboard.press("Shift+ArrowLeft");
    await expectSeen(card(page));
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/checks\/[^/]+\/(runs\/\d+|details)\//);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("have a card under the pointer, and a click on a name opens the check", async () => {
    const { page, context } = await openDemo();
    const row = page.locator("[data-line]", {
      has: page.getByTitle("Queue worker heartbeat", { exact: true }),
    });
    const box = await row.locator("canvas").boundingBox();
    await page.mouse.move((box?.x ?? 0) + 60, (box?.y ?? 0) + 12);
    await expectSeen(card(page).getByText("Queue worker heartbeat"));
    await page.mouse.move((box?.x ?? 0) + 60, (box?.y ?? 0) - 400);
    await expectGone(card(page));
    await link(page, "Queue worker heartbeat").click();
    await page.waitForURL("**/details/");
    await context.close();
  });

  test("follow what jobs send, without a reload", async () => {
    const room = await openRoom(used);
    const { page, context, complaints, project } = room;
    await room.go(`/projects/${project}/timeline/`);
    await expectSeen(page.getByRole("heading", { level: 1, name: "No checks yet" }));
    const { id } = await room.make("alpha", { tags: "one" });
    await room.go(`/projects/${project}/timeline/`);
    await expectSeen(page.getByRole("heading", { level: 1, name: "Waiting for the first pings" }));
    await signal(used, id, "/fail");
    await expectSeen(page.getByRole("heading", { level: 1, name: "1 check is down" }));
    await expectSeen(page.getByRole("link", { name: /^alpha ?, down/ }));
    // A group is folded and unfolded.
    await page.getByRole("button", { name: /^one/ }).click();
    await expectGone(page.getByTitle("alpha", { exact: true }));
    await page.getByRole("button", { name: /^one/ }).click();
    await expectSeen(page.getByTitle("alpha", { exact: true }));
    expect(complaints).toEqual([]);
    await context.close();
  });
});

describe("The range", () => {
  test("is changed by button and key, and by going back", async () => {
    const { page, context, complaints } = await openDemo();
    expect(await spanMs(page)).toBe(DAY_MS);
    await button(page, "7 d").click();
    await expectSoon(() => spanMs(page)).toBe(7 * DAY_MS);
    expect(page.url()).toContain("range=7d");
    await page.keyboard.press("-");
    await expectSoon(() => spanMs(page)).toBe(30 * DAY_MS);
    await page.keyboard.press("+");
    await expectSoon(() => spanMs(page)).toBe(7 * DAY_MS);
    await page.keyboard.press("ArrowLeft");
    await expectSoon(() => page.url()).toContain("from=");
    await expectSoon(() => spanMs(page)).toBe(7 * DAY_MS);
    await page.keyboard.press("n");
    await expectSoon(() => page.url()).not.toContain("from=");
    await expectSoon(() => spanMs(page)).toBe(7 * DAY_MS);
    await button(page, "6 h").click();
    await expectSoon(() => spanMs(page)).toBe(6 * HOUR_MS);
    await page.goBack();
    await expectSoon(() => spanMs(page)).toBe(7 * DAY_MS);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("is selected with the pointer; Escape gives that up", async () => {
    const { page, context } = await openDemo();
    const box = await page.locator(".tl-lines").boundingBox();
    const plot = await page.locator(".tl-over").boundingBox();
    const at = (share: number) => (plot?.x ?? 0) + (plot?.width ?? 0) * share;
    const y = (box?.y ?? 0) + 60;
    await page.mouse.move(at(0.2), y);
    await page.mouse.down();
    await page.mouse.move(at(0.5), y, { steps: 5 });
    await expectSeen(page.locator(".tl-selection"));
    await page.keyboard.press("Escape");
    await expectGone(page.locator(".tl-selection"));
    await page.mouse.up();
    expect(await spanMs(page)).toBe(DAY_MS);
    await page.mouse.move(at(0.2), y);
    await page.mouse.down();
    await page.mouse.move(at(0.45), y, { steps: 5 });
    await page.mouse.up();
    await expectSoon(async () => Math.abs((await spanMs(page)) - 6 * HOUR_MS) < HOUR_MS / 4).toBe(true);
    expect(page.url()).toContain("from=");
    expect(page.url()).toContain("/timeline/");
    await context.close();
  });
});

describe("What is shown", () => {
  test("is filtered, and the link keeps it", async () => {
    const { page, context, complaints } = await openDemo();
    await page.keyboard.press("/");
    await page.keyboard.type("backup");
    await expectGone(page.getByTitle("Log rotation", { exact: true }));
    await expectSeen(link(page, "Nightly backup"));
    await page.keyboard.press("Escape");
    await expectSeen(link(page, "Log rotation"));
    await button(page, "Status: any").click();
    await page.getByRole("menuitemcheckbox", { name: "down or late" }).click();
    await expectGone(page.getByTitle("Clean staging", { exact: true }));
    await button(page, "Group by: tag").click();
    await page.getByRole("menuitemcheckbox", { name: "None" }).click();
    await expectGone(page.locator(".tl-group"));
    await button(page, "7 d").click();
    await expectSoon(() => spanMs(page)).toBe(7 * DAY_MS);
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      range: "7d",
      state: "trouble",
      group: "none",
    });
    await page.reload();
    await expectSeen(button(page, "Status: down or late"));
    await expectSoon(() => spanMs(page)).toBe(7 * DAY_MS);
    await expectGone(page.locator(".tl-group"));
    await page.keyboard.press("/");
    await page.keyboard.type("nothing is called this");
    await expectSeen(page.getByRole("heading", { level: 2, name: "No matching checks" }));
    await button(page, "Show all checks").click();
    await expectSeen(link(page, "Log rotation"));
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("is a table, too", async () => {
    const { page, context, complaints } = await openDemo();
    await button(page, "View as a table").click();
    const checks = page.getByRole("table", { name: "Checks" });
    await expectSeen(checks.getByRole("rowheader", { name: "Nightly backup" }));
    await expectSeen(page.getByRole("table", { name: "Running at once" }));
    expect(page.url()).toContain("view=table");
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(page, "Density").click();
    await expectSeen(
      page.getByRole("table", { name: "Runs by tag" }).getByRole("rowheader", { name: "prod" }),
    );
    await button(page, "View as a chart").click();
    await expectSeen(chart(page));
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("is a lane for each tag if there are many checks, with a way to their rows", async () => {
    const room = await openRoom(used);
    const { page, context, complaints, project } = room;
    for (let n = 0; n < MANY; n += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, MANY - n) }, (_, index) =>
        room.make(`job ${n + index}`, { tags: n < 100 ? "prod" : "staging" }),
      );
      await Promise.all(some);
    }
    const broken = await room.make("broken job", { tags: "prod" });
    await signal(used, broken.id, "/fail");
    await room.go(`/projects/${project}/timeline/`);
    await expectSeen(page.getByRole("heading", { level: 1, name: "1 of 152 checks needs attention" }));
    await expectSoon(() => chart(page).getAttribute("data-mode")).toBe("density");
    await expectSeen(page.getByRole("link", { name: /^broken job/ }));
    expect(await page.getByTitle("job 5", { exact: true }).count()).toBe(0);
    expect(await accessibilityTrouble(page)).toEqual([]);
    await page.getByRole("link", { name: /^staging/ }).click();
    await expectSeen(page.getByTitle("job 120", { exact: true }));
    await expectSoon(() => chart(page).getAttribute("data-mode")).toBe("rows");
    expect(page.url()).toContain("tag=staging");
    await page.getByRole("button", { name: "Show all tags, not only staging" }).click();
    await button(page, "Show more checks").click();
    await expectGone(button(page, "Show more checks"));
    await page.goBack();
    await page.goBack();
    await expectSoon(() => chart(page).getAttribute("data-mode")).toBe("density");
    expect(complaints).toEqual([]);
    await context.close();
  });
});

test("on a phone, names stand above their runs, a tap shows the card, and filters are folded", async () => {
  const { page, context, complaints } = await openDemo("", { screen: "phone" });
  const row = page.locator("[data-line]", {
    has: page.getByTitle("Queue worker heartbeat", { exact: true }),
  });
  await row.scrollIntoViewIfNeeded();
  const box = await row.boundingBox();
  expect(box?.height).toBeGreaterThanOrEqual(44);
  expect(await page.evaluate("document.scrollingElement.scrollWidth - innerWidth")).toBe(0);
  await page.touchscreen.tap(120, (box?.y ?? 0) + 30);
  await expectSeen(card(page).getByText("Queue worker heartbeat"));
  expect(page.url()).toContain("/timeline/");
  await expectSeen(card(page).getByRole("link", { name: "Open" }));
  await button(page, "Filters").tap();
  await button(page, "Status: any").tap();
  await page.getByRole("menuitemcheckbox", { name: "down or late" }).tap();
  await expectGone(page.getByTitle("Clean staging", { exact: true }));
  expect(await accessibilityTrouble(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await context.close();
});
