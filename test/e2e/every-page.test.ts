// Every page of the list: it is drawn without a complaint, says in its title what it is, and axe finds nothing wrong
// with it, in either theme.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { accessibilityTrouble, visit } from "../support/browser.ts";
import { listPages } from "../support/page-list.ts";
import { firstCheckOf } from "./subjects.ts";
import { useSite } from "./use-site.ts";

const used = useSite();
const PAGES = listPages({ project: ":project", check: ":check", run: 0, incident: 1 });

/** The dark theme changes colors only. */
async function expectAccessible(page: Page): Promise<void> {
  expect(await accessibilityTrouble(page), "light").toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await accessibilityTrouble(page, "contrast"), "dark").toEqual([]);
}

test.each(PAGES)("$name, in both themes", async ({ path, isPublic }) => {
  const subjects = await firstCheckOf(used.site, used.seeded.demo);
  const address = path.replace(":project", used.seeded.demo).replace(":check", subjects.check);
  const { page, context, complaints } = await used.open({ signedIn: !isPublic });
  await visit(page, used.site.url + address.replace("/runs/0/", `/runs/${subjects.run}/`));
  expect(await page.title()).not.toBe("");
  expect(await page.locator("h1").count(), "one heading above all").toBe(1);
  // Without one, browsers ask for a picture that is not there.
  const icon = await page.locator("link[rel=icon]").getAttribute("href");
  expect(icon).toMatch(/^data:image\/svg\+xml,./);
  await expectAccessible(page);
  expect(complaints).toEqual([]);
  await context.close();
});

test("an address that leads nowhere, with the way back", async () => {
  const { page, context } = await used.open();
  const answer = await page.goto(`${used.site.url}/nothing/here/`);
  expect(answer?.status()).toBe(404);
  await expectAccessible(page);
  await page.getByRole("link", { name: "Go to the dashboard" }).click();
  await page.waitForURL(`${used.site.url}/`);
  await context.close();
});
