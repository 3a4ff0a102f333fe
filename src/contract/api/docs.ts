// The pages of the documentation that the product links to. A server has them below its own URL.

export const DOCS = {
  home: "/docs/",
  firstPing: "/docs/guide/first-ping",
  checks: "/docs/guide/checks",
  shortcuts: "/docs/guide/checks#keyboard-shortcuts",
  pings: "/docs/guide/pings",
  pingUrls: "/docs/guide/pings#urls",
  keywords: "/docs/guide/pings#filter-by-keywords",
  schedules: "/docs/guide/schedules",
  cron: "/docs/guide/schedules#cron",
  oncalendar: "/docs/guide/schedules#oncalendar",
  runLimits: "/docs/guide/run-limits",
  gracePeriod: "/docs/guide/run-limits#grace-period",
  tolerance: "/docs/guide/run-limits#tolerate-some-failures-and-missed-runs",
  alerts: "/docs/guide/alerts",
  tagRules: "/docs/guide/alerts#who-is-notified",
  grouping: "/docs/guide/alerts#group-checks-that-go-down-together",
  dependencies: "/docs/guide/alerts#depend-on-other-checks",
  reminders: "/docs/guide/alerts#repeat-notifications",
  gaps: "/docs/guide/alerts#monitoring-gaps",
  silences: "/docs/guide/silences",
  timeline: "/docs/guide/timeline",
  incidents: "/docs/guide/incidents",
  ackLinks: "/docs/guide/incidents#acknowledge-links",
  channels: "/docs/guide/channels/",
  crontab: "/docs/guide/recipes/crontab",
  projects: "/docs/guide/projects",
  permissions: "/docs/guide/permissions",
  tokens: "/docs/guide/tokens",
  account: "/docs/guide/account",
  badges: "/docs/guide/badges",
  apiKeys: "/docs/guide/api#authentication",
  troubleshooting: "/docs/guide/troubleshooting",
  install: "/docs/operate/install",
  privateAddresses: "/docs/operate/settings#overdue-channels-allow-private-ips",
  proxies: "/docs/operate/proxies",
  email: "/docs/operate/email",
  signIn: "/docs/operate/sign-in",
  lockedOut: "/docs/operate/sign-in#locked-out",
  safeMode: "/docs/operate/operating#safe-mode",
  quarantine: "/docs/operate/pings#quarantined-pings",
  monitoring: "/docs/operate/monitoring",
  healthProblems: "/docs/operate/monitoring#health-problems",
  retention: "/docs/operate/retention",
  serverTroubleshooting: "/docs/operate/troubleshooting",
  doctor: "/docs/operate/troubleshooting#what-overdue-doctor-checks",
  auditLog: "/docs/operate/security#audit-log",
} as const;

export type DocsTopic = keyof typeof DOCS;

/** The page of a kind of channel. */
export function channelDocs(kind: string): string {
  return `${DOCS.channels}${kind}`;
}
