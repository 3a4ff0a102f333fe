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
    if ("problem" in asked) return { problem: `is derived from EMAIL_*: EMAIL_USE_SSL ${asked.problem}` };
    if ("problem" in usual) return { problem: `is derived from EMAIL_*: EMAIL_USE_TLS ${usual.problem}` };
    if (asked.value) return { value: "tls" };
    return { value: usual.value ? "starttls" : "none" };
  },
};

export const MAIL_SETTINGS = {
  smtpHost: optionalSetting({
    key: "OVERDUE_SMTP_HOST",
    group: "Email",
    kind: hostKind,
    fallbackMeans: "none; no email is sent",
    secret: false,
    meaning:
      "The SMTP server for outgoing email. Without it, email channels, account emails, reports, and reminders are not sent.",
    example: "smtp.example.org",
    aliases: ["EMAIL_HOST"],
  }),
  smtpPort: setting({
    key: "OVERDUE_SMTP_PORT",
    group: "Email",
    kind: portKind,
    fallback: DEFAULT_PORT,
    secret: false,
    meaning: "The port of the SMTP server: 587 for starttls, 465 for tls, 25 for your own relay.",
    example: "465",
    aliases: ["EMAIL_PORT"],
  }),
  smtpSecurity: setting({
    key: "OVERDUE_SMTP_TLS",
    group: "Email",
    kind: choiceKind(["starttls", "tls", "opportunistic", "none"]),
    fallback: "starttls",
    secret: false,
    meaning:
      "The encryption of the SMTP connection. starttls and tls require encryption and a valid certificate. opportunistic uses encryption if the server offers it and does not verify the certificate. none is for a relay on the same machine. To trust a private CA, set NODE_EXTRA_CA_CERTS.",
    example: "tls",
    composedOf: security,
  }),
  smtpUser: optionalSetting({
    key: "OVERDUE_SMTP_USER",
    group: "Email",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; no authentication",
    secret: false,
    meaning: "The SMTP user name.",
    example: "overdue@example.org",
    aliases: ["EMAIL_HOST_USER"],
  }),
  smtpPassword: optionalSetting({
    key: "OVERDUE_SMTP_PASSWORD",
    group: "Email",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required with OVERDUE_SMTP_USER",
    secret: true,
    meaning: "The SMTP password.",
    example: "password-of-that-user",
    aliases: ["EMAIL_HOST_PASSWORD"],
  }),
  smtpConnections: setting({
    key: "OVERDUE_SMTP_CONNECTIONS",
    group: "Email",
    kind: integerKind({ min: 1, max: CONNECTIONS_MAX, unit: "connections" }),
    fallback: 5,
    secret: false,
    meaning: "The maximum number of concurrent SMTP connections per process.",
    example: "2",
  }),
  smtpTimeoutSeconds: setting({
    key: "OVERDUE_SMTP_TIMEOUT",
    group: "Email",
    kind: secondsKind({ min: 1, max: TIMEOUT_SECONDS_MAX }),
    fallback: 20,
    secret: false,
    meaning: "The time limit for sending one email. After that, the attempt fails and is retried later.",
    example: "25",
  }),
  mailFrom: optionalSetting({
    key: "OVERDUE_MAIL_FROM",
    group: "Email",
    kind: senderKind,
    fallbackMeans: "overdue@ followed by the host of OVERDUE_SITE_URL",
    secret: false,
    meaning: "The From address of outgoing email. Most SMTP servers accept only certain sender addresses.",
    example: "Overdue <overdue@example.org>",
    aliases: ["DEFAULT_FROM_EMAIL"],
  }),
  mailVerification: setting({
    key: "OVERDUE_MAIL_VERIFICATION",
    group: "Email",
    kind: booleanKind,
    fallback: true,
    secret: false,
    meaning:
      "Require recipients to confirm their email address before alerts are sent to it. Project members don't need to confirm.",
    example: "false",
    aliases: ["EMAIL_USE_VERIFICATION"],
  }),
  mailReturnPath: optionalSetting({
    key: "OVERDUE_MAIL_RETURN_PATH",
    group: "Email",
    kind: returnPathKind,
    fallbackMeans: "none; bounces go to the From address",
    secret: false,
    meaning:
      "The return path for bounces. %s is replaced with a signed identifier of the email. The mail server for this address must POST each received message unmodified to /api/v3/bounces/. Overdue then stops sending to addresses that don't exist.",
    example: "%s@bounces.example.org",
    aliases: ["EMAIL_MAIL_FROM_TMPL"],
  }),
} as const;
