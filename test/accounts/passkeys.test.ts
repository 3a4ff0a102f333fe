// Passkeys from end to end: made, used to come in and to prove it again, and refused when anything about them is wrong.
import { beforeEach, describe, expect, test } from "vitest";
import type { AccountPage } from "../../src/contract/api/account.ts";
import { openSession } from "../../src/operations/sessions.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useCast } from "../management/cast.ts";
import { type Browser, openBrowser } from "./browser.ts";
import { type Faults, VirtualAuthenticator } from "./virtual-authenticator.ts";

const ORIGIN = "https://overdue.example.org";
const cast = useCast({ roles: ["web"], settings: { OVERDUE_SITE_URL: ORIGIN } });
beforeEach(() => cast.db.pool.query("delete from attempts"));

const visitor = () => openBrowser(() => cast.site, { origin: ORIGIN });

async function ownersBrowser(): Promise<Browser> {
  const browser = visitor();
  const of = {
    accountId: cast.owner.account.id,
    method: "link",
    now: await cast.now(),
    ua: "",
    remoteAddr: null,
  } as const;
  const { token } = await inTransaction(cast.db, (tx) => openSession(tx, of));
  browser.cookies.set("__Host-overdue_session", token);
  return browser;
}

const PASSWORD = "a few words in a row";

type CreationOptions = Parameters<VirtualAuthenticator["create"]>[0];
type RequestOptions = Parameters<VirtualAuthenticator["get"]>[0];

async function register(browser: Browser, key: VirtualAuthenticator, faults: Faults = {}) {
  const options = (await browser.send("POST", "/web/account/passkeys/options", {})).json as CreationOptions;
  const response = key.create(options, faults);
  return browser.send("POST", "/web/account/passkeys", { name: "Phone", response });
}

async function enter(browser: Browser, key: VirtualAuthenticator, faults: Faults = {}) {
  const options = (await browser.send("POST", "/web/sign-in/passkey/options", {})).json as RequestOptions;
  return browser.send("POST", "/web/sign-in/passkey", {
    next: "/accounts/profile/",
    response: key.get(options, faults),
  });
}

describe("A passkey", () => {
  test("is added, signs its owner in, and is removed", async () => {
    const browser = await ownersBrowser();
    await browser.send("PUT", "/web/account/password", { password: PASSWORD });
    const key = new VirtualAuthenticator(ORIGIN);
    const added = await register(browser, key);
    expect([added.status, (added.json as AccountPage).passkeys]).toMatchObject([200, [{ name: "Phone" }]]);
    const other = visitor();
    const entered = await enter(other, key);
    expect([entered.status, entered.json]).toEqual([200, { next: "/accounts/profile/" }]);
    expect(entered.headers.getSetCookie()[0]).toMatch(
      /^__Host-overdue_session=.*Path=\/; HttpOnly; SameSite=Lax; Secure/,
    );
    const page = (await other.ask("/web/account")).json as AccountPage;
    expect(page.email).toBe("owner@example.org");
    expect(page.sessions.find(({ isCurrent }) => isCurrent)?.method).toBe("passkey");
    const id = page.passkeys[0]?.id ?? "";
    expect((await other.send("DELETE", `/web/account/passkeys/${id}`)).status).toBe(200);
    expect((await enter(visitor(), key)).status).toBe(400);
  });

  test("is not removed while it is the last sign-in method, nor is a password", async () => {
    const browser = await ownersBrowser();
    await cast.db.pool.query("delete from passwords");
    await cast.db.pool.query("delete from passkeys");
    const key = new VirtualAuthenticator(ORIGIN);
    const page = (await register(browser, key)).json as AccountPage;
    const noPasskey = async (status: number) => {
      const reply = await browser.send("DELETE", `/web/account/passkeys/${page.passkeys[0]?.id}`);
      expect(reply.status, reply.text).toBe(status);
    };
    await noPasskey(409);
    expect((await enter(visitor(), key)).status).toBe(200);
    const set = await browser.send("PUT", "/web/account/password", { password: PASSWORD });
    expect(set.status).toBe(200);
    await noPasskey(200);
    const noPassword = await browser.send("DELETE", "/web/account/password");
    expect([noPassword.status, noPassword.text.includes("This is your only sign-in method")]).toEqual([
      409,
      true,
    ]);
    const { hasPassword } = (await browser.ask("/web/account")).json as AccountPage;
    expect(hasPassword).toBe(true);
  });

  test("is rejected if it was made for another site or without user verification", async () => {
    const browser = await ownersBrowser();
    for (const faults of [
      { origin: "https://evil.example" },
      { rpId: "evil.example" },
      { isVerified: false },
    ]) {
      expect((await register(browser, new VirtualAuthenticator(ORIGIN), faults)).status).toBe(400);
    }
    const key = new VirtualAuthenticator(ORIGIN);
    expect((await register(browser, key)).status).toBe(200);
    for (const faults of [
      { origin: "https://evil.example" },
      { rpId: "evil.example" },
      { isVerified: false },
      { signWithOther: true },
    ]) {
      const refused = await enter(visitor(), key, faults);
      expect([refused.status, refused.headers.getSetCookie()]).toEqual([400, []]);
    }
    await enter(visitor(), key);
    key.forgetCount();
    expect((await enter(visitor(), key)).status).toBe(400);
  });

  test("is refused in the same words whether or not it is registered here", async () => {
    const browser = await ownersBrowser();
    const key = new VirtualAuthenticator(ORIGIN);
    await register(browser, key);
    const registered = await enter(visitor(), key, { signWithOther: true });
    const unknown = await enter(visitor(), new VirtualAuthenticator(ORIGIN));
    expect(registered.status).toBe(400);
    expect([unknown.status, unknown.json]).toEqual([registered.status, registered.json]);
  });

  test("is refused when its ID is too long, and keeps only transports that WebAuthn names", async () => {
    const browser = await ownersBrowser();
    const long = await register(browser, new VirtualAuthenticator(ORIGIN, { idBytes: 4_000 }));
    expect([long.status, long.json]).toEqual([400, { error: "This passkey is too large to store." }]);
    const transports = ["usb", "x".repeat(100_000), "usb"];
    const key = new VirtualAuthenticator(ORIGIN, { idBytes: 1_023 });
    expect((await register(browser, key, { transports })).status).toBe(200);
    const { rows } = await cast.db.pool.query("select transports from passkeys where credential_id = $1", [
      key.id,
    ]);
    expect(rows).toEqual([{ transports: ["usb"] }]);
  });

  test("answers a question once, and only the one that it was asked", async () => {
    const browser = await ownersBrowser();
    const key = new VirtualAuthenticator(ORIGIN);
    await register(browser, key);
    const guest = visitor();
    const options = (await guest.send("POST", "/web/sign-in/passkey/options", {})).json as RequestOptions;
    const response = key.get(options);
    expect((await guest.send("POST", "/web/sign-in/passkey", { response })).status).toBe(200);
    expect((await visitor().send("POST", "/web/sign-in/passkey", { response })).status).toBe(400);
    const invented = key.get({ ...options, challenge: Buffer.alloc(32, 1).toString("base64url") });
    expect((await visitor().send("POST", "/web/sign-in/passkey", { response: invented })).status).toBe(400);
    for (const nonsense of [
      {},
      { id: 5 },
      { id: key.id, response: {} },
      { id: key.id, rawId: key.id, type: "x" },
    ]) {
      expect((await visitor().send("POST", "/web/sign-in/passkey", { response: nonsense })).status).toBe(400);
    }
  });

  test("proves again who is there", async () => {
    const browser = await ownersBrowser();
    const key = new VirtualAuthenticator(ORIGIN);
    await register(browser, key);
    await cast.db.pool.query("update sessions set proven_at = proven_at - interval '1 hour'");
    expect((await browser.send("POST", "/web/account/totp", {})).status).toBe(403);
    const asked = await browser.send("POST", "/web/confirm/passkey/options", {});
    const response = key.get(asked.json as RequestOptions);
    const proven = await browser.send("POST", "/web/confirm/passkey", { next: "/x/", response });
    expect([proven.status, proven.json]).toEqual([200, { next: "/x/" }]);
    expect((await browser.send("POST", "/web/account/totp", {})).status).toBe(200);
  });
});
