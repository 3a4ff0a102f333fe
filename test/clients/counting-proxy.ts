// Stands in front of a server and counts what is asked of it. Bytes go through as they come, so that a server sees
// what a client really sends; the counting is done on a copy, by Node's own parser.
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Duplex } from "node:stream";

/** More calls than any client makes; beyond it only the number is kept. */
const CALLS_KEPT_MAX = 20_000;

export type CountingProxy = {
  port: number;
  /** How many requests have come through. */
  count(): number;
  /** The newest of them, oldest first, as "METHOD /path". */
  calls(from: number): readonly string[];
  /** Beginnings of answers, as far as they began a packet: a hint for complaints, not a count. */
  statuses(): readonly number[];
  close(): Promise<void>;
};

/** Listens on a free loopback port and passes everything on to another; `target` is asked at each connection. */
export async function startCountingProxy(target: () => number): Promise<CountingProxy> {
  const calls: string[] = [];
  const statuses: number[] = [];
  const sockets = new Set<Socket>();
  let count = 0;
  // Never listens: it is handed copies of what clients say, and its answers are thrown away.
  const reader = createHttpServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
  reader.on("request", (request, response) => {
    count += 1;
    if (calls.length < CALLS_KEPT_MAX) calls.push(`${request.method} ${request.url}`);
    request.resume();
    response.end();
  });
  reader.on("clientError", (_error, socket) => socket.destroy());
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const upstream = connect({ port: target(), host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    const copy = copyFor(reader);
    client.on("data", (bytes) => copy.push(bytes));
    upstream.on("data", (bytes: Buffer) => {
      const status = /^HTTP\/1\.[01] (\d{3})/.exec(bytes.subarray(0, 12).toString("latin1"))?.[1];
      if (status !== undefined && statuses.length < CALLS_KEPT_MAX) statuses.push(Number(status));
    });
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
        copy.destroy();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    count: () => count,
    calls: (from) => calls.slice(from),
    statuses: () => statuses,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      reader.closeAllConnections();
      await closed;
    },
  };
}

/** A connection that the reader takes for a client: it reads what is pushed, and whatever it writes is dropped. */
function copyFor(reader: HttpServer): Duplex {
  const copy = new Duplex({
    read: () => {},
    write: (_chunk, _encoding, done) => done(),
  });
  copy.on("error", () => copy.destroy());
  reader.emit("connection", copy);
  return copy;
}
