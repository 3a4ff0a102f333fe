// Requests and responses of the account pages: profile, sign-in methods, sessions, preferences. Instants are epoch
// milliseconds. Secrets are only in the response that creates them.
import { type Static, Type } from "typebox";
import { EMAIL_ADDRESS_LENGTH_MAX } from "../../core/limits.ts";
import { PASSWORD_LENGTH_MAX } from "../../core/sign-in.ts";
import { RULE } from "../check.ts";
import { FIELD_LENGTHS } from "./limits.ts";

export type ThemeName = "system" | "light" | "dark";
export type DensityName = "comfortable" | "compact";
export type SignInMethodName = "link" | "password" | "passkey" | "oidc" | "proxy" | "setUp" | "admin";

/** GET /web/api/account */
export type AccountPage = {
  uuid: string;
  email: string;
  name: string;
  isOperator: boolean;
  /** IANA name; null: that of the browser. */
  zone: string | null;
  theme: ThemeName;
  density: DensityName;
  reports: "off" | "daily" | "weekly" | "monthly";
  reminders: "off" | "hourly" | "daily";
  createdAt: number;
  hasPassword: boolean;
  /** Null: no authenticator app is set up. */
  totp: { since: number; codesLeft: number } | null;
  passkeys: PasskeyRow[];
  /** Accounts at the identity provider that may come in as this one. */
  identities: IdentityRow[];
  sessions: SessionRow[];
  /** Who came in, the newest first. */
  signIns: SignInRow[];
  /** Wrong passwords and codes since the newest of them; null: there were none. */
  failedSignIns: { count: number; lastAt: number } | null;
  /** What may be done here: nothing of it where a proxy says who people are. */
  offers: { passwords: boolean; passkeys: boolean; mail: boolean; changeEmail: boolean };
  /** Until when dangerous acts ask no more; null: they ask now. */
  provenUntil: number | null;
  projects: { uuid: string; name: string; role: "owner" | "manager" | "member" | "readOnly" }[];
  /** Projects that somebody wants this account to take over. */
  transfers: { uuid: string; name: string; from: string; since: number }[];
};

export type PasskeyRow = { uuid: string; name: string; createdAt: number; lastUsedAt: number | null };

/** `subject` is what the provider calls somebody. */
export type IdentityRow = { issuer: string; subject: string; since: number; lastUsedAt: number };

export type SessionRow = {
  id: number;
  method: SignInMethodName;
  createdAt: number;
  seenAt: number;
  ua: string;
  remoteAddr: string | null;
  isThis: boolean;
};

export type SignInRow = {
  at: number;
  method: SignInMethodName;
  ua: string;
  remoteAddr: string | null;
  /** Wrong passwords and codes between the one before and this one. */
  failedCount: number;
};

/** PATCH /web/api/account → AccountPage. Whatever is left out stays. */
export const ProfileBody = Type.Object(
  {
    name: Type.Optional(Type.String({ maxLength: FIELD_LENGTHS.accountName })),
    theme: Type.Optional(Type.Union([Type.Literal("system"), Type.Literal("light"), Type.Literal("dark")])),
    density: Type.Optional(Type.Enum(["comfortable", "compact"])),
    /** Null: that of the browser, whichever that is. */
    zone: Type.Optional(Type.Union([Type.String({ maxLength: 36 }), Type.Null()])),
    reports: Type.Optional(
      Type.Union([
        Type.Literal("off"),
        Type.Literal("daily"),
        Type.Literal("weekly"),
        Type.Literal("monthly"),
      ]),
    ),
    reminders: Type.Optional(
      Type.Union([Type.Literal("off"), Type.Literal("hourly"), Type.Literal("daily")]),
    ),
  },
  { additionalProperties: false },
);
export type ProfileBody = Static<typeof ProfileBody>;

/** PUT /web/api/account/password (reauth) → AccountPage; the other sessions end. */
export const PasswordBody = Type.Object(
  { password: Type.String({ maxLength: PASSWORD_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type PasswordBody = Static<typeof PasswordBody>;

/** POST /web/api/account/email (reauth) → { sent: true }: a link goes to the new address. */
export const EmailBody = Type.Object(
  { email: Type.String({ maxLength: EMAIL_ADDRESS_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type EmailBody = Static<typeof EmailBody>;

/**
 * POST /web/api/account/passkeys/options (reauth) → the options of navigator.credentials.create, as
 * @simplewebauthn/browser takes them: startRegistration({ optionsJSON }). Its answer goes to
 * POST /web/api/account/passkeys (reauth) { name, response } → AccountPage.
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
 * POST /web/api/account/totp (reauth) → TotpSetUp; the code of the app goes to
 * POST /web/api/account/totp/confirm (reauth) { code } → RecoveryCodes. Until then it is asked for nowhere.
 */
export type TotpSetUp = {
  /** For whoever cannot scan: base32, in groups of four. */
  secret: string;
  uri: string;
  /** The picture to be scanned: true is dark. Rows of equal length. */
  qr: boolean[][];
};

export const TotpCodeBody = Type.Object(
  { code: Type.String({ maxLength: 20 }) },
  { additionalProperties: false },
);
export type TotpCodeBody = Static<typeof TotpCodeBody>;

/** Shown once. POST /web/api/account/totp/codes (reauth) makes new ones; the old ones end. */
export type RecoveryCodes = { codes: string[] };

/** What providers call themselves and their people is far shorter. */
const IdentityText = Type.String({ maxLength: 2_000, [RULE]: "storable" });

/** POST /web/api/account/identities/remove (reauth) → AccountPage: this one of the provider opens the account no more. */
export const IdentityBody = Type.Object(
  {
    issuer: IdentityText,
    subject: IdentityText,
  },
  { additionalProperties: false },
);
export type IdentityBody = Static<typeof IdentityBody>;

// DELETE /web/api/account/password, /account/totp, /account/passkeys/:uuid (all reauth) → AccountPage
// DELETE /web/api/account/sessions/:id → AccountPage · POST /web/api/account/sessions/end-others → AccountPage
// POST /web/api/account/close (reauth) { email } (typed again) → { closed: true }; the cookie is gone then.
export const CloseBody = Type.Object(
  { email: Type.String({ maxLength: EMAIL_ADDRESS_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type CloseBody = Static<typeof CloseBody>;

// The sign-in forms. Form fields are texts; a missing one is empty.

const FIELD_LENGTH_MAX = 1_000;
const field = () => Type.Optional(Type.String({ maxLength: FIELD_LENGTH_MAX }));

export const LinkForm = Type.Object({ email: field(), next: field() });
export const PasswordForm = Type.Object({ email: field(), password: field(), next: field() });
export const CodeForm = Type.Object({ code: field(), next: field() });
export const SetUpForm = Type.Object({ email: field(), name: field(), password: field() });
export const ConfirmForm = Type.Object({
  /** By what it is to be proven: password, mailed, code; or mail, to be sent a code. */
  way: field(),
  password: field(),
  /** The code from the mail. */
  mailed: field(),
  /** Of the app, or a recovery code. */
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
