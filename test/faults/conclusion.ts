// The end of every scenario: connections are restored, spooled signals are applied, and acknowledged signals are
// compared with recorded ones.
import type { Figures, Found } from "./scenario.ts";
import type { Entry } from "./signals/send.ts";
import { judge } from "./signals/verdict.ts";
import { untilDrained } from "./stage/intake-rows.ts";
import type { Stage } from "./stage/stage.ts";
import type { WatermarkWatch } from "./stage/watermark-watch.ts";

const DRAIN_MS_MAX = 120_000;
/** The guaranteed time is two seconds; the rest is for the sender, which shares the machine. */
const ANSWER_MS_MAX = 3_000;

export type Findings = {
  figures?: Figures;
  complaints?: readonly string[];
  watch?: WatermarkWatch;
  /** Whether the scenario provokes 503. */
  mayRefuse?: (entry: Entry) => boolean;
  /** Markers whose loss is caused by the scenario. */
  forgiven?: ReadonlySet<string>;
  /** How often the topic of a log has each signal, read when everything is applied. */
  timesInLog?: () => Promise<ReadonlyMap<string, number>>;
  drainMsMax?: number;
  /** Responses take longer because of the scenario. */
  mayBeSlow?: boolean;
};

/** Waits until everything is applied, and evaluates the result. The load must have ended. */
export async function conclude(stage: Stage, findings: Findings = {}): Promise<Found> {
  const { figures = {}, complaints = [], watch, mayRefuse = () => false, forgiven = new Set() } = findings;
  const { drainMsMax = DRAIN_MS_MAX, mayBeSlow = false } = findings;
  const beganMs = performance.now();
  const holdUp = await untilDrained(stage, { withinMs: drainMsMax });
  const drainSeconds = Math.round((performance.now() - beganMs) / 100) / 10;
  const timesInLog = await findings.timesInLog?.();
  const leniency = { forgiven, mayRefuse, ...(timesInLog !== undefined && { timesInLog }) };
  const verdict = await stage.withClient((client) => judge(client, stage.ledger, leniency));
  const watched = await watch?.end();
  const all = [...complaints, ...verdict.complaints];
  if (holdUp !== null) all.push(`not drained within ${drainMsMax / 1_000} s: ${holdUp}`);
  if (watched !== undefined && watched.tooLate > 0) {
    all.push(`${watched.tooLate} signals appeared in the log after the watermark had passed them`);
  }
  if (!mayBeSlow && verdict.slowestMs > ANSWER_MS_MAX) {
    all.push(`a response took ${verdict.slowestMs} ms`);
  }
  return {
    tally: verdict.tally,
    complaints: all,
    figures: {
      ...figures,
      unanswered: verdict.unanswered,
      ...(timesInLog === undefined ? {} : { gaps: verdict.gaps }),
      slowest_ms: verdict.slowestMs,
      drain_seconds: drainSeconds,
      ...(watched === undefined ? {} : { watermark_looks: watched.looks, watermark_ahead: watched.tooLate }),
    },
  };
}
