// "What happened" in sentences: each step that led to an alert, with its time zone, and each step of the delivery. Pure.
import type { Explanation, ExplanationStep } from "../../../src/contract/web/history.ts";
import { reasonText, statusText } from "../channels.ts";
import { plural } from "../number.ts";
import { formatAgo, formatDuration, formatSpan, formatWhen, type Reader } from "../time.ts";
import { insideSentence } from "./promise.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

export const explainWords = {
  title: "What happened",
  past: "Last alert",
  drawer: (name: string) => `Why ${name} went down`,
  drawerUp: (name: string) => `Why ${name} is up`,
  none: "This check hasn't been down yet.",
  edited: "The settings have changed since then. Expected times are based on the current settings.",
  more: "Show details",
  all: "Earlier changes",
  zone: "Time zone",
  hops: "Delivery details",
  nobody: "No notifications were sent because no channel is assigned to this check.",
  noNews:
    "No notifications were sent. The first success, and a success that ends a pause, don't send notifications.",
  steps: "Step by step",
  total: (ms: number) =>
    `The first notification was delivered ${formatDuration(ms)} after the status change.`,
} as const;

/** "03:00", or "03:00:01" if there are seconds. */
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

/** A summary in at most two sentences. */
export function summaryOf({ flip, steps }: Explanation, reader: Reader): string {
  const told = steps.filter((step) => step.kind === "told" && step.state === "sent").length;
  const after =
    told === 0 ? "No notifications were sent." : `${plural(told, "channel was", "channels were")} notified.`;
  const at = formatWhen(flip.at, reader);
  if (flip.to === "up") {
    return `The job reported success ${at}, so the check is ${flip.from === "down" ? "up again" : "up"}. ${after}`;
  }
  const down = steps.find((step) => step.kind === "down");
  const success = steps.find((step) => step.kind === "success");
  const missing =
    success === undefined ? "No success was reported" : `No success since ${formatWhen(success.at, reader)}`;
  switch (down?.rule) {
    case "failure":
      return `The job reported a failure ${at}, so the check went down immediately. ${after}`;
    case "overrun":
      return `A run started but didn't finish in time, so the check went down ${at}. ${after}`;
    case "silence":
    case undefined:
      return `${missing}, so the check went down when the grace period ended ${at}. ${after}`;
  }
}

/** Why no notifications were sent. */
export function silenceOf({ flip }: Explanation): string {
  return flip.to === "up" && flip.from !== "down" ? explainWords.noNews : explainWords.nobody;
}

/** One step as a sentence. */
export function stepText(step: ExplanationStep, about: About): string {
  switch (step.kind) {
    case "success":
      return "Success received";
    case "started":
      return "Run started";
    case "expected":
      return `Expected ${insideSentence(step.sentence)} ${arithmetic(step, about)}`.trim();
    case "failed":
      return step.exitStatus === null
        ? "Failure reported"
        : `Failure reported (exit code ${step.exitStatus})`;
    case "down":
      return downText(step);
    case "up":
      return "Up: success received";
    case "takenBack":
      return "Corrected: a ping received in time was recorded late";
    case "told":
      return toldText(step, about.reader);
  }
}

function downText({ rule, graceSeconds }: Extract<ExplanationStep, { kind: "down" }>): string {
  const grace = formatSpan(graceSeconds * SECOND_MS);
  switch (rule) {
    case "silence":
      return `Down: the grace period of ${grace} ended without a success`;
    case "overrun":
      return `Down: the run didn't finish within the grace period of ${grace}`;
    case "failure":
      return "Down immediately. Reported failures skip the grace period.";
  }
}

type Expected = Extract<ExplanationStep, { kind: "expected" }>;

/** "(EET, UTC+2; clocks went back 3 weeks ago)"; empty for an interval, which has no time zone. */
function arithmetic({ at, offsetMinutes, clockChange }: Expected, { zone, reader }: About): string {
  if (zone === "UTC" && clockChange === null) return "";
  const parts = [`${zoneName(zone, at)}${formatOffset(offsetMinutes)}`];
  if (clockChange !== null) {
    const way = offsetMinutes < clockChange.beforeMinutes ? "went back" : "went forward";
    parts.push(`clocks ${way} ${formatAgo(clockChange.at, reader.now)}`);
  }
  return `(${parts.join("; ")})`;
}

/** Local time, UTC offset, UTC time, and the last daylight saving change. */
export function zoneSum(step: Expected, { zone, reader }: About): string {
  const local = formatMoment(step.at, zone);
  const universal = formatMoment(step.at, "UTC");
  const sum = `${local} in ${zone} was ${universal} UTC (offset ${formatOffset(step.offsetMinutes)}).`;
  if (step.clockChange === null) return `${sum} No clock change in the month before.`;
  const { beforeMinutes, at } = step.clockChange;
  const shift = formatSpan(Math.abs(step.offsetMinutes - beforeMinutes) * MINUTE_MS);
  const way = step.offsetMinutes < beforeMinutes ? "back" : "forward";
  return `${sum} Clocks went ${way} by ${shift} on ${formatWhen(at, reader)}, from ${formatOffset(beforeMinutes)}. A job whose clock ignores this change is off by ${shift}.`;
}

function zoneName(zone: string, at: number): string {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" }).formatToParts(at);
  const name = parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
  // Without a short name the browser gives the offset, which is shown anyway.
  return /^[A-Z]{3,5}$/.test(name) && name !== "UTC" ? `${name}, ` : "";
}

export type Delivery = Extract<ExplanationStep, { kind: "told" }>;

function missingChannel({ isElsewhere }: Delivery): string {
  return isElsewhere ? "A channel of another project" : "A deleted channel";
}

/** "#ops notified (HTTP 200, 169 ms)" */
export function toldText(step: Delivery, reader: Reader): string {
  const name = step.channel?.name ?? missingChannel(step);
  const reason = step.reason === null ? "" : `: ${reasonText(step.reason)}`;
  switch (step.state) {
    case "sent": {
      const took =
        step.attemptedAt === null || step.settledAt === null
          ? null
          : formatDuration(step.settledAt - step.attemptedAt);
      const tries = step.attempts > 1 ? `attempt ${step.attempts}` : null;
      const facts = [statusText(step), took, tries].filter((fact) => fact !== null);
      return `${name} notified${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
    }
    case "pending":
      return step.nextTryAt === null
        ? `Notifying ${name}`
        : `${name} not notified yet${reason}. Next attempt ${formatWhen(step.nextTryAt, reader)}`;
    case "merged":
      return `${name}: merged into a later notification`;
    case "withdrawn":
      return `${name} not notified: the notification no longer applied`;
    case "skipped":
      return `${name} not notified${reason}`;
    case "dead":
      return `${name} couldn't be notified after ${plural(step.attempts, "attempt")}${reason}`;
  }
}

/** Time from the status change to the first delivered notification, or null if none was delivered. */
export function firstDeliveryMs({ flip, steps }: Explanation): number | null {
  const sent = steps.flatMap((step) =>
    step.kind === "told" && step.state === "sent" && step.settledAt !== null ? [step.settledAt] : [],
  );
  return sent.length === 0 ? null : Math.max(0, Math.min(...sent) - flip.at);
}

export const hopWords = {
  owed: "queued",
  left: "sent",
  lastTry: (attempts: number) => `sent (attempt ${attempts})`,
  settled: "completed",
} as const;
