// A proxy in front says who is there: by a header that is believed from it alone, with every request.
import { describe, expect, test } from "vitest";
import type { AccountPage } from "../../src/contract/api/account.ts";
import { useCast } from "../management/cast.ts";
import { openBrowser } from "./browser.ts";

const trusting = useCast({ roles: ["web"], settings: { REMOTE_USER_HEADER: "HTTP_X_AUTHENTICATED_USER" } });
const wary = useCast({
  roles: ["web"],
  settings: { OVERDUE_REMOTE_USER_HEADER: "X-Authenticated-User", OVERDUE_TRUSTED_PROXIES: "10.0.0.0/8" },
});

const as = (email: string) => ({ headers: { "X-Authenticated-User": email } });

describe("The header of a proxy", () => {
  test("signs in, creates accounts on first use, and follows the header", async () => {
    const browser = openBrowser(() => trusting.site);
    const owner = (await browser.ask("/web/account", as("Owner@Example.org"))).json as AccountPage;
    expect(owner).toMatchObject({
      email: "owner@example.org",
      offers: { passwords: false, passkeys: false },
    });
    const fresh = (await browser.ask("/web/account", as("fresh@example.org"))).json as AccountPage;
    expect(fresh.email).toBe("fresh@example.org");
    expect(fresh.projects).toHaveLength(1);
    expect(fresh.sessions.map(({ method }) => method)).toEqual(["proxy"]);
    expect(fresh.signIns.map(({ method }) => method)).toEqual(["proxy"]);
    expect(browser.cookies.size).toBe(0);
    expect((await browser.ask("/web/account")).status).toBe(401);
    expect((await browser.ask("/web/account", as(" "))).status).toBe(401);
    expect((await browser.ask("/web/account", as("no address"))).status).toBe(401);
  });

  test("has a limited number of sessions, and the admin sees the accounts", async () => {
    const browser = openBrowser(() => trusting.site);
    const { headers } = as("talker@example.org");
    const ask = { headers: { ...headers, "User-Agent": "x".repeat(5_000) } };
    const { sessions } = (await browser.ask("/web/account", ask)).json as AccountPage;
    expect(sessions.map(({ ua }) => ua.length)).toEqual([200]);
    const { rows } = await trusting.db.pool.query(
      "select signed_in_at is not null as came from accounts where email = 'talker@example.org'",
    );
    expect(rows).toEqual([{ came: true }]);
  });

  test("serves many first requests of a new user at once", async () => {
    const browser = openBrowser(() => trusting.site);
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => browser.ask("/web/account", as("crowd@example.org"))),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test("disables all other sign-in methods, and the page says what is missing", async () => {
    const browser = openBrowser(() => trusting.site);
    const page = await browser.ask("/accounts/login/");
    expect([page.status, page.text.includes("x-authenticated-user")]).toEqual([401, true]);
    const form = { email: "owner@example.org", password: "whatever it is" };
    expect((await browser.post("/accounts/login/password/", form)).status).toBe(404);
    expect((await browser.post("/accounts/login/link/", form)).status).toBe(404);
    const { headers } = as("owner@example.org");
    const set = await browser.ask("/web/account/password", {
      method: "PUT",
      json: { password: "long enough" },
      headers,
    });
    expect(set.status).toBe(404);
  });

  test("is believed from trusted proxies alone", async () => {
    const browser = openBrowser(() => wary.site);
    expect((await browser.ask("/web/account", as("owner@example.org"))).status).toBe(401);
  });
});
