// Personal access tokens: creating, revoking and recording their use. A token is stored as a keyed digest,
// with its first characters for recognition.
import { randomUUID } from "node:crypto";
import { isAccessTokenValid, type TokenScope } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { newAccessToken } from "../core/identity.ts";
import { DAY_MS, type Instant } from "../core/instant.ts";
import {
  ACCESS_TOKEN_DAYS_MAX,
  ACCESS_TOKEN_DAYS_MIN,
  ACCESS_TOKEN_NAME_LENGTH_MAX,
  ACCESS_TOKENS_MAX,
} from "../core/limits.ts";
import { randomText } from "../lib/secrets.ts";
import { lockAccount } from "../store/accounts.ts";
import type { Database } from "../store/db.ts";
import {
  deleteAccessToken,
  deleteExpiredAccessTokens,
  insertAccessToken,
  listAccessTokens,
  renewAccessTokens,
  touchAccessTokens,
} from "../store/tokens.ts";
import { inTransaction } from "../store/transaction.ts";
import { queueSecurityEmail } from "./account-emails.ts";
import { type KeyUse, prefixOf, renewalsIn } from "./api-keys.ts";
import { audit } from "./audit.ts";
import { inRetriedTransaction } from "./retry.ts";
import { newKeyDigest } from "./secrets.ts";

type Owner = { id: number; email: string };

export type TokenRequest = {
  account: Owner;
  name: string;
  scope: TokenScope;
  expiresInDays: number;
  secretKey: string;
  now: Instant;
};

/**
 * Creates a token and returns its text, which is stored nowhere. The owner is notified by email. AppError
 * `invalid`, or `conflict` if the account has too many.
 */
export async function createAccessToken(database: Database, request: TokenRequest): Promise<string> {
  const { account, scope, secretKey, now } = request;
  const name = validName(request.name);
  const expiresAt = now + validDays(request.expiresInDays) * DAY_MS;
  return inRetriedTransaction(database, async (tx) => {
    if (!(await lockAccount(tx, account.id))) {
      throw new AppError("not_found", "The account no longer exists.");
    }
    const tokens = await listAccessTokens(tx, account.id);
    if (tokens.filter((one) => isAccessTokenValid(one, now)).length >= ACCESS_TOKENS_MAX) {
      throw new AppError(
        "conflict",
        `An account can have at most ${ACCESS_TOKENS_MAX} personal access tokens. Revoke one first.`,
      );
    }
    if (tokens.length >= ACCESS_TOKENS_MAX) {
      await deleteExpiredAccessTokens(tx, { accountId: account.id, now });
    }
    const token = newAccessToken(randomText);
    await insertAccessToken(tx, {
      uuid: randomUUID(),
      accountId: account.id,
      name,
      scope,
      prefix: prefixOf(token),
      ...newKeyDigest({ key: token, secretKey }),
      createdAt: now,
      expiresAt,
    });
    const by = { projectId: null, accountId: account.id, keyId: null };
    const after = { name, scope, expiresAt };
    await audit(tx, {
      ...by,
      what: "account.tokenCreated",
      subject: account.email,
      before: null,
      after,
      at: now,
    });
    await queueSecurityEmail(tx, { accountId: account.id, what: "tokenCreated", at: now });
    return token;
  });
}

function validName(text: string): string {
  const name = text.trim();
  if (name === "") throw new AppError("invalid", "Enter a name for the token.", "name");
  if (Array.from(name).length <= ACCESS_TOKEN_NAME_LENGTH_MAX) return name;
  const said = `The name of a token can have at most ${ACCESS_TOKEN_NAME_LENGTH_MAX} characters.`;
  throw new AppError("invalid", said, "name");
}

function validDays(days: number): number {
  if (Number.isInteger(days) && days >= ACCESS_TOKEN_DAYS_MIN && days <= ACCESS_TOKEN_DAYS_MAX) return days;
  const said = `A token can be valid for ${ACCESS_TOKEN_DAYS_MIN} to ${ACCESS_TOKEN_DAYS_MAX} days.`;
  throw new AppError("invalid", said, "expiresInDays");
}

/** Revokes a token. AppError `not_found` if the account has no such token. */
export async function revokeAccessToken(
  database: Database,
  { account, uuid, now }: { account: Owner; uuid: string; now: Instant },
): Promise<void> {
  await inTransaction(database, async (tx) => {
    const token = await deleteAccessToken(tx, { uuid, accountId: account.id });
    if (token === null) throw new AppError("not_found", "The token does not exist or is already revoked.");
    const { name, scope, expiresAt } = token;
    const by = { projectId: null, accountId: account.id, keyId: null };
    const before = { name, scope, expiresAt };
    await audit(tx, {
      ...by,
      what: "account.tokenRevoked",
      subject: account.email,
      before,
      after: null,
      at: now,
    });
  });
}

/** Records when tokens were last used; older uses change nothing. */
export async function recordTokenUses(database: Database, uses: readonly KeyUse[]): Promise<void> {
  // In id order, to avoid deadlocks.
  const ordered = uses.toSorted((a, b) => a.keyId - b.keyId);
  const renewals = renewalsIn(ordered);
  await inTransaction(database, async (tx) => {
    await touchAccessTokens(tx, ordered);
    if (renewals.length > 0) await renewAccessTokens(tx, renewals);
  });
}
