// The facts that stand below a message about a check: whose it is, when it is expected, what it sent last.
import type { FlipMessage } from "../../core/alerts/message.ts";
import type { CheckSettings } from "../../core/check.ts";
import { periodText, sentenceText } from "../../core/schedule/wording/durations.ts";
import { splitTags } from "../../core/identity.ts";
import { SECOND_MS } from "../../core/instant.ts";
import { signalName } from "../../core/signal.ts";
import { oneLine, printable } from "./clip.ts";

export type Fact = {
  label: string;
  value: string;
  /** Two short ones fit beside each other. */
  isShort: boolean;
  /** Tags and schedules: to be shown letter by letter. */
  isLiteral?: true;
  /** The parts of a value that has several. */
  parts?: readonly string[];
};

const UNNAMED = "unnamed check";

/** What a check is called. Never its UUID, which is what pings it. */
export function shownName({ name, slug = "" }: { name: string; slug?: string }): string {
  return oneLine(name) || slug || UNNAMED;
}

/** Whose check it is. */
export function projectFact(projectName: string): Fact {
  return { label: "Project", value: oneLine(projectName) || "unnamed project", isShort: true };
}

/** In the order in which they are read; what there is nothing to say about is left out. */
export function factsOf(message: FlipMessage): Fact[] {
  const { check } = message;
  const { settings, state } = check;
  const facts: Fact[] = [];
  const desc = printable(settings.desc).trim();
  if (desc !== "") facts.push({ label: "Description", value: desc, isShort: false });
  facts.push(projectFact(check.projectName));
  const tags = splitTags(settings.tags);
  if (tags.length > 0) {
    facts.push({ label: "Tags", value: tags.join(" "), parts: tags, isShort: true, isLiteral: true });
  }
  facts.push(...timingFacts(settings));
  facts.push({ label: "Total pings", value: String(state.pingCount), isShort: true });
  facts.push({ label: "Last ping", value: lastPingText(message), isShort: true });
  return facts;
}

function timingFacts({ kind, timeoutSeconds, schedule, tz, graceSeconds }: CheckSettings): Fact[] {
  const grace: Fact = { label: "Grace period", value: periodText(graceSeconds), isShort: true };
  if (kind === "simple")
    return [{ label: "Period", value: periodText(timeoutSeconds), isShort: true }, grace];
  const lines = schedule.split("\n");
  return [
    { label: "Schedule", value: schedule, parts: lines, isShort: true, isLiteral: true },
    { label: "Time zone", value: tz, isShort: true },
    grace,
  ];
}

function lastPingText({ lastPing, at }: FlipMessage): string {
  if (lastPing === null) return "Never";
  const ageSeconds = Math.max(0, Math.floor((at - lastPing.at) / SECOND_MS));
  return `${signalName(lastPing.kind, lastPing.exitStatus)}, ${sentenceText(ageSeconds)} ago`;
}
