// One run: a world is played, and what its receivers got is held against what the model says.
import { Comparison, type Finding, type Received, type Tally } from "./comparison.ts";
import { type RunOptions, runWorld } from "./driver/run-world.ts";
import { Verdicts } from "./verdicts.ts";
import { shortened, type World } from "./world/world.ts";

export type Simulated = {
  tally: Tally;
  findings: readonly Finding[];
  /** The world as far as it was played. */
  world: World;
  repeatCount: number;
  signalCount: number;
  runSeconds: number;
  compareSeconds: number;
};

/** Plays and judges a world. */
export async function simulate(world: World, options: RunOptions): Promise<Simulated> {
  const beganMs = performance.now();
  const result = await runWorld(world, options);
  const ranMs = performance.now();
  const seen = result.to === world.head.to ? world : shortened(world, result.to);
  const verdicts = new Verdicts(seen);
  const comparison = new Comparison(verdicts);
  const received = byCheck(result.received);
  const givenUp = Map.groupBy(result.givenUp, ({ check }) => check);
  for (let index = 0; index < seen.checkCount; index += 1) {
    const mine = received.get(index) ?? [];
    const notified = new Set(
      mine.flatMap((message) => (message.about === "flips" ? message.flips : [])).map(({ at }) => at),
    );
    const fired = result.fired.get(index);
    // A deleted check has taken its flips with it; what was told of it remains.
    const verdict = verdicts.of(index, (at) => fired?.has(at) === true || notified.has(at));
    const { channels } = seen.check(index);
    comparison.addCheck({ index, channels, verdict, received: mine, givenUp: givenUp.get(index) ?? [] });
  }
  comparison.conclude(result.received);
  return {
    tally: comparison.tally,
    findings: comparison.findings,
    world: seen,
    repeatCount: result.repeatCount,
    signalCount: result.signalCount,
    runSeconds: (ranMs - beganMs) / 1_000,
    compareSeconds: (performance.now() - ranMs) / 1_000,
  };
}

function byCheck(received: readonly Received[]): Map<number, Received[]> {
  const found = new Map<number, Received[]>();
  for (const message of received) {
    if (message.about !== "flips") continue;
    const list = found.get(message.check);
    if (list === undefined) found.set(message.check, [message]);
    else list.push(message);
  }
  return found;
}
