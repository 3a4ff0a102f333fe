// Child processes end with this one, however it ends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";

const GONE_MS = 40_000;

/** A program that starts another one, which would run forever, and prints all process IDs. */
async function startOwner(ending: string): Promise<{ owner: ReturnType<typeof spawn>; pids: number[] }> {
  const script = `import { spawn } from "node:child_process";
    import { endWithUs } from "./end-with-us.ts";
    const child = spawn("sh", ["-c", "sleep 1000 & echo $$ $!; wait"], {
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
    endWithUs(child, ${ending});
    child.stdout.pipe(process.stdout);`;
  const owner = spawn(process.execPath, ["--input-type=module-typescript", "--eval", script], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await once(createInterface({ input: owner.stdout }), "line")) as [string];
  const pids = line.split(" ").map(Number);
  // A failure must not leave processes behind.
  onTestFinished(() => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  return { owner, pids };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)(
  "a program goes when its owner gets %s",
  async (signal) => {
    const { owner, pids } = await startOwner(`{ group: true, signal: "TERM" }`);
    expect(pids.map(isAlive)).toEqual([true, true]);
    owner.kill(signal);
    await expect.poll(() => pids.some(isAlive), { timeout: GONE_MS }).toBe(false);
  },
);

test("a program alone is ended by its id, and not what has its group", async () => {
  const { owner, pids } = await startOwner("{}");
  const [shell = 0, inner = 0] = pids;
  owner.kill("SIGKILL");
  await expect.poll(() => isAlive(shell), { timeout: GONE_MS }).toBe(false);
  expect(isAlive(inner)).toBe(true);
});
