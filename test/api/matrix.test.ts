// The permission matrix: every route of the Overdue API with every kind of credential, sent to a running server. The
// expected results come from the tables below, not from the code under test. The handlers are replaced, so that only
// access is tested and nothing is changed.
import { beforeAll, describe, expect, test, vi } from "vitest";
import { REAUTH_PROBLEM } from "../../src/contract/api/problem.ts";
import { API_PATH, type ApiAccess, type RouteDefinition } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";
import type { Role, TokenScope } from "../../src/core/access.ts";
import { openSession } from "../../src/operations/sessions.ts";
import { createAccessToken } from "../../src/operations/tokens.ts";
import type { ApiRoute } from "../../src/services/api/respond.ts";
import { insertMember } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { UNKNOWN_KEY, useCast } from "../management/cast.ts";
import { sampleAccount, sampleCheck } from "../support/sample.ts";

vi.mock(import("../../src/services/api/routes.ts"), async (original) => {
  const { ROUTES } = await original();
  const replaced = ({ id, definition }: ApiRoute): ApiRoute => {
    const { body: _, query: __, ...rest } = definition;
    const handler = async () => ({
      status: 200,
      content: JSON.stringify({ reached: id }),
      type: "text/plain",
    });
    return { id, definition: rest, handler };
  };
  return { ROUTES: ROUTES.map(replaced) };
});

const cast = useCast({ roles: ["web", "api"], settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const ROUTES = Object.entries<RouteDefinition>(API_ROUTES).map(([id, definition]) => ({ id, definition }));
type TestedRoute = (typeof ROUTES)[number];

/** Accounts: members by role, an account without any role, and a server admin without a role. */
const ACCOUNTS = ["owner", "manager", "member", "readOnly", "stranger", "admin"] as const;
type AccountName = (typeof ACCOUNTS)[number];
const SCOPES = ["read", "write", "admin"] as const satisfies readonly TokenScope[];

/** Which accounts may do what in the project. */
const ALLOWED: Readonly<Record<Exclude<ApiAccess, "anyone" | "account" | "admin">, string>> = {
  view: "owner manager member readOnly",
  testChannel: "owner manager member readOnly",
  editChecks: "owner manager member",
  editChannels: "owner manager member",
  editPolicies: "owner manager",
  silence: "owner manager member",
  startFireDrill: "owner manager member",
  sendFireDrill: "owner manager",
  editStatusPages: "owner manager member",
  acknowledge: "owner manager member",
  renameProject: "owner manager member",
  manageKeys: "owner manager member",
  manageMembers: "owner manager",
  transferProject: "owner",
  removeProject: "owner",
  leaveProject: "manager member readOnly",
};
const MEMBERS = "owner manager member readOnly";

/** What API keys may do at most, whatever a route says. */
const FOR_KEYS = {
  readWrite:
    "view testChannel editChecks editChannels silence startFireDrill editStatusPages acknowledge account",
  readOnly: "view account",
};

/** The scopes that suffice. */
const SUFFICIENT = { read: "read write admin", write: "write admin", admin: "admin" };

type Caller = { name: string; headers: Readonly<Record<string, string>> } & (
  | { kind: "none" }
  | { kind: "session"; account: AccountName; isStale: boolean }
  | { kind: "token"; account: AccountName; scope: TokenScope }
  | { kind: "key"; key: "readWrite" | "readOnly"; isForeign: boolean }
);

/** "yes", or the status of the error. */
type Outcome = "yes" | 401 | 403 | 404;

function includes(words: string, word: string): boolean {
  return words.split(" ").includes(word);
}

function expected({ access, keys, method, readsOnly, reauth }: RouteDefinition, caller: Caller): Outcome {
  if (access === "anyone") return "yes";
  if (caller.kind === "none") return 401;
  const isAboutProject = access !== "account" && access !== "admin";
  if (caller.kind === "key") {
    if (keys === null || (keys === "readWrite" && caller.key === "readOnly")) return 403;
    return isAboutProject && caller.isForeign ? 404 : "yes";
  }
  if (access === "admin" && caller.account !== "admin") return 404;
  if (caller.kind === "token") {
    const isChange = method !== "GET" && readsOnly !== true;
    const needed = access === "admin" || reauth === true ? "admin" : isChange ? "write" : "read";
    if (!includes(SUFFICIENT[needed], caller.scope)) return 403;
  }
  if (isAboutProject) {
    if (!includes(MEMBERS, caller.account)) return 404;
    if (!includes(ALLOWED[access], caller.account)) return 403;
  }
  return reauth === true && caller.kind === "session" && caller.isStale ? 403 : "yes";
}

const callers: Caller[] = [];
let params: Readonly<Record<string, string>> = {};
let deletedCheck = "";

beforeAll(async () => {
  const { db, owner, stranger, secretKey } = cast;
  const now = await cast.now();
  const check = await sampleCheck(db, { projectId: owner.project.id });
  const deleted = await sampleCheck(db, { projectId: owner.project.id });
  await db.pool.query("update checks set deleted_at = now() where id = $1", [deleted.id]);
  const channel = await cast.channel(owner, { name: "hook", kind: "webhook" });
  params = { project: owner.project.uuid, check: check.uuid, channel: channel.uuid };
  deletedCheck = deleted.uuid;
  callers.push(
    { name: "no credentials", kind: "none", headers: {} },
    { name: "malformed key", kind: "none", headers: { "X-Api-Key": owner.rw.slice(1) } },
    { name: "unknown key", kind: "none", headers: { "X-Api-Key": UNKNOWN_KEY } },
    { name: "key in the wrong header", kind: "none", headers: { Authorization: `Bearer ${owner.rw}` } },
    { name: "unknown session", kind: "none", headers: { Cookie: "overdue_session=unknown" } },
  );
  for (const [of, { rw, ro }] of Object.entries({ "this project": owner, "another project": stranger })) {
    const isForeign = of === "another project";
    callers.push(
      {
        name: `read-write key of ${of}`,
        kind: "key",
        key: "readWrite",
        isForeign,
        headers: { "X-Api-Key": rw },
      },
      {
        name: `read-only key of ${of}`,
        kind: "key",
        key: "readOnly",
        isForeign,
        headers: { "X-Api-Key": ro },
      },
    );
  }
  for (const account of ACCOUNTS) {
    const { id, email } =
      account === "owner" ? owner.account : await sampleAccount(db, { isAdmin: account === "admin" });
    if (includes(MEMBERS, account) && account !== "owner") {
      const role = account as Role;
      await inTransaction(db, (tx) =>
        insertMember(tx, { projectId: owner.project.id, accountId: id, role, at: now }),
      );
    }
    for (const isStale of [false, true]) {
      const of = { accountId: id, method: "password", now, ua: "", remoteAddr: null } as const;
      const { token } = await inTransaction(db, (tx) =>
        openSession(tx, { ...of, ...(isStale && { authenticatedAt: now - 24 * 3_600_000 }) }),
      );
      callers.push({
        name: `${isStale ? "old " : ""}session of ${account}`,
        kind: "session",
        account,
        isStale,
        headers: {
          Origin: cast.site,
          "Sec-Fetch-Site": "same-origin",
          Cookie: `overdue_session=${token}`,
        },
      });
    }
    for (const scope of SCOPES) {
      const token = await createAccessToken(db, {
        account: { id, email },
        name: scope,
        scope,
        expiresInDays: 1,
        secretKey,
        now,
      });
      callers.push({
        name: `token of ${account} with the scope ${scope}`,
        kind: "token",
        account,
        scope,
        headers: { Authorization: `Bearer ${token}` },
      });
    }
  }
});

function urlOf({ path, deleted }: RouteDefinition): string {
  const named = deleted === true ? { ...params, check: deletedCheck } : params;
  return cast.site + API_PATH + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => named[name] ?? "1");
}

async function outcomeOf(
  { id, definition }: TestedRoute,
  headers: Caller["headers"],
): Promise<{ outcome: number | "yes"; type: string }> {
  const response = await fetch(urlOf(definition), { method: definition.method, headers });
  const json = (await response.json()) as { reached?: string; type?: string };
  const isReached = response.status === 200 && json.reached === id;
  return { outcome: isReached ? "yes" : response.status, type: json.type ?? "" };
}

/** The cells that differ from the tables. */
async function differences(
  route: TestedRoute,
  definition: RouteDefinition = route.definition,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const caller of callers) {
    const wanted = expected(definition, caller);
    const { outcome, type } = await outcomeOf(route, caller.headers);
    const isAboutReauth =
      wanted === 403 && expected({ ...definition, reauth: undefined as never }, caller) === "yes";
    const isRight =
      outcome === wanted && (!isAboutReauth || caller.kind !== "session" || type === REAUTH_PROBLEM);
    if (!isRight) wrong.push(`${route.id} with ${caller.name}: ${outcome} ${type}, not ${wanted}`);
  }
  return wrong;
}

describe("the permission matrix", () => {
  test("is as the tables say", { timeout: 300_000 }, async () => {
    const wrong: string[] = [];
    for (const route of ROUTES) wrong.push(...(await differences(route)));
    console.log(
      `permission matrix: ${ROUTES.length} routes x ${callers.length} callers = ${ROUTES.length * callers.length} cells, ${wrong.length} wrong`,
    );
    expect(wrong).toEqual([]);
  });

  test("would find a route that lets too many or too few callers in", async () => {
    const route = ROUTES.find(({ id }) => id === "updateProject");
    if (route === undefined) throw new Error("no such route");
    expect(await differences(route, { ...route.definition, access: "view" })).not.toEqual([]);
    expect(await differences(route, { ...route.definition, keys: "readWrite" })).not.toEqual([]);
    expect(await differences(route, { ...route.definition, access: "anyone" })).not.toEqual([]);
  });
});

test("API keys can't be used for members, keys, projects, accounts, or the server", () => {
  for (const { id, definition } of ROUTES) {
    const { keys, access, method, readsOnly } = definition;
    if (keys === null || access === "anyone") continue;
    expect(FOR_KEYS[keys].split(" "), id).toContain(access);
    if (access === "account") expect(method === "GET" || readsOnly === true, id).toBe(true);
  }
});

test("a session changes nothing for other sites; keys and tokens are not bound to a site", async () => {
  const elsewhere = { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" };
  const wrong: string[] = [];
  for (const caller of callers.filter(({ kind }) => kind !== "none")) {
    for (const route of ROUTES.filter(({ definition }) => definition.method !== "GET")) {
      if (expected(route.definition, caller) !== "yes") continue;
      const { outcome } = await outcomeOf(route, { ...caller.headers, ...elsewhere });
      const wanted = caller.kind === "session" ? 403 : "yes";
      if (outcome !== wanted) wrong.push(`${route.id} with ${caller.name}: ${outcome}`);
    }
  }
  expect(wrong).toEqual([]);
}, 300_000);

test("a key in the body or the query is not accepted", async () => {
  const { owner } = cast;
  const url = `${cast.site}${API_PATH}/projects/${owner.project.uuid}`;
  expect((await fetch(`${url}?api_key=${owner.rw}`)).status).toBe(401);
  const body = JSON.stringify({ name: "x", api_key: owner.rw });
  expect((await fetch(url, { method: "PATCH", body })).status).toBe(401);
});
