// Which notifications an alert leads to: whether its opening and closing are notified now, held by a rule, or dropped.
// Applied by the planner whenever an alert has changed or a hold has ended.
import type { CloseCause } from "./alert.ts";
import type { Instant } from "./instant.ts";

/** A rule that can hold an alert. */
export type HoldRule = "silence" | "dependency" | "flapping";

export type AlertToPlan = {
  closed: { at: Instant; cause: CloseCause } | null;
  /** Notifications about the opening were planned before. */
  isNotified: boolean;
  /** The rule that has held it so far. */
  heldBy: HoldRule | null;
};

/** A silence that applies to the alert: now, or when it closed. */
export type ActiveSilence = { silenceId: number; until: Instant };

export type Decision =
  | { kind: "notify"; opening: boolean; closing: boolean }
  /** It was taken back: unsent notifications are withdrawn, and the others corrected. */
  | { kind: "correct" }
  | { kind: "hold"; rule: HoldRule; until: Instant; silenceId: number | null }
  /** Nothing was sent and nothing will be. */
  | { kind: "drop" };

/** What happens to an alert now. A recovery is never held; one of a problem that was never sent is not sent. */
export function planAlert(alert: AlertToPlan, { silence }: { silence: ActiveSilence | null }): Decision {
  const { closed, isNotified, heldBy } = alert;
  if (closed !== null) {
    if (closed.cause === "takenBack") return isNotified ? { kind: "correct" } : { kind: "drop" };
    const closing = closed.cause === "recovered";
    if (isNotified) return { kind: "notify", opening: false, closing };
    return heldBy !== null || silence !== null
      ? { kind: "drop" }
      : { kind: "notify", opening: true, closing };
  }
  if (silence !== null) {
    return { kind: "hold", rule: "silence", until: silence.until, silenceId: silence.silenceId };
  }
  return { kind: "notify", opening: !isNotified, closing: false };
}
