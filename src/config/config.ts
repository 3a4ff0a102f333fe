// Reads the environment once into a validated, typed object. All problems are reported together.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { KEY_PREFIX } from "../core/identity.ts";
import type { KnownSecrets } from "../lib/secret-remover.ts";
import { didYouMean } from "../lib/nearest-name.ts";
import { MASK, type ValueKind } from "../lib/setting-value.ts";
import { type Composition, type Setting, SETTINGS } from "./settings.ts";

export type SettingName = keyof typeof SETTINGS;

/** The effective settings: a plain object that is passed on, never imported. */
export type Config = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T, infer Fallback>
    ? T | Extract<Fallback, null>
    : never;
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** The source of a value: `from` is the variable that was read, null for a default. */
export type Source = { kind: "default" | "environment" | "file" | "alias"; from: string | null };

/** One effective setting, safe to show. */
export type EffectiveSetting = {
  name: SettingName;
  key: string;
  shown: string;
  isSet: boolean;
  source: Source;
};

export type LoadedConfig = { config: Config; effective: EffectiveSetting[] };

const PREFIX = "OVERDUE_";
const FILE_SUFFIX = "_FILE";
const ENV_FILE = ".env";
/** A secret is a line of text; a larger file is the wrong one. */
const SECRET_FILE_BYTES_MAX = 64 * 1024;
/** How much of an invalid value a message repeats. */
const SHOWN_TEXT_LENGTH_MAX = 60;

/** The settings are invalid. `problems` has one or two sentences for each problem. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Invalid settings:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

type AnySetting = Setting<unknown, unknown>;
type Found = { text: string; source: Source };

/** Reads and validates all settings. Throws ConfigError with all problems. */
export function loadConfig(environment: Environment = process.env): LoadedConfig {
  const problems = unknownNames(environment);
  const values: Partial<Record<SettingName, unknown>> = {};
  const effective: EffectiveSetting[] = [];
  for (const [name, given] of Object.entries(SETTINGS) as [SettingName, AnySetting][]) {
    try {
      const found = withParameters(find(given, environment), { given, environment });
      const value = found === null ? given.fallback : parse(given, found);
      values[name] = value;
      effective.push(describe(name, { given, value, found }));
    } catch (error) {
      if (!(error instanceof SettingProblem)) throw error;
      problems.push(error.message);
    }
  }
  problems.push(...missingBeside(values), ...contradictions(values));
  if (problems.length > 0) throw new ConfigError(problems);
  // Every setting was visited without a problem, so the object is complete.
  return { config: values as Config, effective };
}

type AnyEntry = [SettingName, AnySetting];

/** The texts that must never be written: secret settings, and everything that looks like a key. */
export function knownSecrets(config: Config): KnownSecrets {
  return {
    secrets: secretsOf(config),
    secretFields: SECRET_NAMES,
    secretPatterns: Object.values(KEY_PREFIX).map((prefix) => new RegExp(`${prefix}[0-9A-Za-z]{28}`, "g")),
  };
}

/** The values of all secret settings. */
function secretsOf(config: Config): string[] {
  return (Object.entries(SETTINGS) as AnyEntry[]).flatMap(([name, { kind, secret }]) => {
    const value: unknown = config[name];
    if (!secret || value === null) return [];
    return kind.secretsIn?.(value) ?? [kind.print(value)];
  });
}

/** The names of secret settings in a settings object. */
const SECRET_NAMES: readonly SettingName[] = (Object.entries(SETTINGS) as AnyEntry[])
  .filter(([, { secret }]) => secret)
  .map(([name]) => name);

/** The whole environment with some changes, for a child process. */
export function environmentWith(changes: Environment): Environment {
  return { ...process.env, ...changes };
}

/**
 * The environment and, with lower priority, the OVERDUE_* lines of the `.env` file in a folder. Throws ConfigError if
 * the file exists and cannot be read.
 */
export function environmentIn(folder: string): Environment {
  const path = join(folder, ENV_FILE);
  try {
    const lines = Object.entries(parseEnv(readFileSync(path, "utf8")));
    // The file may belong to another program, in which other names have a different meaning.
    return environmentAbove(lines.filter(([name]) => name.startsWith(PREFIX)));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    if (code === "ENOENT" || code === "EISDIR") return environmentWith({});
    throw new ConfigError([`Cannot read ${path} (${code}). Correct its permissions, or remove it.`]);
  }
}

/** An empty variable counts as not set. */
function environmentAbove(lines: readonly (readonly [string, string | undefined])[]): Environment {
  const isFree = (name: string) => !process.env[name]?.trim();
  return { ...process.env, ...Object.fromEntries(lines.filter(([name]) => isFree(name))) };
}

/** The problem of one setting. */
class SettingProblem extends Error {}

/** The text of a setting and its source; our own names take precedence over aliases, files over plain values. */
function find(given: AnySetting, environment: Environment): Found | null {
  const own = readOne(given.key, { secret: given.secret, environment });
  if (own !== null) return own;
  for (const alias of given.aliases ?? []) {
    const found = readOne(alias, { secret: given.secret, environment });
    if (found !== null) return { text: found.text, source: { kind: "alias", from: found.source.from } };
  }
  return given.composedOf === undefined ? null : compose(given, { parts: given.composedOf, environment });
}

/** A URL completed with query parameters from the environment. */
function withParameters(
  found: Found | null,
  { given, environment }: { given: AnySetting; environment: Environment },
): Found | null {
  if (found === null) return null;
  const [, query = ""] = found.text.split(/\?(.*)/s);
  const present = new URLSearchParams(query);
  const lacking = new URLSearchParams();
  for (const [parameter, variable] of Object.entries(given.parameters ?? {})) {
    const value = environment[variable]?.trim();
    if (value && !present.has(parameter)) lacking.set(parameter, value);
  }
  if (lacking.size === 0) return found;
  return { ...found, text: `${found.text}${query === "" ? "?" : "&"}${lacking.toString()}` };
}

function compose(
  given: AnySetting,
  { parts, environment }: { parts: Composition; environment: Environment },
): Found | null {
  const used: string[] = [];
  const built = parts.build((name) => {
    const secret = parts.secretNames.includes(name);
    const found = readOne(name, { secret, environment });
    if (found !== null) used.push(found.source.from ?? name);
    return found?.text ?? null;
  });
  if (built === null) return null;
  if ("problem" in built) throw new SettingProblem(`${given.key} ${built.problem}.`);
  return { text: built.value, source: { kind: "alias", from: [...new Set(used)].join(", ") } };
}

/** One variable, or the file it names. An empty variable counts as not set: compose files pass those on. */
function readOne(
  name: string,
  { secret, environment }: { secret: boolean; environment: Environment },
): Found | null {
  const path = secret ? environment[name + FILE_SUFFIX]?.trim() : undefined;
  if (path) {
    return {
      text: readSecretFile(name + FILE_SUFFIX, path),
      source: { kind: "file", from: name + FILE_SUFFIX },
    };
  }
  const text = environment[name]?.trim();
  return text ? { text, source: { kind: "environment", from: name } } : null;
}

function readSecretFile(variable: string, path: string): string {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new SettingProblem(
      `${variable} is set to ${path}, which cannot be read (${reason}). Correct the path or its permissions, or remove the variable.`,
    );
  }
  if (content.length > SECRET_FILE_BYTES_MAX) {
    throw new SettingProblem(
      `${variable} is set to ${path}, which is larger than ${SECRET_FILE_BYTES_MAX} bytes. Check that it is the right file.`,
    );
  }
  const text = content.toString("utf8").trim();
  if (text === "")
    throw new SettingProblem(`${variable} is set to ${path}, which is empty. Write the secret to it.`);
  return text;
}

function parse(given: AnySetting, found: Found): unknown {
  const parsed = given.kind.parse(found.text);
  if ("value" in parsed) return parsed.value;
  const alias = found.source.kind === "alias" ? ` (used for ${given.key})` : "";
  const shown = withoutLogin(found.text).slice(0, SHOWN_TEXT_LENGTH_MAX);
  const said = given.secret ? "" : `, not ${JSON.stringify(shown)}`;
  throw new SettingProblem(`${found.source.from}${alias} ${parsed.problem}${said}.`);
}

/** An invalid URL may contain a password although its setting allows none. An email address has no colon. */
function withoutLogin(text: string): string {
  const end = text.lastIndexOf("@");
  if (!text.slice(0, end + 1).includes(":")) return text;
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? "";
  return `${scheme}${MASK}${text.slice(end)}`;
}

/** Settings that require each other. One with its own problem is not in `values` and has already been reported. */
function missingBeside(values: Readonly<Partial<Record<SettingName, unknown>>>): string[] {
  return (Object.entries(NEEDS) as [SettingName, readonly SettingName[]][])
    .filter(([name]) => (values[name] ?? null) !== null)
    .flatMap(([name, needed]) =>
      needed
        .filter((other) => values[other] === null)
        .map(
          (other) => `${SETTINGS[name].key} is set, but ${SETTINGS[other].key} is not. Set both, or neither.`,
        ),
    );
}

const NEEDS: Readonly<Partial<Record<SettingName, readonly SettingName[]>>> = {
  cell: ["cellsFile"],
  cellsFile: ["cell"],
  s3Bucket: ["s3Endpoint", "s3AccessKey", "s3SecretKey"],
  smtpUser: ["smtpPassword"],
  smtpPassword: ["smtpUser"],
  pingMailListen: ["pingMailDomain"],
  pingMailAliases: ["pingMailDomain"],
  pingMailCertificate: ["pingMailCertificateKey"],
  pingMailCertificateKey: ["pingMailCertificate"],
  oidcIssuer: ["oidcClientId"],
  oidcClientId: ["oidcIssuer"],
  oidcClientSecret: ["oidcIssuer"],
};

/** Settings that are valid alone but not together. */
function contradictions({
  deliveryRetentionDays: delivery,
  flipRetentionDays: flip,
}: Readonly<Partial<Record<SettingName, unknown>>>): string[] {
  if (typeof delivery !== "number" || typeof flip !== "number" || delivery <= flip) return [];
  return [
    `${SETTINGS.deliveryRetentionDays.key} is ${delivery}, but ${SETTINGS.flipRetentionDays.key} is ${flip}, and a notification refers to a status change. Lower the first, or raise the second.`,
  ];
}

/** Credentials of API clients in the documentation: not settings, but in the environment of those who use both. */
const CLIENT_VARIABLES: readonly string[] = ["OVERDUE_TOKEN", "OVERDUE_API_KEY_READ"];

/** Misspelled settings would have no effect without a warning, so names with our prefix must be known. */
function unknownNames(environment: Environment): string[] {
  const settings: readonly AnySetting[] = Object.values(SETTINGS);
  const known = settings.flatMap(({ key, secret, aliases = [] }) =>
    [key, ...aliases].flatMap((name) => (secret ? [name, name + FILE_SUFFIX] : [name])),
  );
  return Object.keys(environment)
    .filter((name) => name.toUpperCase().startsWith(PREFIX))
    .filter((name) => !known.includes(name) && !CLIENT_VARIABLES.includes(name))
    .toSorted()
    .map((name) => {
      const plain = name.slice(0, -FILE_SUFFIX.length);
      if (name.endsWith(FILE_SUFFIX) && known.includes(plain)) {
        return `Unknown setting ${name}: only secrets can be read from a file. Set ${plain} instead.`;
      }
      return `Unknown setting ${name}.${didYouMean(name, known)} Run \`overdue config --example\` to list all settings.`;
    });
}

function describe(
  name: SettingName,
  { given, value, found }: { given: AnySetting; value: unknown; found: Found | null },
): EffectiveSetting {
  const source: Source = found?.source ?? { kind: "default", from: null };
  return { name, key: given.key, shown: show(given, value), isSet: value !== null, source };
}

function show({ kind, secret, fallbackMeans }: AnySetting, value: unknown): string {
  if (value === null) return fallbackMeans ?? "not set";
  return secret ? mask(kind, value) : kind.print(value);
}

function mask(kind: ValueKind<unknown>, value: unknown): string {
  return kind.mask === undefined ? MASK : kind.mask(value);
}
