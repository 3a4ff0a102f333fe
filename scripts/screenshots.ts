// `npm run screenshots`: pictures of every page, of projects without checks, with a dozen and with ten thousand, in
// both themes, on a desktop, a tablet and a phone, in test-results/screenshots/. For manual review.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import { openDatabase } from "../src/store/db.ts";
import { firstCheckOf } from "../test/e2e/subjects.ts";
import {
  openBrowser,
  openPage,
  openWindow,
  type Screen,
  type Theme,
  visit,
} from "../test/support/browser.ts";
import { type ListedPage, listPages } from "../test/support/page-list.ts";
import { embeddedPostgres } from "../test/support/postgres-binaries.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { createSiteDatabase, type Site, startSite } from "../test/support/site.ts";
import { build } from "./build.ts";
import { seedAccount, seedProject } from "./seed.ts";

const FOLDER = join(import.meta.dirname, "../test-results/screenshots");
const THEMES: readonly Theme[] = ["light", "dark"];
const SCREENS: readonly Screen[] = ["desktop", "tablet", "phone"];
/** The number of checks in the displayed project. */
const SIZES = { empty: 0, dozen: 12, thousands: 10_000 } as const;
type Size = keyof typeof SIZES;
/** The history of the jobs has some. */
const FIRST_INCIDENT = 1;
const LOOKS_MAX = 100;
const LOOK_PAUSE_MS = 100;
/** Pages of one check look the same however many others there are. */
const OF_ONE_CHECK = ["check", "run", "incident", "profile", "admin", "login", "api-reference"];

const HELP = `Usage: npm run screenshots [-- --page NAME,NAME] [--size ${Object.keys(SIZES).join(",")}]

Writes test-results/screenshots/<page>-<size>-<theme>-<screen>.png.
`;

type Choice = { pages: readonly string[] | null; sizes: readonly Size[] };
type Stage = { site: Site; accountId: number; projects: Partial<Record<Size, string>> };

async function main(): Promise<void> {
  const options = { page: { type: "string" }, size: { type: "string" }, help: { type: "boolean" } } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) return void process.stdout.write(HELP);
  const sizes = (values.size?.split(",") ?? Object.keys(SIZES)).filter((name) => name in SIZES) as Size[];
  await build();
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const server = await startPostgres({ binaries: embeddedPostgres() });
  try {
    const stage = await setStage(server.url(), sizes);
    const browser = await openBrowser();
    try {
      const count = await takeAll(browser, stage, { pages: values.page?.split(",") ?? null, sizes });
      process.stdout.write(`${count} screenshots in ${FOLDER}\n`);
    } finally {
      await browser.close();
      await stage.site.stop();
    }
  } finally {
    await server.stop();
  }
}

async function setStage(serverUrl: string, sizes: readonly Size[]): Promise<Stage> {
  const databaseUrl = await createSiteDatabase(serverUrl, "pictures");
  const database = openDatabase({ url: databaseUrl, applicationName: "overdue-pictures", onError: () => {} });
  const projects: Partial<Record<Size, string>> = {};
  const { id: accountId } = await seedAccount(database);
  try {
    for (const size of sizes) {
      const name = { empty: "Playground", dozen: "Demo", thousands: "Fleet" }[size];
      const made = { ownerId: accountId, name, secretKey: null, checkCount: SIZES[size] };
      projects[size] = (await seedProject(database, made)).uuid;
    }
  } finally {
    await database.close();
  }
  return { site: await startSite({ databaseUrl }), accountId, projects };
}

async function takeAll(browser: Browser, stage: Stage, { pages, sizes }: Choice): Promise<number> {
  let count = 0;
  for (const size of sizes) {
    for (const page of await pagesOf(stage, size)) {
      if (pages !== null && !pages.includes(page.name)) continue;
      for (const theme of THEMES) {
        for (const screen of SCREENS) {
          await take(browser, stage, { page, size, theme, screen });
          count += 1;
        }
      }
    }
  }
  return count;
}

async function pagesOf({ site, projects }: Stage, size: Size): Promise<ListedPage[]> {
  const project = projects[size] ?? "";
  const isDozen = size === "dozen";
  const subject = isDozen ? await firstCheckOf(site, project) : { check: "", run: 0 };
  const all = listPages({ project, ...subject, incident: FIRST_INCIDENT });
  return isDozen ? all : all.filter(({ name }) => !OF_ONE_CHECK.includes(name));
}

type Shot = { page: ListedPage; size: Size; theme: Theme; screen: Screen };

async function take(browser: Browser, { site, accountId }: Stage, shot: Shot): Promise<void> {
  const { page: listed, size, theme, screen } = shot;
  const signedIn = listed.isPublic ? {} : { cookie: await site.signIn(accountId) };
  const context = await openWindow(browser, { theme, screen, ...signedIn });
  try {
    const { page, complaints } = await openPage(context);
    await visit(page, site.url + listed.path)
      .then(() => imagesCame(page))
      .catch((error: unknown) => complaints.push(String(error)));
    await page.screenshot({ path: join(FOLDER, `${listed.name}-${size}-${theme}-${screen}.png`) });
    for (const complaint of complaints)
      process.stdout.write(`${listed.name} ${size} ${theme} ${screen}: ${complaint}\n`);
  } finally {
    await context.close();
  }
}

/** Polled from outside: Playwright's own waiting evaluates text in the page, which our policy forbids. */
async function imagesCame(page: Page): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    if (await page.evaluate<boolean>("[...document.images].every((image) => image.complete)")) return;
    await page.waitForTimeout(LOOK_PAUSE_MS);
  }
  throw new Error("an image did not load");
}

await main();
