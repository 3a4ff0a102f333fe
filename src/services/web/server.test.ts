// Requests of one account leave capacity for those of others.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createLog } from "../../lib/log.ts";
import { accountRoute, type WebContext } from "./route.ts";
import { webHandler, type WebHandler } from "./server.ts";

let server: Server;
let handler: WebHandler;
let release = () => {};
afterEach(async () => {
  release();
  server.closeAllConnections();
  server.close();
  await handler.close();
});

/** A dashboard with one route, whose response to account 1 waits until it is released. */
async function start() {
  let runningCount = 0;
  const released = new Promise<void>((resolve) => (release = resolve));
  const slow = accountRoute({
    name: "slow",
    method: "GET",
    path: "/web/slow",
    access: "account",
    answer: async ({ account }) => {
      runningCount += 1;
      if (account.id === 1) await released;
      return { json: {} };
    },
  });
  const context = {
    site: { name: "Overdue", url: "http://localhost:8000" },
    now: () => 0,
    log: createLog({ level: "fatal" }),
    resolveSession: ({ cookies }: { cookies: Record<string, string> }) =>
      Promise.resolve({ session: { account: { id: Number(cookies["who"]) } }, setCookies: [] }),
  } as unknown as WebContext;
  handler = await webHandler({ context, trustedProxies: [], routes: [slow] });
  server = createServer((request, response) => handler.handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const get = async (who: number) =>
    (await fetch(`http://127.0.0.1:${port}/web/slow`, { headers: { Cookie: `who=${who}` } })).status;
  return { get, runningCount: () => runningCount };
}

test("a few requests of one account are answered at once, some wait, and further ones are rejected", async () => {
  const { get, runningCount } = await start();
  const answers: number[] = [];
  const sent = Array.from({ length: 100 }, async () => void answers.push(await get(1)));
  await expect.poll(() => answers, { timeout: 20_000 }).toEqual(Array.from({ length: 32 }, () => 429));
  expect(runningCount()).toBe(4);
  expect(await get(2)).toBe(200);
  release();
  await Promise.all(sent);
  expect(answers.filter((status) => status === 200)).toHaveLength(68);
  expect(await get(1)).toBe(200);
});
