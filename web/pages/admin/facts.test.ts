// What is well, what is not, and that the diagnostics give nothing away.
import { describe, expect, test } from "vitest";
import type { AdminState } from "../../../src/contract/web/admin.ts";
import { countTroubles, diagnosticsOf, factsOf } from "./facts.ts";

const NOW = 1_800_000_000_000;
const WELL: AdminState = {
  version: "0.1.0",
  now: NOW,
  intakes: [
    {
      name: "host-7 secret-name",
      startedAt: NOW - 60_000,
      beatAt: NOW - 500,
      isLost: false,
      spoolEmpty: true,
      spoolFill: 0,
    },
  ],
  sweeperLagMs: 0,
  oldestUnsentAt: null,
  unsentCount: 0,
  oldestLetterAt: null,
  databaseBytes: 2_100_000,
  migrations: [{ name: "0001_start", appliedAt: NOW }],
  troubles: [],
  mail: true,
  registrationOpen: false,
  signIn: { oidc: "https://id.secret.example", proxyHeader: null },
};

function bad(change: Partial<AdminState>): string[] {
  return factsOf({ ...WELL, ...change })
    .filter(({ isWell }) => isWell === false)
    .map(({ label }) => label);
}

describe("facts", () => {
  test("all is well when nothing waits", () => {
    expect(bad({})).toEqual([]);
    expect(countTroubles(WELL)).toBe(0);
  });

  test("a short wait is no trouble, a long one is", () => {
    expect(bad({ sweeperLagMs: 2_000, unsentCount: 1, oldestUnsentAt: NOW - 5_000 })).toEqual([]);
    expect(bad({ sweeperLagMs: 20_000 })).toEqual(["Watching"]);
    expect(bad({ unsentCount: 1, oldestUnsentAt: NOW - 120_000 })).toEqual(["Telling"]);
    expect(bad({ oldestLetterAt: NOW - 120_000 })).toEqual(["Mail"]);
  });

  test("nobody who receives, a lost process and a missing migration are told", () => {
    expect(bad({ intakes: [] })).toEqual(["Receiving"]);
    expect(bad({ intakes: WELL.intakes.map((one) => ({ ...one, isLost: true })) })).toEqual(["Receiving"]);
    expect(bad({ migrations: [{ name: "0002_more", appliedAt: null }] })).toEqual(["Database"]);
  });

  test("a thing that is told twice counts once", () => {
    const troubles = [{ trouble: "intakeLost", subject: "x", sinceAt: NOW }];
    expect(countTroubles({ ...WELL, troubles, intakes: [] })).toBe(1);
  });
});

test("diagnostics name no host, no provider and no subject", () => {
  const troubles = [{ trouble: "checkPoisoned", subject: "secret-check", sinceAt: NOW - 60_000 }];
  const text = diagnosticsOf({ ...WELL, troubles }, "Chrome on Linux");
  expect(text).toContain("version: 0.1.0");
  expect(text).toContain("checkPoisoned for 1 min");
  expect(text).not.toContain("secret");
});
