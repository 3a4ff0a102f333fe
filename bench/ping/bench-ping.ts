// The ping benchmark: pings over HTTP into a durable database, compared with PostgreSQL alone, recording alone and HTTP
// alone. All of them run alternately on the same machine, so that a busy moment affects all.
import { onEngine } from "../store/engine.ts";
import { mean, printTable, rounded, shown } from "../store/figures.ts";
import { type Contest, measureContest, type Measured } from "./contest.ts";
import { createPingScale, type PingScale } from "./ping-scale.ts";
import type { PingSize } from "./sizes.ts";

type Figures = Record<string, number>;

/** Prints the comparisons and returns the figures under flat keys. */
export async function benchPing(
  size: PingSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`ping: ${size.about}`);
  return onEngine(whenInterrupted, async (engine, folder) => {
    const { pingsPerCheck } = size;
    const small = await createPingScale(engine, { checkCount: size.small, pingsPerCheck, folder });
    const large = await createPingScale(engine, { checkCount: size.large, pingsPerCheck, folder });
    const figures: Figures = {};
    for (const bodyBytes of size.bodies) {
      const contest = (scale: PingScale): Contest => ({ scale, bodyBytes, size, folder });
      const [atSmall, atLarge] = await measureContest([contest(small), contest(large)]);
      print({ bodyBytes, size }, [atSmall, atLarge]);
      Object.assign(figures, figuresOf({ bodyBytes, size, atSmall, atLarge }));
    }
    await Promise.all([small.close(), large.close()]);
    return figures;
  });
}

/** 1 would mean that HTTP and recording together cost the sum of both. */
function sumOfParts({
  ours,
  recordingAlone,
  httpAlone,
}: Record<"ours" | "recordingAlone" | "httpAlone", number>) {
  return ours * (1 / recordingAlone + 1 / httpAlone);
}

/** If they are faster, several processes are the recommended setup. */
function bestOurs({ ours, oursMany, oursByTwo }: Measured): number {
  return Math.max(mean(ours), mean(oursMany), mean(oursByTwo));
}

function bestBaseline({ baseline }: Measured): { clients: number; perSecond: number } {
  const best = { clients: 0, perSecond: 0 };
  for (const [clients, rates] of baseline) {
    if (mean(rates) > best.perSecond) Object.assign(best, { clients, perSecond: mean(rates) });
  }
  return best;
}

function figuresOf(given: {
  bodyBytes: number;
  size: PingSize;
  atSmall: Measured;
  atLarge: Measured;
}): Figures {
  const { bodyBytes, size, atSmall, atLarge } = given;
  const prefix = bodyBytes === 0 ? "ping." : "ping.body_";
  const ours = mean(atLarge.ours);
  const httpAlone = mean(atLarge.httpAlone);
  // The published figures are for a million checks; those of a small run must not be mistaken for them.
  const comparison = size.isFull ? "million_over_ten_thousand" : "large_over_small";
  const figures = {
    per_second: Math.round(bestOurs(atLarge)),
    small_per_second: Math.round(bestOurs(atSmall)),
    one_process_per_second: Math.round(ours),
    one_process_many_connections_per_second: Math.round(mean(atLarge.oursMany)),
    two_processes_per_second: Math.round(mean(atLarge.oursByTwo)),
    one_process_over_bare_transaction: ours / bestBaseline(atLarge).perSecond,
    one_process_many_connections_over_bare_transaction:
      mean(atLarge.oursMany) / bestBaseline(atLarge).perSecond,
    over_bare_transaction: bestOurs(atLarge) / bestBaseline(atLarge).perSecond,
    small_over_bare_transaction: bestOurs(atSmall) / bestBaseline(atSmall).perSecond,
    over_sum_of_parts: sumOfParts({ ours, recordingAlone: mean(atLarge.recordingAlone), httpAlone }),
    over_sum_of_parts_500: sumOfParts({ ours, recordingAlone: mean(atLarge.recordingFull), httpAlone }),
    p50_ms: atLarge.latency.p50Ms,
    p99_ms: atLarge.latency.p99Ms,
    p99_between_checkpoints_ms: atLarge.latencyBetween.p99Ms,
    [comparison]: bestOurs(atLarge) / bestOurs(atSmall),
    batch_size: atLarge.batchSize,
    hot_share: atLarge.hotShare,
  };
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [prefix + name, rounded(value)]));
}

function print(
  { bodyBytes, size }: { bodyBytes: number; size: PingSize },
  [atSmall, atLarge]: readonly [Measured, Measured],
): void {
  const both = (about: string, value: (of: Measured) => number, digits = 0) => [
    about,
    shown(value(atSmall), digits),
    shown(value(atLarge), digits),
  ];
  const clientCounts = [...atLarge.baseline.keys()];
  const seen = Math.round(atLarge.batchSize);
  printTable(
    `${bodyBytes === 0 ? "Without a body" : `With a body of ${bodyBytes} bytes`}, signals a second`,
    [
      ["", `${atSmall.label} checks`, `${atLarge.label} checks`],
      both(`(a) over HTTP, recorded, ${size.connections} connections`, (of) => mean(of.ours)),
      both(`    the same, ${size.connectionsMany} connections`, (of) => mean(of.oursMany)),
      both("    two processes on one port", (of) => mean(of.oursByTwo)),
      ...clientCounts.map((clients) =>
        both(`(b) PostgreSQL alone, ${clients} clients`, (of) => mean(of.baseline.get(clients) ?? [])),
      ),
      both(`(c) recording alone, batches as in (a), about ${seen}`, (of) => mean(of.recordingAlone)),
      both("    recording alone, batches of 500", (of) => mean(of.recordingFull)),
      both("(d) HTTP alone", (of) => mean(of.httpAlone)),
      both("a / best b, one process", (of) => mean(of.ours) / bestBaseline(of).perSecond, 2),
      both(
        `a / best b, ${size.connectionsMany} connections`,
        (of) => mean(of.oursMany) / bestBaseline(of).perSecond,
        2,
      ),
      both("best a / best b", (of) => bestOurs(of) / bestBaseline(of).perSecond, 2),
      both(
        "a (1/c + 1/d), one process",
        (of) =>
          sumOfParts({
            ours: mean(of.ours),
            recordingAlone: mean(of.recordingAlone),
            httpAlone: mean(of.httpAlone),
          }),
        2,
      ),
      both("signals in a batch of (a)", (of) => of.batchSize),
      both("share of state updates that touch no index", (of) => of.hotShare, 3),
      both(`ms at ${size.steadyPerSecond}/s: p50 without a checkpoint`, (of) => of.latencyBetween.p50Ms, 1),
      both("p99", (of) => of.latencyBetween.p99Ms, 1),
      both(`ms at ${size.steadyPerSecond}/s: p50 across a checkpoint`, (of) => of.latency.p50Ms, 1),
      both("p99", (of) => of.latency.p99Ms, 1),
      both("p99.9", (of) => of.latency.p999Ms, 1),
      both("longest", (of) => of.latency.maxMs, 1),
    ],
  );
  for (const one of [atSmall, atLarge]) {
    const rates = one.ours.map((rate) => shown(rate, 0)).join(", ");
    console.log(
      `  ${one.label} checks: (a) by round ${rates}; ${one.counted.toLocaleString("en")} answers 200, all recorded`,
    );
  }
}
