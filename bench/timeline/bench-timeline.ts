// The timeline benchmark: how long a large project takes until it is drawn, how much is transferred, how many statements
// it needs, whether moving and zooming block the browser, and whether a month costs more than a day.
import { request } from "node:http";
import { build } from "../../scripts/build.ts";
import { openBrowser } from "../../test/support/browser.ts";
import { embeddedPostgres } from "../../test/support/postgres-binaries.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { createSiteDatabase, type Site, startSite } from "../../test/support/site.ts";
import { printTable, rounded, shown } from "../store/figures.ts";
import { countStatements } from "../web/bench-web.ts";
import type { Cookie } from "../web/opening.ts";
import { fillTimeline, type TimelineHistory } from "./history.ts";
import { openTimeline, useTimeline } from "./opening.ts";
import type { TimelineSize } from "./sizes.ts";

type Figures = Record<string, number>;

const SERVER_SETTINGS = { shared_preload_libraries: "pg_stat_statements", shared_buffers: "256MB" };
const KILOBYTE = 1_000;
/** A garbage collection or another process may affect one load, so the median counts. */
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Prints the figures beside their limits, and returns them under flat keys. */
export async function benchTimeline(
  size: TimelineSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`timeline: ${size.about}`);
  await build();
  const server = await startPostgres({ binaries: embeddedPostgres(), settings: SERVER_SETTINGS });
  whenInterrupted(() => server.stop());
  try {
    const databaseUrl = await createSiteDatabase(server.url(), "timeline");
    const filled = await fillTimeline(databaseUrl, size);
    // Only what the page needs: the statements of the other roles would be counted, and checks would go down.
    const site = await startSite({ databaseUrl, roles: "web,api" });
    try {
      return await measure(site, { ...filled, size });
    } finally {
      await site.stop();
    }
  } finally {
    await server.stop();
  }
}

async function measure(
  site: Site,
  { accountId, project, size }: TimelineHistory & { size: TimelineSize },
): Promise<Figures> {
  const url = `${site.url}/projects/${project}/timeline/`;
  const cookie = await site.signIn(accountId);
  const statements = await countStatements(site.databaseUrl, { url, cookie, times: size.countings });
  console.log(`timeline: ${statements} statements`);
  const api = `${site.url}/api/overdue/v1/projects/${project}/timeline`;
  const answers = await answerTimes(api, { cookie, times: size.requests });
  const browser = await openBrowser();
  try {
    const openings: number[] = [];
    // The first one also warms up the server; the browser starts with a fresh profile each time.
    for (let i = 0; i <= size.openings; i += 1) openings.push(await openTimeline(browser, { url, cookie }));
    const tasks: number[] = [];
    for (let i = 0; i < size.passes; i += 1) tasks.push(await useTimeline(browser, { url, cookie }));
    const figures = {
      "timeline.first_paint_ms": rounded(median(openings.slice(1))),
      "timeline.kb": rounded(Math.max(...answers.map(({ bytes }) => bytes)) / KILOBYTE),
      "timeline.statements": statements,
      "timeline.longest_task_ms": rounded(median(tasks)),
      "timeline.month_over_day": rounded((answers[1]?.ms ?? 0) / (answers[0]?.ms ?? 1)),
    };
    print(figures, { openings, tasks, answers });
    return figures;
  } finally {
    await browser.close();
  }
}

/** The first two are compared: a day, and a month. */
const ANSWERS = ["range=24h", "range=30d", "range=24h&mode=rows", "range=30d&mode=rows", "range=7d"] as const;

type Answer = { query: string; ms: number; bytes: number };

/** The median time and the largest size of each answer. They take turns, so that a busy moment affects all of them. */
async function answerTimes(
  api: string,
  { cookie, times }: { cookie: Cookie; times: number },
): Promise<Answer[]> {
  const taken = ANSWERS.map((query): { query: string; all: number[]; bytes: number } => ({
    query,
    all: [],
    bytes: 0,
  }));
  for (let i = 0; i < times; i += 1) {
    for (const one of taken) {
      const begin = performance.now();
      one.bytes = Math.max(one.bytes, await transferredBytes(`${api}?${one.query}`, cookie));
      one.all.push(performance.now() - begin);
    }
  }
  return taken.map(({ query, all, bytes }) => ({ query, ms: median(all), bytes }));
}

/** The size of a response as a browser receives it: compressed. */
function transferredBytes(url: string, cookie: Cookie): Promise<number> {
  const headers = { cookie: `${cookie.name}=${cookie.value}`, "accept-encoding": "gzip, deflate, br, zstd" };
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => (bytes += chunk.length));
      response.on("end", () =>
        response.statusCode === 200 ? resolve(bytes) : reject(new Error(`answered ${response.statusCode}`)),
      );
    })
      .on("error", reject)
      .end();
  });
}

const ALLOWED: Readonly<Record<string, string>> = {
  "timeline.first_paint_ms": "up to 1,000",
  "timeline.kb": "up to 300",
  "timeline.statements": "up to 12",
  "timeline.longest_task_ms": "up to 50",
  "timeline.month_over_day": "up to 1.5",
};

function print(
  figures: Figures,
  each: { openings: readonly number[]; tasks: readonly number[]; answers: readonly Answer[] },
): void {
  const all = (values: readonly number[]) => values.map((ms) => shown(ms)).join(" ");
  printTable("timeline: a large project", [
    ["figure", "measured", "allowed"],
    ...Object.entries(figures).map(([name, value]) => [name, shown(value), ALLOWED[name] ?? ""]),
    ["drawn in each opening, ms", all(each.openings), ""],
    ["longest task of each pass, ms", all(each.tasks), ""],
    ...each.answers.map(({ query, ms, bytes }) => [
      `answer to ${query}`,
      `${shown(ms)} ms, ${shown(bytes / KILOBYTE)} kB`,
      "",
    ]),
  ]);
}
