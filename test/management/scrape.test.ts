// Prometheus pages as scrapers get them: by a read-only key, in the path or in a header.
import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { createLog } from "../../src/lib/log.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { createKeys } from "../../src/operations/api-keys.ts";
import { createProject } from "../../src/operations/projects.ts";
import { RateLimiter } from "../../src/services/api/auth.ts";
import { type PrometheusHandler, prometheusHandler } from "../../src/services/management/prometheus.ts";
import { apiAuth } from "../../src/services/management/server.ts";
import { listApiKeys } from "../../src/store/api-keys.ts";
import type { Db } from "../../src/store/db.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import { insertSilence } from "../../src/store/silences.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleIntake } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { sampleIncident } from "../support/incidents.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck } from "../support/sample.ts";
import { servePlainly, stopServingAtEnd } from "./plain-server.ts";

const database = useDatabase();
stopServingAtEnd();

const SECRET = "the instance's secret, of the tests";
const UNKNOWN_KEY = "x".repeat(32);

type Owned = { id: number; uuid: string; rw: string; ro: string; pingKey: string };

let site: string;
let owner: Owned;
let stranger: Owned;
let queryCount = 0;
const uses: { keyId: number; at: number }[] = [];

beforeAll(async () => {
  const counting: Db = {
    query: (statement, values) => {
      queryCount += 1;
      return database.db.query(statement, values);
    },
  };
  site = await servePlainly(handlerOn(counting));
  owner = await makeProject();
  stranger = await makeProject();
});
beforeEach(() => {
  queryCount = 0;
  uses.length = 0;
});

/** The handler with the authentication of the API; `requestsPerMinute` 0: no limit. */
function handlerOn(db: Db, { requestsPerMinute = 0 } = {}): PrometheusHandler {
  const limiter = new RateLimiter({ perMinute: requestsPerMinute, monotonic: () => 0 });
  const auth = apiAuth({
    context: { database: db, secrets: { current: SECRET, previous: null } },
    limiter,
    networkOf: ({ headers }) => String(headers["x-network"] ?? "here"),
  });
  return prometheusHandler({
    database: db,
    siteUrl: new URL("https://overdue.example.org/site"),
    identify: ({ headers }, key) =>
      auth.identifyKey({ network: String(headers["x-network"] ?? "here"), key }),
    now: () => MONDAY_NOON,
    keyUsed: (use) => uses.push(use),
    log: createLog({ level: "fatal" }),
  });
}

async function makeProject(): Promise<Owned> {
  const { id: ownerId } = await sampleAccount(database.db);
  const made = await createProject(database.db, { ownerId, name: "P", secretKey: SECRET, now: MONDAY_NOON });
  const { id = 0 } = (await findProjectByUuid(database.db, made.uuid)) ?? {};
  return { id, uuid: made.uuid, rw: made.apiKey, ro: made.apiKeyReadonly, pingKey: made.pingKey };
}

async function get(
  path: string,
  { authorization, method = "GET" }: { authorization?: string; method?: string } = {},
) {
  const headers = authorization === undefined ? {} : { Authorization: authorization };
  const response = await fetch(site + path, { method, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const scrape = (key: string, { uuid } = owner) => get(`/projects/${uuid}/metrics/${key}`);
const bearer = (authorization?: string) =>
  get(`/projects/${owner.uuid}/metrics/`, authorization === undefined ? {} : { authorization });

describe("answers 200", () => {
  test("with the checks of the key's project", async () => {
    const project = await makeProject();
    const check = await sampleCheck(database.db, { projectId: project.id, name: "Job", tags: "a b" });
    const failed = await sampleCheck(database.db, { projectId: project.id, name: "Other", tags: "b" });
    const record = await sampleIntake(database.db);
    await record([{ uuid: check.uuid }, { uuid: failed.uuid, action: "fail" }]);
    queryCount = 0;
    const { status, headers, text } = await scrape(project.ro, project);
    expect([status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      200,
      "text/plain",
      "no-store",
    ]);
    const key = (uuid: string) => uniqueKey(uuid, sha1Hex);
    for (const line of [
      `hc_check_up{name="Job", tags="a b", unique_key="${key(check.uuid)}"} 1`,
      `hc_check_up{name="Other", tags="b", unique_key="${key(failed.uuid)}"} 0`,
      'hc_tag_up{tag="a"} 1',
      'hc_tag_up{tag="b"} 0',
      "hc_checks_total 2",
      "hc_checks_down_total 1",
    ]) {
      expect(text.split("\n")).toContain(line);
    }
    expect(queryCount).toBe(2);
  });

  test("to the key in the path, in either form, and in the header", async () => {
    const answers = [
      await scrape(owner.ro),
      await get(`/checks/metrics/${owner.ro}`),
      await get(`/site/checks/metrics/${owner.ro}?x`),
      await bearer(`Bearer ${owner.ro}`),
      await bearer(`bearer ${owner.ro}`),
      await get(`/projects/${owner.uuid}/metrics`, { authorization: `Bearer ${owner.ro}` }),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  test("with alerts, silences and incidents only if they are asked for", async () => {
    const project = await makeProject();
    const [down, silenced] = [
      await sampleCheck(database.db, { projectId: project.id, name: "down" }),
      await sampleCheck(database.db, { projectId: project.id, name: "silenced" }),
    ];
    await sampleIncident(database.db, { projectId: project.id, checkIds: [down.id] });
    await inTransaction(database.db, (tx) =>
      insertSilence(tx, {
        uuid: randomUUID(),
        projectId: project.id,
        accountId: null,
        createdAt: MONDAY_NOON,
        scope: { kind: "checks", checkIds: [silenced.id] },
        from: MONDAY_NOON - 1_000,
        until: MONDAY_NOON + 1_000,
        untilSuccess: true,
        schedule: null,
        tz: null,
        durationSeconds: null,
        holdAfterSeconds: 0,
        reason: "",
      }),
    );
    const page = async (query: string) =>
      (await get(`/projects/${project.uuid}/metrics/${project.ro}${query}`)).text;
    for (const query of ["", "?include=other", "?exclude=alerts"]) {
      expect(await page(query)).not.toContain("overdue_");
    }
    const values = (text: string, family: string) =>
      Array.from(text.matchAll(new RegExp(`^${family}\\{.* (\\d)$`, "gm")), ([, value]) => value);
    const text = await page("?include=alerts");
    expect(text).toContain(await page(""));
    expect(values(text, "overdue_alert_open")).toEqual(["1", "0"]);
    expect(values(text, "overdue_silenced")).toEqual(["0", "1"]);
    expect(values(text, "overdue_incidents_open")).toEqual(["1", "0"]);
    // A success ends it for the check.
    await (await sampleIntake(database.db))([{ uuid: silenced.uuid, at: MONDAY_NOON - 500 }]);
    expect(values(await page("?include=alerts"), "overdue_silenced")).toEqual(["0", "0"]);
  });

  test("whichever project the path names, since the key decides", async () => {
    const project = await makeProject();
    await sampleCheck(database.db, { projectId: project.id, name: "mine" });
    for (const uuid of [stranger.uuid, randomUUID()]) {
      expect((await scrape(project.ro, { ...project, uuid })).text).toContain('name="mine"');
    }
  });

  test("with every check of a large project", async () => {
    const project = await makeProject();
    await database.db.pool.query(
      `with made as (
        insert into checks (uuid, badge_uuid, unique_key,
          project_id, name, slug, tags, description, kind, timeout_seconds,
          grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw, filter_subject,
          filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
        select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
          $1, 'job ' || i, '', '', '', 'simple', 60, 60, '', 'UTC',
          false, '', '', '', '', false, false, false, false, now(), now()
        from generate_series(1, 2500) i returning id)
      insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
        select id, 'new', 0, 0, 0 from made`,
      [project.id],
    );
    const { text } = await scrape(project.ro, project);
    expect(text).toContain("\nhc_checks_total 2500\n");
    expect(new Set(text.match(/^hc_check_up\{.*\} 1$/gm)).size).toBe(2_500);
  });

  test("to HEAD without a body", async () => {
    const { status, text } = await get(`/checks/metrics/${owner.ro}`, { method: "HEAD" });
    expect([status, text]).toEqual([200, ""]);
  });

  test("and records the use of the key", async () => {
    await scrape(owner.ro);
    const keys = await listApiKeys(database.db, owner.id);
    const readOnly = keys.find(({ kind }) => kind === "readOnly");
    expect(uses).toEqual([{ keyId: readOnly?.id, at: MONDAY_NOON, renewal: null }]);
  });
});

test("400 to an invalid key", async () => {
  for (const { status, text } of [
    await scrape("short"),
    await scrape(owner.pingKey),
    await scrape(`${owner.ro}x`),
    await bearer("Bearer x"),
  ]) {
    expect([status, text]).toEqual([400, '{"error":"wrong api key"}']);
  }
  expect([queryCount, uses]).toEqual([0, []]);
});

test("401 without a key, or with one that is not a bearer's", async () => {
  for (const authorization of [undefined, "", owner.ro, `Basic ${owner.ro}`, "Bearer", "Bearer "]) {
    const { status, headers, text } = await bearer(authorization);
    expect([authorization, status, text]).toEqual([authorization, 401, '{"error":"missing api key"}']);
    expect(headers.get("www-authenticate")).toBe("Bearer");
  }
  expect(queryCount).toBe(0);
});

test("403 to a read-write key, an unknown one and a revoked one", async () => {
  const project = await makeProject();
  const renewal = { projectUuid: project.uuid, kinds: ["readOnly" as const], name: "", replace: true };
  await createKeys(database.db, { ...renewal, secretKey: SECRET, now: MONDAY_NOON });
  for (const { status, text } of [
    await scrape(owner.rw),
    await scrape(UNKNOWN_KEY),
    await scrape(project.ro, project),
    await bearer(`Bearer ${owner.rw}`),
  ]) {
    expect([status, text]).toEqual([403, '{"error":"wrong api key"}']);
  }
  expect(uses).toEqual([]);
});

test.each(["/api/v1/metrics/", "/api/v2/metrics", "/api/v3/metrics/"])(
  "403 at %s for everyone: server metrics have their own port",
  async (path) => {
    const answers = [await get(path), await get(path, { authorization: `Bearer ${owner.ro}` })];
    expect(answers.map(({ status }) => status)).toEqual([403, 403]);
  },
);

test("404 where nothing is", async () => {
  const { status } = await get(`/projects/${owner.uuid}/metrics/${owner.ro}/more`);
  expect(status).toBe(404);
});

test.each(["POST", "PUT", "DELETE", "OPTIONS"])("405 to %s", async (method) => {
  const { status, headers } = await get(`/checks/metrics/${owner.ro}`, { method });
  expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test.each([
  ["is away", Object.assign(new Error("away"), { code: "ECONNREFUSED" })],
  ["takes too long", Object.assign(new Error("too slow"), { code: "57014", severity: "ERROR" })],
])("503 while the database %s", async (_, error) => {
  const away = await servePlainly(handlerOn({ query: () => Promise.reject(error) }));
  const response = await fetch(`${away}/checks/metrics/${owner.ro}`);
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
});

test("429 to a network with too many unknown keys, without a database query", async () => {
  let asked = 0;
  const counting: Db = {
    query: (statement, values) => {
      asked += 1;
      return database.db.query(statement, values);
    },
  };
  const limited = await servePlainly(handlerOn(counting, { requestsPerMinute: 30 }));
  const ask = async (key: string, network = "here") => {
    const response = await fetch(`${limited}/checks/metrics/${key}`, { headers: { "X-Network": network } });
    return [response.status, response.headers.get("retry-after"), await response.text()];
  };
  expect((await ask(owner.ro))[0]).toBe(200);
  for (let n = 0; n < 3; n += 1) expect((await ask(UNKNOWN_KEY))[0]).toBe(403);
  asked = 0;
  const refused = [429, "20", '{"error":"too many requests"}'];
  // Not even whether a key is right is told any more, but one that was in use before goes on.
  expect([await ask(UNKNOWN_KEY), await ask(stranger.ro)]).toEqual([refused, refused]);
  expect(asked).toBe(0);
  expect([(await ask(owner.ro))[0], (await ask(UNKNOWN_KEY, "there"))[0]]).toEqual([200, 403]);
  // What a key itself may ask is counted with the API's requests.
  for (let n = 0; n < 28; n += 1) expect((await ask(owner.ro))[0]).toBe(200);
  expect((await ask(owner.ro))[0]).toBe(429);
});
