// One run: a world is played, and what its receivers got is held against what the model says.
import { Comparison, type Finding, type Received, type Tally } from "./comparison.ts";
import { type PlayOptions, playWorld } from "./driver/play.ts";
import { Verdicts } from "./verdicts.ts";
import { shortened, type World } from "./world/world.ts";

export type Simulated = {
  tally: Tally;
  findings: readonly Finding[];
  /** The world as far as it was played. */
  world: World;
  repeatCount: number;
  signalCount: number;
  playSeconds: number;
  compareSeconds: number;
};

/** Plays and judges a world. */
export async function simulate(world: World, options: PlayOptions): Promise<Simulated> {
  const beganMs = performance.now();
  const played = await playWorld(world, options);
  const playedMs = performance.now();
  const seen = played.to === world.head.to ? world : shortened(world, played.to);
  const verdicts = new Verdicts(seen);
  const comparison = new Comparison(verdicts);
  const received = byCheck(played.received);
  const givenUp = Map.groupBy(played.givenUp, ({ check }) => check);
  for (let index = 0; index < seen.checkCount; index += 1) {
    const mine = received.get(index) ?? [];
    const told = new Set(
      mine.flatMap((message) => (message.about === "flips" ? message.flips : [])).map(({ at }) => at),
    );
    const fired = played.fired.get(index);
    // A deleted check has taken its flips with it; what was told of it remains.
    const verdict = verdicts.of(index, (at) => fired?.has(at) === true || told.has(at));
    const { channels } = seen.check(index);
    comparison.addCheck({ index, channels, verdict, received: mine, givenUp: givenUp.get(index) ?? [] });
  }
  comparison.conclude(played.received);
  return {
    tally: comparison.tally,
    findings: comparison.findings,
    world: seen,
    repeatCount: played.repeatCount,
    signalCount: played.signalCount,
    playSeconds: (playedMs - beganMs) / 1_000,
    compareSeconds: (performance.now() - playedMs) / 1_000,
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
