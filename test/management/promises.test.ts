// Promises of docs/contribute/spec.md that no recorded case shows: hosts, keys and accounts, the limits of plans, what happens to
// old flips, and each code of version 1.
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { ROUTES } from "../../src/contract/routes.ts";
import { DAY_MS } from "../../src/core/instant.ts";
import { FREE_PING_LOG_ROWS } from "../../src/core/limits.ts";
import { DEFAULT_RETENTION } from "../../src/core/retention.ts";
import { createKeys } from "../../src/operations/api-keys.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { pruneHistory } from "../../src/operations/prune-history.ts";
import type { Account } from "../../src/store/accounts.ts";
import { listApiKeys } from "../../src/store/api-keys.ts";
import { insertFlips } from "../../src/store/flips.ts";
import type { Project } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleIntake } from "../support/checks-under-change.ts";
import { sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";
import { type Asked, UNKNOWN_UUID, useCast } from "./cast.ts";

const API_HOST = "api.example.org";
const cast = useCast({ settings: { OVERDUE_API_URL: `https://${API_HOST}` } });
const CHECKS = "/api/v3/checks/";

type Shown = { uuid: string; update_url: string };

async function newCheck(key: string, body: object = {}): Promise<Shown> {
  return (await cast.ask(CHECKS, { method: "POST", key, body })).json as Shown;
}

/** A read-write key for a project. */
async function keyFor(project: Project): Promise<string> {
  const { keys } = await createKeys(cast.db, {
    projectUuid: project.uuid,
    kinds: ["readWrite"],
    name: "",
    replace: false,
    secretKey: await secretKeyOf(cast.db, null),
    now: await cast.now(),
  });
  return keys.readWrite ?? "";
}

/** A project of an account of this sort, with a key. */
async function projectOf(given: Partial<Account>): Promise<{ project: Project; key: string }> {
  const { id: ownerId } = await sampleAccount(cast.db, given);
  const project = await sampleProject(cast.db, { ownerId });
  return { project, key: await keyFor(project) };
}

/** The status and the body of a request that comes to another host. */
function askHost(host: string, path: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { Host: host, "X-Api-Key": cast.owner.rw };
    request(`${cast.site}${path}`, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
      );
    })
      .on("error", reject)
      .end();
  });
}

test("version 3 begins at /v3 on a separate host", async () => {
  const { uuid, update_url } = await newCheck(cast.owner.rw);
  expect(update_url).toBe(`https://${API_HOST}/v3/checks/${uuid}`);
  const answer = await askHost(API_HOST, `/v3/checks/${uuid}`);
  expect(JSON.parse(answer.text)).toMatchObject({ uuid, update_url });
  expect((await askHost(API_HOST, "/v3/openapi.json")).text).toContain(`https://${API_HOST}/v3"`);
  expect((await askHost(new URL(cast.site).host, `/v3/checks/${uuid}`)).status).toBe(404);
});

test("multipart form data is not accepted", async () => {
  const body = '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nBackup\r\n--x--\r\n';
  const headers = { "Content-Type": "multipart/form-data; boundary=x" };
  const reply = await cast.ask(CHECKS, { method: "POST", key: cast.owner.rw, headers, body });
  expect({ status: reply.status, json: reply.json }).toEqual({
    status: 400,
    json: { error: "could not parse request body" },
  });
});

test("every answer is JSON, except that of the ping body", async () => {
  const record = await sampleIntake(cast.db);
  for (const { method, path, endpoint } of ROUTES) {
    const { uuid } = await newCheck(cast.owner.rw);
    await record([{ uuid, body: "{}" }]);
    if (endpoint === "resumeCheck") {
      await cast.ask(`${CHECKS}${uuid}/pause`, { method: "POST", key: cast.owner.rw });
    }
    const place = `/api/v3${path.replace("{check}", uuid).replace("{n}", "1")}`;
    const good = await cast.ask(place, { method, key: cast.owner.rw });
    const type = endpoint === "getPingBody" ? "text/plain" : "application/json";
    expect([endpoint, good.status < 300, good.headers.get("content-type")]).toEqual([endpoint, true, type]);
    for (const refused of [await cast.ask(place, { method: "PUT" }), await cast.ask(`${place}x`)]) {
      expect(refused.status, place).toBeGreaterThanOrEqual(400);
      expect(refused.json).toHaveProperty("error");
    }
  }
});

test("an integration cannot be named by a name with a comma", async () => {
  const { uuid } = await cast.channel(cast.owner, { name: "Ops, night", kind: "email" });
  const asked = { method: "POST", key: cast.owner.rw };
  const byName = await cast.ask(CHECKS, { ...asked, body: { channels: "Ops, night" } });
  expect({ status: byName.status, json: byName.json }).toEqual({
    status: 400,
    json: { error: "invalid channel identifier: Ops" },
  });
  expect((await cast.ask(CHECKS, { ...asked, body: { channels: uuid } })).status).toBe(201);
});

describe("keys", () => {
  test("no key is valid for a whole account", async () => {
    const { id: ownerId } = await sampleAccount(cast.db);
    const [one, other] = [
      await keyFor(await sampleProject(cast.db, { ownerId })),
      await keyFor(await sampleProject(cast.db, { ownerId })),
    ];
    const { uuid } = await newCheck(one);
    expect((await cast.ask(CHECKS, { key: other })).json).toEqual({ checks: [] });
    expect((await cast.ask(`${CHECKS}${uuid}`, { key: other })).status).toBe(403);
  });

  test("a project has no key until one is created", async () => {
    const project = await sampleProject(cast.db);
    expect(await listApiKeys(cast.db, project.id)).toEqual([]);
    for (const key of [project.pingKey ?? "", project.uuid, project.badgeKey]) {
      expect((await cast.ask(CHECKS, { key })).status).toBe(401);
    }
    expect((await cast.ask(CHECKS, { key: await keyFor(project) })).status).toBe(200);
  });
});

describe("limits of accounts", () => {
  test("a free account has 20 checks and no more", async () => {
    const { key } = await projectOf({ checkLimit: 20 });
    for (let count = 1; count <= 20; count++) await newCheck(key);
    const { status, json } = await cast.ask(CHECKS, { method: "POST", key, body: {} });
    expect({ status, json }).toEqual({ status: 403, json: { error: "check limit reached" } });
    const { checks } = (await cast.ask(CHECKS, { key })).json as { checks: unknown[] };
    expect(checks).toHaveLength(20);
  });

  /** How many pings of a check are listed, in version 3 and in version 1, when there is one more than the limit. */
  async function listed(given: Partial<Account>, limit: number): Promise<number[]> {
    const { project, key } = await projectOf(given);
    const { uuid } = await sampleCheck(cast.db, { projectId: project.id });
    const record = await sampleIntake(cast.db);
    await record(Array.from({ length: limit + 1 }, () => ({ uuid })));
    const counts: number[] = [];
    for (const version of ["v3", "v1"]) {
      const { json } = await cast.ask(`/api/${version}/checks/${uuid}/pings/`, { key });
      const { pings } = json as { pings: { n: number }[] };
      expect(pings[0]?.n).toBe(limit + 1);
      counts.push(pings.length);
    }
    return counts;
  }

  test("for a free account 100 pings are listed", async () => {
    expect(await listed({ pingLogLimit: FREE_PING_LOG_ROWS }, 100)).toEqual([100, 100]);
  });

  test("for a paid account 1000 pings are listed", async () => {
    expect(await listed({ pingLogLimit: null }, 1_000)).toEqual([1_000, 1_000]);
  });
});

test("an old flip is listed until it is pruned", async () => {
  const { project, key } = await projectOf({});
  const { id: checkId, uuid } = await sampleCheck(cast.db, { projectId: project.id });
  const now = await cast.now();
  const flip = { at: now - 400 * DAY_MS, from: "up", to: "down", reason: "fail" } as const;
  await inTransaction(cast.db, (tx) => insertFlips(tx, [{ checkId, flip }]));
  const listed = async () => (await cast.ask(`${CHECKS}${uuid}/flips/`, { key })).json;
  expect(await listed()).toMatchObject([{ up: 0 }]);
  await pruneHistory(cast.db, { retention: DEFAULT_RETENTION, now });
  expect(await listed()).toEqual([]);
});

describe("codes", () => {
  type Provoked = Asked & { path?: string };

  const noKey: Provoked = { key: "" };
  const foreign = (): Provoked => ({ key: cast.stranger.rw });
  const absent = (end = ""): Provoked => ({ path: `checks/${UNKNOWN_UUID}${end}` });
  const unreadable: Provoked = { body: "x" };

  /** For each call its path, how it is asked, and what gets each of its codes besides 200. */
  const CALLS: [string, string, string, () => Record<number, Provoked>][] = [
    ["version 1, list: every code that is promised", "GET", "checks/", () => ({ 401: noKey })],
    [
      "version 1, get: every code that is promised",
      "GET",
      "checks/UUID",
      () => ({ 401: noKey, 403: foreign(), 404: absent() }),
    ],
    [
      "version 1, create: every code that is promised",
      "POST",
      "checks/",
      () => ({
        200: { body: { name: "known", unique: ["name"] } },
        201: {},
        400: unreadable,
        401: noKey,
        403: { key: cast.owner.ro },
      }),
    ],
    [
      "version 1, update: every code that is promised",
      "POST",
      "checks/UUID",
      () => ({ 400: unreadable, 401: noKey, 403: foreign(), 404: absent() }),
    ],
    [
      "version 1, pause: every code that is promised",
      "POST",
      "checks/UUID/pause",
      () => ({ 401: noKey, 403: foreign(), 404: absent("/pause") }),
    ],
    [
      "version 1, delete: every code that is promised",
      "DELETE",
      "checks/UUID",
      () => ({ 401: noKey, 403: foreign(), 404: absent() }),
    ],
    [
      "version 1, pings: every code that is promised",
      "GET",
      "checks/UUID/pings/",
      () => ({ 401: noKey, 403: foreign(), 404: absent("/pings/") }),
    ],
    [
      "version 1, flips: every code that is promised",
      "GET",
      "checks/UUID/flips/",
      () => ({
        400: { path: "checks/UUID/flips/?seconds=x" },
        401: noKey,
        403: foreign(),
        404: absent("/flips/"),
      }),
    ],
    ["version 1, channels: every code that is promised", "GET", "channels/", () => ({ 401: noKey })],
    ["version 1, badges: every code that is promised", "GET", "badges/", () => ({ 401: noKey })],
  ];

  test.each(CALLS)("%s", async (_, method, path, others) => {
    const { uuid } = await newCheck(cast.owner.rw, { name: "known", unique: ["name"] });
    const provoked = Object.entries(others());
    // The good answer comes last, since a deletion is one.
    if (!provoked.some(([status]) => status === "200")) provoked.push(["200", {}]);
    for (const [status, { path: where = path, ...asked }] of provoked) {
      const place = `/api/v1/${where.replace("UUID", uuid)}`;
      const reply = await cast.ask(place, { method, key: cast.owner.rw, ...asked });
      expect(reply.status, `${place}: ${reply.text}`).toBe(Number(status));
    }
  });
});
