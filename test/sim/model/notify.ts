// Computes how long rules other than silences may delay the messages about a check: dependencies, groups and flapping.
// They may delay a message but do not have to, so that only the latest time is computed.
import type { Alert } from "./check-model.ts";
import type { NotifyRules, ServerHistory, Turn } from "./history.ts";
import { DEPENDENCY_MS_MAX, FLAPPING_COUNT, FLAPPING_MS, RELEASE_MS_MAX } from "./rules.ts";

/** A check that another one depends on. */
export type ParentVerdict = {
  /** Whether it was down or late, or its problem not over. */
  isTroubledAt: (turn: Turn) => boolean;
  /** Without channels, its problem is not notified, and delays nothing. */
  hasChannels: boolean;
  notify: NotifyRules;
};

export type NotifyContext = {
  notify: NotifyRules;
  parents: readonly ParentVerdict[];
  server: ServerHistory;
};

/**
 * Whether the message about the beginning or the end of a problem may be delayed in a turn. `isSilenced`: whether a
 * silence may withhold it.
 */
export function mayBeDelayed(
  alert: Pick<Alert, "to" | "detectedTrueAt">,
  { notify, parents, server, isSilenced }: NotifyContext & { isSilenced: (turn: Turn) => boolean },
): (turn: Turn) => boolean {
  const isShared = notify.isGrouped || parents.length > 0;
  const groupMs = isShared ? (notify.groupWaitSeconds + notify.groupIntervalSeconds) * 1_000 : 0;
  const dependencyMs = parents.length > 0 && alert.to === "down" ? notify.dependencyWaitSeconds * 1_000 : 0;
  const waitMs = Math.max(groupMs, dependencyMs);
  if (waitMs === 0 && !isShared) return () => false;
  // The time counts from when the planner has seen the problem, and no silence withholds it.
  const planned = server.turns.find(
    (turn) => turn.trueAt >= alert.detectedTrueAt && turn.sending === "yes" && !isSilenced(turn),
  );
  const waitsTrueAt = (planned?.trueAt ?? Infinity) + waitMs + RELEASE_MS_MAX;
  const holding = alert.to === "down" ? parents.filter(({ hasChannels }) => hasChannels) : [];
  const afterMs = DEPENDENCY_MS_MAX + groupMs + RELEASE_MS_MAX;
  const troubled =
    holding.length === 0 ? [] : troubledSpans(holding, { server, fromTrueAt: alert.detectedTrueAt });
  return ({ trueAt }) =>
    trueAt < waitsTrueAt || troubled.some(({ from, to }) => from <= trueAt && trueAt < to + afterMs);
}

/** From each turn in which a parent is in trouble to the next turn. */
function troubledSpans(
  parents: readonly ParentVerdict[],
  { server, fromTrueAt }: { server: ServerHistory; fromTrueAt: number },
): { from: number; to: number }[] {
  return server.turns.flatMap((turn, index) => {
    if (turn.trueAt < fromTrueAt || !parents.some((parent) => parent.isTroubledAt(turn))) return [];
    return [{ from: turn.trueAt, to: server.turns[index + 1]?.trueAt ?? Infinity }];
  });
}

/** The problems during which a check was flapping, by their place. From the third reopening, messages are optional. */
export function flappingPlaces(alerts: readonly Alert[], { reopenWithinSeconds }: NotifyRules): Set<number> {
  const places = new Set<number>();
  if (reopenWithinSeconds === 0) return places;
  const reopenings: number[] = [];
  let closedAt = -Infinity;
  let isFlapping = false;
  for (const [place, { to, changedAt }] of alerts.entries()) {
    if (to === "down") {
      const isReopened = changedAt - closedAt <= reopenWithinSeconds * 1_000 + RELEASE_MS_MAX;
      if (isReopened) reopenings.push(changedAt);
      const recent = reopenings.filter((at) => at > changedAt - FLAPPING_MS - RELEASE_MS_MAX).length;
      isFlapping = isReopened && (isFlapping || recent >= FLAPPING_COUNT);
    } else if (to === "up") closedAt = changedAt;
    if (isFlapping) places.add(place);
  }
  return places;
}
