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
    group: "Pings by email",
    kind: listenKind,
    fallbackMeans: "none; no email is received",
    secret: false,
    meaning: "The address on which the role smtp receives pings by email. Requires OVERDUE_PING_MAIL_DOMAIN.",
    example: "0.0.0.0:25",
    composedOf: everywhere,
  }),
  pingMailDomain: optionalSetting({
    key: "OVERDUE_PING_MAIL_DOMAIN",
    group: "Pings by email",
    kind: domainKind,
    fallbackMeans: "none; no email is received",
    secret: false,
    meaning:
      "The domain of the email addresses of checks: <uuid>@domain and <ping key>+<slug>@domain. Its MX record must point to this server. No email is sent from it.",
    example: "ping.overdue.example.org",
    aliases: ["PING_EMAIL_DOMAIN"],
  }),
  pingMailCertificate: optionalSetting({
    key: "OVERDUE_PING_MAIL_CERTIFICATE",
    group: "Pings by email",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; STARTTLS is not offered",
    secret: false,
    meaning: "A PEM file with the STARTTLS certificate and its intermediate certificates. Read at startup.",
    example: "/etc/overdue/mail.pem",
  }),
  pingMailCertificateKey: optionalSetting({
    key: "OVERDUE_PING_MAIL_CERTIFICATE_KEY",
    group: "Pings by email",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required with OVERDUE_PING_MAIL_CERTIFICATE",
    secret: false,
    meaning: "A PEM file with the private key of the certificate.",
    example: "/etc/overdue/mail.key",
  }),
  pingMailProxy: setting({
    key: "OVERDUE_PING_MAIL_PROXY",
    group: "Pings by email",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Expect a PROXY protocol (version 1) header with the client address on every connection. Enable this only behind a load balancer that adds the header, because clients could otherwise forge their address.",
    example: "true",
  }),
  pingMailConnectionsMax: setting({
    key: "OVERDUE_PING_MAIL_CONNECTIONS_MAX",
    group: "Pings by email",
    kind: integerKind({ min: CONNECTIONS_MIN, max: CONNECTIONS_MAX, unit: "connections" }),
    fallback: 1_000,
    secret: false,
    meaning:
      "The maximum number of SMTP connections per process. At the limit, the connections that have been idle the longest are closed.",
    example: "5000",
  }),
  pingMailPeerConnectionsMax: setting({
    key: "OVERDUE_PING_MAIL_PEER_CONNECTIONS_MAX",
    group: "Pings by email",
    kind: integerKind({ min: CONNECTIONS_MIN, max: CONNECTIONS_MAX, unit: "connections" }),
    fallback: 100,
    secret: false,
    meaning:
      "The maximum number of SMTP connections per process from one network. If all email arrives through your own relay, the relay counts as one network.",
    example: "500",
  }),
  pingMailPeerRate: setting({
    key: "OVERDUE_PING_MAIL_PEER_RATE",
    group: "Pings by email",
    kind: integerKind({ min: 0, max: MESSAGES_PER_MINUTE_MAX, unit: "messages" }),
    fallback: 6_000,
    secret: false,
    meaning:
      "The maximum number of messages per minute that one network can send to one process. Messages over the limit are deferred with 450. 0 means no limit.",
    example: "0",
  }),
  pingMailKeptBytes: setting({
    key: "OVERDUE_PING_MAIL_BODY_LIMIT",
    group: "Pings by email",
    kind: integerKind({ min: 0, max: EMAIL_WEIGHT_BYTES_MAX / 2, unit: "bytes" }),
    fallback: DEFAULT_EMAIL_KEPT_BYTES,
    secret: false,
    meaning:
      "The maximum size of the stored message. Longer messages are truncated, not rejected. Keywords are matched before truncation.",
    example: "100000",
  }),
} as const;
