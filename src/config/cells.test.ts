import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { cellsOf } from "./cells.ts";
import { ConfigError, loadConfig } from "./config.ts";

const folder = mkdtempSync(join(tmpdir(), "overdue-cells-"));
const file = join(folder, "cells.json");
writeFileSync(
  file,
  JSON.stringify([
    { name: "a", urls: ["http://10.0.0.1:8000"], slots: ["000-7ff"] },
    { name: "b", urls: ["http://10.0.0.2:8000"], slots: ["800-fff"] },
  ]),
);

afterAll(() => rmSync(folder, { recursive: true }));

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test("without the settings there are no cells", () => {
  expect(cellsOf(loadConfig({}).config)).toBeNull();
});

test("a cell has its slots", () => {
  const view = cellsOf(loadConfig({ OVERDUE_CELL: "b", OVERDUE_CELLS: file }).config);
  expect([view?.cell.name, view?.cell.slots.length, view?.cells.list.length]).toEqual(["b", 2_048, 2]);
});

test("one setting without the other is refused", () => {
  expect(problemsOf(() => loadConfig({ OVERDUE_CELL: "a" }))).toEqual([
    "OVERDUE_CELL is set, but OVERDUE_CELLS is not. Set both, or neither.",
  ]);
  expect(problemsOf(() => loadConfig({ OVERDUE_CELLS: file }))).toEqual([
    "OVERDUE_CELLS is set, but OVERDUE_CELL is not. Set both, or neither.",
  ]);
});

test("what is wrong with the file or the name is said", () => {
  const of = (cell: string, cellsFile: string) => problemsOf(() => cellsOf({ cell, cellsFile }));
  expect(of("c", file)).toEqual([
    `OVERDUE_CELL is "c", but ${file} has only a, b. Set it to one of them, or add the cell.`,
  ]);
  expect(of("a", join(folder, "none"))).toEqual([
    `OVERDUE_CELLS is set to ${join(folder, "none")}, which cannot be read (ENOENT). Correct the path or its permissions.`,
  ]);
  const broken = join(folder, "broken.json");
  writeFileSync(broken, "{");
  expect(of("a", broken)).toEqual([
    `OVERDUE_CELLS is set to ${broken}, which is not valid JSON. Correct its syntax.`,
  ]);
  writeFileSync(broken, `[${" ".repeat(5 * 1024 * 1024)}]`);
  expect(of("a", broken)[0]).toContain("is larger than 4194304 bytes");
});
