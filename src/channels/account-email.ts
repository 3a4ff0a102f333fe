// Account emails: address confirmation, channel warnings, sign-in links, invitations, and security notices.
import type { AccountEmailFacts, EmailChannel, EmailFacts, SecurityChange, Signing } from "../core/email.ts";
import { type Instant, MINUTE_MS } from "../core/instant.ts";
import { confirmCode, linkToken } from "../core/sign-in.ts";
import { digestOfToken } from "../lib/secrets.ts";
import type { Site } from "./channel-kind.ts";
import { button, mailPage, mailText, paragraph, row, undisguised } from "./email-layout.ts";
import type { RenderedMail } from "./kinds/email.ts";
import { type Link, type Tone, oneLine } from "./message-text.ts";
import { reminderMail, reportMail } from "./report-email.ts";

/** The links that an email may need. They are made by the caller, which has the secret. */
export type AccountEmailLinks = {
  verify: string | null;
  unsubscribe: string | null;
  /** The link of an account email, and its code. */
  action: string | null;
  code: string | null;
};

export type AccountEmailOptions = { site: Site; address: string; links: AccountEmailLinks; now: Instant };

/** Renders an account email. */
export function renderAccountEmail(facts: EmailFacts, options: AccountEmailOptions): RenderedMail {
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

function noteOf(facts: Extract<EmailFacts, { channel: EmailChannel }>, options: AccountEmailOptions): Note {
  const { site, links } = options;
  const project = oneLine(undisguised(facts.projectName)) || "unnamed project";
  const open = { text: `Open ${site.name}`, url: `${site.url}/` };
  const channel = channelName(facts.channel);
  switch (facts.kind) {
    case "verification":
      return {
        subject: `Confirm your email address for ${project} alerts`,
        title: "Confirm your email address",
        tone: null,
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
        tone: "notice",
        sentences: [
          `An alert for the project ${project} was not sent to ${facts.address} (${channel}) because the recipient has not confirmed the address.`,
          "The confirmation link is in an email sent to that address. To send it again, save the channel again.",
        ],
        link: open,
        afterwards: [],
      };
    case "disabled":
      if (facts.isLimit) {
        return {
          subject: `NOTICE | a channel in ${project} has reached its monthly limit`,
          title: "A channel has reached its monthly limit",
          tone: "notice",
          sentences: [
            `No messages are sent to the ${channel} in the project ${project}. ${facts.reason}.`,
            "The project has no other working channel. To be notified until then, add a channel of another kind.",
          ],
          link: open,
          afterwards: [],
        };
      }
      return {
        subject: `NOTICE | the last channel in ${project} was disabled`,
        title: "Your last working channel was disabled",
        tone: "notice",
        sentences: [
          `The ${channel} in the project ${project} was disabled. Reason: ${facts.reason}`,
          "The project has no other working channel. No notifications are sent until you fix this channel or add another.",
        ],
        link: open,
        afterwards: [],
      };
  }
}

function channelName({ kind, name }: EmailChannel): string {
  const shown = oneLine(undisguised(name));
  return shown === "" ? `${kind} channel` : `channel "${shown}" (${kind})`;
}

function plainMail(note: Note, { site, address }: AccountEmailOptions): RenderedMail {
  const { subject, title, tone, sentences, link, afterwards } = note;
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
      tone,
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

type StoredLink = Parameters<typeof linkToken>[1] & { digest: Uint8Array };

/** The token whose digest is stored: if the email waited while the secret key was changed, it is one of the previous. */
function storedToken(signing: Signing, link: StoredLink): string {
  const { previous } = signing;
  const earlier = previous === null ? null : linkToken(previous, link);
  const isEarlier = earlier !== null && digestOfToken(earlier).equals(link.digest);
  return isEarlier ? earlier : linkToken(signing, link);
}

/** The links of account emails. Only here are a row and the secret combined into a link. */
export function accountLinks(
  facts: EmailFacts,
  { signing, siteUrl }: { signing: Signing; siteUrl: string },
): Pick<AccountEmailLinks, "action" | "code"> {
  const page = (path: string) => ({ action: `${siteUrl}/accounts/${path}/`, code: null });
  switch (facts.kind) {
    case "signIn": {
      const purpose = facts.isNew ? "register" : "signIn";
      return page(`link/${storedToken(signing, { ...facts, purpose })}`);
    }
    case "changeEmail":
      return page(`change_email/${storedToken(signing, { ...facts, purpose: "changeEmail" })}`);
    case "invitation":
      return page(`invitation/${storedToken(signing, { ...facts, purpose: "invite" })}`);
    case "confirm":
      return { ...page("confirm"), code: confirmCode(signing, facts.uuid) };
    case "transfer":
      return { action: `${siteUrl}/projects/${facts.projectUuid}/settings/`, code: null };
    case "security":
      return page("profile");
    case "verification":
    case "unverified":
    case "disabled":
    case "report":
    case "reminder":
      return { action: null, code: null };
  }
}

/** An email with a few sentences and one link. */
export type Note = {
  subject: string;
  title: string;
  tone: Tone | null;
  sentences: readonly string[];
  link: Link;
  /** Shown below the link. */
  afterwards: readonly string[];
};

export type AccountNoteOptions = {
  site: { name: string; url: string };
  /** The main link of the email. */
  action: string;
  /** The digits of a code; empty if there is none. */
  code: string;
  now: Instant;
};

const NOT_YOU = "If you didn't request this, you can ignore this email.";

/** The text of an account email. */
function accountNote(facts: AccountEmailFacts, options: AccountNoteOptions): Note {
  const { site, action, code, now } = options;
  switch (facts.kind) {
    case "signIn":
      return {
        subject: facts.isNew ? `Create your ${site.name} account` : `Sign in to ${site.name}`,
        title: facts.isNew ? "Create your account" : "Sign in",
        tone: null,
        sentences: [`This link works once and expires in ${span(facts.expiresAt, now)}.`],
        link: { text: facts.isNew ? "Create account" : "Sign in", url: action },
        afterwards: [NOT_YOU],
      };
    case "confirm":
      return {
        subject: `${code} is your ${site.name} code`,
        title: `Your code: ${code}`,
        tone: null,
        sentences: [`Enter this code to confirm that it's you. It expires in ${span(facts.expiresAt, now)}.`],
        link: { text: `Open ${site.name}`, url: action },
        afterwards: [
          "If you didn't request a code, someone else may be signed in to your account. Sign out of sessions you don't recognize.",
        ],
      };
    case "changeEmail":
      return {
        subject: `Confirm your new email address for ${site.name}`,
        title: "Confirm your new email address",
        tone: null,
        sentences: [
          `Use this link to change the email address of your account to this one. The link expires in ${span(facts.expiresAt, now)}.`,
        ],
        link: { text: "Confirm email address", url: action },
        afterwards: ["If you didn't request this, you can ignore this email."],
      };
    case "invitation":
      return invitationNote(facts, options);
    case "transfer": {
      const project = named(facts.projectName);
      return {
        subject: `Ownership request for the project ${project}`,
        title: `Ownership request for the project ${project}`,
        tone: null,
        sentences: [
          `${facts.from} wants to transfer ownership of the project ${project} on ${site.name} to you.`,
          "If you accept, its checks count toward your check limit. Accept or decline in the project settings.",
        ],
        link: { text: "Open project settings", url: action },
        afterwards: [],
      };
    }
    case "security":
      return {
        subject: `${SECURITY_WORDS[facts.what]} | ${site.name}`,
        title: SECURITY_WORDS[facts.what],
        tone: "notice",
        sentences: [`This change was made to your ${site.name} account.`],
        link: { text: "Review your account", url: action },
        afterwards: [
          facts.what === "tokenCreated"
            ? "If this wasn't you, sign in, revoke the token, sign out of all other sessions, and set a new password."
            : "If this wasn't you, sign in, sign out of all other sessions, and set a new password.",
        ],
      };
  }
}

const SECURITY_WORDS: Readonly<Record<SecurityChange, string>> = {
  passwordSet: "Your password was set",
  passwordRemoved: "Your password was removed",
  passkeyAdded: "A passkey was added",
  passkeyRemoved: "A passkey was removed",
  totpAdded: "Two-factor authentication was turned on",
  totpRemoved: "Two-factor authentication was turned off",
  providerAdded: "Single sign-on was linked to your account",
  providerRemoved: "Single sign-on was unlinked from your account",
  tokenCreated: "A personal access token was created",
  emailChanged: "Your email address was changed",
};

function invitationNote(
  facts: Extract<AccountEmailFacts, { kind: "invitation" }>,
  { site, action }: AccountNoteOptions,
): Note {
  const who = facts.invitedBy ?? "An admin";
  const project = facts.projectName === null ? null : named(facts.projectName);
  const into = project === null ? site.name : `the project ${project} on ${site.name}`;
  return {
    subject: project === null ? `You're invited to ${site.name}` : `You're invited to ${project}`,
    title: "You're invited",
    tone: null,
    sentences: [
      `${who} invited you to join ${into}. ${site.name} monitors scheduled jobs and sends an alert when one is overdue.`,
    ],
    link: { text: "View invitation", url: action },
    afterwards: ["If you weren't expecting this invitation, you can ignore this email."],
  };
}

function named(name: string): string {
  return oneLine(undisguised(name)) || "unnamed project";
}

function span(expiresAt: Instant, now: Instant): string {
  const minutes = Math.max(1, Math.round((expiresAt - now) / MINUTE_MS));
  return minutes === 60 ? "1 hour" : minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
