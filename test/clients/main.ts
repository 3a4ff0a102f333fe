// The run of other people's programs: `npm run clients -- --only borgmatic`. Installs them, starts a server for each
// dialect, drives every client through all it can do, and prints how each fared.
import { parseArgs } from "node:util";
import type { Client, Row } from "./client.ts";
import { clientsFolder, installClients } from "./installed.ts";
import { CLIENTS } from "./roster.ts";
import { runClients } from "./run-clients.ts";
import { renderTable, summary } from "./table.ts";

const HELP = `Usage: npm run clients -- [options]

Drives third-party clients, unmodified, against a running server, and replicas of those that cannot be installed or
aimed at a server of one's own. Each gets a project of its own; its calls are counted by a proxy in front of the
server, and what it did is looked up in the database.

Options:
  --only NAME    only clients whose name contains this; may be repeated
  --no-install   use what is installed already
  --short        fewer checks where a replica makes many of them
  --json         end with one line of JSON: {"clients": [...], "passed": true}
  --help         this text

Clients are installed into $OVERDUE_CLIENTS_DIR, or overdue-clients in your cache folder, by test/clients/install. The
first time it takes some ten minutes, since two of them are built from source.

Clients:
${CLIENTS.map(({ name, kind, dialect }) => `  ${name.padEnd(32)} ${kind.padEnd(8)} ${dialect}`).join("\n")}

Everything else is on loopback and private to this run. The exit code is 0 only if every client passed.`;

const OPTIONS = {
  only: { type: "string", multiple: true },
  "no-install": { type: "boolean" },
  short: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

type Choice = { help: boolean; json: boolean; install: boolean; short: boolean; clients: readonly Client[] };

async function main(args: readonly string[]): Promise<number> {
  const choice = readArguments(args);
  if (typeof choice === "string") {
    console.error(`${choice}\n\n${HELP}`);
    return 2;
  }
  if (choice.help) {
    console.log(HELP);
    return 0;
  }
  const folder = await clientsFolder();
  const wanted = new Set(choice.clients.flatMap(({ installs }) => installs ?? []));
  if (choice.install && wanted.size > 0) {
    console.log(`Installing into ${folder}`);
    await installClients([...wanted], (line) => console.log(line));
  }
  const rows = await runClients(choice.clients, {
    size: choice.short ? "short" : "full",
    folder,
    onRow: say,
  });
  const isGood = rows.length > 0 && rows.every(({ result }) => result === "passed");
  console.log(`\n${renderTable(rows)}\n\n${summary(rows)}`);
  if (choice.json) console.log(JSON.stringify({ clients: rows, passed: isGood }));
  return isGood ? 0 : 1;
}

function say(row: Row, complaint: string | null): void {
  console.log(`${row.result.padEnd(14)}${row.client} (${row.dialect}), ${row.calls} calls`);
  if (complaint !== null) console.log(complaint.replaceAll(/^/gm, "    "));
}

/** What the arguments ask for, or what is wrong with them. */
function readArguments(args: readonly string[]): Choice | string {
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options: OPTIONS });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { only = [], json = false, help = false, short = false } = parsed.values;
  const isMeant = ({ name }: Client, part: string) => name.toLowerCase().includes(part.toLowerCase());
  const unknown = only.find((part) => !CLIENTS.some((client) => isMeant(client, part)));
  if (unknown !== undefined) return `No client's name contains "${unknown}".`;
  const clients = CLIENTS.filter((client) => only.length === 0 || only.some((part) => isMeant(client, part)));
  return { help, json, short, install: parsed.values["no-install"] !== true, clients };
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    console.error(`ended by ${signal}`);
    process.exit(130);
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
