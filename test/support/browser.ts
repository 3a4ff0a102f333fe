// A real Chromium, Debian's, driven by playwright-core: a fresh profile for each window, nothing from outside.
import { existsSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--force-color-profile=srgb"];
/** A page that is not there by then will not come, however busy the machine is. */
const PATIENCE_MS = 60_000;

export type Theme = "light" | "dark";
export type Screen = "desktop" | "tablet" | "phone" | "zoomed";

const SCREENS: Readonly<Record<Screen, object>> = {
  desktop: { viewport: { width: 1280, height: 800 } },
  tablet: { viewport: { width: 820, height: 1_180 }, isMobile: true, hasTouch: true },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  /** A window of 1280 by 1024 at 400 %. */
  zoomed: { viewport: { width: 320, height: 256 } },
};

/** Starts Chromium; whoever starts it closes it. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = PLACES.find((path) => existsSync(path));
  if (executablePath === undefined) {
    throw new Error("There is no Chromium here: apt-get install --no-install-recommends chromium");
  }
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

export type WindowOptions = {
  theme?: Theme;
  screen?: Screen;
  cookie?: { name: string; value: string; url: string };
};

/** A window of its own, with nothing remembered but the cookie. */
export async function openWindow(browser: Browser, options: WindowOptions = {}): Promise<BrowserContext> {
  const { theme = "light", screen = "desktop", cookie } = options;
  const context = await browser.newContext({
    ...SCREENS[screen],
    colorScheme: theme,
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "Europe/Riga",
  });
  context.setDefaultTimeout(PATIENCE_MS);
  if (cookie !== undefined) await context.addCookies([cookie]);
  return context;
}

/** What a page complained about while it was used: errors of scripts, refused contents, failed requests. */
export type Complaints = string[];

/** Opens a page and collects what goes wrong on it. */
export async function openPage(context: BrowserContext): Promise<{ page: Page; complaints: Complaints }> {
  const page = await context.newPage();
  const complaints: Complaints = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // What could not be loaded is told below, with its address.
    const isTold = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isTold) complaints.push(`console: ${message.text()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  return { page, complaints };
}

/** Goes to an address and waits until what is on it is there and still. */
export async function visit(page: Page, url: string): Promise<void> {
  await page.goto(url, { waitUntil: "load" });
  await page.evaluate("document.fonts.ready.then(() => undefined)");
  // The script begins after the first frame, which may be after the page was loaded.
  await page.waitForSelector("h1", { state: "attached" });
  await page.waitForSelector("[aria-busy=true], .loading", { state: "detached" });
}

/** What axe reports about the page as it is, one line per violation; "contrast" checks nothing else. */
export async function accessibilityTrouble(page: Page, what: "all" | "contrast" = "all"): Promise<string[]> {
  const axe = new AxeBuilder({ page });
  const { violations } = await (what === "all"
    ? axe.withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
    : axe.withRules(["color-contrast"])
  ).analyze();
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target }) => `${id}: ${help} (${target.join(" ")})`),
  );
}
