// Every page of the dashboard links to its documentation, and every such link leads to a page and a heading that exist.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { PageName } from "../../src/contract/api/boot.ts";
import { visit } from "../support/browser.ts";
import { listPages } from "../support/page-list.ts";
import { expectSeen } from "./at-the-screen.ts";
import { firstCheckOf } from "./subjects.ts";
import { useSite } from "./use-site.ts";

const used = useSite();
const PAGES = listPages({ project: ":project", check: ":check", run: 0, incident: 1 })
  // The wall board has nothing to press.
  .filter(({ name, isPublic }) => !isPublic && name !== "board")
  .map(({ name, path }) => ({ name, path }));
/** Tabs with a URL. */
const PARTS = [
  { name: "audit log", path: "/projects/:project/settings/?tab=record" },
  { name: "accounts", path: "/admin/?tab=accounts" },
  { name: "audit log of the server", path: "/admin/?tab=record" },
];

function addressOf(page: PageName, project: string): string {
  return used.site.url + (PAGES.find(({ name }) => name === page)?.path ?? "").replace(":project", project);
}

/** The links to the documentation on a page, without those to the API reference. */
async function docsLinks(page: Page): Promise<string[]> {
  const hrefs = await page
    .locator('a[href*="/docs/"]')
    .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
  return [...new Set(hrefs)].filter((href) => !href.endsWith("/docs/api"));
}

/** Each answer is fetched once per file. */
const answers = new Map<string, Promise<string>>();

async function expectPages(page: Page, hrefs: readonly string[]): Promise<void> {
  for (const href of hrefs) {
    const [path = "", anchor] = href.split("#");
    const answer = answers.get(path) ?? fetchPage(page, path);
    answers.set(path, answer);
    const text = await answer;
    if (anchor !== undefined) expect(text, href).toContain(`id="${anchor}"`);
  }
}

async function fetchPage(page: Page, path: string): Promise<string> {
  const response = await page.request.get(used.site.url + path);
  expect(response.status(), path).toBe(200);
  return response.text();
}

test.each([...PAGES, ...PARTS])("$name", async ({ path }) => {
  const { check, run } = await firstCheckOf(used.site, used.seeded.demo);
  const { page, context } = await used.open();
  const address = path.replace(":project", used.seeded.demo).replace(":check", check);
  await visit(page, used.site.url + address.replace("/runs/0/", `/runs/${run}/`));
  const head = page.locator("main .docs-link, [role=dialog] .docs-link").first();
  await expectSeen(head);
  expect(await head.textContent()).toMatch(/^Docs: [\w -]+ \(opens in a new tab\)$/);
  await expectPages(page, await docsLinks(page));
  await context.close();
});

test("empty pages explain what would be there", async () => {
  const { page, context } = await used.open();
  for (const name of ["checks", "incidents", "events", "near-misses", "silences", "channels"] as const) {
    await visit(page, addressOf(name, used.seeded.empty));
    await expectSeen(page.locator("main .learn-more").first());
    await expectPages(page, await docsLinks(page));
  }
  await context.close();
});

test.each(["slack", "webhook"])("the form of a %s channel", async (kind) => {
  const { page, context } = await used.open();
  await visit(page, `${addressOf("channels", used.seeded.demo)}?open=${kind}`);
  const link = page.getByRole("dialog").locator(".docs-link");
  await expectSeen(link);
  expect(await link.getAttribute("href")).toBe(`/docs/guide/channels/${kind}`);
  await expectPages(page, await docsLinks(page));
  await context.close();
});

test("a link opens a new tab, and the form keeps what was typed", async () => {
  const { page, context } = await used.open();
  await visit(page, addressOf("checks", used.seeded.demo));
  await page.keyboard.press("n");
  const form = page.getByRole("dialog");
  await form.getByLabel("Name").fill("nightly backup");
  const [tab] = await Promise.all([
    context.waitForEvent("page"),
    form.getByRole("link", { name: /^Learn more.*grace period/ }).click(),
  ]);
  await tab.waitForURL("**/docs/guide/run-limits#grace-period");
  expect(await form.getByLabel("Name").inputValue()).toBe("nightly backup");
  await context.close();
});
