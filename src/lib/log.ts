// Structured logs: one JSON object per line. Secrets are removed by field name and by text, because error
// messages may quote them.
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import { MASK } from "./setting-value.ts";

export type Log = Logger;
export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace";

/** Texts that must never appear in a line. */
export type KnownSecrets = {
  /** Exact texts. */
  secrets?: readonly string[];
  /** Patterns; each needs the g flag. */
  secretPatterns?: readonly RegExp[];
  /** Names of fields that contain a secret, in addition to the built-in ones. */
  secretFields?: readonly string[];
};

export type LogOptions = KnownSecrets & {
  level: LogLevel;
  /** Standard output when absent. */
  destination?: DestinationStream;
};

/** Names of fields that contain secrets, at the top level and up to two levels down. */
const SECRET_FIELDS = [
  "password",
  "secret",
  "apiKey",
  "api_key",
  "pingKey",
  "ping_key",
  "token",
  "authorization",
  "cookie",
  "connectionString",
  '["x-api-key"]',
  '["set-cookie"]',
];

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

/** A log with one JSON object per line. Children created with `.child()` are redacted in the same way. */
export function createLog(options: LogOptions): Log {
  const settings = {
    level: options.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redactedPaths(options.secretFields), censor: MASK },
    hooks: { streamWrite: secretRemover(options) },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

function redactedPaths(more: readonly string[] = []): string[] {
  const fields = [...new Set([...SECRET_FIELDS, ...more])];
  return ["", "*", "*.*"].flatMap((prefix) =>
    fields.map((field) => (prefix === "" || field.startsWith("[") ? prefix + field : `${prefix}.${field}`)),
  );
}

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

/** Minimum interval of a warning that every request during an outage would cause. */
const WARNING_PAUSE_MS = 1_000;

export type LimitedWarning = (fields: object, text: string) => void;

/** Logs a warning at most once a second; those in between are dropped. */
export function limitedWarning(log: Pick<Log, "warn">, monotonic = () => performance.now()): LimitedWarning {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (fields, text) => {
    if (monotonic() - lastMs < WARNING_PAUSE_MS) return;
    lastMs = monotonic();
    log.warn(fields, text);
  };
}
