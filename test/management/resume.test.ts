// POST /checks/<uuid>/resume: watches a paused check again, as if it were new. Version 1 does not have it.
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

const cast = useCast();
const other = useCast({ dialect: "healthchecks" });
const STAGES = { standard: cast, healthchecks: other };
const DIALECTS = ["standard", "healthchecks"] as const;
const VERSIONS_OF: Readonly<Record<(typeof DIALECTS)[number], readonly Version[]>> = {
  standard: [2, 3],
  healthchecks: ALL_VERSIONS,
};

type How = { version?: Version; key?: string; stage?: Cast; body?: unknown };
const path = (uuid: string, version: Version = 3) => `${checksAt(version)}${uuid}/resume`;

function resume(uuid: string, { version = 3, stage = cast, key = stage.owner.rw, ...rest }: How = {}) {
  return stage.ask(path(uuid, version), { method: "POST", key, ...rest });
}

async function pausedCheck(stage: Cast, body: object = {}): Promise<string> {
  const { uuid } = await newCheck(stage, body);
  await signals(stage, uuid);
  await stage.ask(`${checksAt()}${uuid}/pause`, { method: "POST", key: stage.owner.rw });
  return uuid;
}

describe("200", () => {
  test.each(DIALECTS)("%s: each version answers with its fields, in their order", async (dialect) => {
    const stage = STAGES[dialect];
    for (const version of VERSIONS_OF[dialect]) {
      const uuid = await pausedCheck(stage);
      const { status, json } = await resume(uuid, { version, stage });
      expect([status, json]).toMatchObject([200, { status: "new", next_ping: null, n_pings: 1 }]);
      const expected = fieldsOf({ dialect, version, key: "rw", on: "change" });
      expect(Object.keys(json as object), String(version)).toEqual(expected);
    }
  });

  test("it is new again: the last ping is cleared, the number of pings is not, and it is no flip", async () => {
    const uuid = await pausedCheck(cast, { name: "kept", manual_resume: true });
    const { json } = await resume(uuid);
    expect(json).toMatchObject({ name: "kept", status: "new", last_ping: null, n_pings: 1 });
    const flips = await cast.ask(`${checksAt()}${uuid}/flips/`, { key: cast.owner.rw });
    expect(flips.json).toMatchObject([{ up: 1 }]);
    await signals(cast, uuid, [{ at: (await cast.now()) + 1_000 }]);
    expect(await readCheck(cast, uuid)).toMatchObject({ status: "up", n_pings: 2 });
  });

  test("of many at once one resumes, and the others get that it is not paused", async () => {
    const uuid = await pausedCheck(cast);
    const replies = await Promise.all(Array.from({ length: 10 }, () => resume(uuid)));
    const statuses = statusesOf(replies);
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
  });

  test("a body is not needed; other fields than the key are ignored", async () => {
    for (const body of [undefined, "", "null", {}, { name: 7 }, { api_key: "ignored beside the header" }]) {
      const uuid = await pausedCheck(cast, { name: "kept" });
      expect(await resume(uuid, { body })).toMatchObject({ status: 200, json: { name: "kept" } });
    }
    const uuid = await pausedCheck(cast);
    const byBody = await cast.ask(path(uuid), { method: "POST", body: { api_key: cast.owner.rw } });
    expect(byBody.status).toBe(200);
  });
});

test("400: a body that is no JSON object, before anything else", async () => {
  for (const [body, text] of [
    ["nonsense", "could not parse request body"],
    ["1", "json validation error: value is not an object"],
  ] as const) {
    expect(refusal(await resume(UNKNOWN_UUID, { body, key: "" }))).toBe(`400 ${text}`);
  }
});

test.each(DIALECTS)("401 (%s): without a valid key", async (dialect) => {
  const stage = STAGES[dialect];
  const uuid = await pausedCheck(stage);
  for (const version of VERSIONS_OF[dialect]) {
    for (const name of [uuid, UNKNOWN_UUID]) {
      expect(await refusedKeys(stage, { path: path(name, version), method: "POST" })).toEqual(KEYS_REFUSED);
    }
  }
});

test.each(DIALECTS)("403 (%s): a key that may only read, and another project's", async (dialect) => {
  const stage = STAGES[dialect];
  const uuid = await pausedCheck(stage);
  const isStandard = dialect === "standard";
  for (const version of VERSIONS_OF[dialect]) {
    const asked = async (key: string) => refusal(await resume(uuid, { version, stage, key }));
    expect(await asked(stage.owner.ro)).toBe(isStandard ? "403 wrong api key" : "401 wrong api key");
    expect(await asked(stage.stranger.rw)).toBe(isStandard ? "403 wrong api key" : "403 ");
  }
  expect(await readCheck(stage, uuid)).toMatchObject({ status: "paused" });
});

describe("404", () => {
  test("no such check, a deleted one, and a unique key", async () => {
    const uuid = await pausedCheck(cast);
    await cast.db.pool.query("update checks set deleted_at = now() where uuid = $1", [uuid]);
    for (const name of [UNKNOWN_UUID, uuid, uniqueKey(uuid, sha1Hex), "x"]) {
      expect(refusal(await resume(name))).toBe("404 not found");
    }
  });

  test("version 1 knows no such thing, with whatever key and method, except in the other dialect", async () => {
    const uuid = await pausedCheck(cast);
    for (const key of [cast.owner.rw, cast.stranger.rw, ""]) {
      for (const method of ["POST", "GET", "PUT"]) {
        expect(refusal(await cast.ask(path(uuid, 1), { method, key }))).toBe("404 not found");
      }
    }
    expect((await resume(await pausedCheck(other), { version: 1, stage: other })).status).toBe(200);
  });
});

test("405: by any other method", async () => {
  const uuid = await pausedCheck(cast);
  for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
    expect((await cast.ask(path(uuid), { method, key: cast.owner.rw })).status, method).toBe(405);
  }
  expect(await readCheck(cast, uuid)).toMatchObject({ status: "paused" });
});

test.each(DIALECTS)("409 (%s): a check that is not paused", async (dialect) => {
  const stage = STAGES[dialect];
  const fresh = await newCheck(stage);
  const up = await newCheck(stage);
  await signals(stage, up.uuid);
  for (const version of VERSIONS_OF[dialect]) {
    for (const { uuid } of [fresh, up]) {
      expect(refusal(await resume(uuid, { version, stage }))).toBe("409 check is not paused");
    }
  }
  expect(await readCheck(stage, up.uuid)).toMatchObject({ status: "up" });
});
