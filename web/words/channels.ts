// What the page of channels says.
import { formatCount, numberWord } from "../../src/contract/web/list-words.ts";
import type { ChannelCard, DeliveryRow } from "../../src/contract/web/channels.ts";
import { plural } from "./number.ts";

export const channelsWords = {
  tab: "Channels",
  title: (channels: readonly ChannelCard[]) => {
    const broken = channels.filter(
      ({ isEnabled, lastError, warnings }) => !isEnabled || lastError !== null || warnings.length > 0,
    ).length;
    if (channels.length === 0) return "Nobody is told yet";
    if (broken > 0) return `${numberWord(broken)} ${broken === 1 ? "channel needs" : "channels need"} you`;
    return `${numberWord(channels.length)} ${channels.length === 1 ? "channel" : "channels"}`;
  },
  add: "Add channel",
  none: {
    title: "Add the first channel",
    text: "Mail, chat, a webhook or a pager. A test shows what the receiver answered, before it matters.",
  },
  columns: { name: "Channel", hears: "Hears of", last: "Last message", act: "Actions" },
  hears: (count: number) => (count === 0 ? "no check" : plural(count, "check")),
  hearsOf: (name: string, checks: string) => `${name} hears of ${checks}: show them`,
  neverUsed: "never used",
  worked: "delivered",
  failed: (reason: string) => `failed: ${reason}`,
  off: (reason: string | null) => `switched off${reason === null || reason === "" ? "" : `: ${reason}`}`,
  unverified: "waits for the address to agree, by the link that is mailed to it",
  gallery: { title: "How shall people be told?", text: "Each kind says what it needs." },
  newTitle: (kind: string) => `New channel: ${kind}`,
  editTitle: (name: string) => `Edit ${name}`,
  name: "Name",
  nameHint: "What you call it; it is shown in the log.",
  checks: "Hears of all checks that there are now",
  secretKept: "Leave it empty to keep what is stored.",
  secretMade: "Leave it empty to have one made; it is shown once.",
  headersHint: "One on each line: Name: value",
  more: "More: headers, bodies, other events",
  willFail: "The channel was saved, but messages will fail: see its row.",
  bodyHint: "$NAME, $STATUS, $NOW and others are filled in.",
  membersNone: "There are no other channels yet that could be members.",
  back: "Back",
  create: "Create",
  made: {
    title: "Copy this now",
    text: "It was made for this channel and is shown only this once.",
    done: "I have copied it",
  },
  edit: "Edit",
  test: "Send a test",
  log: "Deliveries",
  remove: "Delete",
  removeTitle: (name: string) => `Delete ${name}?`,
  removeText: "Its deliveries stay in the log of the checks. A channel that is deleted cannot be taken back.",
  turnOn: "Switch on",
  turnOff: "Switch off",
  removed: "The channel was deleted.",
  created: "The channel was created.",
  saved: "The channel was saved.",
  testing: { title: "Test message", waits: "It is on its way.", slow: "It is still waiting for its turn." },
  logTitle: (name: string) => `Deliveries of ${name}`,
  logNone: "Nothing was sent by this channel yet.",
  older: "Older deliveries",
  retry: "Try again",
  retried: "It will be sent again in a moment.",
  about: "About",
  what: "What",
  outcome: "Outcome",
  request: "Request",
  response: "Answer",
  attempts: (count: number) => plural(count, "attempt"),
  nextTry: "next try",
  took: (duration: string) => `in ${duration}`,
} as const;

/** The window that says of which checks a channel hears. */
export const heardWords = {
  title: (name: string) => `Checks that ${name} hears of`,
  about: "What is switched holds at once.",
  find: "Find a check",
  list: "Checks",
  count: (on: number, all: number) => `${formatCount(on)} of ${plural(all, "check")}`,
  all: "All of them",
  nothing: "None of them",
  none: "No check is called like that.",
  more: (count: number) => `${plural(count, "more check")}: type to find them.`,
} as const;

/** What can be done about a reason that only whoever runs the installation can change. */
export function reasonAdvice(reason: string | null): string | null {
  return reason !== null && reason.includes("private IP addresses")
    ? "Whoever runs this installation can allow its own network: OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS=true."
    : null;
}

const CAPITALS: Readonly<Record<string, string>> = { url: "URL", id: "ID", api: "API" };

/** "url_down" reads "URL when down", "url_notice" "URL for notices", "chat_id" "Chat ID". */
export function fieldLabel(name: string): string {
  const text = name
    .replace(/_(down|up)$/, "_when_$1")
    .replace(/_notice$/, "_for_notices")
    .split("_")
    .map((word) => CAPITALS[word] ?? word)
    .join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const KIND_WORDS: Readonly<Record<DeliveryRow["kind"], string>> = {
  flip: "status change",
  correction: "correction",
  notice: "notice: we could not watch",
  disabled: "another channel was given up",
  operator: "about this installation",
  test: "test",
};

/** "down, nightly backup". */
export function deliveryWhat({ kind, check, to }: DeliveryRow): string {
  const what = kind === "flip" && to !== null ? to : KIND_WORDS[kind];
  return check === null ? what : `${what}, ${check.name === "" ? "unnamed" : check.name}`;
}

const STATE_WORDS: Readonly<Record<DeliveryRow["state"], string>> = {
  pending: "waiting",
  sent: "delivered",
  merged: "told together with a later one",
  withdrawn: "withdrawn: it had become untrue or its subject is gone",
  skipped: "not wanted by this channel",
  dead: "given up",
};

/** "delivered, 200", "waiting, timed out", "given up: 410 Gone". */
export function deliveryOutcome({ state, code, reason }: DeliveryRow): string {
  const answered = code === null ? "" : `, ${code}`;
  const why = state === "sent" || reason === null ? "" : `: ${reason}`;
  return `${STATE_WORDS[state]}${answered}${why}`;
}
