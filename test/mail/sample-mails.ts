// One mail of each sort, for golden files and for pictures: alerts with names that try to pass for markup, and letters.
import { renderAccountEmail } from "../../src/channels/account-email.ts";
import type { ChannelMessage } from "../../src/channels/channel-kind.ts";
import { type RenderedMail, renderEmail } from "../../src/channels/kinds/email.ts";
import { exampleMessage } from "../../src/channels/sender.ts";
import type { EmailFacts } from "../../src/core/email.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { periodsBefore } from "../../src/core/local-time.ts";
import type { AlertMessage } from "../../src/core/message.ts";
import { quotaReason } from "../../src/core/quota.ts";
import { type ReportedCheck, reportOf } from "../../src/core/report.ts";
import { ALL, NOW } from "../channels/sample-messages.ts";

export const SITE = { name: "Overdue", url: "https://overdue.example.org" };
const ADDRESS = "ann@example.org";
const ZONE = "Europe/Riga";
const CHANNEL = { uuid: "0c8983c9-9d73-446f-adb5-0641fdacc9d4", kind: "email", name: "On call" };
const DEDUPE_KEY = "6f1c1d0c-61b1-4bd0-8c4a-0f4f2f2f9d11";
const TOKEN = "a".repeat(64);
const unsubscribeUrl = `${SITE.url}/integrations/${CHANNEL.uuid}/unsub/${TOKEN}/`;

/** The mail of an alert, with its thread. */
export function sampleAlert(message: AlertMessage, more: { dedupeKey?: string; zone?: string | null } = {}) {
  const { dedupeKey = DEDUPE_KEY, zone = ZONE } = more;
  const told: ChannelMessage =
    message.kind === "test"
      ? { ...exampleMessage(message, { uuid: dedupeKey, direction: "down" }), isTest: true }
      : message;
  return renderEmail(
    told,
    { value: ADDRESS, up: true, down: true },
    {
      site: SITE,
      zone: "Europe/Berlin",
      channel: CHANNEL,
      dedupeKey,
      idDomain: "overdue.example.org",
      recipient: { isVerified: true, zone, unsubscribeUrl },
    },
  );
}

const check = (
  name: string,
  more: Partial<Omit<ReportedCheck, "downtimes">> & { minutes?: readonly (number | null)[] } = {},
): ReportedCheck => {
  const { minutes = [0, 0], ...rest } = more;
  return {
    uuid: `31365bce-8da9-4729-8ff3-${name.length.toString().padStart(12, "0")}`,
    name,
    projectName: "Shop & Sons",
    status: "up",
    lastPingAt: NOW - HOUR_MS,
    downtimes: minutes.map((minute) =>
      minute === null ? null : { count: minute === 0 ? 0 : 1 + (minute % 3), durationMs: minute * MINUTE_MS },
    ),
    ...rest,
  };
};

const CHECKS = [
  check("Nightly <backup> of *db_1*", { status: "down", minutes: [12, 372] }),
  check("Invoices", { minutes: [0, 41] }),
  check("Queue worker", { status: "grace" }),
  check("Report for the tax office, quarterly, with a name that goes on and on", { status: "paused" }),
  check("Thumbnails", { status: "new", minutes: [null, 0] }),
  check("certbot renew", { projectName: "Infrastructure" }),
  check("restic prune", { projectName: "Infrastructure", minutes: [90, 7] }),
];

const report = (length: "daily" | "weekly" | "monthly", checks: readonly ReportedCheck[]): EmailFacts => ({
  kind: "report",
  report: reportOf(checks, {
    length,
    periods: periodsBefore(NOW, { length, zone: ZONE, count: 2 }),
    zone: ZONE,
  }),
});

const about = { channel: CHANNEL, projectName: "Shop & Sons" };

const TOKEN_UUID = "0b7a2f0e-5c1e-4a6f-9d55-6a2f6f1f7a10";

const LETTERS: Readonly<Record<string, EmailFacts>> = {
  verification: { kind: "verification", ...about },
  unverified: { kind: "unverified", ...about, address: "ops@example.org" },
  channelDisabled: {
    kind: "disabled",
    ...about,
    reason: "The email bounced (5.1.1): no such user",
    isLimit: false,
  },
  channelLimit: {
    kind: "disabled",
    channel: { ...CHANNEL, kind: "sms" },
    projectName: "Shop & Sons",
    reason: quotaReason({ quota: "messages", limit: 500 }, NOW),
    isLimit: true,
  },
  signIn: {
    kind: "signIn",
    uuid: TOKEN_UUID,
    digest: new Uint8Array(32),
    expiresAt: NOW + HOUR_MS,
    isNew: false,
  },
  register: {
    kind: "signIn",
    uuid: TOKEN_UUID,
    digest: new Uint8Array(32),
    expiresAt: NOW + HOUR_MS,
    isNew: true,
  },
  confirm: { kind: "confirm", uuid: TOKEN_UUID, expiresAt: NOW + HOUR_MS / 4 },
  changeEmail: {
    kind: "changeEmail",
    uuid: TOKEN_UUID,
    digest: new Uint8Array(32),
    expiresAt: NOW + HOUR_MS / 4,
  },
  invitation: {
    kind: "invitation",
    digest: new Uint8Array(32),
    uuid: TOKEN_UUID,
    projectName: "Shop & Sons",
    invitedBy: "alice@example.org",
    expiresAt: NOW + HOUR_MS,
  },
  transfer: {
    kind: "transfer",
    projectUuid: TOKEN_UUID,
    projectName: "Shop & Sons",
    from: "alice@example.org",
  },
  security: { kind: "security", what: "passwordSet" },
  reportMonthly: report("monthly", CHECKS),
  reportWeekly: report("weekly", CHECKS.slice(1, 2)),
  reportDaily: report("daily", [
    check("Invoices"),
    check("certbot renew", { projectName: "Infrastructure" }),
  ]),
  reportUncounted: report("weekly", [
    check("Invoices", { minutes: [0, 41] }),
    { ...check("Flapping"), downtimes: [{ count: 3, durationMs: HOUR_MS }, "uncounted"] },
  ]),
  reminder: {
    kind: "reminder",
    reminder: {
      zone: ZONE,
      downCount: 102,
      down: [
        {
          name: "Nightly <backup> of *db_1*",
          downSinceAt: NOW - 26 * HOUR_MS,
          lastPingAt: NOW - 50 * HOUR_MS,
        },
        { name: "", downSinceAt: null, lastPingAt: null },
      ].map((one) => ({ uuid: "31365bce-8da9-4729-8ff3-aaa71d56b712", projectName: "Shop & Sons", ...one })),
    },
  },
};

/** All mails that there are, by their names. */
export function sampleMails(): Record<string, RenderedMail> {
  const alerts = Object.entries(ALL).map(([name, message]) => [name, sampleAlert(message)] as const);
  const links = {
    verify: `${SITE.url}/integrations/${CHANNEL.uuid}/verify/${TOKEN}/`,
    unsubscribe: `${SITE.url}/accounts/unsubscribe_reports/${CHANNEL.uuid}.${TOKEN}/`,
    action: `${SITE.url}/accounts/link/${TOKEN}/`,
    code: "042319",
  };
  const letters = Object.entries(LETTERS).map(
    ([name, facts]) =>
      [name, renderAccountEmail(facts, { site: SITE, address: ADDRESS, links, now: NOW })] as const,
  );
  return Object.fromEntries(
    [...alerts, ...letters].map(([name, { subject, text, html }]) => [name, { subject, text, html }]),
  );
}
