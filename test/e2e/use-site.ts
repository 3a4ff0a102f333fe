// The site of a test file: the real program on a copy of the filled database, a browser, and a window in which the
// owner is signed in. Everything is closed after the last test.
import { randomBytes } from "node:crypto";
import pg from "pg";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, inject, onTestFailed } from "vitest";
import {
  type Complaints,
  openBrowser,
  openPage,
  openWindow,
  type WindowOptions,
} from "../support/browser.ts";
import { SEEDED_DATABASE, type SeededSite } from "../support/set-up-e2e.ts";
import { createSiteDatabase, type Site, startSite } from "../support/site.ts";

export type UsedSite = {
  readonly site: Site;
  readonly seeded: SeededSite;
  /** A window of the owner, or of nobody; closed after the last test. */
  open(options?: OpenOptions): Promise<Opened>;
  /** Does something to the database server, beside the database of the site. */
  onServer(sql: string): Promise<void>;
};

export type OpenOptions = Omit<WindowOptions, "cookie"> & {
  signedIn?: boolean;
  /** Whose window it is; the owner's if nobody is named. */
  accountId?: number;
};
export type Opened = { page: Page; context: BrowserContext; complaints: Complaints };

/** One browser for all files of a worker. It ends with the worker. */
let browser: Promise<Browser> | undefined;

/** Call at the top of a test file. Fresh is a database as after an installation: nobody is there, and nothing. */
export function useSite(
  settings: Readonly<Record<string, string>> = {},
  { isFresh = false }: { isFresh?: boolean } = {},
): UsedSite {
  const name = `e2e_${randomBytes(6).toString("hex")}`;
  let site: Site | undefined;
  const contexts: BrowserContext[] = [];
  const seeded = inject("seededSite");
  beforeAll(async () => {
    const serverUrl = inject("siteServerUrl");
    const databaseUrl = serverUrl.replace(/\/postgres$/, `/${name}`);
    if (isFresh) await createSiteDatabase(serverUrl, name);
    else await onServer(`create database ${name} template ${SEEDED_DATABASE}`);
    site = await startSite({ databaseUrl, settings });
    await (browser ??= openBrowser());
  });
  afterAll(async () => {
    for (const context of contexts) await context.close();
    await site?.stop();
    await onServer(`drop database if exists ${name} with (force)`);
  });
  const started = () => {
    if (site === undefined) throw new Error("the site is there from the first test on");
    return site;
  };
  return {
    get site() {
      return started();
    },
    seeded,
    onServer,
    open: async ({ signedIn = true, accountId = seeded.accountId, ...options } = {}) => {
      const cookie = signedIn ? await started().signIn(accountId) : undefined;
      const context = await openWindow(await (browser ??= openBrowser()), {
        ...options,
        ...(cookie && { cookie }),
      });
      contexts.push(context);
      const opened = { context, ...(await openPage(context)) };
      onTestFailed(() => printScreen(opened, started()));
      return opened;
    },
  };
}

/** Prints what was on the screen when a test failed. */
async function printScreen({ page, complaints }: Opened, { program }: Site): Promise<void> {
  if (page.isClosed()) return;
  const text = await page
    .locator("body")
    .innerText({ timeout: 5_000 })
    .catch((error) => String(error));
  const log = program.said().split("\n").slice(-10).join("\n");
  console.error(`${page.url()}\n${complaints.join("\n")}\n${text.slice(0, 1_500)}\n${log}`);
}

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject("siteServerUrl") });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
