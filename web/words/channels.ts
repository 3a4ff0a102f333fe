// Texts of the channels page.
import type { Channel, ChannelKindInfo, Delivery, PreviewEvent } from "../../src/contract/api/channels.ts";
import { formatCount } from "../../src/contract/api/words.ts";
import { plural } from "./format.ts";

export const channelsWords = {
  tab: "Channels",
  title: (channels: readonly Channel[]) => {
    const broken = channels.filter(needsAttention).length;
    const untested = channels.filter(isUntested).length;
    if (channels.length === 0) return "No channels yet";
    if (broken > 0) return `${plural(broken, "channel needs", "channels need")} attention`;
    if (untested > 0) {
      return channels.length === 1
        ? "Test your channel"
        : `${plural(untested, "channel is", "channels are")} not tested yet`;
    }
    return channels.length === 1 ? "Your channel works" : `All ${formatCount(channels.length)} channels work`;
  },
  add: "Add channel",
  none: "A channel sends notifications by email, chat, push, phone or webhook. Add one below and test it before you need it.",
  mayNotArrive: (names: readonly string[]) => `Notifications may not arrive: ${listText(names)}.`,
  columns: {
    name: "Channel",
    recent: "Recent deliveries",
    share: "Delivered",
    median: "Median time",
    last: "Last notification",
    act: "Actions",
  },
  checkCount: (count: number) => (count === 0 ? "no checks" : plural(count, "check")),
  chooseChecks: (name: string, checks: string) => `${name} notifies for ${checks}. Choose checks`,
  neverUsed: "Never used",
  delivered: "Delivered",
  failed: (reason: string) => `Failed: ${reasonText(reason)}`,
  failingSince: "Failing since",
  recent: (count: number, failed: number) =>
    `Last ${plural(count, "delivery", "deliveries")}: ${failed === 0 ? "none failed" : `${formatCount(failed)} failed`}`,
  share: (share: number) => `${Math.floor(share * 100)}%`,
  fix: "Edit settings",
  enable: "Enable",
  off: (reason: string | null) => {
    if (reason === null || reason === "") return "Disabled";
    return reason.startsWith("Disabled") ? reason : `Disabled: ${reasonText(reason)}`;
  },
  unverified: "Awaiting email confirmation",
  newTitle: (kind: string) => `Add ${kind} channel`,
  editTitle: (name: string) => `Edit ${name}`,
  name: "Name",
  nameHint: "Shown in the channel list and the delivery log.",
  checks: "Use for all existing checks",
  secretKept: "Leave blank to keep the current value.",
  secretGenerated: "Leave blank to generate one. You'll see it once.",
  headersHint: "One per line, as Name: value",
  more: "More options",
  willFail: "Channel saved, but notifications will fail. See the channel list for details.",
  bodyHint: "You can use $NAME, $STATUS, $NOW and other placeholders.",
  membersNone: "No other channels to add yet.",
  back: "Back",
  create: "Create channel",
  asCode: "Copy as code",
  unavailable: (reason: string) => `${reason}. An admin of the server can change that.`,
  done: "Done",
  generated: {
    title: "Copy this now",
    text: "Overdue generated this value for the channel. You won't be able to see it again.",
  },
  edit: "Edit",
  test: "Send test notification",
  testShort: "Send test",
  log: "Deliveries",
  remove: "Delete",
  removeTitle: (name: string) => `Delete ${name}?`,
  removeText: "Past deliveries stay in the history of the checks. This can't be undone.",
  turnOn: "Enable",
  turnOff: "Disable",
  turnedOn: (name: string) => `${name} enabled.`,
  turnedOff: (name: string) => `${name} disabled.`,
  removed: "Channel deleted.",
  created: "Channel created.",
  saved: "Channel saved.",
  savedAgain: "Channel saved. Send a test to check that it works.",
  testing: { title: "Test notification", waits: "Sending…", slow: "Still queued." },
  logTitle: (name: string) => `Deliveries: ${name}`,
  logNone: "Nothing sent yet.",
  older: "Older deliveries",
  retry: "Try again",
  retried: "Queued for another attempt.",
  about: "About",
  what: "Notification",
  outcome: "Outcome",
  request: "Request",
  response: "Response",
  attempts: (count: number) => plural(count, "attempt"),
  nextTry: "next attempt",
  duration: (duration: string) => `in ${duration}`,
} as const;

/** Whether notifications may not arrive: the channel is disabled, unconfirmed, failing, or will fail. */
export function needsAttention({ notifies, isEnabled, lastError, warnings }: Channel): boolean {
  return !notifies || !isEnabled || lastError !== null || warnings.length > 0;
}

/** Whether nothing was ever sent to the channel. A group sends through its members. */
function isUntested({ kind, lastNotifiedAt }: Channel): boolean {
  return kind !== "group" && lastNotifiedAt === null;
}

const NAMED_MAX = 3;

/** "Ops, Phones and 2 more". */
function listText(names: readonly string[]): string {
  const shown = names.slice(0, NAMED_MAX);
  const rest = names.length - shown.length;
  const parts = rest > 0 ? [...shown, `${formatCount(rest)} more`] : shown;
  const last = parts.at(-1) ?? "";
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
}

export const galleryWords = {
  title: "Add a channel",
  find: "Search channel kinds",
  placeholder: (count: number) => `Search ${formatCount(count)} kinds`,
  category: "Category",
  all: "All",
  none: "No matching kinds. Use a webhook for any service that accepts HTTP requests.",
  count: (count: number) => plural(count, "kind"),
  connected: (count: number, broken: number) => {
    if (broken === 0) return `${formatCount(count)} connected`;
    if (count === 1) return "Needs attention";
    return `${formatCount(broken)} of ${formatCount(count)} ${broken === 1 ? "needs" : "need"} attention`;
  },
  unavailable: "Not enabled on this server",
  /** What has to be entered: "URL and token". */
  needs: (labels: readonly string[]) => capitalized(listText(labels.map(inSentence))),
  thisBrowser: "This browser",
} as const;

/** The categories in their order. */
export const CATEGORY_WORDS: Readonly<Record<ChannelKindInfo["category"], string>> = {
  chat: "Chat",
  push: "Email and push",
  phone: "Phone and SMS",
  incidents: "On-call",
  automation: "Automation",
};

/** The form of a channel, as steps. */
export const stepWords = {
  guide: "Setup steps",
  settings: "Settings",
  preview: "Preview",
  saved: "Channel created",
  test: "Test",
  confirm: "Notifications start after the recipient confirms the address.",
} as const;

export const previewWords = {
  title: "Message preview",
  event: "Event",
  notSent: "With these settings, the channel sends no notification for this event.",
  request: (count: number) => (count === 1 ? "Request" : `${formatCount(count)} requests`),
  failed: "The preview is not available right now.",
} as const;

/** The events of a preview in their order. */
export const EVENT_WORDS: Readonly<Record<PreviewEvent, string>> = {
  down: "Down",
  up: "Up",
  group: "Incident",
  notice: "Notice",
};

/** The dialog that assigns checks to a channel. */
export const channelChecksWords = {
  title: (name: string) => `Checks for ${name}`,
  about: "Changes take effect immediately.",
  find: "Find a check",
  list: "Checks",
  count: (on: number, all: number) => `${formatCount(on)} of ${plural(all, "check")}`,
  all: "Select all",
  nothing: "Select none",
  none: "No matching checks.",
  more: (count: number) => `${plural(count, "more check")}. Search to find them.`,
} as const;

/** Advice for a failure that only an admin can fix. */
export function reasonAdvice(reason: string | null): string | null {
  return reason !== null && reason.includes("private IP addresses")
    ? "An admin can allow private networks with OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS=true."
    : null;
}

const CAPITALS: Readonly<Record<string, string>> = { url: "URL", id: "ID", api: "API", arn: "ARN" };

/** Stored names that do not read well. */
const LABELS: Readonly<Record<string, string>> = {
  key: "API key",
  mtype: "Recipient type",
  repo: "Repository",
  site: "Organization URL",
  to: "Recipient",
};

/** "The incoming webhook URL, such as …" */
const URL_PHRASE = /^The ((?:[a-z]+ )+URL)\b/;

type Described = {
  pattern?: string | undefined;
  format?: string | undefined;
  description?: string | undefined;
};

/**
 * "url_down" reads "URL when down", "url_notice" "URL for notices", "chat_id" "Chat ID". The schema of the field says
 * which URL it is, and what a field named "value" is.
 */
export function fieldLabel(name: string, { pattern = "", format, description = "" }: Described = {}): string {
  if (name === "value") {
    if (format === "phone") return "Phone number";
    return pattern.includes("@") ? "Email address" : "Recipient";
  }
  const phrase = URL_PHRASE.exec(description)?.[1];
  if (name === "url" && phrase !== undefined) return capitalized(phrase);
  if (LABELS[name] !== undefined) return LABELS[name];
  const text = name
    .replace(/_(down|up)$/, "_when_$1")
    .replace(/_notice$/, "_for_notices")
    .split("_")
    .map((word) => CAPITALS[word] ?? word)
    .join(" ");
  return capitalized(text);
}

/** "Routing key" becomes "routing key"; "API key" stays. */
function inSentence(label: string): string {
  return /^[A-Z][a-z]/.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const KIND_WORDS: Readonly<Record<Delivery["kind"], string>> = {
  flip: "status change",
  correction: "correction",
  repeat: "reminder",
  group: "incident",
  notice: "monitoring gap notice",
  disabled: "another channel was disabled",
  operator: "server health",
  test: "test",
};

/** "down, nightly backup". */
export function deliveryWhat({ kind, check, to }: Delivery): string {
  const what = kind === "flip" && to !== null ? to : KIND_WORDS[kind];
  return check === null ? what : `${what}, ${check.name === "" ? "unnamed" : check.name}`;
}

const STATE_WORDS: Readonly<Record<Delivery["state"], string>> = {
  pending: "Waiting",
  sent: "Delivered",
  merged: "Merged into a later notification",
  withdrawn: "Canceled",
  skipped: "Skipped",
  dead: "Failed",
};

const STATUS_REASON = /^(?:Received status code|HTTP) (\d{3})$/;

/** "HTTP 500" for "Received status code 500". */
export function reasonText(reason: string): string {
  return reason.replace(STATUS_REASON, "HTTP $1");
}

/** "HTTP 200", or "SMTP 250" for email. */
export function statusText({
  responseCode,
  channel,
}: Pick<Delivery, "responseCode" | "channel">): string | null {
  if (responseCode === null) return null;
  return channel?.kind === "email" ? `SMTP ${responseCode}` : `HTTP ${responseCode}`;
}

type Outcome = Pick<Delivery, "state" | "responseCode" | "reason" | "channel">;

/** "Delivered (HTTP 200)", "Waiting: timed out", "Failed: HTTP 500", "Failed (HTTP 410): the channel is gone". */
export function deliveryOutcome(delivery: Outcome): string {
  const status = statusText(delivery);
  const state = STATE_WORDS[delivery.state];
  const stateWithStatus = status === null ? state : `${state} (${status})`;
  if (delivery.state === "sent") return stateWithStatus;
  if (delivery.reason === null) return stateWithStatus;
  // The reason may have the status, too.
  if (status !== null && delivery.reason.includes(status)) return `${state}: ${reasonText(delivery.reason)}`;
  if (STATUS_REASON.test(delivery.reason)) return `${state}: ${reasonText(delivery.reason)}`;
  return `${stateWithStatus}: ${delivery.reason}`;
}
