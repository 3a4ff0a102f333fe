// The pages of the documentation that the product links to. A server has them below its own URL.

export const DOCS = {
  home: "/docs/",
  firstPing: "/docs/guide/first-ping",
  checks: "/docs/guide/checks",
  pings: "/docs/guide/pings",
  schedules: "/docs/guide/schedules",
  runLimits: "/docs/guide/run-limits",
  alerts: "/docs/guide/alerts",
  silences: "/docs/guide/silences",
  incidents: "/docs/guide/incidents",
  channels: "/docs/guide/channels/",
  discovery: "/docs/guide/discovery",
  crontab: "/docs/guide/recipes/crontab",
  projects: "/docs/guide/projects",
  permissions: "/docs/guide/permissions",
  tokens: "/docs/guide/tokens",
  account: "/docs/guide/account",
  badges: "/docs/guide/badges",
  api: "/docs/guide/api",
  cli: "/docs/guide/cli",
  troubleshooting: "/docs/guide/troubleshooting",
  install: "/docs/operate/install",
  settings: "/docs/operate/settings",
  privateAddresses: "/docs/operate/settings#overdue-channels-allow-private-ips",
  proxies: "/docs/operate/proxies",
  email: "/docs/operate/email",
  signIn: "/docs/operate/sign-in",
  operating: "/docs/operate/operating",
  serverPings: "/docs/operate/pings",
  backup: "/docs/operate/backup",
  monitoring: "/docs/operate/monitoring",
  healthProblems: "/docs/operate/monitoring#health-problems",
  retention: "/docs/operate/retention",
  serverTroubleshooting: "/docs/operate/troubleshooting",
  security: "/docs/operate/security",
} as const;

export type DocsTopic = keyof typeof DOCS;

/** The page of a kind of channel. */
export function channelDocs(kind: string): string {
  return `${DOCS.channels}${kind}`;
}
