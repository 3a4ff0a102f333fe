// The planner under adverse conditions: races, crashes, changes of checks and channels while alerts wait, and rows that
// cannot be planned.
import { beforeEach, describe, expect, test } from "vitest";
import type { AlertChange } from "../../../src/core/alert.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/core/instant.ts";
import type { AlertMessage } from "../../../src/core/message.ts";
import type { Policy } from "../../../src/core/policy.ts";
import { clearHistory, restoreCheck, trashCheck } from "../../../src/operations/checks.ts";
import { acknowledgeIncident, resolveIncident } from "../../../src/operations/incidents.ts";
import { updateProjectPolicy } from "../../../src/operations/policies.ts";
import { deliverDue } from "../../../src/operations/send-loop.ts";
import { createSilence, endSilence } from "../../../src/operations/silences.ts";
import { writeAlerts } from "../../../src/store/alerts.ts";
import type { Channel } from "../../../src/store/channels.ts";
import type { CheckWithState } from "../../../src/store/checks.ts";
import { pruneDeliveries } from "../../../src/store/deliveries.ts";
import { insertFlips } from "../../../src/store/flips.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { useDatabase } from "../../support/database.ts";
import { addChannel, assign, flip, owe, retract, SENT } from "../../support/owed.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../../support/sample.ts";

const database = useDatabase();
const BY = { accountId: null, keyId: null };
const sql = async (text: string, values: unknown[] = []) =>
  (await database.db.pool.query<Record<string, unknown>>(text, values)).rows;

let projectId: number;
let channel: Channel;
let other: Channel;
/** What a channel answers: by default, that it got the message. */
let answer: "sent" | "failed" | "in doubt";
let isSubscribed: (what: string) => boolean;

beforeEach(async () => {
  // Alerts of earlier tests stay out of the way.
  await sql("update alerts set planned_at = now() where planned_at is null");
  await sql(
    "update deliveries set state = 'withdrawn', settled_at = now(), next_try_at = null where state = 'pending'",
  );
  await sql("update incidents set next_step_at = null");
  await sql("update silences set ends_at = null");
  ({ id: projectId } = await sampleProject(database.db));
  channel = await addChannel(database.db, { projectId });
  other = await addChannel(database.db, { projectId });
  answer = "sent";
  isSubscribed = () => true;
});

async function newCheck(
  name: string,
  { policy, channels = [channel] }: { policy?: Policy; channels?: Channel[] } = {},
) {
  const check = await sampleCheck(database.db, { projectId, name });
  await assign(database.db, check, channels);
  if (policy !== undefined)
    await sql("update checks set policy = $2 where id = $1", [check.id, JSON.stringify(policy)]);
  return check;
}

const depend = (child: CheckWithState, parent: CheckWithState) =>
  sql("insert into check_parents (check_id, parent_id) values ($1, $2)", [child.id, parent.id]);

/** One turn of the notifier at an instant; returns what each channel got, in short. */
async function deliver(now: number): Promise<string[]> {
  const sent: string[] = [];
  await deliverDue(database.db, {
    now,
    ports: {
      send: async ({ id }, message) => {
        if (answer !== "sent") {
          const failed = { summary: "POST test", code: 500, excerpt: "no", reason: "HTTP 500" };
          const inDoubt = answer === "in doubt";
          return {
            kind: "failed",
            permanent: false,
            retryAfterMs: null,
            ...failed,
            ...(inDoubt && { code: null, inDoubt }),
          };
        }
        sent.push(`${id === other.id ? "other: " : ""}${inShort(message)}`);
        return SENT;
      },
      isSubscribed: (_, what) => isSubscribed(what),
      rateOf: () => null,
    },
  });
  return sent.toSorted();
}

function inShort(message: AlertMessage): string {
  if (message.kind === "group") {
    const opened = message.opened.map(({ name }) => `+${name}`);
    const closed = message.closed.map(({ name }) => `-${name}`);
    return [`group ${message.state} ${message.downCount} down:`, ...opened, ...closed].join(" ");
  }
  if (message.kind !== "down" && message.kind !== "up") return message.kind;
  return `${message.isRepeat ? "still " : ""}${message.kind} ${message.check.settings.name}`;
}

const down = (check: CheckWithState, at: number, reason: "fail" | "timeout" = "timeout") =>
  owe(database.db, { check, at }, flip("down", at, { reason }));
const up = (check: CheckWithState, at: number) => owe(database.db, { check, at }, flip("up", at));
const write = (check: CheckWithState, change: AlertChange, flipId: number | null) =>
  inTransaction(database.db, (tx) => writeAlerts(tx, [{ checkId: check.id, change, flipId }]));
const insertFlip = async (check: CheckWithState, one: ReturnType<typeof flip>) =>
  (await inTransaction(database.db, (tx) => insertFlips(tx, [{ checkId: check.id, flip: one }])))[0] ?? 0;

const silence = (request: Partial<Parameters<typeof createSilence>[1]["request"]>, at = NOW) =>
  createSilence(database.db, {
    projectId,
    request: { scope: { checks: null, tag: null }, reason: "DB upgrade", ...request },
    once: null,
    by: BY,
    at,
  });

describe("a recovery", () => {
  test("that follows the flip, after more successes, is sent", async () => {
    const check = await newCheck("backup");
    await down(check, NOW);
    expect(await deliver(NOW)).toEqual(["down backup"]);
    await insertFlip(check, flip("up", NOW + MINUTE_MS));
    await write(check, { kind: "closed", at: NOW + 3 * MINUTE_MS, cause: "recovered", flip: null }, null);
    expect(await deliver(NOW + 3 * MINUTE_MS)).toEqual(["up backup"]);
  });

  test("of a problem whose flip was deleted by age is sent", async () => {
    const check = await newCheck("backup");
    // As after the migration: the check is down, and its flip is not known any more.
    const flipId = await insertFlip(check, flip("up", NOW));
    await write(check, { kind: "closed", at: NOW, cause: "recovered", flip: null }, flipId);
    expect(await deliver(NOW)).toEqual(["up backup"]);
  });

  test("is sent as a correction if the previous release has sent a problem that is taken back", async () => {
    const check = await newCheck("backup");
    const flipId = await insertFlip(check, flip("down", NOW));
    await sql(
      `insert into deliveries (kind, dedupe_key, channel_id, check_id, flip_id, state, created_at, attempt_count, next_try_at)
       values ('flip', gen_random_uuid(), $1, $2, $3, 'pending', now(), 0, to_timestamp(0))`,
      [channel.id, check.id, flipId],
    );
    expect(await deliver(NOW)).toEqual(["down backup"]);
    await retract(database.db, { check, deadlineAt: NOW, at: NOW + MINUTE_MS });
    expect(await deliver(NOW + MINUTE_MS)).toEqual(["up backup"]);
  });

  test("of a combined problem reaches a channel that gets only recoveries", async () => {
    const policy: Policy = { groupBy: ["project"], groupWait: 0 };
    const a = await newCheck("a", { policy });
    isSubscribed = (what) => what !== "down";
    await down(a, NOW);
    expect(await deliver(NOW)).toEqual([]);
    await up(a, NOW + MINUTE_MS);
    expect(await deliver(NOW + MINUTE_MS)).toEqual(["group up 0 down: -a"]);
  });
});

describe("an alert that cannot be planned", () => {
  test("does not stop the others", async () => {
    const bad = await newCheck("bad");
    const good = await newCheck("good");
    // Stands for any row that makes a statement or a rule fail.
    await sql("update checks set policy = $2 where id = $1", [bad.id, JSON.stringify({ groupBy: 5 })]);
    const [badFlip, goodFlip] = [
      await insertFlip(bad, flip("down", NOW)),
      await insertFlip(good, flip("down", NOW)),
    ];
    const change = { kind: "opened", at: NOW, cause: "missed", flip: null } as const;
    await write(bad, change, badFlip);
    await write(good, change, goodFlip);
    await expect(deliver(NOW)).rejects.toThrow(/could not deliver all/);
    const states = await sql("select check_id, state from deliveries where flip_id = any ($1)", [
      [badFlip, goodFlip],
    ]);
    expect(states).toEqual([{ check_id: good.id, state: "sent" }]);
    // It is still owed.
    await sql("update checks set policy = null where id = $1", [bad.id]);
    expect(await deliver(NOW + MINUTE_MS)).toEqual(["down bad"]);
  });
});

describe("a silence", () => {
  test("that ends early releases a notification that was planned before it", async () => {
    const check = await newCheck("backup");
    await down(check, NOW);
    answer = "failed";
    await deliver(NOW);
    answer = "sent";
    const { uuid } = await silence({ from: NOW + 1, until: NOW + 20 * HOUR_MS }, NOW + 1);
    expect(await deliver(NOW + 30 * MINUTE_MS)).toEqual([]);
    await endSilence(database.db, { projectId, uuid, expected: null, by: BY, at: NOW + HOUR_MS });
    expect(await deliver(NOW + HOUR_MS + MINUTE_MS)).toEqual(["down backup"]);
  });

  test("does not drop a problem that outlasted it and could not be sent then", async () => {
    const check = await newCheck("backup");
    await down(check, NOW);
    answer = "failed";
    await deliver(NOW);
    await silence({ from: NOW + 1, until: NOW + HOUR_MS }, NOW + 1);
    expect(await deliver(NOW + 30 * MINUTE_MS)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS + MINUTE_MS)).toEqual([]);
    answer = "sent";
    await up(check, NOW + HOUR_MS + 2 * MINUTE_MS);
    expect(await deliver(NOW + HOUR_MS + 2 * MINUTE_MS)).toEqual(["up backup"]);
  });

  test("until the next success does not stop reminders of later problems", async () => {
    const check = await newCheck("backup", { policy: { repeat: 3_600 } });
    await silence({ from: NOW, untilSuccess: true });
    await sql(
      "insert into pings (check_id, n, at, kind, scheme, method, remote_addr, ua, body_size) values ($1, 1, to_timestamp($2::float8 / 1000), 's', 'http', 'GET', '', '', 0)",
      [check.id, NOW + MINUTE_MS],
    );
    await down(check, NOW + HOUR_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["down backup"]);
    expect(await deliver(NOW + 2 * HOUR_MS)).toEqual(["still down backup"]);
  });
});

describe("a check that depends on another", () => {
  test("is held although a check with other channels depends on it, too", async () => {
    const router = await newCheck("router");
    const a = await newCheck("a");
    const b = await newCheck("b", { channels: [other] });
    await depend(a, router);
    await depend(b, router);
    await down(router, NOW);
    await down(b, NOW + SECOND_MS);
    await down(a, NOW + 2 * SECOND_MS);
    expect(await deliver(NOW + 2 * SECOND_MS)).toEqual(["down router"]);
    expect(await deliver(NOW + HOUR_MS)).toEqual([]);
    await up(router, NOW + HOUR_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["up router"]);
    expect(await deliver(NOW + 2 * HOUR_MS)).toEqual([
      "group down 1 down: +a",
      "other: group down 1 down: +b",
    ]);
  });

  test("is held while that is down and combined with others", async () => {
    const router = await newCheck("router", { policy: { groupBy: ["project"], groupWait: 0 } });
    const child = await newCheck("child");
    await depend(child, router);
    await down(router, NOW);
    expect(await deliver(NOW)).toEqual(["group down 1 down: +router"]);
    await down(child, NOW + SECOND_MS);
    expect(await deliver(NOW + HOUR_MS)).toEqual([]);
    await up(router, NOW + HOUR_MS);
    expect(await deliver(NOW + HOUR_MS + 5 * MINUTE_MS)).toEqual(["down child", "group up 0 down: -router"]);
  });

  test("is held with it while it is itself a dependent of a silenced check", async () => {
    const [a, b, c] = [await newCheck("a"), await newCheck("b"), await newCheck("c")];
    await depend(b, a);
    await depend(c, b);
    await silence({ scope: { checks: [a.uuid], tag: null }, from: NOW, until: NOW + HOUR_MS });
    for (const check of [a, b, c]) await down(check, NOW + SECOND_MS);
    for (let at = NOW + MINUTE_MS; at < NOW + HOUR_MS; at += 10 * MINUTE_MS)
      expect(await deliver(at)).toEqual([]);
    await up(a, NOW + HOUR_MS);
    const messages: string[] = [];
    for (let at = NOW + HOUR_MS; at < NOW + 2 * HOUR_MS; at += MINUTE_MS)
      messages.push(...(await deliver(at)));
    // Nobody knows about a; b is a problem of its own now, which holds c.
    expect(messages).toEqual(["down b"]);
    await up(b, NOW + 3 * HOUR_MS);
    expect(await deliver(NOW + 3 * HOUR_MS)).toEqual(["up b"]);
    expect(await deliver(NOW + 4 * HOUR_MS)).toEqual(["group down 1 down: +c"]);
  });
});

describe("messages about several checks", () => {
  const policy: Policy = { groupBy: ["project"], groupWait: 0, groupInterval: 60 };

  test("are sent one after the other, also if one has to be repeated", async () => {
    const [a, b] = [await newCheck("a", { policy }), await newCheck("b", { policy })];
    await down(a, NOW);
    await down(b, NOW);
    answer = "in doubt";
    await deliver(NOW);
    answer = "sent";
    await up(a, NOW + SECOND_MS);
    // The first one comes again, then the recovery.
    const messages: string[] = [];
    for (let second = 1; second < 600; second += 10)
      messages.push(...(await deliver(NOW + second * SECOND_MS)));
    expect(messages.map((text) => text.replace(/^group \w+ \d down: /, ""))).toEqual(["+a +b", "-a"]);
  });

  test("do not name a check that was moved to another project", async () => {
    const a = await newCheck("a", { policy });
    await down(a, NOW);
    expect(await deliver(NOW)).toEqual(["group down 1 down: +a"]);
    const { id: elsewhere } = await sampleProject(database.db);
    await sql("update checks set project_id = $2 where id = $1", [a.id, elsewhere]);
    await up(a, NOW + MINUTE_MS);
    expect(await deliver(NOW + MINUTE_MS)).toEqual([]);
  });

  test("are forgotten with their checks", async () => {
    const a = await newCheck("a", { policy });
    await down(a, NOW);
    await deliver(NOW);
    const before = NOW + HOUR_MS;
    await inTransaction(database.db, (tx) => pruneDeliveries(tx, { before, limit: 1_000_000 }));
    expect(
      await sql(
        "select from delivery_alerts where not exists (select from deliveries where id = delivery_id)",
      ),
    ).toEqual([]);
  });
});

describe("reminders", () => {
  test("begin when a check with them joins an incident without", async () => {
    const plain = await newCheck("a", { policy: { groupBy: ["project"], groupWait: 0, groupInterval: 60 } });
    const strict = await newCheck("b", {
      policy: { groupBy: ["project"], groupWait: 0, groupInterval: 60, repeat: 3_600 },
    });
    await down(plain, NOW);
    expect(await deliver(NOW)).toEqual(["group down 1 down: +a"]);
    await down(strict, NOW + 2 * MINUTE_MS);
    expect(await deliver(NOW + 2 * MINUTE_MS)).toEqual(["group update 2 down: +b"]);
    const messages: string[] = [];
    for (let at = NOW + 3 * MINUTE_MS; at < NOW + 65 * MINUTE_MS; at += MINUTE_MS)
      messages.push(...(await deliver(at)));
    expect(messages).toEqual(["group update 2 down:"]);
  });
});

test("a reminder about several checks is not sent after somebody has acknowledged them", async () => {
  const check = await newCheck("a", { policy: { groupBy: ["project"], groupWait: 0, repeat: 3_600 } });
  await down(check, NOW);
  expect(await deliver(NOW)).toEqual(["group down 1 down: +a"]);
  answer = "failed";
  await deliver(NOW + HOUR_MS);
  answer = "sent";
  const at = NOW + HOUR_MS + SECOND_MS;
  await acknowledgeIncident(database.db, { projectId, number: 1, by: BY, at });
  expect(await deliver(NOW + 2 * HOUR_MS)).toEqual([]);
});

describe("what a user changes meanwhile", () => {
  const visibility = { watermarkAt: NOW + 24 * HOUR_MS, blind: [] };
  const command = ({ id: checkId, uuid }: CheckWithState, at: number) => ({
    projectId,
    checkId,
    uuid,
    at,
    visibility,
    accountId: null,
    checkLimitDefault: 100,
  });
  const policy: Policy = { groupBy: ["project"], groupWait: 60, groupInterval: 60 };

  test("a policy with reminders applies to open incidents", async () => {
    const check = await newCheck("backup");
    await down(check, NOW);
    expect(await deliver(NOW)).toEqual(["down backup"]);
    await updateProjectPolicy(database.db, {
      project: { id: projectId, name: "" },
      change: { repeat: 3_600 },
      expected: null,
      visibility,
      by: BY,
      at: NOW + MINUTE_MS,
    });
    expect(await deliver(NOW + 2 * MINUTE_MS)).toEqual([]);
    expect(await deliver(NOW + HOUR_MS)).toEqual(["still down backup"]);
  });

  test("an incident that is resolved is not notified afterwards", async () => {
    const check = await newCheck("backup");
    await sql("update check_states set status = 'down' where check_id = $1", [check.id]);
    await down(check, NOW);
    answer = "failed";
    await deliver(NOW);
    answer = "sent";
    await resolveIncident(database.db, {
      projectId,
      number: 1,
      by: BY,
      at: NOW + SECOND_MS,
      visibility,
    });
    expect(await deliver(NOW + HOUR_MS)).toEqual([]);
  });

  test("a check whose history is cleared leaves the message of a group", async () => {
    const [a, b] = [await newCheck("a", { policy }), await newCheck("b", { policy })];
    await down(a, NOW);
    await down(b, NOW);
    await clearHistory(database.db, command(a, NOW + SECOND_MS));
    expect(await deliver(NOW + MINUTE_MS)).toEqual(["group down 1 down: +b"]);
    await clearHistory(database.db, command(b, NOW + 2 * MINUTE_MS));
    expect(await deliver(NOW + HOUR_MS)).toEqual([]);
    expect(await sql("select from alerts where check_id = any ($1)", [[a.id, b.id]])).toEqual([]);
  });

  test("a check that is deleted while held and restored is notified at the end of the silence", async () => {
    const check = await newCheck("backup");
    await silence({ from: NOW, until: NOW + HOUR_MS });
    await sql("update check_states set status = 'down' where check_id = $1", [check.id]);
    await down(check, NOW + SECOND_MS);
    const at = NOW + MINUTE_MS;
    await trashCheck(database.db, command(check, at));
    expect(await deliver(at)).toEqual([]);
    const restored = await restoreCheck(database.db, command(check, at + MINUTE_MS));
    expect(restored).toEqual({ kind: "restored" });
    expect(await deliver(NOW + HOUR_MS)).toEqual(["down backup"]);
  });

  test("a group of which a check is deleted says nothing about it", async () => {
    const [a, b] = [await newCheck("a", { policy }), await newCheck("b", { policy })];
    await down(a, NOW);
    await down(b, NOW);
    await trashCheck(database.db, command(a, NOW + SECOND_MS));
    expect(await deliver(NOW + MINUTE_MS)).toEqual(["group down 1 down: +b"]);
  });
});

test("two notifiers and a check that goes up and down lose and repeat nothing", async () => {
  const policy: Policy = { groupBy: ["project"], groupWait: 0, groupInterval: 60 };
  const plain = await newCheck("plain");
  const combined = await newCheck("combined", { policy });
  const messages: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    const at = NOW + round * 4 * MINUTE_MS;
    const [one, two] = await Promise.all([
      Promise.all([down(plain, at, "fail"), down(combined, at)]).then(() => deliver(at)),
      deliver(at),
    ]);
    const [three, four] = await Promise.all([
      Promise.all([up(plain, at + 2 * MINUTE_MS), up(combined, at + 2 * MINUTE_MS)]).then(() =>
        deliver(at + 2 * MINUTE_MS),
      ),
      deliver(at + 2 * MINUTE_MS),
    ]);
    messages.push(...one, ...two, ...three, ...four);
  }
  messages.push(...(await deliver(NOW + HOUR_MS)));
  const counts = new Map<string, number>();
  for (const message of messages) counts.set(message, (counts.get(message) ?? 0) + 1);
  expect(Object.fromEntries(counts)).toEqual({
    "down plain": 6,
    "up plain": 6,
    "group down 1 down: +combined": 6,
    "group up 0 down: -combined": 6,
  });
});

describe("an incident of several checks", () => {
  const policy: Policy = { groupBy: ["project"], groupWait: 0, groupInterval: 60, reopenWithin: 3_600 };

  test("that all reopen it at once counts as reopened once", async () => {
    const checks = [
      await newCheck("a", { policy }),
      await newCheck("b", { policy }),
      await newCheck("c", { policy }),
    ];
    const at = { opened: NOW, closed: NOW + 2 * MINUTE_MS, again: NOW + 4 * MINUTE_MS };
    const changeAll = async (to: "down" | "up", when: number) => {
      for (const check of checks) {
        const flipId = await insertFlip(check, flip(to, when));
        const change: AlertChange =
          to === "down"
            ? { kind: "opened", at: when, cause: "missed", flip: null }
            : { kind: "closed", at: when, cause: "recovered", flip: null };
        await write(check, change, flipId);
      }
      return deliver(when);
    };
    await changeAll("down", at.opened);
    await changeAll("up", at.closed);
    await changeAll("down", at.again);
    const [incident] = await sql("select id, reopen_count from incidents where project_id = $1", [projectId]);
    const events = await sql("select kind from incident_events where incident_id = $1", [incident?.["id"]]);
    expect(events).toEqual([{ kind: "reopened" }]);
  });

  test("does not hide a problem of one check because another is flapping", async () => {
    const [a, b] = [await newCheck("a", { policy }), await newCheck("b", { policy })];
    let at = NOW;
    const step = () => (at += 2 * MINUTE_MS);
    await down(a, at);
    await down(b, at);
    await deliver(at);
    await up(b, step());
    await deliver(at);
    await up(a, step());
    await deliver(at);
    for (let round = 0; round < 3; round += 1) {
      await down(a, step());
      await deliver(at);
      await up(a, step());
      await deliver(at);
    }
    await down(b, step());
    expect(await deliver(at)).toEqual([expect.stringContaining("b")]);
  });
});
