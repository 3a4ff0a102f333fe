// The store benchmark: first the layouts that were considered, then what is shipped, in a small and in a
// large database by turns. The figures behind docs/decisions 5 and 6 are printed by this.
import { compareHistories } from "./compare-histories.ts";
import { compareLogs, printRecordTable, recording } from "./compare-logs.ts";
import { compareSweeps } from "./compare-sweeps.ts";
import { startEngine } from "./engine.ts";
import { mean, median, quantile, rounded, type Samples } from "./figures.ts";
import { checkpointRound, hotShare, takeTurns, updatesOf } from "./meter.ts";
import { type Profile, printProfiles } from "./profile.ts";
import { SHIPPED } from "./record.ts";
import { BATCH_SIZE, createScale, rebuildStates, type Scale } from "./scale.ts";
import type { Size } from "./sizes.ts";
import { sweeping } from "./sweep.ts";

/** Batches right after a checkpoint, when every page is written whole on its first change. */
const AFTER_CHECKPOINT = 20;

type Figures = Record<string, number>;

/** Prints the comparisons and gives the figures under flat keys. */
export async function benchStore(size: Size): Promise<Figures> {
  console.log(`store: ${size.about}`);
  const engine = await startEngine();
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

async function measureRecording(scales: readonly [Scale, Scale], size: Size): Promise<Figures> {
  for (const scale of scales) {
    await rebuildStates(scale, { pingsPerCheck: size.pingsPerCheck, busyLimit: null });
  }
  const [, largeScale] = scales;
  const before = await updatesOf(largeScale, "check_states");
  const rounds = size.shippedRounds;
  const profiles: [Profile, Profile] = [new Map(), new Map()];
  const contenders = scales.map((scale, index) =>
    recording(scale, SHIPPED, { profile: profiles[index] ?? new Map() }),
  );
  const samples = await takeTurns(contenders, rounds);
  const hot = hotShare(before, await updatesOf(largeScale, "check_states"));
  const from = checkpointRound(rounds);
  const settled = samples.map((of) => part(of, Math.floor((from + rounds) / 2), rounds));
  printRecordTable(`Shipped: record ${BATCH_SIZE}, ${rounds} rounds`, [
    { about: "all rounds", samples },
    {
      about: `the ${AFTER_CHECKPOINT} rounds after the checkpoint`,
      samples: samples.map((of) => part(of, from, from + AFTER_CHECKPOINT)),
    },
    { about: "the last third", samples: settled },
  ]);
  printProfiles(`Shipped: record ${BATCH_SIZE}, where the time goes`, ...profiles);
  const [small, large] = wallOf(samples);
  return {
    [`store.record_500_${comparison(size)}`]: rounded(median(large) / median(small)),
    "store.record_500_ms": rounded(median(large)),
    "store.record_500_p95_ms": rounded(quantile(large, 0.95)),
    "store.record_500_small_ms": rounded(median(small)),
    "store.record_500_wal_bytes_per_ping": Math.round(mean(samples[1]?.walBytes ?? []) / BATCH_SIZE),
    "store.record_500_hot_share": rounded(hot),
  };
}

async function measureSweeping(scales: readonly [Scale, Scale], size: Size): Promise<Figures> {
  const { pingsPerCheck } = size;
  const findMs = scales.map((): number[] => []);
  const samples = await takeTurns(
    scales.map((scale, index) => sweeping(scale, { pingsPerCheck, findMs: findMs[index] ?? [] })),
    size.sweepRounds,
  );
  printRecordTable(`Shipped: find due ${BATCH_SIZE}, move or fire, ${size.sweepRounds} rounds`, [
    { about: "the whole claim", samples },
    {
      about: "finding and locking alone",
      samples: findMs.map((wallMs) => ({ wallMs, cpuMs: [], walBytes: [] })),
    },
  ]);
  const [small, large] = wallOf(samples);
  return {
    [`store.find_due_500_${comparison(size)}`]: rounded(median(large) / median(small)),
    "store.find_due_500_ms": rounded(median(large)),
    "store.find_due_500_p95_ms": rounded(quantile(large, 0.95)),
    "store.find_due_500_small_ms": rounded(median(small)),
  };
}

/** The published figures speak of a million checks; those of a small run must not pass for them. */
function comparison(size: Size): string {
  return size.isFull ? "million_over_ten_thousand" : "large_over_small";
}

function part(samples: Samples, from: number, to: number): Samples {
  return {
    wallMs: samples.wallMs.slice(from, to),
    cpuMs: samples.cpuMs.slice(from, to),
    walBytes: samples.walBytes.slice(from, to),
  };
}

function wallOf(samples: readonly Samples[]): [small: number[], large: number[]] {
  return [samples[0]?.wallMs ?? [], samples[1]?.wallMs ?? []];
}
