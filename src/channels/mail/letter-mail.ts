// Letters as mails: the question whether an address wants alerts, and what owners have to know about channels.
import type { LetterChannel, LetterFacts } from "../../core/alerts/letters.ts";
import type { Instant } from "../../core/instant.ts";
import { oneLine } from "../words/clip.ts";
import type { Site } from "../told-message.ts";
import { accountNote, type Note } from "./account-note.ts";
import type { RenderedMail } from "./alert-mail.ts";
import { button, mailPage, mailText, paragraph, row, undisguised } from "./mail-page.ts";
import { reminderMail, reportMail } from "./report-mail.ts";

/** The links that a letter may need; whoever holds the secret makes them. */
export type LetterLinks = {
  verify: string | null;
  unsubscribe: string | null;
  /** What a letter about an account leads to, and the code that it tells. */
  action: string | null;
  code: string | null;
};

export type LetterOptions = { site: Site; address: string; links: LetterLinks; now: Instant };

/** The mail that a letter becomes. */
export function letterMail(facts: LetterFacts, options: LetterOptions): RenderedMail {
  const { site, address, links, now } = options;
  const unsubscribeUrl = links.unsubscribe ?? `${site.url}/`;
  const personal = { site, address, unsubscribeUrl, now };
  if (facts.kind === "report") return reportMail(facts.report, personal);
  if (facts.kind === "reminder") return reminderMail(facts.reminder, personal);
  if (!("channel" in facts)) {
    const action = links.action ?? `${site.url}/`;
    return plainMail(accountNote(facts, { site, action, code: links.code ?? "", now }), options);
  }
  return plainMail(noteOf(facts, options), options);
}

function noteOf(facts: Extract<LetterFacts, { channel: LetterChannel }>, options: LetterOptions): Note {
  const { site, links } = options;
  const project = oneLine(undisguised(facts.projectName)) || "unnamed project";
  const open = { text: `Open ${site.name}`, url: `${site.url}/` };
  const channel = channelName(facts.channel);
  switch (facts.kind) {
    case "verification":
      return {
        subject: `Confirm your email address for ${project} alerts`,
        title: "Confirm your email address",
        mood: null,
        sentences: [
          `Someone added this address to ${site.name} to receive an email when a job in the project ${project} is overdue, fails, or recovers.`,
          "No alerts are sent until you confirm.",
        ],
        link: { text: "Confirm and receive alerts", url: links.verify ?? `${site.url}/` },
        afterwards: [
          "If you weren't expecting this, you can ignore this email. You won't receive any alerts.",
        ],
      };
    case "unverified":
      return {
        subject: `NOTICE | ${project} alerts are not sent to ${facts.address}`,
        title: "Alert not sent: email address not confirmed",
        mood: "notice",
        sentences: [
          `An alert for the project ${project} was not sent to ${facts.address} (${channel}) because the recipient has not confirmed the address.`,
          "The confirmation link is in an email sent to that address. To send it again, save the channel again.",
        ],
        link: open,
        afterwards: [],
      };
    case "disabled":
      return {
        subject: `NOTICE | the last channel in ${project} was disabled`,
        title: "Your last working channel was disabled",
        mood: "notice",
        sentences: [
          `The ${channel} in the project ${project} was disabled. Reason: ${facts.reason}`,
          "The project has no other working channel. No notifications are sent until you fix this channel or add another.",
        ],
        link: open,
        afterwards: [],
      };
  }
}

function channelName({ kind, name }: LetterChannel): string {
  const shown = oneLine(undisguised(name));
  return shown === "" ? `${kind} channel` : `channel "${shown}" (${kind})`;
}

function plainMail(note: Note, { site, address }: LetterOptions): RenderedMail {
  const { subject, title, mood, sentences, link, afterwards } = note;
  const footer = [{ text: `Sent by ${site.name} to ${address}.` }];
  return {
    subject: oneLine(subject),
    text: mailText({
      title,
      blocks: [[...sentences], [`${link.text}: ${link.url}`], [...afterwards]],
      footer,
    }),
    html: mailPage({
      site,
      mood,
      title,
      preview: sentences.join(" "),
      rows: [
        row(sentences.map((text) => paragraph(text))),
        row(button(link), { top: 14 }),
        ...(afterwards.length === 0
          ? []
          : [
              row(
                afterwards.map((text) => paragraph(text, { isMuted: true })),
                { top: 18 },
              ),
            ]),
      ],
      footer,
    }),
  };
}
