// From checks as they are stored to the rows that the browser holds. Every instant that a row needs to show time
// passing is worked out here, so that no rule lives in the browser.
import type { CheckRow, Fuse, ShownState } from "../../../contract/web/check-row.ts";
import { splitTags } from "../../../core/identity.ts";
import type { Instant } from "../../../core/instant.ts";
import { quickStatusAt } from "../../../core/machine/quick-status.ts";
import { expectedAt, graceMs, type ShownStatus } from "../../../core/machine/status.ts";
import { expectedInShort } from "../../../core/schedule/wording/short.ts";
import type { LeanCheck } from "../../../store/checks/check-rows.ts";

/** The rows of checks at an instant. */
export function rowsOf(checks: readonly LeanCheck[], now: Instant): CheckRow[] {
  return checks.map((check) => rowOf(check, now));
}

function rowOf(check: LeanCheck, now: Instant): CheckRow {
  const { state, down } = check;
  const shown = shownState(quickStatusAt(check, now));
  return {
    id: check.uuid,
    name: check.name,
    slug: check.slug,
    tags: [...new Set(splitTags(check.tags))],
    state: shown,
    runningSince: state.lastStartAt,
    expected: inShort(check.timing),
    lastPingAt: state.lastPingAt,
    lastDurationMs: check.lastDurationMs,
    fuse: fuseOf(check),
    downSince: shown === "down" ? (down?.since ?? null) : null,
    downReason:
      shown === "down" && (down?.reason === "fail" || down?.reason === "timeout") ? down.reason : null,
    exitStatus: shown === "down" ? (down?.exitStatus ?? null) : null,
    channels: check.channelCount,
    change: check.change,
    readingOrder: check.readingOrder,
  };
}

/** What the dashboard calls grace. */
function shownState(status: ShownStatus): ShownState {
  return status === "grace" ? "late" : status;
}

/** Told from the stored deadline, so that the schedule is read only for checks that run. */
function fuseOf(check: LeanCheck): Fuse | null {
  const { timing, state, downAt: alertAt } = check;
  if (alertAt === null) return null;
  const graceFromAt = alertAt - graceMs(timing);
  if (state.lastStartAt !== null && graceFromAt === state.lastStartAt) {
    // The run must end by the deadline; late it is from the next expected time on, if that comes first.
    const expected = expectedAt(check);
    const lateAt = expected === null ? alertAt : Math.min(expected, alertAt);
    return { fromAt: state.lastStartAt, lateAt, alertAt };
  }
  const fromAt = Math.max(state.lastPingAt ?? 0, state.expectFromAt ?? 0);
  return { fromAt: Math.min(fromAt, graceFromAt), lateAt: graceFromAt, alertAt };
}

/** Ten thousand checks have few different schedules, and telling one in words takes longer than the rest of a row. */
const WORDS_KEPT_MAX = 20_000;
const words = new Map<string, string>();

function inShort(timing: LeanCheck["timing"]): string {
  const { kind, timeoutSeconds, schedule, tz } = timing;
  const key = kind === "simple" ? String(timeoutSeconds) : `${tz} ${schedule}`;
  const known = words.get(key);
  if (known !== undefined) return known;
  if (words.size >= WORDS_KEPT_MAX) words.clear();
  const told = expectedInShort(timing);
  words.set(key, told);
  return told;
}
