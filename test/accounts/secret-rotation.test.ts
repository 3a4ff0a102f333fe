// The secret key is changed: a server with one key, then with another and the first as the previous one, then with the
// second alone. What was made with the first keeps working as long as it can.
import { setTimeout as sleep } from "node:timers/promises";
import { Secret, TOTP } from "otpauth";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ackUrl } from "../../src/core/ack-link.ts";
import { unsubscribeToken } from "../../src/core/email.ts";
import { SECRET_USES } from "../../src/core/secrets.ts";
import { createLog } from "../../src/lib/log.ts";
import { secretIdOf } from "../../src/lib/secrets.ts";
import { beginAuthenticator, finishAuthenticator, setPassword } from "../../src/operations/credentials.ts";
import { digestOfKey, pushKeysOf, readSecretUses, signingWith } from "../../src/operations/secrets.ts";
import { createAccessToken } from "../../src/operations/tokens.ts";
import { insertApiKey } from "../../src/store/api-keys.ts";
import { insertChannel } from "../../src/store/channels.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { findPushKey } from "../../src/store/secrets.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { makePlayer, type Player, startServer } from "../management/cast.ts";
import { startSmtp } from "../receivers/smtp.ts";
import { useDatabase } from "../support/database.ts";
import { sampleIncident } from "../support/incidents.ts";
import { sampleCheck } from "../support/sample.ts";
import { openBrowser } from "./browser.ts";

const [FIRST, SECOND] = ["the-first-secret-key-0123456789abcdef", "the-second-secret-key-0123456789abcde"];
const AFTERWARDS = { current: SECOND, previous: FIRST };
const FOREIGN = "---";
const PASSWORD = "a horse and a staple";
const database = useDatabase();
const smtp = await startSmtp();
const lines: string[] = [];
let running: Awaited<ReturnType<typeof startServer>> | null = null;
let site = "";

/** Restarts the program with these keys. */
async function restart(
  keys: { current: string; previous?: string },
  { sends = false }: { sends?: boolean } = {},
): Promise<void> {
  await running?.running.stop();
  running = await startServer(database.url, {
    roles: ["web", "api", "housekeeper", ...(sends ? ["notifier"] : [])],
    settings: {
      OVERDUE_SMTP_HOST: "127.0.0.1",
      OVERDUE_SMTP_PORT: String(smtp.port),
      OVERDUE_SMTP_TLS: "none",
      OVERDUE_SECRET_KEY: keys.current,
      ...(keys.previous === undefined ? {} : { OVERDUE_SECRET_KEY_PREVIOUS: keys.previous }),
    },
    log: createLog({ level: "trace", destination: { write: (line: string) => void lines.push(line) } }),
  });
  ({ site } = running);
}

let owner: Player;
let token: string;
let app: TOTP;
let codes: string[];
let pushKey: string;
let paths: { badge: string; unsubscribe: string; ack: string };
let checkUuid: string;

const statusOf = async (path: string, headers: Record<string, string> = {}) =>
  (await fetch(site + path, { headers, redirect: "manual" })).status;
const visitor = () => openBrowser(() => site);

async function badgePath(): Promise<string> {
  const response = await fetch(`${site}/api/v3/badges/`, { headers: { "X-Api-Key": owner.ro } });
  const { badges } = (await response.json()) as { badges: Record<string, { svg: string }> };
  return new URL(badges["web"]?.svg ?? "").pathname;
}

/** A password and a second factor. */
async function signIn(code: string): Promise<number> {
  const browser = visitor();
  await browser.post("/accounts/login/password/", { email: owner.account.email, password: PASSWORD });
  await browser.post("/accounts/login/two_factor/", { code });
  return (await browser.ask("/web/account")).status;
}

/** A code of the app that was not used yet. */
async function freshCode(): Promise<string> {
  const { rows } = await database.db.pool.query<{ last_step: string }>(
    "select last_step from authenticators",
  );
  const step = Number(rows[0]?.last_step) + 1;
  // One step into the future is accepted.
  while (step > Date.now() / 30_000 + 1) await sleep(200);
  return app.generate({ timestamp: step * 30_000 });
}

async function usesOfPrevious(): Promise<Record<string, number>> {
  const now = await readDatabaseClock(database.db);
  const counts = await readSecretUses(database.db, { secrets: AFTERWARDS, now });
  return Object.fromEntries(SECRET_USES.map((use) => [use, counts[use].previous]));
}

beforeAll(async () => {
  await restart({ current: FIRST });
  owner = await makePlayer(database.db, { name: "owner", secretKey: FIRST });
  const now = await readDatabaseClock(database.db);
  const { account, project } = owner;
  const person = { accountId: account.id, email: account.email };
  token = await createAccessToken(database.db, {
    account,
    name: "laptop",
    scope: "read",
    expiresInDays: 1,
    secretKey: FIRST,
    now,
  });
  await setPassword(database.db, { person, password: PASSWORD, sessionId: null, now });
  const given = { person, secretKey: FIRST, siteName: "Overdue", now };
  app = new TOTP({
    secret: Secret.fromBase32((await beginAuthenticator(database.db, given)).secret.replaceAll(" ", "")),
  });
  codes = await finishAuthenticator(database.db, {
    person,
    secrets: { current: FIRST, previous: null },
    // The oldest code that is accepted, so that two newer ones remain.
    code: app.generate({ timestamp: now - 30_000 }),
    now,
  });
  const check = await sampleCheck(database.db, { projectId: project.id, tags: "web" });
  checkUuid = check.uuid;
  const incident = await sampleIncident(database.db, { projectId: project.id, checkIds: [check.id] });
  const address = "ops@example.org";
  const channel = await inTransaction(database.db, (tx) =>
    insertChannel(tx, {
      uuid: "0f3a4b5c-1111-4222-8333-444455556666",
      projectId: project.id,
      kind: "email",
      name: "Ops",
      config: { value: address, up: true, down: true },
      createdAt: now,
    }),
  );
  const signing = signingWith({ current: FIRST, previous: null });
  const ack = ackUrl({ site: "", signing }, { incidentId: incident.id, channelId: channel.id });
  const unsubscribe = unsubscribeToken(signing, { channelUuid: channel.uuid, address });
  paths = {
    badge: await badgePath(),
    ack,
    unsubscribe: `/integrations/${channel.uuid}/unsub/${unsubscribe}/`,
  };
});

afterAll(async () => {
  await running?.running.stop();
  await smtp.close();
});

test("with the first key as the previous one, everything works, and new URLs use the new key", async () => {
  for (const path of Object.values(paths)) expect(await statusOf(path), path).toBe(200);
  // The housekeeper stores the key pair for Web Push.
  await expect.poll(() => findPushKey(database.db)).not.toBeNull();
  pushKey = (await pushKeysOf(database.db, { current: FIRST, previous: null })).publicKey;
  // The email waits: no notifier runs.
  await visitor().post("/accounts/login/link/", { email: owner.account.email, next: "/" });
  await restart({ current: SECOND, previous: FIRST }, { sends: true });
  expect(await usesOfPrevious()).toMatchObject({ apiKeys: 2, accessTokens: 1, recoveryCodes: 10 });
  for (const path of Object.values(paths)) expect(await statusOf(path), path).toBe(200);
  const { status, headers } = await fetch(`${site}/api/v3/checks/${checkUuid}`, {
    headers: { "X-Api-Key": owner.rw },
  });
  expect(status).toBe(200);
  // Both keys were tried, and the request counts once.
  expect(Number(headers.get("RateLimit-Remaining"))).toBe(Number(headers.get("RateLimit-Limit")) - 1);
  expect(await statusOf("/api/overdue/v1/projects", { Authorization: `Bearer ${token}` })).toBe(200);
  const badge = await badgePath();
  expect(badge).not.toBe(paths.badge);
  expect(await statusOf(badge)).toBe(200);
  expect(await signIn(codes[0] ?? "")).toBe(200);
  expect(await signIn(codes[0] ?? "")).toBe(401);
  expect((await pushKeysOf(database.db, AFTERWARDS)).publicKey).toBe(pushKey);
  const linkIn = () =>
    smtp.received.flatMap(({ mail }) => /\/accounts\/link\/[^\s"<]+/.exec(mail.text ?? "")?.[0] ?? [])[0];
  await expect.poll(linkIn).toBeDefined();
  expect(await statusOf(linkIn() ?? "")).toBe(200);
});

test("keys are updated when they are used, seals by the housekeeper", async () => {
  await expect
    .poll(usesOfPrevious)
    .toEqual({ apiKeys: 0, accessTokens: 0, authenticators: 0, recoveryCodes: 9 });
  expect(await signIn(await freshCode())).toBe(200);
});

test("with the second key alone, keys, tokens, apps and the push key work; old links and badges do not", async () => {
  await restart({ current: SECOND });
  for (const key of [owner.rw, owner.ro]) {
    expect(await statusOf("/api/v3/checks/", { "X-Api-Key": key })).toBe(200);
    expect(await statusOf(`/api/v3/checks/${checkUuid}`, { "X-Api-Key": key })).toBe(200);
  }
  expect(await statusOf("/api/overdue/v1/projects", { Authorization: `Bearer ${token}` })).toBe(200);
  expect(await signIn(await freshCode())).toBe(200);
  expect(await signIn(codes[1] ?? "")).toBe(401);
  expect(await statusOf(await badgePath())).toBe(200);
  for (const path of Object.values(paths)) expect(await statusOf(path), path).toBe(404);
  expect((await pushKeysOf(database.db, { current: SECOND, previous: null })).publicKey).toBe(pushKey);
});

test("a key of another installation works only if it was imported; its secret signs no links", async () => {
  await restart({ current: SECOND, previous: FOREIGN });
  const key = `hcw_${"a".repeat(28)}`;
  expect(await statusOf("/api/v3/checks/", { "X-Api-Key": key })).toBe(401);
  const created = {
    kind: "readWrite",
    name: "imported",
    prefix: key.slice(0, 12),
    createdAt: Date.now(),
  } as const;
  const digest = digestOfKey({ key, secretKey: FOREIGN });
  await inTransaction(database.db, (tx) =>
    insertApiKey(tx, { ...created, projectId: owner.project.id, digest, secretId: secretIdOf(FOREIGN) }),
  );
  expect(await statusOf("/api/v3/checks/", { "X-Api-Key": key })).toBe(200);
  // The digest itself is no key.
  expect(await statusOf("/api/v3/checks/", { "X-Api-Key": digest.toString("hex") })).toBe(401);
  const foreign = signingWith({ current: FOREIGN, previous: null });
  expect(await statusOf(ackUrl({ site: "", signing: foreign }, { incidentId: 1, channelId: 1 }))).toBe(404);
  expect(
    await statusOf(ackUrl({ site: "", signing: signingWith(AFTERWARDS) }, { incidentId: 1, channelId: 1 })),
  ).toBe(200);
});

test("no log line contains a secret key", () => {
  expect(lines.length).toBeGreaterThan(10);
  for (const secret of [FIRST, SECOND, token, owner.rw]) expect(lines.join("\n")).not.toContain(secret);
});
