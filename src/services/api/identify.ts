// Who sends a request to the Overdue API: an API key or a personal access token if a header has one, otherwise the browser
// session.
import { type Credential, presentedToken } from "../../core/access.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import { readCookies } from "../../lib/http/cookies.ts";
import type { KeyUse } from "../../operations/api-keys.ts";
import type { FoundSession } from "../../operations/sessions.ts";
import { type IdentifiedToken, type TokenSource, TooManyRequestsError, type UsedKey } from "./auth.ts";
import type { Identity, Source } from "./respond.ts";

/** `credential` is null if the request was rate limited. */
type IdentifiedKey = {
  credential: Credential | null;
  found: UsedKey | null;
  rate: RateVerdict | null;
};

export type IdentifyDeps = {
  auth: {
    identifyKey: (from: { network: string; key: string }) => Promise<IdentifiedKey>;
    identifyToken: (from: TokenSource) => Promise<IdentifiedToken>;
  };
  keyUsed: (use: KeyUse) => void;
  tokenUsed: (use: KeyUse) => void;
  resolveSession(of: Source & { cookies: Readonly<Record<string, string>> }): Promise<FoundSession | null>;
};

const ANONYMOUS = {
  actor: { accountId: null, keyId: null },
  account: null,
  sessionId: null,
  keyProject: null,
  rate: null,
} as const;

type PresentedToken = ReturnType<typeof presentedToken>;

/**
 * A header takes precedence over the session. Bearer tokens of other programs do not: proxies add them to
 * requests of browsers. Throws TooManyRequestsError.
 */
export async function identify(deps: IdentifyDeps, source: Source): Promise<Identity> {
  const { headers } = source;
  const key = headers["x-api-key"];
  const presented = presentedToken(headers.authorization);
  const isOurs = presented !== "missing" && presented !== "foreign";
  if (key !== undefined) {
    if (isOurs) return { ...ANONYMOUS, caller: { kind: "none", why: "twice" } };
    return identifyByKey(deps, source, Array.isArray(key) ? key.join(",") : key);
  }
  if (isOurs) return identifyByToken(deps, source, presented);
  const session = await deps.resolveSession({ ...source, cookies: readCookies(headers.cookie) });
  if (session === null) {
    if (presented === "foreign") return identifyByToken(deps, source, presented);
    return { ...ANONYMOUS, caller: { kind: "none", why: "missing" } };
  }
  const { account, id: sessionId, isProven } = session;
  return {
    ...ANONYMOUS,
    caller: { kind: "session", isAdmin: account.isAdmin, isReauthenticated: isProven },
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
  if (credential === null) throw new TooManyRequestsError(rate);
  if (credential !== "readWrite" && credential !== "readOnly") {
    return { ...ANONYMOUS, caller: { kind: "none", why: credential }, rate };
  }
  if (found === null) throw new Error("a known API key was not found");
  keyUsed({ keyId: found.key.id, at: found.at, renewal: found.renewal });
  return {
    ...ANONYMOUS,
    caller: { kind: "key", key: credential },
    actor: { accountId: null, keyId: found.key.id },
    keyProject: found.project,
    rate,
  };
}

async function identifyByToken(
  { auth, tokenUsed }: IdentifyDeps,
  { network, now }: Source,
  presented: PresentedToken,
): Promise<Identity> {
  const { found, rate } = await auth.identifyToken({ network, presented, now });
  if (typeof found === "string") return { ...ANONYMOUS, caller: { kind: "none", why: found }, rate };
  const { token, person, renewal } = found;
  tokenUsed({ keyId: token.id, at: now, renewal });
  return {
    ...ANONYMOUS,
    caller: { kind: "token", scope: token.scope, isAdmin: person.isAdmin },
    actor: { accountId: person.id, keyId: null },
    account: person,
    rate,
  };
}
