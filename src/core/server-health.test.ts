// Which health problems admins are notified of: at which thresholds, once when they begin and once when they end.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HOUR_MS } from "./instant.ts";
import {
  adminMessage,
  type Backlog,
  changesOf,
  countNeeds,
  healthOf,
  type HealthProblem,
  healthProblemsOf,
  type Incident,
  isMoving,
  type Observed,
  stillHeld,
  sweepLagMs,
} from "./server-health.ts";

const NOW = Date.UTC(2026, 10, 16, 12);
const WELL: Observed = {
  now: NOW,
  watermarkAt: NOW - 2_000,
  holderName: "host/1",
  newestHeartbeatAt: NOW - 500,
  unsettledSinceAt: null,
  sweepDueAt: null,
  freshSinceAt: NOW - 86_400_000,
  spools: [],
  lost: [],
  lostCommits: [],
  deliveryDueAt: null,
  locked: [],
  poisoned: [],
  adminChannel: null,
  quarantined: null,
  refusals: [],
  stopped: [],
  unappliedSinceAt: null,
};

test("an admin channel that is missing or disabled is reported, one that works is not", () => {
  const uuid = "6f1c9a52-8d0b-4f3e-9a57-2c4d6e8f0a1b";
  expect(told({ adminChannel: { uuid, state: "enabled" } })).toEqual([]);
  expect(told({ adminChannel: { uuid, state: "missing" } })).toMatchObject([
    {
      kind: "adminChannelUnusable",
      subject: uuid,
      text: expect.stringMatching(/does not exist.*OVERDUE_ADMIN_CHANNEL/),
    },
  ]);
  expect(told({ adminChannel: { uuid, state: "disabled" } })).toMatchObject([
    { kind: "adminChannelUnusable", subject: uuid, text: expect.stringMatching(/is disabled.*Enable it/) },
  ]);
});

test("a provider that refuses the server's key is reported for its kind, with the setting", () => {
  const reason = "Telegram does not accept the token of the server's bot (OVERDUE_TELEGRAM_TOKEN) (HTTP 401)";
  const [problem, ...more] = told({ refusals: [{ kind: "telegram", reason, since: NOW - 7 }] });
  expect(more).toEqual([]);
  expect(problem).toMatchObject({ kind: "providerKeyRefused", subject: "telegram", since: NOW - 7 });
  expect(problem?.text).toMatch(/kind telegram fail .*OVERDUE_TELEGRAM_TOKEN/);
});

test("recorders that are behind by half of the shortest retention are reported", () => {
  const half = 36 * HOUR_MS;
  expect(told({ unappliedSinceAt: NOW - half })).toEqual([]);
  const [problem, ...more] = told({ unappliedSinceAt: NOW - half - 1 });
  expect(more).toEqual([]);
  expect(problem).toMatchObject({ kind: "logBehind", subject: "", since: NOW - half - 1 });
  expect(problem?.text).toMatch(/^Pings in the log have not been applied since .* role recorder/);
});

test("stopped partitions of the log are reported with what to do", () => {
  const reason = "record 7 is not in the log (out of range)";
  const [problem] = told({ stopped: [{ partition: 3, reason }] });
  expect(problem).toMatchObject({ kind: "logStopped", subject: "" });
  expect(problem?.text).toMatch(/^Partition 3 of the log is stopped.*record 7.*overdue log accept-loss/);
  const [both] = told({
    stopped: [
      { partition: 3, reason },
      { partition: 4, reason },
    ],
  });
  expect(both?.text).toMatch(/^2 partitions of the log are stopped/);
});

const told = (given: Partial<Observed>) => healthProblemsOf({ ...WELL, ...given });
const kinds = (given: Partial<Observed>) => told(given).map(({ kind }) => kind);

test("deadlines that no sweeper checks are reported, those that wait for a reason are not", () => {
  const sweepDueAt = NOW - 121_000;
  expect(told({ sweepDueAt })).toMatchObject([
    {
      kind: "sweepStuck",
      since: sweepDueAt,
      text: expect.stringMatching(/Start a process with the role sweeper/),
    },
  ]);
  expect(kinds({ sweepDueAt: NOW - 120_000 })).toEqual([]);
  expect(kinds({ sweepDueAt, freshSinceAt: NOW - 170_000 })).toEqual([]);
  expect(kinds({ sweepDueAt, freshSinceAt: null })).toEqual([]);
  expect(kinds({ sweepDueAt, watermarkAt: NOW - 300_000 })).toEqual(["watermarkHeld"]);
  expect(kinds({ sweepDueAt, locked: [{ name: "a", since: NOW - 90_000 }] })).toEqual(["checkLocked"]);
});

const QUIET: Backlog = {
  now: NOW,
  intakeCount: 1,
  lostCount: 0,
  sweepDueAt: null,
  letterDueAt: null,
  freshSinceAt: NOW - 86_400_000,
  sendsMail: true,
  missingMigrationCount: 0,
};

describe("the parts of the server", () => {
  const unwell = (backlog: Partial<Backlog>, given: Partial<Observed> = {}) =>
    Object.entries(healthOf(told(given), { ...QUIET, ...backlog }))
      .filter(([, isWell]) => isWell === false)
      .map(([part]) => part);

  test("are unhealthy while a health problem is reported", () => {
    expect(unwell({})).toEqual([]);
    expect(unwell({}, { deliveryDueAt: NOW - 120_000 })).toEqual([]);
    expect(unwell({}, { deliveryDueAt: NOW - 120_001 })).toEqual(["notifications"]);
    expect(unwell({}, { watermarkAt: NOW - 60_001 })).toEqual(["receiving"]);
    expect(unwell({}, { spools: [{ name: "a/1", fill: 0.5 }] })).toEqual(["receiving"]);
    expect(unwell({}, { poisoned: [{ name: "x", since: NOW, reason: "y" }] })).toEqual(["monitoring"]);
  });

  test("are unhealthy if no process reports it", () => {
    expect(unwell({ lostCount: 1 })).toEqual(["receiving"]);
    expect(unwell({ sweepDueAt: NOW - 60_000, letterDueAt: NOW - 120_000 })).toEqual([]);
    expect(unwell({ sweepDueAt: NOW - 60_001 })).toEqual(["monitoring"]);
    expect(unwell({ letterDueAt: NOW - 120_001 })).toEqual(["email"]);
    expect(unwell({ missingMigrationCount: 1 })).toEqual(["database"]);
  });

  test("are unknown while no process receives yet, or no email is sent", () => {
    const health = healthOf([], { ...QUIET, intakeCount: 0, sendsMail: false, letterDueAt: 0 });
    expect(health).toMatchObject({ receiving: null, email: null, monitoring: true });
    const gone = { watermarkAt: null, newestHeartbeatAt: NOW - 61_000 };
    expect(unwell({ intakeCount: 0 }, gone)).toEqual(["receiving"]);
  });

  test("are not behind while deadlines are on hold after a gap, or no process receives", () => {
    const sweepDueAt = NOW - 10_000_000;
    expect(unwell({ sweepDueAt, freshSinceAt: NOW - 120_000 })).toEqual([]);
    expect(unwell({ sweepDueAt, freshSinceAt: NOW - 120_001 })).toEqual(["monitoring"]);
    expect(unwell({ sweepDueAt, freshSinceAt: null })).toEqual([]);
    expect(sweepLagMs({ now: NOW, sweepDueAt, freshSinceAt: NOW - 61_000 })).toBe(1_000);
    expect(sweepLagMs({ now: NOW, sweepDueAt, freshSinceAt: NOW - 59_000 })).toBe(0);
  });

  test("count once together with their health problems", () => {
    const problems = told({ deliveryDueAt: NOW - 120_001 });
    expect(countNeeds(problems, healthOf(problems, QUIET))).toBe(1);
    expect(countNeeds(problems, healthOf(problems, { ...QUIET, letterDueAt: 0 }))).toBe(2);
    expect(countNeeds([], healthOf([], QUIET))).toBe(0);
  });
});

describe("health problems", () => {
  test("are none while everything works, and before the first start of an intake", () => {
    expect(kinds({})).toEqual([]);
    expect(kinds({ watermarkAt: null, newestHeartbeatAt: null, holderName: null })).toEqual([]);
  });

  test("a watermark that is held for a minute, and by whom", () => {
    expect(kinds({ watermarkAt: NOW - 60_000 })).toEqual([]);
    const [problem] = told({ watermarkAt: NOW - 60_001 });
    expect(problem).toMatchObject({ kind: "watermarkHeld", since: NOW - 60_001 });
    expect(problem?.text).toContain("host/1");
    expect(problem?.text).toContain("2026-11-16 11:58:59 UTC");
  });

  test("no process receives, from a minute after the last heartbeat on", () => {
    expect(kinds({ watermarkAt: null, newestHeartbeatAt: NOW - 60_000 })).toEqual([]);
    const [problem] = told({ watermarkAt: null, newestHeartbeatAt: NOW - 61_000 });
    expect(problem).toMatchObject({ kind: "watermarkHeld", since: NOW - 61_000 });
    expect(problem?.text).toContain("No process has been able to receive pings");
  });

  test("deadlines are on hold for longer than settling takes", () => {
    expect(kinds({ unsettledSinceAt: NOW - 120_000 })).toEqual([]);
    expect(kinds({ unsettledSinceAt: NOW - 120_001 })).toEqual(["watermarkHeld"]);
  });

  test("each spool that is half full", () => {
    const spools = [
      { name: "a/1", fill: 0.49 },
      { name: "b/2", fill: 0.5 },
      { name: "c/3", fill: 0.99 },
    ];
    expect(told({ spools }).map(({ subject }) => subject)).toEqual(["b/2", "c/3"]);
    expect(told({ spools })[1]?.text).toContain("99%");
  });

  test("a message that nothing hinders and that waits for more than two minutes", () => {
    expect(kinds({ deliveryDueAt: NOW - 120_000 })).toEqual([]);
    expect(kinds({ deliveryDueAt: NOW - 120_001 })).toEqual(["deliveryStuck"]);
  });

  test("each intake that was lost within the hour", () => {
    const lost = [
      { intakeId: "a", name: "a/1", lostAt: NOW - 10 },
      { intakeId: "b", name: "b/1", lostAt: NOW - 3_600_001 },
    ];
    expect(told({ lost })).toMatchObject([{ kind: "intakeLost", subject: "a", since: NOW - 10 }]);
  });

  test("each time of which the database has lost acknowledged pings, for an hour", () => {
    const lostCommits = [
      { id: 7, from: NOW - 60_000, to: NOW - 10 },
      { id: 6, from: NOW - 4_000_000, to: NOW - 3_600_001 },
    ];
    const [problem, more] = told({ lostCommits });
    expect(problem).toMatchObject({ kind: "pingsLost", subject: "7", since: NOW - 10 });
    expect(problem?.text).toContain("Acknowledged pings from");
    expect(more).toBeUndefined();
  });

  test("checks that have been locked for a minute, as one problem", () => {
    const locked = [
      { name: "backup", since: NOW - 59_999 },
      { name: "report", since: NOW - 60_000 },
    ];
    const [problem, more] = told({ locked });
    expect(problem).toMatchObject({ kind: "checkLocked", since: NOW - 60_000 });
    expect(problem?.text).toContain("the check report ");
    expect(more).toBeUndefined();
  });

  test("checks that could not be evaluated, as one problem that names the first few", () => {
    const poisoned = Array.from({ length: 8 }, (_, n) => ({
      name: `job ${n}`,
      since: NOW - n,
      reason: "why",
    }));
    const [problem, more] = told({ poisoned });
    expect(problem).toMatchObject({ kind: "checkPoisoned", since: NOW - 7 });
    expect(problem?.text).toContain("the checks job 0, job 1, job 2, job 3, job 4 and 3 more");
    expect(problem?.text).toContain("why");
    expect(more).toBeUndefined();
  });
});

describe("the heartbeat", () => {
  const sweeping = { sweptAt: NOW - 1_000, now: NOW };

  test("is given only while sweeper, watermark and delivery move", () => {
    expect(isMoving([], sweeping)).toBe(true);
    expect(isMoving([], { ...sweeping, sweptAt: null })).toBe(false);
    expect(isMoving([], { ...sweeping, sweptAt: NOW - 60_001 })).toBe(false);
    expect(isMoving(told({ watermarkAt: NOW - 61_000 }), sweeping)).toBe(false);
    expect(isMoving(told({ deliveryDueAt: NOW - 121_000 }), sweeping)).toBe(false);
    expect(isMoving(told({ spools: [{ name: "a", fill: 0.9 }] }), sweeping)).toBe(true);
  });
});

test("a check that is held all the while keeps its beginning, and one that was free in between does not", () => {
  const first = stillHeld(new Map(), { checkIds: [1, 2], now: NOW });
  const second = stillHeld(first, { checkIds: [2], now: NOW + 1_000 });
  expect([...stillHeld(second, { checkIds: [1, 2], now: NOW + 2_000 })]).toEqual([
    [1, NOW + 2_000],
    [2, NOW],
  ]);
});

describe("a health problem", () => {
  const problem: HealthProblem = {
    kind: "deliveryStuck",
    subject: "",
    since: NOW - 200_000,
    text: "It waits.",
  };
  const incident = (seenAt: number): Incident => ({ ...problem, seenAt });

  test("is reported when it begins, not while it lasts, and once more when it is over", () => {
    expect(changesOf([], { problems: [problem], now: NOW })).toEqual({
      begun: [problem],
      lasting: [],
      over: [],
    });
    const lasting = [incident(NOW - 10_000)];
    expect(changesOf(lasting, { problems: [problem], now: NOW })).toEqual({ begun: [], lasting, over: [] });
    const over = [incident(NOW - 60_000)];
    expect(changesOf(over, { problems: [], now: NOW })).toEqual({ begun: [], lasting: [], over });
  });

  test("is not over after a short pause, nor while another process observes it", () => {
    expect(changesOf([incident(NOW - 59_999)], { problems: [], now: NOW }).over).toEqual([]);
  });

  test("of the same kind about something else is another one", () => {
    const spool = (subject: string): HealthProblem => ({
      kind: "spoolFilling",
      subject,
      since: NOW,
      text: "",
    });
    const open = [{ ...spool("a"), seenAt: NOW }];
    expect(changesOf(open, { problems: [spool("a"), spool("b")], now: NOW }).begun).toEqual([spool("b")]);
  });

  test("that comes and goes is reported as often as its end, or once more", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 300 }), (looks) => {
        let open: Incident[] = [];
        let [begun, over, now] = [0, 0, NOW];
        for (const isThere of looks) {
          now += 10_000;
          const changes = changesOf(open, { problems: isThere ? [problem] : [], now });
          begun += changes.begun.length;
          over += changes.over.length;
          const seenAt = now;
          if (changes.begun.length + changes.lasting.length > 0) open = [{ ...problem, seenAt }];
          else if (changes.over.length > 0) open = [];
          expect(begun - over).toBe(open.length);
        }
      }),
    );
  });

  test("has a text that says what has begun, and what is over", () => {
    const at = NOW;
    expect(adminMessage(problem, { at, isOver: false })).toEqual({
      kind: "operator",
      at,
      isOver: false,
      trouble: "deliveryStuck",
      since: NOW - 200_000,
      title: "Notifications are not being sent",
      text: "It waits.",
    });
    expect(adminMessage(problem, { at, isOver: true })).toMatchObject({
      title: "Notifications are being sent again",
      text: "Started at 2026-11-16 11:56:40 UTC: It waits.",
    });
  });
});

test("quarantined pings are reported once, with advice", () => {
  const [problem] = healthProblemsOf({ ...WELL, quarantined: { count: 3, since: NOW - 7 } });
  expect(problem).toMatchObject({ kind: "pingQuarantined", since: NOW - 7 });
  expect(problem?.text).toContain("3 pings could not be recorded");
  expect(problem?.text).toContain("overdue admin quarantine retry");
});
