// Structured logs: one JSON object per line. Secrets are removed by field name and by text, because error
// messages may quote them.
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import { MASK } from "./setting-value.ts";

export type Log = Logger;
export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace";

/** What must never appear in a line, wherever it stands. */
export type KnownSecrets = {
  /** Exact texts. */
  secrets?: readonly string[];
  /** Shapes of texts; each needs the g flag. */
  secretPatterns?: readonly RegExp[];
  /** Names of fields that hold a secret, beyond those that always do. */
  secretFields?: readonly string[];
};

export type LogOptions = KnownSecrets & {
  level: LogLevel;
  /** Standard output when absent. */
  destination?: DestinationStream;
};

/** Fields that hold secrets by their name, at the top and up to two levels down. */
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
/** The part of such a word in front of the password of an address, `scheme://user:password@`. */
const USER_OF_ADDRESS = /:\/\/[^:/]*:(?!@)/;
/** Texts shorter than this are words, not secrets; masking them would blacken half of every line. */
const SECRET_LENGTH_MIN = 6;
/** Passwords that are words of our own messages: masking them there would only show what the password is. */
const OWN_WORDS = ["overdue", "password", "postgres", "secret"];

/** A log of one JSON object a line. Children made with `.child()` are cleaned in the same way. */
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

/** A function that takes every known secret out of a text, also in the form that JSON writes it in. */
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

/** A warning that every request of an outage would cause is logged no more often than this. */
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
