// `npm run dev` in a folder of its own: it gets ready, keeps its data, and leaves nothing behind, even when it
// is killed without a chance to clean up.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../support/ports.ts";
import { endOf } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 300_000 });

const DEV = fileURLToPath(new URL("../../scripts/dev.ts", import.meta.url));
const GONE_TIMEOUT_MS = 60_000;
const folder = mkdtempSync(join(tmpdir(), "overdue-dev-"));
// The database runs as another user when the tests run as root.
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const port = await freePort();

function start(): {
  child: ChildProcessWithoutNullStreams;
  ready: Promise<string>;
  ended: ReturnType<typeof endOf>;
} {
  const child = spawn(process.execPath, [DEV, "--no-web", folder], {
    env: { OVERDUE_ADMIN_LISTEN: `127.0.0.1:${port}`, OVERDUE_LISTEN: "127.0.0.1:0" },
  });
  // A failed test must not leave it running: the next one uses the same port and folder.
  onTestFinished(() => void child.kill("SIGTERM"));
  const ended = endOf(child);
  let text = "";
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("Ctrl-C stops everything")) resolve(text);
    });
    void ended.then(({ out, err }) => reject(new Error(`ended before it was ready:\n${out}${err}`)));
  });
  return { child, ready, ended };
}

const answers = () =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
const databaseRuns = () => existsSync(join(folder, "postgres", "postmaster.pid"));

test("it gets ready with keys and addresses, and Ctrl-C stops everything", async () => {
  const { child, ready, ended } = start();
  const text = await ready;
  expect(text).toMatch(/API key +odw_[A-Za-z0-9]{28}\n/);
  expect(text).toContain(`http://127.0.0.1:${port}/readyz`);
  expect(text).toMatch(/Sign in \(one-time link\) +http:\/\/localhost:8000\/accounts\/link\/[\w-]{20,}\/\n/);
  expect(text).toMatch(/Pings by email +smtp:\/\/127\.0\.0\.1:\d+ {2}\w{22}\+my-first-job@ping\.localhost\n/);
  expect(await answers()).toBe(true);

  const second = start();
  await expect(second.ready).rejects.toThrow(/cannot be used|already running/);

  child.kill("SIGINT");
  expect((await ended).code).toBe(0);
  expect(await answers()).toBe(false);
  expect(databaseRuns()).toBe(false);
});

test("a second run finds the data of the first; killed, it still leaves nothing behind", async () => {
  const keys = readFileSync(join(folder, "keys.json"), "utf8");
  const { child, ready, ended } = start();
  expect(await ready).toContain(JSON.parse(keys).apiKey);
  expect(databaseRuns()).toBe(true);
  child.kill("SIGKILL");
  await ended;
  await vi.waitFor(async () => expect([await answers(), databaseRuns()]).toEqual([false, false]), {
    timeout: GONE_TIMEOUT_MS,
    interval: 100,
  });
});
