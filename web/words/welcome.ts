// Texts of the setup page.
import type { SetupPing } from "../../src/contract/api/history.ts";
import { listNames } from "../../src/contract/api/words.ts";
import { formatDuration } from "./format.ts";

export const welcomeWords = {
  tab: "Setup",
  title: "Get started",
  about: "Follow these five steps. You can come back here from Server admin in the account menu.",
  states: { done: "done", wrong: "needs attention", open: "to do" },
  owner: {
    title: "Admin account",
    text: (email: string) => `Signed in as ${email}.`,
    more: "Set up a password, passkeys or two-factor authentication",
  },
  address: {
    title: "Public URL",
    matches: (address: string) => `${address} matches the configured URL.`,
    testing: "Testing the public URL…",
    reached: (address: string, took: string) => `The server reached itself at ${address} in ${took}.`,
    again: "Test again",
    proxy: "Using a reverse proxy? Configuration for Caddy, nginx, HAProxy and Traefik",
    proxyText:
      "Set these variables in the environment, or in a .env file in the working directory of the server, then restart it:",
    settings: "Settings",
    headers: "Headers of your request",
    header: "Header",
    value: "Value",
    missing: "missing",
    you: "Your IP address as seen by the server",
    local: (port: number) =>
      `This URL works only on this machine. For jobs on other machines, set OVERDUE_SITE_URL to a host name they can reach, and use a reverse proxy or listen on all interfaces: OVERDUE_LISTEN=0.0.0.0:${port}.`,
  },
  mail: {
    title: "Email",
    skip: "Optional. You can do this later.",
    off: "Email is not set up yet. You can also send alerts through other channels.",
    how: "How to set up email",
    where:
      "Set these variables in the environment, or in a .env file in the working directory of the server, then restart it:",
    on: (host: string, from: string) => `Email is sent through ${host} from ${from}.`,
    to: "Send a test email to",
    send: "Send test email",
    sent: (took: string) => `The mail server accepted the email in ${took}.`,
    refused: (took: string) => `The email couldn't be sent (${took}).`,
    answer: "Response from the mail server",
    settings: "Email settings",
  },
  check: {
    title: "First check",
    text: "Which job do you want to monitor? Only a name is needed. You can change everything else later.",
    name: "Name",
    placeholder: "nightly backup",
    create: "Create check",
    noProject: "No project yet. Create one first.",
    projects: "View your projects",
    mayNot: "You don't have permission to create checks in this project. Ask its owner.",
    monitored: (count: number) =>
      count === 1 ? "You already have 1 check." : `You already have ${count} checks.`,
    toChecks: "View checks",
    another: "Create another check",
  },
  channel: {
    title: "Notification channel",
    text: "Choose where to send notifications when a job fails or misses a ping.",
    noMail:
      "Choose where to send notifications when a job fails or misses a ping. Email is not set up, but you can use other channels.",
    mail: (email: string) => `Email ${email}`,
    other: "Add another channel",
    choose: "Add a channel",
    notified: (names: readonly string[]) =>
      `Notifications go to ${listNames(names)}. New checks use all channels.`,
    notNotified: (names: readonly string[]) =>
      `${listNames(names)} can't send notifications yet. Open Channels to see what's missing.`,
    toChannels: "View channels",
    mayNot: "You don't have permission to create channels in this project. Ask its owner.",
    noProject: "No project yet. Create one first.",
    skip: "You can do this later. Until then, no notifications are sent.",
  },
} as const;

const KINDS: Readonly<Record<SetupPing["kind"], string>> = {
  success: "success",
  start: "start",
  fail: "failure",
  log: "log",
  ignored: "ignored",
};

export const waitingWords = {
  run: "Run this command on the machine that runs the job, or open the URL in a browser:",
  curl: "Command that sends the first ping",
  waiting: "waiting for a ping",
  arrived: "Ping received",
  arrivedText: "Monitoring has started. You'll get an alert if a ping is missing.",
  arrivedNoChannel: "Monitoring has started, but no channel is connected.",
  addChannel: "Add channel",
  open: "Open check",
  arrivals: "Received pings",
  unmatched: "Received but not matched",
  hints: "Not receiving anything?",
  from: (address: string) => `from ${address}`,
  kind: (kind: SetupPing["kind"], method: string, by: SetupPing["by"]) =>
    by === "email" ? `${KINDS[kind]} by email` : `${KINDS[kind]} (${method})`,
} as const;

/** "12 ms": how long a test took. */
export const took = (ms: number): string => formatDuration(ms);
