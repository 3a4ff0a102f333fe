// GET /checks/: all checks of a project, with filters, cheap however many there are.
import { beforeAll, describe, expect, test, vi } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { sampleCheck } from "../support/sample.ts";
import {
  ALL_VERSIONS,
  checksAt,
  fieldsOf,
  KEYS_REFUSED,
  newCheck,
  readCheck,
  refusal,
  refusedKeys,
  type Shown,
  signals,
} from "./asking.ts";
import { useCast } from "./cast.ts";

const cast = useCast();
const other = useCast({ dialect: "healthchecks" });
const STAGES = { standard: cast, healthchecks: other };
const DIALECTS = ["standard", "healthchecks"] as const;

const checksOf = (json: unknown) => (json as { checks: Shown[] }).checks;
const namesOf = (json: unknown) => checksOf(json).map(({ name }) => name);

describe("200", () => {
  test("a project without checks has an empty list", async () => {
    const { status, json, headers } = await cast.ask(checksAt(), { key: cast.mate.rw });
    expect([status, json]).toEqual([200, { checks: [] }]);
    expect(headers.get("content-type")).toBe("application/json");
  });

  test.each(DIALECTS)("%s: each version has its fields, by what the key may do", async (dialect) => {
    const stage = STAGES[dialect];
    const { uuid } = await newCheck(stage, { name: "fields" });
    for (const version of ALL_VERSIONS) {
      for (const kind of ["rw", "ro"] as const) {
        const { json } = await stage.ask(checksAt(version), { key: stage.owner[kind] });
        const mine = checksOf(json).find(({ name }) => name === "fields") ?? {};
        const expected = fieldsOf({ dialect, version, key: kind, on: "read" });
        expect(Object.keys(mine), `${version} ${kind}`).toEqual(expected);
        if (kind === "ro") {
          expect(mine).toMatchObject({ unique_key: uniqueKey(uuid, sha1Hex) });
          expect(JSON.stringify(json)).not.toContain(uuid);
        } else {
          expect(mine).toMatchObject({
            ping_url: `${stage.site}/ping/${uuid}`,
            update_url: `${stage.site}/api/v${version}/checks/${uuid}`,
            pause_url: `${stage.site}/api/v${version}/checks/${uuid}/pause`,
          });
        }
      }
    }
    await stage.ask(checksAt() + uuid, { method: "DELETE", key: stage.owner.rw });
  });

  test("a check is listed exactly as it is shown alone", async () => {
    const channel = await cast.channel(cast.owner, { name: "Mail", kind: "email" });
    const { uuid } = await newCheck(cast, {
      name: "same",
      schedule: "5 4 * * *",
      tz: "Europe/Riga",
      channels: channel.uuid,
    });
    await signals(cast, uuid, [{ action: "start" }, {}]);
    const { json } = await cast.ask(checksAt(), { key: cast.owner.rw });
    const listed = checksOf(json).find((check) => check.uuid === uuid);
    expect(listed).toMatchObject({ channels: channel.uuid, schedule: "5 4 * * *", n_pings: 2 });
    expect(listed).toEqual(await readCheck(cast, uuid));
  });

  describe("filters", () => {
    beforeAll(async () => {
      for (const stage of [cast, other]) {
        await newCheck(stage, { name: "a", tags: "db prod", slug: "one" });
        await newCheck(stage, { name: "b", tags: "db", slug: "two" });
        await newCheck(stage, { name: "c", tags: "Prod,db", slug: "two" });
      }
    });

    test.each([
      ["tag=db", ["a", "b"]],
      ["tag=db&tag=prod", ["a"]],
      ["tag=prod&tag=db&tag=prod", ["a"]],
      ["tag=Prod%2Cdb", ["c"]],
      ["tag=d", []],
      ["tag=", []],
      ["tag=db&tag=", []],
      ["slug=two", ["b", "c"]],
      ["slug=two&tag=db", ["b"]],
      ["slug=TWO", []],
      ["slug=none", []],
      ["slug=%00", []],
      ["tag=%00", []],
      ["tag=%ff", []],
    ])("?%s", async (query, names) => {
      const { status, json } = await cast.ask(`${checksAt()}?${query}`, { key: cast.owner.ro });
      expect([status, namesOf(json)]).toEqual([200, names]);
    });

    test("no slug, an empty one and unknown names are no filter", async () => {
      const all = namesOf((await cast.ask(checksAt(), { key: cast.owner.rw })).json);
      for (const query of ["slug=", "limit=1", "name=a", "tags=db", "&&=&", "%zz"]) {
        const { status, json } = await cast.ask(`${checksAt()}?${query}`, { key: cast.owner.rw });
        expect([status, namesOf(json)], query).toEqual([200, all]);
      }
    });

    test("version 1 filters by tag but not by slug, except in the other dialect", async () => {
      const asked = async (stage: typeof cast, query: string) =>
        namesOf((await stage.ask(`${checksAt(1)}?${query}`, { key: stage.owner.rw })).json);
      expect(await asked(cast, "slug=none")).toEqual(await asked(cast, ""));
      expect(await asked(cast, "tag=prod")).toEqual(["a"]);
      expect(await asked(other, "slug=two")).toEqual(["b", "c"]);
    });
  });

  test("nothing of another project is listed, and nothing that was deleted", async () => {
    const { uuid } = await newCheck(cast, { name: "mine", tags: "mine" });
    const strangers = await cast.ask(`${checksAt()}?tag=mine`, { key: cast.stranger.rw });
    expect(strangers.json).toEqual({ checks: [] });
    await cast.db.pool.query("update checks set deleted_at = now() where uuid = $1", [uuid]);
    expect((await cast.ask(`${checksAt()}?tag=mine`, { key: cast.owner.rw })).json).toEqual({ checks: [] });
  });

  test("version 1 says started, the others say what was before and that it has started", async () => {
    const { uuid } = await newCheck(cast, { name: "run", tags: "run" });
    await signals(cast, uuid, [{ action: "start" }]);
    const shown = async (version: 1 | 2 | 3) =>
      checksOf((await cast.ask(`${checksAt(version)}?tag=run`, { key: cast.owner.rw })).json)[0];
    expect(await shown(1)).toMatchObject({ status: "started" });
    for (const version of [2, 3] as const) {
      expect(await shown(version)).toMatchObject({ status: "new", started: true });
    }
  });

  test("both forms of the address are the same, and none redirects", async () => {
    const one = await cast.ask("/api/v3/checks", { key: cast.owner.rw });
    const two = await cast.ask("/api/v3/checks/", { key: cast.owner.rw });
    expect([one.status, one.text]).toEqual([200, two.text]);
  });
});

describe("ten thousand checks", () => {
  const COUNT = 10_000;

  beforeAll(async () => {
    const { project } = cast.stranger;
    const { id } = await sampleCheck(cast.db, { projectId: project.id, name: "model", tags: "many" });
    await cast.channel(cast.stranger, { name: "Mail", kind: "email" });
    const same =
      "tags, description, kind, timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, " +
      "start_kw, success_kw, failure_kw, filter_subject, filter_body, filter_http_body, filter_default_fail, " +
      "created_at, updated_at";
    await cast.db.pool.query(
      `insert into checks (uuid, badge_uuid, unique_key, project_id, name, slug, ${same})
       select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
         project_id, 'job ' || n, 'job-' || n, ${same}
       from checks, generate_series(2, $2::int) n where id = $1`,
      [id, COUNT],
    );
    const { rows } = await cast.db.pool.query<{ columns: string }>(
      `select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
       where table_name = 'check_states' and column_name <> 'check_id'`,
    );
    const columns = rows[0]?.columns ?? "";
    await cast.db.pool.query(
      `insert into check_states (check_id, ${columns})
       select c.id, ${columns.replace(/(\w+)/g, "s.$1")}
       from checks c, check_states s where s.check_id = $1 and c.project_id = $2 and c.id <> $1`,
      [id, project.id],
    );
    await cast.db.pool.query(
      `insert into check_channels (check_id, channel_id)
       select c.id, h.id from checks c, channels h where c.project_id = $1 and h.project_id = $1`,
      [project.id],
    );
  }, 120_000);

  /** The names of the statements that a request took. Loops of the server run beside it. */
  async function statementsOf(path: string, key: string): Promise<{ names: string[]; count: number }> {
    const query = vi.spyOn(cast.serverDb, "query");
    const { json } = await cast.ask(path, { key });
    const names = query.mock.calls.map(([{ name }]) => name);
    query.mockRestore();
    const own = names.filter((name) => /^(keys\.find|checks\.|check_channels\.|channels\.)/.test(name));
    return { names: own, count: checksOf(json).length };
  }

  test("are read in pages of 500", async () => {
    const pages = COUNT / 500;
    const full = await statementsOf(checksAt(), cast.stranger.rw);
    expect(full.count).toBe(COUNT);
    expect(full.names.filter((name) => name === "checks.list")).toHaveLength(pages + 1);
    expect(full.names).toHaveLength(2 + pages + 1);
    const lean = await statementsOf(checksAt(), cast.stranger.ro);
    expect([lean.count, lean.names.length]).toEqual([COUNT, 2 + pages + 1]);
    expect((await statementsOf(`${checksAt()}?slug=job-77`, cast.stranger.rw)).names).toHaveLength(3);
  });

  test("are all there, each once, with its channel", async () => {
    const { json } = await cast.ask(checksAt(), { key: cast.stranger.rw });
    const uuids = new Set(checksOf(json).map(({ uuid }) => uuid));
    expect(uuids.size).toBe(COUNT);
    expect(new Set(checksOf(json).map(({ channels }) => channels)).size).toBe(1);
    expect(checksOf(json)[0]?.["channels"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("are not sent if the ETag matches, and a tag changes no response", async () => {
    const { rw: key } = cast.stranger;
    const first = await cast.ask(checksAt(), { key });
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[\w-]+"$/);
    const same = await cast.ask(checksAt(), { key, headers: { "If-None-Match": tag } });
    expect([same.status, same.bytes.length, same.headers.get("etag")]).toEqual([304, 0, tag]);
    const otherTag = await cast.ask(checksAt(), { key, headers: { "If-None-Match": '"old"' } });
    expect([otherTag.status, otherTag.text === first.text]).toEqual([200, true]);
    expect(Number(first.headers.get("content-length"))).toBe(first.bytes.length);
    await cast.db.pool.query("update checks set name = 'renamed' where name = 'job 777'");
    const changed = await cast.ask(checksAt(), { key, headers: { "If-None-Match": tag } });
    expect([changed.status, changed.headers.get("etag") === tag]).toEqual([200, false]);
    expect(namesOf(changed.json)).toContain("renamed");
  });

  test("do not keep others waiting", async () => {
    const { rw: key } = cast.stranger;
    const { uuid } = await newCheck(cast, { name: "small" });
    const slow = [cast.ask(checksAt(), { key }), cast.ask(checksAt(), { key })];
    const listing = { isDone: false };
    void Promise.all(slow).finally(() => {
      listing.isDone = true;
    });
    let answered = 0;
    while (!listing.isDone) {
      expect((await cast.ask(checksAt() + uuid, { key: cast.owner.rw })).status).toBe(200);
      answered += 1;
    }
    expect(answered).toBeGreaterThan(3);
  });
});

test.each(DIALECTS)("401 (%s): without a valid key", async (dialect) => {
  for (const version of ALL_VERSIONS) {
    expect(await refusedKeys(STAGES[dialect], { path: checksAt(version) })).toEqual(KEYS_REFUSED);
  }
});

test("405: what no list can be asked to do", async () => {
  for (const method of ["PUT", "PATCH", "DELETE"]) {
    const reply = await cast.ask(checksAt(), { method, key: cast.owner.rw });
    expect(refusal(reply), method).toBe("405 method not allowed");
  }
});
