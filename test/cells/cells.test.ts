// Two cells behind a real HAProxy: requests reach the cell of their id, and one that reaches the wrong cell is forwarded
// once.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { slotOf } from "../../src/core/identity.ts";
import type { CreatedProject } from "../../src/operations/projects.ts";
import { callOverdue } from "../cli/run-overdue.ts";
import { type Router, type RunningCell, type RunningCells, startCells } from "../support/cells.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const SLOTS = { a: "000-7ff", b: "800-ffe", absent: "fff" };

type Check = { uuid: string; slug: string; badge_url: string; ping_url: string };

let running: RunningCells;
let a: RunningCell;
let b: RunningCell;
let ofA: CreatedProject;
let ofB: CreatedProject;
let checkA: Check;
let checkB: Check;
let router: Router;

beforeAll(async () => {
  running = await startCells({ slots: SLOTS, absent: ["absent"] });
  [a, b] = running.cells as [RunningCell, RunningCell];
  ofA = await a.addProject();
  ofB = await b.addProject();
  checkA = await createCheck(a.url, ofA.apiKey);
  checkB = await createCheck(b.url, ofB.apiKey);
  const maps = join(running.folder, "maps");
  await running.writeMaps(maps);
  router = await running.startRouter(maps);
});

afterAll(() => running.stop());

async function createCheck(url: string, key: string): Promise<Check> {
  const response = await fetch(`${url}/api/v3/checks/`, {
    method: "POST",
    headers: { "X-Api-Key": key },
    body: JSON.stringify({ name: "Backup", slug: "backup", tags: "db" }),
  });
  expect(response.status).toBe(201);
  const made = (await response.json()) as Omit<Check, "uuid">;
  return { ...made, uuid: made.ping_url.split("/").at(-1) ?? "" };
}

type Asked = { status: number; text: string; headers: Headers };

async function ask(url: string, path: string, init: RequestInit = {}): Promise<Asked> {
  const response = await fetch(url + path, init);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const PATIENCE_MS = 60_000;
const UNAVAILABLE = 503;

/** Sends it again while the server is too busy to answer, as a job does. */
async function send(url: string, path: string, init: RequestInit = {}): Promise<Asked> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const asked = await ask(url, path, init);
    if (asked.status !== UNAVAILABLE || performance.now() > giveUpAt) return asked;
    await sleep(100);
  }
}

async function pingsOf({ database }: RunningCell, uuid: string) {
  const { rows } = await database.pool.query<{ n: string; remote_addr: string | null; scheme: string }>(
    `select p.n, p.remote_addr, p.scheme from pings p join checks c on c.id = p.check_id
     where c.uuid = $1 order by p.n`,
    [uuid],
  );
  return rows;
}

/** A page that contains the URL of its site. `fetch` does not allow another host. */
async function wrapperOf(host: string): Promise<string> {
  const [response] = (await once(
    get(`${router.url}/overdue-run`, { headers: { Host: host } }),
    "response",
  )) as [IncomingMessage];
  return (await response.toArray()).join("");
}

const hasForwarded = (cell: RunningCell) =>
  cell.program.said().includes("forwarded a request to another cell");

test("ids of new projects and checks are in the slots of their cell", () => {
  const idsA = [ofA.uuid, ofA.pingKey, ofA.apiKey, ofA.apiKeyReadonly, checkA.uuid, badgeOf(checkA)];
  const idsB = [ofB.uuid, ofB.pingKey, ofB.apiKey, ofB.apiKeyReadonly, checkB.uuid, badgeOf(checkB)];
  expect(idsA.filter((id) => slotOf(id) > "7ff")).toEqual([]);
  expect(idsB.filter((id) => slotOf(id) < "800" || slotOf(id) > "ffe")).toEqual([]);
});

function badgeOf({ badge_url: url }: Check): string {
  return url.split("/").at(-1)?.replace(".svg", "") ?? "";
}

describe("through the router", () => {
  test("pings by UUID and by ping key reach their cell", async () => {
    for (const [cell, project, check] of [
      [a, ofA, checkA],
      [b, ofB, checkB],
    ] as const) {
      const before = (await pingsOf(cell, check.uuid)).length;
      expect(await send(router.url, `/ping/${check.uuid}/start`)).toMatchObject({ status: 200 });
      expect(await send(router.url, `/ping/${project.pingKey}/backup`)).toMatchObject({ status: 200 });
      const posted = await send(router.url, `/ping/${check.uuid}`, {
        method: "POST",
        body: "x".repeat(60_000),
      });
      expect(posted.status).toBe(200);
      expect((await pingsOf(cell, check.uuid)).length - before).toBeGreaterThanOrEqual(3);
    }
    expect([hasForwarded(a), hasForwarded(b)]).toEqual([false, false]);
  });

  test("a UUID that is percent-encoded reaches its cell, too", async () => {
    const encoded = `%${checkB.uuid.charCodeAt(0).toString(16)}${checkB.uuid.slice(1)}`;
    expect((await send(router.url, `/ping/${encoded}`)).status).toBe(200);
    expect([hasForwarded(a), hasForwarded(b)]).toEqual([false, false]);
  });

  test("API requests reach the cell of their key, in the header or the body", async () => {
    for (const [project, check] of [
      [ofA, checkA],
      [ofB, checkB],
    ] as const) {
      const listed = await send(router.url, "/api/v3/checks/", { headers: { "X-Api-Key": project.apiKey } });
      expect(listed.text).toContain(check.uuid);
      const path = `/api/v3/checks/${check.uuid}`;
      const body = JSON.stringify({ api_key: project.apiKey, desc: "changed" });
      expect((await send(router.url, path, { method: "POST", body })).text).toContain("changed");
      const created = { api_key: project.apiKey, name: "Backup", unique: ["name"] };
      const made = await send(router.url, "/api/v3/checks/", {
        method: "POST",
        body: JSON.stringify(created),
      });
      expect([made.status, made.text]).toEqual([200, expect.stringContaining(check.uuid)]);
    }
    expect([hasForwarded(a), hasForwarded(b)]).toEqual([false, false]);
  });

  test("badges and metrics reach their cell", async () => {
    for (const [project, check] of [
      [ofA, checkA],
      [ofB, checkB],
    ] as const) {
      expect((await send(router.url, new URL(check.badge_url).pathname)).status).toBe(200);
      const badges = await send(router.url, "/api/v3/badges/", { headers: { "X-Api-Key": project.apiKey } });
      const { svg = "" } =
        Object.values((JSON.parse(badges.text) as { badges: Record<string, { svg: string }> }).badges)[0] ??
        {};
      expect((await send(router.url, new URL(svg).pathname)).status).toBe(200);
      const metrics = await send(router.url, `/projects/${project.uuid}/metrics/${project.apiKeyReadonly}`);
      expect([metrics.status, metrics.text]).toEqual([200, expect.stringContaining("hc_check_up")]);
    }
    expect([hasForwarded(a), hasForwarded(b)]).toEqual([false, false]);
  });

  test("without an id, the host decides", async () => {
    expect(await wrapperOf("b.example.org")).toContain("http://b.example.org");
    expect(await wrapperOf("a.example.org")).toContain("http://a.example.org");
    expect(await wrapperOf("unknown.example.org")).toContain("http://a.example.org");
  });

  test("clients cannot set the headers that cells trust", async () => {
    const headers = { "X-Forwarded-For": "203.0.113.9", "Overdue-Forwarded-By": "x" };
    expect((await send(router.url, `/ping/${checkA.uuid}`, { headers })).status).toBe(200);
    expect((await pingsOf(a, checkA.uuid)).at(-1)).toMatchObject({
      remote_addr: "127.0.0.1",
      scheme: "http",
    });
  });
});

describe("ids of this cell in slots of another one", () => {
  test("the maps have them, and the router finds them", async () => {
    const uuid = `9${randomUUID().slice(1)}`;
    const pingKey = `9${"k".repeat(21)}`;
    const project = await sampleProject(a.database, { uuid, pingKey, badgeKey: `9${randomUUID().slice(1)}` });
    const check = await sampleCheck(a.database, { projectId: project.id, slug: "old" });
    await a.database.pool.query("update checks set uuid = $2, badge_uuid = $3 where id = $1", [
      check.id,
      `9${check.uuid.slice(1)}`,
      `9${check.badgeUuid.slice(1)}`,
    ]);
    const old = `9${check.uuid.slice(1)}`;
    const directory = join(running.folder, "exceptions");
    const { out } = await callOverdue(["router", "maps", "--directory", directory, "--json"], a.settings);
    expect(JSON.parse(out)).toEqual({ cell: "a", exceptions: 5, missing: ["b", "absent"] });
    await running.writeMaps(directory);
    const exceptions = readFileSync(join(directory, "exceptions.map"), "utf8");
    const ids = [uuid, pingKey, project.badgeKey, old, `9${check.badgeUuid.slice(1)}`];
    expect(exceptions.trim().split("\n").toSorted()).toEqual(ids.map((id) => `${id} cell_a`).toSorted());
    expect(readFileSync(join(directory, "slots.map"), "utf8").trim().split("\n")).toHaveLength(4_096);
    const fresh = await running.startRouter(directory);
    expect((await send(fresh.url, `/ping/${old}`)).status).toBe(200);
    expect((await send(fresh.url, `/ping/${pingKey}/old`)).status).toBe(200);
    expect((await send(fresh.url, `/ping/${pingKey}/new?create=1`)).status).toBe(201);
    expect((await pingsOf(a, old)).length).toBeGreaterThanOrEqual(2);
    // A new check of an old project needs no exception.
    const { rows } = await a.database.pool.query<{ uuid: string }>(
      "select uuid from checks where project_id = $1 and slug = 'new'",
      [project.id],
    );
    expect(rows.map((row) => slotOf(row.uuid) < "800")).toEqual([true]);
  });
});

describe("a request to the wrong cell", () => {
  test("is forwarded, with its body and the address of the client", async () => {
    const before = (await pingsOf(b, checkB.uuid)).length;
    const headers = { "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https" };
    const sent = await send(a.url, `/ping/${checkB.uuid}`, { method: "POST", body: "output", headers });
    expect([sent.status, sent.text]).toEqual([200, "OK"]);
    expect(sent.headers.get("access-control-allow-origin")).toBe("*");
    expect((await send(a.url, `/ping/${ofB.pingKey}/backup`, { headers })).status).toBe(200);
    const stored = await pingsOf(b, checkB.uuid);
    expect(new Set(stored.slice(before).map((ping) => `${ping.remote_addr} ${ping.scheme}`))).toEqual(
      new Set(["203.0.113.9 https"]),
    );
    const n = stored[before]?.n ?? "";
    const body = await send(a.url, `/api/v3/checks/${checkB.uuid}/pings/${n}/body`, {
      headers: { "X-Api-Key": ofB.apiKey },
    });
    expect([body.status, body.text]).toEqual([200, "output"]);
    await expect.poll(() => hasForwarded(a)).toBe(true);
  });

  test("a router whose map is wrong loses no request", async () => {
    const directory = join(running.folder, "stale");
    await running.writeMaps(directory);
    const slots = readFileSync(join(directory, "slots.map"), "utf8");
    const swapped = slots.replace(/cell_[ab]$/gm, (name) => (name === "cell_a" ? "cell_b" : "cell_a"));
    writeFileSync(join(directory, "slots.map"), swapped);
    const stale = await running.startRouter(directory);
    for (const [project, check] of [
      [ofA, checkA],
      [ofB, checkB],
    ] as const) {
      expect((await send(stale.url, `/ping/${check.uuid}`)).status).toBe(200);
      expect((await send(stale.url, `/ping/${project.pingKey}/backup`)).status).toBe(200);
      expect((await send(stale.url, new URL(check.badge_url).pathname)).status).toBe(200);
      const listed = await send(stale.url, "/api/v3/checks/", { headers: { "X-Api-Key": project.apiKey } });
      expect(listed.text).toContain(check.uuid);
    }
  });

  test("a wrong key is rejected by the cell of its slot", async () => {
    const key = `${ofB.apiKey.slice(0, -4)}0000`;
    const { status, text } = await send(a.url, "/api/v3/checks/", { headers: { "X-Api-Key": key } });
    expect([status, text]).toEqual([401, expect.stringContaining("wrong api key")]);
  });

  test("is not forwarded twice", async () => {
    const headers = { "Overdue-Forwarded-By": "b" };
    // The other cell would answer with 200.
    expect((await send(a.url, `/ping/${checkB.uuid}`, { headers })).status).toBe(404);
  });

  test("an id that is nowhere is unknown", async () => {
    expect((await send(a.url, `/ping/9${randomUUID().slice(1)}`)).status).toBe(404);
  });

  test("gets 503 with the reason if that cell does not run", async () => {
    const { status, text, headers } = await ask(a.url, `/ping/fff${randomUUID().slice(3)}`, {
      method: "POST",
      body: "output",
    });
    expect([status, text]).toEqual([503, 'Cell "absent" cannot be reached. Try again later.']);
    expect(headers.get("retry-after")).toBe("5");
    const api = await ask(a.url, "/api/v3/checks/", { headers: { "X-Api-Key": `odw_fff${"x".repeat(25)}` } });
    expect([api.status, JSON.parse(api.text)]).toEqual([
      503,
      { error: 'Cell "absent" cannot be reached. Try again later.' },
    ]);
  });
});

// Last: the database of a cell is stopped.
test("the database of one cell does not disturb the other one", async () => {
  await b.server.stop();
  expect((await ask(router.url, `/ping/${checkB.uuid}`)).status).toBe(503);
  expect((await send(router.url, `/ping/${checkA.uuid}`)).status).toBe(200);
  const listed = await send(router.url, "/api/v3/checks/", { headers: { "X-Api-Key": ofA.apiKey } });
  expect(listed.text).toContain(checkA.uuid);
  // Without its database, a cell cannot tell whether the id is here: it may be one that the spool takes.
  expect((await ask(b.url, `/ping/${checkA.uuid}`)).status).toBe(503);
  expect((await ask(b.url, new URL(checkA.badge_url).pathname)).status).toBe(503);
});
