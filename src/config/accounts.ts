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
      : { problem: "must be the name of a header such as X-Authenticated-User" };
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
      "Whether anybody who can read mail may make an account. Otherwise people are invited, or made by `overdue admin`.",
    example: "true",
    aliases: ["REGISTRATION_OPEN"],
  }),
  remoteUserHeader: optionalSetting({
    key: "OVERDUE_REMOTE_USER_HEADER",
    group: "Accounts",
    kind: headerKind,
    fallbackMeans: "none; people sign in here",
    secret: false,
    meaning:
      "A header in which a proxy of yours says who is there, by their email address. It is believed from OVERDUE_TRUSTED_PROXIES only, so that nobody else may reach this port; accounts are made when they are first seen, and every other way to sign in is off.",
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
      "An OpenID Connect provider that people may sign in with. Its redirect address is /accounts/oidc/ below the public address.",
    example: "https://id.example.org/realms/main",
  }),
  oidcClientId: optionalSetting({
    key: "OVERDUE_OIDC_CLIENT_ID",
    group: "Accounts",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; must be set with an issuer",
    secret: false,
    meaning: "What this installation is called at the provider.",
    example: "overdue",
  }),
  oidcClientSecret: optionalSetting({
    key: "OVERDUE_OIDC_CLIENT_SECRET",
    group: "Accounts",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; the provider takes PKCE alone",
    secret: true,
    meaning: "The secret that the provider gave for it.",
    example: "secret-of-the-client",
  }),
  oidcName: setting({
    key: "OVERDUE_OIDC_NAME",
    group: "Accounts",
    kind: nameKind({ lengthMax: NAME_LENGTH_MAX }),
    fallback: "single sign-on",
    secret: false,
    meaning: "What the button says after “Sign in with”.",
    example: "Example ID",
  }),
  oidcCreatesAccounts: setting({
    key: "OVERDUE_OIDC_CREATE_ACCOUNTS",
    group: "Accounts",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Whether everybody whom the provider lets in gets an account here. Otherwise it has to be there, by its verified address.",
    example: "true",
  }),
} as const;
