// GET /checks/<uuid> and /checks/<unique key>: one check, as the key may see it.
import { describe, expect, test } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/instant.ts";
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
  type Shown,
  signals,
} from "./asking.ts";
import { UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast();
const other = useCast({ dialect: "healthchecks" });
const STAGES = { standard: cast, healthchecks: other };
const DIALECTS = ["standard", "healthchecks"] as const;

const named = (uuid: string) => uniqueKey(uuid, sha1Hex);
const iso = (at: number) => new Date(at).toISOString().replace(".000Z", "+00:00");

describe("200", () => {
  test("a new check, every value of it", async () => {
    const { uuid } = await newCheck(cast, { name: "Backup" });
    const { json } = await cast.ask(checksAt() + uuid, { key: cast.owner.rw });
    expect(json).toEqual({
      name: "Backup",
      slug: "",
      tags: "",
      desc: "",
      grace: 3_600,
      n_pings: 0,
      status: "new",
      started: false,
      last_ping: null,
      next_ping: null,
      manual_resume: false,
      methods: "",
      start_kw: "",
      success_kw: "",
      failure_kw: "",
      filter_subject: false,
      filter_body: false,
      badge_url: expect.stringMatching(/\/b\/2\/[0-9a-f-]{36}\.svg$/) as unknown,
      uuid,
      ping_url: `${cast.site}/ping/${uuid}`,
      update_url: `${cast.site}/api/v3/checks/${uuid}`,
      pause_url: `${cast.site}/api/v3/checks/${uuid}/pause`,
      resume_url: `${cast.site}/api/v3/checks/${uuid}/resume`,
      channels: "",
      timeout: 86_400,
    });
  });

  test.each(DIALECTS)("%s: each version has its fields, in their order", async (dialect) => {
    const stage = STAGES[dialect];
    const { uuid } = await newCheck(stage);
    for (const version of ALL_VERSIONS) {
      for (const kind of ["rw", "ro"] as const) {
        for (const name of [uuid, named(uuid)]) {
          const { json } = await stage.ask(checksAt(version) + name, { key: stage.owner[kind] });
          const expected = fieldsOf({ dialect, version, key: kind, on: "read" });
          expect(Object.keys(json as object), `${version} ${kind} ${name}`).toEqual(expected);
        }
      }
    }
  });

  test("a check with a schedule has that and its zone instead of a period", async () => {
    const { uuid } = await newCheck(cast, { schedule: "Mon..Fri 8:00", tz: "America/New_York", grace: 60 });
    const shown = await readCheck(cast, uuid);
    expect(Object.keys(shown).slice(-3)).toEqual(["channels", "schedule", "tz"]);
    expect(shown).toMatchObject({ schedule: "Mon..Fri 8:00", tz: "America/New_York" });
    expect(shown).not.toHaveProperty("timeout");
  });

  test("fields of ours are there only where they are not as everyone has them, or in the other dialect", async () => {
    const body = { filter_http_body: true, filter_default_fail: true };
    const { uuid } = await newCheck(cast, body);
    expect(await readCheck(cast, uuid)).toMatchObject(body);
    const plain = await newCheck(other);
    expect(await readCheck(other, plain.uuid)).toMatchObject({
      filter_http_body: false,
      filter_default_fail: false,
      subject: "",
      subject_fail: "",
    });
  });

  test("old and new forms of the keywords show the same values", async () => {
    const { uuid } = await newCheck(cast, { subject: "ok,done", subject_fail: "error" });
    expect(await readCheck(cast, uuid)).toMatchObject({
      success_kw: "ok,done",
      failure_kw: "error",
      filter_subject: true,
    });
    const first = (await cast.ask(checksAt(1) + uuid, { key: cast.owner.rw })).json;
    expect(first).toMatchObject({ subject: "ok,done", subject_fail: "error" });
  });

  test("a check that was pinged: when, how often, and when the next ping is expected", async () => {
    const { uuid } = await newCheck(cast, { timeout: 3_600 });
    const at = Math.floor((await cast.now()) / 1_000) * 1_000 - 600_000;
    await signals(cast, uuid, [{ action: "start", at: at - 5_000 }, { at }]);
    expect(await readCheck(cast, uuid)).toMatchObject({
      status: "up",
      started: false,
      n_pings: 2,
      last_ping: iso(at),
      next_ping: iso(at + HOUR_MS),
    });
  });

  test("statuses: up, in grace, down, paused", async () => {
    const { uuid } = await newCheck(cast, { timeout: 3_600, grace: 7_200 });
    const status = async () => {
      const { status: now, next_ping: next } = await readCheck(cast, uuid);
      return [now, next === null];
    };
    await signals(cast, uuid, [{ at: (await cast.now()) - 90 * 60_000 }]);
    expect(await status()).toEqual(["grace", false]);
    await signals(cast, uuid, [{}]);
    expect(await status()).toEqual(["up", false]);
    await signals(cast, uuid, [{ action: "fail" }]);
    expect(await status()).toEqual(["down", true]);
    await cast.ask(`${checksAt()}${uuid}/pause`, { method: "POST", key: cast.owner.rw });
    expect(await status()).toEqual(["paused", true]);
  });

  test("past its deadline, until that has fired, it is in grace and not down", async () => {
    const { uuid } = await newCheck(cast, { timeout: 60, grace: 60 });
    await signals(cast, uuid, [{ at: (await cast.now()) - DAY_MS }]);
    expect(await readCheck(cast, uuid)).toMatchObject({ status: "grace" });
  });

  test("a run in progress is a status in version 1 only", async () => {
    for (const stage of [cast, other]) {
      const { uuid } = await newCheck(stage);
      await signals(stage, uuid, [{}, { action: "start" }]);
      const shown = async (version: 1 | 2 | 3) =>
        (await stage.ask(checksAt(version) + uuid, { key: stage.owner.rw })).json as Shown;
      expect((await shown(1))["status"]).toBe("started");
      for (const version of [2, 3] as const)
        expect(await shown(version)).toMatchObject({ status: "up", started: true });
    }
  });

  test("channels are sorted as text", async () => {
    const uuids = [];
    for (const name of ["one", "two", "three"]) {
      uuids.push((await cast.channel(cast.owner, { name, kind: "email" })).uuid);
    }
    const { uuid } = await newCheck(cast, { channels: uuids.toSorted().toReversed().join(",") });
    expect((await readCheck(cast, uuid))["channels"]).toBe(uuids.toSorted().join(","));
  });

  test("a tag saves sending it again, until something changes", async () => {
    const { uuid } = await newCheck(cast);
    const first = await cast.ask(checksAt() + uuid, { key: cast.owner.rw });
    const tag = first.headers.get("etag") ?? "";
    const again = () =>
      cast.ask(checksAt() + uuid, { key: cast.owner.rw, headers: { "If-None-Match": tag } });
    expect([(await again()).status, (await again()).text]).toEqual([304, ""]);
    await signals(cast, uuid);
    expect((await again()).status).toBe(200);
    const readOnly = await cast.ask(checksAt() + uuid, {
      key: cast.owner.ro,
      headers: { "If-None-Match": tag },
    });
    expect(readOnly.status).toBe(200);
  });
});

describe("401", () => {
  test.each(DIALECTS)("%s: without a valid key, whether or not the check exists", async (dialect) => {
    const stage = STAGES[dialect];
    const { uuid } = await newCheck(stage);
    for (const version of ALL_VERSIONS) {
      for (const name of [uuid, named(uuid), UNKNOWN_UUID]) {
        expect(await refusedKeys(stage, { path: checksAt(version) + name })).toEqual(KEYS_REFUSED);
      }
    }
  });

  test("a key in the body of a GET or in the address is none", async () => {
    const { uuid } = await newCheck(cast);
    const reply = await cast.ask(`${checksAt()}${uuid}?api_key=${cast.owner.rw}`);
    expect(refusal(reply)).toBe("401 missing api key");
  });
});

describe("403", () => {
  test.each(DIALECTS)(
    "%s: a check of another project, which a team mate's own key does not open",
    async (dialect) => {
      const stage = STAGES[dialect];
      const { uuid } = await newCheck(stage);
      const expected = dialect === "standard" ? "403 wrong api key" : "403 ";
      for (const version of ALL_VERSIONS) {
        for (const key of [stage.stranger.rw, stage.stranger.ro, stage.mate.rw]) {
          expect(refusal(await stage.ask(checksAt(version) + uuid, { key }))).toBe(expected);
        }
      }
    },
  );
});

describe("404", () => {
  test("no such check, a deleted one, and another project's unique key", async () => {
    for (const stage of [cast, other]) {
      const { uuid } = await newCheck(stage);
      const deleted = await newCheck(stage);
      await stage.db.pool.query("update checks set deleted_at = now() where uuid = $1", [deleted.uuid]);
      const asked: [string, string][] = [
        [UNKNOWN_UUID, stage.owner.rw],
        [deleted.uuid, stage.owner.rw],
        [named(deleted.uuid), stage.owner.rw],
        [named(uuid), stage.stranger.rw],
        [named(uuid), stage.stranger.ro],
        ["f".repeat(40), stage.owner.ro],
      ];
      for (const version of ALL_VERSIONS) {
        for (const [name, key] of asked) {
          expect(refusal(await stage.ask(checksAt(version) + name, { key })), name).toBe("404 not found");
        }
      }
    }
  });

  test("neither a UUID in our format nor a unique key", async () => {
    const { uuid } = await newCheck(cast);
    for (const name of [
      uuid.toUpperCase(),
      uuid.replaceAll("-", ""),
      `${uuid}x`,
      `{${uuid}}`,
      "f".repeat(39),
      "..%2F..",
      "%00",
      `${uuid}%00`,
      `${uuid}/x`,
      "0",
    ]) {
      expect(refusal(await cast.ask(checksAt() + name, { key: cast.owner.rw })), name).toBe("404 not found");
    }
  });

  test("versions that there are not", async () => {
    const { uuid } = await newCheck(cast);
    for (const version of ["v0", "v4", "v", "V3", "3", "v3x"]) {
      const reply = await cast.ask(`/api/${version}/checks/${uuid}`, { key: cast.owner.rw });
      expect(refusal(reply), version).toBe("404 not found");
    }
  });
});

test("405: what no check can be asked to do, by UUID and by unique key", async () => {
  const { uuid } = await newCheck(cast);
  for (const [name, methods] of [
    [uuid, ["PUT", "PATCH", "PROPFIND"]],
    [named(uuid), ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"]],
  ] as const) {
    for (const method of methods) {
      const reply = await cast.ask(checksAt() + name, { method, key: cast.owner.rw });
      expect(refusal(reply), `${method} ${name}`).toBe("405 method not allowed");
    }
  }
});
