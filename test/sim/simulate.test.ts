// Whole runs on a real database: worlds that are kept, a small one from a seed, and every planted fault, which must
// be seen.
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

/** A bound for what hangs: on a busy machine a world takes its time. */
const TEST_MS_MAX = 600_000;
const CLEAN = { false: 0, missed: 0, late: 0, duplicated: 0 };

/** Plays a world on a database of its own. */
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

describe("worlds that are kept", { timeout: TEST_MS_MAX }, () => {
  const folder = join(import.meta.dirname, "worlds");
  const kept = (name: string) => readWorld(readFileSync(join(folder, name), "utf8"));

  test.each(globSync("*.world", { cwd: folder }))("%s holds", async (name) => {
    const { tally, findings } = await simulateWorld(kept(name));
    expect(findings).toEqual([]);
    expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed });
  });
});

test("half a day of a world from a seed holds", { timeout: TEST_MS_MAX }, async () => {
  const { tally, findings } = await simulateWorld(
    generateWorld({ seed: 20_261_115, days: 0.5, checks: 150 }),
  );
  expect(findings).toEqual([]);
  expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed });
  expect(tally.owed).toBeGreaterThan(10);
});

describe("planted faults", { timeout: TEST_MS_MAX }, () => {
  /** Forty checks that are expected each hour, of which some come through the spool, some fail, some stay silent. */
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

  test("without any, all is well", async () => {
    const { tally, findings, repeatCount } = await simulateWorld(smallWorld());
    expect(findings).toEqual([]);
    expect(tally).toMatchObject({ ...CLEAN, delivered: tally.owed });
    // The notifier was killed after a message was taken and before that was recorded.
    expect(repeatCount).toBeGreaterThan(0);
  });

  test.each(Object.entries(PLANTED_FAULTS))("%s is seen", async (_, plantedFault) => {
    const { tally } = await simulateWorld(smallWorld(), plantedFault);
    expect(tally[plantedFault.detectedBy]).toBeGreaterThan(0);
  });
});
