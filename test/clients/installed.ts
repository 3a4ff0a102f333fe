// Asks the installer where clients are, lets it install them, and reads what it has noted about each.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram, runWell } from "./program.ts";

const INSTALLER = join(import.meta.dirname, "install");
/** All of them on a small machine, the two that are built from source included. */
const INSTALL_MS_MAX = 45 * 60_000;

export type Installed = { version: string } | { missing: string };

/** The folder that clients are installed in. */
export async function clientsFolder(): Promise<string> {
  return (await runWell("sh", [INSTALLER, "--where"])).trim();
}

/** Installs what is not there yet, and says so line by line. What cannot be installed is noted, not thrown. */
export async function installClients(names: readonly string[], say: (text: string) => void): Promise<void> {
  if (names.length === 0) return;
  await runProgram("sh", [INSTALLER, ...names], { msMax: INSTALL_MS_MAX, onLine: say });
}

/** What the installer has noted about a client. */
export function installedClient(folder: string, name: string): Installed {
  const path = join(folder, "state", name);
  if (!existsSync(path)) return { missing: "it has not been installed yet" };
  const [verdict = "", ...rest] = readFileSync(path, "utf8").trim().split(" ");
  return verdict === "ok" ? { version: rest.join(" ") } : { missing: rest.join(" ") || "unknown reason" };
}
