// Texts of links to the documentation.
import type { DocsTopic } from "../../src/contract/docs.ts";

export const docsWords = {
  link: "Docs",
  more: "Learn more",
  newTab: "(opens in a new tab)",
} as const;

/** The topic of a page, for screen readers: many links have the same text. */
export const TOPIC_WORDS: Readonly<Record<DocsTopic, string>> = {
  home: "all topics",
  firstPing: "your first ping",
  checks: "checks",
  pings: "pings",
  schedules: "schedules",
  runLimits: "grace period and run limits",
  alerts: "alerts",
  silences: "silences",
  incidents: "incidents",
  channels: "channels",
  discovery: "finding jobs",
  crontab: "crontab",
  projects: "projects and members",
  permissions: "permissions",
  tokens: "personal access tokens",
  account: "your account",
  badges: "badges",
  api: "API",
  cli: "command line",
  troubleshooting: "troubleshooting",
  install: "installation",
  settings: "server settings",
  privateAddresses: "private addresses",
  proxies: "reverse proxies",
  email: "server email",
  signIn: "sign-in",
  operating: "server and roles",
  serverPings: "receiving pings",
  backup: "backup and restore",
  monitoring: "monitoring the server",
  healthProblems: "health problems",
  retention: "data retention",
  serverTroubleshooting: "server troubleshooting",
  security: "security",
};
