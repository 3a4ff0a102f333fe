// Brokers are killed one at a time; the others confirm what two of three have. Sometimes a recorder dies with it.
import { setTimeout as sleep } from "node:timers/promises";
import { chanceFrom } from "../../chance.ts";
import { type LogPart, PER_SECOND } from "../../log/part.ts";
import type { Size } from "../../scenario.ts";

type Plan = { kills: number; downMs: readonly [number, number]; stoppedMs: number };

const PLANS: Record<Size, Plan> = {
  full: { kills: 10, downMs: [0, 8_000], stoppedMs: 20_000 },
  quick: { kills: 2, downMs: [0, 3_000], stoppedMs: 0 },
  tiny: { kills: 1, downMs: [0, 100], stoppedMs: 0 },
};

/** Every third kill also kills a recorder. */
const PAIR_EVERY = 3;
const BETWEEN_MS = 500;

export const brokerPart: LogPart = {
  name: "log-broker",
  about: "brokers are killed, alone and together with a recorder, and one is stopped",
  play: async (log, { size }) => {
    const plan = PLANS[size];
    const chance = chanceFrom(log.run.seed + 13);
    const load = log.startLoad(PER_SECOND);
    let pairs = 0;
    for (let kill = 1; kill <= plan.kills; kill += 1) {
      await sleep(BETWEEN_MS);
      const broker = chance.pick(log.cluster.brokerIds);
      await log.cluster.signal(broker, "SIGKILL");
      if (kill % PAIR_EVERY === 1) {
        const recorder = chance.pick(log.recorders);
        await recorder.kill();
        recorder.launch();
        pairs += 1;
      }
      await sleep(chance.between(...plan.downMs));
      await log.cluster.restart(broker);
      // With two of three down, nothing could be confirmed, which proves less.
      await log.untilInSync();
      log.run.say(`kill ${kill} of ${plan.kills} of brokers`);
    }
    if (plan.stoppedMs > 0) {
      const broker = chance.pick(log.cluster.brokerIds);
      await log.cluster.signal(broker, "SIGSTOP");
      await sleep(plan.stoppedMs);
      await log.cluster.signal(broker, "SIGCONT");
      await log.untilInSync();
    }
    await load.stop();
    await Promise.all(log.recorders.map((one) => one.ready()));
    return { figures: { broker_kills: plan.kills, broker_and_recorder: pairs }, complaints: [] };
  },
};
