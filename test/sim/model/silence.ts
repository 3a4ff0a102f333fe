// Computes when the messages about a check are withheld by silences.
import type { SilenceHistory, SilenceTimes, TimeSpan } from "./history.ts";
import { RELEASE_MS_MAX } from "./rules.ts";
import type { Schedules } from "./schedule.ts";

/** An interval in which messages are withheld, without its end, on the database clock. */
export type SilencedSpan = TimeSpan & {
  /** A message that was withheld at the end must have been released by then. */
  releasedAt: number;
  /** It does not apply to problems after a success since this time. */
  endsWithSuccessSince: number | null;
};

/** The intervals of the silences that cover a check, up to an instant. */
export function silencedSpans(
  silences: readonly SilenceHistory[],
  { schedules, to }: { schedules: Schedules; to: number },
): SilencedSpan[] {
  return silences.flatMap((versions) =>
    versions.flatMap(({ at, times }, index) => {
      const endsAt = versions[index + 1]?.at ?? Infinity;
      if (times === null) return [];
      return [...windowsOf(times, { schedules, to })]
        .map((window) => ({ from: Math.max(window.from, times.from, at), to: Math.min(window.to, endsAt) }))
        .filter((window) => window.from < window.to)
        .map((window) => ({
          ...window,
          releasedAt: window.to + times.holdAfterSeconds * 1_000 + RELEASE_MS_MAX,
          endsWithSuccessSince: times.isUntilSuccess ? times.from : null,
        }));
    }),
  );
}

function* windowsOf(
  times: SilenceTimes,
  { schedules, to }: { schedules: Schedules; to: number },
): Generator<TimeSpan> {
  if (times.kind === "once") {
    yield { from: times.from, to: times.until };
    return;
  }
  const lengthMs = times.durationSeconds * 1_000;
  const schedule = schedules.of({ kind: "cron", schedule: times.schedule, tz: times.tz });
  for (
    let at = schedule.nextAfter(times.from - lengthMs);
    at !== null && at < to;
    at = schedule.nextAfter(at)
  ) {
    yield { from: at, to: at + lengthMs };
  }
}

/** Whether a message about a problem is withheld at an instant. "maybe": it may be, but must be released soon. */
export function heldAt(
  spans: readonly SilencedSpan[],
  at: number,
  { openedAt, lastSuccessAt }: { openedAt: number; lastSuccessAt: number | null },
): "yes" | "maybe" | "no" {
  let held: "yes" | "maybe" | "no" = "no";
  for (const span of spans) {
    const since = span.endsWithSuccessSince;
    if (since !== null && lastSuccessAt !== null && lastSuccessAt >= since) continue;
    if (span.from <= at && at < span.to) return "yes";
    // What begins after a silence is not delayed by it.
    if (openedAt < span.to && span.to <= at && at < span.releasedAt) held = "maybe";
  }
  return held;
}
