// The texts of public status pages and their feeds.
import { listNames } from "../../contract/api/words.ts";
import type { PublicState, StatusView, StripState, ViewEntry } from "../../core/status-page.ts";

export const STATE_WORDS: Readonly<Record<PublicState, string>> = {
  operational: "Operational",
  delayed: "Delayed",
  down: "Not working",
  maintenance: "Maintenance",
  unknown: "No data yet",
};

export const DAY_WORDS: Readonly<Record<StripState, string>> = {
  up: "worked all day",
  brief: "short outage",
  down: "outage",
  none: "not measured",
};

export const PAGE_WORDS = {
  skip: "Skip to content",
  services: "Services",
  history: "History",
  updates: "Get updates",
  email: "Email me when something changes",
  subscribe: "Send me a link to confirm",
  feeds: "Or use a feed:",
  feedNames: { atom: "Atom", rss: "RSS", json: "JSON" },
  updated: (clock: string, zone: string) => `Last updated ${clock} ${zone}`,
  stale: (moment: string, zone: string) =>
    `Not updated since ${moment} ${zone}. The current state may be different.`,
  since: (clock: string) => `since ${clock}`,
  affected: (names: readonly string[]) => `Affected: ${listNames(names)}`,
  maintenanceNow: "now",
  measuredSince: (day: string) => `since ${day}`,
  days: (from: string) => `${from} to today`,
  empty: "Nothing is shown on this page yet.",
  past: "What happened before",
  noPast: "No incidents have been published.",
  quiet: "No incidents.",
  today: (day: string) => `Today, ${day}`,
  seeAbove: (title: string) => `${title}: see above.`,
  resolved: "resolved",
  completed: "completed",
  times: (zone: string) => `Times in ${zone}.`,
  measured: (site: string) => `Measured by ${site}, not entered by hand`,
} as const;

/** At most this many names are in a title. */
const NAMES_MAX = 2;

/** The title of a page: the state, in words. */
export function stateTitle(view: StatusView): string {
  const [incident, ...others] = view.openIncidents;
  if (incident !== undefined && others.length === 0) return incident.title;
  const entries = entriesOf(view);
  const of = (state: PublicState) => entries.filter((entry) => entry.state === state);
  const down = of("down");
  if (down.length > 0) {
    return down.length <= NAMES_MAX
      ? `Outage: ${listNames(namesOf(down))}`
      : `${down.length} services are not working`;
  }
  if (others.length > 0) return `${view.openIncidents.length} open incidents`;
  const delayed = of("delayed");
  if (delayed.length > 0) {
    return delayed.length <= NAMES_MAX
      ? `Delays: ${listNames(namesOf(delayed))}`
      : `${delayed.length} services are delayed`;
  }
  if (of("maintenance").length > 0) return "Maintenance in progress";
  if (of("operational").length === 0) return "No data yet";
  return "Everything is working";
}

/** The sentence below the title; empty: the title says it all. */
export function stateLead(view: StatusView): string {
  const entries = entriesOf(view);
  const of = (state: PublicState) => entries.filter((entry) => entry.state === state);
  const [down, delayed, maintenance, operational] = [
    of("down"),
    of("delayed"),
    of("maintenance"),
    of("operational"),
  ];
  if (entries.length === 0) return "";
  if (operational.length === entries.length) {
    return entries.length === 1
      ? "The service is operational."
      : `All ${entries.length} services are operational.`;
  }
  const isNamed = view.openIncidents.length === 1;
  const parts = [
    ...(down.length > 0 && isNamed ? [sentence(down, "Not working")] : []),
    ...(delayed.length > 0 && (isNamed || down.length > 0) ? [sentence(delayed, "Delayed")] : []),
    ...(maintenance.length > 0 ? [sentence(maintenance, "Under maintenance")] : []),
  ];
  if (operational.length > 0) parts.push("Everything else works.");
  return parts.join(" ");
}

function sentence(entries: readonly ViewEntry[], what: string): string {
  return `${what}: ${listNames(namesOf(entries))}.`;
}

function entriesOf({ groups }: StatusView): ViewEntry[] {
  return groups.flatMap(({ entries }) => entries);
}

function namesOf(entries: readonly ViewEntry[]): string[] {
  return entries.map(({ name }) => name);
}

/** The worst state of the page; an open incident counts even if every entry is operational again. */
export function shownState(view: StatusView): PublicState {
  return view.state === "operational" && view.openIncidents.length > 0 ? "delayed" : view.state;
}

const PERCENT = 100;
const DIGITS = 2;

/** "99.98 %". Never rounded up to 100 %. */
export function percentText(share: number): string {
  const shown = Math.floor(share * PERCENT * 10 ** DIGITS) / 10 ** DIGITS;
  return `${shown === PERCENT ? PERCENT : shown.toFixed(DIGITS)} %`;
}

/** Small pages. */
export const CARD_WORDS = {
  password: {
    title: "This page is protected",
    sentences: ["Enter the password to see the status."],
    label: "Password",
    act: "Show status",
  },
  wrongPassword: "Wrong password. Try again.",
  checkEmail: (address: string) => ({
    title: "Check your email",
    sentences: [`We sent a link to ${address}. Open it to confirm your subscription.`],
  }),
  invalidEmail: {
    title: "Invalid email address",
    sentences: ["Go back and enter a complete email address."],
  },
  full: {
    title: "No more subscriptions",
    sentences: ["This page has too many subscribers. Use a feed instead."],
  },
  confirm: {
    title: "Get updates by email?",
    sentences: ["You will get an email when something changes. Each email has a link to unsubscribe."],
    act: "Confirm subscription",
    done: {
      title: "Subscription confirmed",
      sentences: ["You will get an email when something changes."],
    },
  },
  unsubscribe: {
    title: "Unsubscribe?",
    sentences: ["You will no longer get emails about this page."],
    act: "Unsubscribe",
    done: { title: "Unsubscribed", sentences: ["You will no longer get emails about this page."] },
  },
  badLink: {
    title: "Invalid link",
    sentences: [
      "The link may be incomplete or expired. If you copied it from an email, make sure you copied all of it.",
    ],
  },
  crossSite: "Request blocked",
  unreadable: {
    title: "Incomplete request",
    sentences: ["The form was not received completely. Go back and try again."],
  },
  tooMany: { title: "Too many requests", sentences: ["Wait a minute, then try again."] },
  method: { title: "Method not allowed", sentences: ["Open the page in a browser."] },
  notFound: { title: "Page not found", sentences: ["Nothing exists at this URL."] },
  unknownPage: { title: "Page not found", sentences: ["No status page exists at this URL."] },
  unavailable: {
    title: "Status not available",
    sentences: ["The status cannot be loaded at the moment. Try again in a few seconds."],
  },
} as const;
