// The ping server without its intake, in its own process: every ping is answered as if it were recorded. Measures the
// cost of HTTP alone.
import type { SignalIntake } from "../../src/intake/intake.ts";
import { createLog } from "../../src/lib/log.ts";
import { pingService } from "../../test/ping/ping-service.ts";

const nothing: SignalIntake = {
  now: () => Date.now(),
  accept: () => Promise.resolve({ kind: "recorded" }),
  refused: () => {},
  resolve: () => Promise.resolve("known"),
};

const service = pingService({
  listen: { host: "127.0.0.1", port: Number(process.argv[2]) },
  reusePort: true,
  siteUrl: new URL("http://localhost:8000"),
  pingUrl: null,
  pingAliases: null,
  trustedProxies: ["127.0.0.0/8", "::1/128"],
  bodyLimitBytes: 10_000,
  connectionsMax: 10_000,
  requestTimeoutMs: 60_000,
  log: createLog({ level: "warn" }),
  intake: nothing,
});
await service.start();
console.log("ready");
process.once("SIGTERM", () => void service.stop());
