// POST /checks/<uuid>/pause: stops watching a check until it is pinged or resumed.
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
  type Version,
} from "./asking.ts";
import { type Cast, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast();
const other = useCast({ dialect: "healthchecks" });
const STAGES = { standard: cast, healthchecks: other };
const DIALECTS = ["standard", "healthchecks"] as const;

type How = { version?: Version; key?: string; stage?: Cast; body?: unknown };
const path = (uuid: string, version: Version = 3) => `${checksAt(version)}${uuid}/pause`;

function pause(uuid: string, { version = 3, stage = cast, key = stage.owner.rw, ...rest }: How = {}) {
  return stage.ask(path(uuid, version), { method: "POST", key, ...rest });
}

describe("200", () => {
  test.each(DIALECTS)("%s: each version answers with its fields, in their order", async (dialect) => {
    const stage = STAGES[dialect];
    for (const version of ALL_VERSIONS) {
      const { uuid } = await newCheck(stage);
      const { status, json } = await pause(uuid, { version, stage });
      expect([status, json]).toMatchObject([200, { status: "paused", next_ping: null }]);
      const expected = fieldsOf({ dialect, version, key: "rw", on: "change" });
      expect(Object.keys(json as object), String(version)).toEqual(expected);
    }
  });

  test("a check that was up, one that was down, and one in the middle of a run, keep their pings", async () => {
    for (const sent of [[{}], [{ action: "fail" }], [{}, { action: "start" }]] as const) {
      const { uuid } = await newCheck(cast);
      await signals(cast, uuid, sent);
      const { last_ping } = await readCheck(cast, uuid);
      const { json } = await pause(uuid);
      expect(json).toMatchObject({ status: "paused", started: false, next_ping: null, last_ping });
      expect(json).toMatchObject({ n_pings: sent.length });
    }
  });

  test("a check that is paused stays so, also when many pause it at once", async () => {
    const { uuid } = await newCheck(cast);
    const replies = await Promise.all(Array.from({ length: 10 }, () => pause(uuid)));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(await readCheck(cast, uuid)).toMatchObject({ status: "paused" });
  });

  test("a ping ends it, unless it has to be resumed by hand", async () => {
    for (const [manual_resume, status] of [
      [false, "up"],
      [true, "paused"],
    ] as const) {
      const { uuid } = await newCheck(cast, { manual_resume });
      await pause(uuid);
      await signals(cast, uuid, [{ at: (await cast.now()) + 1_000 }]);
      expect(await readCheck(cast, uuid)).toMatchObject({ status, n_pings: 1 });
    }
  });

  test("it is no flip, and nothing but the status changes", async () => {
    const { uuid } = await newCheck(cast, { name: "kept", tags: "a" });
    await signals(cast, uuid);
    const before = await readCheck(cast, uuid);
    await pause(uuid);
    expect(await readCheck(cast, uuid)).toEqual({ ...before, status: "paused", next_ping: null });
    const flips = await cast.ask(`${checksAt()}${uuid}/flips/`, { key: cast.owner.rw });
    expect(flips.json).toMatchObject([{ up: 1 }]);
  });

  test("a body is not needed; other fields than the key are ignored", async () => {
    const { uuid } = await newCheck(cast, { name: "kept" });
    for (const body of [undefined, "", "null", {}, { name: 7, timeout: "x" }]) {
      const { status, json } = await pause(uuid, { body });
      expect([status, json]).toMatchObject([200, { name: "kept" }]);
    }
    const byBody = await cast.ask(path(uuid), { method: "POST", body: { api_key: cast.owner.rw } });
    expect(byBody.status).toBe(200);
    expect((await cast.ask(`${path(uuid)}/`, { method: "POST", key: cast.owner.rw })).status).toBe(200);
  });
});

test("400: a body that is no JSON object, before anything else", async () => {
  for (const [body, text] of [
    ["{", "could not parse request body"],
    ["[]", "json validation error: value is not an object"],
  ] as const) {
    expect(refusal(await pause(UNKNOWN_UUID, { body, key: "" }))).toBe(`400 ${text}`);
  }
});

test.each(DIALECTS)("401 (%s): without a valid key", async (dialect) => {
  const stage = STAGES[dialect];
  const { uuid } = await newCheck(stage);
  for (const version of ALL_VERSIONS) {
    for (const name of [uuid, UNKNOWN_UUID]) {
      expect(await refusedKeys(stage, { path: path(name, version), method: "POST" })).toEqual(KEYS_REFUSED);
    }
  }
  expect(await readCheck(stage, uuid)).toMatchObject({ status: "new" });
});

test.each(DIALECTS)("403 (%s): a key that may only read, and another project's", async (dialect) => {
  const stage = STAGES[dialect];
  const { uuid } = await newCheck(stage);
  const isStandard = dialect === "standard";
  for (const version of ALL_VERSIONS) {
    const asked = async (key: string) => refusal(await pause(uuid, { version, stage, key }));
    expect(await asked(stage.owner.ro)).toBe(isStandard ? "403 wrong api key" : "401 wrong api key");
    expect(await asked(stage.stranger.rw)).toBe(isStandard ? "403 wrong api key" : "403 ");
    expect(await asked(stage.mate.rw)).toBe(isStandard ? "403 wrong api key" : "403 ");
  }
  expect(await readCheck(stage, uuid)).toMatchObject({ status: "new" });
});

test("404: no such check, a deleted one, and a unique key", async () => {
  const { uuid } = await newCheck(cast);
  const named = uniqueKey(uuid, sha1Hex);
  await cast.db.pool.query("update checks set deleted_at = now() where uuid = $1", [uuid]);
  for (const version of ALL_VERSIONS) {
    for (const name of [UNKNOWN_UUID, uuid, named, "x"]) {
      expect(refusal(await pause(name, { version }))).toBe("404 not found");
    }
  }
});

test("405: by any other method", async () => {
  const { uuid } = await newCheck(cast);
  for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
    expect((await cast.ask(path(uuid), { method, key: cast.owner.rw })).status, method).toBe(405);
  }
  expect(await readCheck(cast, uuid)).toMatchObject({ status: "new" });
});
