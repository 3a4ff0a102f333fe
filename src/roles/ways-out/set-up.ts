// What setting up an installation needs of this process: its memory of requests that found nothing, and a way to try
// the mail server of the settings.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Config } from "../../config.ts";
import { SCHEME_LENGTH_MAX } from "../../core/limits.ts";
import { clientAddressReader } from "../../lib/http/client-address.ts";
import { type RecentMisses, recentMisses } from "../../lib/http/recent-misses.ts";
import { openMailSender } from "../../lib/mail/mail-sender.ts";
import { addressIn } from "../../lib/mail/mail-setting.ts";
import type { SetUpParts } from "../../services/web/set-up/set-up-parts.ts";
import { mailServerOf } from "./mail.ts";

/** A memory for the whole process: the services that answer fill it, the dashboard reads it. */
export function missesOf({ trustedProxies }: Config): RecentMisses {
  const clientOf = clientAddressReader(trustedProxies, { schemeLengthMax: SCHEME_LENGTH_MAX });
  const remoteAddrOf = ({ socket, headers }: IncomingMessage) =>
    clientOf({
      peer: socket.remoteAddress,
      forwardedFor: headers["x-forwarded-for"],
      forwardedProto: headers["x-forwarded-proto"],
    }).remoteAddr;
  return recentMisses({ remoteAddrOf });
}

/** The parts for the dashboard. */
export function setUpPartsOf(config: Config, misses: RecentMisses): SetUpParts {
  const server = mailServerOf(config);
  return {
    port: config.listen.port,
    missesSince: (at) => misses.since(at),
    mail: server && {
      host: `${server.host}:${server.port}`,
      from: server.from,
      send: async (mail) => {
        // A connection of its own: what is tried is what the settings say now.
        const sender = openMailSender(server);
        try {
          const domain = addressIn(server.from).split("@").at(-1) ?? "localhost";
          return await sender.send({ ...mail, messageId: `<${randomUUID()}@${domain}>` });
        } finally {
          await sender.close();
        }
      },
    },
  };
}
