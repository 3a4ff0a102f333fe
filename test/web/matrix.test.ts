// The permission matrix of the dashboard's pages and browser-only requests: every route with every kind of user, sent to
// a running server. The handlers are replaced, so that only access is tested and nothing is changed.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Caller, CALLERS, metBy } from "../../scripts/render-rights.ts";
import type { Role } from "../../src/core/access.ts";
import { type HttpListener, httpListener } from "../../src/lib/http/listener.ts";
import { createLog } from "../../src/lib/log.ts";
import { findSession, openSession } from "../../src/operations/sessions.ts";
import type { WebContext, WebRoute } from "../../src/services/web/route.ts";
import { WEB_ROUTES } from "../../src/services/web/routes.ts";
import { webHandler } from "../../src/services/web/server.ts";
import { insertChannel } from "../../src/store/channels.ts";
import { insertMember } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { freePort } from "../support/ports.ts";
import { sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const now = Date.now();
const log = createLog({ level: "fatal" });
let site = "";
let listener: HttpListener;
let close: () => Promise<void>;
const cookies = new Map<Caller, string>();
let params: Record<string, string> = {};

/** The same route with a handler that does nothing. */
const replaced = (route: WebRoute): WebRoute => {
  const { body: _, query: __, ...rest } = route;
  return { ...rest, answer: async () => ({ json: { reached: route.name } }) };
};

beforeAll(async () => {
  const { db } = database;
  const port = await freePort();
  site = `http://127.0.0.1:${port}`;
  const context = {
    database: db,
    site: { name: "Overdue", url: site },
    resolveSession: async ({ cookies: given }: { cookies: Readonly<Record<string, string>> }) => {
      const token = given["overdue_session"];
      return { session: token === undefined ? null : await findSession(db, { token, now }), setCookies: [] };
    },
    now: () => now,
    log,
  } as unknown as WebContext;
  const handler = await webHandler({
    context,
    trustedProxies: [],
    routes: WEB_ROUTES.map(replaced),
  });
  close = () => handler.close();
  listener = httpListener({
    name: "site",
    handlers: [handler],
    onRefused: () => {},
    listen: { host: "127.0.0.1", port },
    reusePort: false,
    connectionsMax: 100,
    requestTimeoutMs: 10_000,
    log,
  });
  await listener.start();
  await createAccounts();
});

afterAll(async () => {
  await listener.stop();
  await close();
});

async function createAccounts(): Promise<void> {
  const { db } = database;
  const owner = await sampleAccount(db);
  const project = await sampleProject(db, { ownerId: owner.id });
  const check = await sampleCheck(db, { projectId: project.id });
  const channelUuid = crypto.randomUUID();
  await inTransaction(db, (tx) =>
    insertChannel(tx, {
      uuid: channelUuid,
      projectId: project.id,
      kind: "webhook",
      name: "",
      config: {},
      createdAt: now,
    }),
  );
  params = { project: project.uuid, check: check.uuid, channel: channelUuid };
  const accounts = new Map<Caller, number>([["owner", owner.id]]);
  for (const role of ["manager", "member", "readOnly"] as const satisfies readonly Role[]) {
    const { id } = await sampleAccount(db);
    await inTransaction(db, (tx) =>
      insertMember(tx, { projectId: project.id, accountId: id, role, at: now }),
    );
    accounts.set(role, id);
  }
  accounts.set("stranger", (await sampleAccount(db)).id);
  accounts.set("operator", (await sampleAccount(db, { isAdmin: true })).id);
  for (const [caller, accountId] of accounts) {
    const of = { accountId, method: "password", now, ua: "", remoteAddr: null } as const;
    const { token } = await inTransaction(db, (tx) => openSession(tx, of));
    cookies.set(caller, `overdue_session=${token}`);
  }
}

function pathOf(route: WebRoute): string {
  return route.path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? "1");
}

async function responseTo(
  route: WebRoute,
  caller: Caller,
): Promise<{ status: number; isReached: boolean; location: string }> {
  const cookie = cookies.get(caller);
  const response = await fetch(site + pathOf(route), {
    method: route.method,
    redirect: "manual",
    headers: {
      Origin: site,
      "Sec-Fetch-Site": "same-origin",
      ...(cookie !== undefined && { Cookie: cookie }),
    },
  });
  const text = await response.text();
  const isReached = response.status === 200 && text.includes(JSON.stringify({ reached: route.name }));
  return { status: response.status, isReached, location: response.headers.get("location") ?? "" };
}

async function differences(route: WebRoute): Promise<string[]> {
  const wrong: string[] = [];
  for (const caller of CALLERS) {
    const wanted = metBy(route.access, caller);
    const { status, isReached, location } = await responseTo(route, caller);
    const isPage = !route.path.startsWith("/web/");
    const isSentToSignIn = status === 303 && location.startsWith("/accounts/login/?next=");
    const isAsWanted =
      wanted === "yes" ? isReached : wanted === 401 && isPage ? isSentToSignIn : status === wanted;
    if (!isAsWanted) wrong.push(`${route.method} ${route.path} by ${caller}: ${status}, not ${wanted}`);
  }
  return wrong;
}

describe("the permission matrix of the dashboard", () => {
  test("is as the table of routes says", { timeout: 120_000 }, async () => {
    expect(WEB_ROUTES.length).toBeGreaterThan(40);
    const wrong: string[] = [];
    for (const route of WEB_ROUTES) wrong.push(...(await differences(route)));
    expect(wrong).toEqual([]);
  });

  test("would find a route that lets too many users in", async () => {
    const route = WEB_ROUTES.find(({ name }) => name === "account.show");
    expect(route).toBeDefined();
    if (route !== undefined) expect(await differences({ ...route, access: "anyone" })).not.toEqual([]);
  });

  test("has only sign-in routes and links from emails as changes without an account", () => {
    const open = WEB_ROUTES.filter(({ method, access }) => method !== "GET" && access === "anyone");
    expect(open.map(({ name }) => name).toSorted()).toEqual([
      "emailLink.follow",
      "invitation.accept",
      "link.follow",
      "setUpLink.finish",
      "signIn.link",
      "signIn.passkey",
      "signIn.passkeyOptions",
      "signIn.password",
      "signIn.secondFactor",
      "signIn.signOut",
    ]);
  });

  test("requires re-authentication for everything that could lock a user out or cannot be undone", () => {
    const withReauth = WEB_ROUTES.filter(({ reauth }) => reauth === true).map(({ name }) => name);
    expect(withReauth).toEqual(
      expect.arrayContaining([
        "account.setPassword",
        "account.removePassword",
        "account.changeEmail",
        "account.addPasskey",
        "account.removePasskey",
        "account.removeIdentity",
        "account.beginTotp",
        "account.removeTotp",
        "account.renewCodes",
        "account.close",
        "account.createToken",
      ]),
    );
  });

  test("rejects every change from another site, whatever the session", {
    timeout: 60_000,
  }, async () => {
    const wrong: string[] = [];
    for (const route of WEB_ROUTES.filter(
      ({ method, fromAnywhere }) => method !== "GET" && fromAnywhere !== true,
    )) {
      const { status } = await fetch(site + pathOf(route), {
        method: route.method,
        headers: {
          Origin: "https://evil.example",
          "Sec-Fetch-Site": "cross-site",
          Cookie: cookies.get("owner") ?? "",
        },
      });
      if (status !== 403) wrong.push(`${route.method} ${route.path}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });
});
