// What a message means to a receiver that keeps incidents: which one it opens or closes, and how severe it is.
import { uniqueKey } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { hmacSha256Hex, sha1Hex } from "../lib/secrets.ts";
import type { ChannelMessage, Outgoing } from "./channel-kind.ts";
import type { MessageText } from "./message-text.ts";

export type IncidentEvent = {
  /** The same for the message that opens an incident and the one that closes it. */
  key: string;
  action: "open" | "close";
  severity: "critical" | "warning" | "info";
  /** The project, or the server. */
  source: string;
  since: Instant;
};

/** The incident that a message opens or closes. Notices are never closed, and only their repetitions have the same key. */
export function incidentEvent(
  message: ChannelMessage,
  words: MessageText,
  out: Pick<Outgoing, "site" | "channel" | "dedupeKey">,
): IncidentEvent {
  return {
    key: keyOf(message, out),
    action: words.tone === "good" ? "close" : "open",
    severity: severityOf(message, words),
    source: sourceOf(message, out.site.name),
    since: "since" in message ? message.since : message.at,
  };
}

/** The key of the check, the group, or the health problem. */
function keyOf(
  message: ChannelMessage,
  { channel, dedupeKey }: Pick<Outgoing, "channel" | "dedupeKey">,
): string {
  switch (message.kind) {
    case "down":
    case "up":
      return uniqueKey(message.check.uuid, sha1Hex);
    case "group":
      // Incidents are numbered within a project, and several projects may use the same receiver.
      return hmacSha256Hex({ key: channel.uuid, message: `incident ${message.incident.number}` }).slice(
        0,
        40,
      );
    case "operator":
      return `overdue-${message.trouble}`;
    case "notice":
    case "disabled":
      return dedupeKey;
  }
}

function sourceOf(message: ChannelMessage, siteName: string): string {
  if (message.kind === "operator") return siteName;
  return ("check" in message ? message.check.projectName : message.projectName) || siteName;
}

function severityOf(message: ChannelMessage, { tone }: MessageText): IncidentEvent["severity"] {
  if (message.isTest === true) return "info";
  const isLow = "severity" in message && message.severity === "low";
  return tone === "notice" || isLow ? "warning" : "critical";
}
