// The wall board for members and with a share link. The token of a link opens the board of one project and nothing else.
import { beforeEach, describe, expect, test } from "vitest";
import type { Board, BoardLinkList, BoardLinkMade } from "../../src/contract/api/board.ts";
import { API_PATH, paramsOf, type RouteDefinition } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";
import { BOARD_CANDLES_MAX, BOARD_GROUPS_MAX, BOARD_LINKS_MAX } from "../../src/core/limits.ts";
import { digestOfToken } from "../../src/lib/secrets.ts";
import { WEB_ROUTES } from "../../src/services/web/routes.ts";
import { newCheck, signals } from "../management/asking.ts";
import { sampleAccount } from "../support/sample.ts";
import { useDashboard } from "./dashboard.ts";
import { fillProject } from "./ten-thousand.ts";

const at = useDashboard({ roles: ["web", "api"], settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const project = () => `${API_PATH}/projects/${at.owner.project.uuid}`;
const links = () => `${project()}/board-links`;

async function newLink(name = "Office"): Promise<{ made: BoardLinkMade; token: string }> {
  const { status, json, text } = await at.browse(links(), { method: "POST", body: { name } });
  if (status !== 201) throw new Error(`${status} ${text}`);
  const made = json as BoardLinkMade;
  return { made, token: /\/board\/([\w-]+)\/$/.exec(made.url)?.[1] ?? "" };
}

const listed = async () => ((await at.browse(links())).json as BoardLinkList).links;
const shared = (token: string) => at.browse(`/web/board/${token}`, { as: null });
const boardOf = async () => (await at.browse(`${project()}/board`)).json as Board;

beforeEach(async () => {
  await at.db.pool.query("delete from board_links");
  await at.db.pool.query("delete from checks where project_id = $1", [at.owner.project.id]);
});

describe("a share link", () => {
  test("is shown once, is stored as a digest, and is listed with its last use", async () => {
    const { made, token } = await newLink("Office, 2nd floor");
    expect(made.url).toBe(`${at.site}/board/${token}/`);
    expect(token).toMatch(/^[\w-]{43}$/);
    const { rows } = await at.db.pool.query("select * from board_links");
    expect(rows[0].digest).toEqual(digestOfToken(token));
    expect(JSON.stringify(rows)).not.toContain(token);
    expect(await listed()).toEqual([{ ...made.link, name: "Office, 2nd floor", lastUsedAt: null }]);
    expect((await at.browse(links())).text).not.toContain(token);
    expect((await shared(token)).status).toBe(200);
    const [used] = await listed();
    expect(Math.abs((used?.lastUsedAt ?? 0) - (await at.now()))).toBeLessThan(60_000);
    const { rows: logged } = await at.db.pool.query(
      "select what, subject, after from audit_entries where what like 'boardLink%'",
    );
    expect(JSON.stringify(logged)).not.toContain(token);
  });

  test("shows the board of its project without an account, and no ids", async () => {
    const check = await newCheck(at, { name: "Nightly backup", tags: "db" });
    await signals(at, check.uuid, [{}]);
    const { token } = await newLink();
    // Another test may have read the board of the project a moment ago.
    await expect.poll(async () => ((await shared(token)).json as Board).total).toBe(1);
    const { json, text, headers } = await shared(token);
    const board = json as Board;
    expect(board).toMatchObject({ total: 1, counts: { up: 1 }, groups: [{ tag: "db", counts: { up: 1 } }] });
    expect(board.groups[0]?.candles[0]?.name).toBe("Nightly backup");
    for (const secret of [check.uuid, at.owner.project.uuid, at.owner.account.email])
      expect(text).not.toContain(secret);
    expect(headers.get("set-cookie")).toBeNull();
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("is revoked at once", async () => {
    const { made, token } = await newLink();
    const { token: other } = await newLink();
    expect((await shared(token)).status).toBe(200);
    expect((await at.browse(`${links()}/${made.link.id}`, { method: "DELETE" })).status).toBe(204);
    expect((await shared(token)).status).toBe(404);
    expect((await at.browse(`/board/${token}/`, { as: null })).status).toBe(404);
    expect((await shared(other)).status).toBe(200);
    expect((await at.browse(`${links()}/${made.link.id}`, { method: "DELETE" })).status).toBe(404);
  });

  test.each(["", "x", "x".repeat(43), "%00", "..%2f", "x".repeat(290)])(
    "of an invalid token is not found: %s",
    async (token) => {
      await newLink();
      expect((await shared(token)).status).toBe(404);
      expect((await at.browse(`/board/${token}/`, { as: null })).status).toBe(404);
    },
  );

  test("needs a name, and is one of a limited number", async () => {
    for (const name of ["", "   ", "x".repeat(101), "a\u0000b", 7]) {
      expect((await at.browse(links(), { method: "POST", body: { name } })).status).toBe(400);
    }
    await at.db.pool.query(
      `insert into board_links (uuid, project_id, name, digest, created_at)
        select gen_random_uuid(), $1, 'n', sha256(n::text::bytea), now() from generate_series(2, $2::int) as n`,
      [at.owner.project.id, BOARD_LINKS_MAX],
    );
    const { made } = await newLink();
    const beyond = await at.browse(links(), { method: "POST", body: { name: "one more" } });
    expect([beyond.status, (beyond.json as { detail: string }).detail]).toEqual([
      409,
      "A project can have at most 20 share links. Revoke one first.",
    ]);
    await at.browse(`${links()}/${made.link.id}`, { method: "DELETE" });
    expect((await at.browse(links(), { method: "POST", body: { name: "one more" } })).status).toBe(201);
  });

  test("cannot be revoked from another project", async () => {
    const { made, token } = await newLink();
    const theirs = `${API_PATH}/projects/${at.stranger.project.uuid}/board-links/${made.link.id}`;
    expect((await at.browse(theirs, { method: "DELETE", as: at.stranger.account })).status).toBe(404);
    expect((await shared(token)).status).toBe(200);
  });

  test("is created and revoked by members who may manage keys, and the audit log says so", async () => {
    const reader = await sampleAccount(at.db);
    await at.join(reader, "readOnly");
    const refused = await at.browse(links(), { method: "POST", body: { name: "x" }, as: reader });
    expect(refused.status).toBe(403);
    const { made } = await newLink("Lobby");
    await at.browse(`${links()}/${made.link.id}`, { method: "DELETE" });
    const { rows } = await at.db.pool.query(
      "select what from audit_entries where subject = 'Lobby' order by id",
    );
    expect(rows.map(({ what }) => what)).toEqual(["boardLink.created", "boardLink.revoked"]);
  });
});

describe("the token of a share link", () => {
  /** Every place in which a request can carry a credential. */
  const places = (token: string): Record<string, string>[] => [
    { "X-Api-Key": token },
    { Authorization: `Bearer ${token}` },
    { Cookie: `overdue_session=${token}` },
  ];

  test("is refused by every other route of the API", { timeout: 300_000 }, async () => {
    const { token } = await newLink();
    const check = await newCheck(at, { name: "secret name" });
    const subjects: Record<string, string> = { project: at.owner.project.uuid, check: check.uuid };
    const wrong: string[] = [];
    for (const [id, definition] of Object.entries<RouteDefinition>(API_ROUTES)) {
      if (definition.access === "anyone") continue;
      const named = paramsOf(definition.path).reduce(
        (path, name) => path.replace(`{${name}}`, subjects[name] ?? "1"),
        definition.path,
      );
      for (const headers of places(token)) {
        const { status } = await at.ask(API_PATH + named, {
          method: definition.method,
          headers: { Origin: at.site, ...headers },
        });
        if (status !== 401) wrong.push(`${id} with ${Object.keys(headers)[0]}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("is refused by every page and by the requests of pages", { timeout: 300_000 }, async () => {
    const { token } = await newLink();
    const check = await newCheck(at, { name: "secret name" });
    const subjects: Record<string, string> = { project: at.owner.project.uuid, check: check.uuid };
    const wrong: string[] = [];
    for (const { name, method, path, access } of WEB_ROUTES) {
      if (access === "anyone") continue;
      const named = path.replaceAll(/:(\w+)/g, (_, word: string) => subjects[word] ?? "1");
      for (const headers of places(token)) {
        const { status, text } = await at.ask(named, { method, headers: { Origin: at.site, ...headers } });
        // A page leads to the sign-in page instead.
        const isRefused = path.startsWith("/web/") ? status === 401 : status === 303 || status === 200;
        const isSeen = text.includes("secret name") || text.includes(at.owner.project.uuid);
        if (!isRefused || isSeen) wrong.push(`${name} with ${Object.keys(headers)[0]}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("is refused by the Management API", async () => {
    const { token } = await newLink();
    for (const headers of places(token)) {
      expect((await at.ask("/api/v3/checks/", { headers })).status).toBe(401);
    }
  });

  test("is of no use for pings", async () => {
    const { token } = await newLink();
    expect((await at.ask(`/ping/${token}`, {})).status).toBeGreaterThanOrEqual(400);
  });
});

describe("the board", () => {
  test("of an empty project says so", async () => {
    expect(await boardOf()).toMatchObject({
      headline: { kind: "empty" },
      total: 0,
      cards: [],
      groups: [],
      rest: null,
      next: [],
    });
  });

  test("shows a problem first, with its check by name", async () => {
    const bad = await newCheck(at, { name: "Send invoices", tags: "billing prod" });
    const good = await newCheck(at, { name: "Nightly backup", tags: "db" });
    await signals(at, good.uuid, [{}]);
    await signals(at, bad.uuid, [{}, { action: "fail" }]);
    const board = await boardOf();
    expect(board.headline).toEqual({ kind: "down", count: 1, name: "Send invoices" });
    expect(board.counts).toMatchObject({ down: 1, up: 1 });
    expect(board.groups.map(({ tag }) => tag)).toEqual(["billing", "db"]);
  });

  test("of a large project is a summary with trouble first, and stays small", async () => {
    await fillProject(at.db, { projectId: at.owner.project.id, count: 10_000 });
    const { json, text } = await at.browse(`${project()}/board`);
    const board = json as Board;
    expect([board.isSummary, board.total]).toEqual([true, 10_000]);
    expect(board.groups).toHaveLength(BOARD_GROUPS_MAX);
    const { down, late, up, new: fresh, paused } = board.counts;
    expect(down + late + up + fresh + paused).toBe(10_000);
    const shown = [...board.groups.map(({ counts }) => counts), board.rest];
    const sum = shown.reduce((total, counts) => total + (counts?.down ?? 0), 0);
    expect(sum).toBe(down);
    const candles = board.groups.flatMap((group) => group.candles);
    expect(candles.length).toBeGreaterThan(0);
    expect(candles.length).toBeLessThanOrEqual(BOARD_CANDLES_MAX);
    expect(new Set(candles.map(({ state }) => state))).not.toContain("up");
    expect(Buffer.byteLength(text)).toBeLessThan(100_000);
  });
});
