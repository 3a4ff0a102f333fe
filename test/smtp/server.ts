// The mail server in front of an intake that only remembers, for tests that need no database.
import type { AcceptedSignal } from "../../src/core/signal.ts";
import type { Acceptance, SignalIntake } from "../../src/intake/intake.ts";
import type { Refusal } from "../../src/intake/refusals.ts";
import { createLog } from "../../src/lib/log.ts";
import { type MailServer, mailServer, type MailServerOptions } from "../../src/services/smtp/server.ts";

export const DOMAIN = "ping.example.org";
export const UUID = "5a1f8c1e-9c3b-4d57-8a11-0e9b3f6c2d48";
export const ADDRESS = `${UUID}@${DOMAIN}`;

export type StartedServer = {
  server: MailServer;
  port: number;
  /** What was handed over, in order. */
  signals: AcceptedSignal[];
  /** When somebody was turned away. */
  refusals: Refusal[];
};

/** What becomes of a signal is for `accept` to say: all are recorded unless it does. */
export async function startMailServer(
  options: Partial<MailServerOptions> = {},
  accept: (signal: AcceptedSignal) => Promise<Acceptance> = async () => ({ kind: "recorded" }),
): Promise<StartedServer> {
  const signals: AcceptedSignal[] = [];
  const refusals: Refusal[] = [];
  const intake: SignalIntake = {
    now: () => Date.now(),
    accept: (signal) => {
      signals.push(signal);
      return accept(signal);
    },
    refused: (refusal) => void refusals.push(refusal),
    resolve: async () => "known",
  };
  const server = mailServer({
    intake,
    listen: { host: "127.0.0.1", port: 0 },
    domain: DOMAIN,
    certificate: null,
    isBehindProxy: false,
    connectionsMax: 100,
    peerConnectionsMax: 100,
    peerMessagesPerMinute: 0,
    keptBytes: 1024 * 1024,
    keptBytesBeyond: 10_000,
    log: createLog({ level: "fatal" }),
    stopGraceMs: 500,
    ...options,
  });
  await server.start();
  return { server, port: server.address()?.port ?? 0, signals, refusals };
}
