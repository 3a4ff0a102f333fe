// What happened to a check, in sentences: what was expected, what came, since when, and the way there.
import type { FlipMessage } from "../../core/alerts/message.ts";
import { periodText, runText, sentenceText } from "../../core/schedule/wording/durations.ts";
import { type Instant, SECOND_MS } from "../../core/instant.ts";
import type { Flip } from "../../core/machine/state.ts";
import { signalName } from "../../core/signal.ts";
import { instantText, readingText } from "./time-text.ts";

/** Changes that are told line by line; of older ones the failures are named. */
const HISTORY_LINES_MAX = 12;

/** The sentences of a message about a flip, by the clock of `zone`. */
export function sentencesOf(message: FlipMessage, zone: string): string[] {
  const corrected = message.corrections.map(
    ({ at }) =>
      `Correction: the alert from ${instantText(at, zone)} was wrong. The ping arrived in time, but we recorded it late. The job was not down.`,
  );
  if (message.reason === "takenBack") return corrected;
  return [
    ...corrected,
    ...flipSentences(message, {
      time: (at) => instantText(at, zone),
      reading: (at) => readingText(at, zone),
    }),
  ];
}

/** `time` names the zone, `reading` follows it. */
type Clock = Readonly<Record<"time" | "reading", (at: Instant) => string>>;

function flipSentences(message: FlipMessage, clock: Clock): string[] {
  const { time } = clock;
  const { since, reason, downtimeMs } = message;
  switch (reason) {
    case "success":
      return [
        `Up since ${time(since)}: a success ping was received.`,
        ...(downtimeMs === null
          ? []
          : [`It was down for ${sentenceText(Math.floor(downtimeMs / SECOND_MS))}.`]),
      ];
    case "fail":
      return failureSentences(message, clock);
    case "timeout":
      return silenceSentences(message, clock);
    case "takenBack":
      return [];
  }
}

function failureSentences({ since, lastPing }: FlipMessage, { time }: Clock): string[] {
  const failure = lastPing?.kind === "fail" ? lastPing : null;
  const status = failure?.exitStatus ?? null;
  const what = status !== null && status > 0 ? signalName("fail", status).toLowerCase() : "a failure";
  const ran = failure?.durationMs ?? null;
  return [
    `Down since ${time(since)}: the job reported ${what}.`,
    ...(ran === null ? [] : [`The run took ${runText(ran)}.`]),
  ];
}

function silenceSentences({ since, check, lastPing }: FlipMessage, { time, reading }: Clock): string[] {
  const { settings, state } = check;
  const graceMs = settings.graceSeconds * SECOND_MS;
  const grace = periodText(settings.graceSeconds);
  // What the check is now explains the silence only if it is still the same one.
  const isCurrent = state.silence?.deadlineAt === since;
  if (isCurrent && state.lastStartAt !== null && state.lastStartAt + graceMs === since) {
    return [
      `Down since ${time(since)}: the run that started at ${reading(state.lastStartAt)} has not finished.`,
      `The job did not report success or failure within the grace period of ${grace}.`,
    ];
  }
  return [
    `Down since ${time(since)}: no success ping arrived in time.`,
    ...(isCurrent
      ? [`A ping was expected by ${reading(since - graceMs)}, plus a grace period of ${grace}.`]
      : []),
    lastPing === null
      ? "No pings have been received yet."
      : `The last ping (${signalName(lastPing.kind, lastPing.exitStatus)}) was received at ${reading(lastPing.at)}.`,
  ];
}

/** What happened since the channel was last told, oldest first; nothing where one thing happened. */
export function historyOf({ flips }: FlipMessage, zone: string): string[] {
  if (flips.length < 2) return [];
  const older = flips.slice(0, -HISTORY_LINES_MAX);
  const lines = flips
    .slice(-HISTORY_LINES_MAX)
    .map((flip) => `${readingText(flip.at, zone)}: ${flipText(flip)}`);
  if (older.length === 0) return lines;
  const failures = older.filter(({ reason }) => reason === "fail").map(({ at }) => readingText(at, zone));
  const named = failures.length === 0 ? "" : `, with failures at ${failures.join(", ")}`;
  return [`Before that: ${older.length} changes${named}`, ...lines];
}

function flipText({ to, reason }: Flip): string {
  if (to === "up") return "up, success ping received";
  return reason === "fail" ? "down, the job reported a failure" : "down, no ping arrived in time";
}
