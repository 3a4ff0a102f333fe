// Makes connections for requests whose address somebody else has chosen. A literal address is judged before, a
// name by each address that it stands for, and the peer once more when the connection is there, because a name
// may stand for something else a moment later.
import type { LookupAddress, LookupOptions } from "node:dns";
import { buildConnector } from "undici";
import { type DestinationPolicy, isAllowedAddress, isLiteralAddress, REFUSED } from "./destination.ts";
import { guardedNameLookup, type NameLookup } from "./name-lookup.ts";
import { OutgoingError } from "./outgoing-error.ts";

const CONNECT_MS_MAX = 10_000;

type LookupDone = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** `lookup` is handed in by tests that need names of their own. */
export type ConnectorOptions = DestinationPolicy & { lookup?: NameLookup };

/** A connector for undici that reaches allowed addresses and no others. */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  // One request for each connection at a time: what is slow delays nobody, and there is one parser to trust.
  const connect = buildConnector({ timeout: CONNECT_MS_MAX, allowH2: false, lookup: guardedLookup(options) });
  return (target, done) => {
    const { hostname } = target;
    if (isLiteralAddress(hostname) && !isAllowedAddress(hostname, options)) {
      return done(new OutgoingError("refused", { text: REFUSED.address }), null);
    }
    connect(target, (error, socket) => {
      // On failure there is no socket, whatever the types say.
      if (error !== null) return done(error, null);
      if (isAllowedAddress(socket.remoteAddress ?? "", options)) return done(null, socket);
      socket.destroy();
      return done(new OutgoingError("refused", { text: REFUSED.address }), null);
    });
  };
}

/** A name as those of its addresses that may be gone to; a refusal when there are none. */
function guardedLookup(
  options: ConnectorOptions,
): (hostname: string, lookup: LookupOptions, done: LookupDone) => void {
  const { lookup = guardedNameLookup } = options;
  return (hostname, wanted, done) => {
    lookup(hostname, { ...wanted, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const allowed = addresses.filter(({ address }) => isAllowedAddress(address, options));
      const [first] = allowed;
      if (first === undefined) return done(new OutgoingError("refused", { text: REFUSED.address }), []);
      if (wanted.all === true) return done(null, allowed);
      return done(null, first.address, first.family);
    });
  };
}

/**
 * Whether every address of a name may be gone to. Stricter than a connection of our own, which picks the allowed
 * ones: whoever connects in our place picks as it likes.
 */
export function judgeName(hostname: string, options: ConnectorOptions): Promise<void> {
  const { lookup = guardedNameLookup } = options;
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error !== null) return reject(error);
      const isAllowed =
        addresses.length > 0 && addresses.every(({ address }) => isAllowedAddress(address, options));
      return isAllowed ? resolve() : reject(new OutgoingError("refused", { text: REFUSED.address }));
    });
  });
}
