// POST /checks/<uuid>: changes what is given, and nothing else; pings that arrive meanwhile are never overwritten.
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
  type Shown,
  signals,
  type Version,
} from "./asking.ts";
import { type Cast, type Reply, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast({ roles: ["ping", "api"], settings: { OVERDUE_SIGNALS_PER_MINUTE: "0" } });
const other = useCast({ dialect: "healthchecks" });
const STAGES = { standard: cast, healthchecks: other };
const DIALECTS = ["standard", "healthchecks"] as const;

type How = { version?: Version; key?: string; stage?: Cast };

function update(uuid: string, body: unknown, { version = 3, stage = cast, key = stage.owner.rw }: How = {}) {
  return stage.ask(checksAt(version) + uuid, { method: "POST", key, body });
}

const range = (length: number) => Array.from({ length }, (_, n) => n);

/** The check in version 3 without the fields that only answers to changes have. */
function asRead(json: unknown): Record<string, unknown> {
  const { subject: _one, subject_fail: _other, ...read } = json as Shown;
  return read;
}

/** Long enough for a checkpoint on a slow disk. */
const SLOW_COMMIT_SECONDS = 2;

test("a commit that takes seconds is waited for", async () => {
  const { uuid } = await newCheck(cast);
  await cast.db.pool.query(`create function sleep_at_commit() returns trigger language plpgsql as
    $$ begin perform pg_sleep(${SLOW_COMMIT_SECONDS}); return null; end $$`);
  await cast.db.pool.query(`create constraint trigger slow after update on checks
    initially deferred for each row execute function sleep_at_commit()`);
  try {
    const reply = await update(uuid, { name: "Slow" });
    expect(reply).toMatchObject({ status: 200, json: { name: "Slow" } });
  } finally {
    await cast.db.pool.query("drop trigger slow on checks");
  }
});

describe("200", () => {
  test.each([
    { name: "New name" },
    { slug: "new-slug" },
    { tags: "x y" },
    { desc: "more" },
    { grace: 777 },
    { manual_resume: true },
    { methods: "POST" },
    { start_kw: "begin" },
    { success_kw: "yes" },
    { failure_kw: "no" },
    { filter_subject: true },
    { filter_body: true },
    { timeout: 7_200 },
  ])("%j changes that and nothing else", async (body) => {
    const { uuid } = await newCheck(cast, { name: "old", desc: "old", tags: "old", slug: "old" });
    const before = await readCheck(cast, uuid);
    const { status, json } = await update(uuid, body);
    expect([status, asRead(json)]).toEqual([200, { ...before, ...body }]);
    expect(await readCheck(cast, uuid)).toEqual({ ...before, ...body });
  });

  test.each(DIALECTS)("%s: each version answers with its fields, in their order", async (dialect) => {
    const stage = STAGES[dialect];
    const { uuid } = await newCheck(stage);
    for (const version of ALL_VERSIONS) {
      const { json } = await update(uuid, { desc: `by ${version}` }, { version, stage });
      const expected = fieldsOf({ dialect, version, key: "rw", on: "change" });
      expect(Object.keys(json as object), String(version)).toEqual(expected);
    }
  });

  test("nothing given changes nothing, and leaves no trace", async () => {
    const { uuid } = await newCheck(cast, { name: "same" });
    const updatedAt = async () =>
      (await cast.db.pool.query("select updated_at from checks where uuid = $1", [uuid])).rows;
    const before = [await readCheck(cast, uuid), await updatedAt()];
    for (const body of [undefined, "null", {}, { name: "same" }, { unknown: 1 }, { unique: ["name"] }]) {
      expect((await update(uuid, body)).status).toBe(200);
    }
    expect([await readCheck(cast, uuid), await updatedAt()]).toEqual(before);
  });

  test("between period and schedule and back; a period that was there is kept", async () => {
    const { uuid } = await newCheck(cast, { timeout: 4_000 });
    const timing = async (body: object) => {
      const { timeout, schedule, tz } = (await update(uuid, body)).json as Shown;
      return { timeout, schedule, tz };
    };
    expect(await timing({ schedule: "5 5 * * *", timeout: 60 })).toEqual({
      schedule: "5 5 * * *",
      tz: "UTC",
    });
    expect(await timing({ tz: "Asia/Tokyo" })).toEqual({ schedule: "5 5 * * *", tz: "Asia/Tokyo" });
    expect(await timing({ timeout: 120 })).toEqual({ timeout: 120 });
    expect(await timing({ schedule: "6 6 * * *" })).toEqual({ schedule: "6 6 * * *", tz: "Asia/Tokyo" });
  });

  test("a name makes the slug in versions 1 and 2 only", async () => {
    const slug = async (version: Version, body: object, stage: Cast = cast) => {
      const { uuid } = await newCheck(stage, { slug: "before" });
      return ((await update(uuid, body, { version, stage })).json as Shown)["slug"];
    };
    expect(await slug(3, { name: "A b" })).toBe("before");
    expect(await slug(2, { name: "A b" })).toBe("a-b");
    expect(await slug(2, { name: "A b", slug: "c" })).toBe("c");
    expect(await slug(1, { name: "A b", slug: "c" })).toBe("a-b");
    expect(await slug(1, { tags: "x", slug: "c" })).toBe("before");
    expect(await slug(1, { tags: "x", slug: "c" }, other)).toBe("c");
  });

  test("the old keyword fields and the new ones are the same values", async () => {
    const { uuid } = await newCheck(cast);
    expect((await update(uuid, { subject: "ok" })).json).toMatchObject({
      success_kw: "ok",
      filter_subject: true,
    });
    expect((await update(uuid, { subject: "" })).json).toMatchObject({
      success_kw: "",
      filter_subject: false,
    });
    const explicit = await update(uuid, { subject: "a", success_kw: "b", filter_subject: false });
    expect(explicit.json).toMatchObject({ success_kw: "b", filter_subject: false, subject: "" });
  });

  test("channels: unchanged, removed, assigned", async () => {
    const { uuid: channel } = await cast.channel(cast.owner, { name: "Mail", kind: "email" });
    const { uuid } = await newCheck(cast, { channels: channel });
    const shown = async (body: object) => ((await update(uuid, body)).json as Shown)["channels"];
    expect(await shown({ name: "x" })).toBe(channel);
    expect(await shown({ channels: "" })).toBe("");
    expect(await shown({ channels: "Mail" })).toBe(channel);
    expect(await shown({ channels: "*" })).toContain(channel);
  });

  test("a new period moves the expected time, and the status goes with it", async () => {
    const { uuid } = await newCheck(cast, { timeout: 86_400, grace: 86_400 });
    await signals(cast, uuid, [{ at: (await cast.now()) - 2 * 3_600_000 }]);
    expect((await update(uuid, { timeout: 3_600 })).json).toMatchObject({ status: "grace", n_pings: 1 });
    expect((await update(uuid, { timeout: 86_400 })).json).toMatchObject({ status: "up", n_pings: 1 });
  });

  test("the key may be in the body", async () => {
    const { uuid } = await newCheck(cast);
    const body = { api_key: cast.owner.rw, desc: "by body" };
    const reply = await cast.ask(checksAt() + uuid, { method: "POST", body });
    expect([reply.status, reply.json]).toMatchObject([200, { desc: "by body" }]);
    expect(reply.text).not.toContain(cast.owner.rw);
  });
});

describe("at the same time", () => {
  test("updates never overwrite pings, and pings never overwrite updates", async () => {
    const { uuid } = await newCheck(cast, { timeout: 3_600, name: "0" });
    const PINGS = 200;
    const pings = range(8).map(async (worker) => {
      const statuses: number[] = [];
      for (const n of range(PINGS / 8)) {
        const path = `/ping/${uuid}${(worker + n) % 4 === 3 ? "/log" : ""}`;
        statuses.push((await cast.ask(path, { method: "POST", body: String(n) })).status);
      }
      return statuses;
    });
    const updates = [
      (n: number) => ({ name: `name ${n}` }),
      (n: number) => ({ tags: `tag-${n}` }),
      (n: number) => ({ grace: 60 + n }),
    ].map(async (body) => {
      const replies: Reply[] = [];
      for (const n of range(20)) replies.push(await update(uuid, body(n)));
      return replies;
    });
    const pinged = (await Promise.all(pings)).flat();
    const updated = (await Promise.all(updates)).flat();
    expect(new Set(pinged)).toEqual(new Set([200]));
    expect(new Set(updated.map(({ status }) => status))).toEqual(new Set([200]));
    const after = await readCheck(cast, uuid);
    expect(after).toMatchObject({ n_pings: PINGS, status: "up", started: false, timeout: 3_600 });
    const counts = updated.map(({ json }) => Number((json as Shown)["n_pings"] ?? 0));
    expect(Math.max(...counts)).toBeLessThanOrEqual(PINGS);
    const log = await cast.ask(`${checksAt()}${uuid}/pings/`, { key: cast.owner.rw });
    const listed = (log.json as { pings: { n: number }[] }).pings;
    expect(listed.map(({ n }) => n)).toEqual(range(PINGS).map((n) => PINGS - n));
    expect(after).toMatchObject({ name: "name 19", tags: "tag-19", grace: 79 });
  });

  test("updates of different fields all arrive", async () => {
    const { uuid } = await newCheck(cast);
    const fields = [
      { name: "n" },
      { tags: "t" },
      { desc: "d" },
      { grace: 99 },
      { timeout: 99 },
      { slug: "s" },
    ];
    const replies = await Promise.all(fields.map((body) => update(uuid, body)));
    expect(replies.map(({ status }) => status)).toEqual(fields.map(() => 200));
    expect(await readCheck(cast, uuid)).toMatchObject(Object.assign({}, ...fields) as object);
  });

  test("an update and a deletion: the check is gone, and the update came before it or gets 404", async () => {
    for (let round = 0; round < 10; round++) {
      const { uuid } = await newCheck(cast);
      const [updated, deleted] = await Promise.all([
        update(uuid, { name: "late" }),
        cast.ask(checksAt() + uuid, { method: "DELETE", key: cast.owner.rw }),
      ]);
      expect(deleted.status).toBe(200);
      expect([200, 404]).toContain(updated.status);
      expect((await update(uuid, {})).status).toBe(404);
    }
  });
});

describe("400", () => {
  test.each([
    ["{", "could not parse request body"],
    ["[]", "json validation error: value is not an object"],
    [{ timeout: 59 }, "json validation error: timeout is too small"],
    [{ grace: null }, "json validation error: grace is not a number"],
    [{ name: "x".repeat(101) }, "json validation error: name is too long"],
    [{ slug: "A" }, "json validation error: slug does not match pattern"],
    [
      { schedule: "nonsense" },
      "json validation error: schedule is not a valid cron or OnCalendar expression",
    ],
    [{ tz: "UTC+1" }, "json validation error: tz is not a valid timezone"],
    [{ unique: ["x"] }, "json validation error: an item in 'unique' has unexpected value"],
    [{ channels: "nobody", name: "lost" }, "invalid channel identifier: nobody"],
  ])("%j: %s, and nothing has changed", async (body, text) => {
    const { uuid } = await newCheck(cast, { name: "kept" });
    const before = await readCheck(cast, uuid);
    expect(refusal(await update(uuid, body))).toBe(`400 ${text}`);
    expect(await readCheck(cast, uuid)).toEqual(before);
  });

  test("version 1 takes no OnCalendar expression, in either dialect", async () => {
    for (const stage of [cast, other]) {
      const { uuid } = await newCheck(stage);
      const reply = await update(uuid, { schedule: "Mon 8:00" }, { version: 1, stage });
      expect(refusal(reply)).toBe("400 json validation error: schedule is not a valid cron expression");
    }
  });
});

test.each(DIALECTS)("401 (%s): without a valid key, whether or not the check exists", async (dialect) => {
  const stage = STAGES[dialect];
  const { uuid } = await newCheck(stage);
  for (const version of ALL_VERSIONS) {
    for (const name of [uuid, UNKNOWN_UUID]) {
      const call = { path: checksAt(version) + name, method: "POST", body: { timeout: 1 } };
      expect(await refusedKeys(stage, call)).toEqual(KEYS_REFUSED);
    }
  }
  const readOnly = refusal(await update(uuid, {}, { stage, key: stage.owner.ro }));
  expect(readOnly).toBe(dialect === "standard" ? "403 wrong api key" : "401 wrong api key");
});

test.each(DIALECTS)("403 (%s): another project's check, before its values are judged", async (dialect) => {
  const stage = STAGES[dialect];
  const { uuid } = await newCheck(stage, { name: "untouched" });
  for (const version of ALL_VERSIONS) {
    for (const key of [stage.stranger.rw, stage.mate.rw]) {
      const reply = await update(uuid, { name: "taken", timeout: 1 }, { version, stage, key });
      expect(refusal(reply)).toBe(dialect === "standard" ? "403 wrong api key" : "403 ");
    }
  }
  expect(await readCheck(stage, uuid)).toMatchObject({ name: "untouched" });
});

test("404: no such check, or one that is deleted, before the values are judged", async () => {
  const { uuid } = await newCheck(cast);
  await cast.db.pool.query("update checks set deleted_at = now() where uuid = $1", [uuid]);
  for (const version of ALL_VERSIONS) {
    for (const name of [UNKNOWN_UUID, uuid]) {
      expect(refusal(await update(name, { timeout: 1 }, { version }))).toBe("404 not found");
    }
  }
});

test("405: a unique key names a check only for reading", async () => {
  const { uuid } = await newCheck(cast);
  expect(refusal(await update(uniqueKey(uuid, sha1Hex), {}))).toBe("405 method not allowed");
});
