// GET /checks/<uuid>/pings/: the log of a check, newest first, with the fields of each version.
import { afterEach, describe, expect, test } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { sampleIntake, type Sent } from "../support/checks-under-change.ts";
import { MONDAY_NOON, sampleCheck } from "../support/sample.ts";
import { UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast();
const few = useCast({ settings: { OVERDUE_PING_LOG_LIMIT: "3" } });
const dialect = useCast({ dialect: "healthchecks" });

const RID = "11111111-1111-4111-8111-111111111111";

/** A check of the owner that has heard these signals, a second apart unless they say otherwise. */
async function heard(on: typeof cast, sent: readonly Omit<Sent, "uuid">[]): Promise<string> {
  const { uuid } = await sampleCheck(on.db, { projectId: on.owner.project.id });
  const record = await sampleIntake(on.db);
  if (sent.length > 0) {
    await record(sent.map((one, index) => ({ uuid, at: MONDAY_NOON + index * 1_000, ...one })));
  }
  return uuid;
}

const path = (uuid: string, version = 3) => `/api/v${version}/checks/${uuid}/pings/`;

type Listed = Record<string, unknown>;
const pingsOf = (json: unknown) => (json as { pings: Listed[] }).pings;

describe("200", () => {
  test("a check without pings has an empty list", async () => {
    const reply = await cast.ask(path(await heard(cast, [])), { key: cast.owner.rw });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ pings: [] });
  });

  test("a ping has all fields of version 3, with the body's address and a duration after a start", async () => {
    const request = { scheme: "https", remoteAddr: "192.0.2.7", ua: "curl/8", rid: RID, method: "GET" };
    const uuid = await heard(cast, [
      { ...request, action: "start" },
      { ...request, action: { exitStatus: 0 }, method: "POST", body: "done", at: MONDAY_NOON + 61_234 },
    ]);
    const { json } = await cast.ask(path(uuid), { key: cast.owner.rw });
    const same = { scheme: "https", remote_addr: "192.0.2.7", ua: "curl/8", rid: RID };
    expect(json).toEqual({
      pings: [
        {
          ...same,
          type: "success",
          date: "2026-11-16T12:01:01.234000+00:00",
          n: 2,
          method: "POST",
          duration: 61.23,
          body_url: `${cast.site}/api/v3/checks/${uuid}/pings/2/body`,
        },
        {
          ...same,
          type: "start",
          date: "2026-11-16T12:00:00.000000+00:00",
          n: 1,
          method: "GET",
          body_url: null,
        },
      ],
    });
  });

  test("every type of ping is listed, newest first", async () => {
    const actions = ["success", "start", "fail", "log"] as const;
    const uuid = await heard(
      cast,
      actions.map((action) => ({ action })),
    );
    const { json } = await cast.ask(path(uuid), { key: cast.owner.rw });
    expect(pingsOf(json).map(({ n, type }) => [n, type])).toEqual([
      [4, "log"],
      [3, "fail"],
      [2, "start"],
      [1, "success"],
    ]);
    expect(pingsOf(json).map(({ duration }) => duration)).toEqual([undefined, 1, undefined, undefined]);
  });

  test("what has no sender and no run is null", async () => {
    const { json } = await cast.ask(path(await heard(cast, [{}])), { key: cast.owner.rw });
    expect(pingsOf(json)).toMatchObject([{ remote_addr: null, rid: null, body_url: null, ua: "" }]);
  });

  test("version 1 knows neither run ids nor bodies, but durations; version 2 is like version 3", async () => {
    const uuid = await heard(cast, [{ action: "start" }, { body: "x" }]);
    const first = pingsOf((await cast.ask(path(uuid, 1), { key: cast.owner.rw })).json)[0] ?? {};
    const fields = ["type", "date", "n", "scheme", "remote_addr", "method", "ua"];
    expect(Object.keys(first).toSorted()).toEqual([...fields, "duration"].toSorted());
    const second = pingsOf((await cast.ask(path(uuid, 2), { key: cast.owner.rw })).json)[0] ?? {};
    expect(second["body_url"]).toBe(`${cast.site}/api/v2/checks/${uuid}/pings/2/body`);
  });

  test("the other dialect shows all fields in version 1, too", async () => {
    const uuid = await heard(dialect, [{ body: "x", rid: RID }]);
    const { json } = await dialect.ask(path(uuid, 1), { key: dialect.owner.rw });
    const bodyUrl = `${dialect.site}/api/v1/checks/${uuid}/pings/1/body`;
    expect(pingsOf(json)).toMatchObject([{ rid: RID, body_url: bodyUrl }]);
  });

  test("no more are listed than the log keeps, although the older ones have not been removed yet", async () => {
    const uuid = await heard(few, [{}, {}, {}, {}, {}]);
    const { json } = await few.ask(path(uuid), { key: few.owner.rw });
    expect(pingsOf(json).map(({ n }) => n)).toEqual([5, 4, 3]);
  });

  describe("an account with its own limit", () => {
    const limit = (count: number | null) =>
      few.db.pool.query("update accounts set ping_log_limit = $1 where id = $2", [
        count,
        few.owner.account.id,
      ]);
    afterEach(() => limit(null));

    test("uses that, and not the limit of the server", async () => {
      const uuid = await heard(few, [{}, {}, {}]);
      await limit(2);
      const { json } = await few.ask(path(uuid), { key: few.owner.rw });
      expect(pingsOf(json).map(({ n }) => n)).toEqual([3, 2]);
    });

    test("sees no more than a thousand, however long its log is", async () => {
      const uuid = await heard(
        few,
        Array.from({ length: 1_003 }, () => ({})),
      );
      await limit(5_000);
      const { json } = await few.ask(path(uuid), { key: few.owner.rw });
      expect(pingsOf(json).map(({ n }) => n)).toEqual(Array.from({ length: 1_000 }, (_, i) => 1_003 - i));
    });
  });

  test("the final slash does not matter, POST without it is answered like GET, and queries are ignored", async () => {
    const uuid = await heard(cast, [{}]);
    const bare = path(uuid).slice(0, -1);
    const key = cast.owner.rw;
    for (const [where, method] of [
      [bare, "GET"],
      [bare, "POST"],
      [`${path(uuid)}?limit=0&page=9`, "GET"],
    ] as const) {
      const reply = await cast.ask(where, { method, key });
      expect([reply.status, pingsOf(reply.json).length], `${method} ${where}`).toEqual([200, 1]);
    }
  });
});

describe("401", () => {
  test.each([
    ["no key", undefined, "missing api key"],
    ["a key of the wrong length", "short", "missing api key"],
    ["a key that nobody has", UNKNOWN_KEY, "wrong api key"],
  ])("%s", async (_, key, error) => {
    const uuid = await heard(cast, []);
    const reply = await cast.ask(path(uuid), key === undefined ? {} : { key });
    expect([reply.status, reply.json]).toEqual([401, { error }]);
  });

  test("a read-only key, in the other dialect", async () => {
    const uuid = await heard(dialect, []);
    const reply = await dialect.ask(path(uuid), { key: dialect.owner.ro });
    expect([reply.status, reply.json]).toEqual([401, { error: "wrong api key" }]);
  });
});

describe("403", () => {
  test("a read-only key, and any key of another project, be it a team mate's", async () => {
    const uuid = await heard(cast, []);
    for (const key of [cast.owner.ro, cast.mate.rw, cast.stranger.rw, cast.stranger.ro]) {
      const reply = await cast.ask(path(uuid), { key });
      expect([reply.status, reply.json]).toEqual([403, { error: "wrong api key" }]);
    }
  });
});

describe("404", () => {
  test("a check that does not exist, or is named otherwise than by its UUID", async () => {
    const uuid = await heard(cast, []);
    for (const name of [UNKNOWN_UUID, "abc", uuid.toUpperCase(), uniqueKey(uuid, sha1Hex)]) {
      const reply = await cast.ask(path(name), { key: cast.owner.rw });
      expect([reply.status, reply.json], name).toEqual([404, { error: "not found" }]);
    }
  });
});
