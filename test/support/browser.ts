// A real Chromium, Debian's, driven by playwright-core: a new profile for each window, and no external requests.
import { existsSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

// The shell draws no window and needs half of the processor time.
const PLACES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/google-chrome"];
const ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--force-color-profile=srgb"];
/** A time limit that is generous even on a busy machine. */
const PATIENCE_MS = 180_000;

export type Theme = "light" | "dark";
export type Screen = "desktop" | "tablet" | "phone" | "zoomed";

const SCREENS: Readonly<Record<Screen, object>> = {
  desktop: { viewport: { width: 1280, height: 800 } },
  tablet: { viewport: { width: 820, height: 1_180 }, isMobile: true, hasTouch: true },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  /** A window of 1280 by 1024 at 400% zoom. */
  zoomed: { viewport: { width: 320, height: 256 } },
};

/** Starts Chromium; the caller closes it. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = PLACES.find((path) => existsSync(path));
  if (executablePath === undefined) {
    throw new Error(
      "There is no Chromium here: apt-get install --no-install-recommends chromium-headless-shell",
    );
  }
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

export type WindowOptions = {
  theme?: Theme;
  screen?: Screen;
  cookie?: { name: string; value: string; url: string };
};

/** A separate window with nothing stored but the cookie. */
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

/** Problems of a page while it was used: script errors, blocked contents, failed requests. */
export type Complaints = string[];

/** Opens a page and collects its problems. */
export async function openPage(context: BrowserContext): Promise<{ page: Page; complaints: Complaints }> {
  const page = await context.newPage();
  const complaints: Complaints = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // Failed requests are reported below, with their URL.
    const isTold = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isTold) complaints.push(`console: ${message.text()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  return { page, complaints };
}

/** Opens a URL and waits until the page is loaded and stable. */
export async function visit(page: Page, url: string): Promise<void> {
  await page.goto(url, { waitUntil: "load" });
  await page.evaluate("document.fonts.ready.then(() => undefined)");
  // The script begins after the first frame, which may be after the load event.
  await page.waitForSelector("h1", { state: "attached" });
  await page.waitForSelector("[aria-busy=true], .loading", { state: "detached" });
}

/** The axe violations of the current page, one line each; "contrast" checks nothing else. */
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
