// Projects and the people in them, over HTTP: invitations, roles, leaving, handing over, keys, removing, closing, and
// the record of all of it.
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { Account as ShownAccount, AccountPage } from "../../src/contract/api/account.ts";
import type { AuditPage, KeyMade, ProjectSettings } from "../../src/contract/api/projects.ts";
import { API_PATH } from "../../src/contract/api/route.ts";
import { PROJECTS_OWNED_MAX } from "../../src/core/limits.ts";
import { createLog } from "../../src/lib/log.ts";
import { changeProjectName } from "../../src/operations/projects.ts";
import { type Account, lockAccount } from "../../src/store/accounts.ts";
import { lockProject, renameProject } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { startSmtp } from "../receivers/smtp.ts";
import { useDashboard } from "../web/dashboard.ts";
import { locationOf, openBrowser } from "./browser.ts";

const smtp = await startSmtp();
const lines: string[] = [];
const cast = useDashboard({
  roles: ["web", "api", "ping", "notifier"],
  settings: {
    OVERDUE_SMTP_HOST: "127.0.0.1",
    OVERDUE_SMTP_PORT: String(smtp.port),
    OVERDUE_SMTP_TLS: "none",
    OVERDUE_MAIL_FROM: "Overdue <alerts@overdue.test>",
  },
  log: createLog({ level: "trace", destination: { write: (line: string) => void lines.push(line) } }),
});
afterAll(() => smtp.close());
beforeEach(async () => {
  smtp.received.length = 0;
  await cast.db.pool.query("delete from attempts");
});

const PROJECTS = "/api/overdue/v1/projects";
const path = (rest = "") => `${PROJECTS}/${cast.owner.project.uuid}${rest}`;
const settingsOf = async (as: Account): Promise<ProjectSettings> =>
  (await cast.browse(path(), { as })).json as ProjectSettings;

/** Makes a check in the owner's project and returns its UUID. */
async function makeCheck(body: object): Promise<string> {
  const made = await cast.ask("/api/v3/checks/", { method: "POST", key: cast.owner.rw, body });
  return (made.json as { ping_url: string }).ping_url.split("/").at(-1) ?? "";
}

async function mailedPath(address: string): Promise<string> {
  for (let tries = 0; tries < 800; tries++) {
    const found = smtp.received.find((mail) => mail.to.includes(address));
    const link = found && new RegExp(`${cast.site}(/[^\\s]+)`).exec(found.mail.text ?? "")?.[1];
    if (link !== undefined) return link;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no mail came to ${address}`);
}

describe("An invitation", () => {
  test("is emailed to a new user, creates the account and signs in, once", async () => {
    const email = "invited@example.org";
    const made = await cast.browse(path("/invitations"), {
      method: "POST",
      body: { email, role: "readOnly" },
    });
    expect([made.status, made.json]).toMatchObject([
      201,
      { link: null, settings: { invitations: [{ email }] } },
    ]);
    const link = await mailedPath(email);
    const browser = openBrowser(() => cast.site);
    expect((await browser.ask(link)).text).toContain("This creates an account for invited@example.org.");
    const joined = await browser.post(link, {});
    expect(locationOf(joined)).toBe(`/projects/${cast.owner.project.uuid}/checks/`);
    const account = (await browser.ask("/web/account")).json as AccountPage;
    expect(account.projects).toMatchObject([{ role: "readOnly" }]);
    expect((await openBrowser(() => cast.site).post(link, {})).status).toBe(404);
  });

  test("makes one account, also when two of them are accepted at once", async () => {
    const email = "twice@example.org";
    const second = (await cast.browse(PROJECTS, { method: "POST", body: { name: "Second" } })).json as {
      id: string;
    };
    const invite = async (id: string) => {
      smtp.received.length = 0;
      const body = { email, role: "member" };
      await cast.browse(`${PROJECTS}/${id}/invitations`, { method: "POST", body });
      return mailedPath(email);
    };
    const links = [await invite(cast.owner.project.uuid), await invite(second.id)];
    const answers = await Promise.all(links.map((link) => openBrowser(() => cast.site).post(link, {})));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    const entered = answers.filter((answer) => answer.headers.getSetCookie().length > 0);
    expect(entered, "whoever comes second signs in").toHaveLength(1);
    const places = answers.map(locationOf).filter((place) => place?.startsWith("/accounts/login/"));
    expect(places).toHaveLength(1);
  });

  test("opens no account that is there already: its owner signs in first", async () => {
    const email = cast.stranger.account.email;
    await cast.browse(path("/invitations"), { method: "POST", body: { email, role: "member" } });
    const link = await mailedPath(email);
    const browser = openBrowser(() => cast.site);
    expect((await browser.ask(link)).text).toContain("Sign in first");
    const refused = await browser.post(link, {});
    expect(locationOf(refused)).toBe(`/accounts/login/?next=${encodeURIComponent(link)}`);
    expect(refused.headers.getSetCookie()).toEqual([]);
    const accepted = await cast.browse(link, { method: "POST", as: cast.stranger.account, body: {} });
    expect(accepted.status).toBe(303);
    expect((await settingsOf(cast.stranger.account)).role).toBe("member");
  });

  test("whose time is over is listed no more", async () => {
    const email = "too-late@example.org";
    await cast.browse(path("/invitations"), { method: "POST", body: { email, role: "member" } });
    const listed = async () =>
      (await settingsOf(cast.owner.account)).invitations.some((invitation) => invitation.email === email);
    expect(await listed()).toBe(true);
    await cast.db.pool.query(
      "update invitations set expires_at = now() - interval '1 minute' where email = $1",
      [email],
    );
    expect(await listed()).toBe(false);
  });

  test("ends when its sender may no longer invite", async () => {
    const { mate } = cast;
    for (const end of ["demoted", "removed"]) {
      await cast.join(mate.account, "manager");
      const email = `back-door-${end}@example.org`;
      const body = { email, role: "manager" };
      await cast.browse(path("/invitations"), { method: "POST", as: mate.account, body });
      const link = await mailedPath(email);
      const member = path(`/members/${mate.account.uuid}`);
      const change = end === "demoted" ? { method: "PATCH", body: { role: "member" } } : { method: "DELETE" };
      expect((await cast.browse(member, change)).status).toBe(200);
      expect((await openBrowser(() => cast.site).post(link, {})).status).toBe(404);
    }
    await cast.join(mate.account, "member");
  });

  test("is judged once more when it is accepted", async () => {
    const { mate } = cast;
    await cast.join(mate.account, "manager");
    const body = { email: "slow@example.org", role: "readOnly" };
    await cast.browse(path("/invitations"), { method: "POST", as: mate.account, body });
    const link = await mailedPath(body.email);
    // However the right was lost.
    await cast.db.pool.query("update members set role = 'readOnly' where account_id = $1", [mate.account.id]);
    const browser = openBrowser(() => cast.site);
    expect([(await browser.ask(link)).status, (await browser.post(link, {})).status]).toEqual([404, 404]);
    await cast.join(mate.account, "member");
  });

  test("to the server ends when its sender is no longer an admin", async () => {
    const { owner, mate } = cast;
    const operators = [owner.account.id, mate.account.id];
    await cast.db.pool.query("update accounts set is_operator = true where id = any ($1)", [operators]);
    const links: string[] = [];
    for (const email of ["late-one@example.org", "late-two@example.org"]) {
      const made = { method: "POST", as: mate.account, body: { email } };
      expect((await cast.browse("/api/overdue/v1/admin/invitations", made)).status).toBe(201);
      links.push(await mailedPath(email));
    }
    const [first = "", second = ""] = links;
    expect((await openBrowser(() => cast.site).post(first, {})).status).toBe(303);
    const down = { method: "PATCH", body: { isAdmin: false } };
    expect((await cast.browse(`/api/overdue/v1/admin/accounts/${mate.account.uuid}`, down)).status).toBe(204);
    const { rows } = await cast.db.pool.query("select from invitations where email like 'late-%'");
    expect([rows.length, (await openBrowser(() => cast.site).post(second, {})).status]).toEqual([0, 404]);
    await cast.db.pool.query("update accounts set is_operator = false where id = $1", [owner.account.id]);
  });

  test("can be withdrawn, and is limited to twenty a day", async () => {
    const invite = (email: string) =>
      cast.browse(path("/invitations"), { method: "POST", body: { email, role: "member" } });
    const { settings } = (await invite("gone@example.org")).json as { settings: ProjectSettings };
    const id = settings.invitations.find(({ email }) => email === "gone@example.org")?.id;
    const link = await mailedPath("gone@example.org");
    expect((await cast.browse(path(`/invitations/${id}`), { method: "DELETE" })).status).toBe(200);
    expect((await openBrowser(() => cast.site).post(link, {})).status).toBe(404);
    expect((await invite("not an address")).status).toBe(400);
    expect((await invite(cast.mate.account.email)).status).toBe(409);
    for (let count = 0; count < 18; count++) await invite(`${count}@example.org`);
    expect((await invite("last@example.org")).status).toBe(429);
  });
});

describe("Two who change a project at once", () => {
  test("are written down with what each of them found", async () => {
    const { db, owner } = cast;
    const stale = owner.project;
    const by = { accountId: owner.account.id, keyId: null };
    const rename = async (name: string) =>
      changeProjectName(db, { project: stale, by, now: await cast.now(), name });
    const second = await inTransaction(db, async (tx) => {
      await lockProject(tx, stale.id);
      await renameProject(tx, { projectId: stale.id, name: "By the first" });
      const waiting = rename("By the second");
      await expect.poll(waiters, { timeout: 20_000, interval: 5 }).not.toEqual([]);
      return { waiting };
    });
    await second.waiting;
    await rename(stale.name);
    const { rows } = await db.pool.query<{ before: unknown; after: unknown }>(
      "select before, after from audit_entries where what = 'project.renamed' order by id desc limit 2",
    );
    expect(rows).toEqual([
      { before: { name: "By the second" }, after: { name: stale.name } },
      { before: { name: "By the first" }, after: { name: "By the second" } },
    ]);
  });

  test("wait for each other, also when that takes long", async () => {
    const { db, owner } = cast;
    const tries = new Set<string>();
    const late = await inTransaction(db, async (tx) => {
      await lockAccount(tx, owner.account.id);
      const waiting = cast.browse("/api/overdue/v1/account", {
        method: "PATCH",
        body: { theme: "dark" },
      });
      const countTries = async () => {
        for (const begun of await waiters()) tries.add(begun);
        return tries.size;
      };
      await expect.poll(countTries, { timeout: 20_000, interval: 5 }).toBeGreaterThan(1);
      return { waiting };
    });
    const { status, json } = await late.waiting;
    expect([status, (json as ShownAccount).theme]).toEqual([200, "dark"]);
  });

  /** When each transaction has begun that waits for a lock. */
  async function waiters(): Promise<string[]> {
    const { rows } = await cast.db.pool.query<{ begun: string }>(
      `select xact_start::text as begun from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.map(({ begun }) => begun);
  }
});

describe("Members", () => {
  test("are changed by owner and managers, who change neither the owner nor themselves", async () => {
    const { owner, mate, stranger } = cast;
    await cast.join(mate.account, "manager");
    await cast.join(stranger.account, "member");
    const change = (as: Account, who: Account, role: string) =>
      cast.browse(path(`/members/${who.uuid}`), { method: "PATCH", as, body: { role } });
    expect((await change(mate.account, stranger.account, "readOnly")).status).toBe(200);
    expect((await change(mate.account, owner.account, "member")).status).toBe(403);
    expect((await change(mate.account, mate.account, "member")).status).toBe(403);
    expect((await change(owner.account, owner.account, "member")).status).toBe(403);
    expect((await change(owner.account, stranger.account, "owner")).status).toBe(400);
    expect((await change(stranger.account, mate.account, "member")).status).toBe(403);
    const remove = (as: Account, who: Account) =>
      cast.browse(path(`/members/${who.uuid}`), { method: "DELETE", as });
    expect((await remove(mate.account, owner.account)).status).toBe(403);
    expect((await remove(mate.account, stranger.account)).status).toBe(200);
    expect((await cast.browse(path(), { as: stranger.account })).status).toBe(404);
    const left = await cast.browse(path("/leave"), { method: "POST", as: mate.account });
    expect([left.status, left.text]).toEqual([204, ""]);
    expect((await cast.browse(path("/leave"), { method: "POST" })).status).toBe(403);
  });

  test("who only read see neither keys nor invitations", async () => {
    await cast.join(cast.mate.account, "readOnly");
    const seen = await settingsOf(cast.mate.account);
    expect(seen).toMatchObject({ keys: [], pingKey: null, invitations: [], role: "readOnly" });
    expect(Object.values(seen.may).filter(Boolean)).toHaveLength(1);
    expect((await settingsOf(cast.owner.account)).keys.length).toBeGreaterThan(1);
    const check = `/api/overdue/v1/checks/${await makeCheck({ name: "Key", slug: "key" })}`;
    const { pingKey } = await settingsOf(cast.owner.account);
    expect((await cast.browse(check)).text).toContain(`${pingKey}/key`);
    expect((await cast.browse(check, { as: cast.mate.account })).text).not.toContain(pingKey);
    await fetch(`${cast.site}/ping/${pingKey}/no-such-check`);
    const waiting = (as: Account) => cast.browse(`${check}/setup`, { as });
    expect((await waiting(cast.owner.account)).text).toContain(pingKey);
    expect((await waiting(cast.mate.account)).text).not.toContain(pingKey);
  });
});

describe("A project", () => {
  test("is handed over to a member who accepts, and its owner becomes a member", async () => {
    const { owner, mate } = cast;
    await cast.join(mate.account, "member");
    const ask = (body: object) => cast.browse(path("/transfer"), { method: "PUT", body });
    expect((await ask({ account: cast.stranger.account.uuid })).status).toBe(400);
    expect((await ask({ account: owner.account.uuid })).status).toBe(400);
    expect((await ask({ account: mate.account.uuid })).status).toBe(200);
    expect(await mailedPath(mate.account.email)).toBe(`/projects/${owner.project.uuid}/settings/`);
    const act = (verb: string, as: Account) => cast.browse(path(`/transfer/${verb}`), { method: "POST", as });
    expect((await act("decline", mate.account)).status).toBe(204);
    expect((await act("accept", mate.account)).status).toBe(404);
    await ask({ account: mate.account.uuid });
    expect((await settingsOf(mate.account)).transfer).toMatchObject({ isMine: true });
    await cast.db.pool.query("update accounts set check_limit = 0 where id = $1", [mate.account.id]);
    await makeCheck({ name: "one" });
    expect((await act("accept", mate.account)).status).toBe(403);
    await cast.db.pool.query("update accounts set check_limit = null where id = $1", [mate.account.id]);
    await cast.db.pool.query(
      `with made as (
          insert into projects (uuid, name, badge_key, created_at)
            select gen_random_uuid(), 'one of many', gen_random_uuid(), now() from generate_series(1, $2::int)
            returning id
        ) insert into members (project_id, account_id, role, created_at) select id, $1, 'owner', now() from made`,
      [mate.account.id, PROJECTS_OWNED_MAX],
    );
    expect((await act("accept", mate.account)).text).toContain(
      `limit of ${PROJECTS_OWNED_MAX} owned projects`,
    );
    const another = { method: "POST", as: mate.account, body: { name: "one too many" } };
    expect((await cast.browse(`${API_PATH}/projects`, another)).status).toBe(409);
    await cast.db.pool.query(
      "delete from members m using projects p where p.id = m.project_id and p.name = 'one of many'",
    );
    const late = { email: "from-before@example.org", role: "manager" };
    await cast.browse(path("/invitations"), { method: "POST", body: late });
    const link = await mailedPath(late.email);
    expect((await act("accept", mate.account)).status).toBe(204);
    // What the former owner has sent ends with the right to send it.
    expect((await settingsOf(mate.account)).invitations?.map(({ email }) => email)).not.toContain(late.email);
    expect((await openBrowser(() => cast.site).post(link, {})).status).toBe(404);
    const roles = (await settingsOf(mate.account)).members.map(({ email, role }) => [email, role]);
    expect(Object.fromEntries(roles)).toMatchObject({
      "owner@example.org": "member",
      "mate@example.org": "owner",
    });
    await cast.db.pool.query("update members set role = 'readOnly' where account_id = $1", [mate.account.id]);
    await cast.join(owner.account, "owner");
  });

  test("gets keys that are shown once, work, and stop when they are revoked", async () => {
    const made = await cast.browse(path("/keys"), {
      method: "POST",
      body: { kind: "readOnly", name: "Grafana" },
    });
    const { key, settings } = made.json as KeyMade;
    expect(key).toMatch(/^odr_/);
    const row = settings.keys.find(({ name }) => name === "Grafana");
    expect(key.startsWith(row?.prefix ?? "?")).toBe(true);
    expect(JSON.stringify(settings)).not.toContain(key);
    expect((await cast.ask("/api/v3/checks/", { key })).status).toBe(200);
    expect((await cast.browse(path(`/keys/${row?.id}`), { method: "DELETE" })).status).toBe(200);
    expect((await cast.ask("/api/v3/checks/", { key })).status).toBe(401);
    const before = (await settingsOf(cast.owner.account)).pingKey;
    const after = ((await cast.browse(path("/ping-key"), { method: "POST" })).json as ProjectSettings)
      .pingKey;
    expect(after).not.toBe(before);
    const none = await cast.browse(path("/ping-key"), { method: "DELETE" });
    expect((none.json as ProjectSettings).pingKey).toBeNull();
  });

  test("is made, renamed, and removed with everything that the outside knows it by", async () => {
    const made = await cast.browse(PROJECTS, { method: "POST", body: { name: "  Shop  " } });
    const { id } = made.json as { id: string };
    expect(made.json).toEqual({ id, name: "Shop" });
    const own = `${PROJECTS}/${id}`;
    expect((await cast.browse(own, { method: "PATCH", body: { name: "Shop & Sons" } })).json).toMatchObject({
      name: "Shop & Sons",
    });
    const { key } = (
      await cast.browse(`${own}/keys`, { method: "POST", body: { kind: "readWrite", name: "" } })
    ).json as KeyMade;
    const check = (await cast.ask("/api/v3/checks/", { method: "POST", key, body: { name: "x" } })).json as {
      ping_url: string;
    };
    expect((await fetch(check.ping_url)).status).toBe(200);
    expect((await cast.browse(own, { method: "DELETE" })).status).toBe(204);
    expect((await cast.browse(own)).status).toBe(404);
    expect((await cast.ask("/api/v3/checks/", { key })).status).toBe(401);
    expect((await fetch(check.ping_url)).status).toBe(404);
  });

  test("that was removed is entered by no invitation that was still under way", async () => {
    const made = await cast.browse(PROJECTS, { method: "POST", body: { name: "Gone" } });
    const own = `${PROJECTS}/${(made.json as { id: string }).id}`;
    const body = { email: "late@example.org", role: "manager" };
    await cast.browse(`${own}/invitations`, { method: "POST", body });
    const link = await mailedPath(body.email);
    expect((await cast.browse(own, { method: "DELETE" })).status).toBe(204);
    const browser = openBrowser(() => cast.site);
    expect((await browser.post(link, {})).status).toBe(404);
    expect((await browser.ask(own)).status).toBe(401);
  });
});

describe("The record", () => {
  test("says who changed what, before and after, page by page, and holds no secret", async () => {
    await cast.browse(path(), { method: "PATCH", body: { name: "Renamed" } });
    const { key } = (
      await cast.browse(path("/keys"), { method: "POST", body: { kind: "readWrite", name: "CI" } })
    ).json as KeyMade;
    const page = (await cast.browse(path("/audit"))).json as AuditPage;
    expect(page.entries[0]).toMatchObject({
      who: "owner@example.org",
      by: "person",
      what: "key.created",
      words: "created an API key",
      subject: "CI",
      after: { kind: "readWrite", name: "CI" },
    });
    expect(page.entries[1]).toMatchObject({
      what: "project.renamed",
      before: {},
      after: { name: "Renamed" },
    });
    await cast.db.pool.query(
      `insert into audit_entries (project_id, what, subject, at) select $1, 'check.created', n, now() from generate_series(1, 150) n`,
      [cast.owner.project.id],
    );
    const first = (await cast.browse(path("/audit"))).json as AuditPage;
    const second = (await cast.browse(path(`/audit?cursor=${first.next}`))).json as AuditPage;
    expect(first.entries).toHaveLength(100);
    expect(second.entries[0]?.id).toBeLessThan(first.entries.at(-1)?.id ?? 0);
    const { rows } = await cast.db.pool.query<{ text: string }>(
      "select audit_entries::text as text from audit_entries",
    );
    const written = rows.map(({ text }) => text).join("\n");
    expect(written).not.toContain(key);
    expect(written).not.toMatch(/od[rw]_[A-Za-z0-9]{20}/);
    expect(lines.join("")).not.toContain(key);
    expect(lines.join("")).not.toMatch(/overdue_session=[\w-]{20}/);
  });
});

describe("An account that is closed", () => {
  test("deletes all personal data, once nothing depends on the account", async () => {
    const { owner, stranger } = cast;
    await cast.join(stranger.account, "member");
    const close = (as: Account, email: string) =>
      cast.browse("/web/account/close", { method: "POST", as, body: { email } });
    const shared = await close(owner.account, owner.account.email);
    expect([shared.status, (shared.json as { error: string }).error]).toEqual([
      409,
      expect.stringContaining("You own projects with other members"),
    ]);
    expect((await close(stranger.account, "somebody@else.org")).status).toBe(400);
    await cast.browse(path(`/members/${stranger.account.uuid}`), {
      method: "PATCH",
      body: { role: "manager" },
    });
    const signedIn = async () =>
      (await cast.db.pool.query("select from sign_ins where account_id = $1", [stranger.account.id]))
        .rowCount;
    expect(await signedIn()).toBeGreaterThan(0);
    expect((await close(stranger.account, stranger.account.email)).status).toBe(200);
    expect(await signedIn()).toBe(0);
    expect((await cast.browse("/web/account", { as: stranger.account })).status).toBe(401);
    const tables = [
      "accounts",
      "sessions",
      "preferences",
      "members",
      "audit_entries",
      "sign_in_tokens",
      "invitations",
      "letters",
    ];
    for (const table of tables) {
      const { rows } = await cast.db.pool.query<{ text: string }>(`select t::text as text from ${table} t`);
      expect([table, rows.filter(({ text }) => text.includes(stranger.account.email))]).toEqual([table, []]);
    }
    expect((await cast.ask("/api/v3/checks/", { key: stranger.rw })).status).toBe(401);
  });
});

test("the time zone of a project is UTC until it is set, and a change is audited", async () => {
  const set = (zone: string) => cast.browse(path(), { method: "PATCH", body: { zone } });
  expect((await settingsOf(cast.owner.account)).zone).toBe("UTC");
  const done = await set("Europe/Riga");
  expect([done.status, (done.json as ProjectSettings).zone]).toEqual([200, "Europe/Riga"]);
  expect((await set("Europe/Atlantis")).status).toBe(400);
  expect((await settingsOf(cast.owner.account)).zone).toBe("Europe/Riga");
  const record = (await cast.browse(path("/audit"))).json as AuditPage;
  expect(record.entries[0]).toMatchObject({
    what: "project.zoneChanged",
    before: { zone: "UTC" },
    after: { zone: "Europe/Riga" },
  });
});
