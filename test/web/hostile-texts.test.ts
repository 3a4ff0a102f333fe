// Untrusted texts and secrets, looked for in every page of the dashboard and every GET response of the Overdue API.
import { beforeAll, describe, expect, test } from "vitest";
import { planAlerts } from "../../src/operations/plan-alerts.ts";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { PROBLEM_TYPE } from "../../src/contract/api/problem.ts";
import type { KeyMade } from "../../src/contract/api/projects.ts";
import { API_PATH, type RouteDefinition } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";
import type { FireDrill } from "../../src/contract/api/fire-drills.ts";
import type { StatusPage } from "../../src/contract/api/status-pages.ts";
import type { Silence } from "../../src/contract/api/silences.ts";
import { WEB_ROUTES } from "../../src/services/web/routes.ts";
import type { Reply } from "../management/cast.ts";
import { CONFIGS } from "../channels/sample-kinds.ts";
import { WEBHOOK_SECRET } from "../receivers/kinds/webhook.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api", "ping"] });

const HOSTILE = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'<!--]]>`;
const secrets = new Map<string, string>();
let names: Record<string, string> = {};

beforeAll(async () => {
  const { account, project } = at.owner;
  const path = `/api/overdue/v1/projects/${project.uuid}`;
  const post = async (to: string, body: unknown) => at.browse(to, { method: "POST", body });
  await at.browse("/api/overdue/v1/account", { method: "PATCH", body: { name: HOSTILE } });
  await at.browse(path, { method: "PATCH", body: { name: HOSTILE.slice(0, 60) } });
  const check = (
    await post(`${path}/checks`, { name: HOSTILE, tags: `<b>tag</b> "onload='x'`, desc: HOSTILE })
  ).json as CheckRow;
  const headers = { "User-Agent": HOSTILE, "Content-Type": "text/html" };
  await at.ask(`/ping/${check.id}`, { method: "POST", headers, body: HOSTILE });
  await at.ask(`/ping/${check.id}/fail`, { method: "POST", headers, body: HOSTILE });
  // Number 1, which stands for the parameter of a path that has no other name here.
  await planAlerts(at.db, { now: Date.now() });
  let channel = "";
  for (const [kind, config] of Object.entries(CONFIGS)) {
    const made = await post(`${path}/channels`, { kind, name: HOSTILE.slice(0, 100), config });
    channel = (made.json as { channel?: { id: string } }).channel?.id ?? channel;
  }
  secrets.set("the secret of a webhook", WEBHOOK_SECRET);
  for (const kind of ["slack", "discord", "pd"]) {
    const [value] = Object.values(CONFIGS[kind] ?? {});
    secrets.set(`the secret of ${kind}`, String(value));
  }
  await post(`/api/overdue/v1/channels/${channel}/test`, {});
  await at.db.pool.query(
    "update deliveries set request_summary = $1, response_excerpt = $1, reason = $1 where state <> 'merged'",
    [HOSTILE],
  );
  const made = (await post(`${path}/keys`, { kind: "readWrite", name: HOSTILE.slice(0, 90) }))
    .json as KeyMade;
  secrets.set("an API key", made.key);
  secrets.set("the first API key", at.owner.rw);
  secrets.set("the ping key", made.settings.pingKey ?? "");
  secrets.set("the id of a check", check.id);
  const silence = (await post(`${path}/silences`, { checks: [check.id], duration: 3_600, reason: HOSTILE }))
    .json as Silence;
  const drill = (await post(`${path}/fire-drills`, { check: check.id })).json as FireDrill;
  const statusPage = (
    await post(`${path}/status-pages`, {
      slug: "hostile",
      title: HOSTILE.slice(0, 60),
      groups: [{ name: "", entries: [{ name: HOSTILE.slice(0, 60), check: check.id, tag: null }] }],
    })
  ).json as StatusPage;
  const deleted = (await post(`${path}/checks`, { name: HOSTILE })).json as CheckRow;
  await at.browse(`/api/overdue/v1/checks/${deleted.id}`, { method: "DELETE" });
  await at.join(at.mate.account, "readOnly");
  await at.db.pool.query("update accounts set is_operator = true where id = $1", [account.id]);
  const { rows } = await at.db.pool.query<{ id: string }>("select max(id) as id from deliveries");
  names = {
    project: project.uuid,
    check: check.id,
    channel,
    n: "1",
    run: "1",
    id: deleted.id,
    delivery: rows[0]?.id ?? "",
    account: account.uuid,
    silence: silence.id,
    fireDrill: drill.id,
    page: statusPage.id,
  };
});

const QUERIES: Readonly<Record<string, () => string>> = {
  "/checks/details": () => `?ids=${names["check"]}`,
  "/admin/setup/address": () => `?at=${encodeURIComponent(at.site)}`,
};

/** A URL for the route, with every parameter and required query filled in. */
function urlOf(path: string): string {
  const query = Object.entries(QUERIES).find(([end]) => path.endsWith(end))?.[1]() ?? "";
  return path.replaceAll(/:(\w+)|\{(\w+)\}/g, (_, one = "", other = "") => names[one + other] ?? "1") + query;
}

/** Not walked: public files, and redirects to an identity provider. */
const SKIPPED = [
  "asset",
  "web app manifest",
  "service worker",
  "oidc.begin",
  "oidc.confirm",
  "signIn.style",
  "signIn.script",
];
const pages = WEB_ROUTES.filter(({ method, name }) => method === "GET" && !SKIPPED.includes(name));
const reads = Object.entries<RouteDefinition>(API_ROUTES).filter(
  // The stream does not end; its headers have a test below.
  ([id, { method }]) => method === "GET" && id !== "streamChanges",
);

function headerProblems(headers: Headers): string[] {
  const policy = headers.get("content-security-policy") ?? "";
  return problems({
    "no nosniff": headers.get("x-content-type-options") !== "nosniff",
    "no content security policy":
      !policy.includes("default-src 'none'") || !policy.includes("frame-ancestors 'none'"),
    "can be cached": !(headers.get("cache-control") ?? "").includes("no-store"),
  });
}

function problems(found: Readonly<Record<string, boolean>>): string[] {
  return Object.entries(found).flatMap(([problem, isFound]) => (isFound ? [problem] : []));
}

function pageProblems(path: string, { status, headers, text }: Reply): string[] {
  const isData = path.startsWith("/web/");
  const type = headers.get("content-type") ?? "";
  return [
    ...headerProblems(headers),
    ...problems({
      "server error": status >= 500 && status !== 503,
      "unescaped markup": !isData && /<script>alert|<img src=x|<b>tag/.test(text),
      "additional scripts": !isData && (text.match(/<script/g)?.length ?? 0) > 2,
      "data with the type of a page": isData && /html|xml|javascript/.test(type),
    }),
  ];
}

function apiProblems({ success }: RouteDefinition, { status, headers }: Reply): string[] {
  const type = headers.get("content-type") ?? "";
  const wanted = status < 400 ? (success.type ?? "application/json") : PROBLEM_TYPE;
  const isFile = status < 400 && success.type !== undefined;
  return [
    ...headerProblems(headers),
    ...problems({
      "server error": status >= 500,
      [`the type ${type}`]: !type.startsWith(wanted),
      "a file that a browser would show":
        isFile && !(headers.get("content-disposition") ?? "").startsWith("attachment"),
    }),
  ];
}

/** The names of the secrets in a response. */
function secretsIn({ text, headers }: Reply): string[] {
  const all = text + JSON.stringify([...headers]);
  return [...secrets].filter(([, secret]) => all.includes(secret)).map(([what]) => what);
}

// An account that may manage keys sees the ping key. Only a read-only key must not see the ids of checks: anyone can
// ping a check with its id.
const ALLOWED = {
  owner: ["the ping key", "the id of a check"],
  "read-only member": ["the id of a check"],
  "signed-out user": [],
};
const ALLOWED_KEYS = { "read-write key": ["the ping key", "the id of a check"], "read-only key": [] };

describe("untrusted texts are escaped, secrets are not sent, and private responses are not cached", () => {
  const accountOf = (user: string) =>
    user === "owner" ? at.owner.account : user === "read-only member" ? at.mate.account : null;

  test.each(pages.map(({ name, path }) => [name, path] as const))("page: %s", async (_name, path) => {
    for (const [user, allowed] of Object.entries<string[]>(ALLOWED)) {
      const reply = await at.browse(urlOf(path), { as: accountOf(user) });
      const leaked = secretsIn(reply).filter(
        (what) => !allowed.includes(what) && !urlOf(path).includes(secrets.get(what) ?? ""),
      );
      expect({ user, problems: pageProblems(path, reply), leaked }).toEqual({
        user,
        problems: [],
        leaked: [],
      });
    }
  });

  test.each(reads)("API: %s", async (_id, definition) => {
    const url = API_PATH + urlOf(definition.path);
    for (const [user, allowed] of Object.entries<string[]>(ALLOWED)) {
      const reply = await at.browse(url, { as: accountOf(user) });
      const leaked = secretsIn(reply).filter((what) => !allowed.includes(what));
      expect({ user, problems: apiProblems(definition, reply), leaked }).toEqual({
        user,
        problems: [],
        leaked: [],
      });
      if (user === "owner") expect(reply.status, reply.text).toBe(200);
    }
    for (const [key, allowed] of Object.entries<string[]>(ALLOWED_KEYS)) {
      const reply = await at.ask(url, { key: key === "read-only key" ? at.owner.ro : at.owner.rw });
      const leaked = secretsIn(reply).filter((what) => !allowed.includes(what));
      expect({ key, problems: apiProblems(definition, reply), leaked }).toEqual({
        key,
        problems: [],
        leaked: [],
      });
    }
  });

  test("API: streamChanges", async () => {
    const abort = new AbortController();
    const { status, headers } = await fetch(`${at.site}${API_PATH}/projects/${names["project"]}/live`, {
      headers: await at.headersOf(at.owner.account),
      signal: abort.signal,
    });
    abort.abort();
    expect([status, headers.get("content-type"), headerProblems(headers)]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
      [],
    ]);
  });

  test("there were texts and secrets to find", async () => {
    expect(secrets.size).toBe(8);
    for (const [what, secret] of secrets) expect(secret.length, what).toBeGreaterThan(10);
    const { text } = await at.browse(`/api/overdue/v1/checks/${names["check"]}/runs/1`);
    expect(JSON.parse(text)).toMatchObject({ ua: HOSTILE, body: { text: HOSTILE } });
    const list = await at.browse(`/api/overdue/v1/projects/${names["project"]}/checks`);
    expect(list.text).toContain(JSON.stringify(HOSTILE));
  });
});

test("a description has at most 65,536 characters", async () => {
  const path = `/api/overdue/v1/projects/${at.owner.project.uuid}/checks`;
  const make = (desc: string) => at.browse(path, { method: "POST", body: { desc } });
  expect((await make("x".repeat(65_536))).status).toBe(201);
  const refused = await make("x".repeat(65_537));
  expect(refused).toMatchObject({
    status: 400,
    json: { status: 400, detail: "The description must have at most 65536 characters.", field: "desc" },
  });
});
