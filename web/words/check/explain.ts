// "What happened" in sentences: each step on the way to an alert, with the arithmetic of its time zone, and each hop
// of the delivery. Pure.
import type { Explanation, ExplanationStep } from "../../../src/contract/web/history.ts";
import { plural } from "../number.ts";
import { formatAgo, formatDuration, formatSpan, formatWhen, type Reader } from "../time.ts";
import { insideSentence } from "./promise.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

export const explainWords = {
  title: "What happened",
  past: "The last alert",
  drawer: (name: string) => `Why ${name} was reported`,
  drawerUp: (name: string) => `Why ${name} is up`,
  none: "Nothing to explain: this check has not been down yet.",
  edited: "The settings have been changed since. What was expected is told as it would be today.",
  more: "Every step",
  all: "Earlier changes",
  zone: "Time zone",
  hops: "Who was told, hop by hop",
  nobody: "Nobody was told: no channel hears of this check.",
  noNews: "Nobody was told: a first success, or one that ends a pause, is no news.",
  steps: "Step by step",
  total: (ms: number) => `From the change to the first delivered message it took ${formatDuration(ms)}.`,
} as const;

/** "03:00" or, where the seconds tell something, "03:00:01". */
export function formatMoment(at: number, zone: string): string {
  const hasSeconds = Math.floor(at / SECOND_MS) % 60 !== 0;
  return new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    ...(hasSeconds && { second: "2-digit" as const }),
    hourCycle: "h23",
    timeZone: zone,
  }).format(at);
}

/** "UTC", "UTC+2", "UTC−3:30". */
export function formatOffset(minutes: number): string {
  if (minutes === 0) return "UTC";
  const whole = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? "−" : "+"}${whole}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

type About = { zone: string; reader: Reader };

/** The whole of it in one sentence. */
export function summaryOf({ flip, steps }: Explanation, reader: Reader): string {
  const told = steps.filter((step) => step.kind === "told" && step.state === "sent").length;
  const after = told === 0 ? "nobody was told" : `${plural(told, "channel")} heard of it`;
  const at = formatWhen(flip.at, reader);
  if (flip.to === "up") {
    const isUp = flip.from === "down" ? "it is up again" : "it is up";
    return `A success came ${at}, so ${isUp}, and ${after}.`;
  }
  const down = steps.find((step) => step.kind === "down");
  const success = steps.find((step) => step.kind === "success");
  const since = success === undefined ? "at all" : `since ${formatWhen(success.at, reader)}`;
  switch (down?.rule) {
    case "failure":
      return `A run said that it failed, ${at}. That is enough for an alert: it went down at once, and ${after}.`;
    case "overrun":
      return `A run began and did not end in time. It went down ${at}, and ${after}.`;
    case "silence":
    case undefined:
      return `No signal had come ${since} when the grace time ended, ${at}. It went down, and ${after}.`;
  }
}

/** Why nobody was told. */
export function silenceOf({ flip }: Explanation): string {
  return flip.to === "up" && flip.from !== "down" ? explainWords.noNews : explainWords.nobody;
}

/** One step as a sentence. */
export function stepText(step: ExplanationStep, about: About): string {
  switch (step.kind) {
    case "success":
      return "success arrived";
    case "started":
      return "a run began";
    case "expected":
      return `expected ${insideSentence(step.sentence)} ${arithmetic(step, about)}`.trim();
    case "failed":
      return step.exitStatus === null
        ? "a failure signal arrived"
        : `failure arrived, exit code ${step.exitStatus}`;
    case "down":
      return downText(step);
    case "up":
      return "up: a success is enough";
    case "takenBack":
      return "taken back: a signal from before had been on its way";
    case "told":
      return toldText(step, about.reader);
  }
}

function downText({ rule, graceSeconds }: Extract<ExplanationStep, { kind: "down" }>): string {
  const grace = formatSpan(graceSeconds * SECOND_MS);
  switch (rule) {
    case "silence":
      return `down: ${grace} of grace used up; all signals received by then were counted first`;
    case "overrun":
      return `down: the run had not ended ${grace} after it began`;
    case "failure":
      return "down at once: a failure needs no grace";
  }
}

type Expected = Extract<ExplanationStep, { kind: "expected" }>;

/** "(EET, UTC+2; the clocks went back 3 weeks ago)"; nothing for a period, which knows no clock. */
function arithmetic({ at, offsetMinutes, clockChange }: Expected, { zone, reader }: About): string {
  if (zone === "UTC" && clockChange === null) return "";
  const parts = [`${zoneName(zone, at)}${formatOffset(offsetMinutes)}`];
  if (clockChange !== null) {
    const way = offsetMinutes < clockChange.beforeMinutes ? "went back" : "went forward";
    parts.push(`the clocks ${way} ${formatAgo(clockChange.at, reader.now)}`);
  }
  return `(${parts.join("; ")})`;
}

/** The whole sum in one sentence: local time, offset, universal time, and what the last change did to it. */
export function zoneSum(step: Expected, { zone, reader }: About): string {
  const local = formatMoment(step.at, zone);
  const universal = formatMoment(step.at, "UTC");
  const sum = `${local} in ${zone} was ${universal} UTC, because the clocks there stood at ${formatOffset(step.offsetMinutes)}.`;
  if (step.clockChange === null) return `${sum} They had not been changed in the month before.`;
  const { beforeMinutes, at } = step.clockChange;
  const shift = formatSpan(Math.abs(step.offsetMinutes - beforeMinutes) * MINUTE_MS);
  const way = step.offsetMinutes < beforeMinutes ? "back" : "forward";
  return `${sum} They were put ${way} by ${shift} on ${formatWhen(at, reader)}, from ${formatOffset(beforeMinutes)}: a clock that does not follow is off by as much.`;
}

function zoneName(zone: string, at: number): string {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" }).formatToParts(at);
  const name = parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
  // Where there is no short name the browser gives the offset, which is told anyway.
  return /^[A-Z]{3,5}$/.test(name) && name !== "UTC" ? `${name}, ` : "";
}

export type Delivery = Extract<ExplanationStep, { kind: "told" }>;

function missingChannel({ isElsewhere }: Delivery): string {
  return isElsewhere ? "a channel of another project" : "a channel that is gone";
}

/** "Slack #ops told, answered 200 in 0.3 s" */
export function toldText(step: Delivery, reader: Reader): string {
  const name = step.channel?.name ?? missingChannel(step);
  const tries = step.attempts > 1 ? `, on attempt ${step.attempts}` : "";
  const reason = step.reason === null ? "" : `: ${step.reason}`;
  switch (step.state) {
    case "sent": {
      const took =
        step.attemptedAt === null || step.settledAt === null
          ? ""
          : ` in ${formatDuration(step.settledAt - step.attemptedAt)}`;
      return `${name} told${step.code === null ? "" : `, answered ${step.code}`}${took}${tries}`;
    }
    case "pending":
      return step.nextTryAt === null
        ? `${name} is being told`
        : `${name} could not be told yet${reason}; next attempt ${formatWhen(step.nextTryAt, reader)}`;
    case "merged":
      return `${name} is told together with others`;
    case "withdrawn":
      return `${name} not told: it was over before the message left`;
    case "skipped":
      return `${name} not told${reason}`;
    case "dead":
      return `${name} could not be told after ${plural(step.attempts, "attempt")}${reason}`;
  }
}

/** How long it took from the change to the first message that arrived; null: none did. */
export function firstDeliveryMs({ flip, steps }: Explanation): number | null {
  const sent = steps.flatMap((step) =>
    step.kind === "told" && step.state === "sent" && step.settledAt !== null ? [step.settledAt] : [],
  );
  return sent.length === 0 ? null : Math.max(0, Math.min(...sent) - flip.at);
}

export const hopWords = {
  owed: "put into the queue",
  left: "sent",
  lastTry: (attempts: number) => `sent, attempt ${attempts}`,
  settled: "settled",
} as const;
