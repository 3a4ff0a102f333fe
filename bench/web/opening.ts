// Opens the page in a browser that has never seen it, and looks at when the first row of real data is painted and at
// how long anything keeps the page from answering while a person scrolls and filters.
import type { Browser, Page } from "playwright-core";
import { openWindow } from "../../test/support/browser.ts";

export type Cookie = { name: string; value: string; url: string };

export type Opening = { firstRowMs: number; documentBytes: number; scripts: Buffer[] };

type At = { url: string; cookie: Cookie };

const ROW = '[role="row"][aria-rowindex] a[href*="/checks/"]';
const ROW_MS_MAX = 60_000;
const LOOK_EVERY_MS = 10;
const SCROLLS = 25;
const SCROLL_PIXELS = 3_000;
const SCROLL_PAUSE_MS = 60;
const TYPED = "backup eu host-004";
const TYPING_PAUSE_MS = 90;
const SETTLE_MS = 1_500;

/** Notes when the first row is on screen: two frames after it is in the document it has been painted. */
const WATCH_ROWS = `
  const look = () => {
    if (document.querySelector(${JSON.stringify(ROW)}) === null) return requestAnimationFrame(look);
    requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.firstRowAt = performance.now(); }));
  };
  requestAnimationFrame(look);`;

const WATCH_TASKS = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) globalThis.longTasks.push(entry.duration);
  }).observe({ type: "longtask", buffered: false });`;

/** One opening with an empty cache. */
export async function openCold(browser: Browser, { url, cookie }: At): Promise<Opening> {
  const context = await openWindow(browser, { cookie });
  try {
    const page = await context.newPage();
    const scripts: Promise<Buffer>[] = [];
    page.on("response", (response) => {
      if (response.url().endsWith(".js")) scripts.push(response.body());
    });
    await page.addInitScript(WATCH_ROWS);
    const response = await page.goto(url);
    const documentBytes = (await response?.body())?.length ?? 0;
    const firstRowMs = await untilFirstRow(page);
    return { firstRowMs, documentBytes, scripts: await Promise.all(scripts) };
  } finally {
    await context.close();
  }
}

/** Asked from here again and again: the page's policy lets nobody put a script into it that would wait there. */
async function untilFirstRow(page: Page): Promise<number> {
  await page.waitForSelector(ROW, { timeout: ROW_MS_MAX });
  for (;;) {
    const at = (await page.evaluate("globalThis.firstRowAt")) as number | undefined;
    if (at !== undefined) return at;
    await page.waitForTimeout(LOOK_EVERY_MS);
  }
}

/** The longest task while the whole list is scrolled through and a filter is typed; 0: none was longer than 50 ms. */
export async function longestTask(browser: Browser, { url, cookie }: At): Promise<number> {
  const context = await openWindow(browser, { cookie });
  try {
    const page = await context.newPage();
    await page.addInitScript(WATCH_ROWS);
    await page.goto(url);
    await untilFirstRow(page);
    // All rows have to be there: they come in pages, in the background.
    await page.waitForLoadState("networkidle").catch(() => {});
    await page.waitForTimeout(SETTLE_MS);
    await page.evaluate(WATCH_TASKS);
    await page.mouse.move(700, 500);
    for (let i = 0; i < SCROLLS; i += 1) {
      await page.mouse.wheel(0, SCROLL_PIXELS);
      await page.waitForTimeout(SCROLL_PAUSE_MS);
    }
    const search = page.getByRole("searchbox").first();
    await search.click();
    await search.pressSequentially(TYPED, { delay: TYPING_PAUSE_MS });
    await page.waitForTimeout(SETTLE_MS);
    const tasks = (await page.evaluate("globalThis.longTasks")) as number[];
    return Math.max(0, ...tasks);
  } finally {
    await context.close();
  }
}
