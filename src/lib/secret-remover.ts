// Removes secrets from texts for people and logs. Apart from the log, so that commands do not load its package.
import { MASK } from "./setting-value.ts";

/** Texts that must never appear in a line. */
export type KnownSecrets = {
  /** Exact texts. */
  secrets?: readonly string[];
  /** Patterns; each needs the g flag. */
  secretPatterns?: readonly RegExp[];
  /** Names of fields that contain a secret, in addition to the built-in ones. */
  secretFields?: readonly string[];
};

/**
 * A word that ends with an at sign. The lookbehind lets a match begin only at the beginning of a word: without it a long
 * word without an at sign costs quadratic time.
 */
const WORD_AT = /(?<![^\s@"\\])[^\s@"\\]+@/g;
/** The part of such a word before the password of a URL, `scheme://user:password@`. */
const USER_OF_ADDRESS = /:\/\/[^:/]*:(?!@)/;
/** Shorter texts are words, not secrets; masking them would make most lines unreadable. */
const SECRET_LENGTH_MIN = 6;
/** Passwords that are words of our own messages: masking them would only reveal the password. */
const OWN_WORDS = ["overdue", "password", "postgres", "secret"];

function withoutPassword(word: string): string {
  const user = USER_OF_ADDRESS.exec(word);
  return user === null ? word : `${word.slice(0, user.index + user[0].length)}${MASK}@`;
}

/** Returns a function that removes every known secret from a text, also in its JSON encoding. */
export function secretRemover({ secrets = [], secretPatterns = [] }: KnownSecrets): (line: string) => string {
  const texts = secrets
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN && !OWN_WORDS.includes(secret))
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  return (line) => {
    let cleaned = line.replace(WORD_AT, withoutPassword);
    for (const text of texts) cleaned = cleaned.replaceAll(text, MASK);
    for (const pattern of secretPatterns) cleaned = cleaned.replace(pattern, MASK);
    return cleaned;
  };
}
