// Executes the commands of docs/guide/migrate/healthchecks.md, in order, on a fixture of a Healthchecks database; and the
// export against a server of ours, which speaks the API of Healthchecks.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildFixture } from "../import/fixtures/build.ts";
import { FIXTURE_KEYS, FIXTURE_SECRET, fixtureContent } from "../import/fixtures/content.ts";
import { useCast } from "../management/cast.ts";
import { callOverdue, useDurablePostgres } from "./run-overdue.ts";

const postgres = useDurablePostgres();
const there = useCast({ dialect: "healthchecks" });
const folder = mkdtempSync(join(tmpdir(), "overdue-import-"));
const file = join(folder, "hc.sqlite");
const content = fixtureContent({ now: Date.now() - 60_000, checkCount: 40 });
const project = String(content.accounts_project[0]?.code);
let environment: Record<string, string> = {};

beforeAll(async () => {
  await buildFixture(file, { content });
  environment = { OVERDUE_DATABASE_URL: await postgres.newDatabase(), OVERDUE_SECRET_KEY: FIXTURE_SECRET };
  await callOverdue(["migrate"], environment);
  await callOverdue(["admin", "account", "create", "--email", "you@example.org"], environment);
});

afterAll(() => rmSync(folder, { recursive: true }));

const run = (args: string[], more: Record<string, string> = {}) =>
  callOverdue(args, { ...environment, ...more });

/** The commands of the page, without those that change the jobs of a machine. */
function documentedCommands(): string[] {
  const page = readFileSync(new URL("../../docs/guide/migrate/healthchecks.md", import.meta.url), "utf8");
  return [...page.matchAll(/^```sh\n(.*?)^```/gms)]
    .flatMap(([, block = ""]) => block.split("\n"))
    .filter((line) => /^overdue (?:import|export) /.test(line));
}

describe("The commands of the page", () => {
  test("are executed in order", async () => {
    const commands = documentedCommands();
    expect(commands.length).toBeGreaterThan(8);
    const codes: [string, number | null][] = [];
    for (const command of commands) {
      const words = command
        .replace("overdue ", "")
        .replace(/ > \S+$/, "")
        .replaceAll("/srv/hc/hc.sqlite", file)
        .replaceAll("report.json", join(folder, "report.json"))
        .replaceAll("<uuid>", project)
        .replaceAll(/https:\/\/healthchecks\.(io|example\.org)/g, there.site)
        .split(" ");
      const isExport = words[0] === "export";
      // The project is deleted by the undo before it.
      const ended = await run(words, { HEALTHCHECKS_API_KEY: there.owner.rw });
      const isExpected = isExport ? ended.err.includes("No project with UUID") : ended.code === 0;
      codes.push([command, isExpected ? 0 : ended.code]);
      if (!isExpected) console.error(command, ended);
    }
    expect(codes.filter(([, code]) => code !== 0)).toEqual([]);
    const report = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
    expect(report).toMatchObject({
      written: false,
      refusals: [],
      projects: [{ checksInSource: 30 }, {}, {}],
    });
  });

  test("without a source, or without a key, say what is missing", async () => {
    expect(await run(["import", "healthchecks"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--api or --database"),
    });
    expect(await run(["import", "healthchecks", "--database"])).toMatchObject({ code: 2 });
    expect(await run(["import", "healthchecks", "--api", there.site])).toMatchObject({ code: 1 });
    expect(await run(["import", "finish"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("no such import"),
    });
  });

  test("print nothing that controls a terminal, whatever the source contains", async () => {
    const hostile = join(folder, "hostile.sqlite");
    await buildFixture(hostile, { content });
    const database = new DatabaseSync(hostile);
    database.exec("update api_check set name = char(27) || '[2J<b>', kind = 'cron', schedule = 'x'");
    database.close();
    const { out } = await run(["import", "healthchecks", "--database", hostile]);
    expect(out).toContain("?[2J<b>");
    expect(out).not.toMatch(/[^\P{Cc}\t\n]/u);
  });

  test("print JSON and a readable summary", async () => {
    const source = ["--database", file];
    const json = await run(["import", "healthchecks", ...source, "--json"], {
      HEALTHCHECKS_API_KEY: FIXTURE_KEYS.readWrite,
    });
    expect(JSON.parse(json.out)).toMatchObject({ written: false, secret: "verified" });
    const text = await run(["import", "healthchecks", ...source, "--write"]);
    expect(text.out).toContain("Alices Project");
    expect(text.out).toContain("silenced until you run `overdue import finish`");
    const status = await run(["import", "status", "--json"]);
    expect(JSON.parse(status.out)).toMatchObject({ imports: [{ finished: null }, {}] });
    const compared = await run(["import", "healthchecks", ...source, "--compare", "--json"]);
    expect(JSON.parse(compared.out)).toMatchObject({ compared: 40, missing: 0, difference_count: 0 });
  });
});

test("an export is accepted by a server with the API of Healthchecks, and repeated without a second check", async () => {
  const key = { HEALTHCHECKS_API_KEY: there.owner.rw };
  const printed = await run(["export", "healthchecks", "--project", project]);
  expect(JSON.parse(printed.out)).toHaveLength(30);
  const to = ["export", "healthchecks", "--project", project, "--api", there.site, "--json"];
  expect(JSON.parse((await run(to, key)).out)).toMatchObject({ written: false, created: 30, updated: 0 });
  expect(JSON.parse((await run([...to, "--write"], key)).out)).toMatchObject({ written: true, created: 30 });
  const named = content.api_check.filter(({ project_id: id, slug }) => id === 1 && slug !== "").length;
  expect(JSON.parse((await run([...to, "--write"], key)).out)).toMatchObject({ updated: named });
  const { checks } = (await there.ask("/api/v3/checks/", { key: there.owner.rw })).json as {
    checks: { slug: string; grace: number; tags: string }[];
  };
  for (const row of content.api_check.filter(({ project_id: id, slug }) => id === 1 && slug !== "")) {
    expect(checks.find(({ slug }) => slug === row.slug)).toMatchObject({ grace: row.grace, tags: row.tags });
  }
});
