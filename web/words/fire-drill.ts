// Texts of the fire drill page, and of the last fire drill on other pages.
import type { FireDrill, FireDrillSummary } from "../../src/contract/api/fire-drills.ts";
import { formatDuration, plural } from "./format.ts";

type Outcome = NonNullable<FireDrillSummary["outcome"]>;
type Recipient = FireDrill["recipients"][number];

export const fireDrillWords = {
  tab: "Fire drill",
  ready: "Fire drill",
  running: "Fire drill running",
  about:
    "A fire drill simulates a missed deadline. It takes the path of a real alert and shows how long each step takes and who would be notified. No check changes its status.",
  link: "Fire drill",
  last: (result: string) => `Last fire drill: ${result}`,
  start: "Start fire drill",
  startSending: "Send the messages",
  simulate: "As if this went down",
  allChannels: "A check with all channels",
  send: "Send the messages",
  sendHint:
    "Every channel gets a message marked [Fire drill], and then a recovery. Incidents that it opens are closed again at once.",
  quietHint: "Nothing leaves the server. Messages are prepared but not sent.",
  ask: "Send fire drill messages?",
  askText: "All channels of the check get a message marked [Fire drill], and then a recovery.",
  mayNotSend: "Only owners and managers can send the messages.",
  readOnly: "A member who can edit the project can start a fire drill.",
  hops: "Steps",
  chart: "Time since the missed deadline",
  table: "Show as table",
  step: "Step",
  after: "After the deadline",
  took: "Took",
  recipients: "Channels",
  notes: "What a real problem would do",
  history: "Earlier fire drills",
  none: "No fire drills yet",
  preview: "Preview",
  request: "Request",
  closed: "closed again",
  weekly: "Weekly fire drill",
  weeklyAbout: "Runs every week, so that a broken channel is noticed before an outage.",
  weeklyOff: "Off",
  weeklyNext: "Next:",
  weekday: "Day",
  time: "Time",
  zone: "Time zone",
  saved: "Weekly fire drill saved",
  turnedOff: "Weekly fire drill turned off",
  turnOff: "Turn off",
  isSent: "messages sent",
  isQuiet: "nothing sent",
  scheduled: "weekly",
  holdUntil: "until",
  waiting: "Waiting…",
  waitingForSweeper:
    "Waiting for the sweeper to find the missed deadline. In the first minute after the server starts, no deadline fires.",
} as const;

export const WEEKDAY_WORDS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

export const HOP_WORDS: Readonly<Record<FireDrill["hops"][number]["name"], string>> = {
  deadline: "Deadline missed",
  found: "Found by the sweeper",
  written: "Alert written",
  planned: "Notifications planned",
  claimed: "Claimed by the notifier",
  rendered: "Messages rendered",
  answered: "Receivers responded",
};

const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  ok: "All channels work",
  failed: "A channel failed",
  held: "Held by a silence",
  nobody: "Nobody would be notified",
  timedOut: "A step took too long",
};

/** "2.3 s from missed deadline to 4 channels". */
export function drillSentence({
  outcome,
  durationMs,
  channelCount,
}: Pick<FireDrillSummary, "outcome" | "durationMs" | "channelCount">): string {
  if (durationMs === null || channelCount === 0) return outcome === null ? "" : OUTCOME_WORDS[outcome];
  return `${formatDuration(durationMs)} from missed deadline to ${plural(channelCount, "channel")}`;
}

/** The title of the page about a drill. */
export function drillTitle(drill: Pick<FireDrillSummary, "outcome">): string {
  return drill.outcome === null ? fireDrillWords.running : OUTCOME_WORDS[drill.outcome];
}

export function drillSubject({ check }: Pick<FireDrillSummary, "check">): string {
  if (check === null) return fireDrillWords.allChannels;
  return check.name === "" ? "A check without a name" : check.name;
}

/** "notified (HTTP 200, 169 ms)", "Not sent (fire drill)". */
export function recipientText({ outcome, code, reason, renderedAt, answeredAt }: Recipient): string {
  switch (outcome) {
    case "sent": {
      const took =
        renderedAt === null || answeredAt === null ? null : formatDuration(answeredAt - renderedAt);
      const parts = [...(code === null ? [] : [`code ${code}`]), ...(took === null ? [] : [took])];
      return parts.length === 0 ? "Notified" : `Notified (${parts.join(", ")})`;
    }
    case "notSent":
      return "Would be notified. Not sent (fire drill)";
    case "retrying":
      return reason === null ? "Retrying" : `Retrying: ${reason}`;
    case "failed":
      return reason === null ? "Failed" : `Failed: ${reason}`;
    case "skipped":
      return reason ?? "Not notified";
  }
}

/** What is announced while a drill runs. */
export function hopAnnouncement(hop: FireDrill["hops"][number], deadlineAt: number): string {
  if (hop.name === "deadline") return HOP_WORDS.deadline;
  return `${HOP_WORDS[hop.name]} after ${formatDuration(hop.at - deadlineAt)}`;
}
