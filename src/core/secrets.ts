// The secret keys of the server, and what each of them is accepted for.
import { SECRET_KEY_LENGTH_MIN } from "./limits.ts";

/**
 * What is new is made with the current key. The previous one is tried second: it is the earlier key of this server, or
 * the key of an installation from which projects were imported.
 */
export type Secrets = { current: string; previous: string | null };

/** The keys of a server. A previous key that equals the current one is none. */
export function secretsFrom({ current, previous }: Secrets): Secrets {
  return { current, previous: previous === current ? null : previous };
}

/** The keys that API keys, access tokens and badges may have been made with, the current one first. */
export function acceptedSecrets({ current, previous }: Secrets): string[] {
  return previous === null ? [current] : [current, previous];
}

/**
 * The keys that links, codes and seals of this server may have been made with, the current one first. A shorter key was
 * never a key of this server, and could be guessed: with it, anyone could sign links.
 */
export function ownSecrets({ current, previous }: Secrets): string[] {
  const isOwn = previous !== null && previous.length >= SECRET_KEY_LENGTH_MIN;
  return isOwn ? [current, previous] : [current];
}

/** Stored values that were made with a secret key. */
export const SECRET_USES = ["apiKeys", "accessTokens", "authenticators", "recoveryCodes"] as const;
export type SecretUse = (typeof SECRET_USES)[number];

/** How many values need the previous key, and how many were made with neither key. */
export type SecretCounts = { previous: number; neither: number };

/** How many values of each kind need the previous key. */
export function neededOf(counts: Readonly<Record<SecretUse, SecretCounts>>): Record<SecretUse, number> {
  const entries = SECRET_USES.map((use) => [use, counts[use].previous]);
  return Object.fromEntries(entries) as Record<SecretUse, number>;
}

export function isAnyNeeded(needed: Readonly<Record<SecretUse, number>>): boolean {
  return Object.values(needed).some((count) => count > 0);
}
