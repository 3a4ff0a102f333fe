// Noise: alerts that ended by themselves, soon and without anyone acting on them. Such alerts teach people to ignore
// notifications.
import type { CloseCause } from "./alert.ts";
import { type Instant, MINUTE_MS } from "./instant.ts";
import { NOISE_ALERTS_MIN, NOISE_MINUTES_MAX, NOISY_CHECKS_LISTED_MAX } from "./limits.ts";

/** An alert as the ranking reads it. */
export type RankedAlert = {
  checkId: number;
  openedAt: Instant;
  /** Null: the alert is open. */
  closedAt: Instant | null;
  closeCause: CloseCause | null;
  /** Its incident was acknowledged before it ended. */
  isAcknowledged: boolean;
  /** The check was edited before it ended. */
  isEdited: boolean;
};

/** Whether an alert ended by itself: the check recovered soon, and nobody acknowledged it or changed the check. */
export function endedByItself(alert: RankedAlert): boolean {
  const { openedAt, closedAt, closeCause, isAcknowledged, isEdited } = alert;
  if (closedAt === null || closeCause !== "recovered" || isAcknowledged || isEdited) return false;
  return closedAt - openedAt <= NOISE_MINUTES_MAX * MINUTE_MS;
}

export type NoisyCheck = {
  checkId: number;
  alertCount: number;
  /** Those that ended by themselves. */
  noiseCount: number;
  /** The median time after which these recovered. */
  medianRecoveryMs: number;
};

export type Noise = {
  /** The noisiest first. */
  checks: NoisyCheck[];
  /** Beyond the limit. */
  unlistedCount: number;
  alertCount: number;
  noiseCount: number;
};

/** Ranks checks by alerts that ended by themselves; one such alert is not noise yet. */
export function noiseOf(alerts: readonly RankedAlert[]): Noise {
  const noisy = [...Map.groupBy(alerts, ({ checkId }) => checkId)]
    .map(([checkId, own]) => noiseOfCheck(checkId, own))
    .filter(({ noiseCount }) => noiseCount >= NOISE_ALERTS_MIN)
    .toSorted(
      (one, other) =>
        other.noiseCount - one.noiseCount || one.alertCount - other.alertCount || one.checkId - other.checkId,
    );
  return {
    checks: noisy.slice(0, NOISY_CHECKS_LISTED_MAX),
    unlistedCount: Math.max(0, noisy.length - NOISY_CHECKS_LISTED_MAX),
    alertCount: alerts.length,
    noiseCount: alerts.filter(endedByItself).length,
  };
}

function noiseOfCheck(checkId: number, alerts: readonly RankedAlert[]): NoisyCheck {
  const noise = alerts.filter(endedByItself);
  const lengths = noise.map(({ openedAt, closedAt }) => (closedAt ?? openedAt) - openedAt);
  const sorted = lengths.toSorted((one, other) => one - other);
  return {
    checkId,
    alertCount: alerts.length,
    noiseCount: noise.length,
    medianRecoveryMs: sorted[Math.floor((sorted.length - 1) / 2)] ?? 0,
  };
}
