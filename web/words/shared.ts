// Texts that several pages share. Every text on screen is in this folder, one file per page.
import type { RunMark } from "../../src/contract/api/check-row.ts";

export const RUN_OUTCOME_WORDS: Readonly<Record<RunMark, string>> = {
  u: "success",
  l: "success, late",
  f: "failure",
  m: "no ping",
  r: "running",
  x: "not monitored",
  p: "paused",
};

export const words = {
  safeMode: {
    text: "Safe mode: this server runs on a restored or copied database. Pings are recorded, but no notifications are sent.",
    act: "Review",
    admin: "An admin can confirm that this is the production server.",
  },
  product: "Overdue",
  nav: {
    label: "Project",
    skip: "Skip to content",
    projects: "All projects",
    checks: "Checks",
    incidents: "Incidents",
    openIncidents: "open",
    events: "Events",
    silences: "Silences",
    channels: "Channels",
    badges: "Badges",
    settings: "Settings",
    account: "Account",
    admin: "Server admin",
    signOut: "Sign out",
    more: "More",
    api: "API",
    apiReference: "API reference",
    switchProject: "Switch project",
    keys: "Keyboard shortcuts",
    keysShort: "Shortcuts",
    search: "Search everything",
    theme: "Theme",
    themes: { system: "System", light: "Light", dark: "Dark" },
  },
  lag: (delay: string) => `Median alert delay: ${delay}`,
  lagTitle: "Median time from a missed deadline to a delivered alert, last 24 hours",
  zone: (zone: string) => `Time zone: ${zone}`,
  zoneTitle: (here: string) => `Set in your account. Your browser's time zone is ${here}.`,
  zoneOfBrowser: (here: string) => `Browser time zone: ${here}`,
  zoneOfBrowserTitle: "You can choose another time zone in your account.",
  downCount: (count: number) => `${count} down`,
  close: "Close",
  cancel: "Cancel",
  save: "Save",
  unsaved: {
    title: "Discard unsaved changes?",
    text: "Your changes haven't been saved.",
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
  undoLast: "Undo last action",
  retry: "Try again",
  copy: "Copy",
  copied: "Copied",
  copyRefused: "Your browser blocked copying. Select the text and copy it manually.",
  loading: "Loading",
  optional: "optional",
  fuse: {
    used: (percent: number) => `${percent}% of the time before an alert has elapsed`,
    late: (percent: number) => `${percent}% of the time before an alert has elapsed, in the grace period`,
    elapsed: "The time before the alert has elapsed",
    none: "No ping expected",
  },
  live: { on: "live", off: "connecting", polling: "updates every 10 s" },
  pageMissing: {
    title: "Page not found",
    text: "The URL may be wrong, or the item was deleted or moved to a project you aren't a member of.",
    action: "View your projects",
  },
  broken: {
    title: "This page couldn't be displayed",
    text: "Reload the page. If it happens again, send the details below to an admin.",
    action: "Reload",
  },
  errors: {
    title: "This couldn't be loaded",
    offline: "No response from the server. Check your connection. The page retries when you're back online.",
    signedOut: "You've been signed out. Sign in again to continue.",
    forbidden: "You have read-only access. Ask an owner or manager of the project to make changes.",
    notFound: "This no longer exists. It may have been deleted. Reload the page.",
    conflict: "Someone else changed this while you were editing. Reload the page and try again.",
    tooMany: "Too many requests. Wait a minute and try again.",
    server: "The server couldn't complete the request. Try again in a moment.",
    unknown: "Something went wrong. Reload the page and try again.",
  },
} as const;

/** An invitation link to share manually if the server doesn't send email. */
export const linkWords = {
  title: "Share this link",
  label: "Invitation link",
  done: "Done",
} as const;

/** The palette and the list of shortcuts. */
export const paletteWords = {
  placeholder: "Go to a check, page or project…",
  none: "No results",
  foot: "↑ ↓ to move · Enter to open · Ctrl+Enter to open in a new tab · Esc to close",
  everywhere: "Global",
  singleKeys: "Enable single-key shortcuts",
  go: "Go to",
  kinds: { check: "check", page: "page", project: "project", action: "action" },
} as const;
