// Folders for the tests of intake.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that is deleted after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "overdue-intake-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A file system of four megabytes, or null if this user may not mount one. */
export function tinyDisk(): string | null {
  const folder = `${temporaryFolder()}/disk`;
  mkdirSync(folder);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]);
  if (mounted.status !== 0) return null;
  onTestFinished(() => void spawnSync("umount", ["--lazy", folder]));
  return folder;
}
