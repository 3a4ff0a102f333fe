// PostgreSQL is stopped, crashes, and crashes together with a receiving process. Pings of known checks are accepted
// meanwhile, because the log has them.
import { setTimeout as sleep } from "node:timers/promises";
import { type LogPart, PER_SECOND } from "../../log/part.ts";
import type { Size } from "../../scenario.ts";
import { standStillDatabase } from "../stopped.ts";

type Plan = { stops: number; stillMs: number; crashes: number; downMs: number; pairs: number };

const PLANS: Record<Size, Plan> = {
  full: { stops: 2, stillMs: 20_000, crashes: 3, downMs: 5_000, pairs: 2 },
  quick: { stops: 1, stillMs: 8_000, crashes: 1, downMs: 2_000, pairs: 1 },
  tiny: { stops: 0, stillMs: 0, crashes: 0, downMs: 0, pairs: 1 },
};

const BETWEEN_MS = 2_000;

export const postgresPart: LogPart = {
  name: "log-postgres",
  about: "PostgreSQL is stopped and crashes, alone and together with a receiving process",
  play: async (log, { size }) => {
    const plan = PLANS[size];
    const { stage } = log;
    const load = log.startLoad(PER_SECOND);
    for (let stop = 0; stop < plan.stops; stop += 1) {
      await sleep(BETWEEN_MS);
      await standStillDatabase(stage, plan);
    }
    const acknowledgedBefore = load.counts().acknowledged;
    for (let crash = 0; crash < plan.crashes; crash += 1) {
      await sleep(BETWEEN_MS);
      await stage.postgres.crash();
      await sleep(plan.downMs);
      await stage.postgres.resume();
    }
    const acknowledged = load.counts().acknowledged - acknowledgedBefore;
    for (let pair = 0; pair < plan.pairs; pair += 1) {
      const edge = log.edges[pair % log.edges.length];
      await Promise.all([stage.postgres.crash(), edge?.kill()]);
      await sleep(plan.downMs);
      await stage.postgres.resume();
      await edge?.start();
    }
    await load.stop();
    const complaints =
      plan.crashes > 0 && acknowledged === 0 ? ["nothing was acknowledged while PostgreSQL was down"] : [];
    const figures = {
      postgres_stops: plan.stops,
      postgres_crashes: plan.crashes,
      postgres_and_edge: plan.pairs,
    };
    return { figures, complaints };
  },
};
