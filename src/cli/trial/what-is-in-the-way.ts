// Why a trial cannot start, in sentences that say what to do. Looks, and changes nothing.
import { existsSync, statfsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { type ListenAddress, formatListenAddress } from "../../lib/address.ts";
import { CommandError } from "../command-context.ts";
import { NoProgramsError } from "./postgres-programs.ts";
import { DataInUseError } from "./private-postgres.ts";

const MEGABYTE = 1024 * 1024;
/** A fresh database with its log takes 70 MB; an old one needs room to go on. */
const FREE_MEGABYTES_MIN = { first: 300, later: 50 };

/** Nobody lets us write there, or something is there that is no folder. */
const NO_FOLDER_CODES = new Set(["EACCES", "EPERM", "EROFS", "EEXIST", "ENOTDIR"]);

const INSTEAD =
  "Use your own PostgreSQL server (15 to 18) instead:\n" +
  "  export OVERDUE_DATABASE_URL=postgres://overdue@127.0.0.1:5432/overdue\n" +
  "  overdue serve";

/** Throws CommandError when the address cannot be listened on. */
export async function refuseTakenPort(address: ListenAddress): Promise<void> {
  const problem = await new Promise<NodeJS.ErrnoException | null>((done) => {
    const probe = createServer();
    probe.once("error", done);
    probe.listen(address, () => probe.close(() => done(null)));
  });
  if (problem === null) return;
  const place = formatListenAddress(address);
  const why =
    problem.code === "EADDRINUSE"
      ? `Another program is already using ${place}. Is Overdue already running?`
      : `Cannot listen on ${place} (${problem.code}).`;
  throw new CommandError(`${why} Use another port: \`overdue trial --port ${nextPort(address.port)}\`.`);
}

function nextPort(port: number): number {
  return port < 1_024 ? 8_000 : port + 1;
}

/** Throws CommandError when the disk is too full to begin. */
export function refuseFullDisk(folder: string, { isFirst }: { isFirst: boolean }): void {
  let existing = folder;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const { bavail, bsize } = statfsSync(existing);
  const free = Math.floor((bavail * bsize) / MEGABYTE);
  const needed = isFirst ? FREE_MEGABYTES_MIN.first : FREE_MEGABYTES_MIN.later;
  if (free >= needed) return;
  throw new CommandError(
    `Not enough disk space in ${folder}: the trial database needs ${needed} MB, but only ${free} MB are free. ` +
      "Free some space, or use another folder: `overdue trial --data <folder>`.",
  );
}

/** What a failed start means; null when nothing better can be said than the error itself says. */
export function explainStart(error: unknown, folder: string): CommandError | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof DataInUseError) {
    return new CommandError(
      `Overdue is already running with the data in ${folder}. Stop it first, or start a second trial with its own folder ` +
        "and port: `overdue trial --data <folder> --port <number>`.",
    );
  }
  if (error instanceof NoProgramsError) return new CommandError(`${error.message}\n${INSTEAD}`);
  const code = "code" in error ? error.code : undefined;
  // The program is there, and still "not found": what is not found is the library that loads programs.
  if (code === "ENOENT") {
    return new CommandError(
      `The trial database cannot run on this system: it requires glibc, which Alpine Linux does not have.\n${INSTEAD}`,
    );
  }
  if (typeof code === "string" && NO_FOLDER_CODES.has(code)) {
    return new CommandError(
      `Cannot store data in ${folder} (${error.message}). Use a folder that you can write to: ` +
        "`overdue trial --data <folder>`.",
    );
  }
  if (error.message.includes("No space left on device")) {
    return new CommandError(
      `The disk that contains ${folder} is full. Free some space, or use \`--data <folder>\`.`,
    );
  }
  return new CommandError(`The trial database failed to start. ${error.message.trimEnd()}\n${INSTEAD}`);
}
