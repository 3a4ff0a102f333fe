// Receives webhooks on loopback and records when each arrived; always responds 200.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type BenchReceiver = {
  url: string;
  /** When the message of each check arrived, on `performance.now()`; and duplicate messages. */
  arrivals: Map<string, number>;
  repeats: () => number;
  /** Resolves when the messages of so many checks have arrived since the last `clear`. */
  untilCount(count: number): Promise<void>;
  clear(): void;
  stop(): Promise<void>;
};

/** The path of a request ends in the UUID of the check. */
export async function startBenchReceiver(): Promise<BenchReceiver> {
  const arrivals = new Map<string, number>();
  let repeatCount = 0;
  let waiting: { count: number; resolve: () => void } | null = null;
  const server = createServer((request, response) => {
    const uuid = request.url?.split("/").at(-1) ?? "";
    if (arrivals.has(uuid)) repeatCount += 1;
    else arrivals.set(uuid, performance.now());
    request.resume();
    response.writeHead(200).end("ok");
    if (waiting !== null && arrivals.size >= waiting.count) waiting.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    repeats: () => repeatCount,
    untilCount: (count) =>
      new Promise((resolve) => {
        if (arrivals.size >= count) resolve();
        else waiting = { count, resolve };
      }),
    clear: () => {
      arrivals.clear();
      waiting = null;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
