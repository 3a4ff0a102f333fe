// Opens the timeline in a fresh browser, and measures when it is drawn and how long the page is blocked while a user moves
// and zooms.
import type { Browser, Page } from "playwright-core";
import { openWindow } from "../../test/support/browser.ts";
import { type At, WATCH_TASKS } from "../web/opening.ts";

const DRAWN_MS_MAX = 60_000;
const LOOK_EVERY_MS = 100;
const KEY_PAUSE_MS = 120;
const SETTLE_MS = 1_500;
/** Move, zoom in and out, move again, and return to now. */
const KEYS = "ArrowLeft ArrowLeft + + ArrowRight - - - ArrowLeft ArrowRight n".split(" ");

/** The page sets this mark after the first drawing with data. */
const DRAWN = 'performance.getEntriesByName("timeline-drawn")[0]?.startTime';

/** Milliseconds until the timeline is drawn, with an empty cache. */
export async function openTimeline(browser: Browser, { url, cookie }: At): Promise<number> {
  const context = await openWindow(browser, { cookie });
  try {
    const page = await context.newPage();
    await page.goto(url, { waitUntil: "commit" });
    return await untilDrawn(page);
  } finally {
    await context.close();
  }
}

/** Polled from here: the page's content security policy forbids a script in the page that would wait. */
async function untilDrawn(page: Page): Promise<number> {
  for (let waitedMs = 0; waitedMs < DRAWN_MS_MAX; waitedMs += LOOK_EVERY_MS) {
    await page.waitForTimeout(LOOK_EVERY_MS);
    const at = (await page.evaluate(DRAWN)) as number | undefined;
    if (at !== undefined) return at;
  }
  throw new Error("no timeline was drawn");
}

/** The longest task while the timeline is moved and zoomed; 0: none was longer than 50 ms. */
export async function useTimeline(browser: Browser, { url, cookie }: At): Promise<number> {
  const context = await openWindow(browser, { cookie });
  try {
    const page = await context.newPage();
    await page.goto(url);
    await untilDrawn(page);
    await page.waitForTimeout(SETTLE_MS);
    await page.evaluate(WATCH_TASKS);
    for (const key of KEYS) {
      await page.keyboard.press(key);
      await page.waitForTimeout(KEY_PAUSE_MS);
    }
    await page.waitForTimeout(SETTLE_MS);
    const tasks = (await page.evaluate("globalThis.longTasks")) as number[];
    return Math.max(0, ...tasks);
  } finally {
    await context.close();
  }
}
