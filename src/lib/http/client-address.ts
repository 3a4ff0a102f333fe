// The client address and scheme of a request. Forwarding headers count only from trusted proxies. Unusable
// values are ignored.
import { BlockList, isIP, isIPv4, SocketAddress } from "node:net";

export type Forwarding = {
  /** The other end of the connection; undefined once it is gone. */
  peer: string | undefined;
  forwardedFor: string | string[] | undefined;
  forwardedProto: string | string[] | undefined;
};

export type ClientAddress = { remoteAddr: string | null; scheme: string };

/** The scheme without a proxy; a proxy that terminates TLS sends it in a header. */
const OWN_SCHEME = "http";
const MAPPED_PREFIX = "::ffff:";
const SCHEME = /^[a-z][a-z0-9+.-]*$/;
const WITH_PORT = /^(?:(?<four>\d{1,3}(?:\.\d{1,3}){3})|\[(?<six>[^\]]+)\]):\d{1,5}$|^\[(?<bare>[^\]]+)\]$/;
/** Bounds the cache of trusted addresses. */
const REMEMBERED_PEERS_MAX = 1_000;

/** A reader that trusts the headers of these proxies, given as addresses and ranges such as 10.0.0.0/8. */
export function clientAddressReader(
  trustedProxies: readonly string[],
  { schemeLengthMax }: { schemeLengthMax: number },
): (forwarding: Forwarding) => ClientAddress {
  const isTrusted = trustedPeers(trustedProxies);
  return ({ peer, forwardedFor, forwardedProto }) => {
    const direct = { remoteAddr: peer === undefined ? null : peerAddress(peer), scheme: OWN_SCHEME };
    // The check costs more than the rest of this function, and most connections have no such header.
    if ((forwardedFor ?? forwardedProto) === undefined || peer === undefined || !isTrusted(peer))
      return direct;
    const client = firstItem(forwardedFor);
    const scheme = firstItem(forwardedProto).toLowerCase();
    return {
      // The address of the proxy would be wrong, so none is returned.
      remoteAddr: client === "" ? direct.remoteAddr : addressOf(client),
      scheme: SCHEME.test(scheme) && scheme.length <= schemeLengthMax ? scheme : OWN_SCHEME,
    };
  };
}

/**
 * A reader of the verified address of a request; empty if unknown. Proxies append to the header, so the client
 * controls everything to the left: only the last address that is not a trusted proxy is certain.
 */
export function certainAddressReader(
  trustedProxies: readonly string[],
): (forwarding: Pick<Forwarding, "peer" | "forwardedFor">) => string {
  const isTrusted = trustedPeers(trustedProxies);
  return ({ peer, forwardedFor }) => {
    let address = peer === undefined ? "" : peerAddress(peer);
    if (forwardedFor === undefined) return address;
    const items = (typeof forwardedFor === "string" ? forwardedFor : forwardedFor.join(",")).split(",");
    while (items.length > 0 && isTrusted(address)) address = addressOf(items.pop()?.trim() ?? "") ?? "";
    return address;
  };
}

/** A reader of the network of that address, for counting requests. */
export function networkReader(trustedProxies: readonly string[]): ReturnType<typeof certainAddressReader> {
  const read = certainAddressReader(trustedProxies);
  return (forwarding) => networkOf(read(forwarding));
}

/** Returns whether the peer of a connection is one of these proxies. */
export function trustedPeers(ranges: readonly string[]): (peer: string) => boolean {
  const trusted = new BlockList();
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    if (prefix === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(prefix), family);
  }
  const remembered = new Map<string, boolean>();
  return (peer) => {
    const known = remembered.get(peer);
    if (known !== undefined) return known;
    if (remembered.size >= REMEMBERED_PEERS_MAX) remembered.clear();
    const address = withoutZone(peer);
    const answer = isIP(address) !== 0 && trusted.check(address, isIPv4(address) ? "ipv4" : "ipv6");
    remembered.set(peer, answer);
    return answer;
  };
}

/** A dual-stack socket reports IPv4 peers as IPv4-mapped IPv6 addresses. */
export function peerAddress(peer: string): string {
  const address = withoutZone(peer);
  if (!address.startsWith(MAPPED_PREFIX)) return address;
  const inner = address.slice(MAPPED_PREFIX.length);
  return isIPv4(inner) ? inner : address;
}

/** Proxies append to the header, so the first item is closest to the sender. */
function firstItem(header: string | string[] | undefined): string {
  if (header === undefined) return "";
  const text = typeof header === "string" ? header : header.join(",");
  const commaAt = text.indexOf(",");
  return (commaAt === -1 ? text : text.slice(0, commaAt)).trim();
}

/** The address in our format, without port and zone; null if it is not an address. */
function addressOf(text: string): string | null {
  if (isIPv4(text)) return text;
  if (isIP(text) === 6) return compressed(withoutZone(text));
  const { four, six, bare } = WITH_PORT.exec(text)?.groups ?? {};
  if (four !== undefined) return isIPv4(four) ? four : null;
  const inner = withoutZone(six ?? bare ?? "");
  return isIP(inner) === 6 ? compressed(inner) : null;
}

function compressed(address: string): string {
  return new SocketAddress({ address, family: "ipv6" }).address;
}

function withoutZone(address: string): string {
  const zoneAt = address.indexOf("%");
  return zoneAt === -1 ? address : address.slice(0, zoneAt);
}

const IPV6_GROUPS = 8;
/** A customer with IPv6 has a network of this many groups of sixteen bits. */
const IPV6_NETWORK_GROUPS = 4;

/** The network of one customer: an IPv4 address, or the first half of an IPv6 address. */
export function networkOf(given: string): string {
  const address = peerAddress(given);
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  // An IPv4 address at the end counts as two groups.
  const lastCount = last.length + (last.at(-1)?.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? 0 : IPV6_GROUPS - first.length - lastCount;
  const groups = [...first, ...Array.from({ length: Math.max(0, zeros) }, () => "0"), ...last];
  const network = groups
    .slice(0, IPV6_NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}

/** The block that a network is part of: the first byte of an IPv4 address, the first 32 bits of an IPv6 network. */
export function wideNetworkOf(network: string): string {
  if (!network.includes(":")) return `${network.split(".")[0]}.0.0.0/8`;
  return `${network.split(":").slice(0, 2).join(":")}::/32`;
}

/** Returns whether a network (`networkOf`) belongs to one of these proxies, given as addresses and ranges. */
export function proxyNetworks(ranges: readonly string[]): (network: string) => boolean {
  const isTrusted = trustedPeers(ranges);
  const single = new Set(ranges.filter((range) => !range.includes("/")).map(networkOf));
  return (network) => single.has(network) || isTrusted(network.split("/")[0] ?? "");
}
