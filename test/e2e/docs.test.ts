// The documentation site as the program serves it: accessible in both themes, searchable by keyboard, and without a
// request to any other host.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { accessibilityTrouble, visit } from "../support/browser.ts";
import { type Opened, type OpenOptions, useSite } from "./use-site.ts";

const used = useSite();
const PAGES = ["/docs/", "/docs/guide/channels/", "/docs/guide/jobs", "/docs/operate/install"];
const SEARCH = "Search";

type Reading = Opened & { hosts: Set<string> };

/** A window of a reader, who is not signed in, and the hosts of all requests it makes. */
async function openReader(options: OpenOptions = {}): Promise<Reading> {
  const opened = await used.open({ signedIn: false, ...options });
  const hosts = new Set<string>();
  opened.context.on("request", (request) => hosts.add(new URL(request.url()).origin));
  return { ...opened, hosts };
}

async function expectQuiet({ complaints, context, hosts }: Reading): Promise<void> {
  expect(complaints).toEqual([]);
  expect([...hosts]).toEqual([used.site.url]);
  await context.close();
}

test.each(PAGES)("%s, in both themes", async (path) => {
  for (const theme of ["light", "dark"] as const) {
    const reader = await openReader({ theme });
    await visit(reader.page, used.site.url + path);
    expect(await isDark(reader.page)).toBe(theme === "dark");
    expect(await accessibilityTrouble(reader.page), theme).toEqual([]);
    await expectQuiet(reader);
  }
});

test.each(["desktop", "phone"] as const)("no page is wider than the screen: %s", async (screen) => {
  const reader = await openReader({ screen });
  for (const path of PAGES) {
    await visit(reader.page, used.site.url + path);
    expect(await overflow(reader.page), path).toBe(0);
  }
  await expectQuiet(reader);
});

function isDark(page: Page): Promise<boolean> {
  return page.evaluate("document.documentElement.classList.contains('dark')");
}

function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

test("search finds a word and opens the result by keyboard", async () => {
  const reader = await openReader();
  const { page } = reader;
  await visit(page, `${used.site.url}/docs/`);
  await page.getByRole("button", { name: SEARCH }).waitFor();
  await page.keyboard.press("/");
  await page.locator("#localsearch-input:focus").waitFor();
  await page.keyboard.type("grace");
  const first = page.locator("#localsearch-list a").first();
  await first.waitFor();
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    expect(await accessibilityTrouble(page), theme).toEqual([]);
  }
  const target = await first.getAttribute("href");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${used.site.url}${target}`);
  expect((await page.locator("main").innerText()).toLowerCase()).toContain("grace");
  await expectQuiet(reader);
});

test("the theme of the dashboard applies until another one is chosen here", async () => {
  const reader = await openReader({ theme: "light" });
  const { page, context } = reader;
  await context.addCookies([{ name: "overdue_theme", value: "dark", url: used.site.url }]);
  await visit(page, `${used.site.url}/docs/`);
  expect(await isDark(page)).toBe(true);
  await page.getByRole("switch").first().click();
  await expect.poll(() => isDark(page)).toBe(false);
  await page.reload();
  expect(await isDark(page)).toBe(false);
  await expectQuiet(reader);
});

test("a link to nowhere has a page, and the samples have the URL of this server", async () => {
  const reader = await openReader();
  const { page, context } = reader;
  const answer = await page.goto(`${used.site.url}/docs/nothing`);
  expect(answer?.status()).toBe(404);
  await page.getByRole("link", { name: "Overdue" }).first().waitFor();
  expect(await accessibilityTrouble(page)).toEqual([]);
  await visit(page, `${used.site.url}/docs/guide/jobs`);
  expect(await page.locator("main").innerText()).toContain(`${used.site.url}/ping`);
  await page.getByRole("link", { name: "Dashboard" }).first().click();
  await page.waitForURL(/\/accounts\/login\//);
  expect([...reader.hosts]).toEqual([used.site.url]);
  await context.close();
});
