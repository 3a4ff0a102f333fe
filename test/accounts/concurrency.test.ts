// What is good for one use, used by many at the very same time: one of them gets in, and no other. What was asked of one
// account, answered for another. And codes that somebody guesses who has learned the password.
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { ATTEMPTS } from "../../src/core/sign-in.ts";
import { openSession } from "../../src/operations/sessions.ts";
import { createLoginLink } from "../../src/operations/sign-in.ts";
import type { Account } from "../../src/store/accounts.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { type Reply, useCast } from "../management/cast.ts";
import { type Browser, openBrowser } from "./browser.ts";
import { VirtualAuthenticator } from "./virtual-authenticator.ts";
import { withApp } from "./with-app.ts";

const ORIGIN = "https://overdue.example.org";
const SESSION = "__Host-overdue_session";
const MANY = 6;
const cast = useCast({ roles: ["web"], settings: { OVERDUE_SITE_URL: ORIGIN } });
beforeEach(() => cast.db.pool.query("delete from attempts"));

const visitor = () => openBrowser(() => cast.site, { origin: ORIGIN });
const many = <T>(one: () => T): T[] => Array.from({ length: MANY }, one);

async function signedIn(account: Account): Promise<Browser> {
  const browser = visitor();
  const of = { accountId: account.id, method: "link", ua: "", remoteAddr: null } as const;
  const now = await cast.now();
  const { token } = await inTransaction(cast.db, (tx) => openSession(tx, { ...of, now }));
  browser.cookies.set(SESSION, token);
  return browser;
}

async function linkOf({ email }: Account): Promise<string> {
  const { token } = await createLoginLink(cast.db, { email, now: await cast.now() });
  return `/accounts/link/${token}/`;
}

/** How many of these browsers are in. */
async function countIn(browsers: readonly Browser[]): Promise<number> {
  const replies = await Promise.all(browsers.map((browser) => browser.ask("/web/account")));
  return replies.filter(({ status }) => status === 200).length;
}

/** So many stand at the second step, each by a link of its own. */
async function atSecondStep(account: Account): Promise<Browser[]> {
  const browsers = many(visitor);
  for (const browser of browsers) await browser.post(await linkOf(account), {});
  expect(await countIn(browsers)).toBe(0);
  return browsers;
}

const passCode = (browsers: readonly Browser[], code: string): Promise<Reply[]> =>
  Promise.all(browsers.map((browser) => browser.post("/accounts/login/two_factor/", { code })));

type CreationOptions = Parameters<VirtualAuthenticator["create"]>[0];
type RequestOptions = Parameters<VirtualAuthenticator["get"]>[0];

async function withPasskey(browser: Browser): Promise<VirtualAuthenticator> {
  const key = new VirtualAuthenticator(ORIGIN);
  const options = await browser.send("POST", "/web/account/passkeys/options", {});
  const response = key.create(options.json as CreationOptions);
  const added = await browser.send("POST", "/web/account/passkeys", { name: "Key", response });
  expect(added.status).toBe(200);
  return key;
}

const optionsFor = async (browser: Browser, path: string) =>
  (await browser.send("POST", `${path}/options`, {})).json as RequestOptions;

describe("By many at once", () => {
  test("a link lets one in", async () => {
    const path = await linkOf(cast.owner.account);
    const browsers = many(visitor);
    const replies = await Promise.all(browsers.map((browser) => browser.post(path, {})));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      303, 404, 404, 404, 404, 404,
    ]);
    expect(await countIn(browsers)).toBe(1);
  });

  test("a link whose row is locked longer than one lock timeout still signs in", async () => {
    const path = await linkOf(cast.owner.account);
    const holder = await cast.db.pool.connect();
    await holder.query("begin; select from sign_in_tokens for update");
    const entering = visitor().post(path, {});
    await sleep(700);
    await holder.query("commit");
    holder.release();
    expect((await entering).status).toBe(303);
  });

  test("a code of the app, and a recovery code, let one in each", async () => {
    const { account } = cast.mate;
    const { app, codes } = await withApp(cast, account);
    for (const code of [() => codes[0] ?? "", () => app.generate({ timestamp: Date.now() + 30_000 })]) {
      const browsers = await atSecondStep(account);
      await passCode(browsers, code());
      expect(await countIn(browsers)).toBe(1);
    }
  });

  test("two copies of one passkey that have counted the same let one in", async () => {
    const key = await withPasskey(await signedIn(cast.stranger.account));
    const browsers = many(visitor);
    const path = "/web/sign-in/passkey";
    const questions = await Promise.all(browsers.map((browser) => optionsFor(browser, path)));
    const answers = questions.map((question) => {
      key.forgetCount();
      return key.get(question);
    });
    await Promise.all(browsers.map((browser, at) => browser.send("POST", path, { response: answers[at] })));
    expect(await countIn(browsers)).toBe(1);
  });
});

describe("What one account was asked for", () => {
  test("is answered for no other, and a question of signing in proves nothing", async () => {
    const [mine, theirs] = [await signedIn(cast.owner.account), await signedIn(cast.stranger.account)];
    const [key, otherKey] = [await withPasskey(mine), await withPasskey(theirs)];
    await cast.db.pool.query("update sessions set proven_at = proven_at - interval '1 hour'");
    const path = "/web/confirm/passkey";
    const markReauthenticated = async (browser: Browser, response: Record<string, unknown>) =>
      (await browser.send("POST", path, { response })).status;
    // Another's passkey, to a question of mine; mine, in another's browser; mine, to a question of signing in.
    expect(await markReauthenticated(mine, otherKey.get(await optionsFor(mine, path)))).toBe(400);
    expect(await markReauthenticated(theirs, key.get(await optionsFor(mine, path)))).toBe(400);
    expect(await markReauthenticated(mine, key.get(await optionsFor(theirs, path)))).toBe(400);
    expect(
      await markReauthenticated(mine, key.get(await optionsFor(visitor(), "/web/sign-in/passkey"))),
    ).toBe(400);
    const asked = key.get(await optionsFor(mine, path));
    const stranger = visitor();
    await stranger.send("POST", "/web/sign-in/passkey", { response: asked });
    expect(await countIn([stranger])).toBe(0);
    expect((await mine.send("POST", "/web/account/totp", {})).status).toBe(403);
    expect(await markReauthenticated(mine, key.get(await optionsFor(mine, path)))).toBe(200);
    expect((await mine.send("POST", "/web/account/totp", {})).status).toBe(200);
  });
});

describe("Guessing second-factor codes", () => {
  test("cost a browser that was in before none of its tries, and it has not many either", async () => {
    const { account } = cast.mate;
    const { codes } = await withApp(cast, account);
    const pass = async (browser: Browser, code = "a guess") => {
      await browser.post(await linkOf(account), {});
      return (await browser.post("/accounts/login/two_factor/", { code })).status;
    };
    const mine = visitor();
    expect(await pass(mine, codes[0])).toBe(303);
    await mine.post("/accounts/logout/", {});
    const full = new Date((await cast.now()) + ATTEMPTS.secondFactor.spanMs);
    await cast.db.pool.query("update attempts set full_at = $1 where kind = 'secondFactor'", [full]);
    expect([await pass(visitor(), codes[1]), await pass(mine, codes[1])]).toEqual([429, 303]);
    await mine.post("/accounts/logout/", {});
    const statuses: number[] = [];
    for (let count = 0; count < 20; count++) statuses.push(await pass(mine));
    expect(statuses).toEqual([...Array.from({ length: 19 }, () => 400), 429]);
  });
});
