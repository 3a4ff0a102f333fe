// The way that requests take out of the house: by connections of our own, or through a proxy. Either way a target is
// judged before anybody hears of it.
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { type ConnectorOptions, guardedConnector, judgeName } from "./connector.ts";
import { isLiteralAddress, refusalOfUrl } from "./destination.ts";
import { OutgoingError } from "./outgoing-error.ts";

export type Way = {
  /** Throws for a target that may not be called. */
  judge(url: URL, signal: AbortSignal): Promise<void>;
  /** Through what the next request goes. */
  dispatcher(): Dispatcher;
  /** Whoever still waits for an answer is told so; a connection that hangs is not waited for. */
  close(): Promise<void>;
};

/** Many channels share the few addresses of the large providers. */
const CONNECTIONS_PER_ORIGIN_MAX = 32;
const KEEP_ALIVE_MS = 4_000;
/** A proxy client remembers every plain address that it was ever asked for; it is replaced before these are many. */
const PROXIED_REQUESTS_MAX = 1_000;

const LIMITS = {
  connections: CONNECTIONS_PER_ORIGIN_MAX,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // Whatever the other side says how long it would like to be kept.
  keepAliveMaxTimeout: KEEP_ALIVE_MS,
  allowH2: false,
};

/** How requests leave: through the proxy, if there is one. */
export function wayOut(options: ConnectorOptions & { proxyUrl?: string | null }): Way {
  const { proxyUrl = null } = options;
  return proxyUrl === null ? directWay(options) : proxiedWay(proxyUrl, options);
}

function directWay(options: ConnectorOptions): Way {
  const agent = new Agent({ ...LIMITS, connect: guardedConnector(options) });
  return {
    judge: async (url) => refuseBySight(url, options),
    dispatcher: () => agent,
    close: () => agent.destroy(),
  };
}

/** Behind a proxy, names are looked up here as well: nobody else would judge what they stand for. */
function proxiedWay(uri: string, options: ConnectorOptions): Way {
  let agent = new ProxyAgent({ ...LIMITS, uri });
  let requests = 0;
  const retired = new Set<ProxyAgent>();
  return {
    judge: async (url, signal) => {
      refuseBySight(url, options);
      if (!isLiteralAddress(url.hostname)) await within(signal, judgeName(url.hostname, options));
    },
    dispatcher: () => {
      requests += 1;
      if (requests > PROXIED_REQUESTS_MAX) {
        const old = agent;
        retired.add(old);
        // Ends when the last of its requests has, or fails because everything is closed before.
        const forget = () => retired.delete(old);
        void old.close().then(forget, forget);
        agent = new ProxyAgent({ ...LIMITS, uri });
        requests = 1;
      }
      return agent;
    },
    close: async () => {
      await Promise.all([agent, ...retired].map((one) => one.destroy()));
    },
  };
}

function refuseBySight(url: URL, options: ConnectorOptions): void {
  const refusal = refusalOfUrl(url, options);
  if (refusal !== null) throw new OutgoingError("refused", { text: refusal });
}

/** What takes longer than the whole request may is not waited for. */
async function within(signal: AbortSignal, looking: Promise<void>): Promise<void> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(new OutgoingError("timeout", { mayHaveArrived: false }));
  signal.addEventListener("abort", stop, { once: true });
  try {
    await Promise.race([looking, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
