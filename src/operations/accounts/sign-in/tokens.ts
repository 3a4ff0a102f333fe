// Links and codes: giving them out, and what they still stand for. One of a kind is outstanding at a time.
import { randomUUID } from "node:crypto";
import { isTokenGood, linkToken, TOKEN_MS, type TokenPurpose } from "../../../core/accounts/token-rules.ts";
import type { Signing } from "../../../core/alerts/mail-tokens.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { digestOfToken, newToken } from "../../../lib/secrets/secret-token.ts";
import { findToken, insertToken, type Token, useToken, voidTokens } from "../../../store/accounts/tokens.ts";
import type { Db } from "../../../store/db.ts";
import type { Tx } from "../../../store/transaction.ts";

export type TokenRequest = {
  purpose: TokenPurpose;
  accountId: number | null;
  email: string | null;
  nextPath: string | null;
  now: Instant;
};

/** Gives out a token whose link is made when the mail is written; returns its UUID. */
export async function giveSigned(tx: Tx, signing: Signing, request: TokenRequest): Promise<string> {
  const uuid = randomUUID();
  await write(tx, request, { uuid, token: linkToken(signing, { purpose: request.purpose, uuid }) });
  return uuid;
}

/** Gives out a token that is shown now, to whoever runs the installation, and never again. */
export async function giveRandom(tx: Tx, request: TokenRequest): Promise<string> {
  const token = newToken();
  await write(tx, request, { uuid: randomUUID(), token });
  return token;
}

async function write(
  tx: Tx,
  request: TokenRequest,
  { uuid, token }: { uuid: string; token: string },
): Promise<void> {
  const { now, ...of } = request;
  await voidTokens(tx, of);
  const expiresAt = now + TOKEN_MS[of.purpose];
  await insertToken(tx, { ...of, uuid, digest: digestOfToken(token), createdAt: now, expiresAt });
}

export type TokenLink = { token: string; purposes: readonly TokenPurpose[]; now: Instant };

/** What a link stands for; null when it is unknown, used, too old, or for something else. */
export async function readToken(db: Db, { token, purposes, now }: TokenLink): Promise<Token | null> {
  const found = await findToken(db, digestOfToken(token));
  return found !== null && purposes.includes(found.purpose) && isTokenGood(found, now) ? found : null;
}

/** Uses a link up and returns what it stood for. AppError `not_found` when it is not good. */
export async function takeToken(tx: Tx, link: TokenLink): Promise<Token> {
  const found = await readToken(tx, link);
  if (found === null || !(await useToken(tx, { tokenId: found.id, at: link.now }))) {
    throw new AppError("not_found", "This link has already been used or has expired. Request a new one.");
  }
  return found;
}
