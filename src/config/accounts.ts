// The settings of accounts: who may make one, and who else may say who somebody is.
import { optionalSetting, setting } from "./setting.ts";
import { NAME_LENGTH_MAX } from "../core/limits.ts";
import { booleanKind, calledAddressKind, nameKind, textKind, type ValueKind } from "../lib/setting-value.ts";

/** A header by its own name, or as CGI programs call it: HTTP_X_USER is X-User. */
const headerKind: ValueKind<string> = {
  describe: "header",
  parse: (text) => {
    const name = /^HTTP_[A-Z0-9_]+$/.test(text) ? text.slice("HTTP_".length).replaceAll("_", "-") : text;
    return /^[A-Za-z0-9-]{1,100}$/.test(name)
      ? { value: name.toLowerCase() }
      : { problem: "must be a header name such as X-Authenticated-User" };
  },
  print: (value) => value,
};

export const ACCOUNT_SETTINGS = {
  registrationOpen: setting({
    key: "OVERDUE_REGISTRATION_OPEN",
    group: "Accounts",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Allow anyone with an email address to create an account. If false, accounts are created by invitation or with `overdue admin`.",
    example: "true",
    aliases: ["REGISTRATION_OPEN"],
  }),
  remoteUserHeader: optionalSetting({
    key: "OVERDUE_REMOTE_USER_HEADER",
    group: "Accounts",
    kind: headerKind,
    fallbackMeans: "none; users sign in to Overdue",
    secret: false,
    meaning:
      "The header in which your authenticating proxy sends the user's email address. It is accepted only from OVERDUE_TRUSTED_PROXIES, and only the proxy should be able to reach the port. Accounts are created on first use, and all other sign-in methods are disabled.",
    example: "X-Authenticated-User",
    aliases: ["REMOTE_USER_HEADER"],
  }),
  oidcIssuer: optionalSetting({
    key: "OVERDUE_OIDC_ISSUER",
    group: "Accounts",
    kind: calledAddressKind,
    fallbackMeans: "none",
    secret: false,
    meaning:
      "The issuer URL of an OpenID Connect provider for single sign-on. The redirect URI is /accounts/oidc/ under OVERDUE_SITE_URL.",
    example: "https://id.example.org/realms/main",
  }),
  oidcClientId: optionalSetting({
    key: "OVERDUE_OIDC_CLIENT_ID",
    group: "Accounts",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required with OVERDUE_OIDC_ISSUER",
    secret: false,
    meaning: "The client ID of this server at the provider.",
    example: "overdue",
  }),
  oidcClientSecret: optionalSetting({
    key: "OVERDUE_OIDC_CLIENT_SECRET",
    group: "Accounts",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; public client with PKCE",
    secret: true,
    meaning: "The client secret.",
    example: "secret-of-the-client",
  }),
  oidcName: setting({
    key: "OVERDUE_OIDC_NAME",
    group: "Accounts",
    kind: nameKind({ lengthMax: NAME_LENGTH_MAX }),
    fallback: "single sign-on",
    secret: false,
    meaning: "The provider name on the “Sign in with” button.",
    example: "Example ID",
  }),
  oidcCreatesAccounts: setting({
    key: "OVERDUE_OIDC_CREATE_ACCOUNTS",
    group: "Accounts",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Create an account for every user who signs in through the provider. If false, an account with the user's verified email address must already exist.",
    example: "true",
  }),
} as const;
