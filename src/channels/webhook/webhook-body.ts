// The body of a webhook request when its owner has written none. Documented in docs/channels.md: fields may be added, and
// none may change its meaning.
import type { FlipMessage } from "../../core/alerts/message.ts";
import { splitTags, uniqueKey } from "../../core/identity.ts";
import { SECOND_MS } from "../../core/instant.ts";
import { sha1Hex } from "../../lib/secrets/hashes.ts";
import type { Outgoing } from "../channel-kind.ts";
import type { ToldMessage } from "../told-message.ts";
import { clipEnd, clipStart, printable } from "../words/clip.ts";
import { isoText } from "../words/time-text.ts";
import { shownName } from "../words/words-facts.ts";
import { type Words, wordsOf } from "../words/words.ts";

const DESCRIPTION_LENGTH_MAX = 10_000;
const OUTPUT_LENGTH_MAX = 10_000;

/** Without the UUID of the check and its ping URL: a receiver that logs requests must not be able to send pings. */
export function defaultBody(
  message: ToldMessage,
  { site, zone, dedupeKey }: Pick<Outgoing, "site" | "zone" | "dedupeKey">,
): Record<string, unknown> {
  const words = wordsOf(message, { site, zone });
  const start = {
    event: eventOf(message),
    id: dedupeKey,
    at: isoText(message.at),
    title: words.headline,
    text: [...words.sentences, ...words.history].join("\n"),
    url: words.link.url,
  };
  switch (message.kind) {
    case "down":
    case "up":
      return { ...start, project: message.check.projectName, check: checkOf(message, words) };
    case "notice":
      return {
        ...start,
        project: message.projectName,
        from: isoText(message.blind.from),
        to: message.blind.to === null ? null : isoText(message.blind.to),
        checks: message.checks.map(({ uuid, name }) => ({
          name: shownName({ name }),
          unique_key: uniqueKey(uuid, sha1Hex),
        })),
        check_count: message.checkCount,
      };
    case "disabled": {
      const { name, kind } = message.channel;
      return { ...start, project: message.projectName, channel: { name, kind }, reason: message.reason };
    }
    case "operator":
      return { ...start, problem: message.trouble, since: isoText(message.since) };
  }
}

/** What kind of message it is, by the names of the documentation. */
function eventOf(message: ToldMessage): string {
  if (message.isTest === true) return "test";
  switch (message.kind) {
    case "down":
    case "up":
      return message.kind;
    case "notice":
      return "monitoring_gap";
    case "disabled":
      return "channel_disabled";
    case "operator":
      return message.isOver ? "server_recovered" : "server_problem";
  }
}

function checkOf(
  { check, kind, since, reason, downtimeMs, lastPing }: FlipMessage,
  { output }: Words,
): Record<string, unknown> {
  const { settings, uuid } = check;
  const desc = printable(settings.desc).trim();
  return {
    name: shownName(settings),
    slug: settings.slug,
    tags: splitTags(settings.tags),
    description: clipStart(desc, DESCRIPTION_LENGTH_MAX),
    unique_key: uniqueKey(uuid, sha1Hex),
    status: kind,
    since: isoText(since),
    // A signal that was received in time shows that the alert was wrong.
    reason: reason === "takenBack" ? "correction" : reason,
    downtime_seconds: downtimeMs === null ? null : Math.round(downtimeMs / SECOND_MS),
    last_ping: lastPing && {
      at: isoText(lastPing.at),
      type: lastPing.kind,
      exit_status: lastPing.exitStatus,
      output: output === null ? null : clipEnd(output, OUTPUT_LENGTH_MAX),
    },
  };
}
