// Personal access tokens. Only the dashboard creates them, after re-authentication.
import { type Static, Type } from "typebox";
import { TOKEN_SCOPES } from "../../core/access.ts";
import { ACCESS_TOKEN_DAYS_MAX, ACCESS_TOKEN_DAYS_MIN } from "../../core/limits.ts";
import { FIELD_LENGTHS } from "./limits.ts";
import { route } from "./route.ts";
import { nullable, Time, UuidText } from "./types.ts";

const Scope = Type.Enum([...TOKEN_SCOPES], { description: "What the token may do." });

export const Token = Type.Object({
  id: UuidText,
  name: Type.String(),
  scope: Scope,
  prefix: Type.String({ description: "The first characters of the token." }),
  createdAt: Time,
  expiresAt: Time,
  isExpired: Type.Boolean(),
  lastUsedAt: nullable(Time),
});
export type TokenRow = Static<typeof Token>;

const TokenList = Type.Object({
  tokens: Type.Array(Token, { description: "Newest first. Expired tokens are listed for 30 days." }),
});
export type TokenList = Static<typeof TokenList>;

/** POST /web/account/tokens: needs a session and a recent re-authentication. */
export const TokenBody = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: FIELD_LENGTHS.accessTokenName }),
    scope: Scope,
    expiresInDays: Type.Integer({ minimum: ACCESS_TOKEN_DAYS_MIN, maximum: ACCESS_TOKEN_DAYS_MAX }),
  },
  { additionalProperties: false },
);
export type TokenBody = Static<typeof TokenBody>;

/** The token is only in this response. */
export type TokenCreated = { token: string };

export const tokenRoutes = {
  listTokens: route({
    method: "GET",
    path: "/account/tokens",
    access: "account",
    keys: null,
    tag: "Account",
    summary: "List your personal access tokens",
    description: "Tokens can only be created in the dashboard, on the account page.",
    success: { status: 200, description: "Your tokens.", schema: TokenList },
  }),
  revokeToken: route({
    method: "DELETE",
    path: "/account/tokens/{token}",
    access: "account",
    keys: null,
    tag: "Account",
    summary: "Revoke a personal access token",
    description:
      "Requests with the token fail immediately. A token can revoke itself. This cannot be undone.",
    success: { status: 204, description: "The token was revoked.", schema: null },
  }),
} as const;
