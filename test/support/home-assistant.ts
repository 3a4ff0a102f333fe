// A real Home Assistant on loopback, with an owner and a phone that has registered itself. Push messages to the phone go
// to an address of the test.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./ports.ts";

const PROGRAM = "/opt/home-assistant/bin/hass";
const START_ATTEMPTS_MAX = 600;
const START_POLL_MS = 200;

/** Installing it takes minutes; without it these tests are skipped. */
export const isHomeAssistantInstalled = existsSync(PROGRAM);

/** For the name of a suite that needs it: why it is skipped. */
export const WHY_SKIPPED = isHomeAssistantInstalled
  ? ""
  : `, but there is no ${PROGRAM}: install homeassistant, home-assistant-frontend and PyNaCl there with pip`;

export type RealHomeAssistant = {
  url: string;
  /** Of the owner. */
  token: string;
  /** The notify action of the phone. */
  service: string;
  stop(): Promise<void>;
};

/** Starts a server without any data; the caller stops it. */
export async function startHomeAssistant({ pushUrl }: { pushUrl: string }): Promise<RealHomeAssistant> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = mkdtempSync(join(tmpdir(), "overdue-home-assistant-"));
  writeFileSync(
    join(folder, "configuration.yaml"),
    `http:\n  server_host: 127.0.0.1\n  server_port: ${port}\napi:\nmobile_app:\n`,
  );
  const child = spawn(PROGRAM, ["--config", folder, "--skip-pip"], { stdio: "ignore" });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const stop = async () => {
    if (child.exitCode === null) {
      const exited = once(child, "exit");
      kill();
      await exited;
    }
    rmSync(folder, { recursive: true });
  };
  try {
    await listening(url, child);
    const token = await ownerToken(url);
    await registerPhone(url, { token, pushUrl });
    return { url, token, service: "mobile_app_pixel_9", stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listening(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(`${url}/api/onboarding`).catch(() => null);
    if (answer?.ok === true) return;
    if (attempt === START_ATTEMPTS_MAX || child.exitCode !== null)
      throw new Error("no Home Assistant came up");
    await sleep(START_POLL_MS);
  }
}

async function post(address: string, body: object | URLSearchParams, token?: string): Promise<unknown> {
  const isForm = body instanceof URLSearchParams;
  const answer = await fetch(address, {
    method: "POST",
    headers: {
      ...(isForm ? {} : { "Content-Type": "application/json" }),
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: isForm ? body : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

async function ownerToken(url: string): Promise<string> {
  const client_id = `${url}/`;
  const owner = { name: "Ada", username: "ada", password: "not a real password", language: "en" };
  const made = await post(`${url}/api/onboarding/users`, { client_id, ...owner });
  const { auth_code: code } = made as { auth_code: string };
  const grant = new URLSearchParams({ grant_type: "authorization_code", code, client_id });
  const { access_token: token } = (await post(`${url}/auth/token`, grant)) as { access_token: string };
  return token;
}

async function registerPhone(url: string, { token, pushUrl }: { token: string; pushUrl: string }) {
  const phone = {
    device_id: "pixel",
    device_name: "Pixel 9",
    manufacturer: "Google",
    model: "Pixel 9",
    os_name: "Android",
    os_version: "16",
    app_id: "io.homeassistant.companion.android",
    app_name: "Home Assistant",
    app_version: "2026.1",
    supports_encryption: false,
    app_data: { push_token: "token-of-the-phone", push_url: pushUrl },
  };
  await post(`${url}/api/mobile_app/registrations`, phone, token);
}
