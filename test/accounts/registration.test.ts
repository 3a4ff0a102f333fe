// Who gets an account: anybody where registration is open, by a link that only the mailbox has; and by hand where no
// mail is sent at all.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { AccountPage } from "../../src/contract/api/account.ts";
import type { AdminAccounts, Retention, ServerState } from "../../src/contract/api/admin.ts";
import type { ProjectSettings } from "../../src/contract/api/projects.ts";
import { linkToken } from "../../src/core/sign-in.ts";
import { openLog } from "../../src/operations/log.ts";
import { signingWith } from "../../src/operations/secrets.ts";
import { registerIntake } from "../../src/store/intakes.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDashboard } from "../web/dashboard.ts";
import { locationOf, openBrowser } from "./browser.ts";
import { withApp } from "./with-app.ts";

const open = useDashboard({
  roles: ["web", "api"],
  settings: { OVERDUE_SMTP_HOST: "127.0.0.1", OVERDUE_REGISTRATION_OPEN: "true" },
});
const mute = useDashboard({ roles: ["web", "api"] });

/** The path of the link that a mail would have. */
async function linkOf(email: string): Promise<string> {
  const { rows } = await open.db.pool.query<{ uuid: string }>(
    "select uuid from sign_in_tokens where email = $1 and purpose = 'register' and used_at is null",
    [email],
  );
  expect(rows).toHaveLength(1);
  const signing = signingWith({ current: open.secretKey, previous: null });
  return `/accounts/link/${linkToken(signing, { purpose: "register", uuid: rows[0]?.uuid ?? "" })}/`;
}

describe("Where registration is open", () => {
  test("an account with a project is created when the link is used, and not before", async () => {
    const browser = openBrowser(() => open.site);
    await browser.post("/accounts/login/link/", { email: "New@Example.org" });
    const first = await linkOf("new@example.org");
    await browser.post("/accounts/login/link/", { email: "new@example.org" });
    const second = await linkOf("new@example.org");
    const count = async () =>
      (await open.db.pool.query("select from accounts where email = 'new@example.org'")).rowCount;
    expect(await count()).toBe(0);
    expect((await browser.post(first, {})).status).toBe(404);
    expect((await browser.ask(second)).text).toContain("Create your account");
    expect(locationOf(await browser.post(second, {}))).toBe("/");
    const page = (await browser.ask("/web/account")).json as AccountPage;
    expect(page).toMatchObject({ email: "new@example.org", isAdmin: false, hasPassword: false });
    expect(page.projects).toMatchObject([{ name: "My project", role: "owner" }]);
    expect(await count()).toBe(1);
  });

  test("a link of one purpose opens nothing else", async () => {
    const browser = openBrowser(() => open.site);
    await browser.post("/accounts/login/link/", { email: "other@example.org" });
    const token = (await linkOf("other@example.org")).split("/")[3] ?? "";
    for (const page of ["setup", "change_email", "invitation"]) {
      expect((await browser.ask(`/accounts/${page}/${token}/`)).status).toBe(404);
    }
    await open.db.pool.query("update sign_in_tokens set expires_at = created_at");
    expect((await browser.post(`/accounts/link/${token}/`, {})).status).toBe(404);
  });
});

describe("Without a mail server", () => {
  test("the sign-in page mentions the setup link while there is no admin", async () => {
    const read = async () => (await openBrowser(() => mute.site).ask("/accounts/login/")).text;
    expect(await read()).toContain("No admin account yet.");
    await mute.db.pool.query("update accounts set is_operator = true where id = $1", [mute.mate.account.id]);
    expect(await read()).not.toContain("No admin account yet.");
    await mute.db.pool.query("update accounts set is_operator = false");
  });

  test("the page says what to do, and asks for no link", async () => {
    const browser = openBrowser(() => mute.site);
    const page = await browser.ask("/accounts/login/");
    expect(page.text).toContain("overdue admin account login-link");
    expect(page.text).not.toContain("Email me a link");
    expect((await browser.post("/accounts/login/link/", { email: "owner@example.org" })).status).toBe(400);
  });

  test("operators get the link of an invitation to pass on, and nobody else does", async () => {
    const path = `/api/overdue/v1/projects/${mute.owner.project.uuid}/invitations`;
    const invite = (email: string) => mute.browse(path, { method: "POST", body: { email, role: "member" } });
    const invitesBy = async () =>
      ((await mute.browse(path.replace("/invitations", ""))).json as ProjectSettings).invitesBy;
    expect((await invite("a@example.org")).status).toBe(400);
    expect(await invitesBy()).toBeNull();
    await mute.db.pool.query("update accounts set is_operator = true where id = $1", [mute.owner.account.id]);
    expect(await invitesBy()).toBe("link");
    const { link } = (await invite("b@example.org")).json as { link: string };
    expect(link.startsWith(`${mute.site}/accounts/invitation/`)).toBe(true);
    const browser = openBrowser(() => mute.site);
    const joined = await browser.post(link.slice(mute.site.length), { password: "a long way in" });
    expect(locationOf(joined)).toBe(`/projects/${mute.owner.project.uuid}/checks/`);
  });

  test("an invited user chooses a password, because no email link is available", async () => {
    await mute.db.pool.query("update accounts set is_operator = true where id = $1", [mute.owner.account.id]);
    const invited = await mute.browse(`/api/overdue/v1/projects/${mute.owner.project.uuid}/invitations`, {
      method: "POST",
      body: { email: "guest@example.org", role: "member" },
    });
    const path = (invited.json as { link: string }).link.slice(mute.site.length);
    const browser = openBrowser(() => mute.site);
    expect((await browser.ask(path)).text).toContain("Choose a password");
    for (const form of [{}, { password: "short" }]) {
      const again = await browser.post(path, form);
      expect([again.status, again.text.includes("The password must have at least 8 characters.")]).toEqual([
        400,
        true,
      ]);
    }
    expect((await browser.post(path, { password: "a long way in" })).status).toBe(303);
    const back = openBrowser(() => mute.site);
    const login = { email: "guest@example.org", password: "a long way in" };
    expect(locationOf(await back.post("/accounts/login/password/", login))).toBe("/");
  });

  test("invitations of an admin end when admin rights are revoked, also to projects", async () => {
    const { owner, mate } = mute;
    const operators = [owner.account.id, mate.account.id];
    await mute.db.pool.query("update accounts set is_operator = true where id = any ($1)", [operators]);
    await mute.join(mate.account, "manager");
    const made = { method: "POST", as: mate.account, body: { email: "kept@example.org", role: "member" } };
    const invited = await mute.browse(`/api/overdue/v1/projects/${owner.project.uuid}/invitations`, made);
    const path = (invited.json as { link: string }).link.slice(mute.site.length);
    expect((await openBrowser(() => mute.site).ask(path)).status).toBe(200);
    const down = { method: "PATCH", body: { isAdmin: false } };
    expect((await mute.browse(`/api/overdue/v1/admin/accounts/${mate.account.uuid}`, down)).status).toBe(204);
    expect((await openBrowser(() => mute.site).post(path, {})).status).toBe(404);
    const { rows } = await mute.db.pool.query(
      "select project_id from audit_entries where what = 'member.inviteEnded' and subject = 'kept@example.org'",
    );
    expect(rows).toEqual([{ project_id: owner.project.id }]);
  });

  test("an admin sees accounts and state, sets limits, and cannot be the last one to leave", async () => {
    const admin = (method: string, path: string, body?: unknown) =>
      mute.browse(`/api/overdue/v1/admin/${path}`, { method, ...(body !== undefined && { body }) });
    const { accounts, invitesBy } = (await admin("GET", "accounts")).json as AdminAccounts;
    expect(invitesBy).toBe("link");
    expect(accounts.map(({ email }) => email)).toContain("mate@example.org");
    const mate = accounts.find(({ email }) => email === "mate@example.org");
    expect((await admin("PATCH", `accounts/${mate?.id}`, { checkLimit: 7 })).status).toBe(204);
    const after = ((await admin("GET", "accounts")).json as AdminAccounts).accounts;
    expect(after.find(({ id }) => id === mate?.id)).toMatchObject({ checkLimit: 7, hasOwnLimit: true });
    const own = accounts.find(({ email }) => email === "owner@example.org");
    expect((await admin("PATCH", `accounts/${own?.id}`, { isAdmin: false })).status).toBe(409);
    const state = (await admin("GET", "state")).json as ServerState;
    expect(state).toMatchObject({
      sendsMail: false,
      registrationOpen: false,
      sweeperLagMs: 0,
      unsentCount: 0,
    });
    expect(state.migrations.map(({ name }) => name)).toContain("0001_initial");
    const invited = await admin("POST", "invitations", { email: "c@example.org" });
    expect((invited.json as { link: string }).link).toContain("/accounts/invitation/");
    const { entries } = (await admin("GET", "audit")).json as { entries: { what: string }[] };
    expect(entries.map(({ what }) => what)).toEqual(
      expect.arrayContaining(["account.limitChanged", "member.invited"]),
    );
    const closed = await mute.browse("/web/account/close", {
      method: "POST",
      body: { email: "owner@example.org" },
    });
    expect(closed.status).toBe(409);
  });

  test("the state is judged by the rules that tell the operator, also where no sweeper runs", async () => {
    const read = async () => (await mute.browse("/api/overdue/v1/admin/state")).json as ServerState;
    expect(await read()).toMatchObject({
      health: { receiving: null, monitoring: true, notifications: true, email: null, database: true },
      problems: [],
      problemCount: 0,
    });
    const at = Date.now() - 15_000;
    const intake = { id: randomUUID(), name: "host/1", startedAt: at, leaseUntilAt: at + 600_000 };
    await inTransaction(mute.db, (tx) =>
      registerIntake(tx, { ...intake, watermarkAt: at, spoolEmpty: true }),
    );
    expect(await read()).toMatchObject({ health: { receiving: true }, problems: [], problemCount: 0 });
    await mute.db.pool.query("update intakes set watermark_at = watermark_at - interval '46 seconds'");
    expect(await read()).toMatchObject({
      health: { receiving: false },
      problems: [{ kind: "watermarkHeld" }],
      problemCount: 1,
    });
    await mute.db.pool.query("delete from intakes");
  });

  test("with a log, the state names the processes that append pings, and how far recorders are", async () => {
    const read = async () => (await mute.browse("/api/overdue/v1/admin/state")).json as ServerState;
    expect((await read()).log).toBeNull();
    await openLog(mute.db, { topicId: randomUUID(), ends: [0, 0] });
    const at = Date.now();
    const edge = { n: 1, enteredAt: at - 60_000, at: at - 2_000, watermarkAt: at - 20_000, closedAt: null };
    const edges = { open: edge, closed: { ...edge, closedAt: at } };
    await mute.db.pool.query(
      "update log_partitions set edges = $1, watermark_at = to_timestamp($2 / 1000.0) where partition = 0",
      [JSON.stringify(edges), at - 20_000],
    );
    await mute.db.pool.query("update log_partitions set stopped = 'gone' where partition = 1");
    const { log, intakes, pingsPerMinute } = await read();
    expect(log).toMatchObject({ partitions: 2, stopped: 1, recorders: 0 });
    expect(log?.behindMs).toBeGreaterThanOrEqual(20_000);
    expect([intakes.map(({ name, startedAt }) => [name, startedAt]), pingsPerMinute]).toEqual([
      [["edge open", at - 60_000]],
      null,
    ]);
    await mute.db.pool.query("truncate intakes, log_partitions, blind_intervals cascade");
  });

  test("the state says how many signals come, of all who receive and are not lost", async () => {
    const read = async () => (await mute.browse("/api/overdue/v1/admin/state")).json as ServerState;
    expect(await read()).toMatchObject({ pingsPerMinute: 0, intakes: [] });
    const at = Date.now();
    for (const [name, leaseUntilAt] of Object.entries({
      "a/1": at + 600_000,
      "b/1": at + 600_000,
      "c/1": at - 60_000,
    })) {
      const intake = {
        id: randomUUID(),
        name,
        startedAt: at,
        leaseUntilAt,
        watermarkAt: at,
        spoolEmpty: true,
      };
      await inTransaction(mute.db, (tx) => registerIntake(tx, intake));
    }
    // One of them is of the release before, and does not say.
    await mute.db.pool.query("update intakes set signals_per_minute = 40 where name <> 'b/1'");
    const state = await read();
    expect(state.pingsPerMinute).toBe(40);
    const told = state.intakes.map(({ name, pingsPerMinute }) => [name, pingsPerMinute] as const);
    expect(Object.fromEntries(told)).toEqual({ "a/1": 40, "b/1": null, "c/1": 40 });
    await mute.db.pool.query("delete from intakes");
  });

  test("what is kept is told with its bounds and its size, the largest first, to operators alone", async () => {
    const { retention, hasObjectStore } = (await mute.browse("/api/overdue/v1/admin/retention"))
      .json as Retention;
    expect(hasObjectStore).toBe(false);
    const limitOf = Object.fromEntries(retention.map(({ data, limit }) => [data, limit]));
    expect(limitOf).toMatchObject({
      pings: { by: "perCheck", count: 1_000, days: null },
      runs: { by: "days", days: 93 },
      checks: { by: "deletion", days: 7 },
      signIns: { by: "days", days: 180 },
      other: null,
    });
    expect(retention.at(-1)?.data).toBe("other");
    const sizes = retention.slice(0, -1).map(({ bytes }) => bytes);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(sizes.every((bytes) => bytes > 0)).toBe(true);
    expect((await mute.browse("/api/overdue/v1/admin/retention", { as: mute.mate.account })).status).not.toBe(
      200,
    );
  });

  test("a profile is changed, with its time zone, and nonsense is refused with a sentence", async () => {
    const change = (body: object) => mute.browse("/api/overdue/v1/account", { method: "PATCH", body });
    expect((await mute.browse("/web/account")).json).toMatchObject({ zone: null });
    const changed = await change({ name: " Ann ", theme: "dark", zone: "Europe/Riga", reports: "weekly" });
    expect(changed.json).toMatchObject({
      name: "Ann",
      theme: "dark",
      zone: "Europe/Riga",
      reports: "weekly",
      reminders: "off",
    });
    expect((await mute.browse("/web/account")).json).toMatchObject({
      name: "Ann",
      theme: "dark",
      zone: "Europe/Riga",
    });
    expect((await change({ zone: null })).json).toMatchObject({ zone: null, reports: "weekly" });
    for (const wrong of [
      { zone: "Europe/Nowhere" },
      { theme: "pink" },
      { name: "x".repeat(300) },
      { isAdmin: true },
    ]) {
      expect((await change(wrong)).status).toBe(400);
    }
  });

  test.each([
    ["the password is set anew", "PUT", "/password", { password: "other words in a row" }],
    ["all other sessions are ended", "POST", "/sessions/end-others", {}],
  ])("who has given the password begins anew when %s", async (_what, method, path, body) => {
    const { account } = mute.owner;
    const password = "a few words in a row";
    await mute.browse("/web/account/password", { method: "PUT", body: { password } });
    const { codes } = await withApp(mute, account);
    const waiting = openBrowser(() => mute.site);
    const asked = await waiting.post("/accounts/login/password/", { email: account.email, password });
    expect(locationOf(asked)).toBe("/accounts/login/two_factor/");
    expect((await mute.browse(`/web/account${path}`, { method, body })).status).toBe(200);
    expect((await waiting.post("/accounts/login/two_factor/", { code: codes[0] ?? "" })).status).toBe(401);
    expect((await waiting.ask("/web/account")).status).toBe(401);
    await mute.db.pool.query("delete from authenticators");
  });

  test("choices that are made at once are all kept", async () => {
    const change = (body: object) => mute.browse("/api/overdue/v1/account", { method: "PATCH", body });
    for (const [theme, zone] of [
      ["light", "Asia/Tokyo"],
      ["dark", "Europe/Riga"],
      ["light", "UTC"],
    ]) {
      const reports = theme === "dark" ? "weekly" : "monthly";
      await Promise.all([change({ theme }), change({ zone }), change({ reports }), change({ name: zone })]);
      expect((await mute.browse("/web/account")).json).toMatchObject({
        theme,
        zone,
        reports,
        name: zone,
      });
    }
  });
});
