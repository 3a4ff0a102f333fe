// Admins are notified of each health problem once when it begins and once when it is over, by one of the processes,
// in the log and through the configured channel.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { SendResult } from "../../../src/core/delivery.ts";
import { HOUR_MS, type Instant } from "../../../src/core/instant.ts";
import { type HealthProblem, healthProblemsOf } from "../../../src/core/server-health.ts";
import { noteProviderAnswers, notifyAdmin, observeServer } from "../../../src/operations/server-health.ts";
import { type IntakesView, readIntakes, skipLostBatches } from "../../../src/operations/intakes.ts";
import { listQuarantinedChecks, quarantineCheck } from "../../../src/store/checks.ts";
import { closeIntake, registerIntake, writeHeartbeat } from "../../../src/store/intakes.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { useDatabase } from "../../support/database.ts";
import { refusal, SENT } from "../../support/owed.ts";
import { makeWatched, makeWorld, type World } from "../../support/sweeping.ts";

const database = useDatabase();
let world: World;
let look: IntakesView;

beforeEach(async () => {
  await database.db.pool.query(
    "truncate intakes, blind_intervals, operator_incidents, provider_refusals, poisoned_checks, deliveries, channels cascade",
  );
  world = await makeWorld(database);
  look = await readIntakes(database.db);
});

const STUCK: HealthProblem = { kind: "deliveryStuck", subject: "", since: 0, text: "It waits." };

const tell = (problems: readonly HealthProblem[], now: Instant, channelUuid: string | null = null) =>
  notifyAdmin(database.db, { problems, now, channelUuid });

async function owed(): Promise<{ kind: string; about: { isOver: boolean; title: string } }[]> {
  const { rows } = await database.db.pool.query(
    "select kind, about from deliveries where kind = 'operator' order by id",
  );
  return rows;
}

describe("a health problem", () => {
  test("is reported once, however many processes check, and once when it is over", async () => {
    const at = look.now;
    const told = await Promise.all([tell([STUCK], at), tell([STUCK], at), tell([STUCK], at)]);
    expect(told.flat()).toMatchObject([{ isOver: false, trouble: "deliveryStuck" }]);
    for (let second = 10; second <= 50; second += 10)
      expect(await tell([STUCK], at + second * 1_000)).toEqual([]);
    // One process does not observe it; it lasts as long as any does.
    expect(await tell([], at + 55_000)).toEqual([]);
    expect(await tell([], at + 109_000)).toEqual([]);
    const ended = await Promise.all([tell([], at + 110_000), tell([], at + 110_000)]);
    expect(ended.flat()).toMatchObject([{ isOver: true, title: "Notifications are being sent again" }]);
    expect(await tell([], at + 120_000)).toEqual([]);
    expect(await tell([STUCK], at + 130_000)).toHaveLength(1);
  });

  test("goes to the configured channel, in the transaction that notes it", async () => {
    const channelUuid = world.channels[0]?.uuid ?? "";
    await tell([STUCK], look.now, channelUuid);
    await tell([], look.now + 60_000, channelUuid);
    expect(await owed()).toMatchObject([
      { about: { kind: "operator", isOver: false, title: "Notifications are not being sent" } },
      { about: { kind: "operator", isOver: true } },
    ]);
  });

  test("is only logged where there is no such channel", async () => {
    expect(await tell([STUCK], look.now, randomUUID())).toHaveLength(1);
    expect(await owed()).toEqual([]);
  });
});

describe("the observed state", () => {
  const observe = async (given: Partial<Parameters<typeof observeServer>[1]> = {}) =>
    observeServer(database.db, {
      look,
      unsettledSinceAt: null,
      locked: new Map(),
      channelUuid: null,
      ...given,
    });
  const kinds = async () => healthProblemsOf(await observe()).map(({ kind }) => kind);

  async function intake(name: string, given: { at: Instant; watermarkAt?: Instant; spoolFill?: number }) {
    const { at, watermarkAt = at - 1_000, spoolFill = 0 } = given;
    const id = randomUUID();
    await inTransaction(database.db, async (tx) => {
      const times = { startedAt: at, watermarkAt, leaseUntilAt: at };
      await registerIntake(tx, { id, name, ...times, spoolEmpty: true });
      const spool = { spoolEmpty: true, spoolFill };
      const said = { watermarkAt, leaseUntilAt: at, ...spool, signalsPerMinute: 0, gapEndedAt: at };
      await writeHeartbeat(tx, { intakeId: id, at, ...said });
    });
    look = await readIntakes(database.db);
    return id;
  }

  test("has no problems on a new server, and on one that works", async () => {
    expect(await kinds()).toEqual([]);
    await intake("host/1", { at: look.now });
    expect(await kinds()).toEqual([]);
  });

  test("a provider that rejected the server's key within a day", async () => {
    const note = (at: Instant) =>
      inTransaction(database.db, (tx) =>
        noteProviderAnswers(tx, {
          answers: [{ kind: "sms", result: refusal({ isOurs: true, reason: "No (OVERDUE_KEY)" }) }],
          at,
        }),
      );
    await note(look.now - 25 * HOUR_MS);
    expect(await kinds()).toEqual([]);
    await note(look.now);
    expect(healthProblemsOf(await observe())).toMatchObject([
      {
        kind: "providerKeyRefused",
        subject: "sms",
        since: look.now,
        text: expect.stringContaining("OVERDUE_KEY"),
      },
    ]);
    const accept = (result: SendResult) =>
      inTransaction(database.db, (tx) =>
        noteProviderAnswers(tx, { answers: [{ kind: "sms", result }], at: look.now }),
      );
    // A channel with a key of its own says nothing about the server's.
    await accept(SENT);
    expect(await kinds()).toEqual(["providerKeyRefused"]);
    await accept({ ...SENT, isOurs: true });
    expect(await kinds()).toEqual([]);
  });

  test("a channel of the admin that is unknown, disabled later, or deleted", async () => {
    const channelUuid = world.channels[0]?.uuid ?? "";
    const texts = async (uuid: string) =>
      healthProblemsOf(await observe({ channelUuid: uuid })).map(({ kind, text }) => `${kind}: ${text}`);
    expect(await texts(channelUuid)).toEqual([]);
    expect(await texts(randomUUID())).toEqual([
      expect.stringMatching(/^adminChannelUnusable: .*does not exist/),
    ]);
    await database.db.pool.query("update channels set disabled_at = now(), disabled_reason = 'by hand'");
    expect(await texts(channelUuid)).toEqual([expect.stringMatching(/^adminChannelUnusable: .*is disabled/)]);
    await database.db.pool.query("delete from channels where uuid = $1", [channelUuid]);
    expect(await texts(channelUuid)).toEqual([
      expect.stringMatching(/^adminChannelUnusable: .*does not exist/),
    ]);
  });

  test("who holds the watermark", async () => {
    await intake("fast/1", { at: look.now });
    await intake("slow/1", { at: look.now, watermarkAt: look.now - 70_000 });
    const [trouble] = healthProblemsOf(await observe());
    expect(trouble).toMatchObject({ kind: "watermarkHeld", text: expect.stringContaining("slow/1") });
  });

  test("no process receives", async () => {
    const id = await intake("host/1", { at: look.now - 100_000 });
    await inTransaction(database.db, (tx) => closeIntake(tx, { intakeId: id, at: look.now, lost: false }));
    look = await readIntakes(database.db);
    const [trouble] = healthProblemsOf(await observe());
    expect(trouble?.text).toContain("No process has been able to receive pings");
  });

  test("a spool that fills, and an intake that was lost", async () => {
    await intake("full/1", { at: look.now, spoolFill: 0.75 });
    const id = await intake("gone/1", { at: look.now });
    await inTransaction(database.db, (tx) => closeIntake(tx, { intakeId: id, at: look.now, lost: true }));
    const problems = healthProblemsOf(await observe());
    expect(problems).toMatchObject([
      { kind: "spoolFilling", subject: "full/1", text: expect.stringContaining("75%") },
      { kind: "intakeLost", subject: id, text: expect.stringContaining("gone/1") },
    ]);
  });

  test("acknowledged pings that the database has lost", async () => {
    const intakeId = await intake("one/1", { at: look.now });
    await skipLostBatches(database.db, { intakeId, lane: 0, seq: 41, name: "one/1" });
    const { now } = await readIntakes(database.db);
    const problems = healthProblemsOf({ ...(await observe()), now });
    expect(problems).toContainEqual(
      expect.objectContaining({ kind: "pingsLost", text: expect.stringContaining("are missing") }),
    );
  });

  test("checks that are quarantined or locked, by name", async () => {
    const { now } = look;
    const check = await makeWatched(database, world, { settings: { name: "nightly backup" } });
    await inTransaction(database.db, (tx) =>
      quarantineCheck(tx, { checkId: check.id, sinceAt: now, untilAt: now + 1_000, reason: "why" }),
    );
    const observed = await observe({ locked: new Map([[check.id, now - 61_000]]) });
    expect(healthProblemsOf(observed)).toMatchObject([
      { kind: "checkLocked", text: expect.stringContaining("nightly backup") },
      { kind: "checkPoisoned", text: expect.stringContaining("nightly backup") },
    ]);
    await tell([], now + 1_000);
    expect(await listQuarantinedChecks(database.db, 10)).toEqual([]);
  });

  describe("a message that waits", () => {
    const since = 200_000;

    async function waiting(given: { channel?: string; delivery?: string } = {}): Promise<Instant | null> {
      await tell([STUCK], look.now - since, world.channels[0]?.uuid ?? "");
      if (given.channel !== undefined) await database.db.pool.query(`update channels set ${given.channel}`);
      if (given.delivery !== undefined)
        await database.db.pool.query(`update deliveries set ${given.delivery}`);
      return (await observe()).deliveryDueAt;
    }

    test("although nothing hinders it is found, with since when", async () => {
      expect(await waiting()).toBe(look.now - since);
    });

    test.each([
      ["a receiver that fails", "failure_count = 3"],
      ["a receiver that asked for rest", "hold_until_at = now() + interval '1 hour'"],
      ["a channel at its limit", "bucket_full_at = now() + interval '1 hour'"],
      ["a channel that was told something a moment ago", "last_notify_at = now()"],
      ["a channel that is disabled", "disabled_at = now(), disabled_reason = 'why'"],
    ])("for %s has its reason", async (_, channel) => {
      expect(await waiting({ channel })).toBeNull();
    });

    test("for its next try, or is being sent, has its reason", async () => {
      expect(await waiting({ delivery: "next_try_at = now() + interval '1 min'" })).toBeNull();
      const delivery =
        "next_try_at = to_timestamp(0), claimed_by = gen_random_uuid(), claimed_until_at = now() + interval '1 min'";
      await database.db.pool.query("truncate operator_incidents, deliveries cascade");
      expect(await waiting({ delivery })).toBeNull();
    });
  });
});
