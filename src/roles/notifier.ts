// The role that sends what is owed. Several may run, also on one machine: each message is claimed by one of them, and
// whatever one of them leaves behind is found by the others.
import type { Config } from "../config.ts";
import type { Log } from "../lib/log.ts";
import type { Loop } from "../lib/loop.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Database } from "../store/db.ts";
import { openMail } from "./ways-out/mail.ts";
import { chatSetUpLoop } from "./notifying/chat-set-up.ts";
import { openPorts } from "./notifying/ports.ts";
import { sendingLoop } from "./notifying/sending.ts";

export type NotifierResources = { config: Config; database: Database; log: Log; metrics: Metrics };

/** The role as a part of a process. */
export function notifierRole({ config, database, log, metrics }: NotifierResources): Loop {
  const mail = openMail({ config, database, log, metrics });
  const opened = openPorts(config, { mail: mail?.port ?? null });
  const { ports, http } = opened;
  const { telegramToken: token, siteName } = config;
  const loops = [
    sendingLoop({ database, log, metrics }, ports),
    ...(token === null ? [] : [chatSetUpLoop({ database, http, token, siteName, log }, metrics.loops)]),
    ...(mail?.loops ?? []),
  ];
  return sideBySide("notifier", {
    loops,
    close: async () => {
      await mail?.close();
      await opened.close();
    },
  });
}

/** Several loops as one part of the process. What they share is closed when the last of them has ended. */
function sideBySide(
  name: string,
  { loops, close }: { loops: readonly Loop[]; close: () => Promise<void> },
): Loop {
  return {
    name,
    start: async () => {
      for (const loop of loops) await loop.start();
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      await close();
    },
    trouble: () => loops.map((loop) => loop.trouble()).find((trouble) => trouble !== null) ?? null,
  };
}
