// Silences by the Overdue API: created, previewed, changed, and ended, with the conditions and repetitions that clients
// use.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Silence } from "../../src/contract/api/silences.ts";
import { SILENCES_MAX } from "../../src/core/limits.ts";
import { newCheck } from "../management/asking.ts";
import { type Asked, UNKNOWN_UUID, useCast } from "../management/cast.ts";
import { sampleCheck } from "../support/sample.ts";
import { type ApiReply, askApi } from "./asking.ts";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const SILENCES = "/projects/{project}/silences";
const HOUR_MS = 3_600_000;

const ask = (path: string, given: Asked = {}) => askApi(cast, path, { key: cast.owner.rw, ...given });
const create = (body: object, headers: Record<string, string> = {}) =>
  ask(SILENCES, { method: "POST", body, headers });
const change = (id: string, body: object, headers: Record<string, string> = {}) =>
  ask(`${SILENCES}/${id}`, { method: "PATCH", body, headers });
const end = (id: string, headers: Record<string, string> = {}) =>
  ask(`${SILENCES}/${id}`, { method: "DELETE", headers });
const get = (id: string) => ask(`${SILENCES}/${id}`);

async function newSilence(body: object = { duration: 7_200 }): Promise<Silence> {
  return silenceIn(await create(body));
}

function silenceIn({ status, text, json }: ApiReply): Silence {
  if (status !== 201 && status !== 200) throw new Error(`${status} ${text}`);
  return json as unknown as Silence;
}

async function idsIn(query: string): Promise<string[]> {
  const { json } = await ask(`${SILENCES}${query}`);
  return (json["silences"] as Silence[]).map(({ id }) => id);
}

beforeEach(async () => {
  await cast.db.pool.query("delete from silences where project_id = $1", [cast.owner.project.id]);
});

describe("creating", () => {
  test("a silence is there afterwards, under its Location", async () => {
    const reply = await create({ tag: "db", duration: 7_200, reason: "DB upgrade" });
    expect(reply.status).toBe(201);
    const silence = silenceIn(reply);
    const now = await cast.now();
    expect(Math.abs(silence.from - now)).toBeLessThan(60_000);
    expect(silence).toMatchObject({
      checks: null,
      tag: "db",
      reason: "DB upgrade",
      state: "active",
      window: { from: silence.from, until: silence.from + 2 * HOUR_MS },
      until: silence.from + 2 * HOUR_MS,
      untilSuccess: false,
      schedule: null,
      tz: null,
      duration: null,
      holdAfter: 0,
      createdBy: null,
      endedAt: null,
      version: 1,
    });
    expect(reply.headers.get("etag")).toBe('"1"');
    const path = `/api/overdue/v1/projects/${cast.owner.project.uuid}/silences/${silence.id}`;
    expect(reply.headers.get("location")).toBe(cast.site + path);
    const again = await get(silence.id);
    expect(again.json).toEqual(silence);
    expect(again.headers.get("etag")).toBe('"1"');
  });

  test("for checks, and for maintenance windows", async () => {
    const check = await newCheck(cast, { name: "Nightly backup" });
    const id = check.uuid;
    const silence = await newSilence({
      checks: [id],
      schedule: "0 22 * * 6",
      tz: "Europe/Riga",
      duration: 14_400,
    });
    expect(silence).toMatchObject({
      checks: [{ id, name: "Nightly backup" }],
      tag: null,
      state: expect.stringMatching(/^(upcoming|active)$/),
      until: null,
      schedule: "0 22 * * 6",
      tz: "Europe/Riga",
      duration: 14_400,
      holdAfter: 3_600,
    });
    const { from, until } = silence.window ?? { from: 0, until: 0 };
    expect(until - from).toBeLessThanOrEqual(4 * HOUR_MS);
  });

  test("a repeated request with an idempotency key creates one silence", async () => {
    const headers = { "Idempotency-Key": randomUUID() };
    const body = { duration: 60 };
    const first = silenceIn(await create(body, headers));
    expect(silenceIn(await create(body, headers))).toEqual(first);
    expect(await idsIn("")).toEqual([first.id]);
    expect((await create({ duration: 120 }, headers)).status).toBe(422);
  });

  test.each<[string, object]>([
    ["checks", { checks: [UNKNOWN_UUID], duration: 60 }],
    ["until", {}],
    ["until", { until: 1 }],
    ["from", { from: 1, duration: 60 }],
    ["tz", { duration: 60, tz: "UTC" }],
    ["duration", { schedule: "0 0 * * *", duration: 86_400 }],
    ["untilSuccess", { schedule: "0 0 * * *", duration: 60, untilSuccess: true }],
    ["schedule", { schedule: "at night", duration: 60 }],
  ])("is refused for %s: %j", async (field, body) => {
    const reply = await create(body);
    expect([reply.status, reply.json["field"]]).toEqual([400, field]);
    expect(reply.detail).toMatch(/\.$/);
    const preview = await ask(`${SILENCES}/preview`, { method: "POST", body });
    expect([preview.status, preview.json["field"]]).toEqual([400, field]);
  });

  test("checks and a tag cannot be combined, and a check of another project does not exist", async () => {
    const foreign = await sampleCheck(cast.db, { projectId: cast.stranger.project.id });
    expect((await create({ checks: [foreign.uuid], duration: 60 })).json).toMatchObject({
      status: 400,
      field: "checks",
    });
    const own = await newCheck(cast, {});
    const both = await create({ checks: [own.uuid], tag: "db", duration: 60 });
    expect(both.json).toMatchObject({ status: 400, field: "tag" });
  });

  test("is limited to a number of silences that have not ended", async () => {
    await cast.db.pool.query(
      `insert into silences (uuid, project_id, reason, created_at, from_at, until_at, until_success,
         hold_after_seconds, version)
       select gen_random_uuid(), $1, '', now(), now(), now() + interval '1 day', false, 0, 1
       from generate_series(1, $2)`,
      [cast.owner.project.id, SILENCES_MAX],
    );
    expect((await create({ duration: 60 })).status).toBe(403);
    const [id = ""] = await idsIn("?limit=1");
    expect((await end(id)).status).toBe(204);
    expect((await create({ duration: 60 })).status).toBe(201);
  });
});

test("a preview shows the checks, windows, and runs, and saves nothing", async () => {
  const check = await newCheck(cast, { name: "Tagged", tags: "preview", schedule: "0 * * * *", tz: "UTC" });
  await cast.ask(`/ping/${check.uuid}`);
  const from = Math.ceil((await cast.now()) / HOUR_MS) * HOUR_MS + HOUR_MS;
  const body = { tag: "preview", from, duration: 7_200 };
  const { status, json } = await ask(`${SILENCES}/preview`, { method: "POST", body });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    checkCount: 1,
    checks: [{ id: check.uuid, name: "Tagged" }],
    windows: [{ from, until: from + 2 * HOUR_MS }],
    untilSuccess: false,
    holdAfter: 0,
  });
  await cast.db.pool.query(
    "update check_states set status = 'up' where check_id = (select id from checks where uuid = $1)",
    [check.uuid],
  );
  const after = await ask(`${SILENCES}/preview`, { method: "POST", body });
  expect(after.json["checks"]).toMatchObject([{ runCount: 2, firstRunAt: from }]);
  expect(await idsIn("")).toEqual([]);
});

describe("changing", () => {
  test("keeps what is not given, and increases the version", async () => {
    const before = await newSilence({ tag: "db", duration: 7_200, reason: "DB upgrade" });
    const { json } = await change(before.id, { duration: 10_800 });
    const until = before.from + 3 * HOUR_MS;
    expect(json).toEqual({ ...before, until, window: { from: before.from, until }, version: 2 });
    const all = await change(before.id, { tag: null, version: 2 });
    expect(all.json).toMatchObject({ checks: null, tag: null, version: 3 });
    const check = await newCheck(cast, { name: "One" });
    const one = await change(before.id, { checks: [check.uuid] });
    expect(one.json).toMatchObject({ checks: [{ id: check.uuid, name: "One" }], tag: null });
    expect((await change(before.id, {})).json).toEqual(one.json);
  });

  test("is refused for an old version, by field or by header", async () => {
    const { id } = await newSilence();
    await change(id, { reason: "Second" });
    const conflict = await change(id, { reason: "Third", version: 1 });
    expect(conflict.json).toMatchObject({
      status: 409,
      conflict: { by: { kind: "key" }, before: { reason: "" }, after: { reason: "Second" }, version: 2 },
    });
    expect((await change(id, { reason: "Third" }, { "If-Match": '"1"' })).status).toBe(412);
    expect((await end(id, { "If-Match": '"1"' })).status).toBe(412);
    expect((await change(id, { reason: "Third" }, { "If-Match": '"2"' })).status).toBe(200);
  });

  test("is refused after the end", async () => {
    const { id } = await newSilence();
    await end(id);
    expect((await change(id, { duration: 60 })).status).toBe(409);
  });
});

test("ending: it stays in the list of ended ones, and ending it again has no effect", async () => {
  const { id } = await newSilence();
  const other = await newSilence({ schedule: "0 22 * * *", duration: 60 });
  expect((await end(id)).status).toBe(204);
  const { json } = await get(id);
  expect(json).toMatchObject({ state: "ended", window: null, version: 2 });
  expect((await end(id)).status).toBe(204);
  expect((await get(id)).json).toEqual(json);
  expect(await idsIn("?state=current")).toEqual([other.id]);
  expect(await idsIn("?state=ended")).toEqual([id]);
  expect((await end(UNKNOWN_UUID)).status).toBe(404);
  expect((await end("1")).status).toBe(404);
});

test("the list has pages", async () => {
  const ids = [];
  for (let count = 0; count < 3; count += 1) ids.unshift((await newSilence()).id);
  const { json } = await ask(`${SILENCES}?limit=2`);
  expect((json["silences"] as Silence[]).map(({ id }) => id)).toEqual(ids.slice(0, 2));
  expect(await idsIn(`?limit=2&cursor=${String(json["next"])}`)).toEqual(ids.slice(2));
});

test("each change makes held alerts of the project due, and is in the audit log", async () => {
  const check = await sampleCheck(cast.db, { projectId: cast.owner.project.id });
  await cast.db.pool.query(
    `insert into alerts (check_id, cause, opened_at, opened_flip_id, plan_at, held_by)
     values ($1, 'failed', now(), 1, now(), 'silence')`,
    [check.id],
  );
  const isDue = async () => {
    const { rows } = await cast.db.pool.query<{ due: boolean }>(
      "update alerts a set plan_at = now() from alerts old where a.check_id = $1 and old.id = a.id returning old.plan_at = to_timestamp(0) as due",
      [check.id],
    );
    return rows[0]?.due;
  };
  expect(await isDue()).toBe(false);
  const { id } = await newSilence({ duration: 60, reason: "Audited" });
  expect(await isDue()).toBe(true);
  await change(id, { reason: "Audited, too" });
  expect(await isDue()).toBe(true);
  await end(id);
  expect(await isDue()).toBe(true);
  await end(id);
  expect(await isDue()).toBe(false);
  const { rows } = await cast.db.pool.query(
    "select what, subject, after from audit_entries where project_id = $1 and subject like 'Audited%' order by id",
    [cast.owner.project.id],
  );
  expect(rows).toMatchObject([
    { what: "silence.created", subject: "Audited", after: { uuid: id, scope: "all checks" } },
    { what: "silence.changed", subject: "Audited, too", after: { reason: "Audited, too" } },
    { what: "silence.ended", subject: "Audited, too", after: { endedAt: expect.any(Number) } },
  ]);
});

test("a read-only key lists silences without their authors and the IDs of checks, and changes nothing", async () => {
  const check = await newCheck(cast, { name: "Silenced" });
  const silence = await newSilence({ checks: [check.uuid], duration: 60 });
  await cast.db.pool.query("update silences set account_id = $1", [cast.owner.account.id]);
  expect((await get(silence.id)).json["createdBy"]).toBe(cast.owner.account.email);
  const { json } = await ask(SILENCES, { key: cast.owner.ro });
  expect(json["silences"]).toEqual([
    { ...silence, checks: [{ id: null, name: "Silenced" }], createdBy: null },
  ]);
  expect((await ask(SILENCES, { method: "POST", body: { duration: 60 }, key: cast.owner.ro })).status).toBe(
    403,
  );
});
