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
import type { World } from "./world/world.ts";

/** Generous limit for slow machines. */
const TEST_MS_MAX = 600_000;
const CLEAN = { false: 0, missed: 0, late: 0, duplicated: 0 };

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

  test("a run without a planted fault has no findings", async () => {
    const { tally, findings, repeatCount } = await simulateWorld(smallWorld());
    expect(findings).toEqual([]);
    expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed });
    // The notifier is killed after a message was accepted and before that was recorded.
    expect(repeatCount).toBeGreaterThan(0);
  });

  test.each(Object.entries(PLANTED_FAULTS))("%s is detected", async (_, plantedFault) => {
    const { tally } = await simulateWorld(smallWorld(), plantedFault);
    expect(tally[plantedFault.detectedBy]).toBeGreaterThan(0);
  });
});
