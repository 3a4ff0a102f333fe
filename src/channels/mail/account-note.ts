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

const NOT_YOU = "If you did not ask for this, do nothing: without this mail nobody gets in.";

/** What a letter about an account says. */
export function accountNote(facts: AccountLetterFacts, options: AccountNoteOptions): Note {
  const { site, action, code, now } = options;
  switch (facts.kind) {
    case "signIn":
      return {
        subject: facts.isNew ? `Your account at ${site.name}` : `Sign in to ${site.name}`,
        title: facts.isNew ? "Create your account" : "Sign in",
        mood: null,
        sentences: [`The link is good for one use, within ${span(facts.expiresAt, now)}.`],
        link: { text: facts.isNew ? "Create the account" : "Sign in", url: action },
        afterwards: [NOT_YOU],
      };
    case "confirm":
      return {
        subject: `${code} is your code for ${site.name}`,
        title: `Your code: ${code}`,
        mood: null,
        sentences: [`Type it where you were asked for it, within ${span(facts.expiresAt, now)}.`],
        link: { text: `Open ${site.name}`, url: action },
        afterwards: [
          "If nobody asked you for a code, somebody else may be signed in as you: end that session.",
        ],
      };
    case "changeEmail":
      return {
        subject: `Your new address at ${site.name}`,
        title: "Is this your new address?",
        mood: null,
        sentences: [`The link moves your account to this address, within ${span(facts.expiresAt, now)}.`],
        link: { text: "Yes, use this address", url: action },
        afterwards: ["If you have no account there, do nothing."],
      };
    case "invitation":
      return invitationNote(facts, options);
    case "transfer": {
      const project = named(facts.projectName);
      return {
        subject: `Take over the project ${project}?`,
        title: `Take over the project ${project}?`,
        mood: null,
        sentences: [
          `${facts.from} wants you to own the project ${project} at ${site.name}.`,
          "Its checks count towards your limit then. You can accept or decline in its settings.",
        ],
        link: { text: "Open the settings", url: action },
        afterwards: [],
      };
    }
    case "security":
      return {
        subject: `${SECURITY_WORDS[facts.what]} at ${site.name}`,
        title: SECURITY_WORDS[facts.what],
        mood: "notice",
        sentences: [`This was done to your account at ${site.name}.`],
        link: { text: "Look at your account", url: action },
        afterwards: ["If it was not you, sign in, end all other sessions, and set a new password."],
      };
  }
}

const SECURITY_WORDS: Readonly<Record<SecurityNews, string>> = {
  passwordSet: "A password was set",
  passwordRemoved: "The password was removed",
  passkeyAdded: "A passkey was added",
  passkeyRemoved: "A passkey was removed",
  totpAdded: "An authenticator app was set up",
  totpRemoved: "The authenticator app was removed",
  providerAdded: "The identity provider lets you in from now on",
  providerRemoved: "An identity of the provider was removed",
  emailChanged: "The email address was changed",
};

function invitationNote(
  facts: Extract<AccountLetterFacts, { kind: "invitation" }>,
  { site, action }: AccountNoteOptions,
): Note {
  const who = facts.invitedBy ?? "Somebody";
  const project = facts.projectName === null ? null : named(facts.projectName);
  const into = project === null ? site.name : `the project ${project} at ${site.name}`;
  return {
    subject: project === null ? `You are invited to ${site.name}` : `You are invited to ${project}`,
    title: "You are invited",
    mood: null,
    sentences: [`${who} invites you to ${into}, which watches jobs and tells people when one is overdue.`],
    link: { text: "Look at the invitation", url: action },
    afterwards: ["If you do not know what this is about, do nothing."],
  };
}

function named(name: string): string {
  return oneLine(undisguised(name)) || "unnamed project";
}

function span(expiresAt: Instant, now: Instant): string {
  const minutes = Math.max(1, Math.round((expiresAt - now) / MINUTE_MS));
  return minutes === 60 ? "an hour" : minutes === 1 ? "a minute" : `${minutes} minutes`;
}
