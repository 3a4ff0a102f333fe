// How messages leave the house, put together from the settings: the kinds of channels, the guarded way to other
// machines, and the check as JSON, which the kinds must not make themselves.
import { createSender } from "../../channels/sender.ts";
import type { MailPort } from "../../channels/mail-port.ts";
import type { Config } from "../../config.ts";
import { checkPresenter } from "../../contract/present-check.ts";
import { publicUrls } from "../../contract/urls.ts";
import { VERSIONS } from "../../contract/versions.ts";
import { sha1Hex } from "../../lib/secrets/hashes.ts";
import type { GuardedHttp } from "../../lib/outgoing/guarded-http.ts";
import { guardedObjects } from "../../operations/bodies/read-body.ts";
import type { Ports } from "../../operations/alerts/deliver.ts";
import { objectStoreOf } from "../ways-out/object-store.ts";
import { openOutgoing } from "../ways-out/outgoing.ts";

export type OpenPorts = { ports: Ports; http: GuardedHttp; close(): Promise<void> };

/** Opens the ports. `mail` null: this installation sends no mail. */
export function openPorts(config: Config, { mail }: { mail: MailPort | null }): OpenPorts {
  const urls = publicUrls(config);
  const http = openOutgoing(config);
  const showing = { column: VERSIONS.standard[3], endpoint: "getCheck", keyKind: "readWrite" } as const;
  const sender = createSender({
    http,
    mail,
    site: { name: config.siteName, url: urls.site },
    keys: { telegramToken: config.telegramToken, ntfyShToken: config.ntfyShToken },
    checkJson: (check, now) => checkPresenter(showing, { urls, now, sha1Hex })(check),
  });
  const ending = new AbortController();
  const objects = objectStoreOf(config, { signal: ending.signal });
  const ports: Ports = {
    send: (channel, message, sending) => sender.send(channel, message, sending),
    hears: (channel, what) => sender.hears(channel, what),
    rateOf: (kind) => sender.rateOf(kind),
    objects: objects === null ? null : guardedObjects(objects, { now: () => Date.now() }),
  };
  return {
    ports,
    http,
    close: async () => {
      ending.abort();
      await http.close();
    },
  };
}
