import type { TokenRow, tokenRoutes } from "../../contract/api/tokens.ts";
import { isAccessTokenValid } from "../../core/access.ts";
import type { Instant } from "../../core/instant.ts";
import { revokeAccessToken } from "../../operations/tokens.ts";
import { type AccessToken, listAccessTokens } from "../../store/tokens.ts";
import { uuidParam } from "./params.ts";
import type { ApiHandlers } from "./route.ts";

function tokenRow(token: AccessToken, now: Instant): TokenRow {
  const { uuid: id, name, scope, prefix, createdAt, expiresAt, lastUsedAt } = token;
  const isExpired = !isAccessTokenValid(token, now);
  return { id, name, scope, prefix, createdAt, expiresAt, isExpired, lastUsedAt };
}

export const tokenHandlers: ApiHandlers<typeof tokenRoutes> = {
  listTokens: async ({ context, account, now }) => {
    const tokens = await listAccessTokens(context.database, account.id);
    return { json: { tokens: tokens.map((token) => tokenRow(token, now)) } };
  },
  revokeToken: async ({ context, account, params, now }) => {
    await revokeAccessToken(context.database, { account, uuid: uuidParam(params.token), now });
    return { json: null };
  },
};
