// An identity provider whose answers can be made wrong, one thing at a time: whatever is wrong with one, nobody is let
// in by it. What a provider does that tells the truth is in identity-provider.test.ts.
import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { useCast } from "../management/cast.ts";
import { locationOf, openBrowser } from "./browser.ts";

const SUBJECT = "subject-of-the-owner";
const real = generateKeyPairSync("rsa", { modulusLength: 2048 });
const other = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** How the next answer differs from a right one. */
type Wrong = {
  claims?: (claims: Record<string, unknown>) => Record<string, unknown>;
  key?: KeyObject;
  alg?: string;
  /** Instead of what comes back from the provider through the browser. */
  back?: (query: URLSearchParams) => void;
  /** What is told to whoever asks with the access token. */
  info?: Record<string, unknown>;
};
let wrong: Wrong = {};
let asked: URLSearchParams = new URLSearchParams();

const server = createServer(answer);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => new Promise((resolve) => server.close(resolve)));

function answer({ url = "", headers }: IncomingMessage, response: ServerResponse): void {
  const say = (what: unknown) =>
    void response.setHeader("Content-Type", "application/json").end(JSON.stringify(what));
  if (url.startsWith("/.well-known/")) {
    const at = (path: string) => issuer + path;
    return say({
      issuer,
      authorization_endpoint: at("/authorize"),
      token_endpoint: at("/token"),
      jwks_uri: at("/keys"),
      userinfo_endpoint: at("/info"),
      authorization_response_iss_parameter_supported: true,
      id_token_signing_alg_values_supported: ["RS256"],
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
    });
  }
  if (url === "/keys")
    return say({ keys: [{ ...real.publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256" }] });
  if (url === "/info" && headers.authorization === "Bearer access") return say(wrong.info ?? {});
  return say({ access_token: "access", token_type: "Bearer", expires_in: 60, id_token: idToken() });
}

function idToken(): string {
  const now = Math.floor(Date.now() / 1000);
  const right = {
    iss: issuer,
    aud: "overdue",
    sub: SUBJECT,
    nonce: asked.get("nonce"),
    iat: now,
    exp: now + 300,
    auth_time: now,
    email: "owner@example.org",
    email_verified: true,
  };
  const { claims = (same) => same, key = real.privateKey, alg = "RS256" } = wrong;
  const part = (of: unknown) => Buffer.from(JSON.stringify(of)).toString("base64url");
  const signed = `${part({ alg, kid: "1" })}.${part(claims(right))}`;
  const signature = alg === "none" ? "" : createSign("sha256").update(signed).sign(key).toString("base64url");
  return `${signed}.${signature}`;
}

const cast = useCast({
  roles: ["web"],
  settings: {
    OVERDUE_OIDC_ISSUER: issuer,
    OVERDUE_OIDC_CLIENT_ID: "overdue",
    OVERDUE_OIDC_CLIENT_SECRET: "secret-of-the-client-of-32-chars",
  },
});
beforeEach(async () => {
  wrong = {};
  await cast.db.pool.query("delete from attempts");
  await cast.db.pool.query("delete from oidc_identities");
});

/** Goes to the provider and comes back with its answer. */
async function signIn(how: Wrong = {}) {
  wrong = how;
  const browser = openBrowser(() => cast.site);
  asked = new URL(locationOf(await browser.ask("/accounts/oidc/start/"))).searchParams;
  const back = new URLSearchParams({ code: "any", state: asked.get("state") ?? "", iss: issuer });
  how.back?.(back);
  const reply = await browser.ask(`/accounts/oidc/?${back.toString()}`);
  return { status: reply.status, isIn: (await browser.ask("/web/account")).status === 200 };
}

const withClaims = (change: Record<string, unknown>): Wrong => ({
  claims: (claims) => ({ ...claims, ...change }),
});
const LONG_AGO = Math.floor(Date.now() / 1000) - 7_200;

describe("An answer of the identity provider", () => {
  test("lets in when everything about it is right", async () => {
    expect(await signIn()).toEqual({ status: 303, isIn: true });
  });

  test.each<[string, Wrong]>([
    ["signed by somebody else", { key: other.privateKey }],
    ["not signed at all", { alg: "none" }],
    ["for another question", withClaims({ nonce: "of-somebody-else" })],
    ["for no question", withClaims({ nonce: undefined })],
    ["for another client", withClaims({ aud: "another-client" })],
    ["for several clients, by another", withClaims({ aud: ["overdue", "x"], azp: "x" })],
    ["by another issuer", withClaims({ iss: "https://evil.example" })],
    ["that is over", withClaims({ iat: LONG_AGO, exp: LONG_AGO + 300 })],
    ["about nobody", withClaims({ sub: undefined })],
    ["that comes back from another issuer", { back: (query) => query.set("iss", "https://evil.example") }],
    ["that comes back from no issuer", { back: (query) => query.delete("iss") }],
    ["under another state", { back: (query) => query.set("state", "guessed") }],
    ["with two states", { back: (query) => query.append("state", "guessed") }],
    ["that is a refusal", { back: (query) => query.set("error", "access_denied") }],
    ["with an address that is not verified", withClaims({ email_verified: false })],
    ["that does not say whether the address is verified", withClaims({ email_verified: undefined })],
    ["that calls the address verified in other words", withClaims({ email_verified: 1 })],
    ["without an address", withClaims({ email: undefined })],
    ["with two addresses", withClaims({ email: ["owner@example.org", "eve@example.org"] })],
    [
      "and news of somebody else",
      {
        ...withClaims({ email: undefined, email_verified: undefined }),
        info: { sub: "somebody-else", email: "owner@example.org", email_verified: true },
      },
    ],
  ])("%s signs in no one", async (_, how) => {
    const { status, isIn } = await signIn(how);
    expect([status >= 400 && status < 500, isIn]).toEqual([true, false]);
    const { rows } = await cast.db.pool.query("select from oidc_identities");
    expect(rows).toEqual([]);
  });

  test("takes the address from the userinfo endpoint, if the subject is the same", async () => {
    const info = { sub: SUBJECT, email: "Owner@Example.org", email_verified: true };
    const how = { ...withClaims({ email: undefined, email_verified: undefined }), info };
    expect(await signIn(how)).toEqual({ status: 303, isIn: true });
  });

  test("notifies the account owner the first time, and not again", async () => {
    await cast.db.pool.query("delete from letters");
    for (let times = 0; times < 2; times++) expect((await signIn()).isIn).toBe(true);
    const { rows } = await cast.db.pool.query(
      "select account_id, about from letters where kind = 'security' order by id",
    );
    expect(rows).toEqual([{ account_id: cast.owner.account.id, about: { what: "providerAdded" } }]);
    const { rows: record } = await cast.db.pool.query(
      "select subject, after from audit_entries where what = 'account.providerAdded' order by id desc limit 1",
    );
    expect(record).toEqual([{ subject: "owner@example.org", after: { issuer } }]);
  });
});
