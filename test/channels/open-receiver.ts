// A sender whose requests go to the receiver of a kind, for tests of that kind.
import { afterAll, afterEach, beforeAll } from "vitest";
import type { ChannelConfig } from "../../src/channels/channel-config.ts";
import type { Sender, SenderOptions } from "../../src/channels/sender.ts";
import type { SendResult } from "../../src/core/delivery.ts";
import type { AlertMessage } from "../../src/core/message.ts";
import { type GuardedHttp, guardedHttp } from "../../src/lib/outgoing-http.ts";
import type { Receiver } from "../receivers/receiver.ts";
import { reroute } from "../receivers/reroute.ts";
import { DEDUPE_KEY, RECEIVERS, sampleChannel, sampleSender } from "./sample-kinds.ts";
import { NOW } from "./sample-messages.ts";

export type Opened<Of extends Receiver = Receiver> = {
  kind: string;
  receiver: Of;
  sender: Sender;
  send: (message: AlertMessage, given?: { config?: ChannelConfig; attempt?: number }) => Promise<SendResult>;
};

/** Opens receivers of kinds for the tests of a file, and closes them after each. */
export function useReceivers() {
  let http: GuardedHttp;
  let opened: Receiver[] = [];
  beforeAll(() => {
    http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
  });
  afterEach(async () => {
    for (const receiver of opened) await receiver.close();
    opened = [];
  });
  afterAll(() => http.close());

  return async function open<Of extends Receiver = Receiver>(
    kind: string,
    { started, ...options }: { started?: Promise<Of> } & Partial<SenderOptions> = {},
  ): Promise<Opened<Of>> {
    const of = RECEIVERS[kind];
    if (of === undefined) throw new Error(`there is no receiver of ${kind}`);
    const receiver = (await (started ?? of.start())) as Of;
    opened.push(receiver);
    const rerouted = reroute(http, Object.fromEntries(of.origins.map((origin) => [origin, receiver.url])));
    const sender = sampleSender({ http: rerouted, ...options });
    return {
      kind,
      receiver,
      sender,
      send: (message, { config, attempt = 1 } = {}) =>
        sender.send(sampleChannel(kind, config), message, { dedupeKey: DEDUPE_KEY, attempt, now: NOW }),
    };
  };
}
