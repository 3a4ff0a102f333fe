// Structured logs: one JSON object per line. Secrets are removed by field name and by text, because error
// messages may quote them.
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import { type KnownSecrets, secretRemover } from "./secret-remover.ts";
import { MASK } from "./setting-value.ts";

export type Log = Logger;
export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace";

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
