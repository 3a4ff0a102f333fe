// The ways in, over HTTP against the whole program and a real mail server: set-up link, mailed link, password, second
// step, signing out, proving again; and what strangers learn by trying.
import { Secret, TOTP } from "otpauth";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { AccountPage, TotpSetUp } from "../../src/contract/api/account.ts";
import { type AttemptKind, ATTEMPTS } from "../../src/core/sign-in.ts";
import { digestOfToken } from "../../src/lib/secrets.ts";
import {
  beginAuthenticator,
  finishAuthenticator,
  setPassword,
  useTypedCode,
} from "../../src/operations/credentials.ts";
import { ensureAdminLink } from "../../src/operations/sign-in.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useCast } from "../management/cast.ts";
import { type ReceivedMail, startSmtp } from "../receivers/smtp.ts";
import { type Browser, locationOf, openBrowser } from "./browser.ts";
import { withApp } from "./with-app.ts";

const smtp = await startSmtp();
const cast = useCast({
  roles: ["web", "notifier"],
  settings: {
    OVERDUE_SMTP_HOST: "127.0.0.1",
    OVERDUE_SMTP_PORT: String(smtp.port),
    OVERDUE_SMTP_TLS: "none",
    OVERDUE_MAIL_FROM: "Overdue <alerts@overdue.test>",
  },
});
afterAll(() => smtp.close());
beforeEach(async () => {
  // Mails of the test before may still be on their way.
  await vi.waitUntil(async () => (await dueLetters()) === 0, { timeout: WAIT_MS, interval: 50 });
  smtp.received.length = 0;
  await cast.db.pool.query("delete from attempts");
});

async function dueLetters(): Promise<number> {
  const { rows } = await cast.db.pool.query<{ count: number }>(
    "select count(*) as count from letters where state = 'pending' and next_try_at <= now()",
  );
  return Number(rows[0]?.count);
}

const WAIT_MS = 40_000;
const PASSWORD = "a horse and a staple";

/** The next mail to an address of which that is true; what has come besides is forgotten. */
async function mailTo(
  address: string,
  isWanted: (mail: ReceivedMail) => boolean = () => true,
): Promise<ReceivedMail> {
  const end = performance.now() + WAIT_MS;
  while (performance.now() < end) {
    const found = smtp.received.find((mail) => mail.to.includes(address) && isWanted(mail));
    if (found !== undefined) {
      smtp.received.length = 0;
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no mail came to ${address}`);
}

/** The link of the next mail to an address that has one: notes about the account come as well. */
async function linkTo(address: string): Promise<string> {
  const linkIn = ({ mail }: ReceivedMail) =>
    new RegExp(`${cast.site}(/accounts/[a-z_]+/[^\\s"<]+)`).exec(mail.text ?? "")?.[1];
  return linkIn(await mailTo(address, (mail) => linkIn(mail) !== undefined)) ?? "";
}

/** Leaves no try of a kind to anybody who is counted by this. */
async function useUp(kind: AttemptKind, subject: string): Promise<void> {
  await cast.db.pool.query(
    `insert into attempts (kind, digest, full_at) values ($1, $2, $3)
     on conflict (kind, digest) do update set full_at = excluded.full_at`,
    [kind, digestOfToken(`${kind}\n${subject}`), new Date((await cast.now()) + ATTEMPTS[kind].spanMs)],
  );
}

const visitor = () => openBrowser(() => cast.site);

async function withPassword(): Promise<void> {
  const { account } = cast.owner;
  const person = { accountId: account.id, email: account.email };
  await setPassword(cast.db, { person, password: PASSWORD, sessionId: null, now: await cast.now() });
}

describe("The set-up link", () => {
  test("creates the first admin once, and the next start prints no link", async () => {
    const now = await cast.now();
    const first = await ensureAdminLink(cast.db, { now });
    const second = await ensureAdminLink(cast.db, { now });
    const browser = visitor();
    expect((await browser.ask(`/accounts/setup/${first?.token}/`)).status).toBe(404);
    const path = `/accounts/setup/${second?.token}/`;
    const page = await browser.ask(path);
    expect([page.status, page.text.includes("Create the admin account")]).toEqual([200, true]);
    const short = await browser.post(path, { email: "boss@example.org", name: "Boss", password: "short" });
    expect([short.status, short.text.includes("at least 8 characters")]).toEqual([400, true]);
    const done = await browser.post(path, { email: "Boss@Example.org", name: "Boss", password: PASSWORD });
    expect([done.status, locationOf(done)]).toEqual([303, "/welcome/"]);
    const account = (await browser.ask("/web/account")).json as AccountPage;
    expect(account).toMatchObject({
      email: "boss@example.org",
      name: "Boss",
      isAdmin: true,
      hasPassword: true,
    });
    expect(account.projects).toHaveLength(1);
    expect((await visitor().post(path, { email: "x@example.org", password: PASSWORD })).status).toBe(404);
    expect(await ensureAdminLink(cast.db, { now })).toBeNull();
  });

  test("that is invalid costs no hash: many invalid attempts do not keep users from signing in", async () => {
    const form = { email: "eve@example.org", name: "Eve", password: PASSWORD };
    const crowd = Array.from({ length: 80 }, () => visitor().post("/accounts/setup/guessed/", form));
    const statuses = (await Promise.all(crowd)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([404]));
  });
});

describe("An email link", () => {
  test("lets its reader in once, and looking at it changes nothing", async () => {
    const browser = visitor();
    const asked = await browser.post("/accounts/login/link/", {
      email: " Owner@Example.org ",
      next: "/accounts/profile/",
    });
    expect(locationOf(asked)).toBe("/accounts/login_link_sent/");
    const path = await linkTo("owner@example.org");
    for (let look = 0; look < 3; look++)
      expect((await visitor().ask(path)).text).toContain("owner@example.org");
    const entered = await browser.post(path, {});
    expect([entered.status, locationOf(entered)]).toEqual([303, "/accounts/profile/"]);
    expect(entered.headers.getSetCookie()[0]).toMatch(
      /^overdue_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    );
    expect((await browser.ask("/web/account")).status).toBe(200);
    expect((await visitor().post(path, {})).status).toBe(404);
    const { rows } = await cast.db.pool.query("select about from letters where kind = 'signIn'");
    expect(JSON.stringify(rows)).not.toContain(path.split("/")[3]);
  });

  test("ends with a new password, like every session", async () => {
    await visitor().post("/accounts/login/link/", { email: "owner@example.org" });
    const path = await linkTo("owner@example.org");
    expect((await visitor().ask(path)).status).toBe(200);
    await withPassword();
    expect((await visitor().post(path, {})).status).toBe(404);
    await mailTo("owner@example.org");
  });

  test("is not sent while registration is closed, and the page looks the same", async () => {
    const known = await visitor().post("/accounts/login/link/", { email: "mate@example.org" });
    await mailTo("mate@example.org");
    const unknown = await visitor().post("/accounts/login/link/", { email: "nobody@example.org" });
    expect([unknown.status, locationOf(unknown)]).toEqual([known.status, locationOf(known)]);
    const { rows } = await cast.db.pool.query(
      "select count(*) as count from sign_in_tokens where email is not null",
    );
    expect(rows).toEqual([{ count: 0 }]);
  });

  test("takes the same work for an unknown address, including the commit", async () => {
    const query = vi.spyOn(pg.Client.prototype, "query");
    const workFor = async (email: string): Promise<string[]> => {
      query.mockClear();
      await visitor().post("/accounts/login/link/", { email });
      const said = query.mock.calls.map(([what]) => JSON.stringify(what));
      const from = said.findIndex((text) => text.includes("tokens.insert"));
      // Others work meanwhile, each with a connection of its own.
      const own = said.filter((_, at) => at >= from && query.mock.contexts[at] === query.mock.contexts[from]);
      return own.slice(0, own.findIndex((text) => /commit|rollback/i.test(text)) + 1);
    };
    const [known, unknown] = [await workFor("stranger@example.org"), await workFor("nobody@example.org")];
    query.mockRestore();
    expect([known.length, known.at(-1)]).toEqual([3, expect.stringMatching(/commit/i)]);
    expect([unknown.length, unknown.at(-1)]).toEqual([3, known.at(-1)]);
  });

  test("is asked for so often only, by address and by network", async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 11; count++) {
      statuses.push(
        (await visitor().post("/accounts/login/link/", { email: `st.ranger+${count}@example.org` })).status,
      );
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 303), 429]);
    for (let count = 0; count < 10; count++) {
      await visitor().post("/accounts/login/link/", { email: `${count}@example.org` });
    }
    const other = await visitor().post("/accounts/login/link/", { email: "other@example.org" });
    expect([other.status, other.text.includes("Too many attempts")]).toEqual([429, true]);
  });

  test("leads nowhere but to pages of ours", async () => {
    const browser = visitor();
    await browser.post("/accounts/login/link/", { email: "owner@example.org", next: "//evil.example" });
    const path = await linkTo("owner@example.org");
    expect(locationOf(await browser.post(path, {}))).toBe("/");
  });
});

describe("A password", () => {
  test("lets in, and a wrong one says nothing about what was wrong", async () => {
    await withPassword();
    const right = await visitor().post("/accounts/login/password/", {
      email: "owner@example.org",
      password: PASSWORD,
    });
    expect([right.status, locationOf(right)]).toEqual([303, "/"]);
    const texts = await Promise.all(
      [
        { email: "owner@example.org", password: "wrong password" },
        { email: "stranger@example.org", password: PASSWORD },
        { email: "nobody@example.org", password: PASSWORD },
      ].map(async (form) => {
        const reply = await visitor().post("/accounts/login/password/", form);
        expect(reply.status).toBe(400);
        return reply.text.replaceAll(form.email, "");
      }),
    );
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain("Incorrect email address or password.");
  });

  test("takes as long for an unknown user", async () => {
    await withPassword();
    const [known, unknown]: [number[], number[]] = [[], []];
    for (let count = 0; count < 14; count++) {
      // In turns, so that whatever else the machine does slows both.
      const [email, times] =
        count % 2 === 0
          ? (["owner@example.org", known] as const)
          : (["nobody@example.org", unknown] as const);
      const from = performance.now();
      await visitor().post("/accounts/login/password/", { email, password: "wrong password" });
      times.push(performance.now() - from);
    }
    const median = (times: number[]) => times.toSorted((a, b) => a - b)[3] ?? 0;
    const ratio = median(unknown) / median(known);
    // A hash takes tens of milliseconds; without one the other would take a tenth of that.
    expect(ratio).toBeGreaterThan(0.4);
    expect(ratio).toBeLessThan(2.5);
  });

  test("is tried so often only, the right one too", async () => {
    await withPassword();
    const form = { email: "owner@example.org", password: "wrong password" };
    for (let count = 0; count < 20; count++) await visitor().post("/accounts/login/password/", form);
    const right = await visitor().post("/accounts/login/password/", { ...form, password: PASSWORD });
    expect(right.status).toBe(429);
  });

  test("that others guess, from any network, is still accepted from a known browser", async () => {
    await withPassword();
    const right = { email: "owner@example.org", password: PASSWORD };
    const mine = visitor();
    await mine.post("/accounts/login/password/", right);
    await mine.post("/accounts/logout/", {});
    const other = visitor();
    await other.post("/accounts/login/link/", { email: "stranger@example.org" });
    await other.post(await linkTo("stranger@example.org"), {});
    await other.post("/accounts/logout/", {});
    await useUp("passwordByAddress", "owner@example.org");
    await useUp("passwordByNetwork", "127.0.0.1");
    await useUp("linkByAddress", "owner@example.org");
    const password = (browser: Browser) => browser.post("/accounts/login/password/", right);
    const link = (browser: Browser) => browser.post("/accounts/login/link/", { email: right.email });
    // Neither a new browser nor one that belongs to somebody else.
    for (const browser of [visitor(), other]) {
      expect([(await password(browser)).status, (await link(browser)).status]).toEqual([429, 429]);
    }
    expect([(await link(mine)).status, (await password(mine)).status]).toEqual([303, 303]);
    // It has tries of its own, and not without end: the right one was the first of them.
    await mine.post("/accounts/logout/", {});
    const statuses: number[] = [];
    for (let count = 0; count < 20; count++) {
      statuses.push((await mine.post("/accounts/login/password/", { ...right, password: "wrong" })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 19 }, () => 400), 429]);
  });

  test("is tried no more often with more cookies, and no cookie outlasts it", async () => {
    await withPassword();
    const right = { email: "owner@example.org", password: PASSWORD };
    const password = (browser: Browser) => browser.post("/accounts/login/password/", right);
    const idOf = ({ cookies }: Browser) => cookies.get("overdue_device")?.split(".", 1)[0];
    const [mine, other] = [visitor(), visitor()];
    for (const browser of [mine, other]) await password(browser);
    const first = idOf(mine);
    await password(mine);
    expect(idOf(mine)).toBe(first);
    expect(idOf(other)).not.toBe(first);
    // Whoever has signed in with many browsers has not as many tries of each.
    await useUp("passwordByDevices", right.email);
    expect([(await password(mine)).status, (await password(other)).status]).toEqual([429, 429]);
    await cast.db.pool.query("delete from attempts");
    await useUp("passwordByAddress", right.email);
    const changed = await mine.send("PUT", "/web/account/password", { password: PASSWORD });
    expect(changed.headers.getSetCookie()).toMatchObject([
      expect.stringContaining(`overdue_device=${first}.`),
    ]);
    expect([(await password(mine)).status, (await password(other)).status]).toEqual([303, 429]);
  });

  test("is tried by no browser as one that is known once all other sessions were ended", async () => {
    await withPassword();
    const right = { email: "owner@example.org", password: PASSWORD };
    const password = (browser: Browser) => browser.post("/accounts/login/password/", right);
    const [mine, other] = [visitor(), visitor()];
    for (const browser of [mine, other]) await password(browser);
    await useUp("passwordByAddress", right.email);
    expect((await password(other)).status).toBe(303);
    expect((await mine.send("POST", "/web/account/sessions/end-others", {})).status).toBe(200);
    expect([(await password(mine)).status, (await password(other)).status]).toEqual([303, 429]);
  });

  test("that is guessed from one network is still taken from another", async () => {
    await withPassword();
    const form = { email: "owner@example.org", password: PASSWORD };
    await useUp("passwordByAddressThere", "owner@example.org\n127.0.0.1");
    const from = (address: string) =>
      visitor().ask("/accounts/login/password/", {
        method: "POST",
        form,
        headers: { "X-Forwarded-For": address },
      });
    expect((await visitor().post("/accounts/login/password/", form)).status).toBe(429);
    expect((await from("192.0.2.7")).status).toBe(303);
  });
});

describe("An authenticator app", () => {
  test("is required after a password, accepts no code twice, and recovery codes replace it", async () => {
    await withPassword();
    const browser = visitor();
    await browser.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    const begun = (await browser.send("POST", "/web/account/totp", {})).json as TotpSetUp;
    expect(begun.uri).toMatch(/^otpauth:\/\/totp\//);
    expect(begun.qr.every((row) => row.length === begun.qr.length)).toBe(true);
    const app = new TOTP({ secret: Secret.fromBase32(begun.secret.replaceAll(" ", "")) });
    // Not asked for before it has shown that it works.
    const early = await visitor().post("/accounts/login/password/", {
      email: "owner@example.org",
      password: PASSWORD,
    });
    expect(locationOf(early)).toBe("/");
    expect((await browser.send("POST", "/web/account/totp/confirm", { code: "000000" })).status).toBe(400);
    const code = app.generate();
    const confirmed = await browser.send("POST", "/web/account/totp/confirm", { code });
    const { codes } = confirmed.json as { codes: string[] };
    expect(codes).toHaveLength(10);
    expect((await mailTo("owner@example.org")).mail.subject).toContain("password");

    const second = visitor();
    const first = await second.post("/accounts/login/password/", {
      email: "owner@example.org",
      password: PASSWORD,
    });
    expect(locationOf(first)).toBe("/accounts/login/two_factor/");
    expect((await second.ask("/web/account")).status).toBe(401);
    expect((await second.ask("/accounts/login/two_factor/")).status).toBe(200);
    expect((await second.post("/accounts/login/two_factor/", { code })).status).toBe(400);
    const next = app.generate({ timestamp: Date.now() + 30_000 });
    expect(locationOf(await second.post("/accounts/login/two_factor/", { code: next }))).toBe("/");
    expect((await second.ask("/web/account")).status).toBe(200);

    const third = visitor();
    await third.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    const recovered = await third.post("/accounts/login/two_factor/", {
      code: codes[0]?.toUpperCase() ?? "",
    });
    expect(locationOf(recovered)).toBe("/");
    const again = visitor();
    await again.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    expect((await again.post("/accounts/login/two_factor/", { code: codes[0] ?? "" })).status).toBe(400);
    const page = (await third.ask("/web/account")).json as AccountPage;
    expect(page.totp?.codesLeft).toBe(9);
    expect((await third.send("DELETE", "/web/account/totp")).status).toBe(200);
  });

  test("may be off by one step and no more", async () => {
    const { account } = cast.mate;
    const now = Date.UTC(2026, 10, 16, 12);
    const person = { accountId: account.id, email: account.email };
    const secretKey = cast.secretKey;
    const secrets = { current: secretKey, previous: null };
    const { secret } = await beginAuthenticator(cast.db, { person, secretKey, siteName: "Overdue", now });
    const app = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(" ", "")) });
    const at = (timestamp: number) => app.generate({ timestamp });
    const first = finishAuthenticator(cast.db, { person, code: at(now - 61_000), secrets, now });
    await expect(first).rejects.toThrow("code is incorrect");
    await finishAuthenticator(cast.db, { person, code: at(now - 30_000), secrets, now });
    const use = (timestamp: number, when: number) =>
      inTransaction(cast.db, (tx) =>
        useTypedCode(tx, {
          accountId: account.id,
          typed: { kind: "totp", code: at(timestamp) },
          now: when,
          secrets,
        }),
      );
    expect(await use(now - 30_000, now)).toBe(false);
    expect(await use(now + 61_000, now)).toBe(false);
    expect(await use(now + 30_000, now)).toBe(true);
    expect(await use(now, now)).toBe(false);
  });
});

describe("A signed-in user", () => {
  test("re-authenticates by password or emailed code before a dangerous action", async () => {
    await withPassword();
    const browser = visitor();
    await browser.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    await cast.db.pool.query("update sessions set proven_at = proven_at - interval '31 minutes'");
    const put = () => browser.send("PUT", "/web/account/password", { password: `${PASSWORD}!` });
    const refused = await put();
    expect([refused.status, refused.json]).toMatchObject([403, { reauth: true }]);
    const page = await browser.ask("/accounts/confirm/?next=/accounts/profile/");
    expect([page.status, page.text.includes("Password")]).toEqual([200, true]);
    const wrong = await browser.post("/accounts/confirm/", { way: "password", password: "wrong" });
    expect(wrong.status).toBe(400);
    const mailed = await browser.post("/accounts/confirm/", { way: "mail" });
    expect(mailed.text).toContain("6-digit code");
    smtp.received.length = 0;
    await cast.db.pool.query("delete from letters where kind = 'security'");
    const subject = await confirmSubject();
    const code = /^\d{6}/.exec(subject)?.[0] ?? "";
    const other = visitor();
    expect((await other.post("/accounts/confirm/", { way: "mailed", mailed: code })).status).toBe(303);
    const proven = await browser.post("/accounts/confirm/", {
      way: "mailed",
      mailed: code,
      next: "/accounts/profile/",
    });
    expect(locationOf(proven)).toBe("/accounts/profile/");
    expect((await put()).status).toBe(200);
    await cast.db.pool.query("update sessions set proven_at = proven_at - interval '31 minutes'");
    const used = await browser.post("/accounts/confirm/", { way: "mailed", mailed: code });
    expect(used.status).toBe(400);
  });

  test("who has an app proves it again with its code as well, or with a recovery code", async () => {
    await withPassword();
    const { app, codes } = await withApp(cast, cast.owner.account);
    const browser = visitor();
    await browser.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    await browser.post("/accounts/login/two_factor/", { code: codes[0] ?? "" });
    const forget = () => cast.db.pool.query("update sessions set proven_at = now() - interval '1 hour'");
    await forget();
    const page = await browser.ask("/accounts/confirm/");
    expect(page.text).toContain("You also need a code from your authenticator app");
    expect(page.text.match(/name="(password|code|mailed)"/g)).toEqual(['name="password"', 'name="code"']);
    const markReauthenticated = async (form: Readonly<Record<string, string>>) =>
      (await browser.post("/accounts/confirm/", form)).status;
    const right = { way: "password", password: PASSWORD };
    const [, second = "", third = ""] = codes;
    expect(await markReauthenticated(right)).toBe(400);
    expect(await markReauthenticated({ way: "code", code: second })).toBe(400);
    expect(await markReauthenticated({ ...right, code: "000000" })).toBe(400);
    expect(await markReauthenticated({ ...right, password: "wrong", code: second })).toBe(400);
    expect((await browser.send("DELETE", "/web/account/totp")).status).toBe(403);
    // What was refused has used nothing up.
    expect(await markReauthenticated({ ...right, code: second })).toBe(303);
    await forget();
    expect(await markReauthenticated({ ...right, code: second })).toBe(400);
    const next = app.generate({ timestamp: Date.now() + 30_000 });
    expect(await markReauthenticated({ ...right, code: next })).toBe(303);
    await forget();
    expect(await markReauthenticated({ ...right, code: next })).toBe(400);
    await cast.db.pool.query("delete from attempts");
    const asked = await browser.post("/accounts/confirm/", { way: "mail" });
    expect(asked.text.match(/name="(password|code|mailed)"/g)).toEqual(['name="mailed"', 'name="code"']);
    const mailed = /^\d{6}/.exec(await confirmSubject())?.[0] ?? "";
    expect(await markReauthenticated({ way: "mailed", mailed })).toBe(400);
    expect(await markReauthenticated({ way: "mailed", mailed, code: third })).toBe(303);
    expect((await browser.send("DELETE", "/web/account/totp")).status).toBe(200);
  });

  test("who has an app and no password proves it again with its code alone", async () => {
    await withPassword();
    const { codes } = await withApp(cast, cast.owner.account);
    const browser = visitor();
    await browser.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    await browser.post("/accounts/login/two_factor/", { code: codes[0] ?? "" });
    expect((await browser.send("DELETE", "/web/account/password")).status).toBe(200);
    await cast.db.pool.query("update sessions set proven_at = now() - interval '1 hour'");
    const page = await browser.ask("/accounts/confirm/");
    expect(page.text.match(/name="(password|code|mailed)"/g)).toEqual(['name="code"']);
    const wrong = await browser.post("/accounts/confirm/", { way: "code", code: codes[0] ?? "" });
    expect([wrong.status, wrong.text.includes("was mailed")]).toEqual([400, false]);
    expect((await browser.post("/accounts/confirm/", { way: "code", code: codes[1] ?? "" })).status).toBe(
      303,
    );
    expect((await browser.send("DELETE", "/web/account/totp")).status).toBe(200);
  });

  async function confirmSubject(): Promise<string> {
    const isCode = ({ mail }: ReceivedMail) => /^\d{6}/.test(mail.subject ?? "");
    return (await mailTo("owner@example.org", isCode)).mail.subject ?? "";
  }

  test("sees the sessions, ends others, and leaves", async () => {
    await withPassword();
    const [one, two] = [visitor(), visitor()];
    for (const browser of [one, two]) {
      await browser.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    }
    const page = (await one.ask("/web/account")).json as AccountPage;
    expect(page.sessions.filter(({ isCurrent }) => isCurrent)).toHaveLength(1);
    expect(page.sessions).toHaveLength(2);
    const other = page.sessions.find(({ isCurrent }) => !isCurrent);
    expect(other).toMatchObject({ method: "password", ua: "test browser", remoteAddr: "127.0.0.1" });
    expect((await one.send("DELETE", `/web/account/sessions/${other?.id}`)).status).toBe(200);
    expect((await two.ask("/web/account")).status).toBe(401);
    expect(locationOf(await one.post("/accounts/logout/", {}))).toBe("/accounts/login/");
    // What stays lets nobody in: it only says that this browser was here before.
    expect([...one.cookies.keys()]).toEqual(["overdue_device"]);
    expect(locationOf(await one.ask("/accounts/profile/"))).toBe(
      "/accounts/login/?next=%2Faccounts%2Fprofile%2F",
    );
  });

  test("is notified if the session could not be ended, and can sign out again", async () => {
    await withPassword();
    const browser = visitor();
    await browser.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    await cast.db.pool.query(
      `create function refuse_deletion() returns trigger language plpgsql as $$begin raise 'refused'; end$$;
       create trigger refuse_deletion before delete on sessions execute function refuse_deletion()`,
    );
    try {
      const failed = await browser.post("/accounts/logout/", {});
      expect(failed.status).toBe(503);
      expect(failed.text).toContain("still signed in because");
      expect((await browser.ask("/web/account")).status).toBe(200);
    } finally {
      await cast.db.pool.query("drop function refuse_deletion cascade");
    }
    expect(locationOf(await browser.post("/accounts/logout/", {}))).toBe("/accounts/login/");
    expect((await browser.ask("/web/account")).status).toBe(401);
  });

  test("sees where a session certainly comes from, whatever its browser says", async () => {
    await withPassword();
    const browser = visitor();
    const headers = { "X-Forwarded-For": "198.51.100.1, 192.0.2.66" };
    const form = { email: "owner@example.org", password: PASSWORD };
    await browser.ask("/accounts/login/password/", { method: "POST", form, headers });
    const { sessions } = (await browser.ask("/web/account", { headers })).json as AccountPage;
    expect(sessions.find(({ isCurrent }) => isCurrent)?.remoteAddr).toBe("192.0.2.66");
  });

  test("changes the address by a link sent there, and the old address is notified", async () => {
    await withPassword();
    const browser = visitor();
    await browser.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    await mailTo("owner@example.org");
    expect((await browser.send("POST", "/web/account/email", { email: "stranger@example.org" })).status).toBe(
      200,
    );
    expect((await browser.send("POST", "/web/account/email", { email: "New@Example.org" })).status).toBe(200);
    const path = await linkTo("new@example.org");
    await visitor().post("/accounts/login/link/", { email: "owner@example.org" });
    const waiting = await linkTo("owner@example.org");
    expect((await visitor().ask(path)).text).toContain("new@example.org");
    expect((await visitor().post(path, {})).text).toContain("new@example.org");
    expect((await visitor().post(waiting, {})).status).toBe(404);
    const isTold = ({ mail }: ReceivedMail) => mail.subject?.includes("email address was changed") === true;
    await mailTo("owner@example.org", isTold);
    expect(((await browser.ask("/web/account")).json as AccountPage).email).toBe("new@example.org");
    await cast.db.pool.query(
      "update accounts set email = 'owner@example.org' where email = 'new@example.org'",
    );
  });
});

describe("A request that changes something", () => {
  test("is refused from another site, with a page that says what was lost", async () => {
    const form = { email: "owner@example.org", password: PASSWORD };
    const foreign = await visitor().ask("/accounts/login/password/", {
      method: "POST",
      form,
      headers: { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" },
    });
    expect([foreign.status, foreign.headers.get("content-type")]).toEqual([403, "text/html; charset=utf-8"]);
    expect(foreign.text).toContain("Cross-site request");
    const bare = await fetch(`${cast.site}/accounts/login/password/`, {
      method: "POST",
      body: new URLSearchParams(form),
    });
    expect(bare.status).toBe(403);
    expect(await bare.text()).toMatch(/Origin.*Sec-Fetch-Site/);
  });
});
