import { createHash } from "node:crypto";
import { Comparison, type Finding, type Received, type Tally } from "./comparison.ts";
import { type RunOptions, runWorld } from "./driver/run-world.ts";
import { Verdicts } from "./verdicts.ts";
import { shortened, type World } from "./world/world.ts";

export type Simulated = {
  tally: Tally;
  findings: readonly Finding[];
  /** The part of the world that was simulated. */
  world: World;
  repeatCount: number;
  signalCount: number;
  /** The same for two runs with the same flips, and with the same messages accepted in the same turns. */
  flipsDigest: string;
  messagesDigest: string;
  /** The same for two runs with the same statuses and pings. */
  recordsDigest: string;
  runSeconds: number;
  compareSeconds: number;
};

/** Runs a world and compares the received messages with the model. */
export async function simulate(world: World, options: RunOptions): Promise<Simulated> {
  const startedMs = performance.now();
  const result = await runWorld(world, options);
  const ranMs = performance.now();
  const simulatedWorld = result.to === world.head.to ? world : shortened(world, result.to);
  const verdicts = new Verdicts(simulatedWorld);
  const comparison = new Comparison(verdicts);
  const received = byCheck(result.received);
  const givenUp = Map.groupBy(result.givenUp, ({ check }) => check);
  const indexes = new Map<string, number>();
  const parentOf = (index: number | undefined) => {
    if (index === undefined) return [];
    const fired = result.fired.get(index);
    const { isTroubledAt } = verdicts.of(index, (at) => fired?.has(at) === true);
    const { channels, notify } = simulatedWorld.check(index);
    return [{ isTroubledAt, hasChannels: channels.length > 0, notify }];
  };
  const parentNames = new Set(namesOfParents(simulatedWorld));
  for (let index = 0; index < simulatedWorld.checkCount; index += 1) {
    indexes.set(simulatedWorld.check(index).name, index);
    const mine = received.get(index) ?? [];
    const notified = new Set(
      mine.flatMap((message) => (message.about === "flips" ? message.flips : [])).map(({ at }) => at),
    );
    const fired = result.fired.get(index);
    // Deleting a check deletes its flips, but the received messages remain.
    const verdict = verdicts.of(index, (at) => fired?.has(at) === true || notified.has(at));
    const { name, channels, notify, parents } = simulatedWorld.check(index);
    const related = parents.flatMap((parent) => parentOf(indexes.get(parent)));
    comparison.addCheck({
      index,
      channels,
      notify,
      parents: related,
      isParent: parentNames.has(name),
      verdict,
      received: mine,
      givenUp: givenUp.get(index) ?? [],
    });
  }
  comparison.addUnaccounted(result.unaccounted);
  comparison.conclude(result.received);
  return {
    tally: comparison.tally,
    findings: comparison.findings,
    world: simulatedWorld,
    repeatCount: result.repeatCount,
    signalCount: result.signalCount,
    flipsDigest: digestOf(result.flips),
    messagesDigest: digestOf(result.described),
    recordsDigest: digestOf(result.records),
    runSeconds: (ranMs - startedMs) / 1_000,
    compareSeconds: (performance.now() - ranMs) / 1_000,
  };
}

function* namesOfParents(world: World): Generator<string> {
  for (let index = 0; index < world.checkCount; index += 1) yield* world.check(index).parents;
}

function digestOf(lines: readonly string[]): string {
  return createHash("sha256").update(lines.toSorted().join("\n")).digest("hex");
}

function byCheck(received: readonly Received[]): Map<number, Received[]> {
  const found = new Map<number, Received[]>();
  for (const message of received) {
    if (message.about === "notice") continue;
    const list = found.get(message.check);
    if (list === undefined) found.set(message.check, [message]);
    else list.push(message);
  }
  return found;
}
