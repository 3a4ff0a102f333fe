// Opens the page in a fresh browser, and measures when the first row of real data is painted and how long the page is
// blocked while a user scrolls and filters.
import type { Browser, Page } from "playwright-core";
import { openWindow } from "../../test/support/browser.ts";

export type Cookie = { name: string; value: string; url: string };

/** The size of a page: its document, and every script that it loads until its first row is painted. */
export type Weight = { documentBytes: number; scripts: Buffer[] };

export type At = { url: string; cookie: Cookie };

/** `stay` runs before the page is closed. */
type Visit = At & { stay?: () => Promise<unknown> };

const ROW = '[role="row"][aria-rowindex] a[href*="/checks/"]';
const ROW_MS_MAX = 60_000;
const LOOK_EVERY_MS = 100;
const SCROLLS = 25;
const SCROLL_PIXELS = 3_000;
const SCROLL_PAUSE_MS = 60;
const TYPED = "backup eu host-004";
const TYPING_PAUSE_MS = 90;
const SETTLE_MS = 1_500;

/** Records when the first row is on screen: it has been painted two frames after it is in the document. */
const WATCH_ROWS = `
  const look = () => {
    if (document.querySelector(${JSON.stringify(ROW)}) === null) return requestAnimationFrame(look);
    requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.firstRowAt = performance.now(); }));
  };
  requestAnimationFrame(look);`;

export const WATCH_TASKS = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) globalThis.longTasks.push(entry.duration);
  }).observe({ type: "longtask", buffered: false });`;

/** One load that is not timed: measuring the sizes takes time in the browser. */
export async function weigh(browser: Browser, { url, cookie }: At): Promise<Weight> {
  const context = await openWindow(browser, { cookie });
  try {
    const page = await context.newPage();
    const scripts: Promise<Buffer>[] = [];
    page.on("response", (response) => {
      if (response.url().endsWith(".js")) scripts.push(response.body());
    });
    const response = await page.goto(url);
    const documentBytes = (await response?.body())?.length ?? 0;
    await page.getByRole("searchbox").first().waitFor({ timeout: ROW_MS_MAX });
    return { documentBytes, scripts: await Promise.all(scripts) };
  } finally {
    await context.close();
  }
}

/** Milliseconds until the first row is painted, with an empty cache. */
export async function openCold(browser: Browser, { url, cookie }: At): Promise<number> {
  const context = await openWindow(browser, { cookie });
  try {
    const page = await context.newPage();
    await page.addInitScript(WATCH_ROWS);
    await page.goto(url, { waitUntil: "commit" });
    return await untilFirstRow(page);
  } finally {
    await context.close();
  }
}

/** Polled from here: the page's content security policy forbids a script in the page that would wait. */
async function untilFirstRow(page: Page): Promise<number> {
  for (let waitedMs = 0; waitedMs < ROW_MS_MAX; waitedMs += LOOK_EVERY_MS) {
    await page.waitForTimeout(LOOK_EVERY_MS);
    const at = (await page.evaluate("globalThis.firstRowAt")) as number | undefined;
    if (at !== undefined) return at;
  }
  throw new Error("no row came");
}

/**
 * The longest task while the whole list is scrolled and a filter is typed, starting as soon as the page is interactive,
 * while the rest of the rows is still loading; 0: none was longer than 50 ms.
 */
export async function longestTask(browser: Browser, { url, cookie, stay }: Visit): Promise<number> {
  const context = await openWindow(browser, { cookie });
  try {
    const page = await context.newPage();
    await page.addInitScript(WATCH_ROWS);
    await page.goto(url);
    await untilFirstRow(page);
    // Until then the rows are those of the server, and there is no field.
    const search = page.getByRole("searchbox").first();
    await search.waitFor({ timeout: ROW_MS_MAX });
    await page.evaluate(WATCH_TASKS);
    await page.mouse.move(700, 500);
    for (let i = 0; i < SCROLLS; i += 1) {
      await page.mouse.wheel(0, SCROLL_PIXELS);
      await page.waitForTimeout(SCROLL_PAUSE_MS);
    }
    await search.click();
    await search.pressSequentially(TYPED, { delay: TYPING_PAUSE_MS });
    await page.waitForTimeout(SETTLE_MS);
    const tasks = (await page.evaluate("globalThis.longTasks")) as number[];
    await stay?.();
    return Math.max(0, ...tasks);
  } finally {
    await context.close();
  }
}
