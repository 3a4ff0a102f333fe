// The store benchmark: first the layouts that were considered, then the current one, in a small and in a large database
// alternately. Prints the figures of docs/decisions 5 and 6.
import { compareHistories } from "./compare-histories.ts";
import { compareLogs } from "./compare-logs.ts";
import { compareSweeps } from "./compare-sweeps.ts";
import { startEngine } from "./engine.ts";
import { mean, median, quantile, rounded, type Samples } from "./figures.ts";
import { checkpointRound, type Contender, hotShare, takeTurns, updatesOf } from "./meter.ts";
import { type Profile, printProfiles } from "./profile.ts";
import { type Pair, printResults, type Result, recording } from "./race.ts";
import { SHIPPED } from "./record.ts";
import { BATCH_SIZE, createScale, rebuildStates } from "./scale.ts";
import type { Size } from "./sizes.ts";
import { sweeping } from "./sweep.ts";

/** Batches right after a checkpoint, when every page is written in full on its first change. */
const AFTER_CHECKPOINT = 20;

type Figures = Record<string, number>;

/** Prints the comparisons and returns the figures under flat keys. */
export async function benchStore(
  size: Size,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`store: ${size.about}`);
  const engine = await startEngine();
  whenInterrupted(engine.stop);
  try {
    const { busyCheckCount } = size;
    const small = await createScale(engine, { checkCount: size.small, busyCheckCount });
    const large = await createScale(engine, { checkCount: size.large, busyCheckCount });
    const scales = [small, large] as const;
    await compareLogs(scales, size);
    await compareSweeps(scales, size);
    await compareHistories(scales, size);
    const figures = { ...(await measureRecording(scales, size)), ...(await measureSweeping(scales, size)) };
    for (const scale of scales) await scale.close();
    return figures;
  } finally {
    await engine.stop();
  }
}

async function measureRecording(scales: Pair, size: Size): Promise<Figures> {
  const [smallScale, largeScale] = scales;
  for (const scale of scales) {
    await rebuildStates(scale, { pingsPerCheck: size.pingsPerCheck, busyLimit: null });
  }
  const before = await updatesOf(largeScale, "check_states");
  const rounds = size.shippedRounds;
  const profiles: [Profile, Profile] = [new Map(), new Map()];
  const [small, large] = await measurePair(
    recording(smallScale, SHIPPED, { profile: profiles[0] }),
    recording(largeScale, SHIPPED, { profile: profiles[1] }),
    rounds,
  );
  const hot = hotShare(before, await updatesOf(largeScale, "check_states"));
  const cut = (about: string, from: number, to: number): Result => ({
    about,
    samples: [part(small, from, to), part(large, from, to)],
  });
  const from = checkpointRound(rounds);
  printResults(`Shipped: record ${BATCH_SIZE}, ${rounds} rounds`, [
    cut("all rounds", 0, rounds),
    cut(`the ${AFTER_CHECKPOINT} rounds after the checkpoint`, from, from + AFTER_CHECKPOINT),
    cut("the last third", from * 2, rounds),
  ]);
  printProfiles(`Shipped: record ${BATCH_SIZE}, where the time goes`, ...profiles);
  return {
    ...figuresOf("record_500", { small, large, size }),
    "store.record_500_wal_bytes_per_ping": Math.round(mean(large.walBytes) / BATCH_SIZE),
    "store.record_500_hot_share": rounded(hot),
  };
}

async function measureSweeping([smallScale, largeScale]: Pair, size: Size): Promise<Figures> {
  const { pingsPerCheck, sweepRounds } = size;
  const profiles: [Profile, Profile] = [new Map(), new Map()];
  const [small, large] = await measurePair(
    sweeping(smallScale, { pingsPerCheck, profile: profiles[0] }),
    sweeping(largeScale, { pingsPerCheck, profile: profiles[1] }),
    sweepRounds,
  );
  const title = `Shipped: find due ${BATCH_SIZE}, move or fire`;
  printResults(`${title}, ${sweepRounds} rounds`, [{ about: "all rounds", samples: [small, large] }]);
  printProfiles(`${title}, where the time goes`, ...profiles);
  return figuresOf("find_due_500", { small, large, size });
}

async function measurePair(small: Contender, large: Contender, rounds: number): Promise<[Samples, Samples]> {
  const [ofSmall, ofLarge] = await takeTurns([small, large], rounds);
  if (ofSmall === undefined || ofLarge === undefined) throw new Error("nothing was measured");
  return [ofSmall, ofLarge];
}

type Measured = { small: Samples; large: Samples; size: Size };

function figuresOf(what: string, { small, large, size }: Measured): Figures {
  const ratio = (of: keyof Samples) => median(large[of]) / median(small[of]);
  // The published figures are for a million checks; those of a small run must not be mistaken for them.
  const comparison = size.isFull ? "million_over_ten_thousand" : "large_over_small";
  return {
    [`store.${what}_${comparison}`]: rounded(ratio("wallMs")),
    [`store.${what}_cpu_${comparison}`]: rounded(ratio("cpuMs")),
    [`store.${what}_ms`]: rounded(median(large.wallMs)),
    [`store.${what}_p95_ms`]: rounded(quantile(large.wallMs, 0.95)),
    [`store.${what}_small_ms`]: rounded(median(small.wallMs)),
  };
}

function part(samples: Samples, from: number, to: number): Samples {
  return {
    wallMs: samples.wallMs.slice(from, to),
    cpuMs: samples.cpuMs.slice(from, to),
    walBytes: samples.walBytes.slice(from, to),
  };
}
