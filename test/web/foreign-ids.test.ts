// A user with a project names resources of another project: in the path after their own project, and in request bodies.
// They are not found and not changed. The first name in a path is tested by the permission matrix.
import { beforeAll, describe, expect, test } from "vitest";
import type { AccountPage } from "../../src/contract/api/account.ts";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { BulkResult } from "../../src/contract/api/checks.ts";
import type { Silence } from "../../src/contract/api/silences.ts";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { openSession } from "../../src/operations/sessions.ts";
import type { Channel } from "../../src/store/channels.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import type { Player } from "../management/cast.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api", "ping"] });

type Things = {
  check: CheckRow;
  deleted: CheckRow;
  channel: Channel;
  delivery: number;
  flip: number;
  key: number;
  invitation: string;
  session: number;
  silence: string;
};
let theirs: Things;
let mine: Things;

beforeAll(async () => {
  theirs = await thingsOf(at.owner);
  mine = await thingsOf(at.stranger);
});

const asOwner = (path: string, method = "GET", body?: unknown) =>
  at.browse(path, { method, as: at.owner.account, ...(body !== undefined && { body }) });
const asMe = (path: string, method = "GET", body?: unknown) =>
  at.browse(path, { method, as: at.stranger.account, ...(body !== undefined && { body }) });

async function thingsOf({ account, project }: Player): Promise<Things> {
  const path = `/api/overdue/v1/projects/${project.uuid}`;
  const post = async (to: string, body: unknown) => at.browse(to, { method: "POST", as: account, body });
  const make = async (name: string) =>
    (await post(`${path}/checks`, { name, channels: [] })).json as CheckRow;
  const [check, deleted] = [await make("kept"), await make("deleted")];
  await at.browse(`/api/overdue/v1/checks/${deleted.id}`, { method: "DELETE", as: account });
  const player = account.id === at.owner.account.id ? at.owner : at.stranger;
  const channel = await at.channel(player, { name: "hook", kind: "webhook" });
  await at.ask(`/ping/${check.id}/fail`, { method: "POST", body: "output of the job" });
  await post(`/api/overdue/v1/channels/${channel.uuid}/test`, {});
  const silence = (await post(`${path}/silences`, { checks: [check.id], duration: 60 })).json as Silence;
  const idOf = async (text: string, of: number) =>
    Number((await at.db.pool.query<{ id: string }>(text, [of])).rows[0]?.id);
  const { rows } = await at.db.pool.query<{ uuid: string }>(
    `insert into invitations (uuid, digest, project_id, email, role, invited_by, created_at, expires_at)
      values (gen_random_uuid(), sha256($1::text::bytea), $2, $1, 'member', $3, now(), now() + interval '1 day')
      returning uuid`,
    [`invited-${account.id}@example.org`, project.id, account.id],
  );
  const of = { accountId: account.id, method: "password", ua: "another browser", remoteAddr: null } as const;
  const now = await at.now();
  const session = await inTransaction(at.db, (tx) => openSession(tx, { ...of, now }));
  return {
    check,
    deleted,
    channel,
    delivery: await idOf("select max(id) as id from deliveries where channel_id = $1", channel.id),
    flip: await idOf(
      "select max(f.id) as id from flips f join checks c on c.id = f.check_id where c.project_id = $1",
      project.id,
    ),
    key: await idOf("select max(id) as id from api_keys where project_id = $1", project.id),
    invitation: rows[0]?.uuid ?? "",
    session: session.id,
    silence: silence.id,
  };
}

const path = () => `/api/overdue/v1/projects/${at.stranger.project.uuid}`;

type Try = { what: string; method: string; path: (of: Things) => string; body?: unknown };
const IN_PATHS: readonly Try[] = [
  { what: "delivery", method: "GET", path: ({ delivery }) => `${path()}/deliveries/${delivery}` },
  { what: "retry", method: "POST", path: ({ delivery }) => `${path()}/deliveries/${delivery}/retry` },
  { what: "invitation", method: "DELETE", path: ({ invitation }) => `${path()}/invitations/${invitation}` },
  { what: "key", method: "DELETE", path: ({ key }) => `${path()}/keys/${key}` },
  { what: "silence", method: "GET", path: ({ silence }) => `${path()}/silences/${silence}` },
  {
    what: "flip",
    method: "GET",
    path: ({ flip }) => `/api/overdue/v1/checks/${mine.check.id}/explanation?flip=${flip}`,
  },
  {
    what: "deleted check",
    method: "GET",
    path: ({ deleted }) => `${path()}/removed-checks/${deleted.id}`,
  },
  { what: "restore", method: "POST", path: ({ deleted }) => `/api/overdue/v1/checks/${deleted.id}/restore` },
  { what: "session", method: "DELETE", path: ({ session }) => `/web/account/sessions/${session}` },
];

describe("resources of another project, in a path of one's own project,", () => {
  test.each(IN_PATHS)("are not found: $what", async (tried) => {
    const reply = await asMe(tried.path(theirs), tried.method);
    expect(reply.status, reply.text).toBe(404);
  });

  test("are found by their owner", async () => {
    for (const tried of IN_PATHS) {
      const reply = await asMe(tried.path(mine), tried.method);
      expect(reply.status, `${tried.what}: ${reply.text}`).toBe(tried.what === "retry" ? 202 : 200);
    }
  });

  test("members of the other project are not members of this one, and cannot become its owner", async () => {
    const { uuid } = at.mate.account;
    expect((await asMe(`${path()}/members/${uuid}`, "PATCH", { role: "manager" })).status).toBe(404);
    expect((await asMe(`${path()}/members/${uuid}`, "DELETE")).status).toBe(404);
    expect((await asMe(`${path()}/transfer`, "PUT", { account: uuid })).status).toBe(400);
  });

  test("are not in lists", async () => {
    expect(
      (await asMe(`${path()}/checks/details?ids=${theirs.check.id},${mine.check.id}`)).json,
    ).toMatchObject({
      checks: [{ id: mine.check.id }],
    });
    const key = uniqueKey(theirs.check.id, sha1Hex);
    expect((await asMe(`/cloaked/${key}/`)).status).toBe(404);
    for (const list of [
      "checks",
      "deleted-checks",
      "events",
      "channels",
      "silences",
      "badges",
      "audit",
      "changes?cursor=0",
    ]) {
      const { status, text } = await asMe(`${path()}/${list}`);
      expect(status, list).toBe(200);
      for (const id of [theirs.check.id, theirs.deleted.id, theirs.channel.uuid]) {
        expect(text, list).not.toContain(id);
      }
    }
  });
});

describe("resources of another project, in a request body,", () => {
  const bulk = (body: object) => asMe(`${path()}/checks/bulk`, "POST", body);

  test("fail one by one in bulk changes", async () => {
    const ids = [theirs.check.id, theirs.deleted.id, mine.check.id];
    for (const given of [
      { action: "pause" },
      { action: "resume" },
      { action: "addTag", tag: "taken" },
      { action: "removeTag", tag: "taken" },
      { action: "delete" },
      { action: "restore" },
    ]) {
      const answer = (await bulk({ ids, ...given })).json as BulkResult;
      expect(answer.done, given.action).toEqual([mine.check.id]);
      expect(answer.failed.map(({ id }) => id).toSorted(), given.action).toEqual(
        [theirs.check.id, theirs.deleted.id].toSorted(),
      );
    }
    const timing = { kind: "simple", timeoutSeconds: 60, graceSeconds: 60, schedule: "", tz: "UTC" };
    const set = (await asMe(`${path()}/checks/schedules`, "POST", { groups: [{ ids, timing }] }))
      .json as BulkResult;
    expect([set.done, set.failed.length]).toEqual([[mine.check.id], 2]);
    const page = (await asOwner(`/api/overdue/v1/checks/${theirs.check.id}`)).json as { row: CheckRow };
    expect(page.row).toMatchObject({ name: "kept", tags: [], state: "down", expected: "every day" });
    expect((await asOwner(`/api/overdue/v1/checks/${theirs.deleted.id}`)).status).toBe(404);
  });

  test("are not accepted as the target of a move or as recipients", async () => {
    const { uuid: project } = at.owner.project;
    const { uuid: channel } = theirs.channel;
    const ids = [mine.check.id];
    const own = `/api/overdue/v1/checks/${mine.check.id}`;
    const statuses = {
      move: (await asMe(`${own}/transfer`, "POST", { project })).status,
      moveMany: (await bulk({ ids, action: "move", project })).status,
      addChannel: (await bulk({ ids, action: "addChannel", channel })).status,
      setChannels: (await asMe(own, "PATCH", { channels: [channel] })).status,
      createWithChannel: (await asMe(`${path()}/checks`, "POST", { name: "x", channels: [channel] })).status,
      group: (
        await asMe(`${path()}/channels`, "POST", {
          kind: "group",
          name: "g",
          config: { channels: [channel] },
        })
      ).status,
      channelForCheck: (
        await asMe(`${path()}/channels`, "POST", {
          kind: "webhook",
          name: "h",
          config: { url_down: "https://example.org/" },
          checks: [theirs.check.id],
        })
      ).status,
      silence: (await asMe(`${path()}/silences`, "POST", { checks: [theirs.check.id], duration: 60 })).status,
    };
    expect(statuses).toEqual({
      move: 404,
      moveMany: 404,
      addChannel: 400,
      setChannels: 400,
      createWithChannel: 400,
      group: 400,
      channelForCheck: 400,
      silence: 400,
    });
    const { rows } = await at.db.pool.query(
      "select from check_channels l join checks c on c.id = l.check_id where c.uuid = any ($1::uuid[])",
      [[theirs.check.id, mine.check.id]],
    );
    expect(rows).toEqual([]);
  });

  test("cannot be moved by a read-only member or restored by a former member", async () => {
    await at.join(at.stranger.account, "member");
    const removed = await asMe(`/api/overdue/v1/checks/${theirs.check.id}`, "DELETE");
    expect(removed.status).toBe(200);
    await at.join(at.stranger.account, "readOnly");
    const there = `/api/overdue/v1/projects/${at.owner.project.uuid}`;
    const ids = [theirs.check.id];
    const undo = { ids, action: "restore" };
    expect((await asMe(`/api/overdue/v1/checks/${theirs.check.id}/restore`, "POST")).status).toBe(403);
    expect((await asMe(`${there}/checks/bulk`, "POST", undo)).status).toBe(403);
    expect(((await bulk(undo)).json as BulkResult).done).toEqual([]);
    expect((await asOwner(`${there}/checks/bulk`, "POST", undo)).status).toBe(200);
    const project = at.stranger.project.uuid;
    expect(
      (await asMe(`/api/overdue/v1/checks/${theirs.check.id}/transfer`, "POST", { project })).status,
    ).toBe(403);
    expect((await asMe(`${there}/checks/bulk`, "POST", { ids, action: "move", project })).status).toBe(403);
    const into = { project: at.owner.project.uuid };
    expect((await asMe(`/api/overdue/v1/checks/${mine.check.id}/transfer`, "POST", into)).status).toBe(403);
    await at.db.pool.query("delete from members where project_id = $1 and account_id = $2", [
      at.owner.project.id,
      at.stranger.account.id,
    ]);
    expect((await asMe(`${there}/checks/bulk`, "POST", undo)).status).toBe(404);
    const page = (await asMe("/web/account")).json as AccountPage;
    expect(page.projects.map(({ id }) => id)).not.toContain(at.owner.project.uuid);
  });
});
