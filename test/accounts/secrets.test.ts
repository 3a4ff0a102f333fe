// No secret leaves the house: everything that every page and every answer of the dashboard shows, to whoever asks, and
// everything that is logged, searched for every secret that the installation has.
import { createHmac } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import { afterAll, expect, test } from "vitest";
import type { TotpSetUp } from "../../src/contract/api/account.ts";
import { API_PATH } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";
import { createLog } from "../../src/lib/log.ts";
import { WEB_ROUTES } from "../../src/services/web/routes.ts";
import type { Account } from "../../src/store/accounts.ts";
import { startSmtp } from "../receivers/smtp.ts";
import { useDashboard } from "../web/dashboard.ts";
import { openBrowser } from "./browser.ts";

const smtp = await startSmtp();
const lines: string[] = [];
const SETTINGS = {
  OVERDUE_SMTP_HOST: "127.0.0.1",
  OVERDUE_SMTP_PORT: String(smtp.port),
  OVERDUE_SMTP_TLS: "none",
  OVERDUE_SMTP_USER: "mailer",
  OVERDUE_SMTP_PASSWORD: "password-of-the-mail-server",
  OVERDUE_OIDC_ISSUER: "http://127.0.0.1:1",
  OVERDUE_OIDC_CLIENT_ID: "overdue",
  OVERDUE_OIDC_CLIENT_SECRET: "secret-of-the-oidc-client",
  OVERDUE_SECRET_KEY: "the-secret-of-this-instance-0123456789",
};
const cast = useDashboard({
  roles: ["web", "api"],
  settings: SETTINGS,
  log: createLog({ level: "trace", destination: { write: (line: string) => void lines.push(line) } }),
});
afterAll(() => smtp.close());

const PASSWORD = "a horse and a staple";

/** Everything in the tables of accounts that nobody may see, as texts that could appear somewhere. */
async function storedSecrets(): Promise<string[]> {
  const { rows } = await cast.db.pool.query<{ secret: string | Buffer }>(`
    select hash as secret from passwords
    union all select encode(sealed, 'hex') from authenticators
    union all select encode(digest, 'hex') from recovery_codes
    union all select encode(digest, 'hex') from sessions
    union all select encode(digest, 'hex') from api_keys
    union all select encode(digest, 'hex') from access_tokens
    union all select encode(digest, 'hex') from sign_in_tokens
    union all select encode(digest, 'hex') from invitations`);
  return rows.flatMap(({ secret }) => {
    const text = String(secret);
    return text.startsWith("$") ? [text] : [text, Buffer.from(text, "hex").toString("base64")];
  });
}

/** What every page and every answer says, to the owner, to a member, and to nobody in particular. */
async function everythingShown(): Promise<{ what: string; text: string }[]> {
  const { owner, mate } = cast;
  const shown: { what: string; text: string }[] = [];
  const params: Record<string, string> = { project: owner.project.uuid, n: "1", name: "x" };
  const pages = WEB_ROUTES.filter(({ method, path }) => method === "GET" && !path.endsWith("/live"));
  const reads = Object.values(API_ROUTES).filter(
    ({ method, path }) => method === "GET" && !path.endsWith("/live"),
  );
  const paths = [
    ...pages.map(({ path }) => path),
    ...reads.map(({ path }) => `${API_PATH}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
  ];
  for (const as of [owner.account, mate.account, null] satisfies (Account | null)[]) {
    for (const path of paths) {
      const address = path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? "nothing");
      const { text, headers } = await cast.browse(address, { as });
      shown.push({ what: `${address} as ${as?.email}`, text: text + JSON.stringify([...headers]) });
    }
  }
  return shown;
}

test("no secret is in any answer or in the log", { timeout: 120_000 }, async () => {
  const { owner, mate } = cast;
  await cast.db.pool.query("update accounts set is_operator = true where id = $1", [owner.account.id]);
  const set = (method: string, path: string, body: unknown) => cast.browse(path, { method, body });
  await set("PUT", "/web/account/password", { password: PASSWORD });
  const totp = (await set("POST", "/web/account/totp", {})).json as TotpSetUp;
  const secret = totp.secret.replaceAll(" ", "");
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  const { codes } = (await set("POST", "/web/account/totp/confirm", { code })).json as {
    codes: string[];
  };
  const project = `/api/overdue/v1/projects/${owner.project.uuid}`;
  await set("POST", `${project}/invitations`, { email: "guest@example.org", role: "member" });
  const { key } = (await set("POST", `${project}/keys`, { kind: "readWrite", name: "CI" })).json as {
    key: string;
  };
  const created = await set("POST", "/web/account/tokens", { name: "CI", scope: "write", expiresInDays: 30 });
  const { token } = created.json as { token: string };
  await cast.ask("/api/overdue/v1/account/tokens", { headers: { Authorization: `Bearer ${token}` } });
  const browser = openBrowser(() => cast.site);
  await browser.post("/accounts/login/link/", { email: mate.account.email });
  await browser.post("/accounts/login/password/", { email: owner.account.email, password: PASSWORD });
  await browser.post("/accounts/login/password/", {
    email: owner.account.email,
    password: "a wrong one of mine",
  });
  const tokens = [...browser.cookies.values()];
  const cookies = await Promise.all([owner, mate].map(({ account }) => cast.headersOf(account)));
  const sessions = cookies.map(({ Cookie = "" }) => Cookie.split("=")[1] ?? "");

  const secrets = [
    PASSWORD,
    "a wrong one of mine",
    secret,
    key,
    token,
    token.slice("ovd_".length),
    ...codes,
    ...tokens,
    ...sessions,
    SETTINGS.OVERDUE_SMTP_PASSWORD,
    SETTINGS.OVERDUE_OIDC_CLIENT_SECRET,
    SETTINGS.OVERDUE_SECRET_KEY,
    createHmac("sha256", SETTINGS.OVERDUE_SECRET_KEY).update(key).digest("hex"),
    ...(await storedSecrets()),
  ];
  expect(secrets.length).toBeGreaterThan(25);
  expect(secrets.filter((one) => one.length < 6)).toEqual([]);

  const shown = await everythingShown();
  expect(shown.some(({ text }) => text.includes("CI"))).toBe(true);
  shown.push({ what: "the log", text: lines.join("\n") });
  const leaks = shown.flatMap(({ what, text }) =>
    secrets.filter((one) => text.includes(one)).map((one) => `${what}: ${one.slice(0, 12)}…`),
  );
  expect(leaks).toEqual([]);
  const { rows } = await cast.db.pool.query<{ text: string }>("select t::text as text from audit_entries t");
  const record = rows.map(({ text }) => text).join("\n");
  expect(rows.length).toBeGreaterThan(3);
  expect(secrets.filter((one) => record.includes(one))).toEqual([]);
});
