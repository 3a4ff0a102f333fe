// Finds the crontabs of this machine, and its time zone.
import { readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { zoneOf } from "../core/schedule/zone.ts";
import type { HasUsers } from "../core/schedule/crontab.ts";
import { type Place, PlaceError, readPlace } from "./places.ts";

export type FoundCrontab = { place: Place; hasUsers: HasUsers; text: string };

const SYSTEM_FILE = "/etc/crontab";
const SYSTEM_FOLDER = "/etc/cron.d";
/** Debian, and all others. */
const SPOOLS = ["/var/spool/cron/crontabs", "/var/spool/cron"];
/** cron ignores files with other names. */
const CRON_FILE = /^[A-Za-z0-9_-]+$/;

/** The given files, or the crontabs that the user can read, and why others could not be read. */
export async function findCrontabs({
  files,
  allUsers,
}: {
  files: readonly string[];
  allUsers: boolean;
}): Promise<{ crontabs: FoundCrontab[]; problems: string[] }> {
  const places: { place: Place; hasUsers: HasUsers }[] =
    files.length > 0
      ? await Promise.all(files.map(givenFile))
      : [...(await userCrontabs(allUsers)), ...(await systemFiles())];
  const crontabs: FoundCrontab[] = [];
  const problems: string[] = [];
  for (const { place, hasUsers } of places) {
    try {
      const text = await readPlace(place);
      if (text !== null) crontabs.push({ place, hasUsers, text });
      else if (files.length > 0 && place.kind === "file") problems.push(`${place.path} does not exist.`);
    } catch (error) {
      if (!(error instanceof PlaceError)) throw error;
      problems.push(error.message);
    }
  }
  return { crontabs, problems };
}

async function givenFile(file: string): Promise<{ place: Place; hasUsers: HasUsers }> {
  const path = await realpath(file).catch(() => file);
  const isSystem = path === SYSTEM_FILE || path.startsWith(`${SYSTEM_FOLDER}/`);
  return { place: { kind: "file", path }, hasUsers: isSystem ? true : "guess" };
}

async function userCrontabs(allUsers: boolean): Promise<{ place: Place; hasUsers: HasUsers }[]> {
  const users = allUsers ? await spooledUsers() : [null];
  return users.map((user) => ({ place: { kind: "crontab", user }, hasUsers: false }));
}

async function spooledUsers(): Promise<string[]> {
  for (const folder of SPOOLS) {
    const names = await namesIn(folder);
    if (names.length > 0) return names;
  }
  return [];
}

async function systemFiles(): Promise<{ place: Place; hasUsers: HasUsers }[]> {
  const names = (await namesIn(SYSTEM_FOLDER)).filter((name) => CRON_FILE.test(name));
  const paths = [SYSTEM_FILE, ...names.map((name) => join(SYSTEM_FOLDER, name))];
  return paths.map((path) => ({ place: { kind: "file", path }, hasUsers: true }));
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();
}

/** The zone that cron uses: that of the machine, not of the user's terminal. */
export async function machineZone(): Promise<string> {
  const link = await realpath("/etc/localtime").catch(() => "");
  const file = await readFile("/etc/timezone", "utf8").catch(() => "");
  const zones = [link.split("/zoneinfo/")[1], file.trim(), Intl.DateTimeFormat().resolvedOptions().timeZone];
  return zones.find((zone) => zone !== undefined && zone !== "" && zoneOf(zone) !== null) ?? "UTC";
}

const CRON_PROGRAMS = ["/usr/sbin/cron", "/usr/sbin/crond"];

/** Whether the cron of this machine supports `CRON_TZ`: cronie does, Debian's ignores it. True if there is none. */
export async function supportsCronTz(): Promise<boolean> {
  const programs = await Promise.all(CRON_PROGRAMS.map((path) => readFile(path).catch(() => null)));
  const found = programs.filter((program) => program !== null);
  return found.length === 0 || found.some((program) => program.includes("CRON_TZ"));
}
