// Recorders are killed again and again while they apply records, compete for the same partitions, and are stopped until
// others have taken their partitions.
import { setTimeout as sleep } from "node:timers/promises";
import { chanceFrom } from "../../chance.ts";
import { type LogPart, PER_SECOND } from "../../log/part.ts";
import type { LogStage } from "../../log/log-stage.ts";
import type { Size } from "../../scenario.ts";

type Plan = { kills: number; pauseMs: readonly [number, number]; stops: number };

const PLANS: Record<Size, Plan> = {
  full: { kills: 100, pauseMs: [300, 2_000], stops: 5 },
  quick: { kills: 10, pauseMs: [300, 1_500], stops: 1 },
  tiny: { kills: 3, pauseMs: [300, 1_000], stops: 0 },
};

/** After this, the partitions of a silent recorder belong to others; see src/operations/log.ts. */
const STOPPED_MS = 6_500;
const RELEASE_EVERY_MS = 700;

export const recorderPart: LogPart = {
  name: "log-recorder",
  about: "recorders are killed, stopped until others have their partitions, and made to compete for them",
  play: async (log, { size }) => {
    const plan = PLANS[size];
    const chance = chanceFrom(log.run.seed + 11);
    const load = log.startLoad(PER_SECOND);
    const competing = compete(log);
    for (let kill = 1; kill <= plan.kills; kill += 1) {
      await sleep(chance.between(...plan.pauseMs));
      const victim = chance.pick(log.recorders);
      await victim.kill();
      victim.launch();
      if (kill % 10 === 0) log.run.say(`kill ${kill} of ${plan.kills} of recorders`);
    }
    for (let stop = 1; stop <= plan.stops; stop += 1) {
      await Promise.all(log.recorders.map((one) => one.ready()));
      const victim = chance.pick(log.recorders);
      victim.freeze();
      await sleep(STOPPED_MS);
      victim.thaw();
    }
    const releases = await competing.end();
    await load.stop();
    await Promise.all(log.recorders.map((one) => one.ready()));
    return { figures: { recorder_kills: plan.kills, recorder_stops: plan.stops, releases }, complaints: [] };
  },
};

/** Takes the partitions away from recorders that still apply them, so that two of them read the same records. */
function compete(log: LogStage): { end: () => Promise<number> } {
  let releases = 0;
  const state = { isOver: false };
  const running = (async () => {
    while (!state.isOver) {
      await sleep(RELEASE_EVERY_MS);
      await log.stage.withClient((client) =>
        client.query("update log_claims set recorder_id = null, claimed_until_at = null"),
      );
      releases += 1;
    }
  })();
  return {
    end: async () => {
      state.isOver = true;
      await running;
      return releases;
    },
  };
}
