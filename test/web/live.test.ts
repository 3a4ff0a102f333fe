// The stream of a project's page over a real connection: what is told, how it resumes, and who is turned away.
import { request } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { Overview } from "../../src/contract/api/overview.ts";
import type { ChangesPage, DownEvent, FlipEvent, ChecksEvent } from "../../src/contract/api/live.ts";
import { LiveHub, STREAMS_PER_OWNER_MAX } from "../../src/services/api/live-hub.ts";
import { readSnapshot } from "../../src/store/check-lists.ts";
import type { Db, Statement } from "../../src/store/db.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api", "ping"] });
const project = () => `/api/overdue/v1/projects/${at.owner.project.uuid}`;

type Told = { name: string; data: unknown; id: string | null };
type Stream = { events: Told[]; status: number; comments: number; hasEnded: boolean; close(): void };

const open = new Set<Stream>();
afterEach(() => {
  for (const stream of open) stream.close();
  open.clear();
});

async function listen(path: string, headers: Record<string, string> = {}): Promise<Stream> {
  const mine = await at.headersOf(at.owner.account);
  const stream: Stream = { events: [], status: 0, comments: 0, hasEnded: false, close: () => {} };
  await new Promise<void>((resolve, reject) => {
    const sent = request(at.site + path, { headers: { ...mine, ...headers } }, (response) => {
      stream.status = response.statusCode ?? 0;
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
        for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
          take(stream, text.slice(0, end));
          text = text.slice(end + 2);
        }
      });
      response.on("close", () => (stream.hasEnded = true)).on("error", () => {});
      resolve();
    });
    sent.on("error", reject).end();
    stream.close = () => sent.destroy();
  });
  open.add(stream);
  return stream;
}

function take(stream: Stream, block: string): void {
  const fields = new Map(
    block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
  );
  if (fields.has("event")) {
    stream.events.push({
      name: fields.get("event") ?? "",
      data: JSON.parse(fields.get("data") ?? "null"),
      id: fields.get("id") ?? null,
    });
  } else stream.comments += 1;
}

async function until<T>(find: () => T | undefined): Promise<T> {
  for (let tries = 0; tries < 600; tries++) {
    const found = find();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("waited in vain");
}

const rowsIn = ({ events }: Stream) =>
  events.filter(({ name }) => name === "checks").map(({ data }) => data as ChecksEvent);
const rowIn = (stream: Stream, wanted: (row: CheckRow) => boolean) =>
  rowsIn(stream)
    .flatMap(({ checks }) => checks)
    .find(wanted);

async function make(name: string): Promise<CheckRow> {
  return (await at.browse(`${project()}/checks`, { method: "POST", body: { name } })).json as CheckRow;
}

/**
 * The cursor, once everybody who was writing on this server is done: until then, what came since would be told
 * again, and other files of tests write as well.
 */
async function quietCursor(): Promise<number> {
  const { xmax } = await readSnapshot(at.db);
  const xmin = async () => (await readSnapshot(at.db)).xmin;
  await expect.poll(xmin, { timeout: 40_000 }).toBeGreaterThanOrEqual(xmax);
  return xmin();
}

const cursorNow = async () => ((await at.browse(`${project()}/overview`)).json as Overview).cursor;

describe("the stream of a project", () => {
  test("tells new rows, changed rows, flips and removed rows as they happen", async () => {
    const stream = await listen(`${project()}/live?cursor=${await cursorNow()}`);
    const row = await make("streamed");
    await until(() => rowIn(stream, ({ id }) => id === row.id));
    await at.ask(`/ping/${row.id}/fail`);
    const down = await until(() => rowIn(stream, ({ id, state }) => id === row.id && state === "down"));
    expect(down.readingOrder).toBeGreaterThan(row.readingOrder);
    const flip = await until(() =>
      stream.events.find(({ name, data }) => name === "flip" && (data as FlipEvent).checkId === row.id),
    );
    expect(flip.data).toMatchObject({ from: "new", to: "down", reason: "fail", checkName: "streamed" });
    await at.browse(`/api/overdue/v1/checks/${row.id}`, { method: "DELETE" });
    const event = await until(() => rowsIn(stream).find(({ removed }) => removed.includes(row.id)));
    const { total } = (await at.browse(`${project()}/overview`)).json as Overview;
    expect(event.total).toBe(total);
  });

  test("tells how many checks are down whenever one goes down, is paused, deleted or recovers", async () => {
    const before = ((await at.browse(`${project()}/overview`)).json as Overview).counts.down;
    const stream = await listen(`${project()}/live?cursor=${await cursorNow()}`);
    const lastCount = () => (stream.events.findLast(({ name }) => name === "down")?.data as DownEvent)?.count;
    const countsTo = async (count: number) => {
      await expect.poll(lastCount).toBe(count);
    };
    const [one, two, three] = await Promise.all([make("down one"), make("down two"), make("down three")]);
    for (const { id } of [one, two, three]) await at.ask(`/ping/${id}/fail`);
    await countsTo(before + 3);
    await at.browse(`/api/overdue/v1/checks/${one.id}/pause`, { method: "POST" });
    await countsTo(before + 2);
    await at.browse(`/api/overdue/v1/checks/${two.id}`, { method: "DELETE" });
    await countsTo(before + 1);
    await at.ask(`/ping/${three.id}`);
    await countsTo(before);
  });

  test("a check that is deleted by the API, or moved away, is sent as removed", async () => {
    const row = await make("api deletes");
    const stream = await listen(`${project()}/live?cursor=${await cursorNow()}`);
    // The names are known from the first look on.
    await make("first look");
    await until(() => rowIn(stream, ({ name }) => name === "first look"));
    await at.ask(`/api/v3/checks/${row.id}`, { method: "DELETE", key: at.owner.rw });
    const gone = await until(() => rowsIn(stream).find(({ removed }) => removed.includes(row.id)));
    expect(gone.removed).toEqual([row.id]);
  });

  test("sends a flip that the page has already shown as a known one", async () => {
    const { id } = await make("shown already");
    const writer = await at.db.pool.connect();
    try {
      await writer.query("begin; select pg_current_xact_id()");
      await at.ask(`/ping/${id}/fail`);
      const page = (await at.browse(`${project()}/overview`)).json as Overview;
      const stream = await listen(`${project()}/live?cursor=${page.cursor}`);
      const flip = await until(() =>
        stream.events.find(({ name, data }) => name === "flip" && (data as FlipEvent).checkId === id),
      );
      expect(page.flips).toContain((flip.data as FlipEvent).id);
      expect(page.flips.length).toBeLessThanOrEqual(50);
    } finally {
      await writer.query("rollback");
      writer.release();
    }
  });

  test("whoever comes back with the last id is told what has happened meanwhile, and nothing older", async () => {
    const first = await listen(`${project()}/live?cursor=${await quietCursor()}`);
    const witness = await listen(`${project()}/live`);
    const before = await make("before the break");
    await until(() => rowIn(first, ({ id }) => id === before.id));
    const lastId = await until(() => first.events.findLast(({ id }) => id !== null)?.id ?? undefined);
    first.close();
    const meanwhile = await make("during the break");
    await at.ask(`/ping/${meanwhile.id}/fail`);
    // Told to everybody who was there by then: nobody but the id can bring it to who comes later.
    await until(() => rowIn(witness, ({ id, state }) => id === meanwhile.id && state === "down"));
    const second = await listen(`${project()}/live`, { "Last-Event-ID": lastId });
    const row = await until(() => rowIn(second, ({ id }) => id === meanwhile.id));
    expect(row.state).toBe("down");
    const flip = await until(() => second.events.find(({ name }) => name === "flip"));
    expect((flip.data as FlipEvent).checkId).toBe(meanwhile.id);
    const [resumed] = rowsIn(second);
    expect(resumed?.checks.length).toBeLessThan(10);
  });

  test("changes that occur while a stream begins are not lost, in any order", async () => {
    const cursor = await cursorNow();
    const making = Array.from({ length: 20 }, (_, n) => make(`racing ${n}`));
    const stream = await listen(`${project()}/live?cursor=${cursor}`);
    const made = await Promise.all(making);
    for (const { id } of made) {
      const told = await until(() => rowIn(stream, (row) => row.id === id));
      expect(told.state).toBe("new");
    }
  });

  test("a cursor from another life of the database asks for the page anew", async () => {
    const stream = await listen(`${project()}/live?cursor=999999999999999`);
    const told = await until(() => stream.events.find(({ name }) => name === "reload"));
    expect(told.data).toEqual({ reason: "The database has changed." });
  });

  test("repeated requests get the same events", async () => {
    const cursor = await cursorNow();
    const row = await make("polled");
    const page = (await at.browse(`${project()}/changes?cursor=${cursor}`)).json as ChangesPage;
    const rows = page.events.flatMap((event) => (event.name === "checks" ? event.data.checks : []));
    expect(rows.map(({ id }) => id)).toContain(row.id);
    expect(Number(page.cursor)).toBeGreaterThanOrEqual(Number(cursor));
  });

  test("a flip is sent by the next read when a statement of the first one failed", async () => {
    const { id } = await make("flips once");
    const xmin = await quietCursor();
    await at.ask(`/ping/${id}/fail`);
    let isBroken = true;
    const database = {
      query: async (statement: Statement<Record<string, unknown>>, values: readonly unknown[]) => {
        if (isBroken && statement.name === "check_rows.list_ids") throw new Error("the database went away");
        return at.db.query(statement, values);
      },
    } as Db;
    const hub = new LiveHub({ database, now: Date.now, monitoringGap: () => null });
    const told: string[] = [];
    const { rows } = await at.db.pool.query<{ id: number }>(
      "select id from sessions where account_id = $1 limit 1",
      [at.owner.account.id],
    );
    const who = { owner: "account", sessionId: Number(rows[0]?.id) };
    const watcher = { ...who, begin: () => {}, end: () => {}, send: (text: string) => told.push(text) };
    hub.add({ ...watcher, projectId: at.owner.project.id }, xmin);
    await expect(hub.tick()).rejects.toThrow("went away");
    isBroken = false;
    await hub.tick();
    expect(told.join("")).toMatch(new RegExp(`^event: flip\\ndata: .*"checkId":"${id}"`, "m"));
    await hub.tick();
    expect(told.join("").match(/^event: flip$/gm)).toHaveLength(1);
  });

  test("a monitoring gap that is found between the connection and the first read is sent, once", async () => {
    let gap: { fromAt: number; toAt: number } | null = null;
    const hub = new LiveHub({ database: at.db, now: Date.now, monitoringGap: () => gap });
    const told: string[] = [];
    const who = { owner: "key", sessionId: null, projectId: at.owner.project.id };
    const watcher = { ...who, begin: () => {}, end: () => {}, send: (text: string) => told.push(text) };
    hub.add(watcher, await quietCursor());
    gap = { fromAt: 1_000, toAt: 301_000 };
    await hub.tick();
    await hub.tick();
    expect(told.join("").match(/^event: monitoringGap$/gm)).toHaveLength(1);
    expect(told.join("")).toContain('{"monitoringGap":{"fromAt":1000,"toAt":301000}}');
  });

  test("an account or API key has so many streams, and the next is told so", async () => {
    for (let n = 0; n < STREAMS_PER_OWNER_MAX; n++) {
      expect((await listen(`${project()}/live`)).status, `stream ${n}`).toBe(200);
    }
    expect((await listen(`${project()}/live`)).status).toBe(429);
    // Limits are separate: the API key has its own.
    expect((await listen(`${project()}/live`, { "X-Api-Key": at.owner.rw })).status).toBe(200);
  });

  test("no more are held when all of them ask at once", async () => {
    const asked = await Promise.all(
      Array.from({ length: 3 * STREAMS_PER_OWNER_MAX }, () => listen(`${project()}/live`)),
    );
    const held = () => asked.filter(({ status, hasEnded }) => status === 200 && !hasEnded).length;
    await expect.poll(held).toBe(STREAMS_PER_OWNER_MAX);
  });

  test("non-members and signed-out users get no stream", async () => {
    expect((await at.browse(`${project()}/live`, { as: at.stranger.account })).status).toBe(404);
    expect((await at.browse(`${project()}/live`, { as: null })).status).toBe(401);
  });
});
