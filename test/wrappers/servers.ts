// What wrappers report to: one server that records requests and answers by the first part of the path, and addresses
// that do not answer.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../support/ports.ts";

/** `hole` accepts a connection and never answers; `flaky` rejects the first attempt of each ping. */
export const NETWORKS = ["recorder", "dead", "hole", "503", "404", "slow", "flaky"] as const;
export type Network = (typeof NETWORKS)[number];

export type Ping = {
  network: string;
  method: string;
  /** Below the address of the network. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
  at: number;
  status: number;
};

export type Servers = {
  /** The address of a network, without a slash at its end. */
  url(network: Network): string;
  /** What was received for a check, in order. */
  pings(check: string): Ping[];
  /** Whether the address of `recorder` answers: otherwise it does what this function returns. */
  cut(decide: (() => Network) | null): void;
  stop(): Promise<void>;
};

const SLOW_MS = 1_500;
const BODY_LIMIT = "20000";
const STATUS: Readonly<Record<string, number>> = { "503": 503, "404": 404 };

export async function startServers(): Promise<Servers> {
  const pings: Ping[] = [];
  let decide: (() => Network) | null = null;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const at = Date.now();
    const url = new URL(request.url ?? "/", "http://localhost");
    const [, first = "", ...rest] = url.pathname.split("/");
    const network = (first === "recorder" ? decide?.() : undefined) ?? first;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (network === "dead") return request.socket.destroy();
    const path = `/${rest.join("/")}`;
    const isFirst = !pings.some((ping) => ping.network === first && ping.path === path);
    const status = network === "flaky" && isFirst ? 503 : (STATUS[network] ?? 200);
    const body = Buffer.concat(chunks);
    const { method = "", headers } = request;
    pings.push({ network, method, path, query: url.searchParams, headers, body, at, status });
    if (network === "hole") return;
    if (network === "slow") await sleep(SLOW_MS);
    response.writeHead(status, { "Ping-Body-Limit": BODY_LIMIT, "Ping-Features": "at" }).end("OK");
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const deadPort = await freePort();
  return {
    url: (network) => `http://127.0.0.1:${network === "dead" ? deadPort : port}/${network}`,
    pings: (check) => pings.filter(({ path }) => path.split("/").includes(check)),
    cut: (by) => (decide = by),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
