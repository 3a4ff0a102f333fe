// Copies of a running cluster, as a backup or the start of a standby, and the slow link that delays a standby. Uses
// only tools of PostgreSQL's server package.
import { execFile } from "node:child_process";
import { chownSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import type { PostgresServer } from "../../support/postgres.ts";
import { freePort } from "../../support/ports.ts";

const run = promisify(execFile);

/** Copies the files of a running server to a folder, from which another one can be started. */
export async function copyCluster(server: PostgresServer, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  try {
    await client.query("select pg_backup_start('faults', true)");
    await copyFiles(server.dataDirectory, to, "--exclude=./pg_wal/* --exclude=./postmaster.*");
    const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
    // The WAL up to the end of the copy is part of it.
    await copyFiles(join(server.dataDirectory, "pg_wal"), join(to, "pg_wal"), "");
    ownedFile(to, { name: "backup_label", text: rows[0]?.labelfile ?? "" });
  } finally {
    await client.end();
  }
}

/** Turns a copy into a standby that follows a server on loopback. */
export function makeStandby(folder: string): void {
  ownedFile(folder, { name: "standby.signal", text: "" });
}

/** Files may change and disappear while they are read, which the WAL repairs; tar reports it with exit code 1. */
async function copyFiles(from: string, to: string, exclude: string): Promise<void> {
  const script = `
    mkdir -p "$2" && chmod --reference="$1" "$2" && chown --reference="$1" "$2"
    { tar -C "$1" ${exclude} -cf - . || [ $? = 1 ]; } | tar -C "$2" -xpf -`;
  await run("sh", ["-c", script, "copy", from, to]);
}

function ownedFile(folder: string, { name, text }: { name: string; text: string }): void {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  const { uid, gid } = statSync(folder);
  chownSync(path, uid, gid);
}

/** A link that delivers everything late, in order, until it is cut; data in transit is then lost. */
export class SlowLink {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor({ port, targetPort, delayMs }: { port: number; targetPort: number; delayMs: number }) {
    this.port = port;
    this.#server = createServer((client) => {
      const target = connect({ host: "127.0.0.1", port: targetPort });
      this.#join({ from: client, to: target, delayMs: 0 });
      this.#join({ from: target, to: client, delayMs });
    });
  }

  static async open(options: { targetPort: number; delayMs: number }): Promise<SlowLink> {
    const link = new SlowLink({ ...options, port: await freePort() });
    await new Promise<void>((resolve) => void link.#server.listen(link.port, "127.0.0.1", resolve));
    return link;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join({ from, to, delayMs }: { from: Socket; to: Socket; delayMs: number }): void {
    this.#sockets.add(from);
    from.on("error", () => {});
    from.on("close", () => {
      this.#sockets.delete(from);
      setTimeout(() => to.destroy(), delayMs);
    });
    from.on("data", (chunk: Buffer) => {
      setTimeout(() => void (this.#isCut || to.destroyed || to.write(chunk)), delayMs);
    });
  }
}
