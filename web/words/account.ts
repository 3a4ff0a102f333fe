// What the page of an account says.
import type {
  AccountPage,
  DensityName,
  SignInMethodName,
  ThemeName,
} from "../../src/contract/web/account.ts";
import { plural } from "./number.ts";

export const THEME_WORDS: Readonly<Record<ThemeName, string>> = {
  system: "As the system",
  light: "Light",
  dark: "Dark",
};

export const DENSITY_WORDS: Readonly<Record<DensityName, string>> = {
  comfortable: "Comfortable",
  compact: "Compact",
};

export const METHOD_WORDS: Readonly<Record<SignInMethodName, string>> = {
  link: "by mailed link",
  password: "by password",
  passkey: "by passkey",
  oidc: "by your identity provider",
  proxy: "by the proxy",
  setUp: "by the link of the first start",
  admin: "by a link from the command line",
};

export const REPORT_WORDS: Readonly<Record<AccountPage["reports"], string>> = {
  off: "Never",
  daily: "Every day",
  weekly: "Every week",
  monthly: "Every month",
};

export const REMINDER_WORDS: Readonly<Record<AccountPage["reminders"], string>> = {
  off: "Never",
  hourly: "Every hour",
  daily: "Every day",
};

export const accountWords = {
  title: "Account",
  saved: "Saved.",
  profile: {
    title: "Profile",
    about: "How others of your projects see you, and how times, colours and lists are shown to you.",
    name: "Name",
    namePlaceholder: "Shown instead of your address",
    zone: "Time zone",
    zoneOfBrowser: (here: string) => `As the browser: ${here}`,
    zoneOfBrowserHint:
      "Until you choose one, alert emails use the time zone of their project, and reports use UTC.",
    theme: "Theme",
    density: "Rows of checks",
  },
  email: {
    title: "Email address",
    about: "You sign in with it, and reports go there.",
    change: "Change",
    dialog: "Change the address",
    dialogText: "A link goes to the new address. The present one is used until you follow it.",
    label: "New address",
    send: "Send the link",
    sent: (email: string) => `A link is on its way to ${email}. It works for 15 minutes.`,
    noMail:
      "No mail is sent from this installation, so it cannot be changed: a new address has to be proven.",
    fixed: "It comes from whoever signs you in, and is changed there.",
  },
  password: {
    title: "Password",
    about: "A second way to sign in beside the mailed link.",
    isSet: "A password is set.",
    notSet: "No password is set.",
    set: "Set a password",
    change: "Change it",
    remove: "Remove it",
    dialog: "Choose a password",
    dialogText: "At least 8 characters; a few words in a row are good. Your other sessions end.",
    label: "New password",
    show: "Show what I type",
    done: "The password was set. Your other sessions have ended.",
    removeTitle: "Remove the password?",
    removeText: "You sign in by mailed link or passkey then.",
    removed: "The password was removed.",
  },
  passkeys: {
    title: "Passkeys",
    about: "Sign in with your fingerprint, face or security key; nothing can be phished.",
    list: "Passkeys",
    none: "None is set up.",
    unnamed: "unnamed",
    add: "Add a passkey",
    dialogText: "Your browser will ask for your finger, face or key next.",
    name: "Name",
    namePlaceholder: "work laptop",
    next: "Go on",
    added: "The passkey was added.",
    made: "added",
    used: "used",
    neverUsed: "never used",
    remove: "Remove",
    removeOf: (name: string) => `Remove ${name}`,
    removeTitle: (name: string) => `Remove ${name}?`,
    removeText: "It does not open this account any more.",
    removed: "The passkey was removed.",
    cancelled: "The browser did not make a passkey: it was cancelled, or took too long. Try again.",
    exists: "This device has a passkey for this account already.",
    unusable: "Browsers use passkeys only at an https address with a name.",
  },
  totp: {
    title: "Authenticator app",
    about: "A code from your phone is asked for after the password or the mailed link.",
    off: "None is set up.",
    on: "Set up",
    codesLeft: (count: number) =>
      count === 0 ? "No recovery code is left: make new ones." : `${plural(count, "recovery code")} left.`,
    add: "Set up",
    remove: "Remove",
    renew: "New recovery codes",
    scanTitle: "Scan this with your app",
    scanText: "Then type the 6 digits that it shows.",
    qr: "Picture to be scanned by the authenticator app",
    byHand: "Cannot scan? Type this into the app:",
    code: "Code from the app",
    confirm: "Turn on",
    codesTitle: "Keep these codes",
    codesText:
      "Each one signs you in once when your phone is gone. They are shown only now: print them, or keep them with your passwords.",
    codes: "Recovery codes",
    codesDone: "I have kept them",
    download: "Download as a file",
    removeTitle: "Remove the authenticator app?",
    removeText: "Nothing is asked for after the password any more. Your recovery codes end too.",
    removed: "The authenticator app was removed.",
    renewTitle: "Make new recovery codes?",
    renewText: "The old ones end at once.",
  },
  identities: {
    title: "Identity providers",
    about: "Accounts elsewhere that open this one.",
    known: (subject: string) => `Known there as ${subject}`,
    added: "added",
    used: "used",
    remove: "Remove",
    removeOf: (issuer: string) => `Remove ${issuer}`,
    removeTitle: "Remove this identity?",
    removeText:
      "It does not open this account any more. Whoever signs in there with your verified address comes back, and you are told.",
    removed: "The identity was removed.",
  },
  sessions: {
    title: "Sessions",
    about: "Where you are signed in. End what you do not know.",
    list: "Sessions",
    here: "this browser",
    seen: "seen",
    began: "signed in",
    end: "End",
    endOf: (name: string) => `End the session of ${name}`,
    ended: "The session was ended.",
    endOthers: "End all others",
    endedOthers: "All other sessions were ended.",
    unknown: "Unknown browser",
    on: (browser: string, system: string) => `${browser} on ${system}`,
  },
  signIns: {
    title: "Sign-ins",
    about:
      "Who came in as you lately, the newest first. One that was not you? End the other sessions and set a new password.",
    list: "Sign-ins",
    none: "Nobody has signed in since sign-ins are put on record.",
    more: (count: number) => `Show ${plural(count, "earlier sign-in")}`,
    failed: (count: number) => `after ${plural(count, "failed try", "failed tries")}`,
    failedSince: (count: number) =>
      count === 1
        ? "One try with a wrong password or code since the last of these,"
        : `${plural(count, "try", "tries")} with a wrong password or code since the last of these, the newest`,
  },
  mail: {
    title: "Mail about your checks",
    about: "Alerts go by channels. These are the letters in between.",
    reports: "Report of all your projects",
    reminders: "Reminder of what is still down",
    noMail: "No mail is sent from this installation at present.",
  },
  projects: {
    title: "Projects",
    about: "What you are a member of.",
    list: "Projects",
    none: "You are in no project.",
    leave: "Leave",
    leaveOf: (name: string) => `Leave ${name}`,
    leaveTitle: (name: string) => `Leave ${name}?`,
    leaveText: "You see nothing of it any more. Somebody of it has to invite you if you want to come back.",
    left: (name: string) => `You have left ${name}.`,
    asked: (from: string, name: string) => `${from} asks you to take over ${name}.`,
  },
  close: {
    title: "Close the account",
    about:
      "Your personal data is deleted, and the projects that only you are in. Hand over first what you share.",
    act: "Close my account",
    ask: "Close your account?",
    text: "Your address, name, sessions, ways to sign in and the projects that only you are in are deleted now. This cannot be taken back.",
    typed: (email: string) => `Type ${email} to go on`,
  },
} as const;
