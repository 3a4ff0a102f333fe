// Renders a message as a channel would send it, without sending it: its text, and the requests.
import { AppError } from "../core/errors.ts";
import { HOUR_MS, type Instant, MINUTE_MS } from "../core/instant.ts";
import { PREVIEW_LENGTH_MAX, PREVIEW_REQUESTS_MAX } from "../core/limits.ts";
import type { CheckFacts } from "../core/message.ts";
import { secretRemover } from "../lib/secret-remover.ts";
import type { OutgoingRequest } from "../lib/outgoing-http.ts";
import { MASK } from "../lib/setting-value.ts";
import { previewConfig, secretsIn } from "./channel-config.ts";
import type { BounceableMail, ChannelMessage, Outgoing, Site } from "./channel-kind.ts";
import { eventOf } from "./config-fields.ts";
import { fullText, PLAIN } from "./layout.ts";
import { clipStart, messageText } from "./message-text.ts";
import type { ProviderKeys } from "./providers.ts";
import { CONFIG_RULES, kindNamed } from "./registry.ts";
import { exampleMessage } from "./sender.ts";

export type Previewed = {
  kind: string;
  config: Readonly<Record<string, unknown>>;
  event: "down" | "up" | "notice" | "group";
};

export type PreviewOptions = Pick<Outgoing, "keys" | "providers" | "now"> & {
  site: Site;
  project: { uuid: string; name: string; tz: string };
  checkJson: (check: CheckFacts, now: Instant) => Readonly<Record<string, unknown>>;
};

export type Preview = {
  title: string;
  text: string;
  /** Whether the channel is notified of the event. */
  isSent: boolean;
  requests: { method: string; url: string; headers: Record<string, string>; body: string }[];
};

const LIMITS = { max: 4_000, output: 1_000, value: 300, names: 2_000 } as const;
/** Any UUID: the channel does not exist yet, and nothing is sent. */
const UUID = "00000000-0000-4000-8000-000000000000";

/** The message about an event. Throws AppError for an unknown kind only: everything else is rendered as far as possible. */
export async function previewMessage(
  { kind: name, config: given, event }: Previewed,
  options: PreviewOptions,
): Promise<Preview> {
  const kind = kindNamed(name);
  if (kind === null) {
    const read = CONFIG_RULES.read(name, given);
    throw new AppError("invalid", read.ok ? name : read.text);
  }
  const { site, project } = options;
  const config = previewConfig(kind, given);
  const message = sampleMessage(event, options);
  const words = messageText(message, { site, zone: project.tz });
  const isSent = kind.isSubscribed(config, eventOf(message));
  const sent = new Recorder();
  if (isSent) {
    try {
      await kind.send(message, config, outgoing(options, { kind: kind.name, sent }));
    } catch {
      // A kind relies on a complete configuration; without one there is no request to show.
    }
  }
  const secrets = [...secretsIn(kind, given), ...keyTexts(options.keys)];
  // A stored secret arrives masked, and the mask can be shown.
  const clean = secretRemover({ secrets: secrets.filter((secret) => !secret.includes(MASK)) });
  const shown = (text: string) => clipStart(clean(text), PREVIEW_LENGTH_MAX);
  return {
    title: shown(sent.mail?.subject ?? words.headline),
    text: shown(sent.mail?.text ?? fullText(words, PLAIN, { limits: LIMITS })),
    isSent,
    requests: sent.requests.map(({ method, url, headers = {}, body = "" }) => ({
      method,
      url: shown(url),
      headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, shown(value)])),
      body: typeof body === "string" ? shown(body) : `${body.length} encrypted bytes`,
    })),
  };
}

/** Records what would be sent. Every request gets a success response. */
class Recorder {
  readonly requests: OutgoingRequest[] = [];
  mail: BounceableMail | null = null;

  readonly http: Outgoing["http"] = {
    send: async (request) => {
      if (this.requests.length >= PREVIEW_REQUESTS_MAX) throw new Error("too many requests for a preview");
      this.requests.push(request);
      return { status: 200, headers: {}, text: "{}" };
    },
  };
}

function outgoing(
  { site, project, keys, providers, checkJson, now }: PreviewOptions,
  { kind, sent }: { kind: string; sent: Recorder },
): Outgoing {
  const maskedKeys = Object.entries(keys).map(([name, key]) => [name, key === null ? null : MASK]);
  return {
    http: sent.http,
    adminHttp: sent.http,
    mail: {
      idDomain: "localhost",
      recipient: async () => ({ isVerified: true, zone: null, unsubscribeUrl: site.url }),
      notifyUnverified: async () => undefined,
      send: async (mail) => {
        sent.mail = mail;
        return { kind: "sent", code: 250, response: "" };
      },
    },
    site,
    keys: Object.fromEntries(maskedKeys) as ProviderKeys,
    // A preview starts no program.
    providers: { ...providers, shellFolder: null },
    channel: { uuid: UUID, kind, name: "" },
    zone: project.tz,
    checkJson: (check) => checkJson(check, now),
    dedupeKey: UUID,
    attempt: 1,
    now,
  };
}

function keyTexts(keys: ProviderKeys): string[] {
  return Object.values(keys).filter((key) => key !== null);
}

// The messages: about checks that do not exist.

const CHECKS = ["Nightly backup", "Rotate logs", "Sync invoices"].map((name, index) => ({
  uuid: UUID.replace(/0$/, String(index + 1)),
  name,
}));
const INCIDENT_NUMBER = 12;
const GAP_MS = 14 * MINUTE_MS;
const DOWN_MS = 47 * MINUTE_MS;

function sampleMessage(
  event: Previewed["event"],
  { site, project, now }: Pick<PreviewOptions, "site" | "project" | "now">,
): ChannelMessage {
  const { name: projectName, uuid: projectUuid } = project;
  const incident = { number: INCIDENT_NUMBER, ackUrl: `${site.url}/ack/${INCIDENT_NUMBER}` };
  switch (event) {
    case "notice":
      return {
        kind: "notice",
        at: now,
        projectName,
        blind: { from: now - HOUR_MS, to: now - HOUR_MS + GAP_MS },
        checks: CHECKS,
        checkCount: CHECKS.length,
      };
    case "group":
      return {
        kind: "group",
        at: now,
        projectUuid,
        projectName,
        incident,
        severity: "normal",
        key: { kind: "tag", value: "backup" },
        state: "down",
        opened: CHECKS,
        openedCount: CHECKS.length,
        closed: [],
        closedCount: 0,
        downCount: CHECKS.length,
        since: now,
        cause: "missed",
      };
    case "down":
    case "up": {
      const test = {
        kind: "test",
        at: now,
        projectName,
        channel: { uuid: UUID, kind: "", name: "" },
      } as const;
      const message = exampleMessage(test, { uuid: UUID, direction: event });
      const { check } = message;
      const settings = { ...check.settings, name: "Nightly backup", slug: "nightly-backup", tags: "backup" };
      return {
        ...message,
        check: { ...check, settings },
        incident: { ...incident, ackUrl: event === "down" ? incident.ackUrl : null },
        downtimeMs: event === "down" ? null : DOWN_MS,
      };
    }
  }
}
