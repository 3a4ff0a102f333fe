// The guarded client as the settings want it: the only way to addresses that somebody else has chosen.
import type { Config } from "../../config.ts";
import { type GuardedHttp, guardedHttp } from "../../lib/outgoing/guarded-http.ts";

const USER_AGENT = "Overdue";

/** Opens a client. Close it at the end; what is under way then fails. */
export function openOutgoing(config: Pick<Config, "allowPrivateAddresses" | "outgoingProxy">): GuardedHttp {
  return guardedHttp({
    userAgent: USER_AGENT,
    allowPrivate: config.allowPrivateAddresses,
    proxyUrl: config.outgoingProxy,
  });
}
