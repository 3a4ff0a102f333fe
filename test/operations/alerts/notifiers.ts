// Notifiers for tests: the send loop with the ports of a receiver, in this process or in a separate one.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createLog } from "../../../src/lib/log.ts";
import type { Loop } from "../../../src/lib/loop.ts";
import { createMetrics, type Metrics } from "../../../src/lib/metrics.ts";
import type { Ports } from "../../../src/operations/deliveries.ts";
import { sendLoop } from "../../../src/operations/send-loop.ts";
import type { Database } from "../../../src/store/db.ts";
import { openTestDatabase } from "../../support/database.ts";

export type Notifier = { loop: Loop; metrics: Metrics; lines: string[]; stop(): Promise<void> };

/** Starts a notifier with its own pool. */
export async function startNotifier(url: string, ports: Ports): Promise<Notifier> {
  const database: Database = openTestDatabase(url, () => {});
  const metrics = createMetrics({ version: "test" });
  const lines: string[] = [];
  const log = createLog({ level: "debug", destination: { write: (line) => lines.push(line) } });
  const loop = sendLoop({ database, log, metrics }, ports);
  await loop.start();
  const stop = async () => {
    await loop.stop();
    await database.close();
  };
  return { loop, metrics, lines, stop };
}

const SEND_AND_DIE = fileURLToPath(new URL("./send-and-die.ts", import.meta.url));

/** Runs a notifier that dies after this many messages; returns the signal that ended it. */
export function sendAndDie(of: {
  databaseUrl: string;
  receiverUrl: string;
  now: number;
  diesAfter: number;
}): Promise<string | null> {
  const args = [of.databaseUrl, of.receiverUrl, String(of.now), String(of.diesAfter)];
  const child = fork(SEND_AND_DIE, args, { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (_, signal) => resolve(signal));
  });
}
