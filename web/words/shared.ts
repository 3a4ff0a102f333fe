// What is said on more than one page. Every text on screen stands in this folder: one file for each page, and this
// one for the house itself. Sentences say what happened and what to do next.
import type { Beat } from "../../src/contract/web/check-row.ts";

export const BEAT_WORDS: Readonly<Record<Beat, string>> = {
  u: "success",
  l: "success, late",
  f: "failure",
  m: "nothing came",
  r: "running",
  x: "not observed",
  p: "paused",
};

export const words = {
  safeMode: {
    text: "Safe mode: this server runs on a restored or copied database. Pings are recorded, but no notifications are sent.",
    act: "Review",
    admin: "An admin can confirm that this server is in service.",
  },
  product: "Overdue",
  nav: {
    label: "Project",
    skip: "Skip to content",
    projects: "All projects",
    checks: "Checks",
    events: "Events",
    channels: "Channels",
    badges: "Badges",
    settings: "Settings",
    account: "Account",
    admin: "Installation",
    signOut: "Sign out",
    more: "More",
    api: "API",
    apiReference: "API reference",
    switchProject: "Switch project",
    keys: "Keyboard shortcuts",
    keysShort: "Shortcuts",
    search: "Search everything",
    theme: "Theme",
    themes: { system: "As the system", light: "Light", dark: "Dark" },
  },
  lag: (delay: string) => `alerts in ${delay}`,
  lagTitle: "Median time from a missed deadline to a delivered alert, last 24 hours",
  zone: (zone: string) => `times in ${zone}`,
  zoneTitle: (here: string) => `Your account says so. Your browser is in ${here}.`,
  zoneOfBrowser: (here: string) => `browser time: ${here}`,
  zoneOfBrowserTitle: "Another time zone can be chosen in your account.",
  downCount: (count: number) => `${count} down`,
  close: "Close",
  cancel: "Cancel",
  save: "Save",
  unsaved: {
    title: "Discard unsaved changes?",
    text: "What you entered has not been saved.",
    discard: "Discard changes",
    keep: "Keep editing",
  },
  conflict: {
    title: "Changed while you were editing",
    by: {
      you: (when: string) => `You saved another change in a different window ${when}.`,
      person: (email: string, when: string) => `${email} saved a change ${when}.`,
      key: (when: string) => `A change was saved with an API key ${when}.`,
      unknown: (when: string) => `Another change was saved ${when}.`,
    },
    changed: "What changed",
    explain: "Overwrite keeps your changes where both of you changed the same field. Reload discards yours.",
    overwrite: "Overwrite",
    reload: "Reload",
  },
  undo: "Undo",
  undoLast: "Undo what was just done",
  retry: "Try again",
  copy: "Copy",
  copied: "Copied",
  copyRefused: "The browser does not let this page copy. Select the text and copy it by hand.",
  loading: "Loading",
  optional: "optional",
  fuse: {
    used: (percent: number) => `${percent} % of the time until an alert is used`,
    late: (percent: number) => `${percent} % of the time until an alert is used, in grace`,
    burnt: "The time until the alert is used up",
    none: "Nothing is awaited",
  },
  live: { on: "live", off: "connecting", polling: "updates every 10 s" },
  pageMissing: {
    title: "There is nothing here",
    text: "The address may be mistyped, or what was here has been deleted or moved to a project you are not in.",
    action: "To your projects",
  },
  broken: {
    title: "This page could not be drawn",
    text: "Reload it. If it happens again, the details below help whoever runs this installation.",
    action: "Reload",
  },
  trouble: {
    title: "This could not be loaded",
    offline: "No answer from the server. Check your connection; it is tried again as soon as there is one.",
    signedOut: "You have been signed out. Sign in again to go on.",
    forbidden: "You may look at this, but not change it. Ask an owner or manager of the project.",
    notFound: "It is not here any more. Somebody may have deleted it; reload the page.",
    conflict: "Somebody else changed this in the meantime. Reload the page and try again.",
    tooMany: "That was too often in a short time. Wait a minute and try again.",
    server: "The server could not do this just now. Try again in a moment.",
    unknown: "Something went wrong. Reload the page and try again.",
  },
} as const;

/** A link that is passed on by hand, where no mail is sent. */
export const linkWords = {
  title: "Pass this link on",
  label: "Link of the invitation",
  done: "Done",
} as const;

/** The palette and the list of shortcuts. */
export const paletteWords = {
  placeholder: "Go to a check, a page, a project …",
  none: "Nothing is called like that. Try fewer letters.",
  foot: "↑ ↓ to move · Enter to open · Ctrl+Enter in a new tab · Esc to close",
  everywhere: "Everywhere",
  singleKeys: "Single keys do something; off, only those with Ctrl, Escape and arrows",
  go: "Go to",
  kinds: { check: "check", page: "page", project: "project", action: "action" },
} as const;
