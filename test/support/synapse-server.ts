// A real homeserver of Matrix (Synapse with SQLite), on loopback, for tests of the channel kind.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./ports.ts";

/** Where .ci/install puts it. */
const PYTHON = "/opt/overdue-test/synapse/bin/python";
const START_MS_MAX = 120_000;
const CALL_MS_MAX = 20_000;
const POLL_MS = 200;

/** It is installed with Python; without it these tests are skipped. */
export const isSynapseInstalled = existsSync(PYTHON);

/** For the name of a suite that needs it: why it is skipped. */
export const WHY_SKIPPED = isSynapseInstalled
  ? ""
  : `, but there is no ${PYTHON}: .ci/install makes it with Python`;

type Json = Record<string, unknown>;

export type SynapseServer = {
  url: string;
  /** Creates an account; its access token. */
  register(name: string): Promise<string>;
  /** A call of the client API. Throws if it is refused. */
  call(token: string, request: { method: string; path: string; body?: Json }): Promise<Json>;
  stop(): Promise<void>;
};

/** A server without accounts and rooms. */
export async function startSynapse(): Promise<SynapseServer> {
  const folder = mkdtempSync(join(tmpdir(), "overdue-synapse-"));
  const port = await freePort();
  writeFileSync(join(folder, "signing.key"), `ed25519 a_test ${unpadded(randomBytes(32))}\n`);
  // YAML includes JSON.
  writeFileSync(join(folder, "homeserver.yaml"), JSON.stringify(configOf(folder, port)));
  const child = spawn(PYTHON, ["-m", "synapse.app.homeserver", "-c", join(folder, "homeserver.yaml")], {
    cwd: folder,
    env: {},
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (data: Buffer) => {
    errors = (errors + data.toString()).slice(-2_000);
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const stop = async () => {
    await ended(child);
    rmSync(folder, { recursive: true });
  };
  const url = `http://127.0.0.1:${port}`;
  for (const until = Date.now() + START_MS_MAX; !(await isUp(url)); await sleep(POLL_MS)) {
    if (child.exitCode === null && Date.now() < until) continue;
    await stop();
    throw new Error(`no homeserver came up: ${errors}`);
  }
  const call = (token: string, request: Parameters<SynapseServer["call"]>[1]) => callOf(url, token, request);
  return { url, register: (name) => register(url, name), call, stop };
}

function unpadded(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}

/** Accounts can be created by everybody who reaches it: only this machine. */
function configOf(folder: string, port: number) {
  return {
    server_name: "overdue.test",
    listeners: [
      { port, bind_addresses: ["127.0.0.1"], type: "http", tls: false, resources: [{ names: ["client"] }] },
    ],
    database: { name: "sqlite3", args: { database: join(folder, "homeserver.db") } },
    media_store_path: join(folder, "media"),
    signing_key_path: join(folder, "signing.key"),
    enable_registration: true,
    enable_registration_without_verification: true,
    report_stats: false,
    trusted_key_servers: [],
  };
}

async function isUp(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`, { signal: AbortSignal.timeout(CALL_MS_MAX) })).ok;
  } catch {
    return false;
  }
}

async function callOf(
  url: string,
  token: string | null,
  { method, path, body }: { method: string; path: string; body?: Json },
): Promise<Json> {
  const response = await fetch(`${url}/_matrix/client/v3/${path}`, {
    method,
    headers: token === null ? {} : { Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(CALL_MS_MAX),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Json;
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

async function register(url: string, username: string): Promise<string> {
  const body = { username, password: unpadded(randomBytes(16)), auth: { type: "m.login.dummy" } };
  return String((await callOf(url, null, { method: "POST", path: "register", body }))["access_token"]);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
