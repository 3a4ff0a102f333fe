// Chooses the folder of the spool. It is on by default, because only the spool keeps pings while the database is
// unavailable, and a busy disk alone can stall a database for seconds.
import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { makeFolders } from "../lib/make-folders.ts";
import { OFF } from "../lib/setting-value.ts";
import { type Config, ConfigError, type Environment } from "./config.ts";

const SYSTEM_FOLDER = "/var/lib/overdue";

/**
 * The configured folder, or the first of `$STATE_DIRECTORY`, /var/lib/overdue and `$XDG_STATE_HOME/overdue` that this
 * user can write to; created if necessary. Null: the spool is off. Throws ConfigError if there is no folder.
 */
export function chooseSpoolFolder(
  configured: string | null,
  environment: Environment,
  { systemFolder = SYSTEM_FOLDER, isFit = isWritable } = {},
): string | null {
  if (configured !== null) return givenSpoolFolder({ spoolFolder: configured });
  const tried = candidates(environment, systemFolder);
  const found = tried.find(isFit);
  if (found !== undefined) return found;
  throw new ConfigError([
    `OVERDUE_SPOOL_FOLDER is not set, and this user cannot write to ${tried.join(" or ")}. Set it to a folder on a local disk, or to "off" to reject pings while the database is unavailable.`,
  ]);
}

/** The configured folder; null if there is none, or the spool is off. */
export function givenSpoolFolder({ spoolFolder }: Pick<Config, "spoolFolder">): string | null {
  return spoolFolder === OFF ? null : spoolFolder;
}

function candidates(environment: Environment, systemFolder: string): string[] {
  const { STATE_DIRECTORY, XDG_STATE_HOME, HOME } = environment;
  // systemd separates several folders with colons.
  const [stateDirectory = ""] = (STATE_DIRECTORY ?? "").split(":");
  const stateHome = XDG_STATE_HOME || join(HOME || homedir(), ".local", "state");
  return [stateDirectory, systemFolder, join(stateHome, "overdue")].filter((folder) => folder !== "");
}

/** Whether a folder is writable, or could be created; creates nothing. */
export function couldBeWritable(folder: string): boolean {
  let existing = folder;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isWritable(folder: string): boolean {
  try {
    makeFolders(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
