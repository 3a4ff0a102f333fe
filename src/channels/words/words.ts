// The words of a message, said once for all kinds: plain texts and lists without markup. Kinds lay them out as their
// receivers want it and cut what is too long; nothing here knows where a message goes.
import type { FlipMessage, NoticeMessage } from "../../core/alerts/message.ts";
import { uniqueKey } from "../../core/identity.ts";
import { sha1Hex } from "../../lib/secrets/hashes.ts";
import { oneLine, printable } from "./clip.ts";
import { instantText, readingText } from "./time-text.ts";
import type { Site, ToldMessage } from "../told-message.ts";
import { type Fact, factsOf, projectFact, shownName } from "./words-facts.ts";
import { historyOf, sentencesOf } from "./words-flips.ts";

/** How a message is coloured. A notice is no alarm, and no all-clear either. */
export type Mood = "bad" | "good" | "notice";

export type Words = {
  mood: Mood;
  isTest: boolean;
  /** `DOWN | nightly backup`: for subject lines and titles. */
  subject: string;
  /** `nightly backup is DOWN`. */
  headline: string;
  /** What was expected, what came, and since when. */
  sentences: readonly string[];
  /** Everything that happened since the last message, where that is more than one thing. */
  history: readonly string[];
  facts: readonly Fact[];
  /** The end of what the job said last, with more than any kind shows. */
  output: string | null;
  /** How the other checks of the project are. */
  others: { text: string; down: readonly Link[] } | null;
  /** Where to look. */
  link: Link;
};

export type Link = { text: string; url: string };

/** Every time of a message is in `zone`: the recipient's where it is known, otherwise the project's. */
export type Telling = { site: Site; zone: string };

/** The words of a message. The same message always gets the same words, however often it is sent. */
export function wordsOf(message: ToldMessage, telling: Telling): Words {
  switch (message.kind) {
    case "down":
    case "up":
      return flipWords(message, telling);
    case "notice":
      return noticeWords(message, telling);
    case "disabled": {
      const { kind, name, uuid } = message.channel;
      const channel = name === "" ? `${kind} channel ${uuid}` : `channel "${oneLine(name)}" (${kind})`;
      return {
        ...plainWords(telling),
        mood: "notice",
        subject: `NOTICE | ${channel} was disabled`,
        headline: `The ${channel} was disabled`,
        sentences: [
          `The receiver permanently rejects messages: ${message.reason}`,
          "No messages are sent to this channel until it is changed or re-enabled.",
        ],
        facts: [projectFact(message.projectName)],
      };
    }
    case "operator":
      return {
        ...plainWords(telling),
        mood: message.isOver ? "good" : "bad",
        subject: `${telling.site.name} | ${message.title}`,
        headline: message.title,
        sentences: [message.text],
        facts: [{ label: "Since", value: instantText(message.since, telling.zone), isShort: true }],
      };
  }
}

/** What a message about no check in particular has. */
function plainWords({ site }: Telling): Pick<Words, "isTest" | "history" | "output" | "others" | "link"> {
  return {
    isTest: false,
    history: [],
    output: null,
    others: null,
    link: siteLink(site),
  };
}

function siteLink({ name, url }: Site): Link {
  return { text: `Open ${name}`, url: `${url}/` };
}

function flipWords(message: FlipMessage & { isTest?: true }, { site, zone }: Telling): Words {
  const { check, kind } = message;
  const isTest = message.isTest === true;
  const name = shownName(check.settings);
  const status = kind === "down" ? "DOWN" : "UP";
  return {
    mood: kind === "down" ? "bad" : "good",
    isTest,
    subject: `${status} | ${name}`,
    headline: `${name} is ${status}`,
    sentences: [
      ...(isTest ? ["This is a test notification. No check changed status."] : []),
      ...sentencesOf(message, zone),
    ],
    history: historyOf(message, zone),
    facts: factsOf(message),
    output: outputOf(message),
    others: othersOf(message, site),
    link: isTest ? siteLink(site) : { text: "Show details", url: checkLink(site, check.uuid) },
  };
}

/** A page that leads to the check whoever may see it, and tells nobody the UUID by which it is pinged. */
export function checkLink(site: Site, uuid: string): string {
  return `${site.url}/cloaked/${uniqueKey(uuid, sha1Hex)}/`;
}

/** Bodies may have megabytes, and nobody reads more than their end. */
const OUTPUT_LENGTH_MAX = 20_000;

function outputOf({ lastPing }: FlipMessage): string | null {
  const text = printable((lastPing?.body ?? "").slice(-OUTPUT_LENGTH_MAX)).trim();
  return text === "" ? null : text;
}

function othersOf({ otherChecks }: FlipMessage, site: Site): Words["others"] {
  if (otherChecks === null) return null;
  const { total, downCount, down } = otherChecks;
  if (downCount === 0) return { text: "No other checks are down.", down: [] };
  const what =
    downCount === 1 ? "1 other check is down" : `${downCount} of the ${total} other checks are down`;
  return {
    text: `${what}.`,
    down: down.map(({ uuid, name }) => ({ text: shownName({ name }), url: checkLink(site, uuid) })),
  };
}

function noticeWords(message: NoticeMessage, telling: Telling): Words {
  const { checks, checkCount, blind } = message;
  const zone = telling.zone ?? "UTC";
  const names = checks.map(shownName);
  const [first = shownName({ name: "" })] = names;
  const what = checkCount > 1 ? `${first} and ${checkCount - 1} more` : first;
  const when =
    blind.to === null
      ? `Since ${instantText(blind.from, zone)}, we have been unable to receive pings.`
      : `Between ${readingText(blind.from, zone)} and ${instantText(blind.to, zone)}, we could not receive pings, and no ping has arrived since.`;
  const unnamed = checkCount - names.length;
  const list = unnamed > 0 ? `${names.join(", ")} and ${unnamed} more` : names.join(", ");
  return {
    ...plainWords(telling),
    mood: "notice",
    subject: `NOTICE | monitoring gap: ${what}`,
    headline: `Monitoring gap: ${what}`,
    sentences: [
      when,
      "This is a notice, not an alert: the jobs may have run normally. Monitoring continues from now on.",
    ],
    facts: [
      projectFact(message.projectName),
      { label: checkCount === 1 ? "Check" : "Checks", value: list, isShort: false },
    ],
  };
}
