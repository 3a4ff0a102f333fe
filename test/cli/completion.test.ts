// Completion scripts, run by the real shells. Shells that are not installed are skipped.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environmentWith } from "../../src/config/config.ts";
import { callOverdue } from "./run-overdue.ts";

let folder = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "overdue-completion-"));
  for (const shell of ["bash", "zsh", "fish"]) {
    const { out } = await callOverdue(["completion", shell]);
    writeFileSync(join(folder, shell), out);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const isThere = (shell: string) => spawnSync(shell, ["-c", "exit 0"]).status === 0;

/** The words that bash offers after these. */
function completedByBash(...words: string[]): string[] {
  const script = `source "$1"; shift; COMP_WORDS=(overdue "$@"); COMP_CWORD=$#; _overdue; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync("bash", ["--norc", "-c", script, "bash", join(folder, "bash"), ...words], {
    encoding: "utf8",
  });
  return out.split("\n").filter((word) => word !== "");
}

function completedByFish(line: string): string[] {
  const out = execFileSync(
    "fish",
    ["--no-config", "-c", `source ${join(folder, "fish")}; complete -C "$argv"`, line],
    {
      encoding: "utf8",
      env: environmentWith({ HOME: folder }),
    },
  );
  return out.split("\n").flatMap((row) => row.split("\t")[0] || []);
}

/** With simple functions in place of those of the line editor, which needs a terminal. */
function completedByZsh(...words: string[]): string[] {
  const script = `compdef() { : }
_describe() { print -rl -- "\${(@P)2}" }
compadd() { shift; print -rl -- "$@" }
source "$1"; shift; words=(overdue "$@"); CURRENT=$#words; _overdue`;
  const out = execFileSync("zsh", ["-f", "-c", script, "zsh", join(folder, "zsh"), ...words], {
    encoding: "utf8",
  });
  return out.split("\n").flatMap((row) => row.split(":")[0] || []);
}

describe("bash", () => {
  test.each([
    [["adm"], ["admin"]],
    [["checks", "p"], ["pause"]],
    [
      ["checks", "list", "--state", ""],
      ["new", "up", "late", "down", "paused"],
    ],
    [["checks", "list", "--st"], ["--state"]],
    [["admin", "account", "create", "--em"], ["--email"]],
    [
      ["admin", "key", "create", "--kind", "read-"],
      ["read-write", "read-only"],
    ],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [["checks", "list", "--url", ""], []],
    // An argument that is also the name of a command.
    [["checks", "get", "admin", "--js"], ["--json"]],
  ])("%j completes to %j", (words, expected) => {
    expect(completedByBash(...words)).toEqual(expected);
  });

  test("former names are not offered", () => {
    expect(completedByBash("admin", "")).toEqual([
      "account",
      "project",
      "key",
      "channel",
      "quarantine",
      "restore",
    ]);
    expect(completedByBash("prune", "--m")).toEqual(["--max-time"]);
  });
});

describe.skipIf(!isThere("fish"))("fish", () => {
  test.each([
    ["overdue adm", "admin"],
    ["overdue checks pa", "pause"],
    ["overdue checks list --state do", "down"],
    ["overdue admin account create --ema", "--email"],
  ])("%s completes to %s", (line, expected) => {
    expect(completedByFish(line)).toContain(expected);
  });
});

describe.skipIf(!isThere("zsh"))("zsh", () => {
  test("the script is valid", () => {
    expect(spawnSync("zsh", ["-n", join(folder, "zsh")], { encoding: "utf8" })).toMatchObject({
      status: 0,
      stderr: "",
    });
  });

  test.each([
    [["checks", ""], "resume"],
    [["checks", "list", "--state", ""], "paused"],
    [["admin", "account", "create", "--"], "--email"],
  ])("%j completes to %s", (words, expected) => {
    expect(completedByZsh(...words)).toContain(expected);
  });
});
