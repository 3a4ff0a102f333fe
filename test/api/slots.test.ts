// New ids of a project share its slot, whichever way they are created.
import { expect, test } from "vitest";
import { ApiClient } from "../../src/client/client.ts";
import { slotOf } from "../../src/core/identity.ts";
import { addFirstProject } from "../../src/operations/accounts.ts";
import { createKeys } from "../../src/operations/api-keys.ts";
import { createAccessToken } from "../../src/operations/tokens.ts";
import { listProjectsOfAccount } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useCast } from "../management/cast.ts";
import { sampleAccount } from "../support/sample.ts";

const cast = useCast({ roles: ["ping", "api"] });
const SLACK = { kind: "slack", config: { url: "https://hooks.slack.com/services/T0001/B0001/secret" } };

async function clientOfOwner(): Promise<ApiClient> {
  const { account } = cast.owner;
  const given = { account, name: "slots", scope: "admin", expiresInDays: 1 } as const;
  const token = await createAccessToken(cast.db, {
    ...given,
    secretKey: cast.secretKey,
    now: await cast.now(),
  });
  return new ApiClient({ siteUrl: cast.site, token });
}

/** Every stored id of a project that outsiders use; of API keys, the stored beginning. */
async function idsOf(project: string): Promise<{ what: string; id: string }[]> {
  const { rows } = await cast.db.pool.query<{ what: string; id: string }>(
    `with project as (select * from projects where uuid = $1)
     select 'project' as what, uuid::text as id from project
     union all select 'ping key', ping_key from project
     union all select 'badge key', badge_key::text from project
     union all select 'check', c.uuid::text from checks c join project p on p.id = c.project_id
     union all select 'badge', c.badge_uuid::text from checks c join project p on p.id = c.project_id
     union all select 'channel', c.uuid::text from channels c join project p on p.id = c.project_id
     union all select 'key', k.prefix from api_keys k join project p on p.id = k.project_id`,
    [project],
  );
  return rows;
}

test("a project, its keys, checks and channels", async () => {
  const api = await clientOfOwner();
  const { id: project } = await api.call("createProject", { body: { name: "Slots" } });
  const write = await api.call("createKey", { project, body: { kind: "readWrite", name: "w" } });
  const read = await api.call("createKey", { project, body: { kind: "readOnly", name: "r" } });
  const first = await api.call("getProject", { project });
  const { pingKey } = await api.call("createPingKey", { project });
  const { channel } = await api.call("createChannel", { project, body: SLACK });

  const check = await api.call("createCheck", { project, body: { name: "one" } });
  const copy = await api.call("copyCheck", { check: check.id });
  const crontab = { text: "0 3 * * * /usr/local/bin/backup", tz: "UTC", jobs: [{ line: 1 }] };
  await api.call("importCrontab", { project, body: crontab });
  const managed = await cast.ask("/api/v3/checks/", {
    method: "POST",
    key: write.key,
    body: { name: "two" },
  });
  expect(managed.status).toBe(201);
  const pinged = await cast.ask(`/ping/${pingKey}/three?create=1`);
  expect(pinged.status).toBe(201);

  expect(pingKey).not.toBe(first.pingKey);
  const returned = [first.pingKey, pingKey, write.key, read.key, channel.id, check.id, copy.id];
  const slot = slotOf(project);
  expect(returned.map((id) => slotOf(id ?? ""))).toEqual(returned.map(() => slot));
  const stored = await idsOf(project);
  expect(stored.map(({ what }) => what).toSorted()).toEqual([
    ...Array.from({ length: 5 }, () => "badge"),
    "badge key",
    "channel",
    ...Array.from({ length: 5 }, () => "check"),
    "key",
    "key",
    "ping key",
    "project",
  ]);
  expect(stored.filter(({ id }) => slotOf(id) !== slot)).toEqual([]);
});

test("projects and keys from the command line, and the first project of an account", async () => {
  const { project } = cast.owner;
  const now = await cast.now();
  await createKeys(cast.db, {
    projectUuid: project.uuid,
    kinds: ["readWrite", "readOnly"],
    name: "",
    replace: false,
    secretKey: cast.secretKey,
    now,
  });
  const { id: accountId } = await sampleAccount(cast.db);
  await inTransaction(cast.db, (tx) => addFirstProject(tx, { accountId, now }));
  const [first] = await listProjectsOfAccount(cast.db, accountId);
  for (const [uuid, count] of [
    [project.uuid, 7],
    [first?.uuid ?? "", 3],
  ] as const) {
    const ids = await idsOf(uuid);
    expect(ids).toHaveLength(count);
    expect(ids.filter(({ id }) => slotOf(id) !== slotOf(uuid))).toEqual([]);
  }
});

test("a check that is moved to another project keeps its id", async () => {
  const api = await clientOfOwner();
  const { id: from } = await api.call("createProject", { body: { name: "From" } });
  const { id: to } = await api.call("createProject", { body: { name: "To" } });
  const { id: check } = await api.call("createCheck", { project: from, body: { name: "moved" } });
  await api.call("transferCheck", { check, body: { project: to } });
  expect((await idsOf(to)).find(({ what }) => what === "check")?.id).toBe(check);
  expect(slotOf(check)).toBe(slotOf(from));
});

test("a deleted project gets another badge key in the same slot", async () => {
  const api = await clientOfOwner();
  const { id: project } = await api.call("createProject", { body: { name: "Deleted" } });
  const badgeKey = async () => (await idsOf(project)).find(({ what }) => what === "badge key")?.id ?? "";
  const before = await badgeKey();
  await api.call("deleteProject", { project });
  expect(await badgeKey()).not.toBe(before);
  expect(slotOf(await badgeKey())).toBe(slotOf(project));
});
