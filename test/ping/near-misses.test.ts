// Near misses over real HTTP, with the whole program: what becomes of requests that reached no check, what aliases do,
// and what a flood leaves behind.
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { CheckAlias, NearMiss, NearMissList } from "../../src/contract/api/near-misses.ts";
import { NEAR_MISSES_MAX } from "../../src/core/limits.ts";
import { askApi } from "../api/asking.ts";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import { sampleCheck } from "../support/sample.ts";

const cast = useCast({
  roles: ["ping", "api"],
  settings: { OVERDUE_API_RATE_LIMIT: "0", OVERDUE_TRUSTED_PROXIES: "127.0.0.0/8" },
});

/** A bound for what never comes, not for what is slow. */
const NEVER_MS = 120_000;
/** Few, so that the server is busy but accepts everything. */
const CONNECTIONS = 8;
/** Requests that are sent before their responses are read. */
const BURST = 100;

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
afterAll(() => agent.destroy());

type Sent = { method?: string; from?: string; headers?: Record<string, string> };

/** The status and the body. While the server is overloaded it says so, and the request is repeated, as jobs do. */
async function send(
  path: string,
  { method = "GET", from = "203.0.113.7", headers = {} }: Sent = {},
): Promise<string> {
  for (;;) {
    const answer = await new Promise<string>((resolve, reject) => {
      const sent = request(
        cast.site + path,
        { agent, method, headers: { "x-forwarded-for": from, "user-agent": "curl/8.5.0", ...headers } },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
          response.on("end", () => resolve(`${response.statusCode} ${text}`));
        },
      );
      sent.on("error", reject).end();
    });
    if (!answer.startsWith("503")) return answer;
    await pause(50);
  }
}

const NOT_FOUND = "404 not found";
const LIST = "/projects/{project}/near-misses";

const ask = (path: string, given: Parameters<typeof askApi>[2] = {}) =>
  askApi(cast, path, { key: cast.owner.rw, ...given });

async function list({ rw, project } = cast.owner): Promise<NearMissList> {
  const { json } = await askApi(cast, LIST.replace("{project}", project.uuid), { key: rw });
  return json as unknown as NearMissList;
}

/** Waits until the near miss with an address is listed, with at least so many requests. */
async function missOf(address: string, { count = 1, player = cast.owner } = {}): Promise<NearMiss> {
  const find = async () =>
    (await list(player)).nearMisses.find((one) => one.address === address && one.count >= count);
  await expect.poll(find, { timeout: NEVER_MS, interval: 200 }).toBeDefined();
  const found = await find();
  if (found === undefined) throw new Error(`${address} is listed no more`);
  return found;
}

const changed = (uuid: string) => (uuid.startsWith("0") ? "1" : "0") + uuid.slice(1);
const pingCount = async (uuid: string) => {
  const { rows } = await cast.db.pool.query<{ count: string }>(
    "select count(*) from pings p join checks c on c.id = p.check_id where c.uuid = $1",
    [uuid],
  );
  return Number(rows[0]?.count);
};
const rowCount = async () =>
  Number((await cast.db.pool.query<{ count: string }>("select count(*) from near_misses")).rows[0]?.count);

describe("a request", () => {
  test("to a mistyped UUID is listed with the check that it resembles, and answered like any other", async () => {
    const check = await newCheck(cast, { name: "Nightly backup" });
    const uuid = changed(check.uuid);
    const answers = await Promise.all([send(`/ping/${uuid}`), send(`/ping/${randomUUID()}`)]);
    expect(answers).toEqual([NOT_FOUND, NOT_FOUND]);
    expect(await missOf(uuid)).toMatchObject({
      kind: "uuid",
      bySlug: false,
      check: { id: check.uuid, name: "Nightly backup" },
      method: "GET",
      remoteAddr: "203.0.113.7",
      ua: "curl/8.5.0",
      count: 1,
      weekCount: 1,
      actions: ["alias", "create"],
      schedule: null,
    });
    await send(`/ping/${uuid}/fail`, { method: "POST", from: "198.51.100.9" });
    expect(await missOf(uuid, { count: 2 })).toMatchObject({ method: "POST", remoteAddr: "198.51.100.9" });
  });

  test.each([
    ["upper case", (uuid: string) => `${uuid.slice(0, 15)}A${uuid.slice(15, 35)}`.toUpperCase()],
    ["without hyphens", (uuid: string) => uuid.replaceAll("-", "")],
    ["cut off", (uuid: string) => uuid.slice(0, 30)],
  ])("to a UUID %s is listed", async (name, change) => {
    const check = await newCheck(cast, { name: `Job ${name}` });
    const text = change(check.uuid);
    expect(await send(`/ping/${text}`)).toBe(NOT_FOUND);
    expect(await missOf(text)).toMatchObject({ kind: "uuid", check: { id: check.uuid } });
  });

  test("to an unknown slug is listed, with a similar one; with a wrong key it is not", async () => {
    const check = await newCheck(cast, { name: "weekly report", slug: "weekly-report" });
    const { pingKey } = cast.owner;
    expect(await send(`/ping/${pingKey}/weelky-report`)).toBe(NOT_FOUND);
    expect(await send(`/ping/${pingKey}/warehouse-compact/start`)).toBe(NOT_FOUND);
    expect(await send(`/ping/${"z".repeat(22)}/weelky-rep`)).toBe(NOT_FOUND);
    expect(await missOf("weelky-report")).toMatchObject({
      kind: "slug",
      bySlug: true,
      check: { id: check.uuid },
    });
    expect(await missOf("warehouse-compact")).toMatchObject({ check: null, actions: ["create", "alias"] });
    const { nearMisses } = await list();
    expect(nearMisses.map(({ address }) => address)).not.toContain("weelky-rep");
  });

  test("with a wrong method or suffix is listed with its check", async () => {
    const check = await newCheck(cast, { name: "Wrong", slug: "wrong-end" });
    expect(await send(`/ping/${check.uuid}`, { method: "PUT" })).toMatch(/^405 /);
    expect(await send(`/ping/${check.uuid}/stat`)).toBe(NOT_FOUND);
    expect(await send(`/ping/${cast.owner.pingKey}/wrong-end/done`)).toBe(NOT_FOUND);
    expect(await missOf(check.uuid)).toMatchObject({ kind: "method", method: "PUT", actions: [] });
    expect(await missOf(`${check.uuid}/stat`)).toMatchObject({ kind: "suffix", check: { id: check.uuid } });
    expect(await missOf("wrong-end/done")).toMatchObject({ kind: "suffix", bySlug: true });
  });

  test("to a deleted check is listed until the check is restored", async () => {
    const check = await newCheck(cast, { name: "Cache warmer" });
    await ask(`/checks/${check.uuid}`, { method: "DELETE" });
    expect(await send(`/ping/${check.uuid}`)).toBe(NOT_FOUND);
    const miss = await missOf(check.uuid);
    expect(miss).toMatchObject({ kind: "deleted", actions: ["restore", "alias"] });
    expect(miss.check?.deletedAt).not.toBeNull();
    expect((await ask(`/checks/${check.uuid}/restore`, { method: "POST" })).status).toBe(200);
    expect((await list()).nearMisses.map(({ id }) => id)).not.toContain(miss.id);
    expect(await send(`/ping/${check.uuid}`)).toBe("200 OK");
  });

  test("to a check that left the trash is known from the audit log", async () => {
    const check = await newCheck(cast, { name: "Long gone" });
    await ask(`/checks/${check.uuid}`, { method: "DELETE" });
    await cast.db.pool.query("delete from checks where uuid = $1", [check.uuid]);
    await send(`/ping/${check.uuid}`);
    const miss = await missOf(check.uuid);
    expect(miss).toMatchObject({ kind: "deleted", check: null, deleted: { name: "Long gone" } });
    const made = await ask(`${LIST}/${miss.id}/check`, { method: "POST", body: {} });
    expect(made.status).toBe(201);
    expect(await send(`/ping/${check.uuid}`)).toBe("200 OK");
    // A ping that was not acknowledged may be recorded anyway, so there may be more.
    expect(await pingCount(made.json["id"] as string)).toBeGreaterThanOrEqual(1);
  });

  test("to a check of another project is listed there, and only there", async () => {
    const check = await sampleCheck(cast.db, { projectId: cast.stranger.project.id });
    const uuid = changed(check.uuid);
    await send(`/ping/${uuid}`);
    await missOf(uuid, { player: cast.stranger });
    expect((await list()).nearMisses.map(({ address }) => address)).not.toContain(uuid);
  });
});

describe("an alias", () => {
  const alias = async (miss: NearMiss, check: string) =>
    ask(`${LIST}/${miss.id}/alias`, { method: "POST", body: { check } });

  test.each([
    ["a UUID", (uuid: string, _slug: string) => changed(uuid)],
    ["a slug", (_uuid: string, slug: string) => `${cast.owner.pingKey}/${slug.replace("alias", "alais")}`],
    ["a malformed UUID", (uuid: string, _slug: string) => uuid.slice(0, 35)],
  ])("makes requests to %s pings of its check, until it is removed", async (name, pathOf) => {
    const slug = `alias-${name.replaceAll(" ", "-").toLowerCase()}`;
    const check = await newCheck(cast, { name, slug });
    const path = `/ping/${pathOf(check.uuid, slug)}`;
    expect(await send(path)).toBe(NOT_FOUND);
    const miss = await missOf(path.split("/").at(-1) ?? "");
    const added = await alias(miss, check.uuid);
    expect(added.status).toBe(201);
    const poll = { timeout: NEVER_MS, interval: 200 };
    await expect.poll(() => send(path), poll).toBe("200 OK");
    expect(await send(`${path}/start`)).toBe("200 OK");
    expect(await pingCount(check.uuid)).toBeGreaterThanOrEqual(2);
    expect((await list()).nearMisses.map(({ id }) => id)).not.toContain(miss.id);
    const { json } = await ask(`/checks/${check.uuid}/aliases`);
    const [{ id } = { id: 0 }] = json["aliases"] as CheckAlias[];
    expect((await ask(`/checks/${check.uuid}/aliases/${id}`, { method: "DELETE" })).status).toBe(204);
    await expect.poll(() => send(path), poll).toBe(NOT_FOUND);
    await missOf(miss.address);
  });

  test("works in a batch with other pings", async () => {
    const [one, two] = [await newCheck(cast, { name: "One" }), await newCheck(cast, { name: "Two" })];
    const uuid = changed(one.uuid);
    await send(`/ping/${uuid}`);
    expect((await alias(await missOf(uuid), one.uuid)).status).toBe(201);
    const paths = Array.from(
      { length: 30 },
      (_, at) => [uuid, one.uuid, two.uuid, randomUUID()][at % 4] ?? "",
    );
    const answers = await Promise.all(paths.map((path) => send(`/ping/${path}`)));
    expect(answers.filter((answer) => answer === "200 OK")).toHaveLength(23);
    expect(await pingCount(one.uuid)).toBeGreaterThanOrEqual(16);
    expect(await pingCount(two.uuid)).toBeGreaterThanOrEqual(7);
  });
});

describe("a flood", () => {
  /** Sends requests in bursts, each on one connection; resolves with the number of responses by status. */
  async function flood(count: number, requestAt: (at: number) => { path: string; from: string }) {
    const statuses = new Map<string, number>();
    const sendBursts = async (_: unknown, connection: number) => {
      const socket = connect(Number(new URL(cast.site).port), "127.0.0.1").setEncoding("latin1");
      for (let at = connection * BURST; at < count; at += CONNECTIONS * BURST) {
        const burst = Array.from({ length: Math.min(BURST, count - at) }, (__, more) => requestAt(at + more));
        const text = burst.map(
          ({ path, from }) => `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${from}\r\n\r\n`,
        );
        socket.write(text.join(""));
        let rest = "";
        for (let answered = 0; answered < burst.length; ) {
          const [piece] = (await once(socket, "data")) as [string];
          const heads = [...(rest + piece).matchAll(/HTTP\/1\.1 (\d{3})/g)];
          for (const [, status = ""] of heads) statuses.set(status, (statuses.get(status) ?? 0) + 1);
          answered += heads.length;
          // A status line may be cut in two; one that was complete is not counted again.
          rest = (rest + piece).slice(-11).replace(/HTTP\/1\.1 \d{3}/, "");
        }
      }
      socket.destroy();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, sendBursts));
    return Object.fromEntries(statuses);
  }

  test("of random UUIDs and of slugs with a wrong key leaves no rows, and does not hide a near miss", {
    timeout: 600_000,
  }, async () => {
    const check = await newCheck(cast, { name: "Quiet job" });
    const before = await rowCount();
    const uuid = changed(check.uuid);
    const real: Promise<string>[] = [];
    const statuses = await flood(100_000, (at) => {
      if (at % 20_000 === 10_000) real.push(send(`/ping/${uuid}`, { from: "203.0.113.50" }));
      const slug = `${randomBytes(11).toString("hex")}/${randomBytes(4).toString("hex")}`;
      return { path: `/ping/${at % 4 === 0 ? slug : randomUUID()}`, from: "192.0.2.66" };
    });
    // An overloaded server may ask some to retry.
    expect((statuses["404"] ?? 0) + (statuses["503"] ?? 0)).toBe(100_000);
    expect(statuses["404"]).toBeGreaterThan(1_000);
    expect(await Promise.all(real)).toEqual(Array.from({ length: 5 }, () => NOT_FOUND));
    await missOf(uuid);
    expect(await rowCount()).toBe(before + 1);
  });

  test("of slugs with the right key fills the list up to its limit, and what was seen before remains", {
    timeout: 600_000,
  }, async () => {
    const player = cast.mate;
    const check = await sampleCheck(cast.db, { projectId: player.project.id, slug: "night-job" });
    const path = `/ping/${player.pingKey}/nihgt-job`;
    await send(path, { from: "203.0.113.51" });
    await send(path, { from: "203.0.113.51" });
    await missOf("nihgt-job", { player, count: 2 });
    const open = async () => (await list(player)).counts.open;
    // From many networks, so that many of them are looked up; until the list is full.
    await expect
      .poll(
        async () => {
          await flood(2_000, (at) => ({
            path: `/ping/${player.pingKey}/${randomBytes(5).toString("hex")}`,
            from: `198.18.${at % 200}.1`,
          }));
          return open();
        },
        { timeout: NEVER_MS, interval: 500 },
      )
      .toBe(NEAR_MISSES_MAX);
    const real = await missOf("nihgt-job", { player });
    expect(real).toMatchObject({ count: 2, check: { id: check.uuid } });
  });
});
