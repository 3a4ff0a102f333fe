// The settings of mail: the server that takes it, who it is from, and what happens to what comes back.
import { type Composition, optionalSetting, setting } from "./setting.ts";
import { returnPathKind, senderKind } from "../lib/mail/mail-setting.ts";
import {
  booleanKind,
  choiceKind,
  hostKind,
  integerKind,
  portKind,
  secondsKind,
  textKind,
} from "../lib/setting-value.ts";

const DEFAULT_PORT = 587;
const CONNECTIONS_MAX = 50;
/** A message has half a minute in all; a mail must end before it. */
const TIMEOUT_SECONDS_MAX = 25;

/** The reference has two switches, of which at most one may be on. */
const security: Composition = {
  names: ["EMAIL_USE_TLS", "EMAIL_USE_SSL"],
  secretNames: [],
  build: (part) => {
    const [starttls, tls] = ["EMAIL_USE_TLS", "EMAIL_USE_SSL"].map(part);
    if (typeof starttls !== "string" && typeof tls !== "string") return null;
    const asked = booleanKind.parse(tls ?? "false");
    const usual = booleanKind.parse(starttls ?? "true");
    if ("problem" in asked)
      return { problem: `is put together from EMAIL_*, and EMAIL_USE_SSL ${asked.problem}` };
    if ("problem" in usual)
      return { problem: `is put together from EMAIL_*, and EMAIL_USE_TLS ${usual.problem}` };
    if (asked.value) return { value: "tls" };
    return { value: usual.value ? "starttls" : "none" };
  },
};

export const MAIL_SETTINGS = {
  smtpHost: optionalSetting({
    key: "OVERDUE_SMTP_HOST",
    group: "Mail",
    kind: hostKind,
    fallbackMeans: "none; no mail is sent",
    secret: false,
    meaning:
      "The SMTP server that takes our mail. Without it there are no mail channels, reports or reminders.",
    example: "smtp.example.org",
    aliases: ["EMAIL_HOST"],
  }),
  smtpPort: setting({
    key: "OVERDUE_SMTP_PORT",
    group: "Mail",
    kind: portKind,
    fallback: DEFAULT_PORT,
    secret: false,
    meaning: "Its port: 587 for starttls, 465 for tls, 25 for a relay of your own.",
    example: "465",
    aliases: ["EMAIL_PORT"],
  }),
  smtpSecurity: setting({
    key: "OVERDUE_SMTP_TLS",
    group: "Mail",
    kind: choiceKind(["starttls", "tls", "opportunistic", "none"]),
    fallback: "starttls",
    secret: false,
    meaning:
      "How the connection is encrypted. starttls and tls are encrypted and checked, or nothing is sent; opportunistic takes what the server offers, whoever it is; none is for a relay on the same machine. A certificate of your own is trusted by NODE_EXTRA_CA_CERTS.",
    example: "tls",
    composedOf: security,
  }),
  smtpUser: optionalSetting({
    key: "OVERDUE_SMTP_USER",
    group: "Mail",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; no sign-in",
    secret: false,
    meaning: "The name to sign in with.",
    example: "overdue@example.org",
    aliases: ["EMAIL_HOST_USER"],
  }),
  smtpPassword: optionalSetting({
    key: "OVERDUE_SMTP_PASSWORD",
    group: "Mail",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; must be set with a user",
    secret: true,
    meaning: "The password that belongs to it.",
    example: "password-of-that-user",
    aliases: ["EMAIL_HOST_PASSWORD"],
  }),
  smtpConnections: setting({
    key: "OVERDUE_SMTP_CONNECTIONS",
    group: "Mail",
    kind: integerKind({ min: 1, max: CONNECTIONS_MAX, unit: "connections" }),
    fallback: 5,
    secret: false,
    meaning: "How many mails one process sends at the same time, each over a connection of its own.",
    example: "2",
  }),
  smtpTimeoutSeconds: setting({
    key: "OVERDUE_SMTP_TIMEOUT",
    group: "Mail",
    kind: secondsKind({ min: 1, max: TIMEOUT_SECONDS_MAX }),
    fallback: 20,
    secret: false,
    meaning: "How long sending one mail may take before it has failed and is tried again later.",
    example: "25",
  }),
  mailFrom: optionalSetting({
    key: "OVERDUE_MAIL_FROM",
    group: "Mail",
    kind: senderKind,
    fallbackMeans: "overdue@ and the host of the public address",
    secret: false,
    meaning: "Who our mails are from. Most servers send only for addresses that they know.",
    example: "Overdue <overdue@example.org>",
    aliases: ["DEFAULT_FROM_EMAIL"],
  }),
  mailVerification: setting({
    key: "OVERDUE_MAIL_VERIFICATION",
    group: "Mail",
    kind: booleanKind,
    fallback: true,
    secret: false,
    meaning:
      "Whether an address has to agree before alerts are mailed to it. Addresses of members of the project never have to.",
    example: "false",
    aliases: ["EMAIL_USE_VERIFICATION"],
  }),
  mailReturnPath: optionalSetting({
    key: "OVERDUE_MAIL_RETURN_PATH",
    group: "Mail",
    kind: returnPathKind,
    fallbackMeans: "none; mail that cannot be delivered goes back to the sender",
    secret: false,
    meaning:
      "An address that undeliverable mail comes back to; %s becomes a signed text that says which mail it was. Whatever receives mail there has to POST it as it is to /api/v3/bounces/: addresses that do not exist are then written to no more.",
    example: "%s@bounces.example.org",
    aliases: ["EMAIL_MAIL_FROM_TMPL"],
  }),
} as const;
