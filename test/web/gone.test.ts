// How a check has left its project, as the page is told that still shows it: who did what and when, and whether it can
// be taken back; and what nobody is told.
import { expect, test } from "vitest";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { RemovedCheck } from "../../src/contract/api/overview.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api"] });
const DAY_MS = 86_400_000;

const project = () => `/api/overdue/v1/projects/${at.owner.project.uuid}`;

async function make(name: string): Promise<string> {
  const { json } = await at.browse(`${project()}/checks`, { method: "POST", body: { name } });
  return (json as CheckRow).id;
}

const remove = (id: string, as = at.owner.account) =>
  at.browse(`/api/overdue/v1/checks/${id}`, { method: "DELETE", as });

async function gone(id: string, as = at.owner.account): Promise<RemovedCheck | number> {
  const { status, json } = await at.browse(`${project()}/removed-checks/${id}`, { as });
  return status === 200 ? (json as RemovedCheck) : status;
}

test('the user who deleted it is named, or called "you", and it can be restored for seven days', async () => {
  await at.join(at.mate.account, "member");
  await at.join(at.stranger.account, "readOnly");
  const id = await make("binned");
  expect(await gone(id)).toBe(404);
  await remove(id, at.mate.account);
  const told = (await gone(id)) as RemovedCheck;
  expect(told).toMatchObject({
    how: "deleted",
    by: { kind: "person", email: at.mate.account.email },
    mayRestore: true,
  });
  expect((told.expiresAt ?? 0) - told.at).toBe(7 * DAY_MS);
  expect(await gone(id, at.mate.account)).toMatchObject({ by: { kind: "you" }, mayRestore: true });
  expect(await gone(id, at.stranger.account)).toMatchObject({ expiresAt: told.expiresAt, mayRestore: false });
  await at.browse(`/api/overdue/v1/checks/${id}/restore`, { method: "POST" });
  expect(await gone(id)).toBe(404);
});

test("the last who deleted it is named, and not one of the same name", async () => {
  await at.join(at.mate.account, "member");
  const [id, namesake] = [await make("twin"), await make("twin")];
  await remove(id, at.mate.account);
  await at.browse(`/api/overdue/v1/checks/${id}/restore`, { method: "POST" });
  await remove(id);
  await remove(namesake, at.mate.account);
  expect(await gone(id)).toMatchObject({ by: { kind: "you" } });
  expect(await gone(namesake)).toMatchObject({ by: { kind: "person" } });
});

test("a check deleted by a key, or past its retention period, cannot be restored", async () => {
  const byKey = await make("by a key");
  expect((await at.ask(`/api/v3/checks/${byKey}`, { method: "DELETE", key: at.owner.rw })).status).toBe(200);
  expect(await gone(byKey)).toMatchObject({
    how: "deleted",
    by: { kind: "key" },
    expiresAt: null,
    mayRestore: false,
  });
  const old = await make("old");
  await remove(old);
  await at.db.pool.query("update checks set deleted_at = deleted_at - interval '8 days' where uuid = $1", [
    old,
  ]);
  expect(await gone(old)).toMatchObject({ how: "deleted", expiresAt: null, mayRestore: false });
});

test("a moved check is reported where it was, without its new place", async () => {
  await at.join(at.stranger.account, "member");
  const id = await make("travelling");
  await at.browse(`/api/overdue/v1/checks/${id}/transfer`, {
    method: "POST",
    as: at.stranger.account,
    body: { project: at.stranger.project.uuid },
  });
  const { text } = await at.browse(`${project()}/removed-checks/${id}`);
  expect(JSON.parse(text)).toEqual({
    how: "moved",
    at: expect.any(Number),
    by: { kind: "person", email: at.stranger.account.email },
    expiresAt: null,
    mayRestore: false,
  });
  expect(text).not.toContain(at.stranger.project.uuid);
  // Deleted where it is now, it has still only been moved from here.
  await remove(id, at.stranger.account);
  expect(await gone(id)).toMatchObject({ how: "moved", expiresAt: null });
});

test("the audit log has the name of deleted or moved checks for users, and the ID for programs", async () => {
  const id = await make("recorded");
  await remove(id);
  const { rows } = await at.db.pool.query(
    "select subject, before from audit_entries where what = 'check.deleted' and subject = 'recorded'",
  );
  expect(rows).toEqual([{ subject: "recorded", before: { uuid: id } }]);
});

test("nothing is shown about checks that never existed, or have no such name", async () => {
  expect(await gone(crypto.randomUUID())).toBe(404);
  expect(await gone("no-uuid")).toBe(404);
});
