// The notifier role: sends notifications and emails. Several processes may run; each message is claimed by one of them,
// and another takes over what a stopped process leaves behind.
import { ackUrl } from "../core/ack-link.ts";
import { randomInt } from "node:crypto";
import { accountLinks, renderAccountEmail } from "../channels/account-email.ts";
import type { BounceableMail, MailPort } from "../channels/channel-kind.ts";
import { providersOf } from "../channels/providers.ts";
import { createSender, type SenderOptions } from "../channels/sender.ts";
import { type ChatCode, greetChat, readSetUpCodes } from "../channels/kinds/telegram.ts";
import type { Config } from "../config/config.ts";
import { mailServerOf, objectStoreOf, openOutgoing } from "../config/connections.ts";
import { messageCheckJson } from "../contract/check.ts";
import { publicUrls } from "../contract/urls.ts";
import {
  type BounceId,
  bounceLocalPart,
  reportsToken,
  type Signing,
  unsubscribeToken,
  verificationToken,
} from "../core/email.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import { REPORT_MINUTES } from "../core/report.ts";
import { textLookup } from "../lib/dns-text.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService, type TickResult } from "../lib/loop.ts";
import type { MailResult, MailSender } from "../lib/mail-sender.ts";
import { addFigures, type LoopMetrics, type Metrics } from "../lib/metrics.ts";
import { type GuardedHttp, OutgoingError } from "../lib/outgoing-http.ts";
import { sha1Hex } from "../lib/secrets.ts";
import { addressIn, returnPathFor } from "../lib/setting-value.ts";
import type { VapidKeys } from "../lib/web-push.ts";
import { connectWaiting, isAnyChatWaitingNow, notifyUnverified } from "../operations/channels.ts";
import { whileInService } from "../operations/database-identity.ts";
import type { Ports } from "../operations/deliveries.ts";
import {
  type ClaimedEmail,
  claimEmails,
  type ComposedEmail,
  composeEmail,
  planReminders,
  planReports,
  settleEmail,
} from "../operations/emails.ts";
import { driveFireDrills } from "../operations/fire-drills.ts";
import { guardedObjects } from "../operations/ping-bodies.ts";
import { pushKeysOf, secretsOf, signingWith } from "../operations/secrets.ts";
import { sendLoop } from "../operations/send-loop.ts";
import { findRecipient } from "../store/channels.ts";
import type { Database } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { type StatusNotifier, statusLoops } from "./status-notifier.ts";

/** For one attempt to reach a name server. */
const DNS_MS_MAX = 5_000;

export type NotifierResources = { config: Config; database: Database; log: Log; metrics: Metrics };

/** The role as a part of a process. */
export async function notifierRole({ config, database, log, metrics }: NotifierResources): Promise<Loop> {
  const mail = await openMail({ config, database, log, metrics });
  const opened = openPorts(config, { mail: mail?.port ?? null, database });
  const { ports, http } = opened;
  const { telegramToken: token, siteName } = config;
  const loops = [
    sendLoop({ database, log, metrics }, ports),
    fireDrillLoop({ database, log, metrics }),
    ...(token === null ? [] : [chatSetUpLoop({ database, http, token, siteName, log }, metrics.loops)]),
    ...(mail?.loops ?? []),
    ...statusLoops(
      {
        database,
        log,
        siteUrl: publicUrls(config).site,
        signing: once(async () => signingWith(await secretsOf(database, config))),
        http,
        mail: mail?.toSubscribers ?? null,
        lookUp: textLookup({ timeoutMs: DNS_MS_MAX }),
      },
      metrics,
    ),
  ];
  return sideBySide("notifier", {
    loops,
    close: async () => {
      await mail?.close();
      await opened.close();
    },
  });
}

const DRILL_IDLE_MS = 500;

/** Drives fire drills. */
function fireDrillLoop({ database, log, metrics }: Omit<NotifierResources, "config">): Loop {
  return loopService("fire-drills", {
    idleMs: DRILL_IDLE_MS,
    log,
    metrics: metrics.loops,
    tick: whileInService(database, async (): Promise<TickResult> => {
      await driveFireDrills(database, await readDatabaseClock(database));
      return "idle";
    }),
  });
}

/** Several loops as one part of the process. What they share is closed when the last of them has ended. */
function sideBySide(
  name: string,
  { loops, close }: { loops: readonly Loop[]; close: () => Promise<void> },
): Loop {
  return {
    name,
    start: async () => {
      for (const loop of loops) await loop.start();
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      await close();
    },
    problem: () => loops.map((loop) => loop.problem()).find((problem) => problem !== null) ?? null,
  };
}

// The sender, made from the settings. The check's JSON is passed in, because channels may not import the API contract.

export type OpenPorts = { ports: Ports; http: GuardedHttp; close(): Promise<void> };

/** Opens the ports. `mail` null: this server sends no email. */
function openPorts(
  config: Config,
  { mail, database }: { mail: MailPort | null; database: Database },
): OpenPorts {
  const urls = publicUrls(config);
  const secrets = once(() => secretsOf(database, config));
  const http = openOutgoing(config);
  const adminHttp = openOutgoing({ ...config, allowPrivateAddresses: true });
  const optionsWith = (vapid: VapidKeys | null): SenderOptions => ({
    http,
    adminHttp,
    mail,
    site: { name: config.siteName, url: urls.site },
    ...providersOf(config, vapid),
    checkJson: messageCheckJson({ urls, sha1Hex }),
  });
  const limits = { messages: config.messageLimit, calls: config.callLimit };
  const rules = createSender(optionsWith(null));
  const sender = once(async () => createSender(optionsWith(await pushKeysOf(database, await secrets()))));
  const ending = new AbortController();
  const objects = objectStoreOf(config, { signal: ending.signal });
  const ports: Ports = {
    send: async (channel, message, sending) => (await sender()).send(channel, message, sending),
    isSubscribed: (channel, what) => rules.isSubscribed(channel, what),
    rateOf: (kind) => rules.rateOf(kind),
    quotaOf: (kind) => {
      const quota = rules.quotaUsedBy(kind);
      return quota === null ? null : { quota, limit: limits[quota] };
    },
    ackUrl: async () => {
      const made = { site: urls.site, signing: signingWith(await secrets()) };
      return (link) => ackUrl(made, link);
    },
    objects: objects === null ? null : guardedObjects(objects, { now: () => Date.now() }),
  };
  return {
    ports,
    http,
    close: async () => {
      ending.abort();
      await http.close();
      await adminHttp.close();
    },
  };
}

// Connects Telegram chats to channels. Polls the bot only while a channel waits for its chat. Several processes may do so:
// a code is used once, and Telegram rejects concurrent polling.

const IDLE_MS = 5_000;

export type ChatSetUp = {
  database: Database;
  http: Pick<GuardedHttp, "send">;
  token: string;
  siteName: string;
  log: Log;
};

/** The result of polling: the next offset, and why polling failed. */
export type PollResult = { offset: number; isMore: boolean; trouble: string | null };

/** Polls the messages to the bot once. `offset` is where the last poll ended; 0 at first. */
export async function connectChats(
  setUp: ChatSetUp,
  { now, offset }: { now: Instant; offset: number },
): Promise<PollResult> {
  const { database, http, token } = setUp;
  const nothing = { offset, isMore: false };
  if (!(await isAnyChatWaitingNow(database, now))) return { ...nothing, trouble: null };
  const polled = await reachable(() => readSetUpCodes({ http, token }, offset));
  if (!polled.ok) return { ...nothing, trouble: polled.text };
  for (const one of polled.codes) await connectOne(setUp, { ...one, now });
  return { offset: polled.nextOffset, isMore: polled.isMore, trouble: null };
}

async function connectOne(
  { database, http, token, siteName, log }: ChatSetUp,
  { code, chat, now }: ChatCode & { now: Instant },
): Promise<void> {
  const channel = await connectWaiting(database, { code, chat, now });
  if (channel === null) return;
  log.info({ channel: channel.uuid }, "Telegram chat connected");
  const { projectName } = channel;
  const greeted = await reachable(() => greetChat({ http, token }, { chat, projectName, siteName }));
  if (!greeted.ok)
    log.warn({ reason: greeted.text }, "could not send the welcome message to a Telegram chat");
}

/** A connection error is a result: channels keep waiting for their chat. */
async function reachable<T extends { ok: true }>(
  call: () => Promise<T | { ok: false; text: string }>,
): Promise<T | { ok: false; text: string }> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    return { ok: false, text: error.message };
  }
}

/** The polling loop. A failure is logged when it begins, not for every poll. */
function chatSetUpLoop(setUp: ChatSetUp, metrics: LoopMetrics): Loop {
  let offset = 0;
  let trouble: string | null = null;
  return loopService("chat-set-up", {
    idleMs: IDLE_MS,
    log: setUp.log,
    metrics,
    // Polling the bot would take the codes away from the server in service.
    tick: whileInService(setUp.database, async (): Promise<TickResult> => {
      const now = await readDatabaseClock(setUp.database);
      const looked = await connectChats(setUp, { now, offset });
      if (looked.trouble !== null && looked.trouble !== trouble) {
        setUp.log.warn({ reason: looked.trouble }, "could not fetch setup codes from Telegram");
      }
      ({ offset, trouble } = looked);
      return looked.isMore ? "again" : "idle";
    }),
  });
}

// Email, made from the settings: the mail server, and the loops that send account and report emails.

export type MailResources = { config: Config; database: Database; log: Log; metrics: Metrics };

export type OpenMail = {
  port: MailPort;
  /** Messages to subscribers of status pages. They are not bounced to us. */
  toSubscribers: NonNullable<StatusNotifier["mail"]>;
  /** Started and stopped by the caller. */
  loops: readonly Loop[];
  close(): Promise<void>;
};

/** How often due reports and reminders are searched for. */
const PLAN_IDLE_MS = MINUTE_MS;

const EMAILS_IDLE_MS = 2 * SECOND_MS;

/** Account emails per turn. They are sent one after the other, so that alerts are not delayed. */
const EMAILS_PER_TURN = 5;

type MailDeps = MailResources & { sender: MailSender; signing: () => Promise<Signing>; from: string };

/** Computes a value when it is needed first; again if that failed, such as when the database was unavailable. */
function once<T>(compute: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | null = null;
  return () => {
    value ??= compute();
    value.catch(() => (value = null));
    return value;
  };
}

/** Opens mail, or null if no mail server is configured. */
async function openMail(resources: MailResources): Promise<OpenMail | null> {
  const { config, database } = resources;
  const server = mailServerOf(config);
  if (server === null) return null;
  const { from } = server;
  const { openMailSender } = await import("../lib/mail-sender.ts");
  const sender = openMailSender(server);
  const signing = once(async () => signingWith(await secretsOf(database, config)));
  const deps: MailDeps = { ...resources, sender, from, signing };
  return {
    port: mailPort(deps),
    toSubscribers: { idDomain: idDomain(deps), send: (one) => sender.send(one) },
    loops: [accountEmailLoop(deps), planLoop(deps)],
    close: () => sender.close(),
  };
}

function mailPort(deps: MailDeps): MailPort {
  const { config, database } = deps;
  return {
    idDomain: idDomain(deps),
    recipient: async ({ channelUuid, address }) => {
      const found = await findRecipient(database, { channelUuid, address });
      const token = unsubscribeToken(await deps.signing(), { channelUuid, address });
      return {
        isVerified: !config.mailVerification || found?.verifiedAddress === address,
        zone: found?.zone ?? null,
        unsubscribeUrl: `${config.siteUrl}/integrations/${channelUuid}/unsub/${token}/`,
      };
    },
    notifyUnverified: async ({ channelUuid }) =>
      notifyUnverified(database, { channelUuid, at: await readDatabaseClock(database) }),
    send: (mail) => sendBounceable(deps, mail),
  };
}

function idDomain({ from }: MailDeps): string {
  return addressIn(from).split("@").at(-1) ?? "localhost";
}

async function sendBounceable(deps: MailDeps, { bounceId, ...mail }: BounceableMail): Promise<MailResult> {
  const { config, database, sender } = deps;
  if (config.mailReturnPath === null) return sender.send(mail);
  const at = await readDatabaseClock(database);
  // Made by our own channel kinds and account emails, in this shape.
  const id = bounceId as BounceId;
  const localPart = bounceLocalPart(await deps.signing(), { id, address: mail.to, at });
  return sender.send({ ...mail, returnPath: returnPathFor(config.mailReturnPath, localPart) });
}

/** Sends account emails that are due. */
function accountEmailLoop(deps: MailDeps): Loop {
  const { database, log, metrics } = deps;
  const counts: Record<string, number> = { sent: 0, failed: 0, moot: 0 };
  addFigures(metrics, [
    {
      name: "overdue_letters_total",
      help: "Account emails, reports, and reminders by result.",
      kind: "counter",
      label: "outcome",
      readEach: () => counts,
    },
  ]);
  return loopService("letters", {
    idleMs: EMAILS_IDLE_MS,
    log,
    metrics: metrics.loops,
    tick: whileInService(database, async (signal) => {
      const now = await readDatabaseClock(database);
      const emails = await claimEmails(database, { now, limit: EMAILS_PER_TURN });
      for (const email of emails) {
        // The rest is due again when its claim has expired.
        if (signal.aborted) return "idle";
        const outcome = await sendAccountEmail(deps, email);
        counts[outcome] = (counts[outcome] ?? 0) + 1;
      }
      return emails.length === EMAILS_PER_TURN ? "again" : "idle";
    }),
  });
}

async function sendAccountEmail(deps: MailDeps, email: ClaimedEmail): Promise<"sent" | "failed" | "moot"> {
  const { database, log } = deps;
  const written = await composeEmail(database, email, await readDatabaseClock(database));
  const result = written === null ? null : await sendBounceable(deps, await asMail(deps, email, written));
  await settleEmail(database, email, { result, now: await readDatabaseClock(database) });
  if (result === null) return "moot";
  if (result.kind === "failed") {
    log.warn(
      { letter: email.uuid, kind: email.kind, reason: result.reason },
      "an account email was not sent",
    );
  }
  return result.kind;
}

async function asMail(deps: MailDeps, email: ClaimedEmail, written: ComposedEmail): Promise<BounceableMail> {
  const { config, database } = deps;
  const { to, accountUuid, facts } = written;
  const signing = await deps.signing();
  const verify =
    facts.kind === "verification"
      ? `${config.siteUrl}/integrations/${facts.channel.uuid}/verify/${verificationToken(signing, { channelUuid: facts.channel.uuid, address: to })}/`
      : null;
  const unsubscribe =
    accountUuid === null
      ? null
      : `${config.siteUrl}/accounts/unsubscribe_reports/${reportsToken(signing, accountUuid)}/`;
  const rendered = renderAccountEmail(facts, {
    site: { name: config.siteName, url: config.siteUrl },
    address: to,
    links: { verify, unsubscribe, ...accountLinks(facts, { signing, siteUrl: config.siteUrl }) },
    now: await readDatabaseClock(database),
  });
  return {
    to,
    ...rendered,
    messageId: `<${email.uuid}@${idDomain(deps)}>`,
    ...(unsubscribe !== null && {
      headers: {
        "List-Unsubscribe": `<${unsubscribe}>`,
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      },
    }),
    bounceId: `l.${email.uuid}`,
  };
}

/** Plans reports and reminders. */
function planLoop({ database, log, metrics }: MailDeps): Loop {
  return loopService("reports", {
    idleMs: PLAN_IDLE_MS,
    log,
    metrics: metrics.loops,
    tick: whileInService(database, async () => {
      const now = await readDatabaseClock(database);
      const { letters: reports, isComplete } = await planReports(database, {
        now,
        drawMinute: () => randomInt(REPORT_MINUTES),
      });
      const reminders = await planReminders(database, { now });
      if (reports + reminders > 0) log.info({ reports: reports, reminders }, "reports and reminders planned");
      return isComplete ? "idle" : "again";
    }),
  });
}
