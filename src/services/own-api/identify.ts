// Who sends a request to the Overdue API: an API key or a personal access token if a header has one, otherwise the browser
// session.
import type { FoundSession } from "../../operations/sessions.ts";
import type { ApiAuth } from "../api/server.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { readCookies } from "../web/session.ts";
import type { Identity, Source } from "./respond.ts";

export type IdentifyDeps = {
  auth: Pick<ApiAuth, "identifyKey">;
  keyUsed(use: { keyId: number; at: number }): void;
  resolveSession(of: Source & { cookies: Readonly<Record<string, string>> }): Promise<FoundSession | null>;
};

const NOBODY = {
  actor: { accountId: null, keyId: null },
  account: null,
  sessionId: null,
  keyProject: null,
  rate: null,
} as const;

/** Throws AppError `rate_limited`. */
export async function identify(deps: IdentifyDeps, source: Source): Promise<Identity> {
  const given = source.headers["x-api-key"];
  if (given !== undefined) return identifyByKey(deps, source, Array.isArray(given) ? given.join(",") : given);
  const session = await deps.resolveSession({ ...source, cookies: readCookies(source.headers.cookie) });
  if (session === null) return { ...NOBODY, caller: { kind: "none", why: "missing" } };
  const { account, id: sessionId, isProven } = session;
  return {
    ...NOBODY,
    caller: { kind: "session", isAdmin: account.isOperator, isReauthenticated: isProven },
    actor: { accountId: account.id, keyId: null },
    account,
    sessionId,
  };
}

async function identifyByKey(
  { auth, keyUsed }: IdentifyDeps,
  { network }: Source,
  key: string,
): Promise<Identity> {
  const { credential, found, rate } = await auth.identifyKey({ network, key });
  if (credential === null) throw new AppError("rate_limited", ERROR_TEXT.tooManyRequests);
  if (credential !== "readWrite" && credential !== "readOnly") {
    return { ...NOBODY, caller: { kind: "none", why: credential }, rate };
  }
  if (found === null) throw new Error("a known API key was not found");
  keyUsed({ keyId: found.key.id, at: found.at });
  return {
    ...NOBODY,
    caller: { kind: "key", key: credential },
    actor: { accountId: null, keyId: found.key.id },
    keyProject: found.project,
    rate,
  };
}
