// Every page of the list for whoever needs large letters: at 400 % and at 200 % nothing has to be scrolled sideways,
// nothing lies beyond the edge, and nothing that can be pressed is covered or cut off.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import { listPages } from "../support/page-list.ts";
import { button, expectSeen, expectSoon } from "./at-the-screen.ts";
import { firstCheckOf } from "./subjects.ts";
import { useSite } from "./use-site.ts";

const used = useSite();
const PAGES = listPages({ project: ":project", check: ":check", run: 0, incident: 1 });
/** A window of 1280 by 1024 pixels, zoomed in. */
const SIZES = { "400 %": { width: 320, height: 256 }, "200 %": { width: 640, height: 512 } };

/** How far the page can be scrolled sideways, and what lies beyond its edges without a strip of its own that scrolls. */
const SIDEWAYS = `(() => {
  const { scrollWidth, clientWidth } = document.scrollingElement;
  const isOwnStrip = (one) => one !== null && one !== document.body &&
    (/auto|scroll|hidden|clip/.test(getComputedStyle(one).overflowX) || isOwnStrip(one.parentElement));
  const beyond = [...document.querySelectorAll("body *")].filter((one) => {
    const { left, right, width, height } = one.getBoundingClientRect();
    const isOut = right > clientWidth + 1 || (left < -1 && right > 0);
    return width > 1 && height > 1 && isOut && one.checkVisibility() && !isOwnStrip(one.parentElement);
  });
  const named = beyond.map((one) => one.tagName.toLowerCase() + "." + one.className);
  return { tooWide: scrollWidth - clientWidth, beyond: named.slice(0, 5) };
})()`;

/** Strips that have to be scrolled sideways to be used. Code may, as it cannot be read broken into lines. */
const STRIPS = `[...document.querySelectorAll("body *")]
  .filter((one) => one.tagName !== "PRE" && /auto|scroll/.test(getComputedStyle(one).overflowX))
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.checkVisibility())
  .map((one) => one.tagName.toLowerCase() + "." + one.className)`;

async function expectFits(page: Page, what: string): Promise<void> {
  expect(await page.evaluate(SIDEWAYS), what).toEqual({ tooWide: 0, beyond: [] });
  expect(await page.evaluate(STRIPS), what).toEqual([]);
}

test.each(PAGES)("$name, zoomed in", async ({ path, isPublic }) => {
  const subjects = await firstCheckOf(used.site, used.seeded.demo);
  const address = path.replace(":project", used.seeded.demo).replace(":check", subjects.check);
  const { page, context, complaints } = await used.open({ signedIn: !isPublic });
  for (const [zoom, size] of Object.entries(SIZES)) {
    await page.setViewportSize(size);
    await visit(page, used.site.url + address.replace("/runs/0/", `/runs/${subjects.run}/`));
    await expectFits(page, zoom);
  }
  expect(complaints).toEqual([]);
  await context.close();
});

/** Windows, and how they are opened. */
const WINDOWS: readonly [string, string, (page: Page) => Promise<unknown>][] = [
  ["a new check", "/projects/:project/checks/", (page) => page.keyboard.press("n")],
  ["the palette", "/projects/:project/checks/", (page) => page.keyboard.press("Control+k")],
  ["the shortcuts", "/projects/:project/checks/", (page) => page.keyboard.press("Shift+?")],
  ["the form of a check", "/checks/:check/details/", (page) => page.keyboard.press("e")],
  ["a check as code", "/checks/:check/details/", (page) => page.keyboard.press("c")],
  ["the form of a silence", "/projects/:project/silences/", (page) => page.keyboard.press("n")],
  [
    "the form of a policy",
    "/checks/:check/details/",
    (page) => button(page, "Edit the notification policy").click(),
  ],
  [
    "the form of a channel",
    "/projects/:project/channels/",
    (page) => page.getByRole("button", { name: /^ntfy/ }).click(),
  ],
  ["an invitation", "/projects/:project/settings/", (page) => button(page, "Invite someone").click()],
];

describe("windows at 400 %", () => {
  test.each(WINDOWS)("%s can be read to its end and closed", async (_name, path, open) => {
    const { check } = await firstCheckOf(used.site, used.seeded.demo);
    const { page, context } = await used.open({ screen: "zoomed" });
    await visit(page, used.site.url + path.replace(":project", used.seeded.demo).replace(":check", check));
    await expectSeen(page.locator("h1"));
    await open(page);
    const window = await expectSeen(page.getByRole("dialog"));
    await expectFits(page, path);
    // The window as a whole lies on the screen, and its last line can be brought there.
    const box = await window.boundingBox();
    expect(box?.y, "its top").toBeGreaterThanOrEqual(0);
    expect((box?.y ?? 0) + (box?.height ?? 0), "its foot").toBeLessThanOrEqual(256);
    const last = window.locator("button, input, a, p, dd, li").last();
    await last.scrollIntoViewIfNeeded();
    await expectSoon(async () => ((await last.boundingBox())?.y ?? 999) < 256).toBe(true);
    await page.keyboard.press("Escape");
    await context.close();
  });
});
