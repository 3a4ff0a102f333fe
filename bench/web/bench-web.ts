// The dashboard benchmark: the size of the first page of a large project, its number of statements, the time until the
// first row is painted, and whether scrolling and filtering block the browser.
import { gzipSync } from "node:zlib";
import pg from "pg";
import { build } from "../../scripts/build.ts";
import { seedAccount, seedProject } from "../../scripts/seed.ts";
import { openDatabase } from "../../src/store/db.ts";
import { openBrowser } from "../../test/support/browser.ts";
import { embeddedPostgres } from "../../test/support/postgres-binaries.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { createSiteDatabase, type Site, startSite } from "../../test/support/site.ts";
import { printTable, rounded, shown } from "../store/figures.ts";
import { type Cookie, longestTask, openCold, weigh } from "./opening.ts";
import type { WebSize } from "./sizes.ts";

type Figures = Record<string, number>;

const SERVER_SETTINGS = { shared_preload_libraries: "pg_stat_statements", shared_buffers: "256MB" };
const KILOBYTE = 1_000;
/** A garbage collection or another process may affect one load, so the median counts. */
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Prints the figures beside their limits, and returns them under flat keys. */
export async function benchWeb(
  size: WebSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`web: ${size.about}`);
  await build();
  const server = await startPostgres({ binaries: embeddedPostgres(), settings: SERVER_SETTINGS });
  whenInterrupted(() => server.stop());
  try {
    const databaseUrl = await createSiteDatabase(server.url(), "web");
    const seeded = await fill(databaseUrl, size.checks);
    // Only what the page needs: the statements of the other roles would be counted, too.
    const site = await startSite({ databaseUrl, roles: "web,api" });
    try {
      return await measure(site, { ...seeded, size });
    } finally {
      await site.stop();
    }
  } finally {
    await server.stop();
  }
}

async function fill(url: string, checkCount: number): Promise<{ accountId: number; project: string }> {
  const database = openDatabase({ url, applicationName: "overdue-bench", onError: () => {} });
  try {
    const { id } = await seedAccount(database);
    const made = await seedProject(database, { ownerId: id, name: "Fleet", secretKey: null, checkCount });
    return { accountId: id, project: made.uuid };
  } finally {
    await database.close();
  }
}

type Measured = { accountId: number; project: string; size: WebSize };

async function measure(site: Site, { accountId, project, size }: Measured): Promise<Figures> {
  const url = `${site.url}/projects/${project}/checks/`;
  const cookie = await site.signIn(accountId);
  const queries = await countStatements(site.databaseUrl, { url, cookie, times: size.countings });
  const browser = await openBrowser();
  try {
    // This one also warms up the server; the browser starts with a fresh profile each time.
    const { documentBytes, scripts } = await weigh(browser, { url, cookie });
    const openings: number[] = [];
    for (let i = 0; i < size.openings; i += 1) openings.push(await openCold(browser, { url, cookie }));
    const tasks: number[] = [];
    for (let i = 0; i < size.passes; i += 1) tasks.push(await longestTask(browser, { url, cookie }));
    const figures = {
      "web.first_row_ms": rounded(median(openings)),
      "web.first_page_kb": rounded(documentBytes / KILOBYTE),
      "web.queries": queries,
      "web.longest_task_ms": rounded(median(tasks)),
      "web.js_gzip_kb": rounded(gzipBytes(scripts) / KILOBYTE),
    };
    print(figures, { openings, tasks });
    return figures;
  } finally {
    await browser.close();
  }
}

/** Statements of one document. Background work can only add to them, so the minimum is the true number. */
export async function countStatements(
  databaseUrl: string,
  { url, cookie, times }: { url: string; cookie: Cookie; times: number },
): Promise<number> {
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  try {
    await admin.query("create extension if not exists pg_stat_statements");
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < times; i += 1) {
      await admin.query("select pg_stat_statements_reset()");
      const response = await fetch(url, { headers: { cookie: `${cookie.name}=${cookie.value}` } });
      if (!response.ok) throw new Error(`the page answered ${response.status}`);
      await response.arrayBuffer();
      const { rows } = await admin.query<{ calls: number }>(
        "select coalesce(sum(calls), 0)::int as calls from pg_stat_statements where query not like '%pg_stat_statements%'",
      );
      least = Math.min(least, rows[0]?.calls ?? 0);
    }
    return least;
  } finally {
    await admin.end();
  }
}

function gzipBytes(scripts: readonly Buffer[]): number {
  return scripts.reduce((sum, script) => sum + gzipSync(script).length, 0);
}

const ALLOWED: Readonly<Record<string, string>> = {
  "web.first_row_ms": "under 1,000",
  "web.first_page_kb": "under 250",
  "web.queries": "under 20",
  "web.longest_task_ms": "up to 100",
  "web.js_gzip_kb": "up to 170",
};

function print(figures: Figures, each: { openings: readonly number[]; tasks: readonly number[] }): void {
  const all = (values: readonly number[]) => values.map((ms) => shown(ms)).join(" ");
  printTable("web: the first page", [
    ["figure", "measured", "allowed"],
    ...Object.entries(figures).map(([name, value]) => [name, shown(value), ALLOWED[name] ?? ""]),
    ["first row of each opening, ms", all(each.openings), ""],
    ["longest task of each pass, ms", all(each.tasks), ""],
  ]);
}
