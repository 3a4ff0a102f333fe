// The account. Profile and preferences are part of the API; what needs a browser (sign-in methods, sessions, closing the
// account) is served below /web. Secrets are only in the response that creates them.
import { type Static, Type } from "typebox";
import { EMAIL_ADDRESS_LENGTH_MAX, TZ_LENGTH_MAX } from "../../core/limits.ts";
import { PASSWORD_LENGTH_MAX } from "../../core/sign-in.ts";
import { RULE } from "../check.ts";
import { EXAMPLE_UUID } from "./examples.ts";
import { FIELD_LENGTHS } from "./limits.ts";
import { route } from "./route.ts";
import { nullable, Time, UuidText } from "./types.ts";

const ThemeName = Type.Enum(["system", "light", "dark"]);
export type ThemeName = Static<typeof ThemeName>;
const DensityName = Type.Enum(["comfortable", "compact"]);
export type DensityName = Static<typeof DensityName>;
const Reports = Type.Enum(["off", "daily", "weekly", "monthly"], {
  description: "How often you get a summary of all checks by email.",
});
const Reminders = Type.Enum(["off", "hourly", "daily"], {
  description: "How often you get an email while checks are down.",
});

export type SignInMethodName = "link" | "password" | "passkey" | "oidc" | "proxy" | "setUp" | "admin";

export const Account = Type.Object({
  id: UuidText,
  email: Type.String(),
  name: Type.String(),
  isAdmin: Type.Boolean({ description: "Whether you are a server admin." }),
  zone: nullable(Type.String(), "Time zone. Null: the one of the browser."),
  theme: ThemeName,
  density: DensityName,
  reports: Reports,
  reminders: Reminders,
  createdAt: Time,
  transfers: Type.Array(
    Type.Object({
      project: UuidText,
      name: Type.String(),
      from: Type.String({ description: "Email address of the owner." }),
      since: Time,
    }),
    { description: "Projects that you were asked to take over." },
  ),
});
export type Account = Static<typeof Account>;

/** Fields that are left out stay as they are. */
const AccountChangeBody = Type.Object(
  {
    name: Type.Optional(Type.String({ maxLength: FIELD_LENGTHS.accountName })),
    theme: Type.Optional(ThemeName),
    density: Type.Optional(DensityName),
    zone: Type.Optional(nullable(Type.String({ maxLength: TZ_LENGTH_MAX }))),
    reports: Type.Optional(Reports),
    reminders: Type.Optional(Reminders),
  },
  { additionalProperties: false },
);
export type AccountChangeBody = Static<typeof AccountChangeBody>;

const account = { status: 200, description: "Your account.", schema: Account } as const;

const WhoAmI = Type.Object({
  kind: Type.Enum(["readWrite", "readOnly", "token", "session"], {
    description:
      "How the request was authenticated: by a read-write or read-only API key, a personal access token, or a browser session.",
  }),
  project: nullable(
    Type.Object({ id: UuidText, name: Type.String() }),
    "The project of the API key. Null without one.",
  ),
  account: nullable(
    Type.Object({ id: UuidText, email: Type.String() }),
    "The account of the token or session. Null for API keys.",
  ),
  version: Type.String({ description: "The version of the server." }),
});
export type WhoAmI = Static<typeof WhoAmI>;

export const accountRoutes = {
  whoAmI: route({
    method: "GET",
    path: "/whoami",
    access: "account",
    keys: "readOnly",
    tag: "Account",
    summary: "Show how you are authenticated",
    success: {
      status: 200,
      description: "The credentials, their project or account, and the server.",
      schema: WhoAmI,
      example: {
        kind: "readWrite",
        project: { id: EXAMPLE_UUID, name: "Backups" },
        account: null,
        version: "1.0.0",
      },
    },
  }),
  getAccount: route({
    method: "GET",
    path: "/account",
    access: "account",
    keys: null,
    tag: "Account",
    summary: "Get your account",
    success: account,
  }),
  updateAccount: route({
    method: "PATCH",
    path: "/account",
    access: "account",
    keys: null,
    tag: "Account",
    summary: "Update your account",
    description: "Changes your name and preferences. Sign-in methods can only be changed in the browser.",
    body: AccountChangeBody,
    bodyExample: { zone: "Europe/Riga", reports: "weekly" },
    success: account,
  }),
} as const;

/** GET /web/account */
export type AccountPage = Account & {
  hasPassword: boolean;
  /** Null: no authenticator app is set up. */
  totp: { since: number; codesLeft: number } | null;
  passkeys: PasskeyRow[];
  /** Accounts at the identity provider that can sign in to this one. */
  identities: IdentityRow[];
  sessions: SessionRow[];
  /** Newest first. */
  signIns: SignInRow[];
  /** Failed attempts since the latest sign-in; null: none. */
  failedSignIns: { count: number; lastAt: number } | null;
  /** What can be changed. Nothing if an authenticating proxy is used. */
  offers: { passwords: boolean; passkeys: boolean; mail: boolean; changeEmail: boolean };
  /** Until when no re-authentication is required; null: it is required now. */
  reauthenticatedUntil: number | null;
  projects: { id: string; name: string; role: "owner" | "manager" | "member" | "readOnly" }[];
};

export type PasskeyRow = { id: string; name: string; createdAt: number; lastUsedAt: number | null };

/** `subject` identifies the user at the provider. */
export type IdentityRow = { issuer: string; subject: string; since: number; lastUsedAt: number };

export type SessionRow = {
  id: number;
  method: SignInMethodName;
  createdAt: number;
  seenAt: number;
  ua: string;
  remoteAddr: string | null;
  isCurrent: boolean;
};

export type SignInRow = {
  at: number;
  method: SignInMethodName;
  ua: string;
  remoteAddr: string | null;
  /** Failed attempts between the previous sign-in and this one. */
  failedCount: number;
};

/** PUT /web/account/password (reauth) → AccountPage; the other sessions end. */
export const PasswordBody = Type.Object(
  { password: Type.String({ maxLength: PASSWORD_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type PasswordBody = Static<typeof PasswordBody>;

/** POST /web/account/email (reauth) → { sent: true }: a link is sent to the new address. */
export const EmailBody = Type.Object(
  { email: Type.String({ maxLength: EMAIL_ADDRESS_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type EmailBody = Static<typeof EmailBody>;

/**
 * POST /web/account/passkeys/options (reauth) → the options of navigator.credentials.create for
 * startRegistration({ optionsJSON }) of @simplewebauthn/browser. Its response goes to
 * POST /web/account/passkeys (reauth) { name, response } → AccountPage.
 */
export const NewPasskeyBody = Type.Object(
  {
    name: Type.String({ maxLength: FIELD_LENGTHS.passkeyName }),
    response: Type.Record(Type.String(), Type.Unknown()),
  },
  { additionalProperties: false },
);
export type NewPasskeyBody = Static<typeof NewPasskeyBody>;

/**
 * POST /web/account/totp (reauth) → TotpSetUp; the code of the app goes to
 * POST /web/account/totp/confirm (reauth) { code } → RecoveryCodes. Until then it is not required to sign in.
 */
export type TotpSetUp = {
  /** To type instead of scanning: base32, in groups of four. */
  secret: string;
  uri: string;
  /** The QR code: true is dark. Rows of equal length. */
  qr: boolean[][];
};

export const TotpCodeBody = Type.Object(
  { code: Type.String({ maxLength: 20 }) },
  { additionalProperties: false },
);
export type TotpCodeBody = Static<typeof TotpCodeBody>;

/** Shown once. POST /web/account/totp/codes (reauth) replaces them. */
export type RecoveryCodes = { codes: string[] };

const IdentityText = Type.String({ maxLength: 2_000, [RULE]: "storable" });

/** POST /web/account/identities/remove (reauth) → AccountPage */
export const IdentityBody = Type.Object(
  {
    issuer: IdentityText,
    subject: IdentityText,
  },
  { additionalProperties: false },
);
export type IdentityBody = Static<typeof IdentityBody>;

// DELETE /web/account/password, /account/totp, /account/passkeys/:id (all reauth) → AccountPage
// DELETE /web/account/sessions/:id → AccountPage · POST /web/account/sessions/end-others → AccountPage
/** POST /web/account/close (reauth) { email } → { closed: true }; the cookie is deleted. */
export const CloseBody = Type.Object(
  { email: Type.String({ maxLength: EMAIL_ADDRESS_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type CloseBody = Static<typeof CloseBody>;

// The sign-in forms. A missing field is empty.

const FIELD_LENGTH_MAX = 1_000;
const field = () => Type.Optional(Type.String({ maxLength: FIELD_LENGTH_MAX }));

export const LinkForm = Type.Object({ email: field(), next: field() });
export const PasswordForm = Type.Object({ email: field(), password: field(), next: field() });
export const CodeForm = Type.Object({ code: field(), next: field() });
export const SetUpForm = Type.Object({ email: field(), name: field(), password: field() });
export const ConfirmForm = Type.Object({
  /** How to re-authenticate: password, mailed, code; or mail, to get a code by email. */
  way: field(),
  password: field(),
  /** The code from the email. */
  mailed: field(),
  /** Of the authenticator app, or a recovery code. */
  code: field(),
  next: field(),
});
export const JoinForm = Type.Object({ password: field() });
export const EmptyForm = Type.Object({});
export const NextQuery = Type.Object({ next: field() });

export const PasskeyOptionsBody = Type.Object({ next: field() });
export const PasskeyAnswerBody = Type.Object({
  next: field(),
  response: Type.Record(Type.String(), Type.Unknown()),
});
