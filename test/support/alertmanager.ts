// A real Alertmanager on loopback, for the tests of its channel kind.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endWithUs } from "./end-with-us.ts";
import { freePort } from "./ports.ts";

const PROGRAM = "/usr/bin/prometheus-alertmanager";
const START_ATTEMPTS_MAX = 600;
const START_POLL_MS = 50;
const CONFIGURATION = "route: { receiver: none }\nreceivers: [{ name: none }]\n";

/** Debian's package; these tests are skipped without it. */
export const isAlertmanagerInstalled = existsSync(PROGRAM);

/** For the name of a suite that needs it: why it is skipped. */
export const WHY_SKIPPED = isAlertmanagerInstalled
  ? ""
  : `, but there is no ${PROGRAM}: .ci/install installs it`;

export type RealAlert = {
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  startsAt: string;
  endsAt: string;
};

export type RealAlertmanager = {
  url: string;
  /** The active alerts. */
  alerts(): Promise<RealAlert[]>;
  stop(): Promise<void>;
};

export async function startAlertmanager(): Promise<RealAlertmanager> {
  const folder = mkdtempSync(join(tmpdir(), "overdue-alertmanager-"));
  const file = join(folder, "alertmanager.yml");
  writeFileSync(file, CONFIGURATION);
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    PROGRAM,
    [
      `--config.file=${file}`,
      `--storage.path=${join(folder, "data")}`,
      `--web.listen-address=${address}`,
      // Alone: it opens no port for others.
      "--cluster.listen-address=",
    ],
    { stdio: "ignore" },
  );
  endWithUs(child);
  const url = `http://${address}`;
  for (let attempt = 1; !(await isReady(url)); attempt += 1) {
    if (attempt === START_ATTEMPTS_MAX || child.exitCode !== null) throw new Error("no Alertmanager came up");
    await sleep(START_POLL_MS);
  }
  return {
    url,
    alerts: async () => (await (await fetch(`${url}/api/v2/alerts?active=true`)).json()) as RealAlert[],
    stop: () => stopped(child, folder),
  };
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/-/ready`)).ok;
  } catch {
    return false;
  }
}

async function stopped(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null) {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
}
