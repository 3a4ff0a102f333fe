import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolders } from "./make-folders.ts";

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "overdue-make-folders-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("missing folders are created for this user only, and the first of them is returned", () => {
  const home = temporary();
  expect(makeFolders(join(home, "a", "b", "c"))).toBe(join(home, "a"));
  expect(statSync(join(home, "a", "b", "c")).mode & 0o777).toBe(0o700);
  expect(makeFolders(join(home, "a", "b", "c"))).toBeNull();
  expect(makeFolders(join(home, "a", "b", "d"))).toBe(join(home, "a", "b", "d"));
});

test("a path through a file, and a file, are rejected", () => {
  const home = temporary();
  writeFileSync(join(home, "file"), "");
  expect(() => makeFolders(join(home, "file", "x", "y"))).toThrow(/ENOTDIR/);
  expect(() => makeFolders(join(home, "file"))).toThrow(/EEXIST/);
});

test.runIf(process.platform === "linux")("a file system that creates no folders is rejected", () => {
  expect(() => makeFolders("/proc/overdue/spool")).toThrow(/ENOENT/);
});
