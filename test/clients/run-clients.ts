// Runs clients one after the other, each against a server in its dialect and in a project of its own, and writes down
// how each fared. What goes wrong with one is its row, and does not touch the others.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sampleCheck } from "../support/sample.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import type { Client, Row, Scene, Size } from "./client.ts";
import { Effects } from "./effects.ts";
import { type Installed, installedClient } from "./installed.ts";
import { runProgram } from "./program.ts";
import { type Stage, startStage } from "./stage.ts";

/** Longer than any client needs, also on a machine that is busy with other things. */
const CLIENT_MS_MAX = 240_000;
const COMPLAINT_LENGTH_MAX = 3_000;
/** The last calls of a client that failed, for whoever looks into it. */
const CALLS_SHOWN = 8;

export type RunOptions = {
  size: Size;
  folder: string;
  /** Called with each row as it is known, and with the whole complaint when there is one. */
  onRow(row: Row, complaint: string | null): void;
};

/** Starts what the clients need, runs them, and stops it again. Rows come in the order of the clients. */
export async function runClients(clients: readonly Client[], options: RunOptions): Promise<Row[]> {
  const rows = new Map<Client, Row>();
  const postgres = await startPostgres({ binaries: embeddedPostgres() });
  try {
    // One server at a time: the machine may be small.
    for (const dialect of new Set(clients.map((client) => client.dialect))) {
      const invited = clients.filter((client) => client.dialect === dialect);
      for (const [client, row] of await runOnStage(postgres, invited, options)) rows.set(client, row);
    }
  } finally {
    await postgres.stop();
  }
  return clients.flatMap((client) => rows.get(client) ?? []);
}

async function runOnStage(
  postgres: PostgresServer,
  clients: readonly Client[],
  options: RunOptions,
): Promise<Map<Client, Row>> {
  const rows = new Map<Client, Row>();
  const [first] = clients;
  if (first === undefined) return rows;
  const stage = await startStage(postgres, first.dialect);
  try {
    for (const client of clients) {
      const { row, complaint } = await runOne(stage, client, options);
      rows.set(client, row);
      options.onRow(row, complaint);
    }
  } finally {
    await stage.stop();
  }
  return rows;
}

async function runOne(
  stage: Stage,
  client: Client,
  options: RunOptions,
): Promise<{ row: Row; complaint: string | null }> {
  const found = await versionOf(client, options.folder);
  const { name, kind, dialect, note } = client;
  const row: Row = { client: name, version: "", kind, dialect, calls: 0, result: "passed", note };
  if ("missing" in found) {
    return { row: { ...row, version: "-", result: "not installed", note: found.missing }, complaint: null };
  }
  row.version = found.version;
  const before = stage.proxy.count();
  const complaint = await complaintAbout(stage, client, options);
  row.calls = stage.proxy.count() - before;
  // A client that never called has proved nothing.
  const silence = complaint === null && row.calls === 0 ? "it made no call" : null;
  const problem = complaint ?? silence;
  if (problem === null) return { row, complaint: null };
  const calls = stage.proxy.calls(before).slice(-CALLS_SHOWN);
  const statuses = stage.proxy.statuses().slice(-CALLS_SHOWN);
  const whole = `${problem}\nlast calls: ${calls.join(", ")}\nlast answers: ${statuses.join(", ")}`;
  return { row: { ...row, result: "failed", note: firstLine(problem) }, complaint: whole };
}

/** What the installer, or the program itself, says about a client's version. */
async function versionOf(client: Client, folder: string): Promise<Installed> {
  if (client.installs !== null) return installedClient(folder, client.installs);
  if (client.program === undefined) return { version: client.version ?? "-" };
  const { code, out } = await runProgram(client.program, ["--version"]);
  if (code !== 0) return { missing: `this machine has no ${client.program}` };
  return { version: /\d+(\.\d+)+/.exec(out)?.[0] ?? "-" };
}

/** Drives a client; what it has to complain about, or null. */
async function complaintAbout(stage: Stage, client: Client, options: RunOptions): Promise<string | null> {
  const scratch = mkdtempSync(join(tmpdir(), "overdue-client-"));
  const removeScratch = () => rmSync(scratch, { recursive: true, force: true });
  // Also when the run is interrupted.
  process.once("exit", removeScratch);
  const deadline = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => deadline.reject(new Error(`it did not end within ${CLIENT_MS_MAX} ms`)),
    CLIENT_MS_MAX,
  );
  try {
    const project = await stage.newProject();
    const scene: Scene = {
      site: stage.site,
      origin: stage.origin,
      project,
      effects: new Effects({ database: stage.database, projectId: project.id }),
      size: options.size,
      folder: options.folder,
      scratch,
      newCheck: async (settings = {}) =>
        (await sampleCheck(stage.database, { projectId: project.id, ...settings })).uuid,
      signal: async (...paths) => {
        for (const path of paths) {
          const { status } = await fetch(`${stage.origin}/ping/${path}`);
          if (status !== 200) throw new Error(`a signal to ${path} was answered ${status}`);
        }
      },
    };
    await Promise.race([client.drive(scene), deadline.promise]);
    return null;
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return text.slice(0, COMPLAINT_LENGTH_MAX);
  } finally {
    clearTimeout(timer);
    process.off("exit", removeScratch);
    removeScratch();
  }
}

function firstLine(text: string): string {
  return (text.split("\n").find((line) => line.trim() !== "") ?? "").slice(0, 200);
}
