// Texts that would be markup, a header or a secret: in every page and every answer, as its reader gets it.
import { beforeAll, describe, expect, test } from "vitest";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { KeyMade } from "../../src/contract/api/projects.ts";
import type { WebRoute } from "../../src/services/web/route.ts";
import { WEB_ROUTES } from "../../src/services/web/routes.ts";
import type { Reply } from "../management/cast.ts";
import { CONFIGS, WEBHOOK_SECRET } from "../channels/sample-kinds.ts";
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
  await at.join(at.mate.account, "readOnly");
  names = { project: project.uuid, check: check.id, channel, n: "1", account: account.uuid };
});

function pathOf({ path }: WebRoute): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => names[name] ?? "1");
}

const asked = (name: string) => (name === "row details" ? `?ids=${names["check"]}` : "");
const NO_ANSWERS = ["live", "asset", "oidc.begin", "oidc.confirm", "signIn.style", "signIn.script"];
const reading = WEB_ROUTES.filter(({ method, name }) => method === "GET" && !NO_ANSWERS.includes(name));

/** What is wrong with how somebody is answered. */
function troublesOf({ path }: WebRoute, { status, headers, text }: Reply): string[] {
  const isData = path.startsWith("/web/");
  const type = headers.get("content-type") ?? "";
  const policy = headers.get("content-security-policy") ?? "";
  const wrong = {
    "is our fault": status >= 500 && status !== 503,
    "has markup of others": !isData && /<script>alert|<img src=x|<b>tag/.test(text),
    "has scripts of others": !isData && (text.match(/<script/g)?.length ?? 0) > 2,
    "is data that looks like a page": isData && /html|xml|javascript/.test(type),
    "may be taken for something else": headers.get("x-content-type-options") !== "nosniff",
    "has no policy": !policy.includes("default-src 'none'") || !policy.includes("frame-ancestors 'none'"),
    "may be kept by a cache": !(headers.get("cache-control") ?? "").includes("no-store"),
  };
  return Object.entries(wrong).flatMap(([what, isSo]) => (isSo ? [`${what}: ${path}`] : []));
}

describe("untrusted texts are escaped, secrets are not sent, and private responses are not cached", () => {
  test.each(reading.map((route) => [route.name, route] as const))("%s", async (name, route) => {
    for (const as of [at.owner.account, at.mate.account, null]) {
      const reply = await at.browse(pathOf(route) + asked(name), { as });
      const troubles = troublesOf(route, reply);
      const learned = [...secrets].filter(([, secret]) => reply.text.includes(secret)).map(([what]) => what);
      // Whoever may manage keys sees the ping key; nobody sees anything else of these.
      const allowed = as?.id === at.owner.account.id ? ["the ping key"] : [];
      expect({ troubles, learned: learned.filter((what) => !allowed.includes(what)) }).toEqual({
        troubles: [],
        learned: [],
      });
    }
  });

  test("there were texts and secrets to find", async () => {
    expect(secrets.size).toBe(7);
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
  expect([refused.status, refused.json]).toEqual([
    400,
    { error: "The description must have at most 65536 characters.", field: "desc" },
  ]);
});
