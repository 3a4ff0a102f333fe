// Requests to ping URLs that reached no check, counted in memory until the next round looks them up. The memory and the
// lookups are bounded, and shared fairly between networks: a flood from one of them leaves room for the others.
import type { IncomingMessage } from "node:http";
import type { Instant } from "../../core/instant.ts";
import {
  NEAR_MISS_ADDRESSES_PER_NETWORK_MAX,
  NEAR_MISS_ARRIVALS_MAX,
  NEAR_MISS_LOOKUPS_MAX,
  USER_AGENT_LENGTH_MAX,
} from "../../core/limits.ts";
import { type Attempt, isUuidLike, type Manner, readAttempt, type Sighting } from "../../core/near-miss.ts";
import type { ClientAddress, Forwarding } from "../../lib/http/client-address.ts";
import { type LocatePing, splitPath } from "./ping-url.ts";

/** Requests with the same address. */
export type CollectedRequests = {
  attempt: Attempt;
  manner: Manner;
  sighting: Sighting;
  source: { method: string; remoteAddr: string | null; ua: string };
};

export type CollectorOptions = {
  locate: LocatePing;
  clientOf(forwarding: Forwarding): ClientAddress;
  networkOf(forwarding: Pick<Forwarding, "peer" | "forwardedFor">): string;
  now(): Instant;
};

/** A longer URL is not considered. */
const URL_LENGTH_MAX = 400;
const METHOD_LENGTH_MAX = 20;
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);
/** As many as are looked up, so that each of them gets at least one lookup. */
const NETWORKS_MAX = NEAR_MISS_LOOKUPS_MAX;

export class NearMissCollector {
  readonly #options: CollectorOptions;
  /** By network, then by address; the one that was added first is the first. */
  #networks = new Map<string, Map<string, CollectedRequests>>();
  #aliases: ReadonlyMap<string, string> = new Map();

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Counts a request whose response says that it reached no check, or (insecure) one that was recorded. */
  note(request: IncomingMessage, { isInsecure = false } = {}): void {
    const { url = "", headers, method = "", socket } = request;
    if (url.length > URL_LENGTH_MAX) return;
    const rest = this.#options.locate(url, headers.host);
    const segments = rest === null ? null : splitPath(pathOf(rest));
    const attempt = segments && readAttempt(segments);
    if (attempt === null) return;
    const forwarding = {
      peer: socket.remoteAddress,
      forwardedFor: headers["x-forwarded-for"],
      forwardedProto: headers["x-forwarded-proto"],
    };
    const manner = { isMethodAllowed: METHODS.has(method), isInsecure };
    const collected = this.#collectedIn(this.#options.networkOf(forwarding), { attempt, manner });
    const at = this.#options.now();
    const { sighting, source } = collected;
    sighting.count += 1;
    sighting.lastAt = Math.max(sighting.lastAt, at);
    sighting.firstAt = Math.min(sighting.firstAt, at);
    // A run that reports its start is counted once.
    const isEnd = attempt.action !== "start" && attempt.action !== "log";
    if (isEnd && sighting.arrivals.length < NEAR_MISS_ARRIVALS_MAX) sighting.arrivals.push(at);
    source.method = method.slice(0, METHOD_LENGTH_MAX);
    source.remoteAddr = this.#options.clientOf(forwarding).remoteAddr;
    source.ua = (headers["user-agent"] ?? "").slice(0, USER_AGENT_LENGTH_MAX);
  }

  /**
   * What was counted since the last call, as much as one round looks up: networks take turns, and each begins with what
   * it sent most often. The rest is discarded.
   */
  take(): CollectedRequests[] {
    const queues = Array.from(this.#networks.values(), (addresses) =>
      [...addresses.values()].toSorted((one, other) => other.sighting.count - one.sighting.count),
    );
    this.#networks = new Map();
    const taken: CollectedRequests[] = [];
    for (let turn = 0; turn < NEAR_MISS_ADDRESSES_PER_NETWORK_MAX; turn += 1) {
      for (const queue of queues) {
        const next = queue[turn];
        if (next !== undefined && taken.push(next) === NEAR_MISS_LOOKUPS_MAX) return taken;
      }
    }
    return taken;
  }

  /** Addresses in memory. */
  get size(): number {
    let size = 0;
    for (const addresses of this.#networks.values()) size += addresses.size;
    return size;
  }

  /** Sets the malformed addresses that are aliases, with the UUIDs of their checks. */
  setAliases(aliases: ReadonlyMap<string, string>): void {
    this.#aliases = aliases;
  }

  /** The path after the ping URL with the UUID in place of a malformed alias; null if it has none. */
  resolveAlias(rest: string): string | null {
    if (this.#aliases.size === 0) return null;
    const [, first = ""] = /^\/([^/?]*)/.exec(rest) ?? [];
    if (!isUuidLike(first)) return null;
    const uuid = this.#aliases.get(first);
    return uuid === undefined ? null : `/${uuid}${rest.slice(1 + first.length)}`;
  }

  #collectedIn(network: string, { attempt, manner }: Pick<CollectedRequests, "attempt" | "manner">): Counted {
    const addresses = this.#networks.get(network) ?? new Map<string, Counted>();
    if (!this.#networks.has(network)) {
      if (this.#networks.size >= NETWORKS_MAX) deleteFirst(this.#networks);
      this.#networks.set(network, addresses);
    }
    const name = nameOf(attempt, manner);
    const known = addresses.get(name) as Counted | undefined;
    if (known !== undefined) return known;
    if (addresses.size >= NEAR_MISS_ADDRESSES_PER_NETWORK_MAX) deleteLeast(addresses);
    const sighting = { count: 0, firstAt: Infinity, lastAt: 0, arrivals: [] };
    const added: Counted = { attempt, manner, sighting, source: { method: "", remoteAddr: null, ua: "" } };
    addresses.set(name, added);
    return added;
  }
}

type Counted = CollectedRequests & { sighting: Sighting & { arrivals: Instant[] } };

function pathOf(rest: string): string {
  const queryAt = rest.indexOf("?");
  return queryAt === -1 ? rest : rest.slice(0, queryAt);
}

function nameOf(attempt: Attempt, { isMethodAllowed, isInsecure }: Manner): string {
  const target = attempt.by === "uuid" ? attempt.text : `${attempt.pingKey}/${attempt.slug}`;
  return `${Number(isMethodAllowed)}${Number(isInsecure)} ${target} ${attempt.suffix ?? ""}`;
}

function deleteFirst(map: Map<string, unknown>): void {
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}

/** Removes the first of those that were seen once, or else the first. */
function deleteLeast(addresses: Map<string, CollectedRequests>): void {
  for (const [name, { sighting }] of addresses) {
    if (sighting.count > 1) continue;
    addresses.delete(name);
    return;
  }
  deleteFirst(addresses);
}
