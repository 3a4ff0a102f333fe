// The text of each fact, rendered as the server judged it. The diagnostics reveal no secrets.
import { describe, expect, test } from "vitest";
import type { ServerState } from "../../src/contract/api/admin.ts";
import { diagnosticsOf, factsOf } from "./admin.tsx";

const NOW = 1_800_000_000_000;
const WELL: ServerState = {
  version: "0.1.0",
  now: NOW,
  intakes: [
    {
      name: "host-7 secret-name",
      startedAt: NOW - 60_000,
      heartbeatAt: NOW - 500,
      isLost: false,
      spoolEmpty: true,
      spoolFill: 0,
      pingsPerMinute: 1_204,
    },
  ],
  pingsPerMinute: 1_204,
  log: null,
  sweeperLagMs: 0,
  oldestUnsentAt: null,
  unsentCount: 0,
  oldestEmailAt: null,
  databaseBytes: 2_100_000,
  migrations: [{ name: "0001_start", appliedAt: NOW }],
  problems: [],
  quarantined: { count: 0, pings: [] },
  health: { receiving: true, monitoring: true, notifications: true, email: true, database: true },
  restore: null,
  fireDrill: null,
  problemCount: 0,
  sendsMail: true,
  registrationOpen: false,
  signIn: { oidcIssuer: "https://id.secret.example", proxyHeader: null },
};

function factOf(label: string, change: Partial<ServerState>) {
  return factsOf({ ...WELL, ...change }).find((fact) => fact.label === label);
}

describe("facts", () => {
  test("are healthy or not as the server says, whatever the figures", () => {
    const late = { sweeperLagMs: 900_000, unsentCount: 1, oldestUnsentAt: NOW - 900_000, oldestEmailAt: 1 };
    expect(factsOf({ ...WELL, ...late }).map(({ isWell }) => isWell)).toEqual([
      true,
      true,
      true,
      true,
      true,
      null,
    ]);
    const health = {
      receiving: null,
      monitoring: false,
      notifications: false,
      email: false,
      database: false,
    };
    expect(factsOf({ ...WELL, health }).map(({ isWell }) => isWell)).toEqual([
      null,
      false,
      false,
      false,
      false,
      null,
    ]);
  });

  test("about monitoring show the age of the oldest deadline, and when only a single check is the problem", () => {
    const health = { ...WELL.health, monitoring: false };
    expect(factOf("Monitoring", { sweeperLagMs: 20_000 })?.about).toContain("20 s");
    expect(factOf("Monitoring", { sweeperLagMs: 180_000, health })?.value).toBe("3 min behind");
    expect(factOf("Monitoring", { health })?.value).toBe("some checks blocked");
  });

  test("name a missing receiver, a lost process and a missing migration", () => {
    expect(factOf("Receiving pings", { intakes: [] })?.value).toBe("not running");
    expect(factOf("Receiving pings", {})?.about).toBe("1,204 pings in the last minute. Spool empty.");
    expect(factOf("Receiving pings", { pingsPerMinute: 1 })?.about).toContain("1 ping in the last minute.");
    expect(factOf("Receiving pings", { pingsPerMinute: 0 })?.about).toContain("No pings in the last minute.");
    const lost = WELL.intakes.map((one) => ({ ...one, isLost: true }));
    expect(factOf("Receiving pings", { intakes: lost })?.value).toBe("1 process lost");
    const migrations = [{ name: "0002_more", appliedAt: null }];
    expect(factOf("Database", { migrations })?.about).toContain("overdue migrate");
  });
});

test("about a log show how far recorders are, and what is missing", () => {
  const log = { partitions: 16, stopped: 0, recorders: 2, behindMs: 1_500 };
  expect(factOf("Kafka log", {})).toBeUndefined();
  expect(factOf("Kafka log", { log })).toMatchObject({
    isWell: true,
    value: "up to date",
    about: "16 partitions, 2 recorders.",
  });
  expect(factOf("Kafka log", { log: { ...log, behindMs: 90_000 } })?.value).toBe("1 min 30 s behind");
  expect(factOf("Kafka log", { log: { ...log, recorders: 0 } })).toMatchObject({
    isWell: false,
    value: "no recorder",
  });
  expect(factOf("Kafka log", { log: { ...log, stopped: 1 } })?.value).toBe("1 partition stopped");
  expect(factOf("Receiving pings", { log, pingsPerMinute: null })?.about).toBe("Pings go to the Kafka log.");
});

test("diagnostics name no host, no provider and no subject", () => {
  const problems = [{ kind: "checkPoisoned", subject: "secret-check", since: NOW - 60_000 }];
  const text = diagnosticsOf({ ...WELL, problems }, "Chrome on Linux");
  expect(text).toContain("version: 0.1.0");
  expect(text).toContain("pings per minute: 1204");
  expect(text).toContain("checkPoisoned for 1 min");
  expect(text).not.toContain("secret");
});
