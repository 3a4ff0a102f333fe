// The dashboard's checks over HTTP: lists, rows, details, and everything that can be done to one check or to many.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { planAlerts } from "../../src/operations/plan-alerts.ts";
import type { CreatedChannel } from "../../src/contract/api/channels.ts";
import type { CheckList, DeletedCheck, Overview, ProjectList } from "../../src/contract/api/overview.ts";
import type { CheckRow, RowDetail } from "../../src/contract/api/check-row.ts";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { BulkResult } from "../../src/contract/api/checks.ts";
import { useDashboard } from "./dashboard.ts";
import { checkPath, ownerChecks } from "./owner-checks.ts";

const at = useDashboard({ roles: ["web", "api", "ping"] });

const { project, post, make, rowOf } = ownerChecks(at);

async function detailOf({ id }: CheckRow): Promise<RowDetail | undefined> {
  const { json } = await at.browse(`${project()}/checks/details?ids=${id}`);
  return (json as { checks: RowDetail[] }).checks[0];
}

async function deletedChecks(): Promise<DeletedCheck[]> {
  return ((await at.browse(`${project()}/deleted-checks`)).json as { checks: DeletedCheck[] }).checks;
}

describe("making and changing a check", () => {
  test("a new check has all channels and a slug derived from its name, and is returned as a row", async () => {
    await at.channel(at.owner, { name: "on call", kind: "webhook" });
    const row = await make({
      name: "Nightly backup",
      tags: " db   prod ",
      kind: "cron",
      schedule: "0 3 * * *",
      tz: "Europe/Riga",
      graceSeconds: 1200,
    });
    expect(row).toMatchObject({
      name: "Nightly backup",
      slug: "nightly-backup",
      tags: ["db", "prod"],
      state: "new",
      expected: "at 03:00 every day, Riga",
      fuse: null,
      channelCount: 1,
      downSince: null,
    });
    const detail = await detailOf(row);
    expect(detail?.channels).toEqual([{ kind: "webhook", name: "on call", isEnabled: true }]);
  });

  test("its slug URL contains the ping key, and is shown only to roles that may see it", async () => {
    const row = await make({ name: "Known by its slug" });
    const slugUrl = async (as: typeof at.mate.account) =>
      ((await at.browse(checkPath(row), { as })).json as CheckPage).pingAddresses.slugUrl;
    expect(await slugUrl(at.owner.account)).toMatch(
      new RegExp(`/ping/${at.owner.pingKey}/known-by-its-slug$`),
    );
    await at.join(at.mate.account, "readOnly");
    expect(await slugUrl(at.mate.account)).toBeNull();
    // Two of the same slug have none that leads to one of them.
    await make({ name: "Known by its slug" });
    expect(await slugUrl(at.owner.account)).toBeNull();
  });

  test("a change applies the given fields; the version grows", async () => {
    const row = await make({ name: "one", timeoutSeconds: 300 });
    const { status, json } = await at.browse(checkPath(row), {
      method: "PATCH",
      body: { name: "two", channels: [] },
    });
    const changed = json as CheckRow;
    expect(status).toBe(200);
    expect(changed).toMatchObject({ name: "two", slug: "one", expected: "every 5 minutes", channelCount: 0 });
    expect(changed.readingOrder).toBeGreaterThan(row.readingOrder);
  });

  test.each([
    [{ graceSeconds: 1 }, "graceSeconds", "The grace period must be at least 1 minute."],
    [{ name: 5 }, "name", "The name must be text."],
    [{ schedule: "0 3 * *" }, "schedule", "Invalid schedule: expected 5 fields, got 4."],
    [
      { kind: "cron", schedule: "daily" },
      "schedule",
      "This is an OnCalendar expression. Choose that schedule type.",
    ],
    [{ tz: "Mars/Base" }, "tz", "Unknown time zone: Mars/Base."],
    [{ unknown: 1 }, "unknown", "unknown is not allowed."],
    [{ slug: "With Space" }, "slug", "The slug contains characters that are not allowed."],
    [{ name: "a\u0000b" }, "name", "The name contains a character that can't be stored."],
  ])("%j is refused with a sentence that names the field", async (body, field, error) => {
    const { status, json } = await post(`${project()}/checks`, body);
    expect({ status, json }).toMatchObject({ status: 400, json: { detail: error, field } });
  });

  test("pause, resume, ping now and clear do what they say", async () => {
    const row = await make({ name: "verbs", timeoutSeconds: 3600 });
    expect((await post(`${checkPath(row)}/pause`)).json).toMatchObject({ state: "paused", fuse: null });
    expect((await post(`${checkPath(row)}/resume`)).json).toMatchObject({ state: "new" });
    const again = await post(`${checkPath(row)}/resume`);
    expect({ status: again.status, json: again.json }).toMatchObject({
      status: 409,
      json: { detail: "The check is not paused." },
    });
    const pinged = (await post(`${checkPath(row)}/ping`)).json as CheckRow;
    expect(pinged.state).toBe("up");
    expect(pinged.fuse).toEqual({
      fromAt: pinged.lastPingAt,
      lateAt: (pinged.lastPingAt ?? 0) + 3_600_000,
      alertAt: (pinged.lastPingAt ?? 0) + 7_200_000,
    });
    const cleared = (await post(`${checkPath(row)}/clear`)).json as CheckRow;
    expect(cleared).toMatchObject({ state: "new", lastPingAt: null, fuse: null });
    expect(await detailOf(row)).toMatchObject({ id: row.id, recentRuns: "", durationsMs: [], p95Ms: null });
  });

  test("a copy has the settings and the channels of the first", async () => {
    const row = await make({ name: "first", tags: "a b", timeoutSeconds: 120, desc: "why" });
    const { status, json } = await post(`${checkPath(row)}/copy`);
    expect(status).toBe(201);
    expect(json).toMatchObject({
      name: "first (copy)",
      slug: "first-copy",
      tags: ["a", "b"],
      channelCount: row.channelCount,
    });
  });

  test("a failure makes the row down, with the exit status", async () => {
    const row = await make({ name: "failing" });
    await at.ask(`/ping/${row.id}/3`);
    const down = await rowOf(row.id);
    expect(down).toMatchObject({ state: "down", downReason: "fail", exitStatus: 3, fuse: null });
    expect(down?.downSince).toBe(down?.lastPingAt);
  });

  test("every change is in the audit log", async () => {
    const row = await make({ name: "recorded" });
    await at.browse(checkPath(row), { method: "PATCH", body: { graceSeconds: 120 } });
    await post(`${checkPath(row)}/pause`);
    const { rows } = await at.db.pool.query(
      "select what, account_id, before, after from audit_entries where subject = 'recorded' order by id",
    );
    expect(rows).toMatchObject([
      { what: "check.created", account_id: at.owner.account.id },
      { what: "check.changed", before: { graceSeconds: 3600 }, after: { graceSeconds: 120 } },
      { what: "check.paused" },
    ]);
  });
});

describe("deleting a check", () => {
  test("it is hidden immediately, its URL answers 404, and it can be restored", async () => {
    const row = await make({ name: "binned", timeoutSeconds: 60 });
    await post(`${checkPath(row)}/ping`);
    const { status, json } = await at.browse(checkPath(row), { method: "DELETE" });
    expect(status).toBe(200);
    expect(json).toMatchObject({ id: row.id });
    expect(await rowOf(row.id)).toBeUndefined();
    expect((await at.ask(`/ping/${row.id}`)).status).toBe(404);
    const found = (await deletedChecks()).find(({ id }) => id === row.id);
    expect((found?.expiresAt ?? 0) - (found?.deletedAt ?? 0)).toBe(7 * 86_400_000);
    const back = await post(`${checkPath(row)}/restore`);
    expect(back.json).toMatchObject({ id: row.id, name: "binned", state: "up" });
    expect((await at.ask(`/ping/${row.id}`)).status).toBe(200);
    expect((await post(`${checkPath(row)}/restore`)).status).toBe(404);
  });

  test("one whose retention period is over cannot be restored", async () => {
    const row = await make({ name: "long gone" });
    await at.browse(checkPath(row), { method: "DELETE" });
    await at.db.pool.query("update checks set deleted_at = deleted_at - interval '8 days' where uuid = $1", [
      row.id,
    ]);
    expect((await post(`${checkPath(row)}/restore`)).status).toBe(404);
    expect((await deletedChecks()).some(({ id }) => id === row.id)).toBe(false);
  });
});

describe("moving a check to another project", () => {
  test("it keeps its URL and state, and gets the channels there; both projects are audited", async () => {
    await at.join(at.stranger.account, "member");
    const row = await make({ name: "moving" });
    await post(`${checkPath(row)}/ping`);
    const foreign = await post(`${checkPath(row)}/transfer`, { project: at.stranger.project.uuid });
    expect({ status: foreign.status, json: foreign.json }).toMatchObject({
      status: 404,
      json: { detail: "Project not found.", field: "project" },
    });
    const moved = await at.browse(`${checkPath(row)}/transfer`, {
      method: "POST",
      as: at.stranger.account,
      body: { project: at.stranger.project.uuid },
    });
    expect(moved.json).toMatchObject({
      id: row.id,
      state: "up",
      channelCount: 0,
      projectId: at.stranger.project.uuid,
    });
    expect(await rowOf(row.id)).toBeUndefined();
    const { rows } = await at.db.pool.query(
      "select project_id from audit_entries where what = 'check.moved' and subject = 'moving' order by project_id",
    );
    expect(rows.map(({ project_id }) => project_id)).toEqual(
      [at.owner.project.id, at.stranger.project.id].toSorted((one, other) => one - other),
    );
  });
});

describe("a check that was moved", () => {
  test("shows nothing of the channels that it has left behind, and they show nothing of it", async () => {
    await at.join(at.stranger.account, "member");
    const left = await at.channel(at.owner, { name: "secret pager of the old team", kind: "webhook" });
    const row = await make({ name: "old name" });
    for (const signal of ["", "/fail"]) {
      expect((await fetch(`${at.site}/ping/${row.id}${signal}`)).status).toBe(200);
    }
    await planAlerts(at.db, { now: Date.now() });
    await at.db.pool.query(
      `update deliveries set state = 'dead', next_try_at = null, settled_at = now(),
         reason = 'pager.old-team.example said 500', response_code = 500 where channel_id = $1`,
      [left.id],
    );
    const as = at.stranger.account;
    const explain = async () => at.browse(`${checkPath(row)}/explanation`, { as });
    expect((await explain()).text).toContain("secret pager of the old team");
    const body = { project: at.stranger.project.uuid };
    await at.browse(`${checkPath(row)}/transfer`, { method: "POST", as, body });
    await at.browse(checkPath(row), { method: "PATCH", as, body: { name: "secret new name" } });
    const run = await at.browse(`${checkPath(row)}/runs/2`, { as });
    for (const { status, json, text } of [await explain(), run]) {
      expect(status).toBe(200);
      expect(text).not.toMatch(/old-team|old team|"responseCode":500/);
      const { steps = [], deliveries = steps } = json as { steps?: object[]; deliveries?: object[] };
      expect(deliveries).toContainEqual(
        expect.objectContaining({ isInOtherProject: true, channel: null, state: "dead" }),
      );
    }
    const log = await at.browse(`/api/overdue/v1/channels/${left.uuid}/deliveries`);
    expect(log.json).toMatchObject({ deliveries: [{ kind: "flip", check: null }] });
    expect(log.text).not.toContain(row.id);
    expect(log.text).not.toContain("secret new name");
    await at.db.pool.query("delete from channels where id = $1", [left.id]);
    const gone = await explain();
    expect((gone.json as { steps: object[] }).steps).toContainEqual(
      expect.objectContaining({ isInOtherProject: false, channel: null, state: "dead" }),
    );
    expect(gone.text).not.toMatch(/old-team|old team|"responseCode":500/);
  });
});

test("a mail channel without a name is called by its address on the page of a check", async () => {
  const { status, json } = await post(`/api/overdue/v1/projects/${at.owner.project.uuid}/channels`, {
    kind: "email",
    name: "",
    config: { value: "ops@example.org" },
    checks: [],
  });
  expect(status).toBe(201);
  const { channel } = json as CreatedChannel;
  const row = await make({ name: "told by mail", channels: [channel.id] });
  const page = (await at.browse(checkPath(row))).json as CheckPage;
  expect(page.channels.find(({ id }) => id === channel.id)).toMatchObject({
    name: "ops@example.org",
    isOn: true,
  });
});

describe("many checks at once", () => {
  test("each is changed separately; missing ones are reported", async () => {
    const rows = await Promise.all(["x1", "x2", "x3"].map((name) => make({ name, tags: "old" })));
    const ids = rows.map(({ id }) => id);
    const unknown = randomUUID();
    const bulk = async (body: object) =>
      (await post(`${project()}/checks/bulk`, { ids: [...ids, unknown], ...body })).json as BulkResult;
    const paused = await bulk({ action: "pause" });
    expect(paused.done.toSorted()).toEqual(ids.toSorted());
    expect(paused.failed).toEqual([{ id: unknown, error: "The check no longer exists." }]);
    expect((await bulk({ action: "resume" })).done).toHaveLength(3);
    await bulk({ action: "addTag", tag: "new" });
    await bulk({ action: "removeTag", tag: "old" });
    expect((await rowOf(ids[0] ?? ""))?.tags).toEqual(["new"]);
    await bulk({ action: "delete" });
    expect(await rowOf(ids[1] ?? "")).toBeUndefined();
    expect((await bulk({ action: "restore" })).done).toHaveLength(3);
    expect(await rowOf(ids[2] ?? "")).toBeDefined();
  });

  test("two who tag the same check at once both get their tag, and the channels their channel", async () => {
    const channels = await Promise.all(
      ["one", "two"].map((name) => at.channel(at.owner, { name, kind: "webhook" })),
    );
    const row = await make({ name: "wanted", channels: [] });
    const wishes = [
      ...["t1", "t2", "t3", "t4"].map((tag) => ({ action: "addTag", tag })),
      ...channels.map(({ uuid }) => ({ action: "addChannel", channel: uuid })),
    ];
    await Promise.all(wishes.map((wish) => post(`${project()}/checks/bulk`, { ids: [row.id], ...wish })));
    const after = await rowOf(row.id);
    expect(after?.tags.toSorted()).toEqual(["t1", "t2", "t3", "t4"]);
    expect(after?.channelCount).toBe(2);
  });

  test("a tag that no longer fits is refused, and the others stay", async () => {
    const tags = Array.from({ length: 5 }, (_, n) => String(n).repeat(99)).join(" ");
    const row = await make({ name: "full", tags });
    const { json } = await post(`${project()}/checks/bulk`, { ids: [row.id], action: "addTag", tag: "six" });
    expect(json).toEqual({
      done: [],
      unchanged: [],
      failed: [{ id: row.id, error: "Tags can have at most 500 characters in total." }],
    });
    expect((await rowOf(row.id))?.tags).toHaveLength(5);
  });

  test("a channel is added to and taken from each", async () => {
    const channel = await at.channel(at.owner, { name: "bulk", kind: "webhook" });
    const row = await make({ name: "bulk channel", channels: [] });
    const bulk = (what: string) =>
      post(`${project()}/checks/bulk`, { ids: [row.id], action: what, channel: channel.uuid });
    await bulk("addChannel");
    expect((await rowOf(row.id))?.channelCount).toBe(1);
    await bulk("removeChannel");
    expect((await rowOf(row.id))?.channelCount).toBe(0);
  });

  test("those that were so already are named, so that taking it back leaves them alone", async () => {
    const channel = await at.channel(at.owner, { name: "known", kind: "webhook" });
    const [had, others] = await Promise.all([
      make({ name: "had it all", channels: [channel.uuid], tags: "prod" }),
      make({ name: "had nothing", channels: [] }),
    ]);
    const bulk = async (body: object) =>
      (await post(`${project()}/checks/bulk`, { ids: [had.id, others.id], ...body })).json as BulkResult;
    expect((await bulk({ action: "addChannel", channel: channel.uuid })).unchanged).toEqual([had.id]);
    expect((await bulk({ action: "addTag", tag: "prod" })).unchanged).toEqual([had.id]);
    await post(`${project()}/checks/bulk`, { ids: [had.id], action: "pause" });
    expect((await bulk({ action: "pause" })).unchanged).toEqual([had.id]);
    await post(`${project()}/checks/bulk`, { ids: [had.id], action: "resume" });
    expect((await bulk({ action: "resume" })).unchanged).toEqual([had.id]);
  });

  test("a missing part is named", async () => {
    const row = await make();
    const { status, json } = await post(`${project()}/checks/bulk`, { ids: [row.id], action: "addTag" });
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { detail: "tag is missing.", field: "tag" },
    });
  });
});

describe("lists", () => {
  test("pages of rows continue where the last one ended, and each check is in one of them", async () => {
    await Promise.all(Array.from({ length: 5 }, (_, n) => make({ name: `page ${n}` })));
    const seen: string[] = [];
    let after = "";
    for (let pages = 0; pages < 100; pages++) {
      const { checks, next } = (await at.browse(`${project()}/checks?limit=2${after}`)).json as CheckList;
      seen.push(...checks.map(({ id }) => id));
      if (next === null) break;
      after = `&cursor=${next}`;
    }
    const all = (await at.browse(`${project()}/checks`)).json as CheckList;
    expect(seen.toSorted()).toEqual(all.checks.map(({ id }) => id).toSorted());
    expect(new Set(seen).size).toBe(seen.length);
  });

  test("checks that need attention come first, and the counts match the rows", async () => {
    const down = await make({ name: "zz down", tags: "urgent" });
    await at.ask(`/ping/${down.id}/fail`);
    const late = await make({ name: "zy late", tags: "urgent", timeoutSeconds: 60, graceSeconds: 3600 });
    await post(`${checkPath(late)}/ping`);
    await at.db.pool.query(
      `update check_states set last_ping_at = last_ping_at - interval '2 minutes',
        down_at = down_at - interval '2 minutes', sweep_at = sweep_at - interval '2 minutes'
        where check_id = (select id from checks where uuid = $1)`,
      [late.id],
    );
    const boot = (await at.browse(`${project()}/overview`)).json as Overview;
    const states = boot.checks.map(({ state }) => state);
    const ranks = states.map((state) => ["down", "late", "up", "new", "paused"].indexOf(state));
    expect(ranks).toEqual(ranks.toSorted((one, other) => one - other));
    expect(states).toContain("late");
    for (const state of ["down", "late", "up", "new", "paused"] as const) {
      expect(boot.counts[state], state).toBe(states.filter((one) => one === state).length);
    }
    expect(boot.tags.find(({ name }) => name === "urgent")).toEqual({
      name: "urgent",
      state: "down",
      count: 2,
    });
    expect(boot.total).toBe(boot.checks.length);
    expect(boot.details).toHaveLength(Math.min(30, boot.checks.length));
  });

  test("the strip shows successes, failures, what was missed and the run in progress", async () => {
    const row = await make({ name: "beats", timeoutSeconds: 3600 });
    await at.ask(`/ping/${row.id}`);
    await at.ask(`/ping/${row.id}/fail`);
    await at.ask(`/ping/${row.id}/start`);
    await at.ask(`/ping/${row.id}`);
    await at.ask(`/ping/${row.id}/start`);
    const detail = await detailOf(row);
    expect(detail?.recentRuns).toBe("ufur");
    expect(detail?.durationsMs).toHaveLength(1);
    expect((await rowOf(row.id))?.runningSince).not.toBeNull();
  });

  test("projects are cards with counts and the last flip", async () => {
    const { projects: cards } = (await at.browse("/api/overdue/v1/projects")).json as ProjectList;
    const [card] = cards;
    expect(cards).toHaveLength(1);
    expect(card).toMatchObject({ id: at.owner.project.uuid, role: "owner", worst: "down" });
    expect(card?.lastFlip).not.toBeNull();
    expect(card?.may).toContain("removeProject");
  });

  test("badges are listed in all formats, and lead to badges", async () => {
    const { json } = await at.browse(`${project()}/badges`);
    const { badges } = json as { badges: { tag: string | null; svg: string; json3: string }[] };
    expect(badges[0]?.tag).toBeNull();
    expect((await fetch(badges[0]?.json3 ?? "")).status).toBe(200);
    const row = await make({ name: "with badge" });
    const { json: own } = await at.browse(`${checkPath(row)}/badge`);
    expect((await fetch((own as { svg: string }).svg)).status).toBe(200);
  });

  test("a returning user gets what broke, recovered and was added", async () => {
    await at.browse(`${project()}/overview`);
    const again = (await at.browse(`${project()}/overview`)).json as Overview;
    expect(again.since).toBeNull();
    await at.db.pool.query("update members set seen_at = now() - interval '1 hour' where account_id = $1", [
      at.owner.account.id,
    ]);
    const { since } = (await at.browse(`${project()}/overview`)).json as Overview;
    expect(since?.wentDown.map(({ name }) => name)).toContain("zz down");
    expect(since?.createdCount).toBeGreaterThan(3);
  });
});

describe("the limit of checks", () => {
  test("rejects a new check, a copy, and a restored check; everything else is allowed", async () => {
    const row = await make({ name: "the last one" });
    const deleted = await make({ name: "in the trash" });
    await at.browse(checkPath(deleted), { method: "DELETE" });
    await at.db.pool.query("update accounts set check_limit = 1 where id = $1", [at.owner.account.id]);
    const refused = {
      status: 403,
      json: { status: 403, detail: "The project owner has reached the check limit." },
    };
    for (const path of [`${project()}/checks`, `${checkPath(row)}/copy`, `${checkPath(deleted)}/restore`]) {
      const { status, json } = await post(path, {});
      expect({ status, json }, path).toMatchObject(refused);
    }
    expect((await post(`${checkPath(row)}/pause`)).status).toBe(200);
    await at.db.pool.query("update accounts set check_limit = null where id = $1", [at.owner.account.id]);
  });
});
