// The package as it is installed: small, without tests, and it runs under plain Node from node_modules, where types are
// not taken out any more. The packages that it needs are those of this checkout, so that no registry is asked.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build } from "../../scripts/build.ts";
import { pack } from "../../scripts/pack.ts";
import { endOf } from "../cli/run-overdue.ts";
import { freePort } from "../support/ports.ts";

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, "../..");
/** Half of it is the documentation. */
const BYTES_MAX = 4_500_000;
const folder = mkdtempSync(join(tmpdir(), "overdue-package-"));
const installed = join(folder, "node_modules/overdue");
const COMMAND = join(installed, "bin/overdue.js");
let tarball = "";

beforeAll(async () => {
  await build(["server"]);
  tarball = await pack({ into: folder });
  mkdirSync(installed, { recursive: true });
  await run("tar", ["xzf", tarball, "-C", installed, "--strip-components=1"]);
  symlinkSync(join(ROOT, "node_modules"), join(installed, "node_modules"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("it is small, holds what runs, and no tests, sources or tools", async () => {
  expect(statSync(tarball).size).toBeLessThan(BYTES_MAX);
  const { stdout } = await run("tar", ["tzf", tarball]);
  const files = stdout.split("\n").map((line) => line.replace(/^package\//, ""));
  for (const file of [
    "bin/overdue.js",
    "deploy/overdue-run",
    "dist/main.js",
    "dist/intake/spool-thread.js",
    "dist/docs/index.html",
    "dist/docs/guide/jobs.html",
    "docs/overdue.1",
    "migrations/0001_initial.sql",
  ])
    expect(files).toContain(file);
  const readme = readFileSync(join(installed, "README.md"), "utf8");
  const named = [
    ...readme.matchAll(/[`(]((?:docs\/)?[\w.-]+\.(?:md|png|json)|\.env\.example|docs\/[\w/.-]+)[`)]/g),
  ];
  expect(named.length).toBeGreaterThan(10);
  // The documentation is there as the built site.
  for (const [, file = ""] of named.filter(([, name = ""]) => !/^(docs\/|package|test)/.test(name))) {
    const isThere = files.some((name) => (file.endsWith("/") ? name.startsWith(file) : name === file));
    expect(isThere, file).toBe(true);
  }
  expect(files.filter((file) => file.startsWith("dist/web/assets/")).length).toBeGreaterThan(3);
  expect(files.filter((file) => /\.test\.|^test\/|^src\/|^web\//.test(file))).toEqual([]);
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<
    string,
    object
  >;
  expect(Object.keys(manifest)).not.toContain("devDependencies");
  expect(
    Object.keys(manifest["optionalDependencies"] ?? {}).filter((name) => name.startsWith("node")),
  ).toEqual([]);
});

test("the command runs, also as a trial with its threads and its pages", async () => {
  const { stdout } = await run(process.execPath, [COMMAND, "--version"]);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  const port = await freePort();
  const child = spawn(process.execPath, [COMMAND, "trial", "--port", String(port)], { cwd: folder, env: {} });
  const ended = endOf(child);
  const link = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (text: string) => {
      said += text;
      const found = /(http:\S+\/accounts\/setup\/\S+)\s/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    void ended.then(({ out, err }) => reject(new Error(out + err)));
  });
  const page = await fetch(link);
  expect([page.status, await page.text()]).toEqual([
    200,
    expect.stringContaining("Create the admin account"),
  ]);
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 0, err: "" });
});

test("an older Node gets a message that says what to do", async () => {
  const script = `Object.defineProperty(process.versions, "node", { value: "20.20.2" });
    await import(${JSON.stringify(COMMAND)});`;
  const told = run(process.execPath, ["--input-type=module", "--eval", script]);
  await expect(told).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("needs 24.18 or later"),
  });
});

test("the client can be imported, with its types", async () => {
  const program = `import { OverdueClient } from "overdue/client";
    const client: OverdueClient = new OverdueClient({ siteUrl: "http://localhost" });
    console.log(typeof client);`;
  writeFileSync(join(folder, "use.mts"), program);
  const { stdout } = await run(process.execPath, ["use.mts"], { cwd: folder });
  expect(stdout).toBe("object\n");
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const options = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2024",
    "--types",
    "",
    "use.mts",
  ];
  await expect(run(process.execPath, [compiler, ...options], { cwd: folder })).resolves.toMatchObject({
    stdout: "",
  });
});
