// `npm run stopwatch`: measures how long a new user needs from an empty folder to the first ping on screen, with the
// packed program and a real browser, at human speed: reading before clicking, typing letter by letter. Prints each step
// with its time; fails when a step does not succeed.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import { environmentWith } from "../src/config/config.ts";
import { openBrowser, openPage, openWindow } from "../test/support/browser.ts";
import { endWithUs } from "../test/support/end-with-us.ts";
import { freePort } from "../test/support/ports.ts";
import { build } from "./build.ts";
import { pack } from "./pack.ts";

const AIM_MS = 120_000;
const START_MS_MAX = 300_000;
/** A user looks before the first click on a page, and types about five letters per second. */
const READING_MS = 3_000;
const LETTER_MS = 180;
const SWITCHING_MS = 2_000;

const PERSON = { email: "sam@example.org", password: "correct horse battery", check: "Nightly backup" };

type Step = { name: string; ms: number; by: "person" | "machine" };

class Stopwatch {
  readonly steps: Step[] = [];

  async step<T>(name: string, by: Step["by"], work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await work();
    const ms = performance.now() - startedAt;
    this.steps.push({ name, ms, by });
    process.stdout.write(`${(ms / 1_000).toFixed(1).padStart(6)} s  ${by.padEnd(8)} ${name}\n`);
    return result;
  }

  total(by: Step["by"]): number {
    return this.steps.filter((step) => step.by === by).reduce((sum, { ms }) => sum + ms, 0);
  }
}

/** Starts the program as npx does, and resolves with the printed link. */
function startTrial(at: { tarball: string; folder: string; port: number }): {
  child: ChildProcess;
  link: Promise<string>;
} {
  const args = ["--yes", "--package", at.tarball, "overdue", "trial", "--port", String(at.port)];
  // A separate process group, so that a signal reaches the processes that npx has started.
  const child = spawn("npx", args, {
    cwd: at.folder,
    detached: true,
    env: environmentWith({
      PATH: `${dirname(process.execPath)}:${environmentWith({})["PATH"] ?? ""}`,
      npm_config_cache: join(at.folder, ".npm"),
      npm_config_update_notifier: "false",
    }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithUs(child, { signal: "INT", group: true });
  let output = "";
  const link = new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`It did not start in time:\n${output}`)), START_MS_MAX);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        const found = /http:\S+\/accounts\/setup\/\S+/.exec(output)?.[0];
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(found);
      });
    }
    child.once("exit", () => reject(new Error(`It ended before it was ready:\n${output}`)));
  });
  return { child, link };
}

async function type(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).first().pressSequentially(text, { delay: LETTER_MS });
}

/** The steps of the user in the browser, from the link to the ping. */
async function throughTheBrowser(watch: Stopwatch, page: Page, link: string): Promise<void> {
  await watch.step("opens the link that was printed", "person", async () => {
    await page.goto(link);
    await page.waitForTimeout(READING_MS);
  });
  await watch.step("creates the first account", "person", async () => {
    await type(page, "Email address", PERSON.email);
    await type(page, "Password", PERSON.password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.waitForURL((url) => !url.pathname.includes("/accounts/setup/"));
  });
  await watch.step("reads the first steps: the URL is tested, email is skipped", "person", async () => {
    await page.waitForURL(/\/welcome\/$/);
    await page.waitForTimeout(2 * READING_MS);
  });
  await watch.step("names the first check", "person", async () => {
    await type(page, "Name", PERSON.check);
    await page.getByRole("button", { name: "Create check" }).click();
  });
  const line = await watch.step("copies the command that sends a ping", "person", async () => {
    await page.waitForTimeout(READING_MS);
    const shown = await page.getByLabel("Command that sends the first ping").innerText();
    return (shown.split("\n").find((one) => one.startsWith("curl")) ?? shown).trim();
  });
  await watch.step("runs it in a terminal without its last character", "person", async () => {
    await page.waitForTimeout(SWITCHING_MS);
    await runLine(line.replace(/.$/, "")).catch(() => {});
  });
  await watch.step("sees the explanation on the page", "machine", async () => {
    await page.getByText("The UUID is incomplete: only 35 of 36 characters.").first().waitFor();
  });
  await watch.step("runs the complete command", "person", async () => {
    await page.waitForTimeout(READING_MS + SWITCHING_MS);
    await runLine(line);
  });
  await watch.step("sees the ping on the page", "machine", async () => {
    await page.getByText("Ping received").first().waitFor();
  });
}

function runLine(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    spawn("sh", ["-c", line], { stdio: "ignore" }).once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`${line} ended with ${code}`)),
    );
  });
}

const HELP = `Usage: npm run stopwatch [-- --picture FILE]

Packs the package, goes the way of a new user from an empty folder to the first ping on screen, and times each step.
With --picture, the last page is left in a file.
`;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { picture: { type: "string" }, help: { type: "boolean" } } });
  if (values.help === true) return void process.stdout.write(HELP);
  await build();
  const folder = mkdtempSync(join(tmpdir(), "overdue-stopwatch-"));
  const tarball = await pack({ into: join(folder, ".tarball") });
  process.stdout.write(
    `Empty folder, Node ${process.versions.node}, tarball of ${Math.round(statSync(tarball).size / 1_000)} kB.\n\n`,
  );
  const watch = new Stopwatch();
  const { child, link } = startTrial({ tarball, folder, port: await freePort() });
  let browser: Browser | null = null;
  try {
    browser = await openBrowser();
    const address = await watch.step("npx fetches, starts and prints a link", "machine", () => link);
    const { page } = await openPage(await openWindow(browser));
    try {
      await throughTheBrowser(watch, page, address);
    } finally {
      if (values.picture !== undefined) await page.screenshot({ path: values.picture });
    }
    await watch.step("Ctrl-C stops it", "machine", () => stopGroup(child));
  } finally {
    await browser?.close();
    await stopGroup(child);
    rmSync(folder, { recursive: true, force: true });
  }
  const [person, machine] = [watch.total("person"), watch.total("machine")];
  const verdict = person <= AIM_MS ? "within" : "over";
  process.stdout.write(
    `\nUser time: ${(person / 1_000).toFixed(0)} s, ${verdict} the ${AIM_MS / 1_000} s goal; machine time: ${(machine / 1_000).toFixed(0)} s.\n`,
  );
  if (person > AIM_MS) process.exitCode = 1;
}

async function stopGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  process.kill(-child.pid, "SIGINT");
  await ended;
}

await main();
