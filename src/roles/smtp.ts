// The role that receives pings by email on its own port. Without a listen address and a domain in the settings it does
// nothing and reports no problem.
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type Config, ConfigError } from "../config/config.ts";
import { addFigures, type Figure } from "../lib/metrics.ts";
import type { MailServer } from "../services/smtp/server.ts";
import { sharedIntake, type SignalRoleResources } from "./ping.ts";
import type { ServerRole } from "./public-server.ts";
import { needsDatabaseToReceive } from "./started-intake.ts";

/** The role as a part with its own port, which opens before the public port and closes after it. */
export function smtpRole(resources: SignalRoleResources): ServerRole {
  const { config, metrics, log, receiving = sharedIntake(resources) } = resources;
  const listen = config.pingMailListen;
  const domain = config.pingMailDomain;
  if (listen === null || domain === null) return switchedOff(config);
  let server: MailServer | null = null;
  receiving.addFigures();
  addFigures(
    metrics,
    figures(() => server),
  );
  return {
    name: "smtp",
    needsDatabase: needsDatabaseToReceive(config),
    open: async () => {
      const certificate = readCertificate(config);
      const { mailServer } = await import("../services/smtp/server.ts");
      const { intake } = await receiving.join();
      const opening = mailServer({
        intake,
        listen,
        domain,
        aliases: config.pingMailAliases ?? [],
        certificate,
        isBehindProxy: config.pingMailProxy,
        connectionsMax: config.pingMailConnectionsMax,
        peerConnectionsMax: config.pingMailPeerConnectionsMax,
        peerMessagesPerMinute: config.pingMailPeerRate,
        keptBytes: config.pingMailKeptBytes,
        keptBytesBeyond: config.pingBodyLimitBytes,
        log,
      });
      try {
        await opening.start();
      } catch (error) {
        await receiving.leave();
        throw error;
      }
      server = opening;
      return [];
    },
    opened: () => receiving.opened(),
    closing: () => {
      receiving.closing();
      server?.stopAccepting();
    },
    close: async () => {
      await server?.stop();
      await receiving.leave();
    },
    problem: () => (server === null ? "has not started" : (server.problem() ?? receiving.problem())),
    ownAddress: () => server?.address() ?? null,
  };
}

function switchedOff(config: Config): ServerRole {
  return {
    name: "smtp",
    needsDatabase: needsDatabaseToReceive(config),
    open: async () => [],
    close: async () => {},
    problem: () => null,
    ownAddress: () => null,
  };
}

function readCertificate(config: Config): { cert: string; key: string } | null {
  const certificate = config.pingMailCertificate;
  const key = config.pingMailCertificateKey;
  if (certificate === null || key === null) return null;
  const pair = {
    cert: readPem(certificate, "OVERDUE_PING_MAIL_CERTIFICATE"),
    key: readPem(key, "OVERDUE_PING_MAIL_CERTIFICATE_KEY"),
  };
  try {
    createSecureContext(pair);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([
      `OVERDUE_PING_MAIL_CERTIFICATE and OVERDUE_PING_MAIL_CERTIFICATE_KEY cannot be used (${why}). Set them to PEM files with a certificate and its private key without a passphrase.`,
    ]);
  }
  return pair;
}

function readPem(path: string, setting: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([
      `Cannot read the file in ${setting} (${why}). Correct the path or its permissions.`,
    ]);
  }
}

function figures(server: () => MailServer | null): Figure[] {
  return [
    {
      name: "overdue_mail_signals_total",
      help: "Pings by email, by result.",
      kind: "counter",
      label: "outcome",
      readEach: () => server()?.counts().answers ?? {},
    },
    {
      name: "overdue_mail_connections",
      help: "Open SMTP connections.",
      kind: "gauge",
      read: () => server()?.counts().connections.open ?? null,
    },
    {
      name: "overdue_mail_connections_refused_total",
      help: "SMTP connections rejected, or closed to make room.",
      kind: "counter",
      label: "how",
      readEach: () => {
        const { refused = 0, cutOff = 0 } = server()?.counts().connections ?? {};
        return { refused, cutOff };
      },
    },
  ];
}
