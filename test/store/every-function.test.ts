// Rows are typed by hand, so only a call shows that a statement and its types match the schema: every store function
// with a statement is called by a test in this folder.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const textsOf = (directory: string, isWanted: (file: string) => boolean) => {
  const path = fileURLToPath(new URL(directory, import.meta.url));
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter(isWanted)
    .map((file) => readFileSync(`${path}${file}`, "utf8"));
};

const RUNS_STATEMENT = /^export async function (\w+)\(\s*(?:db: Db|tx: Tx)\b/gm;

/** Names of functions that no test calls, and the total number. */
function uncalled(sources: string[], tests: string[]): { total: number; names: string[] } {
  const names = sources.flatMap((text) => [...text.matchAll(RUNS_STATEMENT)].map((match) => match[1] ?? ""));
  const called = tests.join("\n");
  return { total: names.length, names: names.filter((name) => !called.includes(`${name}(`)) };
}

test("every function that runs a statement is called by a test", () => {
  const sources = textsOf("../../src/store/", (file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const tests = textsOf("./", (file) => file.endsWith(".test.ts"));
  const { total, names } = uncalled(sources, tests);
  expect(total).toBeGreaterThan(70);
  expect(names).toEqual([]);
});

test("one that is not called is found", () => {
  const source = "export async function findNothing(\n  db: Db,\n): Promise<void> {}\n";
  expect(uncalled([source], ["findNothin(db)"])).toEqual({ total: 1, names: ["findNothing"] });
});

test("every statement has a name of its own: a connection prepares one text for a name", () => {
  const sources = textsOf("../../src/store/", (file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const names = sources.flatMap((text) =>
    [...text.matchAll(/^ {2}name: "([\w.]+)",$/gm)].map((match) => match[1]),
  );
  expect(names.length).toBeGreaterThan(200);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
