// Personal access tokens: creation, scopes, expiration, revocation, precedence of credentials, storage, and limits.
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { API_PATH, isRead, type RouteDefinition } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";
import type { TokenList, TokenRow } from "../../src/contract/api/tokens.ts";
import { TOKEN_SCOPES, type TokenScope } from "../../src/core/access.ts";
import { DAY_MS } from "../../src/core/instant.ts";
import { ACCESS_TOKENS_MAX, EXPIRED_ACCESS_TOKEN_DAYS } from "../../src/core/limits.ts";
import { DEFAULT_RETENTION } from "../../src/core/retention.ts";
import { createLog } from "../../src/lib/log.ts";
import { createAccount } from "../../src/operations/accounts.ts";
import { closeAccount } from "../../src/operations/profile.ts";
import { pruneHistory } from "../../src/operations/prune-history.ts";
import type { Account } from "../../src/store/accounts.ts";
import { type Reply, UNKNOWN_UUID } from "../management/cast.ts";
import { type Dashboard, useDashboard } from "../web/dashboard.ts";

const CREATE = "/web/account/tokens";
const LIST = `${API_PATH}/account/tokens`;
const lines: string[] = [];
const cast = useDashboard({
  log: createLog({ level: "trace", destination: { write: (line: string) => void lines.push(line) } }),
});

type Given = { as?: Account; scope?: TokenScope; name?: string; expiresInDays?: number };

async function newToken(at: Dashboard, given: Given = {}): Promise<string> {
  const { as = at.owner.account, scope = "read", name = "CI", expiresInDays = 30 } = given;
  const reply = await at.browse(CREATE, { method: "POST", as, body: { name, scope, expiresInDays } });
  expect(reply.status, reply.text).toBe(201);
  return (reply.json as { token: string }).token;
}

let accountCount = 0;

/** An account that no other test uses. */
async function newAccount(isAdmin = false): Promise<Account> {
  accountCount += 1;
  const email = `tokens-${accountCount}@example.org`;
  return createAccount(cast.db, { email, name: "", isAdmin, checkLimit: null, now: await cast.now() });
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const ask = (path: string, token: string, given: { method?: string; body?: unknown } = {}): Promise<Reply> =>
  cast.ask(path, { ...given, headers: bearer(token) });

async function listed(token: string): Promise<TokenRow[]> {
  return ((await ask(LIST, token)).json as TokenList).tokens;
}

/** The `detail` of an error response. */
function detailOf({ text }: Reply): string {
  return (JSON.parse(text) as { detail: string }).detail;
}

const expire = (account: Account, ago = "1 second") =>
  cast.db.pool.query(
    "update access_tokens set created_at = now() - interval '1 year', expires_at = now() - $2::interval where account_id = $1",
    [account.id, ago],
  );

describe("creating", () => {
  test("returns a token with a recognizable prefix, which works and is listed without its text", async () => {
    const as = await newAccount();
    const token = await newToken(cast, { as, scope: "write", name: "  Terraform  ", expiresInDays: 7 });
    expect(token).toMatch(/^ovd_[\w-]{43}$/);
    const reply = await ask(LIST, token);
    expect(reply.status).toBe(200);
    expect(reply.text).not.toContain(token);
    const [row] = (reply.json as TokenList).tokens;
    expect(row).toMatchObject({
      name: "Terraform",
      scope: "write",
      prefix: token.slice(0, 12),
      isExpired: false,
    });
    expect((row?.expiresAt ?? 0) - (row?.createdAt ?? 0)).toBe(7 * DAY_MS);
  });

  test("needs a session that was re-authenticated recently", async () => {
    const as = await newAccount();
    const body = { name: "CI", scope: "read", expiresInDays: 30 };
    await newToken(cast, { as });
    await cast.db.pool.query(
      "update sessions set proven_at = now() - interval '31 minutes' where account_id = $1",
      [as.id],
    );
    const stale = await cast.browse(CREATE, { method: "POST", as, body });
    expect(stale.status).toBe(403);
    expect(stale.json).toMatchObject({ reauth: true });
    expect((await cast.browse(CREATE, { method: "POST", as: null, body })).status).toBe(401);
    const elsewhere = { Origin: "https://elsewhere.example.org", "Sec-Fetch-Site": "cross-site" };
    expect((await cast.browse(CREATE, { method: "POST", as, body, headers: elsewhere })).status).toBe(403);
  });

  test("is not possible with a token, whatever its scope", async () => {
    const token = await newToken(cast, { as: await newAccount(), scope: "admin" });
    const body = { name: "CI", scope: "admin", expiresInDays: 365 };
    const origin = { Origin: cast.site, "Sec-Fetch-Site": "same-origin" };
    const headers = { ...bearer(token), ...origin, "Content-Type": "application/json" };
    expect((await cast.ask(CREATE, { method: "POST", headers, body })).status).toBe(401);
    expect((await ask(LIST, token, { method: "POST", body })).status).toBe(405);
  });

  test.each([
    ["an empty name", { name: "" }],
    ["a blank name", { name: "   " }],
    ["a long name", { name: "x".repeat(101) }],
    ["a name that cannot be stored", { name: "a\u0000b" }],
    ["an unknown scope", { scope: "everything" }],
    ["no day", { expiresInDays: 0 }],
    ["more than a year", { expiresInDays: 366 }],
    ["half a day", { expiresInDays: 0.5 }],
    ["no expiration", { expiresInDays: null }],
    ["an unknown field", { isAdmin: true }],
  ])("is refused with %s", async (_, change) => {
    const body = { name: "CI", scope: "read", expiresInDays: 30, ...change };
    const reply = await cast.browse(CREATE, { method: "POST", body });
    expect(reply.status, reply.text).toBe(400);
  });

  test("is limited for each account; expired tokens do not count", async () => {
    const as = await newAccount();
    const fill = (count: number) =>
      cast.db.pool.query(
        `insert into access_tokens (uuid, account_id, name, scope, prefix, digest, created_at, expires_at)
         select gen_random_uuid(), $1, 'n', 'read', 'ovd_', sha256(gen_random_uuid()::text::bytea), now(),
           now() + interval '1 day' from generate_series(1, $2::int)`,
        [as.id, count],
      );
    await fill(ACCESS_TOKENS_MAX - 1);
    const token = await newToken(cast, { as });
    expect(await listed(token)).toHaveLength(ACCESS_TOKENS_MAX);
    const body = { name: "CI", scope: "read", expiresInDays: 30 };
    const beyond = await cast.browse(CREATE, { method: "POST", as, body });
    expect(beyond.status).toBe(409);
    expect(beyond.text).toContain("at most 50 personal access tokens");
    await expire(as);
    expect(await listed(await newToken(cast, { as }))).toHaveLength(1);
  });

  test("stays within the limit when many are created at once", async () => {
    const as = await newAccount();
    await cast.db.pool.query(
      `insert into access_tokens (uuid, account_id, name, scope, prefix, digest, created_at, expires_at)
       select gen_random_uuid(), $1, 'n', 'read', 'ovd_', sha256(gen_random_uuid()::text::bytea), now(),
         now() + interval '1 day' from generate_series(1, $2::int)`,
      [as.id, ACCESS_TOKENS_MAX - 1],
    );
    const body = { name: "CI", scope: "read", expiresInDays: 30 };
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => cast.browse(CREATE, { method: "POST", as, body })),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(replies.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
  });

  test("and revoking are in the audit log, and the owner gets an email about a new token", async () => {
    const as = await newAccount();
    const token = await newToken(cast, { as, scope: "write", name: "Terraform" });
    const [row] = await listed(token);
    expect((await ask(`${LIST}/${row?.id}`, token, { method: "DELETE" })).status).toBe(204);
    const { rows } = await cast.db.pool.query<{ what: string; before: object; after: object }>(
      "select what, before, after from audit_entries where account_id = $1 and what like 'account.token%' order by id",
      [as.id],
    );
    const side = { name: "Terraform", scope: "write", expiresAt: row?.expiresAt };
    expect(rows).toEqual([
      { what: "account.tokenCreated", before: null, after: side },
      { what: "account.tokenRevoked", before: side, after: null },
    ]);
    const emails = await cast.db.pool.query<{ about: object }>(
      "select about from letters where account_id = $1 and kind = 'security'",
      [as.id],
    );
    expect(emails.rows).toEqual([{ about: { what: "tokenCreated" } }]);
  });
});

describe("scopes", () => {
  const needed = (route: RouteDefinition): TokenScope =>
    route.access === "admin" || route.reauth === true ? "admin" : isRead(route) ? "read" : "write";
  const routes = Object.entries<RouteDefinition>(API_ROUTES).filter(([, { access }]) => access !== "anyone");

  test("decide about every route of the API", { timeout: 120_000 }, async () => {
    // A server admin without a project: nothing that is allowed finds anything to change.
    const as = await newAccount(true);
    const tokens = new Map<TokenScope, string>();
    for (const scope of TOKEN_SCOPES) tokens.set(scope, await newToken(cast, { as, scope }));
    const wrong: string[] = [];
    let count = 0;
    for (const [id, route] of routes) {
      const path = API_PATH + route.path.replaceAll(/\{\w+\}/g, UNKNOWN_UUID);
      for (const [scope, token] of tokens) {
        const isAllowed = TOKEN_SCOPES.indexOf(scope) >= TOKEN_SCOPES.indexOf(needed(route));
        // What is allowed and names nothing would be done: that is for the tests of the route.
        if (isAllowed && route.method !== "GET" && !route.path.includes("{")) continue;
        if (isAllowed && route.success.type === "text/event-stream" && !route.path.includes("{")) continue;
        const body = route.body === undefined ? {} : { body: {} };
        const reply = await ask(path, token, { method: route.method, ...body });
        const isRefused = reply.status === 403 && detailOf(reply).includes(`the scope "${needed(route)}"`);
        count += 1;
        if (isAllowed ? isRefused || reply.status === 401 : !isRefused) {
          wrong.push(`${id} with the scope ${scope}: ${reply.status} ${reply.text.slice(0, 200)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(40);
  });

  test("admin does not make an admin of its owner, and ends with the owner's rights", async () => {
    const as = await newAccount(true);
    const token = await newToken(cast, { as, scope: "admin" });
    const adminRoutes = routes.filter(([, { access, method }]) => access === "admin" && method === "GET");
    await cast.db.pool.query("update accounts set is_operator = false where id = $1", [as.id]);
    for (const [, { path }] of adminRoutes) {
      const reply = await ask(API_PATH + path.replaceAll(/\{\w+\}/g, UNKNOWN_UUID), token);
      expect(reply.status, path).toBe(404);
    }
  });

  test("do not extend the role in a project", async () => {
    const { owner, mate, stranger } = cast;
    const token = await newToken(cast, { as: mate.account, scope: "admin" });
    const project = `${API_PATH}/projects/${owner.project.uuid}`;
    expect((await ask(project, token)).status).toBe(200);
    expect((await ask(project, token, { method: "DELETE" })).status).toBe(403);
    expect((await ask(`${API_PATH}/projects/${stranger.project.uuid}`, token)).status).toBe(404);
    await cast.db.pool.query("delete from members where project_id = $1 and account_id = $2", [
      owner.project.id,
      mate.account.id,
    ]);
    expect((await ask(project, token)).status).toBe(404);
    await cast.join(mate.account, "member");
  });

  test("write creates a project, admin deletes it without a session", async () => {
    const as = await newAccount();
    const read = await newToken(cast, { as, scope: "read" });
    const write = await newToken(cast, { as, scope: "write" });
    const admin = await newToken(cast, { as, scope: "admin" });
    const create = { method: "POST", body: { name: "Backups" } };
    expect((await ask(`${API_PATH}/projects`, read, create)).status).toBe(403);
    const created = await ask(`${API_PATH}/projects`, write, create);
    expect(created.status, created.text).toBe(201);
    const path = `${API_PATH}/projects/${(created.json as { id: string }).id}`;
    expect((await ask(path, read)).status).toBe(200);
    expect((await ask(path, write, { method: "DELETE" })).status).toBe(403);
    expect((await ask(path, admin, { method: "DELETE" })).status).toBe(204);
    expect((await ask(path, read)).status).toBe(404);
  });
});

describe("a token stops working", () => {
  test("when it expires; it stays listed for a while, and is deleted then", async () => {
    const as = await newAccount();
    const token = await newToken(cast, { as });
    expect((await ask(LIST, token)).status).toBe(200);
    await expire(as);
    const reply = await ask(LIST, token);
    expect(reply.status).toBe(401);
    expect(detailOf(reply)).toBe("The API key or token is invalid, expired, or revoked.");
    expect(reply.headers.get("www-authenticate")).toBe("Bearer");
    const rows = async () => ((await cast.browse(LIST, { as })).json as TokenList).tokens;
    expect(await rows()).toMatchObject([{ isExpired: true }]);
    await pruneHistory(cast.db, { retention: DEFAULT_RETENTION, now: await cast.now() });
    expect(await rows()).toHaveLength(1);
    await expire(as, `${EXPIRED_ACCESS_TOKEN_DAYS} days 1 minute`);
    await pruneHistory(cast.db, { retention: DEFAULT_RETENTION, now: await cast.now() });
    expect(await rows()).toEqual([]);
  });

  test("when it is revoked, by its owner only", async () => {
    const as = await newAccount();
    const token = await newToken(cast, { as });
    const reader = await newToken(cast, { as, name: "reader" });
    const other = await newToken(cast, { as: await newAccount(), scope: "write" });
    const id = (await listed(token)).find(({ name }) => name === "CI")?.id ?? "";
    expect((await ask(`${LIST}/${id}`, reader, { method: "DELETE" })).status).toBe(403);
    expect((await ask(`${LIST}/${id}`, other, { method: "DELETE" })).status).toBe(404);
    expect((await ask(`${LIST}/nonsense`, other, { method: "DELETE" })).status).toBe(404);
    expect((await ask(LIST, token)).status).toBe(200);
    expect((await cast.browse(`${LIST}/${id}`, { method: "DELETE", as })).status).toBe(204);
    expect((await ask(LIST, token)).status).toBe(401);
    expect((await ask(LIST, reader)).status).toBe(200);
    expect((await cast.browse(`${LIST}/${id}`, { method: "DELETE", as })).status).toBe(404);
  });

  test("when its account is closed", async () => {
    const as = await newAccount();
    const token = await newToken(cast, { as });
    expect((await ask(LIST, token)).status).toBe(200);
    await closeAccount(cast.db, { account: as, now: await cast.now() });
    expect((await ask(LIST, token)).status).toBe(401);
    const { rows } = await cast.db.pool.query("select 1 from access_tokens where account_id = $1", [as.id]);
    expect(rows).toEqual([]);
  });
});

describe("credentials", () => {
  test("of a header take precedence over the session", async () => {
    const as = await newAccount();
    const token = await newToken(cast, { as, name: "of the header" });
    const reply = await cast.browse(LIST, { headers: bearer(token) });
    expect((reply.json as TokenList).tokens.map(({ name }) => name)).toEqual(["of the header"]);
    expect((await cast.browse(LIST, { headers: bearer(`ovd_${"x".repeat(43)}`) })).status).toBe(401);
    expect((await cast.browse(LIST, { headers: bearer("ovd_short") })).status).toBe(401);
  });

  test("of other programs do not replace the session: proxies add them", async () => {
    for (const value of ["Basic dXNlcjpwYXNzd29yZA==", "Bearer eyJhbGciOi.JIUzI1NiJ9.e30", "Bearer"]) {
      expect((await cast.browse(LIST, { headers: { Authorization: value } })).status, value).toBe(200);
      expect((await cast.ask(LIST, { headers: { Authorization: value } })).status, value).toBe(401);
    }
  });

  test("of two kinds are refused", async () => {
    const token = await newToken(cast, { as: await newAccount() });
    const reply = await cast.ask(LIST, { key: cast.owner.rw, headers: bearer(token) });
    expect(reply.status).toBe(401);
    expect(detailOf(reply)).toBe("Send either an API key or a personal access token, not both.");
  });

  test("in a header work from any site, and in any letter case of the scheme", async () => {
    const as = await newAccount();
    const token = await newToken(cast, { as, scope: "write" });
    const headers = {
      Authorization: `bearer ${token}`,
      Origin: "https://elsewhere.example.org",
      "Sec-Fetch-Site": "cross-site",
    };
    const reply = await cast.ask(`${API_PATH}/projects`, { method: "POST", headers, body: { name: "From" } });
    expect(reply.status, reply.text).toBe(201);
  });

  test("of the Management API are API keys: a token is none", async () => {
    const token = await newToken(cast, { scope: "admin" });
    expect((await cast.ask("/api/v3/checks/", { headers: bearer(token) })).status).toBe(401);
    expect((await cast.ask("/api/v3/checks/", { key: token })).status).toBe(401);
    expect((await cast.ask(LIST, { key: token })).status).toBe(401);
    expect((await cast.ask(LIST, { key: cast.owner.rw })).status).toBe(403);
  });
});

test("the last use is recorded within a moment", async () => {
  const as = await newAccount();
  const token = await newToken(cast, { as });
  const before = await cast.now();
  const last = async () => {
    const { rows } = await cast.db.pool.query<{ at: Date | null }>(
      "select (extract(epoch from last_used_at) * 1000)::float8 as at from access_tokens where account_id = $1",
      [as.id],
    );
    return Number(rows[0]?.at ?? 0);
  };
  expect(await last()).toBe(0);
  expect((await ask(LIST, token)).status).toBe(200);
  // The clock of the server is that of the database, or close to it.
  await expect.poll(last, { timeout: 30_000 }).toBeGreaterThan(before - 60_000);
});

test("only a keyed digest is stored, and a token is in no log line", async () => {
  const as = await newAccount();
  const token = await newToken(cast, { as, scope: "write" });
  await ask(LIST, token);
  await ask(`${LIST}/${UNKNOWN_UUID}`, token, { method: "DELETE" });
  await ask(`${API_PATH}/nowhere`, token);
  const guessed = `ovd_${"y".repeat(43)}`;
  await ask(LIST, guessed);
  const { rows } = await cast.db.pool.query<{ digest: Buffer; text: string }>(
    "select digest, t::text as text from access_tokens t where account_id = $1",
    [as.id],
  );
  const digest = createHmac("sha256", cast.secretKey).update(token).digest();
  expect(rows.map((row) => row.digest.equals(digest))).toEqual([true]);
  const tables = await cast.db.pool.query<{ text: string }>(
    "select t::text as text from audit_entries t union all select t::text from letters t",
  );
  const stored = [...rows, ...tables.rows].map(({ text }) => text).join("\n");
  const secret = token.slice(12);
  expect(stored).not.toContain(secret);
  const logged = lines.join("\n");
  expect(lines.length).toBeGreaterThan(10);
  for (const text of [secret, guessed, digest.toString("hex"), digest.toString("base64")]) {
    expect(logged).not.toContain(text);
  }
});

describe("limits", () => {
  const PER_MINUTE = 30;
  const limited = useDashboard({ settings: { OVERDUE_API_RATE_LIMIT: String(PER_MINUTE) } });
  const list = (token: string) => limited.ask(LIST, { headers: bearer(token) });

  test("apply to each token, and responses say what is left", async () => {
    const token = await newToken(limited);
    const first = await list(token);
    expect(first.status).toBe(200);
    expect(first.headers.get("ratelimit-limit")).toBe(String(PER_MINUTE));
    expect(first.headers.get("ratelimit-remaining")).toBe(String(PER_MINUTE - 1));
    let last = first;
    for (let count = 0; count < 10 * PER_MINUTE && last.status === 200; count++) last = await list(token);
    expect(last.status).toBe(429);
    expect(last.headers.get("ratelimit-remaining")).toBe("0");
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await list(await newToken(limited))).status).toBe(200);
  });

  test("apply to wrong tokens of a network: after a few, unused tokens are refused as well", async () => {
    const used = await newToken(limited);
    const unused = await newToken(limited);
    expect((await list(used)).status).toBe(200);
    const statuses: number[] = [];
    for (let count = 0; count < PER_MINUTE; count++) {
      statuses.push((await list(`ovd_${String(count).padStart(43, "0")}`)).status);
    }
    expect(statuses.slice(0, 3)).toEqual([401, 401, 401]);
    expect(statuses).toContain(429);
    expect((await list(unused)).status).toBe(429);
    expect((await list(used)).status).toBe(200);
  });
});
