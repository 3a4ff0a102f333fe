// What letters about accounts say: the link or the code that lets somebody in, invitations, and news about ways in.
import type { AccountLetterFacts, SecurityNews } from "../../core/alerts/letters.ts";
import { type Instant, MINUTE_MS } from "../../core/instant.ts";
import { oneLine } from "../words/clip.ts";
import type { Link, Mood } from "../words/words.ts";
import { undisguised } from "./mail-page.ts";

/** A mail of a few sentences and one link. */
export type Note = {
  subject: string;
  title: string;
  mood: Mood | null;
  sentences: readonly string[];
  link: Link;
  /** Stands below the link. */
  afterwards: readonly string[];
};

export type AccountNoteOptions = {
  site: { name: string; url: string };
  /** The link that the letter is sent for, or where to look at it. */
  action: string;
  /** The digits of a code; empty where there is none. */
  code: string;
  now: Instant;
};

const NOT_YOU = "If you didn't request this, you can ignore this email.";

/** What a letter about an account says. */
export function accountNote(facts: AccountLetterFacts, options: AccountNoteOptions): Note {
  const { site, action, code, now } = options;
  switch (facts.kind) {
    case "signIn":
      return {
        subject: facts.isNew ? `Create your ${site.name} account` : `Sign in to ${site.name}`,
        title: facts.isNew ? "Create your account" : "Sign in",
        mood: null,
        sentences: [`This link works once and expires in ${span(facts.expiresAt, now)}.`],
        link: { text: facts.isNew ? "Create account" : "Sign in", url: action },
        afterwards: [NOT_YOU],
      };
    case "confirm":
      return {
        subject: `${code} is your ${site.name} code`,
        title: `Your code: ${code}`,
        mood: null,
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
        mood: null,
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
        mood: null,
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
        mood: "notice",
        sentences: [`This change was made to your ${site.name} account.`],
        link: { text: "Review your account", url: action },
        afterwards: ["If this wasn't you, sign in, sign out of all other sessions, and set a new password."],
      };
  }
}

const SECURITY_WORDS: Readonly<Record<SecurityNews, string>> = {
  passwordSet: "Your password was set",
  passwordRemoved: "Your password was removed",
  passkeyAdded: "A passkey was added",
  passkeyRemoved: "A passkey was removed",
  totpAdded: "Two-factor authentication was turned on",
  totpRemoved: "Two-factor authentication was turned off",
  providerAdded: "Single sign-on was linked to your account",
  providerRemoved: "Single sign-on was unlinked from your account",
  emailChanged: "Your email address was changed",
};

function invitationNote(
  facts: Extract<AccountLetterFacts, { kind: "invitation" }>,
  { site, action }: AccountNoteOptions,
): Note {
  const who = facts.invitedBy ?? "An admin";
  const project = facts.projectName === null ? null : named(facts.projectName);
  const into = project === null ? site.name : `the project ${project} on ${site.name}`;
  return {
    subject: project === null ? `You're invited to ${site.name}` : `You're invited to ${project}`,
    title: "You're invited",
    mood: null,
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
