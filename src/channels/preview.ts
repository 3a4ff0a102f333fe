// Renders a message as a channel would send it, without sending it: its text, and the requests.
import { AppError } from "../core/errors.ts";
import { HOUR_MS, type Instant, MINUTE_MS } from "../core/instant.ts";
import type { CheckFacts } from "../core/message.ts";
import { secretRemover } from "../lib/secret-remover.ts";
import { MASK } from "../lib/setting-value.ts";
import { previewConfig, secretsIn } from "./channel-config.ts";
import type { ChannelMessage, Outgoing, Site } from "./channel-kind.ts";
import { eventOf } from "./config-fields.ts";
import type { ProviderKeys } from "./providers.ts";
import { Recorder, type Shown } from "./recorder.ts";
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

export type Preview = Shown & {
  /** Whether the channel is notified of the event. */
  isSent: boolean;
};

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
  return { ...sent.shown(message, { site, zone: project.tz, clean }), isSent };
}

function outgoing(
  { site, project, keys, providers, checkJson, now }: PreviewOptions,
  { kind, sent }: { kind: string; sent: Recorder },
): Outgoing {
  const maskedKeys = Object.entries(keys).map(([name, key]) => [name, key === null ? null : MASK]);
  return {
    http: sent.http(null),
    adminHttp: sent.http(null),
    mail: {
      idDomain: "localhost",
      recipient: async () => ({ isVerified: true, zone: null, unsubscribeUrl: site.url }),
      notifyUnverified: async () => undefined,
      ...sent.mailPort(null),
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
