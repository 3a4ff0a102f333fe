// Who came into an account, as its owner sees it on the account page, and what strangers learn by failing: nothing.
import pg from "pg";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { AccountPage } from "../../src/contract/api/account.ts";
import { setPassword } from "../../src/operations/credentials.ts";
import { useCast } from "../management/cast.ts";
import { locationOf, openBrowser } from "./browser.ts";
import { withApp } from "./with-app.ts";

const cast = useCast({ roles: ["web"] });
const PASSWORD = "a horse and a staple";
const visitor = () => openBrowser(() => cast.site);

beforeEach(async () => {
  await cast.db.pool.query("delete from attempts");
  const { id: accountId, email } = cast.owner.account;
  const now = await cast.now();
  await setPassword(cast.db, { person: { accountId, email }, password: PASSWORD, sessionId: null, now });
});

describe("A signed-in user", () => {
  test("sees sign-ins with method, address and browser, and the number of failed attempts", async () => {
    const browser = visitor();
    const form = { email: "owner@example.org", password: PASSWORD };
    await browser.post("/accounts/login/password/", form);
    const read = async () => (await browser.ask("/web/account")).json as AccountPage;
    const before = await read();
    expect(before.signIns[0]).toMatchObject({
      method: "password",
      ua: "test browser",
      remoteAddr: "127.0.0.1",
    });
    expect(before.failedSignIns).toBeNull();
    for (let count = 0; count < 2; count++)
      await visitor().post("/accounts/login/password/", { ...form, password: "wrong password" });
    const { signIns, failedSignIns } = await read();
    expect(signIns).toEqual(before.signIns);
    expect(failedSignIns).toEqual({ count: 2, lastAt: expect.any(Number) });
    await visitor().post("/accounts/login/password/", form);
    const after = await read();
    expect([after.signIns.length, after.signIns[0]?.failedCount, after.failedSignIns]).toEqual([
      before.signIns.length + 1,
      2,
      null,
    ]);
    // Ending the sessions does not take it off the record.
    await browser.send("POST", "/web/account/sessions/end-others", {});
    expect((await read()).signIns).toEqual(after.signIns);
  });

  test("has a record of so many sign-ins, and codes that are wrong count", async () => {
    const { app } = await withApp(cast, cast.owner.account);
    await cast.db.pool.query(
      `insert into sign_ins (account_id, at, method, ua, failed_count)
       select $1, now() - make_interval(hours => n), 'link', 'old', 0 from generate_series(1, 60) n`,
      [cast.owner.account.id],
    );
    const browser = visitor();
    await browser.post("/accounts/login/password/", { email: "owner@example.org", password: PASSWORD });
    expect((await browser.post("/accounts/login/two_factor/", { code: "000000" })).status).toBe(400);
    const code = app.generate({ timestamp: (await cast.now()) + 30_000 });
    expect(locationOf(await browser.post("/accounts/login/two_factor/", { code }))).toBe("/");
    const { signIns } = (await browser.ask("/web/account")).json as AccountPage;
    expect([signIns.length, signIns[0]?.method, signIns[0]?.failedCount]).toEqual([50, "password", 1]);
    // What is not shown is not kept either.
    const { rows } = await cast.db.pool.query(
      "select count(*)::int as count from sign_ins where account_id = $1",
      [cast.owner.account.id],
    );
    expect(rows).toEqual([{ count: 50 }]);
    expect((await browser.send("DELETE", "/web/account/totp")).status).toBe(200);
  });
});

describe("A password", () => {
  test("that is wrong takes the same statements for an unknown user, including the commit", async () => {
    const query = vi.spyOn(pg.Client.prototype, "query");
    const workFor = async (email: string): Promise<string[]> => {
      query.mockClear();
      await visitor().post("/accounts/login/password/", { email, password: "wrong password" });
      const said = query.mock.calls.map(([what]) => JSON.stringify(what));
      const from = said.findIndex((text) => text.includes("sign_in_failures.add"));
      const own = said.filter((_, at) => at >= from && query.mock.contexts[at] === query.mock.contexts[from]);
      return own.slice(0, own.findIndex((text) => /commit|rollback/i.test(text)) + 1);
    };
    const [known, unknown] = [await workFor("owner@example.org"), await workFor("nobody@example.org")];
    query.mockRestore();
    expect([known.length, known.at(-1)]).toEqual([3, expect.stringMatching(/commit/i)]);
    expect([unknown.length, unknown.at(-1)]).toEqual([3, known.at(-1)]);
  });
});
