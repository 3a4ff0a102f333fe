// `overdue router`: the maps and the configuration of the router in front of several cells.
import type { Command } from "commander";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { cellsOf } from "../config/cells.ts";
import { type Config, loadConfig } from "../config/config.ts";
import type { CellView } from "../core/cells.ts";
import {
  EXCEPTIONS_MAP,
  exceptionLines,
  exceptionsMapOf,
  routerConfig,
  SLOTS_MAP,
  slotsMap,
} from "../core/router.ts";
import { ID_TABLE_NAMES, listIds } from "../store/cells.ts";
import type { Database } from "../store/db.ts";
import { onDatabase } from "./admin-session.ts";
import { type CommandContext, CommandError, EXIT, printJson } from "./command-context.ts";

const DEFAULT_DIRECTORY = "/etc/haproxy/overdue";
const AFTER_HELP = `
OVERDUE_CELL and OVERDUE_CELLS describe several complete servers behind one router.

Run the first command once with the settings of each cell.

Examples:
  $ overdue router maps --directory ${DEFAULT_DIRECTORY}
  $ overdue router config > /etc/haproxy/haproxy.cfg
  $ haproxy -c -f /etc/haproxy/haproxy.cfg && systemctl reload haproxy`;

const DEFAULT_BIND = ":80";
/** Rows of one statement: a few megabytes. */
const PAGE_ROWS = 10_000;

/** Adds the commands below \`router\`. */
export function defineRouter(command: Command, context: CommandContext): void {
  command.addHelpText("after", AFTER_HELP);
  command
    .command("maps")
    .description("Write the router's map files: slots, and this cell's exceptions")
    .requiredOption("--directory <path>", `Folder of the maps, such as ${DEFAULT_DIRECTORY}`)
    .option("--json", "Output JSON (cell, exceptions, missing)")
    .action((options: { directory: string; json?: true }) =>
      onDatabase(context, async ({ config, database }) => {
        const done = await writeMaps(database, {
          view: viewOf(config),
          directory: resolve(options.directory),
        });
        if (options.json) return printJson(context, done);
        context.out(`Exceptions of cell "${done.cell}": ${done.exceptions}.\n`);
        if (done.missing.length > 0) {
          context.out(
            `The folder has no exceptions of ${done.missing.join(", ")} yet. Run this command with the settings of each cell.\n`,
          );
        }
      }),
    );
  command
    .command("config")
    .description("Print a configuration for HAProxy")
    .option("--directory <path>", "Folder of the maps on the router", DEFAULT_DIRECTORY)
    .option("--bind <address...>", "Addresses to listen on, with HAProxy's parameters for TLS", [
      DEFAULT_BIND,
    ])
    .action(({ directory, bind }: { directory: string; bind: string[] }) => {
      const { config } = loadConfig(context.environment);
      if ([directory, ...bind].some((text) => /[\r\n]/.test(text))) {
        throw new CommandError("--directory and --bind must be single lines.", EXIT.usage);
      }
      context.out(
        routerConfig({
          cells: viewOf(config).cells,
          directory: resolve(directory),
          binds: bind,
          siteUrl: new URL(config.siteUrl),
          pingUrl: config.pingUrl === null ? null : new URL(config.pingUrl),
          pingAliases: (config.pingAliases ?? []).map((url) => new URL(url)),
          apiUrl: config.apiUrl === null ? null : new URL(config.apiUrl),
          bodyLimitBytes: config.pingBodyLimitBytes,
        }),
      );
    });
}

function viewOf(config: Config): CellView {
  const view = cellsOf(config);
  if (view !== null) return view;
  throw new CommandError(
    "No cells are configured. Set OVERDUE_CELLS to the file that describes them, and OVERDUE_CELL to the name of this one.",
    EXIT.usage,
  );
}

type Written = { cell: string; exceptions: number; missing: string[] };

/** Writes the files one after the other; each replaces the previous one as a whole. */
async function writeMaps(
  database: Database,
  { view, directory }: { view: CellView; directory: string },
): Promise<Written> {
  await mkdir(directory, { recursive: true });
  await replaceFile(join(directory, SLOTS_MAP), (path) => writeFile(path, slotsMap(view.cells)));
  const counter = { lines: 0 };
  await replaceFile(join(directory, exceptionsMapOf(view.cell)), (path) =>
    pipeline(Readable.from(exceptionsIn(database, { view, counter })), createWriteStream(path)),
  );
  const files = view.cells.list.map((cell) => ({ cell, path: join(directory, exceptionsMapOf(cell)) }));
  const present = files.filter(({ path }) => existsSync(path));
  await replaceFile(join(directory, EXCEPTIONS_MAP), (path) =>
    pipeline(Readable.from(joined(present.map((one) => one.path))), createWriteStream(path)),
  );
  return {
    cell: view.cell.name,
    exceptions: counter.lines,
    missing: files.filter((one) => !present.includes(one)).map(({ cell }) => cell.name),
  };
}

/** Read in pages, so that a million exceptions need no memory. */
async function* exceptionsIn(
  database: Database,
  { view, counter }: { view: CellView; counter: { lines: number } },
): AsyncGenerator<string> {
  for (const table of ID_TABLE_NAMES) {
    let afterId: number | null = 0;
    while (afterId !== null) {
      const page = await listIds(database, { table, afterId, limit: PAGE_ROWS });
      const lines = exceptionLines(view, page.ids);
      counter.lines += lines.split("\n").length - 1;
      if (lines !== "") yield lines;
      afterId = page.lastId;
    }
  }
}

async function* joined(paths: readonly string[]): AsyncGenerator<Buffer> {
  for (const path of paths) yield* createReadStream(path) as AsyncIterable<Buffer>;
}

async function replaceFile(path: string, write: (path: string) => Promise<void>): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  try {
    await write(draft);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
