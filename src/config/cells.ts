// The description of the cells, read from the file that OVERDUE_CELLS names.
import { readFileSync } from "node:fs";
import { type CellView, parseCells } from "../core/cells.ts";
import { type Config, ConfigError } from "./config.ts";

/** 4,096 slots one by one, with names and URLs, are far below that. */
const CELLS_BYTES_MAX = 4 * 1024 * 1024;

/** The cells from the view of this one; null if there are none. Throws ConfigError. */
export function cellsOf(config: Pick<Config, "cell" | "cellsFile">): CellView | null {
  if (config.cell === null || config.cellsFile === null) return null;
  const setting = `OVERDUE_CELLS is set to ${config.cellsFile}, which`;
  let text: string;
  try {
    text = readFileSync(config.cellsFile, "utf8");
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new ConfigError([`${setting} cannot be read (${reason}). Correct the path or its permissions.`]);
  }
  if (text.length > CELLS_BYTES_MAX) {
    throw new ConfigError([
      `${setting} is larger than ${CELLS_BYTES_MAX} bytes. Check that it is the right file.`,
    ]);
  }
  const parsed = parseCells(text);
  if ("problem" in parsed) throw new ConfigError([`${setting} ${parsed.problem}.`]);
  const cells = parsed.value;
  const cell = cells.list.find(({ name }) => name === config.cell);
  if (cell !== undefined) return { cell, cells };
  const names = cells.list.map(({ name }) => name).join(", ");
  throw new ConfigError([
    `OVERDUE_CELL is ${JSON.stringify(config.cell)}, but ${config.cellsFile} has only ${names}. Set it to one of them, or add the cell.`,
  ]);
}
