// The repository as the tidy rules see it: a map from path to text, so that a test can lay a planted
// file over the real ones and judge both with the same rule. Nothing here decides what is tidy.
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { EXEMPTIONS, type Exemptions } from "./tidy-exemptions.ts";

export type SourceFile = { path: string; text: string };

/** One thing that is wrong, at a place a person can open. */
export type Finding = { path: string; line: number; text: string };

/** What a rule found, and how many things it looked at; a rule that looked at nothing has proved nothing. */
export type Verdict = { looked: number; findings: Finding[] };

export type Tree = {
  /** Every file that git tracks or would track, by its path from the root with forward slashes. */
  files: ReadonlyMap<string, SourceFile>;
  /** Manifest of each installed package, by its path below the root. */
  installed: ReadonlyMap<string, SourceFile>;
  exemptions: Exemptions;
};

export type Rule = { name: string; promise: string; check(tree: Tree): Verdict };

/** A file with a NUL byte in its beginning is not text; the rules do not read it. */
const SNIFFED_CHARACTERS = 8_000;

const LISTING_BYTES_MAX = 64 * 1024 * 1024;

/** Reads the working tree: tracked files and new ones that are not ignored, and the installed manifests. */
export function readTree(root: string): Tree {
  const files = new Map<string, SourceFile>();
  for (const path of listFiles(root)) {
    const file = readText(root, path);
    if (file !== null) files.set(path, file);
  }
  return { files, installed: readInstalled(root, files.get("package-lock.json")), exemptions: EXEMPTIONS };
}

/** The tree with files replaced or added; `null` takes a file away. */
export function overlay(tree: Tree, planted: Record<string, string | null>): Tree {
  const files = new Map(tree.files);
  for (const [path, text] of Object.entries(planted)) {
    if (text === null) files.delete(path);
    else files.set(path, { path, text });
  }
  return { ...tree, files };
}

/** A tree that holds nothing but these files. */
export function treeOf(planted: Record<string, string>, exemptions: Exemptions): Tree {
  return overlay({ files: new Map(), installed: new Map(), exemptions }, planted);
}

/** Runs a rule and adds a finding when it looked at nothing, because silence is then no proof. */
export function judge(rule: Rule, tree: Tree): Finding[] {
  const { looked, findings } = rule.check(tree);
  if (looked > 0) return findings;
  return [...findings, { path: ".", line: 0, text: `the rule "${rule.name}" looked at nothing` }];
}

/** One line per finding, in the form editors and terminals turn into a link. */
export function formatFinding({ path, line, text }: Finding): string {
  return `${path}:${line} ${text}`;
}

/** The line, counted from one, on which an offset lies. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function listFiles(root: string): string[] {
  // A clone made by another user is refused by git unless the folder is named as safe.
  const listing = execFileSync(
    "git",
    ["-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
    { cwd: root, encoding: "utf8", maxBuffer: LISTING_BYTES_MAX },
  );
  return [...new Set(listing.split("\0"))].filter((path) => path !== "").toSorted();
}

function readText(root: string, path: string): SourceFile | null {
  const full = join(root, path);
  // A file that was deleted but not yet committed is still listed; a link may lead to a folder.
  if (statSync(full, { throwIfNoEntry: false })?.isFile() !== true) return null;
  const text = readFileSync(full, "utf8");
  return text.slice(0, SNIFFED_CHARACTERS).includes("\0") ? null : { path, text };
}

function readInstalled(root: string, lock: SourceFile | undefined): Map<string, SourceFile> {
  const installed = new Map<string, SourceFile>();
  if (lock === undefined) return installed;
  const { packages } = JSON.parse(lock.text) as { packages: Record<string, unknown> };
  for (const folder of Object.keys(packages)) {
    const manifest = folder === "" ? null : readText(root, `${folder}/package.json`);
    if (manifest !== null) installed.set(folder, manifest);
  }
  return installed;
}
