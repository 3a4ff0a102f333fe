// Profiles: API keys that `overdue login` has saved, each with the address of its server. Only their owner can read them.
import { spawn } from "node:child_process";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Environment } from "../config/config.ts";
import {
  KEY_COMMAND_SECONDS_MAX,
  KEY_SOURCE_LENGTH_MAX,
  PROFILE_NAME_LENGTH_MAX,
  PROFILES_FILE_BYTES_MAX,
  PROFILES_MAX,
} from "../core/limits.ts";
import { CommandError, EXIT } from "./command-context.ts";

/** `key` is an API key, `file:` and a path, or `command:` and a shell command that prints one. */
export type Profile = { url: string; key: string };

export type Profiles = { default: string | null; profiles: Readonly<Record<string, Profile>> };

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const OTHERS = 0o077;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Where profiles are kept. */
export function profilesPath(environment: Environment): string {
  const folder = environment["XDG_CONFIG_HOME"]?.trim();
  return join(
    folder || join(environment["HOME"]?.trim() || homedir(), ".config"),
    "overdue",
    "profiles.json",
  );
}

function isName(text: string): boolean {
  return text.length <= PROFILE_NAME_LENGTH_MAX && NAME.test(text);
}

/** Throws CommandError if it is not a name for a profile. */
export function parseProfileName(name: string): string {
  if (isName(name)) return name;
  throw new CommandError(
    `Invalid profile name: expected at most ${PROFILE_NAME_LENGTH_MAX} letters, digits, dots, hyphens, and underscores.`,
    EXIT.usage,
  );
}

/** All profiles; none without a file. Throws CommandError if the file is damaged, or if others can read it. */
export function readProfiles(path: string): Profiles {
  let text: string;
  try {
    const { mode, size } = statSync(path);
    // Windows has no such bits.
    if (process.platform !== "win32" && (mode & OTHERS) !== 0) {
      throw new CommandError(
        `Other users can access the API keys in ${path}. Run \`chmod 600 ${path}\`, and replace the keys if others may ` +
          "have read them.",
        EXIT.usage,
      );
    }
    if (size > PROFILES_FILE_BYTES_MAX) throw damaged(path);
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return { default: null, profiles: {} };
    }
    throw error;
  }
  const found = profilesIn(text);
  if (found === null) throw damaged(path);
  return found;
}

function damaged(path: string): CommandError {
  return new CommandError(
    `${path} is damaged. Correct it, or delete it and run \`overdue login\` again.`,
    EXIT.usage,
  );
}

/** Null if the text has another form. Its errors would quote the text, which contains keys. */
function profilesIn(text: string): Profiles | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  const { default: chosen = null, profiles } = value;
  if (!isRecord(profiles)) return null;
  const entries = Object.entries(profiles);
  const isValid = ([name, one]: [string, unknown]) => isName(name) && isProfile(one);
  if (!entries.every(isValid) || entries.length > PROFILES_MAX) return null;
  if (chosen !== null && (typeof chosen !== "string" || !entries.some(([name]) => name === chosen)))
    return null;
  return { default: chosen, profiles: Object.fromEntries(entries) as Record<string, Profile> };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isProfile(value: unknown): value is Profile {
  if (!isRecord(value)) return false;
  const { url, key } = value;
  return typeof url === "string" && typeof key === "string" && URL.canParse(url) && key !== "";
}

/** Replaces the file as a whole, so that a crash leaves the old one or the new one. */
export function writeProfiles(path: string, profiles: Profiles): void {
  if (Object.keys(profiles.profiles).length > PROFILES_MAX) {
    throw new CommandError(`There are ${PROFILES_MAX} profiles already. Delete one with \`overdue logout\`.`);
  }
  mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE });
  const temporary = `${path}.${process.pid}`;
  rmSync(temporary, { force: true });
  const file = openSync(temporary, "wx", FILE_MODE);
  try {
    writeSync(file, `${JSON.stringify(profiles, null, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/** The API key that a profile stores, or refers to. Throws CommandError, without the key. */
export async function resolveKey(key: string): Promise<string> {
  const found = (await readKeySource(key)).trim();
  if (found !== "" && found.length <= KEY_SOURCE_LENGTH_MAX && !/\s/.test(found)) return found;
  throw new CommandError(`${sourceName(key)} contains no API key.`);
}

/** Names a reference; a key itself is never shown. */
function sourceName(key: string): string {
  return /^(?:file|command):/.test(key) ? key : "The profile";
}

async function readKeySource(key: string): Promise<string> {
  if (key.startsWith("file:")) return readFile(key.slice("file:".length), "utf8");
  return key.startsWith("command:") ? runForKey(key.slice("command:".length)) : key;
}

/** What a shell command prints. It may ask on the terminal. */
async function runForKey(command: string): Promise<string> {
  const child = spawn("/bin/sh", ["-c", command], {
    stdio: ["inherit", "pipe", "inherit"],
    timeout: KEY_COMMAND_SECONDS_MAX * 1_000,
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (printed.length <= KEY_SOURCE_LENGTH_MAX) printed += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  if (code === 0) return printed;
  const how = code === null ? "was stopped" : `ended with exit code ${code}`;
  throw new CommandError(`The command for the API key ${how}: ${command}`);
}
