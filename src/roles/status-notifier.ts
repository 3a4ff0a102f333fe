// The parts of the notifier that serve status pages: messages to subscribers, and the proof of domains. They have their own
// loops and send one message after the other, so that alerts are never delayed.
import { statusMail, statusWebhookBody } from "../channels/status-message.ts";
import type { Signing } from "../core/email.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { SEND_MS_MAX } from "../core/limits.ts";
import {
  type DomainAnswer,
  domainRecord,
  type StatusPage,
  subscriberToken,
  webhookSecret,
} from "../core/status-page.ts";
import type { TextLookup } from "../lib/dns-text.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import type { Mail, MailResult } from "../lib/mail-sender.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import { type GuardedHttp, OutgoingError } from "../lib/outgoing-http.ts";
import { hmacSha256Hex } from "../lib/secrets.ts";
import { whileInService } from "../operations/database-identity.ts";
import { checkDomains } from "../operations/status-pages.ts";
import {
  announceStates,
  type ClaimedMessage,
  claimStatusMessages,
  isMessageDue,
  type MessageResult,
  settleStatusMessage,
} from "../operations/status-subscribers.ts";
import type { Database } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";

export type StatusNotifier = {
  database: Database;
  log: Log;
  siteUrl: string;
  signing: () => Promise<Signing>;
  http: Pick<GuardedHttp, "send">;
  /** Null: this server sends no email. */
  mail: { idDomain: string; send(mail: Mail): Promise<MailResult> } | null;
  lookUp: TextLookup;
};

const IDLE_MS = 2 * SECOND_MS;
/** How often states are compared with what subscribers know. */
const ANNOUNCE_IDLE_MS = 10 * SECOND_MS;
const DOMAIN_IDLE_MS = 10 * SECOND_MS;
const MESSAGES_PER_TURN = 5;

/** The loops of status pages. */
export function statusLoops(deps: StatusNotifier, metrics: Metrics): Loop[] {
  const { database, log } = deps;
  const counts: Record<string, number> = { sent: 0, failed: 0, moot: 0 };
  addFigures(metrics, [
    {
      name: "overdue_status_messages_total",
      help: "Messages to subscribers of status pages by result of the attempt.",
      kind: "counter",
      label: "outcome",
      readEach: () => counts,
    },
  ]);
  let afterId = 0;
  return [
    loopService("status-messages", {
      idleMs: IDLE_MS,
      log,
      metrics: metrics.loops,
      tick: whileInService(database, async (signal) => {
        const sent = await sendStatusMessages(deps, { signal });
        for (const outcome of sent) counts[outcome] = (counts[outcome] ?? 0) + 1;
        return sent.length === MESSAGES_PER_TURN ? "again" : "idle";
      }),
    }),
    loopService("status-changes", {
      idleMs: ANNOUNCE_IDLE_MS,
      log,
      metrics: metrics.loops,
      tick: whileInService(database, async () => {
        const now = await readDatabaseClock(database);
        const { lastId } = await announceStates(database, { now, afterId });
        afterId = lastId ?? 0;
        return lastId === null ? "idle" : "again";
      }),
    }),
    loopService("status-domains", {
      idleMs: DOMAIN_IDLE_MS,
      log,
      metrics: metrics.loops,
      tick: whileInService(database, async () => {
        const { changed, isMore } = await checkDomains(database, {
          ask: (page) => askDomain(deps.lookUp, page),
          now: () => readDatabaseClock(database),
        });
        if (changed > 0) log.info({ count: changed }, "domains of status pages have changed their state");
        return isMore ? "again" : "idle";
      }),
    }),
  ];
}

/** Whether DNS has the record of a page's domain. */
export async function askDomain(
  lookUp: TextLookup,
  { domain }: Pick<StatusPage, "domain">,
): Promise<DomainAnswer> {
  if (domain === null) return "missing";
  const { name, value } = domainRecord(domain);
  const found = await lookUp(name);
  if (found.kind !== "found") return found.kind;
  return found.texts.includes(value) ? "found" : "missing";
}

type Outcome = "sent" | "failed" | "moot";

/** Sends messages that are due, one after the other; returns what became of them. */
export async function sendStatusMessages(
  deps: StatusNotifier,
  { signal, now }: { signal?: AbortSignal; now?: Instant } = {},
): Promise<Outcome[]> {
  const { database, log } = deps;
  const clock = async () => now ?? (await readDatabaseClock(database));
  const messages = await claimStatusMessages(database, { now: await clock(), limit: MESSAGES_PER_TURN });
  const outcomes: Outcome[] = [];
  for (const message of messages) {
    // The rest is due again when its claim has expired.
    if (signal?.aborted === true) break;
    const result = isMessageDue(message) ? await sendOne(deps, message) : null;
    await settleStatusMessage(database, message, { result, now: await clock() });
    if (result?.kind === "failed") {
      log.info(
        { message: message.uuid, kind: message.subscriber.kind, reason: result.reason },
        "a message of a status page was not sent",
      );
    }
    outcomes.push(result?.kind ?? "moot");
  }
  return outcomes;
}

/** Where a page is, and the links of its emails. */
function addressesOf({ siteUrl }: StatusNotifier, { page }: ClaimedMessage): string {
  return page.domain === null ? `${siteUrl}/status/${page.slug}/` : `https://${page.domain}/`;
}

async function sendOne(deps: StatusNotifier, message: ClaimedMessage): Promise<MessageResult> {
  return message.subscriber.kind === "email" ? sendMail(deps, message) : callWebhook(deps, message);
}

async function sendMail(deps: StatusNotifier, message: ClaimedMessage): Promise<MessageResult> {
  const { mail } = deps;
  const { subscriber, page, about, uuid } = message;
  if (mail === null) return { kind: "failed", permanent: false, reason: "This server sends no email" };
  const signing = await deps.signing();
  const url = addressesOf(deps, message);
  const unsubscribeUrl = `${url}unsubscribe/${subscriberToken(signing, "statusUnsubscribe", subscriber)}/`;
  const confirmUrl = `${url}confirm/${subscriberToken(signing, "statusConfirm", subscriber)}/`;
  const rendered = statusMail(about, {
    page: { title: page.title, url, zone: page.zone },
    confirmUrl,
    unsubscribeUrl,
  });
  return mail.send({
    to: subscriber.address,
    ...rendered,
    // The same after a crash, so that mail programs show it once.
    messageId: `<${uuid}@${mail.idDomain}>`,
    headers: {
      "List-Unsubscribe": `<${unsubscribeUrl}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
  });
}

async function callWebhook(deps: StatusNotifier, message: ClaimedMessage): Promise<MessageResult> {
  const { subscriber, page, about, uuid } = message;
  const body = statusWebhookBody(about, {
    id: uuid,
    page: { title: page.title, url: addressesOf(deps, message) },
  });
  const key = webhookSecret(await deps.signing(), subscriber.uuid);
  try {
    const { status } = await deps.http.send({
      method: "POST",
      url: subscriber.address,
      headers: {
        "Content-Type": "application/json",
        "Idempotency-Key": uuid,
        "Overdue-Signature": `sha256=${hmacSha256Hex({ key, message: body })}`,
      },
      body,
      timeoutMs: SEND_MS_MAX,
    });
    if (status >= 200 && status < 300) return { kind: "sent" };
    return {
      kind: "failed",
      permanent: status === 410,
      reason: `The receiver answered with status ${status}`,
    };
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    return { kind: "failed", permanent: error.kind === "refused", reason: error.message };
  }
}
