// The email channel: text and HTML to one confirmed address, threaded by incident, with an unsubscribe link.
import type { Static } from "typebox";
import type { FailedResult, SendResult } from "../../core/delivery.ts";
import { type Html, html } from "../../lib/http/html.ts";
import type { MailResult } from "../../lib/mail-sender.ts";
import { hmacSha256Hex } from "../../lib/secrets.ts";
import type {
  BounceableMail,
  ChannelKind,
  ChannelMessage,
  Outgoing,
  Recipient,
  Site,
} from "../channel-kind.ts";
import { configSchema, switchField, textField } from "../config-fields.ts";
import {
  button,
  FONT,
  type FooterLine,
  grounded,
  inked,
  inlineLink,
  LIGHT,
  literal,
  mailPage,
  mailText,
  MONO,
  paragraph,
  row,
  subheading,
  undisguised,
} from "../email-layout.ts";
import {
  type CheckList,
  clipEnd,
  type Fact,
  type Link,
  listLines,
  type MessageText,
  messageText,
  oneLine,
  readingText,
} from "../message-text.ts";

const ADDRESS_LENGTH_MAX = 100;
/**
 * One @, no spaces, and nothing that begins another address. Whether the address exists is only known after sending.
 */
const PART = `[^\\s@<>"',;:()\\[\\]\\\\]+`;

const schema = configSchema({
  value: textField({
    about:
      "The email address. The recipient must confirm it before alerts are sent, unless it belongs to a project member.",
    lengthMax: ADDRESS_LENGTH_MAX,
    pattern: `^${PART}@${PART}$`,
    must: "an email address",
  }),
  down: switchField({ about: "Notify when a check goes down.", fallback: true }),
  up: switchField({ about: "Notify when a check comes back up.", fallback: true }),
});

type Config = Static<typeof schema>;

/** The email for a message. The same message always produces the same email, with the same ID. */
export function renderEmail(
  message: ChannelMessage,
  { value }: Config,
  out: Pick<Outgoing, "site" | "zone" | "channel" | "dedupeKey"> & { idDomain: string; recipient: Recipient },
): BounceableMail {
  const { site, recipient, channel } = out;
  const { unsubscribeUrl } = recipient;
  const zone = recipient.zone ?? out.zone;
  return {
    to: value,
    ...alertMail(message, { site, zone, address: value, unsubscribeUrl }),
    ...threadOf(message, out),
    headers: {
      "List-Unsubscribe": `<${unsubscribeUrl}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
    bounceId: `n.${channel.uuid}`,
  };
}

/** An incident is one thread: the ID of its first email can be derived, so that later ones can refer to it. */
function threadOf(
  message: ChannelMessage,
  { channel, dedupeKey, idDomain }: Pick<Outgoing, "channel" | "dedupeKey"> & { idDomain: string },
): Pick<BounceableMail, "messageId" | "references"> {
  const idOf = (what: string) =>
    `<${hmacSha256Hex({ key: channel.uuid, message: what }).slice(0, 32)}@${idDomain}>`;
  if (message.kind === "group") {
    // Which of its emails was the first is not known, so all of them refer to an ID that none has.
    return { messageId: idOf(dedupeKey), references: [idOf(`incident ${message.incident.number}`)] };
  }
  if ((message.kind !== "down" && message.kind !== "up") || message.isTest === true) {
    return { messageId: idOf(dedupeKey) };
  }
  const { check, kind, since, downtimeMs, corrections, isRepeat } = message;
  const incident = (at: number) => idOf(`${check.uuid} down ${at}`);
  if (isRepeat) return { messageId: idOf(dedupeKey), references: [incident(since)] };
  if (kind === "down") return { messageId: incident(since) };
  const messageId = idOf(`${check.uuid} up ${since} ${dedupeKey}`);
  const began = downtimeMs === null ? (corrections.at(-1)?.at ?? null) : since - downtimeMs;
  return began === null ? { messageId } : { messageId, references: [incident(began)] };
}

async function send(message: ChannelMessage, config: Config, out: Outgoing): Promise<SendResult> {
  const { mail, channel } = out;
  const summary = `email to ${config.value}`;
  if (mail === null) return unsent(summary, "This server cannot send email: OVERDUE_SMTP_HOST is not set");
  const recipient = await mail.recipient({ channelUuid: channel.uuid, address: config.value });
  if (!recipient.isVerified) {
    await mail.notifyUnverified({ channelUuid: channel.uuid });
    return { ...unsent(summary, "Email address not confirmed"), permanent: true, keepsChannel: true };
  }
  const { idDomain } = mail;
  return resultOf(await mail.send(renderEmail(message, config, { ...out, idDomain, recipient })), summary);
}

function unsent(summary: string, reason: string): FailedResult {
  const none = { code: null, excerpt: null, retryAfterMs: null };
  return { kind: "failed", permanent: false, summary, reason, ...none, inDoubt: false };
}

function resultOf(result: MailResult, summary: string): SendResult {
  const outcome = { summary, code: result.code, excerpt: result.response };
  if (result.kind === "sent") return { kind: "sent", ...outcome };
  const { permanent, reason, inDoubt } = result;
  return { kind: "failed", ...outcome, permanent, reason, retryAfterMs: null, inDoubt };
}

export const email: ChannelKind<Config> = {
  name: "email",
  title: "Email",
  about: "Sends email alerts. The recipient confirms the address first.",
  category: "push",
  icon: null,
  example: { value: "you@example.org" },
  guide: [
    "Enter the email address. Overdue sends a confirmation link to it, unless it belongs to a project member. Notifications start when the recipient confirms the address.",
    "Choose whether to notify when a check goes down, comes back up, or both.",
  ],
  schema,
  validate: ({ up, down }) => (up || down ? null : "At least one of up and down must be true."),
  isSubscribed: ({ up, down }, what) => (what === "notice" ? up || down : { up, down }[what]),
  // Mail servers treat more than one per second as spam.
  rate: { perMinute: 60, burst: 60 },
  send,
};

/** The end of the last output is what matters; an email does not need more. */
const OUTPUT_LENGTH_MAX = 10_000;
const SUBJECT_LENGTH_MAX = 200;
const NAMES_LENGTH_MAX = 100_000;

export type AlertMailOptions = { site: Site; zone: string; address: string; unsubscribeUrl: string };

export type RenderedMail = { subject: string; text: string; html: string };

/** The email for a message and its recipient. */
function alertMail(message: ChannelMessage, options: AlertMailOptions): RenderedMail {
  const { site, zone } = options;
  const cleaned = cleanWords(messageText(message, { site, zone }));
  const words = cleaned.isTest
    ? { ...cleaned, link: { text: `Open ${site.name}`, url: `${site.url}/` } }
    : cleaned;
  const facts = [...words.facts, ...furtherFacts(message, zone)];
  const output = words.output === null ? null : outputOf(words.output);
  const footer = footerOf(options);
  const isCorrection = message.kind === "up" && message.reason === "retracted";
  const title = isCorrection ? `Correction: ${words.headline}` : words.headline;
  return {
    subject: oneLine(words.subject).slice(0, SUBJECT_LENGTH_MAX).toWellFormed(),
    text: mailText({ title, blocks: textBlocks(words, { facts, output }), footer }),
    html: mailPage({
      site,
      tone: words.tone,
      title,
      preview: words.sentences.join(" "),
      rows: htmlRows(words, { facts, output }),
      footer,
    }),
  };
}

/** Untrusted text may contain characters that disguise it. */
function cleanWords(words: MessageText): MessageText {
  return {
    ...words,
    subject: undisguised(words.subject),
    headline: undisguised(words.headline),
    sentences: words.sentences.map(undisguised),
    facts: words.facts.map((fact) => ({
      ...fact,
      value: undisguised(fact.value),
      ...(fact.parts !== undefined && { parts: fact.parts.map(undisguised) }),
    })),
    output: words.output === null ? null : undisguised(words.output),
    lists: words.lists.map((one) => ({ ...one, checks: one.checks.map(cleanLink) })),
    others:
      words.others === null
        ? null
        : {
            text: words.others.text,
            down: words.others.down.map(cleanLink),
          },
  };
}

function cleanLink({ text, url }: Link): Link {
  return { text: undisguised(text), url };
}

/** Details that only emails have room for. */
function furtherFacts(message: ChannelMessage, zone: string): Fact[] {
  if ((message.kind !== "down" && message.kind !== "up") || message.isTest === true) return [];
  const { check, lastPing } = message;
  const from = lastPing?.remoteAddr ?? null;
  return [
    ...(from === null ? [] : [{ label: "Last ping from", value: from, isShort: true }]),
    { label: "Created", value: readingText(check.createdAt, zone).slice(0, 10), isShort: true },
  ];
}

/** Short output precedes the facts, because it gives the reason; long output would hide them. */
type Output = { title: string; text: string; isBrief: boolean };

const BRIEF_LENGTH_MAX = 1_200;
const BRIEF_LINES_MAX = 14;

function outputOf(output: string): Output {
  const isCut = output.length > OUTPUT_LENGTH_MAX;
  const title = isCut
    ? `Last output (last ${OUTPUT_LENGTH_MAX.toLocaleString("en")} characters)`
    : "Last output";
  const isBrief = output.length <= BRIEF_LENGTH_MAX && output.split("\n").length <= BRIEF_LINES_MAX;
  return { title, text: clipEnd(output, OUTPUT_LENGTH_MAX), isBrief };
}

function footerOf({ site, address, unsubscribeUrl }: AlertMailOptions): FooterLine[] {
  return [
    { text: `Sent by ${site.name} to ${address}, which is set up to receive alerts for this project.` },
    { text: "Don't want these alerts?", link: { text: "Unsubscribe", url: unsubscribeUrl } },
  ];
}

type Details = { facts: readonly Fact[]; output: Output | null };

function textBlocks(
  { sentences, history, lists, others, link, ack }: MessageText,
  { facts, output }: Details,
): string[][] {
  const width = Math.max(...facts.map(({ label }) => label.length)) + 2;
  const outputLines = output === null ? [] : [`${output.title}:`, "", output.text];
  return [
    [...sentences],
    history.length === 0 ? [] : ["Since the last message:", ...history.map((line) => `- ${line}`)],
    ...lists.map((one) =>
      listLines(one, {
        bullet: "- ",
        name: ({ text, url }) => `${text}: ${url}`,
        lengthMax: NAMES_LENGTH_MAX,
      }),
    ),
    [link, ...(ack === null ? [] : [ack])].map(({ text, url }) => `${text}: ${url}`),
    output?.isBrief === true ? outputLines : [],
    facts.map(({ label, value }) => {
      const lines = value.split("\n");
      return `${`${label}:`.padEnd(width)}${lines.join(`\n${" ".repeat(width)}`)}`;
    }),
    others === null ? [] : [others.text, ...others.down.map(({ text, url }) => `- ${text}: ${url}`)],
    output?.isBrief === false ? outputLines : [],
  ];
}

function htmlRows(
  { sentences, history, lists, others, link, ack }: MessageText,
  { facts, output }: Details,
): Html[] {
  const outputRow =
    output === null ? [] : [row([subheading(output.title), literal(output.text)], { top: 20 })];
  return [
    row(sentences.map((text) => paragraph(text))),
    ...(history.length === 0 ? [] : [row([subheading("Since the last message"), list(history)])]),
    ...lists.map((one) => row([subheading(one.title), checkItems(one)])),
    row(button(link), { top: 14 }),
    ...(ack === null ? [] : [row(inlineLink(ack), { top: 14 })]),
    ...(output?.isBrief === true ? outputRow : []),
    row(factTable(facts), { top: 22 }),
    ...(others === null ? [] : [row(othersOf(others), { top: 18 })]),
    ...(output?.isBrief === false ? outputRow : []),
  ];
}

function list(lines: readonly string[]): Html {
  const { name, style } = inked("ink2");
  const items = lines.map((line) => html`<li style="margin:0 0 2px;">${line}</li>`);
  return html`<ul class="${name}" style="margin:0;padding:0 0 0 20px;font:400 14px/21px ${FONT};${style}">${items}</ul>`;
}

function checkItems({ checks, count }: CheckList): Html {
  const left = count - checks.length;
  return linkItems([...checks.map(inlineLink), ...(left > 0 ? [`and ${left} more`] : [])]);
}

function linkItems(items: readonly (Html | string)[]): Html {
  const { name, style } = inked("ink2");
  const lines = items.map((item) => html`<li style="margin:0 0 2px;">${item}</li>`);
  return html`<ul class="${name}" style="margin:0;padding:0 0 0 20px;font:400 14px/21px ${FONT};${style}word-break:break-word;">${lines}</ul>`;
}

function factTable(facts: readonly Fact[]): Html {
  const label = inked("ink3");
  const value = inked("ink");
  const rows = facts.map(
    (fact) => html`<tr>
<td class="lined ${label.name}" width="108" valign="top" style="padding:7px 12px 7px 0;border-top:1px solid ${LIGHT.line};font:400 13px/20px ${FONT};${label.style}">${fact.label}</td>
<td class="lined ${value.name}" valign="top" style="padding:7px 0;border-top:1px solid ${LIGHT.line};font:400 14px/20px ${FONT};${value.style}white-space:pre-line;word-break:break-word;">${factValue(fact)}</td>
</tr>
`,
  );
  return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
${rows}</table>`;
}

function factValue({ value, parts, isLiteral }: Fact): Html | string {
  if (isLiteral !== true) return value;
  const ground = grounded("raised");
  const chips = (parts ?? [value]).map(
    (part) =>
      html`<span class="${ground.name}" style="display:inline-block;margin:0 4px 2px 0;padding:0 6px;border-radius:4px;font:400 13px/20px ${MONO};${ground.style}white-space:pre-wrap;">${part}</span>`,
  );
  return html`${chips}`;
}

function othersOf({ text, down }: NonNullable<MessageText["others"]>): Html {
  const { name, style } = inked("ink2");
  return html`<p class="${name}" style="margin:0 0 4px;font:400 14px/21px ${FONT};${style}">${text}</p>${down.length > 0 && linkItems(down.map(inlineLink))}`;
}
