// Texts of the personal access tokens on the account page.
import type { TokenBody } from "../../src/contract/api/tokens.ts";
import { plural } from "./format.ts";

type Scope = TokenBody["scope"];

export const SCOPE_WORDS: Readonly<Record<Scope, string>> = { read: "Read", write: "Write", admin: "Admin" };

/** What each scope allows. */
export const SCOPE_ABOUT: Readonly<Record<Scope, string>> = {
  read: "View everything you can view, including ping URLs.",
  write: "View and change everything you can in your projects.",
  admin: "Do everything you can, including deleting projects and server administration.",
};

export const tokenWords = {
  title: "Personal access tokens",
  about:
    "Use the API as yourself, in all your projects. For programs that need only one project, use an API key of that project.",
  list: "Personal access tokens",
  none: "No personal access tokens yet.",
  create: "New token",
  used: "last used",
  neverUsed: "never used",
  expires: "expires",
  expired: "expired",
  revoke: "Revoke",
  revokeOf: (name: string) => `Revoke ${name}`,
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeText: "Requests with this token fail immediately. This can't be undone.",
  revoked: "Token revoked.",
  dialog: {
    title: "New personal access token",
    about: "Use a separate token for each program, so you can revoke one without affecting the others.",
    name: "Name",
    namePlaceholder: "Terraform",
    scope: "Scope",
    expiration: "Expiration",
    days: (days: number) => (days === 365 ? "1 year" : plural(days, "day")),
    expiresOn: (day: string) => `Expires on ${day}.`,
    create: "Create token",
  },
  created: {
    title: "Copy your token",
    text: "You won't be able to see this token again. Store it like a password.",
    label: "New token",
    done: "I've copied it",
  },
} as const;
