// Receiving processes are killed behind a router that sends what they did not answer to another one.
import { setTimeout as sleep } from "node:timers/promises";
import { chanceFrom } from "../../chance.ts";
import { type LogPart, PER_SECOND } from "../../log/part.ts";
import type { Size } from "../../scenario.ts";
import { readBlind } from "../../stage/intake-rows.ts";

type Plan = { kills: number; downMs: readonly [number, number]; upMs: readonly [number, number] };

const PLANS: Record<Size, Plan> = {
  full: { kills: 20, downMs: [0, 3_000], upMs: [4_000, 6_000] },
  quick: { kills: 4, downMs: [0, 1_500], upMs: [4_000, 5_000] },
  tiny: { kills: 2, downMs: [0, 200], upMs: [200, 500] },
};

/** An edge is declared lost when another one is this far ahead; see src/core/log.ts. */
const LOST_AFTER_MS = 10_000;

export const edgePart: LogPart = {
  name: "log-edge",
  about: "receiving processes are killed behind a router that repeats unanswered requests",
  play: async (log, { size }) => {
    const plan = PLANS[size];
    const chance = chanceFrom(log.run.seed + 12);
    const before = (await log.stage.withClient(readBlind)).length;
    const load = log.startLoad(PER_SECOND);
    for (let kill = 1; kill <= plan.kills; kill += 1) {
      await sleep(chance.between(...plan.upMs));
      const victim = chance.pick(log.edges);
      await victim.kill();
      await sleep(chance.between(...plan.downMs));
      await victim.start();
      if (kill % 5 === 0) log.run.say(`kill ${kill} of ${plan.kills} of edges`);
    }
    if (size !== "tiny") await sleep(LOST_AFTER_MS + 2_000);
    const { unanswered } = await load.stop();
    const blind = (await log.stage.withClient(readBlind)).slice(before);
    const lost = blind.filter(({ reason }) => reason === "a receiving process was lost").length;
    // On a busy machine, a process can be killed before others know the one that was started last: a gap is then right.
    return {
      figures: { edge_kills: plan.kills, edge_unanswered: unanswered, edge_gaps: lost },
      complaints: [],
    };
  },
};
