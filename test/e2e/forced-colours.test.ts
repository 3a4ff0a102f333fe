// For readers whose system chooses the colours: what is chosen, on, or has the keyboard is still told from what is not,
// and marks of states are still drawn.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import { expectSeen } from "./at-the-screen.ts";
import { firstCheckOf } from "./subjects.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

async function openForced(path: string) {
  const opened = await used.open();
  await opened.page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
  await visit(opened.page, used.site.url + path);
  await expectSeen(opened.page.locator("h1"));
  return opened;
}

/** How something is drawn, as far as a system leaves it to us. */
const look = (page: Page, selector: string) =>
  page.evaluate<string>(`(() => {
    const style = getComputedStyle(document.querySelector(${JSON.stringify(selector)}));
    return [style.backgroundColor, style.borderBottomColor, style.outlineStyle].join(" ");
  })()`);

async function expectApart(page: Page, [chosen, other]: [string, string]): Promise<void> {
  expect(await look(page, chosen), chosen).not.toBe(await look(page, other));
}

/** Marks of a kind whose colours the system takes away, and that are not seen then; null: there are no marks at all. */
const unseen = (page: Page, selector: string) =>
  page.evaluate<number | null>(`(() => {
    const all = [...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => getComputedStyle(one));
    return all.length === 0 ? null : all.filter((one) => one.forcedColorAdjust !== "none").length;
  })()`);

test("the list: its page, the pressed filter, the row of the keyboard and the palette's choice", async () => {
  const { page, context } = await openForced(`/projects/${used.seeded.demo}/checks/`);
  await expectSeen(page.locator(".row"));
  await expectApart(page, [".rail-link[aria-current=page]", ".rail-link:not([aria-current])"]);
  await page.locator(".filters-states .chip").first().press("Enter");
  await expectSeen(page.locator(".chip[aria-pressed=true]"));
  await expectApart(page, [".chip[aria-pressed=true]", ".chip[aria-pressed=false]"]);
  await page.keyboard.press("j");
  await expectApart(page, [".row.is-cursor", ".row:not(.is-cursor)"]);
  expect(await unseen(page, ".row .fuse:not(.is-off)")).toBe(0);
  await page.keyboard.press("Control+k");
  await expectSeen(page.locator(".palette-entry[aria-selected=true]"));
  await expectApart(page, [".palette-entry[aria-selected=true]", ".palette-entry[aria-selected=false]"]);
  await context.close();
});

test("a check: its days, the switch of the chart, its channels, and a menu item", async () => {
  const { check } = await firstCheckOf(used.site, used.seeded.demo);
  const { page, context } = await openForced(`/checks/${check}/details/`);
  await expectSeen(page.locator(".ninety i"));
  expect(await unseen(page, ".ninety i")).toBe(0);
  await expectApart(page, [
    ".check-switch button[aria-pressed=true]",
    ".check-switch button[aria-pressed=false]",
  ]);
  await expectSeen(page.locator(".toggle"));
  await expectApart(page, [".toggle[data-state=checked]", ".toggle[data-state=unchecked]"]);
  await page.getByRole("button", { name: "More actions" }).press("Enter");
  await expectSeen(page.locator(".menu-item[data-highlighted]"));
  await expectApart(page, [".menu-item[data-highlighted]", ".menu-item:not([data-highlighted])"]);
  await context.close();
});
