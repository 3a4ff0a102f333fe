// What the first run says, from the public address to the first signal.
import type { Arrival } from "../../src/contract/web/set-up.ts";
import { listNames } from "../../src/contract/web/list-words.ts";
import { formatDuration } from "./time.ts";

export const welcomeWords = {
  tab: "Set-up",
  title: "From nothing to a signal",
  about:
    "Five steps; the fourth is what counts. You can come back here from Installation, in the menu of your account.",
  states: { done: "done", wrong: "needs you", open: "to do" },
  owner: {
    title: "You own this installation",
    text: (email: string) => `Signed in as ${email}.`,
    more: "Password, passkeys and two-factor sign-in",
  },
  address: {
    title: "Public address",
    agrees: (address: string) => `You are at ${address}, and that is what is set.`,
    testing: "The server calls its own address …",
    reached: (address: string, took: string) => `The server reached itself at ${address} in ${took}.`,
    again: "Test again",
    proxy: "A proxy in front? Lines for Caddy, nginx, HAProxy and Traefik",
    proxyText:
      "Then set these, in a file .env in the folder where the program is started, or in its environment, and start it again:",
    settings: "Settings",
    headers: "What arrived with your request",
    header: "Header",
    value: "Value",
    missing: "did not arrive",
    you: "Your address, as the server sees it",
    local: (port: number) =>
      `This URL works on this machine only. For jobs on other machines, set OVERDUE_SITE_URL to a name that they can reach, and put a proxy in front or listen on all interfaces: OVERDUE_LISTEN=0.0.0.0:${port}.`,
  },
  mail: {
    title: "Mail",
    skip: "Nothing else depends on it: you can do this later.",
    off: "No mail is sent yet. Alerts can go by many other channels too.",
    how: "What to set for it",
    where:
      "Put these lines into a file .env in the folder where the program is started, or into its environment, and start it again:",
    on: (host: string, from: string) => `Mail goes by ${host}, from ${from}.`,
    to: "Send a test to",
    send: "Send a test",
    sent: (took: string) => `The mail server took it, in ${took}.`,
    refused: (took: string) => `It did not go out, after ${took}.`,
    answer: "What the mail server said",
    settings: "Settings for mail",
  },
  check: {
    title: "First check",
    text: "Which job shall be watched? A name is enough; everything else can be changed later.",
    name: "Name",
    placeholder: "nightly backup",
    create: "Create the check",
    noProject: "There is no project yet: make one first.",
    projects: "To your projects",
    mayNot: "You may not make checks in this project. Ask its owner.",
    watched: (count: number) =>
      count === 1 ? "One check is watched already." : `${count} checks are watched already.`,
    toChecks: "To the checks",
    another: "Make another one",
  },
  channel: {
    title: "Who is told?",
    text: "When a job fails or stays silent, somebody has to hear of it.",
    noMail:
      "When a job fails or stays silent, somebody has to hear of it. Mail is not set up, but there are other ways.",
    mail: (email: string) => `Mail ${email}`,
    other: "Another way",
    choose: "Choose a way",
    told: (names: readonly string[]) => `Will be told: ${listNames(names)}. New checks use every channel.`,
    toldNot: (names: readonly string[]) =>
      `Nobody can be told by ${listNames(names)} as things stand: see under Channels what is missing.`,
    toChannels: "To the channels",
    mayNot: "You may not make channels in this project. Ask its owner.",
    noProject: "There is no project yet: make one first.",
    skip: "You can do this later; until then nobody is told.",
  },
} as const;

const KINDS: Readonly<Record<Arrival["kind"], string>> = {
  success: "success",
  start: "start",
  fail: "failure",
  log: "log",
  ignored: "ignored",
};

export const waitingWords = {
  run: "Run this line where the job runs, or open the address in a browser:",
  curl: "Command that sends the first signal",
  waiting: "listening",
  arrived: "It arrived",
  arrivedText: "From now on you are told when it does not.",
  arrivedUntold: "From now on its silence is noticed, but nobody is told: no channel hears of it yet.",
  addChannel: "Add a channel",
  open: "Open the check",
  arrivals: "What came",
  misses: "Came, but did not count",
  hints: "Nothing comes?",
  from: (address: string) => `from ${address}`,
  kind: (kind: Arrival["kind"], method: string, by: Arrival["by"]) =>
    by === "email" ? `${KINDS[kind]} by mail` : `${KINDS[kind]} by ${method}`,
} as const;

/** "12 ms": how long a test took. */
export const took = (ms: number): string => formatDuration(ms);
