// People for whom somebody else vouches: a real OpenID Connect provider in this process, and a proxy's header.
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { AccountPage } from "../../src/contract/api/account.ts";
import { signInWithIdentity } from "../../src/operations/sign-in.ts";
import { useCast } from "../management/cast.ts";
import { freePort } from "../support/ports.ts";
import { type Browser, locationOf, openBrowser } from "./browser.ts";
import { withApp } from "./with-app.ts";

type Claims = { email: string; email_verified: boolean; name?: string };

/** Who the provider knows. */
const PEOPLE: Record<string, Claims> = {
  owner: { email: "Owner@example.org", email_verified: true, name: "Olivia" },
  impostor: { email: "stranger@example.org", email_verified: false },
  newcomer: { email: "newcomer@example.org", email_verified: true },
};

const sitePort = await freePort();
const SITE = `http://127.0.0.1:${sitePort}`;
/** The provider says that people have last proven who they are so long ago, whatever they did; null: it says the truth. */
let claimedAgeSeconds: number | null = null;
const { issuer, server } = await startProvider();

async function startProvider(): Promise<{ issuer: string; server: Server }> {
  const listening = createServer();
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const provider = new Provider(address, {
    clients: [
      {
        client_id: "overdue",
        client_secret: "secret-of-the-client-of-32-chars",
        redirect_uris: [`${SITE}/accounts/oidc/`],
        token_endpoint_auth_method: "client_secret_post",
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id, ...PEOPLE[id] }) }),
    cookies: { keys: ["for the tests only"] },
    features: { devInteractions: { enabled: true } },
    pkce: { required: () => true },
  });
  const { prototype } = provider.Session;
  prototype.authTime = function authTimeAsClaimed(this: typeof prototype & { loginTs?: number }) {
    const real = this.loginTs;
    return real === undefined || claimedAgeSeconds === null ? real : real - claimedAgeSeconds;
  };
  // It says on the console that it is for development; nobody reads that here.
  const answer = provider.callback();
  listening.on("request", (request, response) => void answer(request, response));
  return { issuer: address, server: listening };
}

const cast = useCast({
  roles: ["web"],
  settings: {
    OVERDUE_LISTEN: `127.0.0.1:${sitePort}`,
    OVERDUE_SITE_URL: SITE,
    OVERDUE_OIDC_ISSUER: issuer,
    OVERDUE_OIDC_CLIENT_ID: "overdue",
    OVERDUE_OIDC_CLIENT_SECRET: "secret-of-the-client-of-32-chars",
    OVERDUE_OIDC_NAME: "Example ID",
  },
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(async () => {
  claimedAgeSeconds = null;
  await cast.db.pool.query("delete from attempts");
});

const visitor = () => openBrowser(() => SITE);

/** Signs in at the provider, as a person would, and returns the address that it sends the browser back to. */
async function through(address: string, login: string): Promise<string> {
  const provider = openBrowser(() => issuer);
  let next = address;
  for (let hops = 0; hops < 12; hops++) {
    if (next.startsWith(SITE)) return next;
    const path = next.startsWith(issuer) ? next.slice(issuer.length) : next;
    const reply = await provider.ask(path);
    if (reply.status >= 300 && reply.status < 400) {
      next = locationOf(reply);
      continue;
    }
    const action = /action="([^"]+)"/.exec(reply.text)?.[1] ?? "";
    const prompt = /name="prompt" value="([^"]+)"/.exec(reply.text)?.[1] ?? "";
    const sent = await provider.post(action.replace(issuer, ""), { prompt, login, password: "any" });
    next = locationOf(sent);
  }
  throw new Error("the provider never sent the browser back");
}

async function signIn(browser: Browser, login: string) {
  const begun = await browser.ask("/accounts/oidc/start/?next=/accounts/profile/");
  const back = await through(locationOf(begun), login);
  return browser.ask(back.slice(SITE.length));
}

describe("The identity provider", () => {
  test("is offered on the page", async () => {
    expect((await visitor().ask("/accounts/login/")).text).toContain("Sign in with Example ID");
  });

  test("lets in whose verified address has an account, and knows them by who they are from then on", async () => {
    const browser = visitor();
    const entered = await signIn(browser, "owner");
    expect([entered.status, locationOf(entered)]).toEqual([303, "/accounts/profile/"]);
    const page = (await browser.ask("/web/account")).json as AccountPage;
    expect(page.email).toBe("owner@example.org");
    expect(page.identities).toMatchObject([{ issuer }]);
    const was = PEOPLE["owner"];
    PEOPLE["owner"] = { email: "moved@example.org", email_verified: false };
    const again = visitor();
    await signIn(again, "owner");
    expect(((await again.ask("/web/account")).json as AccountPage).email).toBe("owner@example.org");
    if (was !== undefined) PEOPLE["owner"] = was;
  });

  test("requires the code of the app before a new identity opens an account that has one", async () => {
    await cast.db.pool.query("delete from oidc_identities");
    const { codes } = await withApp(cast, cast.owner.account);
    const browser = visitor();
    const asked = await signIn(browser, "owner");
    expect(locationOf(asked)).toBe("/accounts/login/two_factor/");
    expect((await browser.ask("/web/account")).status).toBe(401);
    // Coming back does not help: until the code was typed, nobody is known.
    expect(locationOf(await signIn(visitor(), "owner"))).toBe("/accounts/login/two_factor/");
    const wrong = await browser.post("/accounts/login/two_factor/", { code: "aaaaa-aaaaa" });
    expect(wrong.status).toBe(400);
    const entered = await browser.post("/accounts/login/two_factor/", { code: codes[0] ?? "" });
    expect([entered.status, locationOf(entered)]).toEqual([303, "/accounts/profile/"]);
    const page = (await browser.ask("/web/account")).json as AccountPage;
    expect(page.identities).toMatchObject([{ issuer, subject: "owner" }]);
    expect(page.sessions.find(({ isCurrent }) => isCurrent)?.method).toBe("oidc");
    expect(locationOf(await signIn(visitor(), "owner"))).toBe("/accounts/profile/");
    await cast.db.pool.query("delete from authenticators");
  });

  test("can be unlinked after re-authentication, but not as the last sign-in method", async () => {
    const browser = visitor();
    await signIn(browser, "owner");
    const remove = (subject: string) =>
      browser.send("POST", "/web/account/identities/remove", { issuer, subject });
    expect((await remove("owner")).text).toContain("This is your only sign-in method");
    const password = "a few words in a row";
    expect((await browser.send("PUT", "/web/account/password", { password })).status).toBe(200);
    expect((await remove("somebody else")).status).toBe(404);
    await cast.db.pool.query("update sessions set proven_at = proven_at - interval '1 hour'");
    expect([(await remove("owner")).status, await knownAs("owner")]).toEqual([403, true]);
    await browser.post("/accounts/confirm/", { way: "password", password });
    const removed = await remove("owner");
    expect([removed.status, (removed.json as AccountPage).identities]).toEqual([200, []]);
    expect(await knownAs("owner")).toBe(false);
    const { rows } = await cast.db.pool.query(
      `select what, subject, before from audit_entries where what = 'account.providerRemoved'`,
    );
    const what = "account.providerRemoved";
    expect(rows).toEqual([{ what, subject: "owner@example.org", before: { issuer } }]);
    await cast.db.pool.query("delete from passwords");
  });

  async function knownAs(subject: string): Promise<boolean> {
    const { rows } = await cast.db.pool.query("select from oidc_identities where subject = $1", [subject]);
    return rows.length > 0;
  }

  test("signs in no one with an unverified address, or without an account", async () => {
    const impostor = await signIn(visitor(), "impostor");
    expect([impostor.status, impostor.text.includes("verified")]).toEqual([403, true]);
    const newcomer = await signIn(visitor(), "newcomer");
    expect([newcomer.status, newcomer.text.includes("newcomer@example.org")]).toEqual([403, true]);
  });

  test("signs in no one with an identifier that is too long", async () => {
    const visitorHere = { now: await cast.now(), network: "", ua: "", remoteAddr: null };
    const identified = {
      issuer,
      subject: randomBytes(4_000).toString("base64url"),
      email: "long@example.org",
      isEmailVerified: true,
      name: "",
      authenticatedAt: null,
    };
    const entering = async () =>
      signInWithIdentity(cast.db, {
        identified,
        createsAccounts: true,
        visitor: visitorHere,
        nextPath: null,
      });
    await expect(entering()).rejects.toMatchObject({ code: "invalid" });
  });

  test("signs a new user in from all windows that return at once", async () => {
    const now = await cast.now();
    const visitorHere = { ua: "test", remoteAddr: null, network: "here", now };
    const email = "twice@example.org";
    const identified = {
      issuer,
      subject: "twice",
      email,
      isEmailVerified: true,
      name: "",
      authenticatedAt: now,
    };
    const request = { identified, createsAccounts: true, visitor: visitorHere, nextPath: null };
    const kinds = await Promise.all(
      Array.from({ length: 6 }, async () => (await signInWithIdentity(cast.db, request)).kind),
    );
    expect(kinds).toEqual(Array.from({ length: 6 }, () => "signedIn"));
  });

  test("sends back only whom this browser has sent there, and once", async () => {
    const browser = visitor();
    const begun = await browser.ask("/accounts/oidc/start/");
    const back = (await through(locationOf(begun), "owner")).slice(SITE.length);
    const other = await visitor().ask(back);
    expect([other.status, other.headers.getSetCookie()]).toEqual([400, []]);
    expect((await browser.ask(back)).status).toBe(303);
    expect((await browser.ask(back)).status).toBe(400);
    expect((await browser.ask("/accounts/oidc/?code=x&state=y")).status).toBe(400);
  });

  test("re-authenticates only the same user", async () => {
    const browser = visitor();
    await signIn(browser, "owner");
    await cast.db.pool.query("update sessions set proven_at = proven_at - interval '1 hour'");
    expect((await browser.send("POST", "/web/account/totp", {})).status).toBe(403);
    const begun = await browser.ask("/accounts/oidc/confirm/?next=/accounts/profile/");
    expect(locationOf(begun)).toContain("prompt=login");
    const wrong = await through(locationOf(begun), "impostor");
    expect((await browser.ask(wrong.slice(SITE.length))).status).toBe(403);
    const right = await through(locationOf(await browser.ask("/accounts/oidc/confirm/")), "owner");
    expect((await browser.ask(right.slice(SITE.length))).status).toBe(303);
    expect((await browser.send("POST", "/web/account/totp", {})).status).toBe(200);
  });

  test("proves nothing by an older sign-in, or by one that it does not date", async () => {
    const browser = visitor();
    await signIn(browser, "owner");
    await cast.db.pool.query("update sessions set proven_at = proven_at - interval '1 hour'");
    const comeBack = async (change: (address: URL) => void) => {
      const address = new URL(locationOf(await browser.ask("/accounts/oidc/confirm/")));
      expect([address.searchParams.get("max_age"), address.searchParams.get("prompt")]).toEqual([
        "0",
        "login",
      ]);
      change(address);
      const reply = await browser.ask((await through(address.href, "owner")).slice(SITE.length));
      return [reply.status, reply.text.includes("confirm a recent sign-in")];
    };
    claimedAgeSeconds = 120;
    expect(await comeBack(() => {})).toEqual([403, true]);
    claimedAgeSeconds = null;
    // What travels through the browser can be changed there.
    const undated = await comeBack(({ searchParams }) => {
      searchParams.delete("max_age");
      searchParams.delete("prompt");
    });
    expect(undated).toEqual([403, true]);
    expect((await browser.send("POST", "/web/account/totp", {})).status).toBe(403);
    claimedAgeSeconds = 20;
    expect(await comeBack(() => {})).toEqual([303, false]);
    expect((await browser.send("POST", "/web/account/totp", {})).status).toBe(200);
  });

  test("lets in whom it knows from before, and that proves nothing", async () => {
    claimedAgeSeconds = 3_600;
    const browser = visitor();
    expect((await signIn(browser, "owner")).status).toBe(303);
    expect((await browser.send("POST", "/web/account/totp", {})).status).toBe(403);
    claimedAgeSeconds = null;
    await signIn(browser, "owner");
    expect((await browser.send("POST", "/web/account/totp", {})).status).toBe(200);
  });
});
