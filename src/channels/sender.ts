// Sends a message through a channel: finds its kind, validates its configuration, and removes secrets from the
// result. Stores nothing and does not retry.
import { DEFAULT_SETTINGS } from "../core/check.ts";
import type { Rate, SendResult, SubscribedEvent } from "../core/delivery.ts";
import { DAY_MS, type Instant } from "../core/instant.ts";
import {
  type AlertMessage,
  type CheckFacts,
  type FlipMessage,
  NO_POLICY,
  type TestMessage,
} from "../core/message.ts";
import type { Quota } from "../core/quota.ts";
import { NEW_STATE } from "../core/state.ts";
import { secretRemover } from "../lib/secret-remover.ts";
import type { GuardedHttp, OutgoingRequest } from "../lib/outgoing-http.ts";
import { readConfig, secretsIn } from "./channel-config.ts";
import type { AnyKind, ChannelMessage, MailPort, Outgoing, Site } from "./channel-kind.ts";
import { notTried } from "./http-request.ts";
import type { ProviderKeys, Providers } from "./providers.ts";
import { Recorder, type Shown } from "./recorder.ts";
import { kindNamed, KINDS } from "./registry.ts";

/** The fields of a channel needed to send through it. */
export type SendingChannel = {
  uuid: string;
  kind: string;
  name: string;
  config: Readonly<Record<string, unknown>>;
};

export type SenderOptions = {
  http: Pick<GuardedHttp, "send">;
  adminHttp: Pick<GuardedHttp, "send">;
  mail: MailPort | null;
  site: Site;
  keys: ProviderKeys;
  providers: Providers;
  /** The check as version 3 of the API shows it to a read-write key. */
  checkJson(check: CheckFacts, now: Instant): Readonly<Record<string, unknown>>;
  /** Other kinds than the registered ones; for tests. */
  kinds?: readonly AnyKind[];
};

export type Sending = {
  dedupeKey: string;
  attempt: number;
  now: Instant;
  /** Part of a fire drill: what is sent is recorded. With `isSent` false, nothing leaves the server. */
  drill?: { isSent: boolean; now: () => Instant };
};

/** The result of a message of a fire drill. */
export type DrillSend = Shown & {
  renderedAt: Instant | null;
  /** Why a message that was only rendered would not have been sent; null: it would have been. */
  failure: string | null;
};

export type Sender = {
  /** Sends one message. External errors are results; bugs are thrown. */
  send(
    channel: SendingChannel & { projectZone: string },
    message: AlertMessage,
    sending: Sending,
  ): Promise<SendResult & { drill?: DrillSend }>;
  /** Whether the channel notifies for an event. One with an unreadable configuration does for all, and then fails. */
  isSubscribed(channel: SendingChannel, what: SubscribedEvent): boolean;
  rateOf(kind: string): Rate | null;
  quotaUsedBy(kind: string): Quota | null;
};

/** A sender for all kinds. */
export function createSender(options: SenderOptions): Sender {
  const { kinds = KINDS } = options;
  const isSubscribed: Sender["isSubscribed"] = (channel, what) => {
    const opened = openChannel(channel, kinds);
    return opened.ok ? opened.kind.isSubscribed(opened.config, what) : true;
  };
  return {
    isSubscribed,
    rateOf: (name) => kindNamed(name, kinds)?.rate ?? null,
    quotaUsedBy: (name) => kindNamed(name, kinds)?.quota ?? null,
    send: async (channel, message, { dedupeKey, attempt, now, drill }) => {
      const opened = openChannel(channel, kinds);
      if (!opened.ok) return notTried(opened.text);
      const { kind, config } = opened;
      const { mail, site, keys, providers } = options;
      const providerKeys = Object.values(keys).filter((key) => key !== null);
      const clean = secretRemover({ secrets: [...secretsIn(kind, config), ...providerKeys] });
      const outgoing: ChannelMessage =
        message.kind === "test"
          ? {
              ...exampleMessage(message, {
                uuid: dedupeKey,
                direction: testDirection(channel, isSubscribed),
              }),
              isTest: true,
            }
          : message;
      const { uuid, name } = channel;
      const exits: Exits = {
        http: cleanAnswers(options.http, clean),
        adminHttp: cleanAnswers(options.adminHttp, clean),
        mail,
        providers,
      };
      const recorder = drill === undefined ? null : new Recorder(drill.now);
      const used = recorder === null ? exits : recorded(exits, { recorder, isSent: drill?.isSent === true });
      const result = await kind.send(outgoing, config, {
        ...used,
        site,
        keys,
        channel: { uuid, kind: kind.name, name },
        zone: channel.projectZone,
        checkJson: (check) => options.checkJson(check, now),
        dedupeKey,
        attempt,
        now,
      });
      const cleaned = cleanResult(result, clean);
      if (recorder === null) return cleaned;
      const unavailable = (of: Providers) => kind.unavailable?.({ keys, providers: of }) ?? null;
      const isBlocked = unavailable(providers) === null && unavailable(used.providers) !== null;
      const hasRequest = recorder.requests.length > 0 || recorder.mail !== null;
      const failure =
        cleaned.kind === "failed" && !hasRequest && !isBlocked ? cleaned.reason : unavailable(providers);
      const shown = recorder.shown(outgoing, { site, zone: channel.projectZone, clean });
      return { ...cleaned, drill: { ...shown, renderedAt: recorder.renderedAt, failure } };
    },
  };
}

/** Everything through which a kind can reach others. */
type Exits = Pick<Outgoing, "http" | "adminHttp" | "mail" | "providers">;

/** Records what passes. Not sent: nothing passes, and no program is started. */
function recorded(
  { http, adminHttp, mail, providers }: Exits,
  { recorder, isSent }: { recorder: Recorder; isSent: boolean },
): Exits {
  return {
    http: recorder.http(isSent ? http : null),
    adminHttp: recorder.http(isSent ? adminHttp : null),
    mail:
      mail === null
        ? null
        : {
            idDomain: mail.idDomain,
            recipient: (of) => mail.recipient(of),
            notifyUnverified: async (of) => (isSent ? mail.notifyUnverified(of) : undefined),
            ...recorder.mailPort(isSent ? mail : null),
          },
    providers: isSent ? providers : { ...providers, shellFolder: null },
  };
}

type Opened =
  | { ok: true; kind: AnyKind; config: Readonly<Record<string, unknown>> }
  | { ok: false; text: string };

/** A newer release may have stored an unknown kind: that is reported as a failure, and retried later. */
function openChannel({ kind: name, config }: SendingChannel, kinds: readonly AnyKind[]): Opened {
  const kind = kindNamed(name, kinds);
  if (kind === null) return { ok: false, text: `This version does not support channels of kind ${name}` };
  const read = readConfig(kind, config, { strict: false });
  return read.ok
    ? { ok: true, kind, config: read.value }
    : { ok: false, text: `Invalid configuration: ${read.text}` };
}

/** A channel that only notifies for "up" gets a test of that. */
function testDirection(channel: SendingChannel, isSubscribed: Sender["isSubscribed"]): "down" | "up" {
  return !isSubscribed(channel, "down") && isSubscribed(channel, "up") ? "up" : "down";
}

type Clean = (text: string) => string;

/** Secrets are removed before a response is truncated: part of one would not be recognized any more. */
function cleanAnswers(http: SenderOptions["http"], clean: Clean): SenderOptions["http"] {
  return {
    send: async (request) => {
      const answer = await http.send(request);
      const cleanSent = secretRemover({ secrets: credentialsOf(request) });
      return { ...answer, text: cleanSent(clean(answer.text)) };
    },
  };
}

/** The words after the scheme: they may encode a secret, or be valid on their own for some time. */
function credentialsOf({ headers }: OutgoingRequest): string[] {
  const [, ...words] = (headers?.["Authorization"] ?? headers?.["authorization"] ?? "").split(/[ ,]+/);
  return words;
}

function cleanResult(result: SendResult, clean: Clean): SendResult {
  const cleaned = {
    summary: clean(result.summary),
    excerpt: result.excerpt === null ? null : clean(result.excerpt),
  };
  return result.kind === "sent"
    ? { ...result, ...cleaned }
    : { ...result, ...cleaned, reason: clean(result.reason) };
}

// The message of a test: a check that does not exist.

const PING_COUNT = 42;

/**
 * The message of a test. `uuid` is the UUID of its imaginary check; `direction` is "up" for channels that do not
 * notify when a check goes down.
 */
export function exampleMessage(
  { at, projectName }: TestMessage,
  { uuid, direction }: { uuid: string; direction: "down" | "up" },
): FlipMessage {
  const isDown = direction === "down";
  const lastPingAt = at - DAY_MS;
  const pinged = { lastPingAt, newestAt: lastPingAt, pingCount: PING_COUNT };
  const missed = isDown ? { deadlineAt: at, from: "up" as const } : null;
  return {
    ...NO_POLICY,
    kind: direction,
    isRepeat: false,
    at,
    check: {
      uuid,
      badgeUuid: uuid,
      projectName,
      settings: { ...DEFAULT_SETTINGS, name: "TEST", slug: "test" },
      state: { ...NEW_STATE, ...pinged, status: direction, missed },
      channelUuids: [],
      createdAt: lastPingAt,
    },
    flips: [{ at, from: isDown ? "up" : "down", to: direction, reason: isDown ? "timeout" : "success" }],
    corrections: [],
    since: at,
    reason: isDown ? "timeout" : "success",
    downtimeMs: isDown ? null : DAY_MS,
    lastPing: {
      n: PING_COUNT,
      kind: "success",
      at: lastPingAt,
      exitStatus: null,
      durationMs: null,
      scheme: "http",
      remoteAddr: null,
      ua: "",
      bodySize: null,
      body: null,
    },
    otherChecks: null,
  };
}
