// What a setting is: its key, kind, default and meaning. The settings themselves stand in config/table.ts and
// config/signals.ts.
import type { Parsed, ValueKind } from "../lib/setting-value.ts";

/** Builds one value from several names of the reference; null when none of them is set. */
export type Composition = {
  names: readonly string[];
  secretNames: readonly string[];
  build(part: (name: string) => string | null): Parsed<string> | null;
};

export type Setting<T, Fallback extends T | null> = {
  key: `OVERDUE_${string}`;
  group:
    | "Database"
    | "Process"
    | "Network"
    | "Pings"
    | "Pings by email"
    | "Object storage"
    | "Channels"
    | "Email"
    | "Accounts"
    | "Monitoring Overdue"
    | "Keys and limits";
  kind: ValueKind<T>;
  fallback: Fallback;
  /** What the fallback means, where printing it would not say so. */
  fallbackMeans?: string;
  /** Masked wherever it is shown, and readable from the file that KEY_FILE names. */
  secret: boolean;
  meaning: string;
  example: string;
  /** Names that the reference server uses for the same thing. */
  aliases?: readonly string[];
  composedOf?: Composition;
  /** Query parameters of an address, and the variables that are used for those it lacks. */
  parameters?: Readonly<Record<string, string>>;
};

/** A setting that always has a value. */
export function setting<T>(given: Setting<T, NoInfer<T>>): Setting<T, T> {
  return given;
}

/** A setting that may be left out: its value can be null. */
export function optionalSetting<T>(given: Omit<Setting<T, null>, "fallback">): Setting<T, null> {
  return { ...given, fallback: null };
}
