// What the log has of requests to our own API while the database is away.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../../lib/log.ts";
import { type OwnApiContext, ownApiHandler } from "./own-api.ts";

test("an outage of the database is answered 503 each time, and logged once a second", async () => {
  const lines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => lines.push(line) } });
  const away = () =>
    Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
  const handler = ownApiHandler({
    context: { log } as unknown as OwnApiContext,
    auth: { identify: away, readObject: away, inTime: (work) => work },
    siteUrl: new URL("http://localhost"),
    monotonic: () => 0,
  });
  const server = createServer((request, response) => handler.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  for (let request = 0; request < 5; request += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/overdue/v1/channels/`);
    expect(answer.status).toBe(503);
  }
  expect(lines).toHaveLength(1);
});
