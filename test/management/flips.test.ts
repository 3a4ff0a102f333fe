// GET /checks/<uuid or unique_key>/flips/: changes of status, newest first, filtered by time.
import { describe, expect, test } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { insertFlips, retractFlip } from "../../src/store/flips.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleCheck } from "../support/sample.ts";
import { type Cast, UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast();
const dialect = useCast({ dialect: "healthchecks" });

/** A whole second, so that bounds can be named exactly. */
const SECOND = 1_000;
const NOON = Date.UTC(2026, 10, 1, 12);

type Change = { to: "up" | "down"; at: number };
const THREE: readonly Change[] = [
  { to: "up", at: NOON },
  { to: "down", at: NOON + 10 * SECOND + 500 },
  { to: "up", at: NOON + 20 * SECOND },
];

async function flipped(on: Cast, changes: readonly Change[]): Promise<{ id: number; uuid: string }> {
  const { id, uuid } = await sampleCheck(on.db, { projectId: on.owner.project.id });
  const flips = changes.map(({ to, at }) => {
    const from = to === "up" ? ("down" as const) : ("up" as const);
    return {
      checkId: id,
      flip: { at, from, to, reason: to === "up" ? ("success" as const) : ("timeout" as const) },
    };
  });
  if (flips.length > 0) await inTransaction(on.db, (tx) => insertFlips(tx, flips));
  return { id, uuid };
}

const path = (name: string, query = "", version = 3) => `/api/v${version}/checks/${name}/flips/${query}`;
const ups = (json: unknown) => (json as { up: number }[]).map(({ up }) => up);

describe("200", () => {
  test("a check without flips has an empty array", async () => {
    const { uuid } = await flipped(cast, []);
    const reply = await cast.ask(path(uuid), { key: cast.owner.rw });
    expect([reply.status, reply.json]).toEqual([200, []]);
  });

  test("a bare array, newest first, to the second, in every version", async () => {
    const { uuid } = await flipped(cast, THREE);
    for (const version of [1, 2, 3]) {
      const { json } = await cast.ask(path(uuid, "", version), { key: cast.owner.rw });
      expect(json).toEqual([
        { timestamp: "2026-11-01T12:00:20+00:00", up: 1 },
        { timestamp: "2026-11-01T12:00:10+00:00", up: 0 },
        { timestamp: "2026-11-01T12:00:00+00:00", up: 1 },
      ]);
    }
  });

  test("the other dialect wraps it in an object", async () => {
    const { uuid } = await flipped(dialect, THREE.slice(0, 1));
    const { json } = await dialect.ask(path(uuid), { key: dialect.owner.rw });
    expect(json).toEqual({ flips: [{ timestamp: "2026-11-01T12:00:00+00:00", up: 1 }] });
  });

  test("a POST comes from a client that expects the bare array, in the other dialect too", async () => {
    const { uuid } = await flipped(dialect, THREE.slice(0, 1));
    const reply = await dialect.ask(path(uuid).slice(0, -1), { method: "POST", key: dialect.owner.rw });
    expect([reply.status, ups(reply.json)]).toEqual([200, [1]]);
  });

  test("by UUID and by unique key, with both kinds of key", async () => {
    const { uuid } = await flipped(cast, THREE);
    for (const name of [uuid, uniqueKey(uuid, sha1Hex)]) {
      for (const key of [cast.owner.rw, cast.owner.ro]) {
        const reply = await cast.ask(path(name), { key });
        expect([reply.status, ups(reply.json)]).toEqual([200, [1, 0, 1]]);
      }
    }
  });

  test("start is included, end is not, and all filters have to hold", async () => {
    const { uuid } = await flipped(cast, THREE);
    const at = NOON / SECOND;
    const filtered = async (query: string) =>
      ups((await cast.ask(path(uuid, query), { key: cast.owner.rw })).json);
    expect(await filtered(`?start=${at + 10}`)).toEqual([1, 0]);
    expect(await filtered(`?start=${at + 20}`)).toEqual([1]);
    expect(await filtered(`?start=${at + 21}`)).toEqual([]);
    expect(await filtered(`?end=${at + 20}`)).toEqual([0, 1]);
    expect(await filtered(`?end=${at + 21}`)).toEqual([1, 0, 1]);
    expect(await filtered(`?start=${at + 10}&end=${at + 20}`)).toEqual([0]);
    expect(await filtered(`?start=${at + 20}&end=${at}`)).toEqual([]);
    expect(await filtered(`?seconds=60&start=${at}`)).toEqual([]);
  });

  test("seconds counts back from now; 0 and nothing filter nothing", async () => {
    const now = await cast.now();
    const { uuid } = await flipped(cast, [
      { to: "down", at: now - 3_600 * SECOND },
      { to: "up", at: now - 5 * SECOND },
    ]);
    const filtered = async (query: string) =>
      ups((await cast.ask(path(uuid, query), { key: cast.owner.rw })).json);
    expect(await filtered("?seconds=1800")).toEqual([1]);
    expect(await filtered("?seconds=7200")).toEqual([1, 0]);
    for (const query of ["?seconds=0", "?seconds=", "?foo=1&limit=x"]) {
      expect(await filtered(query), query).toEqual([1, 0]);
    }
  });

  test("a plus in the address is a space, and spaces around a number do not matter", async () => {
    const { uuid } = await flipped(cast, THREE);
    for (const query of ["?start=+1", "?start=%201", "?start=007", "?seconds=x&seconds=%2031536000%20"]) {
      expect((await cast.ask(path(uuid, query), { key: cast.owner.rw })).status, query).toBe(200);
    }
  });

  test("a retracted flip is not listed", async () => {
    const { id, uuid } = await flipped(cast, THREE.slice(0, 2));
    const deadlineAt = NOON + 10 * SECOND + 500;
    await inTransaction(cast.db, (tx) => retractFlip(tx, { checkId: id, deadlineAt, at: deadlineAt + 1 }));
    expect(ups((await cast.ask(path(uuid), { key: cast.owner.rw })).json)).toEqual([1]);
  });

  test("a change to up and down by signals is listed, pause and resume are not", async () => {
    const { uuid } = await flipped(cast, THREE.slice(0, 1));
    for (const action of ["pause", "resume"]) {
      const where = `/api/v3/checks/${uuid}/${action}`;
      expect((await cast.ask(where, { method: "POST", key: cast.owner.rw })).status).toBe(200);
    }
    expect(ups((await cast.ask(path(uuid), { key: cast.owner.rw })).json)).toEqual([1]);
  });

  test("the final slash does not matter, and POST without it is answered like GET", async () => {
    const { uuid } = await flipped(cast, THREE);
    const bare = path(uuid).slice(0, -1);
    for (const method of ["GET", "POST"]) {
      const reply = await cast.ask(bare, { method, key: cast.owner.rw });
      expect([reply.status, ups(reply.json)], method).toEqual([200, [1, 0, 1]]);
    }
  });
});

describe("400", () => {
  // A plus in a query is a space; one that is sent as %2B is a sign, and refused like any other.
  test.each([
    ["seconds=x", "seconds"],
    ["seconds=-1", "seconds"],
    ["seconds=31536001", "seconds"],
    ["seconds=1.5", "seconds"],
    ["start=", "start"],
    ["start=x", "start"],
    ["start=1_000", "start"],
    ["start=%2B1", "start"],
    ["start=10000000001", "start"],
    ["start=1&end=x", "end"],
    ["end=", "end"],
    ["seconds=60&seconds=x", "seconds"],
  ])("%s names the parameter", async (query, name) => {
    const { uuid } = await flipped(cast, []);
    const reply = await cast.ask(path(uuid, `?${query}`), { key: cast.owner.rw });
    expect([reply.status, reply.json]).toEqual([400, { error: `invalid query parameter: ${name}` }]);
  });
});

describe("401", () => {
  test.each([
    ["no key", undefined, "missing api key"],
    ["a key that nobody has", UNKNOWN_KEY, "wrong api key"],
  ])("%s, also with a filter that is wrong", async (_, key, error) => {
    const { uuid } = await flipped(cast, []);
    const reply = await cast.ask(path(uuid, "?seconds=x"), key === undefined ? {} : { key });
    expect([reply.status, reply.json]).toEqual([401, { error }]);
  });
});

describe("403", () => {
  test("a key of another project, also with a filter that is wrong", async () => {
    const { uuid } = await flipped(cast, THREE);
    for (const key of [cast.mate.rw, cast.stranger.rw, cast.stranger.ro]) {
      for (const query of ["", "?seconds=x"]) {
        const reply = await cast.ask(path(uuid, query), { key });
        expect([reply.status, reply.json]).toEqual([403, { error: "wrong api key" }]);
      }
    }
  });

  test("with an empty body in the other dialect", async () => {
    const { uuid } = await flipped(dialect, []);
    const reply = await dialect.ask(path(uuid), { key: dialect.stranger.rw });
    expect([reply.status, reply.text]).toEqual([403, ""]);
  });
});

describe("404", () => {
  test("a check that does not exist, also with a filter that is wrong", async () => {
    for (const where of [
      path(UNKNOWN_UUID),
      path("0".repeat(40)),
      path("abc"),
      path(UNKNOWN_UUID, "?seconds=x"),
    ]) {
      const reply = await cast.ask(where, { key: cast.owner.rw });
      expect([reply.status, reply.json], where).toEqual([404, { error: "not found" }]);
    }
  });

  test("a unique key of another project", async () => {
    const { uuid } = await flipped(cast, THREE);
    const reply = await cast.ask(path(uniqueKey(uuid, sha1Hex)), { key: cast.stranger.ro });
    expect([reply.status, reply.json]).toEqual([404, { error: "not found" }]);
  });
});
