// The API's server without the API, in its own process: the same listener, framework and headers, with a constant
// response. `/api/v3/STATUS/BYTES` selects it. Measures the cost of HTTP alone.
import { fastify } from "fastify";
import { METHODS } from "node:http";
import { byteBudget } from "../../src/lib/http/body.ts";
import { httpListener } from "../../src/lib/http/listener.ts";
import { createLog } from "../../src/lib/log.ts";
import { render, type Rendered } from "../../src/services/management/exchange.ts";
import { readRequestBody } from "../../src/services/api/request-body.ts";

const budget = byteBudget(64 * 1024 * 1024);
const answers = new Map<string, Rendered>();

/** Created once for each size. */
function answerOf({ status, bytes }: { status: string; bytes: string }): Rendered {
  const name = `${status} ${bytes}`;
  const known = answers.get(name);
  if (known !== undefined) return known;
  const response = { status: Number(status), content: " ".repeat(Number(bytes)), type: "application/json" };
  const made = render(response, {
    route: { isTagged: true },
    methods: ["GET"],
    rate: null,
    ifNoneMatch: undefined,
  });
  answers.set(name, made);
  return made;
}

const app = fastify({ logger: false, exposeHeadRoutes: false });
for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
app.route<{ Params: { status: string; bytes: string } }>({
  method: ["GET", "POST"],
  url: "/api/v3/:status/:bytes",
  handler: async (request, reply) => {
    await readRequestBody(request.raw, { budget, onEndless: () => {} });
    const { status, headers, bytes } = answerOf(request.params);
    return reply.code(status).headers(headers).send(bytes);
  },
});
await app.ready();
const listener = httpListener({
  name: "answering-only",
  listen: { host: "127.0.0.1", port: Number(process.argv[2]) },
  handlers: [{ handles: () => true, handle: (request, response) => app.routing(request, response) }],
  connectionsMax: 1_000,
  requestTimeoutMs: 60_000,
  log: createLog({ level: "warn" }),
});
await listener.start();
console.log("ready");
process.once("SIGTERM", () => void listener.stop());
