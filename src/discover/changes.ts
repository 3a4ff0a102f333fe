// Changes that can be undone: each is recorded, with the text before and after it, before it is made.
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { DISCOVERED_CHANGES_MAX } from "../core/limits.ts";
import { type Place, placeName, readPlace, writePlace } from "./places.ts";

/** What a command has changed; `undo` takes back those of its own kind. */
export type ChangeKind = "crontab" | "systemd";

export type Change = {
  kind: ChangeKind;
  place: Place;
  /** Null: there was no text, or it is removed. */
  before: string | null;
  after: string | null;
  /** The UUIDs of the checks that the new text reports to. */
  checks: readonly string[];
};

type RecordedChange = Change & { version: 1; isUndone: boolean };

/** Makes a change. Throws PlaceError; the place is then as it was. */
export async function makeChange(folder: string, change: Change): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = await recordNames(folder);
  for (const name of names.slice(0, Math.max(0, names.length + 1 - DISCOVERED_CHANGES_MAX))) {
    await rm(join(folder, name));
  }
  const last = Number.parseInt(names.at(-1) ?? "0", 10);
  const path = join(folder, `${String(last + 1).padStart(NUMBER_DIGITS, "0")}.json`);
  await record(path, { version: 1, ...change, isUndone: false });
  try {
    await writePlace(change.place, change);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

export type Undone =
  | { kind: "restored"; place: Place; checks: readonly string[] }
  | { kind: "unchanged"; place: Place; checks: readonly string[] }
  /** The place was edited since: what it should contain, and what it contains. */
  | { kind: "edited"; place: Place; expected: string; current: string };

/** Takes back the last change of each place, newest first. */
export async function undoChanges(folder: string, kind: ChangeKind): Promise<Undone[]> {
  const undone: Undone[] = [];
  const seen = new Set<string>();
  for (const { path, change } of (await recordedChanges(folder)).toReversed()) {
    const { place, before, after, checks } = change;
    const name = placeName(place);
    if (change.kind !== kind || change.isUndone || seen.has(name)) continue;
    seen.add(name);
    const current = await readPlace(place);
    if (current !== after && current !== before) {
      undone.push({ kind: "edited", place, expected: after ?? "", current: current ?? "" });
      continue;
    }
    if (current === after) await writePlace(place, { before: after, after: before });
    await record(path, { ...change, isUndone: true });
    undone.push({ kind: current === after ? "restored" : "unchanged", place, checks });
  }
  return undone;
}

/** The checks of earlier changes: those that jobs of this machine report to, and those of undone changes. */
export async function recordedChecks(
  folder: string,
): Promise<{ reported: Set<string>; released: Set<string> }> {
  const changes = (await recordedChanges(folder)).map(({ change }) => change);
  const checksOf = (isUndone: boolean) =>
    new Set(changes.filter((change) => change.isUndone === isUndone).flatMap(({ checks }) => checks));
  return { reported: checksOf(false), released: checksOf(true) };
}

const NUMBER_DIGITS = 8;
const RECORD = /^\d{8}\.json$/;

async function recordNames(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => RECORD.test(name)).toSorted();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

async function recordedChanges(folder: string): Promise<{ path: string; change: RecordedChange }[]> {
  const paths = (await recordNames(folder)).map((name) => join(folder, name));
  const texts = await Promise.all(paths.map((path) => readFile(path, "utf8")));
  return paths.map((path, index) => ({ path, change: JSON.parse(texts[index] ?? "") as RecordedChange }));
}

/** Complete or absent, whatever happens. The text can contain secrets. */
async function record(path: string, change: RecordedChange): Promise<void> {
  const unfinished = `${path}.part`;
  const file = await open(unfinished, "w", 0o600);
  try {
    await file.writeFile(JSON.stringify(change));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}
