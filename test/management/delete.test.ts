// DELETE /checks/<uuid>: for good, with everything that was recorded; the answer has the check as it was.
import { describe, expect, test } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import {
  ALL_VERSIONS,
  checksAt,
  fieldsOf,
  KEYS_REFUSED,
  newCheck,
  readCheck,
  refusal,
  refusedKeys,
  signals,
  statusesOf,
  type Version,
} from "./asking.ts";
import { type Cast, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast({ roles: ["ping", "api"] });
const other = useCast({ dialect: "healthchecks" });
const STAGES = { standard: cast, healthchecks: other };
const DIALECTS = ["standard", "healthchecks"] as const;

type How = { version?: Version; key?: string; stage?: Cast; body?: unknown };

function remove(name: string, { version = 3, stage = cast, key = stage.owner.rw, ...rest }: How = {}) {
  return stage.ask(checksAt(version) + name, { method: "DELETE", key, ...rest });
}

/** In how many rows of any table the check still is. */
async function rowsOf({ db }: Cast, checkId: string): Promise<Record<string, number>> {
  const { rows: tables } = await db.pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns
     where column_name = 'check_id' and table_schema = 'public'
       and table_name in (select table_name from information_schema.tables where table_type = 'BASE TABLE')`,
  );
  const left: Record<string, number> = {};
  for (const { name } of tables) {
    const { rowCount } = await db.pool.query(`select 1 from "${name}" where check_id = $1`, [checkId]);
    if (rowCount !== null && rowCount > 0) left[name] = rowCount;
  }
  return left;
}

describe("200", () => {
  test.each(DIALECTS)("%s: each version answers with its fields, in their order", async (dialect) => {
    const stage = STAGES[dialect];
    for (const version of ALL_VERSIONS) {
      const { uuid } = await newCheck(stage);
      const { status, json } = await remove(uuid, { version, stage });
      expect(status).toBe(200);
      const expected = fieldsOf({ dialect, version, key: "rw", on: "change" });
      expect(Object.keys(json as object), String(version)).toEqual(expected);
    }
  });

  test("the answer has the check as it was, with its channels, and then there is nothing of it any more", async () => {
    const channel = await cast.channel(cast.owner, { name: "Mail", kind: "email" });
    const { uuid } = await newCheck(cast, { name: "doomed", slug: "doomed", channels: channel.uuid });
    await signals(cast, uuid, [{ body: "x" }, { action: "fail" }, { action: "start" }]);
    const { rows } = await cast.db.pool.query<{ id: string }>("select id from checks where uuid = $1", [
      uuid,
    ]);
    const id = String(rows[0]?.id);
    expect(Object.keys(await rowsOf(cast, id)).length).toBeGreaterThan(2);
    const before = await readCheck(cast, uuid);
    const { json } = await remove(uuid);
    expect(json).toEqual({ ...before, subject: "", subject_fail: "" });
    expect(json).toMatchObject({ channels: channel.uuid, n_pings: 3, status: "down" });
    expect(await rowsOf(cast, id)).toEqual({});
    for (const path of [
      uuid,
      uniqueKey(uuid, sha1Hex),
      `${uuid}/pings/`,
      `${uuid}/pings/1/body`,
      `${uuid}/flips/`,
    ]) {
      expect((await cast.ask(checksAt() + path, { key: cast.owner.rw })).status, path).toBe(404);
    }
    expect((await cast.ask(`${checksAt()}?slug=doomed`, { key: cast.owner.rw })).json).toEqual({
      checks: [],
    });
    const badge = new URL(String(before["badge_url"])).pathname;
    expect((await cast.ask(badge)).status).toBe(404);
  });

  test("it cannot be pinged any more, not even a moment later", async () => {
    const { uuid } = await newCheck(cast);
    expect((await cast.ask(`/ping/${uuid}`)).text).toBe("OK");
    await remove(uuid);
    const { status, text } = await cast.ask(`/ping/${uuid}`);
    expect([status, text]).toEqual([404, "not found"]);
  });

  test("others are left alone", async () => {
    const kept = await newCheck(cast, { name: "kept" });
    await remove((await newCheck(cast, { name: "kept" })).uuid);
    expect(await readCheck(cast, kept.uuid)).toMatchObject({ name: "kept" });
  });

  test("of many at once one deletes it, and for the others there is nothing", async () => {
    const { uuid } = await newCheck(cast);
    const replies = await Promise.all(Array.from({ length: 10 }, () => remove(uuid)));
    const statuses = statusesOf(replies);
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 404)]);
  });

  test("no body is read, whatever it is, and both forms of the address do", async () => {
    const one = await newCheck(cast);
    expect((await remove(one.uuid, { body: "{ no json" })).status).toBe(200);
    const two = await newCheck(cast);
    expect((await remove(`${two.uuid}/`)).status).toBe(200);
  });
});

describe("401", () => {
  test.each(DIALECTS)("%s: without a valid key", async (dialect) => {
    const stage = STAGES[dialect];
    const { uuid } = await newCheck(stage);
    for (const version of ALL_VERSIONS) {
      for (const name of [uuid, UNKNOWN_UUID]) {
        const call = { path: checksAt(version) + name, method: "DELETE" };
        expect(await refusedKeys(stage, call)).toEqual(KEYS_REFUSED);
      }
    }
    expect(await readCheck(stage, uuid)).toMatchObject({ uuid });
  });

  test("a key in the body is none: only a POST may carry one there", async () => {
    const { uuid } = await newCheck(cast);
    const reply = await cast.ask(checksAt() + uuid, { method: "DELETE", body: { api_key: cast.owner.rw } });
    expect(refusal(reply)).toBe("401 missing api key");
  });
});

test.each(DIALECTS)("403 (%s): a key that may only read, and another project's", async (dialect) => {
  const stage = STAGES[dialect];
  const { uuid } = await newCheck(stage);
  const isStandard = dialect === "standard";
  for (const version of ALL_VERSIONS) {
    const asked = async (key: string) => refusal(await remove(uuid, { version, stage, key }));
    expect(await asked(stage.owner.ro)).toBe(isStandard ? "403 wrong api key" : "401 wrong api key");
    expect(await asked(stage.stranger.rw)).toBe(isStandard ? "403 wrong api key" : "403 ");
    expect(await asked(stage.mate.rw)).toBe(isStandard ? "403 wrong api key" : "403 ");
  }
  expect(await readCheck(stage, uuid)).toMatchObject({ uuid });
});

test("404: no such check, or one that is deleted already", async () => {
  const { uuid } = await newCheck(cast);
  await remove(uuid);
  for (const version of ALL_VERSIONS) {
    for (const name of [UNKNOWN_UUID, uuid, "x"]) {
      expect(refusal(await remove(name, { version }))).toBe("404 not found");
    }
  }
});

test("405: a list cannot be deleted, nor a check by its unique key", async () => {
  const { uuid } = await newCheck(cast);
  for (const name of ["", uniqueKey(uuid, sha1Hex), `${uuid}/pause`, `${uuid}/pings/`]) {
    expect(refusal(await remove(name)), name).toBe("405 method not allowed");
  }
  expect(await readCheck(cast, uuid)).toMatchObject({ uuid });
});
