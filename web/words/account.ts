// Texts of the account page.
import type {
  AccountPage,
  DensityName,
  SignInMethodName,
  ThemeName,
} from "../../src/contract/api/account.ts";
import { plural } from "./format.ts";

export const THEME_WORDS: Readonly<Record<ThemeName, string>> = {
  system: "System",
  light: "Light",
  dark: "Dark",
};

export const DENSITY_WORDS: Readonly<Record<DensityName, string>> = {
  comfortable: "Comfortable",
  compact: "Compact",
};

export const METHOD_WORDS: Readonly<Record<SignInMethodName, string>> = {
  link: "with an email link",
  password: "with a password",
  passkey: "with a passkey",
  oidc: "with your identity provider",
  proxy: "through the proxy",
  setUp: "with the setup link",
  admin: "with a link from the command line",
};

export const REPORT_WORDS: Readonly<Record<AccountPage["reports"], string>> = {
  off: "Never",
  daily: "Daily",
  weekly: "Weekly",
  monthly: "Monthly",
};

export const REMINDER_WORDS: Readonly<Record<AccountPage["reminders"], string>> = {
  off: "Never",
  hourly: "Hourly",
  daily: "Daily",
};

export const accountWords = {
  title: "Account",
  saved: "Saved.",
  profile: {
    title: "Profile",
    about: "How you appear to other project members, and your display preferences.",
    name: "Name",
    namePlaceholder: "Shown instead of your email address",
    zone: "Time zone",
    zoneOfBrowser: (here: string) => `Browser time zone (${here})`,
    zoneOfBrowserHint:
      "Until you choose a time zone, alert emails use the project's time zone and reports use UTC.",
    theme: "Theme",
    density: "Row density",
  },
  email: {
    title: "Email address",
    about: "Used to sign in and to receive reports.",
    change: "Change",
    dialog: "Change email address",
    dialogText:
      "We'll email a confirmation link to the new address. Your current address stays in use until you open the link.",
    label: "New email address",
    send: "Send confirmation link",
    sent: (email: string) => `Confirmation link sent to ${email}. It expires in 15 minutes.`,
    noMail:
      "You can't change your email address because this server doesn't send email, so a new address can't be confirmed.",
    fixed: "Your email address is managed by your sign-in provider. Change it there.",
  },
  password: {
    title: "Password",
    about: "Sign in with a password instead of an email link.",
    isSet: "Password set.",
    notSet: "No password set.",
    set: "Set password",
    change: "Change password",
    remove: "Remove password",
    dialog: "Choose a password",
    dialogText:
      "Use at least 8 characters. Several random words work well. You'll be signed out of your other sessions.",
    label: "New password",
    show: "Show password",
    done: "Password set. You've been signed out of your other sessions.",
    removeTitle: "Remove your password?",
    removeText: "You'll sign in with an email link or a passkey instead.",
    removed: "Password removed.",
  },
  passkeys: {
    title: "Passkeys",
    about: "Sign in with your fingerprint, face or security key. Passkeys resist phishing.",
    list: "Passkeys",
    none: "No passkeys yet.",
    unnamed: "unnamed",
    add: "Add passkey",
    dialogText: "Your browser will ask for your fingerprint, face or security key.",
    name: "Name",
    namePlaceholder: "Work laptop",
    next: "Continue",
    added: "Passkey added.",
    made: "added",
    used: "last used",
    neverUsed: "never used",
    remove: "Remove",
    removeOf: (name: string) => `Remove ${name}`,
    removeTitle: (name: string) => `Remove ${name}?`,
    removeText: "You won't be able to sign in with this passkey anymore.",
    removed: "Passkey removed.",
    cancelled:
      "The browser didn't create a passkey because the request was canceled or timed out. Try again.",
    exists: "This device already has a passkey for this account.",
    unusable: "Passkeys require an HTTPS URL with a host name.",
  },
  totp: {
    title: "Authenticator app",
    about: "Require a code from your phone after your password or email link.",
    off: "Not set up.",
    on: "Set up",
    codesLeft: (count: number) =>
      count === 0 ? "No recovery codes left. Generate new ones." : `${plural(count, "recovery code")} left.`,
    add: "Set up",
    remove: "Remove",
    renew: "New recovery codes",
    scanTitle: "Scan the QR code",
    scanText: "Scan the code with your authenticator app, then enter the 6-digit code it shows.",
    qr: "QR code for the authenticator app",
    byHand: "Can't scan it? Enter this key in the app:",
    code: "Code from the app",
    confirm: "Turn on",
    codesTitle: "Save your recovery codes",
    codesText:
      "Use a recovery code to sign in if you lose your phone. Each code works once. You won't be able to see them again, so print them or store them in your password manager.",
    codes: "Recovery codes",
    codesDone: "I've saved them",
    download: "Download",
    removeTitle: "Remove your authenticator app?",
    removeText: "Signing in will no longer require a code. Your recovery codes stop working too.",
    removed: "Authenticator app removed.",
    renewTitle: "Generate new recovery codes?",
    renewText: "Your current codes stop working immediately.",
  },
  identities: {
    title: "Identity providers",
    about: "External accounts you can sign in with.",
    known: (subject: string) => `Subject: ${subject}`,
    added: "added",
    used: "last used",
    remove: "Remove",
    removeOf: (issuer: string) => `Remove ${issuer}`,
    removeTitle: "Remove this identity?",
    removeText:
      "You can no longer sign in with it. If it is used again with your verified email address, it is linked again and you're notified.",
    removed: "Identity removed.",
  },
  sessions: {
    title: "Sessions",
    about: "Where you're signed in. Sign out of sessions you don't recognize.",
    list: "Sessions",
    here: "this browser",
    seen: "last active",
    began: "signed in",
    end: "Sign out",
    endOf: (name: string) => `Sign out ${name}`,
    ended: "Session signed out.",
    endOthers: "Sign out all other sessions",
    endedOthers: "All other sessions signed out.",
    unknown: "Unknown browser",
    on: (browser: string, system: string) => `${browser} on ${system}`,
  },
  signIns: {
    title: "Sign-ins",
    about:
      "Recent sign-ins to your account, newest first. If you don't recognize one, sign out of all other sessions and change your password.",
    list: "Sign-ins",
    none: "No sign-ins recorded yet.",
    more: (count: number) => `Show ${plural(count, "earlier sign-in")}`,
    failed: (count: number) => `after ${plural(count, "failed attempt")}`,
    failedSince: (count: number) =>
      count === 1
        ? "1 attempt with a wrong password or code since the last sign-in,"
        : `${plural(count, "attempt")} with a wrong password or code since the last sign-in, the latest`,
  },
  mail: {
    title: "Email about your checks",
    about: "Periodic summaries. Alerts are sent through channels.",
    reports: "Report on all your projects",
    reminders: "Reminder of checks that are still down",
    noMail: "This server doesn't send email.",
  },
  projects: {
    title: "Projects",
    about: "Projects you're a member of.",
    list: "Projects",
    none: "You aren't a member of any project.",
    leave: "Leave",
    leaveOf: (name: string) => `Leave ${name}`,
    leaveTitle: (name: string) => `Leave ${name}?`,
    leaveText: "You'll lose access to this project. To rejoin, you'll need a new invitation.",
    left: (name: string) => `You left ${name}.`,
    asked: (from: string, name: string) => `${from} wants to transfer ${name} to you.`,
  },
  close: {
    title: "Close account",
    about: "Deletes your personal data and the projects only you belong to. Transfer shared projects first.",
    act: "Close my account",
    ask: "Close your account?",
    text: "Your email address, name, sessions, sign-in methods, and the projects only you belong to are deleted immediately. This can't be undone.",
    typed: (email: string) => `Type ${email} to confirm`,
  },
} as const;
