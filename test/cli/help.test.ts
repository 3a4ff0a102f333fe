// The help of all commands, and the names that are no longer in it.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readCommands, type ShownCommand, withSubcommands } from "../../scripts/render-commands.ts";
import { fitted } from "../../src/cli/help-text.ts";
import { OLD_NAMES, withCurrentName } from "../../src/cli/old-names.ts";
import { environmentWith } from "../../src/config/config.ts";
import { callOverdue } from "./run-overdue.ts";

const PROGRAM = await readCommands();
const ALL = withSubcommands(PROGRAM);
const titled = (commands: readonly ShownCommand[]) =>
  commands.map((command): [string, ShownCommand] => [`overdue ${command.path}`.trim(), command]);

describe("help", () => {
  test("lists every command below a heading, in one line", () => {
    const headings = [...PROGRAM.help.matchAll(/^(\w+):$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(["Options", "Jobs", "Checks", "Server", "Admin", "Other", "Examples"]);
    for (const { path, summary } of PROGRAM.commands) {
      expect(PROGRAM.help).toMatch(new RegExp(`^  ${path} +${summary}$`, "m"));
    }
  });

  test.each(titled(ALL))("%s fits into 80 columns", (_, { help }) => {
    expect(help.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  test.each(titled(ALL.slice(1)))("%s has a summary in one line, with a capital", (_, { path, summary }) => {
    expect(summary).toMatch(/^[A-Z][^.]*[^.]$/);
    const name = path.slice(path.lastIndexOf(" ") + 1);
    expect(`  ${name}  ${summary}`.length).toBeLessThan(80);
  });

  // The entry point runs these without the program, and prints their help.
  const RUNNERS = ["exec", "ping", "flush"];

  test.each(titled(PROGRAM.commands.filter(({ path }) => !RUNNERS.includes(path))))(
    "%s has examples",
    (_, { help, commands }) => {
      const texts = [help, ...commands.map((one) => one.help)];
      expect(
        texts.some((text) => /^Examples:\n {2}\$ overdue /m.test(text) || /^Examples:$/m.test(text)),
      ).toBe(true);
    },
  );

  test("is found by any number of words", async () => {
    const expected = ALL.find(({ path }) => path === "admin key rotate")?.help;
    expect(expected).toBeDefined();
    expect((await callOverdue(["help", "admin", "key", "rotate"])).out.trimEnd()).toBe(expected);
    expect((await callOverdue(["admin", "key", "rotate", "--help"])).out.trimEnd()).toBe(expected);
  });

  test("wraps paragraphs, and keeps what is indented", () => {
    const long = "word ".repeat(30).trim();
    const lines = fitted(`${long}\n\n  $ ${long}\nshort\n`).split("\n");
    expect(lines.slice(0, 2).every((line) => line.length <= 80)).toBe(true);
    expect(lines.slice(-3)).toEqual([`  $ ${long}`, "short", ""]);
  });
});

describe("names of former versions", () => {
  const OPTIONS: [string, string][] = [
    ["admin account create", "--operator"],
    ["admin key create", "--replace"],
    ["prune", "--minutes"],
  ];

  test("are not in any help", () => {
    const helps = ALL.map(({ help }) => help).join("\n");
    for (const old of Object.keys(OLD_NAMES)) expect(helps).not.toContain(`overdue ${old} `);
    for (const [, option] of OPTIONS) expect(helps).not.toMatch(new RegExp(`${option}(?![\\w-])`));
  });

  test.each(Object.entries(OLD_NAMES))("overdue %s is %s", async (old, now) => {
    const path = now.replace(/ --.*/, "");
    const help = ALL.find((one) => one.path === path)?.help;
    expect(help).toBeDefined();
    expect((await callOverdue([...old.split(" "), "--help"])).out.trimEnd()).toBe(help);
    expect((await callOverdue(["help", ...old.split(" ")])).out.trimEnd()).toBe(help);
    expect(withCurrentName([...old.split(" "), "--json", "x"])).toEqual([...now.split(" "), "--json", "x"]);
  });

  test("other arguments stay as they are", () => {
    for (const args of [["admin"], ["admin", "account", "list"], ["runs", "admin", "list"], []]) {
      expect(withCurrentName(args)).toEqual(args);
    }
  });

  test.each(OPTIONS)("overdue %s %s is still an option", async (path, option) => {
    const { err } = await callOverdue([...path.split(" "), option, "1"]);
    expect(err).not.toContain("unknown option");
  });
});

test.skipIf(!existsSync("/usr/bin/man"))("the man page is rendered without warnings", () => {
  const page = join(import.meta.dirname, "../../docs/overdue.1");
  const script = 'man --warnings --local-file "$1" 2>&1 >/dev/null';
  const warnings = execFileSync("sh", ["-c", script, "sh", page], {
    encoding: "utf8",
    env: environmentWith({ LC_ALL: "C.UTF-8" }),
  });
  expect(warnings).toBe("");
});
