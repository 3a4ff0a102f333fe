import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Program, runProgram } from "./run-program.ts";

/** A folder with these shell scripts. */
function folderWith(scripts: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "overdue-run-program-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

function program(given: Pick<Program, "folder"> & Partial<Program>): Program {
  return {
    name: "it",
    environment: { PATH: "/usr/bin:/bin" },
    input: "",
    timeoutMs: 20_000,
    outputBytesMax: 1_000,
    runningMax: 4,
    ...given,
  };
}

/** A process that has ended may stay in the table until its parent has asked for its status. */
function isRunning(pid: string): boolean {
  try {
    return !execFileSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).trim().startsWith("Z");
  } catch {
    return false;
  }
}

test("a program gets its input and environment, and nothing else", async () => {
  const folder = folderWith({
    it: 'cat; env | sort; echo "$# arguments in $(pwd -P)"; echo trouble >&2; exit 3',
  });
  const environment = { PATH: "/usr/bin:/bin", OVERDUE_NAME: "$(touch x); `id` \"'\n*" };
  const result = await runProgram(program({ folder, environment, input: "in\n" }));
  expect(result).toMatchObject({ kind: "exited", status: 3, stderr: "trouble\n" });
  const { stdout } = result as { stdout: string };
  expect(stdout).toMatch(/^in\n/);
  expect(stdout).toContain("OVERDUE_NAME=$(touch x); `id` \"'\n");
  expect(stdout).toContain(`0 arguments in ${realpathSync(folder)}`);
  const names = stdout
    .match(/^[A-Z_]+(?==)/gm)
    ?.filter((name) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(name));
  expect(names?.toSorted()).toEqual(["OVERDUE_NAME", "PATH"]);
});

test("a program that does not read its input has no problem", async () => {
  const folder = folderWith({ it: "exit 0" });
  const result = await runProgram(program({ folder, input: "x".repeat(1_000_000) }));
  expect(result).toEqual({ kind: "exited", status: 0, stdout: "", stderr: "" });
});

test("a program that forks and hangs is killed with its children", async () => {
  const folder = folderWith({ it: "sleep 300 &\necho $! >child\necho waiting >&2\nwait" });
  const result = await runProgram(program({ folder, timeoutMs: 1_000 }));
  expect(result).toEqual({ kind: "timeout", stdout: "", stderr: "waiting\n" });
  expect(isRunning(readFileSync(join(folder, "child"), "utf8").trim())).toBe(false);
});

test("a program that ignores signals is killed", async () => {
  const folder = folderWith({ it: "trap '' TERM INT HUP\nwhile :; do sleep 1; done" });
  expect(await runProgram(program({ folder, timeoutMs: 500 }))).toMatchObject({ kind: "timeout" });
});

test("nothing is left of a program that ends before its children", async () => {
  const folder = folderWith({ it: "sleep 300 &\necho $! >child\nexit 0" });
  expect(await runProgram(program({ folder }))).toMatchObject({ kind: "exited", status: 0 });
  expect(isRunning(readFileSync(join(folder, "child"), "utf8").trim())).toBe(false);
});

test.runIf(process.platform === "linux")("a process that has left the group is not waited for", async () => {
  const folder = folderWith({ it: "echo said >&2\nsetsid sleep 8 &\nsleep 0.2" });
  const before = Date.now();
  expect(await runProgram(program({ folder }))).toMatchObject({
    kind: "exited",
    status: 0,
    stderr: "said\n",
  });
  expect(Date.now() - before).toBeLessThan(6_000);
});

test("the end of each output is kept", async () => {
  const folder = folderWith({
    it: "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo end >&2",
  });
  const result = await runProgram(program({ folder, outputBytesMax: 100 }));
  expect(result).toMatchObject({ kind: "exited", status: 0, stderr: "end\n" });
  const { stdout } = result as { stdout: string };
  expect(stdout.length).toBe(100);
  expect(stdout).toMatch(/line 19999\n$/);
});

test("a program that another process kills has no status", async () => {
  const folder = folderWith({ it: "kill -9 $$" });
  expect(await runProgram(program({ folder }))).toMatchObject({ kind: "exited", status: null });
});

test("links may not leave the folder, and only executable files are run", async () => {
  const outside = folderWith({ it: "exit 0" });
  const folder = folderWith({ it: "exit 0", plain: "exit 0" });
  chmodSync(join(folder, "plain"), 0o644);
  mkdirSync(join(folder, "sub"));
  mkdirSync(`${folder}-beside`);
  onTestFinished(() => rmSync(`${folder}-beside`, { recursive: true }));
  writeFileSync(join(`${folder}-beside`, "it"), "#!/bin/sh\n", { mode: 0o755 });
  symlinkSync(join(outside, "it"), join(folder, "out"));
  symlinkSync(join(`${folder}-beside`, "it"), join(folder, "beside"));
  symlinkSync("it", join(folder, "in"));
  symlinkSync("nowhere", join(folder, "broken"));
  const textOf = async (name: string) => {
    const result = await runProgram(program({ folder, name }));
    return result.kind === "refused" ? result.text : result.kind;
  };
  expect(await textOf("in")).toBe("exited");
  expect(await textOf("out")).toBe("is a link to a file outside of the folder");
  expect(await textOf("beside")).toBe("is a link to a file outside of the folder");
  expect(await textOf("plain")).toBe("is not executable");
  expect(await textOf("sub")).toBe("is not a file");
  expect(await textOf("broken")).toBe("does not exist");
  expect(await textOf("missing")).toBe("does not exist");
});

test("a file that is no program is not run", async () => {
  const folder = folderWith({});
  writeFileSync(join(folder, "it"), "#!/no/such/interpreter\n", { mode: 0o755 });
  expect(await runProgram(program({ folder }))).toEqual({ kind: "refused", text: "could not be started" });
});

test("only so many programs run at the same time", async () => {
  const folder = folderWith({ it: "sleep 1" });
  const results = await Promise.all([1, 2, 3].map(() => runProgram(program({ folder, runningMax: 2 }))));
  expect(results.map(({ kind }) => kind).toSorted()).toEqual(["exited", "exited", "refused"]);
  expect(await runProgram(program({ folder, runningMax: 1 }))).toMatchObject({ kind: "exited" });
});

test("a program that the system cannot start is refused, and counts no longer", async () => {
  const folder = folderWith({ it: "exit 0" });
  // More than the system takes in one variable.
  const environment = { X: "x".repeat(300_000) };
  for (let time = 0; time < 2; time += 1) {
    expect(await runProgram(program({ folder, environment, runningMax: 1 }))).toEqual({
      kind: "refused",
      text: "could not be started",
    });
  }
});
