// The settings of receiving signals by mail: where, for which domain, with which certificate, and how much of it.
import { type Composition, optionalSetting, setting } from "./setting.ts";
import { DEFAULT_EMAIL_KEPT_BYTES, EMAIL_WEIGHT_BYTES_MAX } from "../core/limits.ts";
import { isHostName } from "../lib/address.ts";
import { booleanKind, integerKind, listenKind, textKind, type ValueKind } from "../lib/setting-value.ts";

const CONNECTIONS_MIN = 1;
const CONNECTIONS_MAX = 100_000;
const MESSAGES_PER_MINUTE_MAX = 10_000_000;

/** What stands behind the @ of an address. */
const domainKind: ValueKind<string> = {
  describe: "domain",
  parse: (text) =>
    isHostName(text)
      ? { value: text.toLowerCase() }
      : { problem: "must be a domain such as ping.example.org" },
  print: (value) => value,
};

/** The reference names a port, and listens everywhere. */
const everywhere: Composition = {
  names: ["SMTPD_PORT"],
  secretNames: [],
  build: (part) => {
    const port = part("SMTPD_PORT");
    return port === null ? null : { value: `0.0.0.0:${port}` };
  },
};

export const PING_MAIL_SETTINGS = {
  pingMailListen: optionalSetting({
    key: "OVERDUE_PING_MAIL_LISTEN",
    group: "Signals by mail",
    kind: listenKind,
    fallbackMeans: "none; no mail is received",
    secret: false,
    meaning: "Where the role smtp receives signals by mail. It needs a domain as well.",
    example: "0.0.0.0:25",
    composedOf: everywhere,
  }),
  pingMailDomain: optionalSetting({
    key: "OVERDUE_PING_MAIL_DOMAIN",
    group: "Signals by mail",
    kind: domainKind,
    fallbackMeans: "none; no mail is received",
    secret: false,
    meaning:
      "The domain of the addresses of checks, <uuid>@domain and <ping key>+<slug>@domain. Its MX has to lead here; we send no mail from it.",
    example: "ping.overdue.example.org",
    aliases: ["PING_EMAIL_DOMAIN"],
  }),
  pingMailCertificate: optionalSetting({
    key: "OVERDUE_PING_MAIL_CERTIFICATE",
    group: "Signals by mail",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; no STARTTLS is offered",
    secret: false,
    meaning:
      "A PEM file with the certificate for STARTTLS, and those between it and its root. Read at the start.",
    example: "/etc/overdue/mail.pem",
  }),
  pingMailCertificateKey: optionalSetting({
    key: "OVERDUE_PING_MAIL_CERTIFICATE_KEY",
    group: "Signals by mail",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; must be set with a certificate",
    secret: false,
    meaning: "A PEM file with the private key that belongs to it.",
    example: "/etc/overdue/mail.key",
  }),
  pingMailProxy: setting({
    key: "OVERDUE_PING_MAIL_PROXY",
    group: "Signals by mail",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Every connection begins with a line of the PROXY protocol, version 1, that says who it is from. Only behind a balancer that writes one: anybody else could claim to be anyone.",
    example: "true",
  }),
  pingMailConnectionsMax: setting({
    key: "OVERDUE_PING_MAIL_CONNECTIONS_MAX",
    group: "Signals by mail",
    kind: integerKind({ min: CONNECTIONS_MIN, max: CONNECTIONS_MAX, unit: "connections" }),
    fallback: 1_000,
    secret: false,
    meaning:
      "The most mail connections to one process. Beyond it, those that have brought nothing for longest are closed.",
    example: "5000",
  }),
  pingMailPeerConnectionsMax: setting({
    key: "OVERDUE_PING_MAIL_PEER_CONNECTIONS_MAX",
    group: "Signals by mail",
    kind: integerKind({ min: CONNECTIONS_MIN, max: CONNECTIONS_MAX, unit: "connections" }),
    fallback: 100,
    secret: false,
    meaning:
      "The most of them from one network. Where a relay of your own stands in front, it is that network.",
    example: "500",
  }),
  pingMailPeerRate: setting({
    key: "OVERDUE_PING_MAIL_PEER_RATE",
    group: "Signals by mail",
    kind: integerKind({ min: 0, max: MESSAGES_PER_MINUTE_MAX, unit: "messages" }),
    fallback: 6_000,
    secret: false,
    meaning:
      "How many messages a minute one network may send to one process; beyond it they are put off with 450. 0 means without limit.",
    example: "0",
  }),
  pingMailKeptBytes: setting({
    key: "OVERDUE_PING_MAIL_BODY_LIMIT",
    group: "Signals by mail",
    kind: integerKind({ min: 0, max: EMAIL_WEIGHT_BYTES_MAX / 2, unit: "bytes" }),
    fallback: DEFAULT_EMAIL_KEPT_BYTES,
    secret: false,
    meaning:
      "How much of a message is kept as it came. A longer one is cut, never refused for it, and keywords are looked for before it is.",
    example: "100000",
  }),
} as const;
