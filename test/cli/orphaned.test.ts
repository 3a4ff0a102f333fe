// A program under `npm run` ends with the shell that npm started it from; any other may outlive its shell.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { environmentWith } from "../../src/config/config.ts";

const MODULE = new URL("../../src/cli/private-postgres.ts", import.meta.url).href;
const PROGRAM = `
  import { onOrphaned } from ${JSON.stringify(MODULE)};
  onOrphaned(() => process.exit());
  setInterval(() => {}, 1_000);
  console.log(process.pid);`;

/** Starts the program from a shell, kills the shell, and returns the id of the program. */
async function orphan(underNpm: Record<string, string | undefined>): Promise<number> {
  const shell = spawn("sh", ["-c", '"$0" --input-type=module -e "$1" & wait', process.execPath, PROGRAM], {
    env: environmentWith(underNpm),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: shell.stdout }), "line")) as [string];
  shell.kill("SIGKILL");
  return Number(line);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("under npm it ends with its shell", async () => {
  const pid = await orphan({ npm_lifecycle_event: "faults" });
  await expect.poll(() => isRunning(pid), { timeout: 40_000 }).toBe(false);
});

test("started by hand, it continues", async () => {
  const pid = await orphan({ npm_lifecycle_event: undefined });
  await sleep(1_500);
  expect(isRunning(pid)).toBe(true);
  process.kill(pid, "SIGKILL");
});
