// Whether anybody can still come into an account: nobody takes the last way in away from themselves.

/** Which ways in an installation has at all. */
export type OfferedWays = {
  /** A proxy says who people are. */
  proxy: boolean;
  /** Links are mailed. */
  mail: boolean;
  /** Browsers use passkeys at its address. */
  passkeys: boolean;
  /** The identity provider; null: there is none. */
  issuer: string | null;
};

/** What an account has set up. */
export type OwnWays = { hasPassword: boolean; passkeyCount: number; issuers: readonly string[] };

/**
 * Whether one way is left. A proxy and a mailed link open every account; passkeys and providers count only where they can
 * be used.
 */
export function hasWayIn(
  { proxy, mail, passkeys, issuer }: OfferedWays,
  { hasPassword, passkeyCount, issuers }: OwnWays,
): boolean {
  const isKnownThere = issuer !== null && issuers.some((one) => bare(one) === bare(issuer));
  return proxy || mail || hasPassword || (passkeys && passkeyCount > 0) || isKnownThere;
}

/** Providers name themselves with or without a slash at the end, and operators type either. */
function bare(issuer: string): string {
  return issuer.replace(/\/$/, "");
}
