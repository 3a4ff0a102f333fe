import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, type TestContext, test } from "vitest";

const PROCESS = fileURLToPath(new URL("./block-event-loop.ts", import.meta.url));
const BLOCKED_CPU_MS_MAX = 1_500;

function start(how: string, { onTestFinished }: TestContext) {
  const child = spawn(process.execPath, [PROCESS, how, String(BLOCKED_CPU_MS_MAX)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const aliveCount = () => said.split("alive\n").length - 1;
  return { child, said: () => said, aliveCount };
}

describe.concurrent("the watchdog", () => {
  test.for([
    ["spin", "spinForEver"],
    ["microtasks", "awaitForEver"],
  ])(
    "ends a process whose event loop is blocked, and names the function (%s)",
    async ([how = "", name = ""], context) => {
      const { expect } = context;
      const { child, said } = start(how, context);
      expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
      expect(said()).toContain("the event loop is blocked");
      expect(said()).toContain(`${name} (file://`);
      expect(said()).toContain("block-event-loop.ts:");
    },
  );

  test("lets a process continue that was stopped for longer", async (context) => {
    const { expect } = context;
    const { child, aliveCount } = start("idle", context);
    await expect.poll(aliveCount).toBeGreaterThan(0);
    child.kill("SIGSTOP");
    await pause(3 * BLOCKED_CPU_MS_MAX);
    const before = aliveCount();
    child.kill("SIGCONT");
    await expect.poll(aliveCount).toBeGreaterThan(before + 20);
    expect(child.exitCode).toBeNull();
  });

  test("lets a process continue that is busy, but yields to its event loop", async (context) => {
    const { expect } = context;
    const { child, aliveCount } = start("busy", context);
    await pause(4 * BLOCKED_CPU_MS_MAX);
    const before = aliveCount();
    await expect.poll(aliveCount).toBeGreaterThan(before);
    expect(child.exitCode).toBeNull();
  });
});
