// What the model says about the real run at the limit, from the costs that were measured before, part by part.
import type { LogMeasured } from "./measure-log.ts";
import { play } from "./model.ts";

/** Finer than a second, because the run takes only some seconds. */
const STEPS_PER_SECOND = 20;
const STEPS_MAX = 600 * STEPS_PER_SECOND;

/**
 * Everything shares the cores of one machine, without those that other programs used. Receiving comes first: how many
 * pings were accepted is known, and the question is when all of them are applied.
 */
export function predictReal(
  { costs, senderUs, appendUs, readUs, recorderPerSecond, real }: LogMeasured,
  cores: number,
): { backlog: number; totalSeconds: number } {
  const sentSteps = real.sentSeconds * STEPS_PER_SECOND;
  const { backlog, drainedAt } = play(
    {
      routersPerSecond: Infinity,
      edgesPerSecond: Infinity,
      clusterPerSecond: Infinity,
      cellsPerCluster: 1,
      applierPerSecond: recorderPerSecond / STEPS_PER_SECOND,
      recordCores: (cores - real.otherCores) / STEPS_PER_SECOND,
      recordUs: costs.recorderUs + costs.postgresUs + readUs,
      receiveUs: senderUs + costs.edgeUs + appendUs,
      alertsPerSecond: 0,
      alertUs: 0,
    },
    {
      seconds: STEPS_MAX,
      pingsAt: (step) => (step === 0 ? real.waiting : 0) + (step < sentSteps ? real.accepted / sentSteps : 0),
      loads: [1],
      applierShares: [1],
      chatty: null,
      down: null,
      silent: { at: [], alerts: 0 },
    },
  );
  const drained = drainedAt === null ? sentSteps : Math.max(sentSteps, drainedAt);
  return { backlog, totalSeconds: drained / STEPS_PER_SECOND };
}
