// The planner on a real database: what is held, combined, repeated and dropped, and what the channels get.
import { beforeEach, describe, expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/core/instant.ts";
import type { AlertMessage } from "../../../src/core/message.ts";
import type { Policy } from "../../../src/core/policy.ts";
import { claimDeliveries } from "../../../src/operations/deliveries.ts";
import { acknowledgeIncident } from "../../../src/operations/incidents.ts";
import { takeSteps } from "../../../src/operations/incident-steps.ts";
import { planAlerts } from "../../../src/operations/plan-alerts.ts";
import { deliverDue } from "../../../src/operations/send-loop.ts";
import { createSilence, endSilence } from "../../../src/operations/silences.ts";
import { writeAlerts } from "../../../src/store/alerts.ts";
import type { Channel } from "../../../src/store/channels.ts";
import type { CheckWithState } from "../../../src/store/checks.ts";
import { insertFlips } from "../../../src/store/flips.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { useDatabase } from "../../support/database.ts";
import { addChannel, assign, flip, owe, SENT } from "../../support/owed.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../../support/sample.ts";

const database = useDatabase();
const BY = { accountId: null, keyId: null };

let projectId: number;
let channel: Channel;
let sent: { channelId: number; message: AlertMessage }[];
let isDown = false;

beforeEach(async () => {
  ({ id: projectId } = await sampleProject(database.db));
  channel = await addChannel(database.db, { projectId });
  sent = [];
  isDown = false;
});

async function newCheck(name: string, { tags = "", policy }: { tags?: string; policy?: Policy } = {}) {
  const check = await sampleCheck(database.db, { projectId, name, tags });
  await assign(database.db, check, [channel]);
  if (policy !== undefined) {
    await database.db.pool.query("update checks set policy = $2 where id = $1", [
      check.id,
      JSON.stringify(policy),
    ]);
  }
  return check;
}

/** One turn of the notifier at an instant; returns what was sent, in short. */
async function deliver(now: number): Promise<string[]> {
  sent = [];
  await deliverDue(database.db, {
    now,
    ports: {
      send: async ({ id }, message) => {
        if (isDown) {
          const failed = { summary: "POST test", code: 500, excerpt: "no", reason: "HTTP 500" };
          return { kind: "failed", permanent: false, retryAfterMs: null, ...failed };
        }
        if (id === channel.id) sent.push({ channelId: id, message });
        return SENT;
      },
      isSubscribed: () => true,
      rateOf: () => null,
    },
  });
  return sent.map(({ message }) => inShort(message)).toSorted();
}

/** A notifier claims what is due and dies; returns the number of messages of the test. */
async function claim(now: number): Promise<number> {
  const { claims } = await claimDeliveries(database.db, { now, limit: 100, rateOf: () => null });
  return claims.filter(({ channelId }) => channelId === channel.id).length;
}

function inShort(message: AlertMessage): string {
  if (message.kind === "group") {
    const names = [...message.opened, ...message.closed].map(({ name }) => name).join(" ");
    return `group ${message.state} ${message.downCount} down: ${names}`.trim();
  }
  if (message.kind !== "down" && message.kind !== "up") return message.kind;
  return `${message.isRepeat ? "still " : ""}${message.kind} ${message.check.settings.name}`;
}

const down = (check: CheckWithState, at: number, reason: "fail" | "timeout" = "timeout") =>
  owe(database.db, { check, at }, flip("down", at, { reason }));
const up = (check: CheckWithState, at: number) => owe(database.db, { check, at }, flip("up", at));

const success = (check: CheckWithState, n: number, at: number) =>
  database.db.pool.query(
    `insert into pings (check_id, n, at, kind, scheme, method, ua)
     values ($1, $2, to_timestamp($3::float8 / 1000), 's', 'http', 'GET', '')`,
    [check.id, n, at],
  );

const silence = (request: Partial<Parameters<typeof createSilence>[1]["request"]>, at = NOW) =>
  createSilence(database.db, {
    projectId,
    request: { scope: { checks: null, tag: null }, reason: "DB upgrade", ...request },
    once: null,
    by: BY,
    at,
  });

describe("a silence", () => {
  test("holds a problem until its end, and says so then", async () => {
    const check = await newCheck("backup");
    await silence({ from: NOW, until: NOW + HOUR_MS });
    await down(check, NOW + MINUTE_MS);
    expect(await deliver(NOW + MINUTE_MS)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS - 1)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["down backup"]);
    expect(sent[0]?.message).toMatchObject({ releasedFrom: { kind: "silence", reason: "DB upgrade" } });
    expect(await deliver(NOW + HOUR_MS + MINUTE_MS)).toEqual([]);
  });

  test("drops a problem that is over before it ends", async () => {
    const check = await newCheck("backup");
    await silence({ from: NOW, until: NOW + HOUR_MS });
    await down(check, NOW + MINUTE_MS);
    await up(check, NOW + 2 * MINUTE_MS);
    expect(await deliver(NOW + 2 * HOUR_MS)).toEqual([]);
  });

  test("lets the recovery of a problem pass that was sent before", async () => {
    const check = await newCheck("backup");
    await down(check, NOW);
    expect(await deliver(NOW)).toEqual(["down backup"]);
    await silence({ from: NOW + 1, until: NOW + HOUR_MS }, NOW + 1);
    await up(check, NOW + MINUTE_MS);
    expect(await deliver(NOW + MINUTE_MS)).toEqual(["up backup"]);
  });

  test("holds a notification that was planned and not sent", async () => {
    const check = await newCheck("backup");
    await down(check, NOW);
    isDown = true;
    expect(await deliver(NOW)).toEqual([]);
    isDown = false;
    await silence({ from: NOW + 1, until: NOW + HOUR_MS }, NOW + 1);
    expect(await deliver(NOW + 30 * MINUTE_MS)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["down backup"]);
  });

  test.each<[string, Policy]>([
    ["a notification", {}],
    ["a grouped notification", { groupBy: ["project"], groupWait: 0 }],
  ])("holds %s that a notifier was preparing when it died", async (_, policy) => {
    const check = await newCheck("backup", { policy });
    await down(check, NOW);
    isDown = true;
    expect(await deliver(NOW)).toEqual([]);
    isDown = false;
    await silence({ from: NOW + 1, until: NOW + HOUR_MS }, NOW + 1);
    for (const minute of [10, 20]) {
      expect(await claim(NOW + minute * MINUTE_MS)).toBe(1);
      expect(await deliver(NOW + (minute + 2) * MINUTE_MS)).toEqual([]);
    }
    expect(await deliver(NOW + HOUR_MS + MINUTE_MS)).toHaveLength(1);
  });

  test("does not hold a notification that a notifier may have sent before", async () => {
    const check = await newCheck("backup");
    await down(check, NOW);
    expect(await claim(NOW)).toBe(1);
    await silence({ from: NOW + 1, until: NOW + HOUR_MS }, NOW + 1);
    expect(await deliver(NOW + 2 * MINUTE_MS)).toEqual(["down backup"]);
  });

  test("that ends early releases what it holds at once", async () => {
    const check = await newCheck("backup");
    const made = await silence({ from: NOW, until: NOW + HOUR_MS });
    await down(check, NOW + MINUTE_MS);
    await endSilence(database.db, {
      projectId,
      uuid: made.uuid,
      expected: null,
      by: BY,
      at: NOW + 2 * MINUTE_MS,
    });
    expect(await deliver(NOW + 2 * MINUTE_MS)).toEqual(["down backup"]);
  });

  test("until a success does not end with one that counts as a failure", async () => {
    const check = await newCheck("backup");
    await silence({ from: NOW, until: NOW + HOUR_MS, untilSuccess: true });
    const [firstAt, secondAt] = [NOW + MINUTE_MS, NOW + 10 * MINUTE_MS];
    await success(check, 1, firstAt);
    await success(check, 2, secondAt);
    const tooFast = flip("down", firstAt, { reason: "tooFast" });
    // The first one was tolerated.
    await inTransaction(database.db, async (tx) => {
      const [flipId = 0] = await insertFlips(tx, [{ checkId: check.id, flip: tooFast }]);
      const change = { kind: "opened", at: secondAt, cause: "tooFast", flip: null } as const;
      await writeAlerts(tx, [{ checkId: check.id, change, flipId }]);
    });
    expect(await deliver(secondAt)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["down backup"]);
  });

  test("until a success ends with one", async () => {
    const check = await newCheck("backup");
    await silence({ from: NOW, until: NOW + HOUR_MS, untilSuccess: true });
    await success(check, 1, NOW + MINUTE_MS);
    await down(check, NOW + 2 * MINUTE_MS);
    expect(await deliver(NOW + 2 * MINUTE_MS)).toEqual(["down backup"]);
  });

  test("is followed by one reminder about a problem that was notified before", async () => {
    const check = await newCheck("backup");
    await down(check, NOW);
    expect(await deliver(NOW)).toEqual(["down backup"]);
    await silence({ from: NOW + MINUTE_MS, until: NOW + HOUR_MS }, NOW + MINUTE_MS);
    expect(await deliver(NOW + 2 * MINUTE_MS)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["still down backup"]);
    expect(await deliver(NOW + 2 * HOUR_MS)).toEqual([]);
  });
});

describe("checks that stop together", () => {
  const policy: Policy = { groupBy: ["project"], groupWait: 30, groupInterval: 300 };

  test("are one message after the wait, updates, and one recovery", async () => {
    const checks = await Promise.all(["a", "b", "c"].map((name) => newCheck(name, { policy })));
    const [a, b, c] = checks as [CheckWithState, CheckWithState, CheckWithState];
    await down(a, NOW);
    await down(b, NOW + 5 * SECOND_MS);
    expect(await deliver(NOW + 29 * SECOND_MS)).toEqual([]);
    expect(await deliver(NOW + 30 * SECOND_MS)).toEqual(["group down 2 down: a b"]);
    await down(c, NOW + MINUTE_MS);
    await up(a, NOW + 2 * MINUTE_MS);
    expect(await deliver(NOW + 4 * MINUTE_MS)).toEqual([]);
    expect(await deliver(NOW + 30 * SECOND_MS + 5 * MINUTE_MS)).toEqual(["group update 2 down: c a"]);
    await up(b, NOW + 6 * MINUTE_MS);
    await up(c, NOW + 6 * MINUTE_MS);
    expect(await deliver(NOW + 6 * MINUTE_MS)).toEqual(["group up 0 down: b c"]);
  });

  test("are sent as soon as the policy of one of them allows", async () => {
    const slow = { ...policy, groupWait: 300, groupInterval: 3_600 };
    const a = await newCheck("a", { policy: slow });
    const b = await newCheck("b", { policy });
    await down(a, NOW);
    await down(b, NOW + SECOND_MS);
    expect(await deliver(NOW + 31 * SECOND_MS)).toEqual(["group down 2 down: a b"]);
    const c = await newCheck("c", { policy: slow });
    await down(c, NOW + MINUTE_MS);
    await up(b, NOW + MINUTE_MS);
    expect(await deliver(NOW + 6 * MINUTE_MS)).toEqual(["group update 2 down: c b"]);
  });

  test("and are silenced during the wait are notified afterwards", async () => {
    const a = await newCheck("a", { policy });
    await down(a, NOW);
    expect(await deliver(NOW)).toEqual([]);
    await silence({ from: NOW + SECOND_MS, until: NOW + HOUR_MS }, NOW + SECOND_MS);
    expect(await deliver(NOW + MINUTE_MS)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS + MINUTE_MS)).toEqual(["group down 1 down: a"]);
  });

  test("are notified without those that are silenced during the wait, which follow afterwards", async () => {
    const [a, b, c] = (await Promise.all(["a", "b", "c"].map((name) => newCheck(name, { policy })))) as [
      CheckWithState,
      CheckWithState,
      CheckWithState,
    ];
    for (const check of [a, b, c]) await down(check, NOW);
    expect(await deliver(NOW)).toEqual([]);
    const scope = { checks: [b.uuid, c.uuid], tag: null };
    await silence({ scope, from: NOW + SECOND_MS, until: NOW + HOUR_MS }, NOW + SECOND_MS);
    expect(await deliver(NOW + MINUTE_MS)).toEqual(["group down 1 down: a"]);
    await up(a, NOW + 2 * MINUTE_MS);
    await up(c, NOW + 2 * MINUTE_MS);
    expect(await deliver(NOW + 8 * MINUTE_MS)).toEqual(["group up 0 down: a"]);
    expect(await deliver(NOW + HOUR_MS + MINUTE_MS)).toEqual(["group update 1 down: b"]);
  });

  test("and recover during the wait are not notified; failures are sent at once", async () => {
    const a = await newCheck("a", { policy });
    const b = await newCheck("b", { policy });
    await down(a, NOW);
    await down(b, NOW, "fail");
    expect(await deliver(NOW)).toEqual(["down b"]);
    await up(a, NOW + SECOND_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual([]);
  });

  test("and recover while a notifier prepares the message that a silence holds are not notified", async () => {
    const a = await newCheck("a", { policy });
    await down(a, NOW);
    await silence({ from: NOW + SECOND_MS, until: NOW + HOUR_MS }, NOW + SECOND_MS);
    expect(await deliver(NOW + MINUTE_MS)).toEqual([]);
    expect(await claim(NOW + 10 * MINUTE_MS)).toBe(1);
    await up(a, NOW + 10 * MINUTE_MS + SECOND_MS);
    for (const minutes of [10.5, 11.5, 20, 70]) expect(await deliver(NOW + minutes * MINUTE_MS)).toEqual([]);
  });

  test("and recover while the message is sent are notified afterwards", async () => {
    const a = await newCheck("a", { policy });
    await down(a, NOW);
    expect(await claim(NOW + 30 * SECOND_MS)).toBe(1);
    await up(a, NOW + 31 * SECOND_MS);
    expect(await deliver(NOW + 40 * SECOND_MS)).toEqual([]);
    await deliver(NOW + 2 * MINUTE_MS);
    expect(sent.map(({ message }) => message)).toMatchObject([
      { openedCount: 1, closedCount: 0 },
      { openedCount: 0, closedCount: 1 },
    ]);
  });

  test("and recover during the wait name the rule because of which they are not notified", async () => {
    const a = await newCheck("a", { policy });
    await down(a, NOW);
    await up(a, NOW + SECOND_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual([]);
    const { rows } = await database.db.pool.query(
      "select held_by, dropped_at is not null as is_dropped from alerts where check_id = $1",
      [a.id],
    );
    expect(rows).toEqual([{ held_by: "group", is_dropped: true }]);
  });
});

describe("a check that depends on another", () => {
  async function family() {
    const router = await newCheck("router");
    const child = await newCheck("child");
    await database.db.pool.query("insert into check_parents (check_id, parent_id) values ($1, $2)", [
      child.id,
      router.id,
    ]);
    return { router, child };
  }

  test("is not notified while that is down, and afterwards if it still is", async () => {
    const { router, child } = await family();
    await down(router, NOW);
    await down(child, NOW + SECOND_MS);
    expect(await deliver(NOW + SECOND_MS)).toEqual(["down router"]);
    expect(await deliver(NOW + HOUR_MS)).toEqual([]);
    await up(router, NOW + HOUR_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["up router"]);
    expect(await deliver(NOW + HOUR_MS + 10 * MINUTE_MS)).toEqual(["group down 1 down: child"]);
    await up(child, NOW + 2 * HOUR_MS);
    expect(await deliver(NOW + 2 * HOUR_MS)).toEqual(["group up 0 down: child"]);
  });

  test("is not notified while that is down, even if a notifier dies while it prepares the message", async () => {
    const { router, child } = await family();
    await down(router, NOW);
    await down(child, NOW + SECOND_MS);
    expect(await deliver(NOW + SECOND_MS)).toEqual(["down router"]);
    for (const minute of [10, 20]) {
      expect(await claim(NOW + minute * MINUTE_MS)).toBe(1);
      expect(await deliver(NOW + (minute + 2) * MINUTE_MS)).toEqual([]);
    }
    await up(router, NOW + HOUR_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["up router"]);
    expect(await deliver(NOW + HOUR_MS + 10 * MINUTE_MS)).toEqual(["group down 1 down: child"]);
  });

  test("and recovers first is not notified", async () => {
    const { router, child } = await family();
    await down(router, NOW);
    await down(child, NOW + SECOND_MS);
    expect(await deliver(NOW + SECOND_MS)).toEqual(["down router"]);
    await up(child, NOW + MINUTE_MS);
    await up(router, NOW + 2 * MINUTE_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["up router"]);
  });

  test("recovers within the wait of groups, even if the other is down again", async () => {
    const { router, child } = await family();
    await database.db.pool.query("update checks set policy = $2 where id = $1", [
      router.id,
      JSON.stringify({ reopenWithin: 86_400 }),
    ]);
    await down(router, NOW);
    await down(child, NOW + SECOND_MS);
    expect(await deliver(NOW + SECOND_MS)).toEqual(["down router"]);
    await up(router, NOW + HOUR_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["up router"]);
    expect(await deliver(NOW + HOUR_MS + 10 * MINUTE_MS)).toEqual(["group down 1 down: child"]);
    await down(router, NOW + 2 * HOUR_MS);
    expect(await deliver(NOW + 2 * HOUR_MS)).toEqual(["down router"]);
    await up(child, NOW + 3 * HOUR_MS);
    expect(await deliver(NOW + 3 * HOUR_MS + 30 * SECOND_MS)).toEqual(["group up 0 down: child"]);
  });

  test("is notified if the other is silenced and has no channel", async () => {
    const { router, child } = await family();
    await assign(database.db, router, []);
    await silence({ scope: { checks: [router.uuid], tag: null }, from: NOW, until: NOW + HOUR_MS });
    await down(router, NOW);
    await deliver(NOW);
    await down(child, NOW + SECOND_MS);
    expect(await deliver(NOW + SECOND_MS)).toEqual(["down child"]);
  });

  test("is notified if the other has no channel", async () => {
    const { router, child } = await family();
    await assign(database.db, router, []);
    await down(router, NOW);
    await down(child, NOW + SECOND_MS);
    expect(await deliver(NOW + SECOND_MS)).toEqual(["down child"]);
  });
});

describe("an incident", () => {
  const number = async () =>
    (
      await database.db.pool.query<{ number: number }>(
        "select number from incidents where project_id = $1 order by id desc limit 1",
        [projectId],
      )
    ).rows[0]?.number ?? 0;

  test("is repeated again after a silence that ended early", async () => {
    const check = await newCheck("backup", { policy: { repeat: 300 } });
    await down(check, NOW);
    expect(await deliver(NOW)).toEqual(["down backup"]);
    const { uuid } = await silence({ from: NOW + 1, until: NOW + HOUR_MS }, NOW + 1);
    expect(await deliver(NOW + 5 * MINUTE_MS)).toEqual([]);
    await endSilence(database.db, { projectId, uuid, expected: null, by: BY, at: NOW + 7 * MINUTE_MS });
    expect(await deliver(NOW + 7 * MINUTE_MS)).toEqual(["still down backup"]);
    expect(await deliver(NOW + 12 * MINUTE_MS)).toEqual(["still down backup"]);
  });

  test("is repeated until it is acknowledged", async () => {
    const check = await newCheck("backup", { policy: { repeat: 3_600 } });
    await down(check, NOW);
    expect(await deliver(NOW)).toEqual(["down backup"]);
    expect(await deliver(NOW + HOUR_MS - 1)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["still down backup"]);
    // One after an outage, however long it was.
    expect(await deliver(NOW + 5 * HOUR_MS)).toEqual(["still down backup"]);
    await acknowledgeIncident(database.db, {
      projectId,
      number: await number(),
      by: BY,
      at: NOW + 5 * HOUR_MS,
    });
    expect(await deliver(NOW + 24 * HOUR_MS)).toEqual([]);
    await up(check, NOW + 25 * HOUR_MS);
    expect(await deliver(NOW + 25 * HOUR_MS)).toEqual(["up backup"]);
  });

  test.each<[string, Policy]>([
    ["of one check", {}],
    ["of several checks", { groupBy: ["project"], groupWait: 0 }],
  ])("%s is not repeated after it was acknowledged, even if a notifier has died", async (_, policy) => {
    const check = await newCheck("backup", { policy: { repeat: 300, ...policy } });
    await down(check, NOW);
    expect(await deliver(NOW)).toHaveLength(1);
    await takeSteps(database.db, { now: NOW + 5 * MINUTE_MS });
    expect(await claim(NOW + 5 * MINUTE_MS)).toBe(1);
    const at = NOW + 6 * MINUTE_MS;
    await acknowledgeIncident(database.db, { projectId, number: await number(), by: BY, at });
    expect(await deliver(NOW + 7 * MINUTE_MS)).toEqual([]);
  });

  test("opens again within the time, and from the third time on only says when it is over", async () => {
    const check = await newCheck("backup", { policy: { reopenWithin: 600 } });
    const messages: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const at = NOW + round * 2 * MINUTE_MS;
      await down(check, at);
      messages.push(...(await deliver(at)));
      await up(check, at + MINUTE_MS);
      messages.push(...(await deliver(at + MINUTE_MS)));
    }
    const both = ["down backup", "up backup"];
    expect(messages).toEqual([...both, ...both, ...both, "down backup"]);
    expect(await deliver(NOW + 11 * MINUTE_MS + 600 * SECOND_MS)).toEqual(["up backup"]);
    const { rows } = await database.db.pool.query("select state from incidents where project_id = $1", [
      projectId,
    ]);
    expect(rows).toEqual([{ state: "resolved" }]);
    expect(await eventKinds()).toEqual(["reopened", "reopened", "reopened", "flapping"]);
  });

  test("notes that its severity was raised", async () => {
    const policy: Policy = { groupBy: ["project"], groupWait: 30 };
    const low = await newCheck("a", { policy: { ...policy, severity: { failed: "low", missed: "low" } } });
    const high = await newCheck("b", { policy: { ...policy, severity: { failed: "high", missed: "high" } } });
    await down(low, NOW);
    await deliver(NOW);
    await down(high, NOW + SECOND_MS);
    await deliver(NOW + SECOND_MS);
    expect(await eventKinds()).toEqual(["severityRaised"]);
  });

  test("whose step cannot be taken does not stop the others", async () => {
    const checks = await Promise.all(
      ["a", "b"].map((name) => newCheck(name, { policy: { repeat: 60, groupBy: [] } })),
    );
    for (const check of checks) await down(check, NOW);
    await deliver(NOW);
    const { pool } = database.db;
    const { rows } = await pool.query<{ id: number }>(
      "select id from incidents where project_id = $1 order by id",
      [projectId],
    );
    const broken = rows[0]?.id ?? 0;
    await pool.query(`create function fail() returns trigger language plpgsql as
      $$ begin if new.id = ${broken} and new.next_step_at = to_timestamp(${(NOW + 2 * 60_000) / 1000}) then raise 'broken'; end if; return new; end $$`);
    await pool.query("create trigger fail before update on incidents for each row execute function fail()");
    try {
      const failed: number[] = [];
      const onFailure = (_error: unknown, incidentId: number) => failed.push(incidentId);
      await expect(takeSteps(database.db, { now: NOW + MINUTE_MS })).rejects.toThrow("broken");
      await takeSteps(database.db, { now: NOW + MINUTE_MS, onFailure });
      expect(failed).toEqual([broken]);
      expect(await deliver(NOW + MINUTE_MS)).toEqual(["still down b"]);
    } finally {
      await pool.query("drop trigger fail on incidents");
      await pool.query("drop function fail");
    }
    expect(await deliver(NOW + MINUTE_MS + 10 * SECOND_MS)).toEqual(["still down a"]);
  });
});

async function eventKinds(): Promise<string[]> {
  const { rows } = await database.db.pool.query<{ kind: string }>(
    "select e.kind from incident_events e join incidents i on i.id = e.incident_id where i.project_id = $1 order by e.id",
    [projectId],
  );
  return rows.map(({ kind }) => kind);
}

test("channels of a tag rule are notified too", async () => {
  const other = await addChannel(database.db, { projectId });
  const check = await newCheck("backup", { tags: "db prod" });
  await database.db.pool.query(
    "insert into tag_rules (project_id, position, tag, policy, channel_ids) values ($1, 1, 'db', '{}', $2)",
    [projectId, [other.id]],
  );
  const [flipId] = await down(check, NOW);
  const { rows } = await database.db.pool.query<{ channel_id: number }>(
    "select channel_id from deliveries where flip_id = $1 order by channel_id",
    [flipId],
  );
  expect(rows.map((row) => row.channel_id)).toEqual([channel.id, other.id]);
  expect(await planAlerts(database.db, { now: NOW })).toBe(0);
});
