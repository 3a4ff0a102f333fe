// Complete runs on a real database: saved worlds, a small generated world, and every planted fault.
import { randomBytes } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import { TEMPLATE_DATABASE } from "../support/set-up-postgres.ts";
import { openEnvironment } from "./driver/environment.ts";
import { type PlantedFault, PLANTED_FAULTS } from "./planted-faults.ts";
import { realServer } from "./real-server.ts";
import { type Simulated, simulate } from "./simulate.ts";
import { generateWorld } from "./world/generate.ts";
import { readWorld } from "./world/text.ts";
import { without, type World } from "./world/world.ts";

/** Generous limit for slow machines. */
const TEST_MS_MAX = 600_000;
const CLEAN = { false: 0, missed: 0, late: 0, duplicated: 0, lost: 0 };

/** Runs a world on a new database. */
async function simulateWorld(world: World, plantedFault: PlantedFault | null = null): Promise<Simulated> {
  const name = `sim_${randomBytes(8).toString("hex")}`;
  const admin = new pg.Client({ connectionString: inject("postgresUrl") });
  await admin.connect();
  await admin.query(`create database ${name} template ${TEMPLATE_DATABASE}`);
  try {
    const environment = await openEnvironment(inject("postgresUrl").replace(/\/postgres$/, `/${name}`));
    try {
      return await simulate(world, {
        environment,
        server: realServer,
        plantedFault,
        endsAtMs: Infinity,
        log: () => {},
      });
    } finally {
      await environment.close();
    }
  } finally {
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}

describe("saved worlds", { timeout: TEST_MS_MAX }, () => {
  const folder = join(import.meta.dirname, "worlds");
  const savedWorld = (name: string) => readWorld(readFileSync(join(folder, name), "utf8"));

  test.each(globSync("*.world", { cwd: folder }))("%s has no findings", async (name) => {
    const { tally, findings } = await simulateWorld(savedWorld(name));
    expect(findings).toEqual([]);
    expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed });
  });
});

test("half a day of a generated world has no findings", { timeout: TEST_MS_MAX }, async () => {
  const { tally, findings } = await simulateWorld(
    generateWorld({ seed: 20_261_115, days: 0.5, checks: 150 }),
  );
  expect(findings).toEqual([]);
  expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed });
  expect(tally.owed).toBeGreaterThan(10);
});

describe("half a day of a generated world with policies", { timeout: TEST_MS_MAX }, () => {
  const world = generateWorld({ seed: 39, days: 0.5, checks: 60, policies: true });

  test("has no findings, and is recorded as without silences, dependencies and the like", async () => {
    const { tally, findings, flipsDigest, recordsDigest, messagesDigest } = await simulateWorld(world);
    expect(findings).toEqual([]);
    expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed });
    expect(tally.owed).toBeGreaterThan(10);
    const plain = await simulateWorld(without(world, { silences: true, notifyRules: true }));
    expect(plain.findings).toEqual([]);
    expect({ flipsDigest, recordsDigest }).toEqual({
      flipsDigest: plain.flipsDigest,
      recordsDigest: plain.recordsDigest,
    });
    expect(messagesDigest).not.toBe(plain.messagesDigest);
  });
});

describe("planted faults", { timeout: TEST_MS_MAX }, () => {
  /** Forty hourly checks: some send through the spool, some fail, some stop sending. */
  function smallWorld(): World {
    const checks = Array.from({ length: 40 }, (_, index) => {
      const actions = [`0.00:0${index % 4} success`];
      if (index % 4 === 0) actions.push("0.01:00:10 success", "0.02:10 fail", "0.02:15 success");
      if (index % 4 === 1) actions.push("0.01:01:20 success", "0.02:00:40 success");
      if (index % 4 === 2) actions.push("0.01:02:30 success", "0.02:06 success");
      return `check c${index} simple 1h grace 3m channels ${index % 3}\n  ${actions.join("\n  ")}`;
    });
    return readWorld(`world from 2026-11-16T00:00Z days 0.2 intakes 2 channels 3 turns 60s
fault intake-cut 0 0.00:59 0.01:07
fault all-stopped 0.01:58 0.02:00:30
fault notifier-down 0.02:10 0.02:12
${checks.join("\n")}`);
  }

  /** A silence from 2:30 to 4:00, and checks that fail before, during and after it. */
  function policyWorld(): World {
    const checks = {
      // Notified before the silence, over during it.
      "recovered simple 12h grace 1h channels 0": ["0.02:10 fail", "0.03:00 success"],
      // Over during the silence, so not notified.
      "dropped simple 12h grace 1h channels 0": ["0.02:40 fail", "0.03:00 success"],
      "held simple 12h grace 1h channels 1 repeat 1h": ["0.02:40 fail"],
      "acknowledged simple 12h grace 1h channels 1 repeat 10m": ["0.01:40 fail", "0.01:55 ack"],
      "tolerated simple 12h grace 1h failures 2/4 channels 2": [
        "0.00:10 fail",
        "0.00:20 fail",
        "0.00:30 success",
        "0.01:30 fail",
        "0.01:40 success",
      ],
      "recovering simple 12h grace 1h recovery 2 channels 2": [
        "0.01:10 fail",
        "0.01:20 success",
        "0.01:30 success",
      ],
      "parent simple 12h grace 1h channels none": ["0.01:00 fail"],
      "child simple 12h grace 1h channels 3 depends parent": ["0.01:30 fail"],
      "missed simple 1h grace 3m missed 2 channels 3": [],
      "grouped simple 1h grace 3m channels 2 grouped": [],
    };
    const lines = Object.entries(checks).map(([check, actions]) =>
      [`check ${check}`, "0.00:01 success", ...actions].join("\n  "),
    );
    return readWorld(`world from 2026-11-16T00:00Z days 0.25 intakes 2 channels 4 turns 60s
fault planner-killed 0.01:10 0.01:10:02
fault planner-killed 0.01:30 0.01:30:02
fault planner-killed 0.02:10 0.02:10:02
silence 0 all at 0.02:20 from 0.02:30 until 0.04:00
${lines.join("\n")}`);
  }

  test("a run without a planted fault has no findings", async () => {
    const { tally, findings, repeatCount } = await simulateWorld(smallWorld());
    expect(findings).toEqual([]);
    expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed });
    // The notifier is killed after a message was accepted and before that was recorded.
    expect(repeatCount).toBeGreaterThan(0);
  });

  test("neither has one with policies", async () => {
    const { tally, findings } = await simulateWorld(policyWorld());
    expect(findings).toEqual([]);
    expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed, dropped: 1 });
    expect(tally.repeats).toBeGreaterThan(0);
  });

  test.each(Object.entries(PLANTED_FAULTS))("%s is detected", async (_, plantedFault) => {
    const world = plantedFault.needsPolicies === true ? policyWorld() : smallWorld();
    const { tally } = await simulateWorld(world, plantedFault);
    expect(tally[plantedFault.detectedBy]).toBeGreaterThan(0);
  });
});
