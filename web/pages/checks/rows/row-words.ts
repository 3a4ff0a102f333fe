// What a row says beside its fuse: on the left the last signal, on the right what comes next. Pure.
import { type CheckRow, drawnAt } from "../../../../src/contract/web/check-row.ts";
import { checksWords } from "../../../words/checks.ts";
import {
  formatAgo,
  formatClock,
  formatDay,
  formatSpan,
  formatUntil,
  type Reader,
} from "../../../words/time.ts";

/** A text, and the moment it is about for those who want it exactly. */
export type Said = { text: string; at: number | null };

/** "12 min ago", "running 22 min", "never". */
export function saidOfLast(row: CheckRow, { now }: Reader): Said {
  if (row.runningSince !== null) {
    return { text: checksWords.runningFor(formatSpan(now - row.runningSince)), at: row.runningSince };
  }
  if (row.lastPingAt === null) return { text: checksWords.never, at: null };
  return { text: formatAgo(row.lastPingAt, now), at: row.lastPingAt };
}

/** "in 4 min", "alert in 11 min", "down for 2 h 11 min", "failed, exit 3", "due by 04:00". */
export function saidOfNext(row: CheckRow, { now, zone }: Reader): Said {
  const { fuse } = row;
  switch (drawnAt(row, now)) {
    case "down":
      return saidOfDown(row, now);
    case "paused":
      return { text: checksWords.paused, at: null };
    case "new":
      return { text: checksWords.waiting, at: null };
    case "late": {
      const alertAt = fuse?.alertAt ?? now;
      const text = alertAt > now ? checksWords.alertIn(formatSpan(alertAt - now)) : checksWords.alertNow;
      return { text, at: alertAt };
    }
    case "running": {
      if (fuse === null) return { text: checksWords.nothingAwaited, at: null };
      const day = formatDay(fuse.alertAt, { now, zone });
      const clock = formatClock(fuse.alertAt, zone);
      return { text: checksWords.dueBy(day === "today" ? clock : `${day} ${clock}`), at: fuse.alertAt };
    }
    case "up":
      if (fuse === null) return { text: checksWords.nothingAwaited, at: null };
      return { text: formatUntil(fuse.lateAt, now), at: fuse.lateAt };
  }
}

function saidOfDown({ downReason, exitStatus, downSince }: CheckRow, now: number): Said {
  if (downReason === "fail") {
    const text =
      exitStatus === null || exitStatus === 0 ? checksWords.failed : checksWords.failedExit(exitStatus);
    return { text, at: downSince };
  }
  return { text: checksWords.downFor(formatSpan(now - (downSince ?? now))), at: downSince };
}
