// Runs the samples of the documentation, page by page, each page on a host of its own.
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { environmentWith } from "../../src/config/config.ts";
import { debianPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { makeHost, makeTemplate, type Server, startServer, type Template } from "./host.ts";
import { stateOf } from "./languages.ts";
import { type Sample, samplePages, samplesOf } from "./markdown.ts";
import { problemOf } from "./runners.ts";

/** Pages that run at the same time. */
const PAGES_MAX = 4;
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000, maxConcurrency: PAGES_MAX });

/** What .ci/install installs for samples. Without one of them, the samples that call it are left out. */
const PROGRAMS = ["ansible-playbook", "borg", "borgmatic", "jq", "nginx", "restic", "systemd-analyze"];
const missing = PROGRAMS.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0);

let server: PostgresServer;
let template: Template;
/** For pages that change little: starting a server takes longer than their samples. */
let shared: Server;

beforeAll(async () => {
  // Debian's pg_dump reads no newer version.
  server = await startPostgres({ binaries: debianPostgres() });
  template = await makeTemplate(server);
  shared = await startServer(template);
});
afterAll(async () => {
  await shared.stop();
  await server.stop();
});

test("every program that samples need is installed where CI runs", () => {
  const isOptional = environmentWith({})["CI"] !== "true";
  expect(isOptional ? [] : missing).toEqual([]);
});

const pages = samplePages().map((page) => ({ page, ...samplesOf(page) }));

test.each(pages)("$page has only languages and directives that exist", ({ samples, problems }) => {
  const unknown = samples.filter((sample) => stateOf(sample, samples) === null);
  expect([
    ...problems,
    ...unknown.map(({ line, language }) => `${line}: unknown language "${language}"`),
  ]).toEqual([]);
});

type Page = (typeof pages)[number];

/** Adding a channel disturbs no other page. */
const CHANNEL_PAGE = /^docs\/guide\/channels\//;
/** Commands and requests that change more than the pings of a check. */
const CHANGES = /\boverdue (?!exec|ping|flush|completion)[a-z]|\/api\/|^(?:POST|PUT|PATCH|DELETE) /m;

const kindOf = ({ samples }: Page, sample: Sample) => stateOf(sample, samples)?.kind ?? "";
const tested = (page: Page) => page.samples.filter((one) => ["run", "syntax"].includes(kindOf(page, one)));

test.concurrent.for(pages.filter((page) => tested(page).length > 0))(
  "the samples of $page work",
  async (page, { skip }) => {
    const isAlone = !CHANNEL_PAGE.test(page.page) && tested(page).some(({ text }) => CHANGES.test(text));
    const own = isAlone ? await startServer(template) : null;
    const host = await makeHost(template, own ?? shared);
    const problems: string[] = [];
    const leftOut: string[] = [];
    try {
      for (const sample of tested(page)) {
        const at = `${page.page}:${sample.line}`;
        const lacking = missing.find((name) => sample.text.includes(name));
        if (lacking !== undefined) {
          leftOut.push(`${at}: ${lacking} is not installed`);
          continue;
        }
        const next = page.samples[page.samples.indexOf(sample) + 1];
        const problem = await problemOf(sample, { host, next });
        if (problem !== null) problems.push(`${at}: ${problem}`);
      }
    } finally {
      host.remove();
      await own?.stop();
    }
    // Not a list, so that a failure shows lines.
    expect(problems.join("\n\n")).toBe("");
    if (leftOut.length > 0) skip(leftOut.join("; "));
  },
);
