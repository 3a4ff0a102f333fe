// Channels by the Overdue API: created, read, changed, and deleted, with the conditions and repetitions that clients use.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Channel } from "../../src/contract/api/channels.ts";
import { IDEMPOTENCY_KEYS_MAX } from "../../src/core/limits.ts";
import { newCheck, readCheck, statusesOf } from "../management/asking.ts";
import { type Asked, UNKNOWN_UUID, useCast } from "../management/cast.ts";
import { type ApiReply, askApi, newChannel, SLACK } from "./asking.ts";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const ask = (path: string, given: Asked = {}) => askApi(cast, path, { key: cast.owner.rw, ...given });
const CHANNELS = "/projects/{project}/channels";
const create = (body: object, headers: Record<string, string> = {}) =>
  ask(CHANNELS, { method: "POST", body, headers });
const change = (id: string, body: object, headers: Record<string, string> = {}) =>
  ask(`/channels/${id}`, { method: "PATCH", body, headers });
const remove = (id: string, headers: Record<string, string> = {}) =>
  ask(`/channels/${id}`, { method: "DELETE", headers });

/** The channel in the response to its creation. */
function channelIn({ json }: ApiReply): Channel {
  return json["channel"] as Channel;
}

async function emptyProject(): Promise<void> {
  await cast.db.pool.query("delete from channels where project_id = $1", [cast.owner.project.id]);
}

function insertChannels(count: number): Promise<unknown> {
  return cast.db.pool.query(
    `insert into channels (uuid, project_id, kind, name, config, created_at)
     select gen_random_uuid(), $1, 'slack', '', '{}', now() from generate_series(1, $2)`,
    [cast.owner.project.id, count],
  );
}

describe("making", () => {
  test("a channel is there afterwards, under its Location, without its secret", async () => {
    const reply = await create({ ...SLACK, name: "Dežūra 😀" });
    expect(reply.json).toMatchObject({
      channel: {
        kind: "slack",
        name: "Dežūra 😀",
        config: { url: "https://hooks.slack.com/********" },
        isEnabled: true,
        disabledReason: null,
        isVerified: null,
        notifies: true,
        version: 1,
      },
      generated: {},
    });
    const channel = channelIn(reply);
    expect(Math.abs(channel.createdAt - (await cast.now()))).toBeLessThan(60_000);
    const again = await ask(`/channels/${channel.id}`);
    expect(again.json).toEqual(channel);
    expect(again.headers.get("etag")).toBe('"1"');
    expect(reply.headers.get("location")).toBe(`${cast.site}/api/overdue/v1/channels/${channel.id}`);
    const compatible = await cast.ask("/api/v3/channels/", { key: cast.owner.rw });
    expect(compatible.json).toMatchObject({
      channels: expect.arrayContaining([{ id: channel.id, name: "Dežūra 😀", kind: "slack" }]),
    });
  });

  test("a generated secret is returned once", async () => {
    const { id, generated } = await newChannel(cast, {
      kind: "webhook",
      config: { url_down: "https://example.org/hook" },
    });
    expect(generated["secret"]).toMatch(/^whsec_/);
    const { json, text } = await ask(`/channels/${id}`);
    expect(json["config"]).toMatchObject({ secret: "********", url_down: "https://example.org/********" });
    expect(text).not.toContain(generated["secret"]);
  });

  test("an address that will be refused is saved with a warning", async () => {
    const { warnings, id } = await newChannel(cast, { ...SLACK, config: { url: "http://localhost:8065/x" } });
    expect(warnings).toEqual([
      { field: "url", text: expect.stringContaining("OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS=true") },
    ]);
    expect((await change(id, SLACK)).json).toMatchObject({ warnings: [] });
  });

  test("it is used for all checks, unless some are named", async () => {
    const one = await newCheck(cast, { name: "one" });
    const two = await newCheck(cast, { name: "two" });
    const all = await newChannel(cast);
    const some = await newChannel(cast, { ...SLACK, checks: [two.uuid] });
    const none = await newChannel(cast, { ...SLACK, checks: [] });
    expect(String((await readCheck(cast, one.uuid))["channels"])).toContain(all.id);
    expect([some.checkCount, none.checkCount]).toEqual([1, 0]);
    const { json } = await ask(`/channels/${some.id}/checks`);
    expect(json).toEqual({ checks: [{ id: two.uuid, name: "two" }], next: null });
  });

  test.each([
    [{}, "The type is missing"],
    [{ kind: "slak", config: {} }, 'Unknown channel kind "slak". Did you mean slack?'],
    [{ kind: 7 }, "The type must be text"],
    [{ ...SLACK, colour: 1 }, "colour is not allowed"],
    [{ ...SLACK, name: "x".repeat(101) }, "The name must have at most 100 characters"],
    [{ ...SLACK, name: "a\u0000b" }, "The name contains a character that can't be stored"],
    [{ ...SLACK, config: [] }, "config must be an object"],
    [{ ...SLACK, config: { url: 7 } }, "url must be a string."],
    [{ ...SLACK, config: { ...SLACK.config, urll: "x" } }, 'Slack has no field "urll". Did you mean url?'],
    [{ ...SLACK, config: { url: "https://x.org/********" } }, "contains the mask"],
    [{ ...SLACK, isEnabled: "yes" }, "isEnabled must be true or false"],
    [{ ...SLACK, checks: "all" }, "checks "],
    [{ ...SLACK, checks: ["x"] }, "checks "],
    [{ ...SLACK, checks: [UNKNOWN_UUID] }, `the project has no check ${UNKNOWN_UUID}`],
    [{ ...SLACK, checks: Array.from({ length: 1_001 }, () => UNKNOWN_UUID) }, "checks "],
  ])("what cannot be is refused with a sentence: %j", async (body, detail) => {
    const reply = await create(body);
    expect([reply.status, reply.detail]).toEqual([400, expect.stringContaining(detail)]);
  });

  test("a check of another project cannot be named", async () => {
    const { json } = await cast.ask("/api/v3/checks/", { method: "POST", key: cast.stranger.rw, body: {} });
    const { uuid } = json as { uuid: string };
    expect((await create({ ...SLACK, checks: [uuid] })).status).toBe(400);
  });

  test("a project has so many channels and no more", async () => {
    await emptyProject();
    await insertChannels(99);
    const replies = await Promise.all([create(SLACK), create(SLACK), create(SLACK)]);
    expect(statusesOf(replies)).toEqual([201, 403, 403]);
    await emptyProject();
  });

  test("a project with more channels than the limit keeps and changes them, and adds none", async () => {
    await emptyProject();
    const { id } = await newChannel(cast, SLACK);
    await insertChannels(149);
    const { uuid } = await newCheck(cast, { channels: "*" });
    expect(String((await readCheck(cast, uuid))["channels"]).split(",")).toHaveLength(150);
    expect((await change(id, { name: "renamed", checks: [uuid] })).status).toBe(200);
    expect((await create(SLACK)).status).toBe(403);
    expect((await remove(id)).status).toBe(204);
    await emptyProject();
  });
});

describe("a repeated request", () => {
  test("makes one channel, also when they come at once", async () => {
    await emptyProject();
    const headers = { "Idempotency-Key": randomUUID() };
    const body = { kind: "webhook", config: { url_down: "https://example.org/hook" } };
    const replies = await Promise.all([1, 2, 3, 4].map(() => create(body, headers)));
    const ids = new Set(replies.map((reply) => channelIn(reply).id));
    expect([replies.map(({ status }) => status), ids.size]).toEqual([[201, 201, 201, 201], 1]);
    const secrets = replies.flatMap(({ json }) => Object.keys(json["generated"] as object));
    expect(secrets).toEqual(["secret"]);
    expect((await ask(CHANNELS)).json["channels"]).toHaveLength(1);
  });

  test("under the same name must be the same, and another name makes another channel", async () => {
    const headers = { "Idempotency-Key": randomUUID() };
    const first = await create(SLACK, headers);
    expect((await create({ ...SLACK, name: "other" }, headers)).status).toBe(422);
    const other = await create(SLACK, { "Idempotency-Key": randomUUID() });
    expect(channelIn(other).id).not.toBe(channelIn(first).id);
    const stranger = await askApi(cast, `/projects/${cast.stranger.project.uuid}/channels`, {
      method: "POST",
      key: cast.stranger.rw,
      body: SLACK,
      headers,
    });
    expect(channelIn(stranger).id).not.toBe(channelIn(first).id);
  });

  test("says so when what it made is gone, and is a new one after a day", async () => {
    const headers = { "Idempotency-Key": randomUUID() };
    const first = await create(SLACK, headers);
    await remove(channelIn(first).id);
    expect((await create(SLACK, headers)).status).toBe(409);
    await cast.db.pool.query("update idempotency_keys set created_at = created_at - interval '1 day'");
    expect((await create(SLACK, headers)).status).toBe(201);
  });

  test("that was refused may be made good under the same name", async () => {
    const headers = { "Idempotency-Key": randomUUID() };
    expect((await create({ ...SLACK, config: {} }, headers)).status).toBe(400);
    expect((await create(SLACK, headers)).status).toBe(201);
  });

  test("needs a name that can be one", async () => {
    for (const key of ["a b", "x".repeat(256)]) {
      expect((await create(SLACK, { "Idempotency-Key": key })).status).toBe(400);
    }
  });

  test("is remembered for so many of a project", async () => {
    await cast.db.pool.query(
      `insert into idempotency_keys (project_id, key_digest, request_digest, channel_uuid, created_at)
       select $1, sha256(n::text::bytea), sha256(''), gen_random_uuid(), now() from generate_series(1, $2) as n`,
      [cast.owner.project.id, IDEMPOTENCY_KEYS_MAX + 5],
    );
    await create(SLACK, { "Idempotency-Key": randomUUID() });
    const { rows } = await cast.db.pool.query<{ count: number }>(
      "select count(*)::int as count from idempotency_keys where project_id = $1",
      [cast.owner.project.id],
    );
    expect(rows[0]?.count).toBe(IDEMPOTENCY_KEYS_MAX);
  });
});

describe("lists", () => {
  test("come in pages, whole and in order", async () => {
    await emptyProject();
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) made.push((await newChannel(cast, { ...SLACK, name: `${n}` })).id);
    const seen: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const query = cursor === null ? "?limit=2" : `?limit=2&cursor=${cursor}`;
      const { json }: ApiReply = await ask(`${CHANNELS}${query}`);
      seen.push(...(json["channels"] as Channel[]).map(({ id }) => id));
      cursor = json["next"] as string | null;
      pages += 1;
    } while (cursor !== null);
    expect([seen, pages]).toEqual([made, 3]);
  });

  test.each([
    "limit=0",
    "limit=101",
    "limit=x",
    "limit=1e1",
    "cursor=",
    "cursor=x",
    "cursor=-1",
    "cursor=1234567890123456",
  ])("a page that cannot be is refused: %s", async (query) => {
    expect((await ask(`${CHANNELS}?${query}`)).status).toBe(400);
  });
});

describe("changing", () => {
  test("changes the given fields, keeps a secret that is not given, and increases the revision", async () => {
    const { id } = await newChannel(cast, {
      kind: "ntfy",
      config: { topic: "secret-topic-1", token: "tk_12345678", priority: 5 },
    });
    const reply = await change(id, { name: "Phones", config: { priority: 4 } });
    expect(reply.json).toMatchObject({
      name: "Phones",
      version: 2,
      config: { topic: "********", priority: 4 },
    });
    expect(reply.headers.get("etag")).toBe('"2"');
    const { rows } = await cast.db.pool.query("select config from channels where uuid = $1", [id]);
    expect(rows[0]).toMatchObject({ config: { topic: "secret-topic-1", token: "tk_12345678", priority: 4 } });
    expect((await change(id, {})).json).toMatchObject({ version: 2 });
  });

  test("an update with an older revision is rejected, and nothing is changed", async () => {
    const { id } = await newChannel(cast);
    expect((await change(id, { name: "first" }, { "If-Match": '"1"' })).status).toBe(200);
    expect((await change(id, { name: "second" }, { "If-Match": '"1"' })).status).toBe(412);
    expect((await change(id, { name: "second" }, { "If-Match": "garbage" })).status).toBe(412);
    expect((await remove(id, { "If-Match": '"1"' })).status).toBe(412);
    expect((await ask(`/channels/${id}`)).json).toMatchObject({ name: "first", version: 2 });
    expect((await change(id, { name: "third" }, { "If-Match": '"7", "2"' })).status).toBe(200);
    expect((await change(id, { name: "fourth" }, { "If-Match": "*" })).status).toBe(200);
    const both = await Promise.all([1, 2].map((n) => change(id, { name: `${n}` }, { "If-Match": '"4"' })));
    expect(statusesOf(both)).toEqual([200, 412]);
  });

  test("an owner switches off and on; a new configuration does not switch on what the owner has switched off", async () => {
    const { id } = await newChannel(cast);
    expect((await change(id, { isEnabled: false })).json).toMatchObject({
      isEnabled: false,
      disabledReason: "Disabled by its owner",
    });
    expect((await change(id, { config: SLACK.config })).json).toMatchObject({ isEnabled: false });
    expect((await change(id, { isEnabled: true })).json).toMatchObject({ isEnabled: true, disabledAt: null });
    await cast.db.pool.query(
      "update channels set disabled_at = now(), disabled_reason = 'gone' where uuid = $1",
      [id],
    );
    expect((await change(id, { name: "renamed" })).json).toMatchObject({ isEnabled: false });
    expect((await change(id, { config: SLACK.config })).json).toMatchObject({ isEnabled: true });
    expect((await newChannel(cast, { ...SLACK, isEnabled: false })).isEnabled).toBe(false);
  });

  test("the checks are replaced as a whole", async () => {
    const check = await newCheck(cast, { name: "heard" });
    const { id } = await newChannel(cast);
    expect((await change(id, { checks: [check.uuid] })).json).toMatchObject({ checkCount: 1 });
    expect((await change(id, { checks: [] })).json).toMatchObject({ checkCount: 0 });
    expect(Number((await change(id, { checks: "*" })).json["checkCount"])).toBeGreaterThan(1);
  });

  test("a kind stays, and what the kind refuses is refused", async () => {
    const { id } = await newChannel(cast);
    expect((await change(id, { kind: "email" })).detail).toBe("kind cannot be changed.");
    expect((await change(id, { kind: "slack", name: "same" })).status).toBe(200);
    expect((await change(id, { config: { url: "" } })).status).toBe(400);
  });
});

describe("groups", () => {
  test("hold channels of the same project, and no groups", async () => {
    const member = await newChannel(cast);
    const foreign = await cast.channel(cast.stranger, { name: "theirs", kind: "slack" });
    const group = await newChannel(cast, { kind: "group", config: { members: [member.id] } });
    const bad = [
      [foreign.uuid, `the project has no channel ${foreign.uuid}.`],
      [UNKNOWN_UUID, `the project has no channel ${UNKNOWN_UUID}.`],
      [group.id, `${group.id} is a group. Groups cannot contain other groups.`],
    ];
    for (const [uuid, detail] of bad) {
      const body = { kind: "group", config: { members: [member.id, uuid] } };
      expect((await create(body)).detail).toBe(`members: ${detail}`);
      expect((await change(group.id, { config: body.config })).detail).toBe(`members: ${detail}`);
    }
  });

  test("lose a channel that is deleted, but not the last one", async () => {
    const [one, two] = [await newChannel(cast), await newChannel(cast)];
    const group = await newChannel(cast, {
      kind: "group",
      name: "All",
      config: { members: [one.id, two.id] },
    });
    expect((await remove(one.id)).status).toBe(204);
    expect((await ask(`/channels/${group.id}`)).json).toMatchObject({
      config: { members: [two.id] },
      version: 2,
    });
    const refused = await remove(two.id);
    expect([refused.status, refused.detail]).toEqual([
      409,
      'This channel is the only member of the group "All". Change or delete the group first.',
    ]);
    await remove(group.id);
    expect((await remove(two.id)).status).toBe(204);
  });
});

describe("email", () => {
  test("an address of a non-member is asked for confirmation in the same transaction, a member's is not", async () => {
    const asked = await newChannel(cast, { kind: "email", config: { value: "new@example.net" } });
    const own = await newChannel(cast, { kind: "email", config: { value: cast.owner.account.email } });
    expect([asked.isVerified, own.isVerified]).toEqual([false, true]);
    const letters = async () => {
      const { rows } = await cast.db.pool.query<{ address: string }>(
        `select l.about ->> 'address' as address from letters l join channels ch on ch.id = l.channel_id
         where ch.uuid = $1 order by l.id`,
        [asked.id],
      );
      return rows.map(({ address }) => address);
    };
    expect(await letters()).toEqual(["new@example.net"]);
    await change(asked.id, { config: { up: false } });
    expect(await letters()).toEqual(["new@example.net"]);
    expect((await change(asked.id, { config: { value: "other@example.net" } })).json).toMatchObject({
      isVerified: false,
    });
    expect(await letters()).toEqual(["new@example.net", "other@example.net"]);
  });
});

describe("deleting", () => {
  test("hides the channel, its assignments and its log", async () => {
    const { id } = await newChannel(cast);
    const planned = await ask(`/channels/${id}/test`, { method: "POST" });
    const [delivery] = planned.json["deliveries"] as { id: number }[];
    expect((await remove(id)).status).toBe(204);
    for (const path of [
      `/channels/${id}`,
      `/channels/${id}/deliveries`,
      `/projects/{project}/deliveries/${delivery?.id}`,
    ]) {
      expect((await ask(path)).status, path).toBe(404);
    }
    expect((await remove(id)).status).toBe(404);
    const { rows } = await cast.db.pool.query("select state from deliveries where id = $1", [delivery?.id]);
    expect(rows).toHaveLength(1);
  });
});

test("every change is in the audit log of the project, without a secret", async () => {
  const { id } = await newChannel(cast, { kind: "ntfy", name: "Rec", config: { topic: "planted-topic-77" } });
  await change(id, { config: { topic: "planted-topic-78" }, name: "Recorded" });
  await change(id, { isEnabled: false });
  await ask(`/channels/${id}/test`, { method: "POST" });
  await remove(id);
  const { rows } = await cast.db.pool.query<{ what: string }>(
    "select * from audit_entries where project_id = $1 order by id desc limit 5",
    [cast.owner.project.id],
  );
  expect(rows.map(({ what }) => what).toReversed()).toEqual([
    "channel.created",
    "channel.changed",
    "channel.disabled",
    "channel.tested",
    "channel.deleted",
  ]);
  expect(JSON.stringify(rows)).not.toContain("planted-topic");
  expect(JSON.stringify(rows)).toContain('"changed":["topic"]');
});

test("kinds are described with the schema of their configuration", async () => {
  const { json } = await ask("/channel-kinds");
  const kinds = json["kinds"] as { name: string; schema: { properties: object } }[];
  expect(kinds.map(({ name }) => name)).toContain("webhook");
  for (const { schema } of kinds) expect(Object.keys(schema.properties).length).toBeGreaterThan(0);
});

describe("addresses and methods", () => {
  test.each([
    "/",
    "",
    "/x",
    "/channels/x",
    `/channels/${UNKNOWN_UUID.toUpperCase()}x`,
    "/projects/{project}/deliveries/0",
    "/projects/{project}/deliveries/x",
    "/projects/{project}/deliveries/1e9",
  ])("nothing is at %s", async (path) => {
    expect((await ask(path)).status).toBe(404);
  });

  test("a final slash does not matter, HEAD is GET without a body, and OPTIONS needs no key", async () => {
    expect((await ask(`${CHANNELS}/`)).status).toBe(200);
    const path = `/api/overdue/v1/projects/${cast.owner.project.uuid}/channels`;
    const head = await cast.ask(path, { method: "HEAD", key: cast.owner.rw });
    expect([head.status, head.text]).toEqual([200, ""]);
    const options = await cast.ask(path, { method: "OPTIONS" });
    expect([options.status, options.headers.get("access-control-allow-methods")]).toEqual([
      204,
      "GET, HEAD, OPTIONS, POST",
    ]);
    const put = await ask(CHANNELS, { method: "PUT" });
    expect([put.status, put.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS, POST"]);
  });
});

test("the fields of a channel have limits, and an error does not repeat megabytes", async () => {
  const long = "x".repeat(1_000_000);
  const make = async (body: object) =>
    askApi(cast, CHANNELS, { method: "POST", key: cast.owner.rw, body: { ...SLACK, ...body } });
  expect(await make({ kind: long })).toMatchObject({
    status: 400,
    detail: "The type must have at most 40 characters.",
  });
  expect(await make({ name: long })).toMatchObject({
    status: 400,
    detail: "The name must have at most 100 characters.",
  });
  for (const reply of [await make({ [long]: 1 }), await make({ config: { [long]: 1 } })]) {
    expect(reply.status).toBe(400);
    expect(reply.detail.length).toBeLessThan(1_000);
  }
  const headers = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`x-${index}`, "y".repeat(990)]),
  );
  const config = {
    url_down: "https://example.org/",
    headers_down: headers,
    headers_up: headers,
    body_down: "z".repeat(10_000),
  };
  expect(await make({ kind: "webhook", config })).toMatchObject({
    status: 400,
    detail: "The configuration can have at most 65536 characters.",
  });
});

test("a page of channels with long configurations ends early, and the next one continues", async () => {
  await emptyProject();
  const config = {
    url_down: "https://example.org/",
    body_down: "x".repeat(10_000),
    body_up: "y".repeat(10_000),
  };
  const count = 60;
  for (let index = 0; index < count; index++) await newChannel(cast, { kind: "webhook", config });
  const ids = new Set<unknown>();
  let pages = 0;
  for (let cursor: string | null = ""; cursor !== null; pages += 1) {
    const reply: ApiReply = await ask(`${CHANNELS}?limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`);
    expect(reply.bytes.length).toBeLessThan(1_200_000);
    for (const { id } of reply.json["channels"] as { id: string }[]) ids.add(id);
    cursor = reply.json["next"] as string | null;
  }
  expect([ids.size, pages]).toEqual([count, 2]);
});

test("a read-only key sees id, kind and name of a channel, and nothing else of it", async () => {
  await emptyProject();
  const config = { value: "secret-recipient@example.org" };
  const { id } = await newChannel(cast, { kind: "email", name: "Ops", config });
  const seen = { id, kind: "email", name: "Ops" };
  const one = await askApi(cast, `/channels/${id}`, { key: cast.owner.ro });
  const list = await askApi(cast, CHANNELS, { key: cast.owner.ro });
  expect([one.json, list.json]).toEqual([seen, { channels: [seen], next: null }]);
  for (const path of ["/checks", "/deliveries"]) {
    const refused = await askApi(cast, `/channels/${id}${path}`, { key: cast.owner.ro });
    expect([refused.status, refused.detail]).toEqual([403, "A read-write API key is required."]);
  }
});

test("whoever changes the server of a channel has to know its token", async () => {
  const config = { url: "https://gotify.example.org", token: "AbCdEfGhIjK" };
  const { id } = channelIn(await create({ kind: "gotify", config }));
  const reply = await change(id, { config: { url: "https://evil.example.net" } });
  expect([reply.status, reply.detail]).toEqual([400, "token must be entered again because url has changed."]);
  expect((await change(id, { config: { priority: 9 } })).status).toBe(200);
});
