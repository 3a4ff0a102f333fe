// Where a request of ours may go when somebody else has chosen its address. Judges schemes, ports and addresses;
// it looks nothing up. What a name stands for is judged where the connection is made: see connector.ts.
import ipaddr from "ipaddr.js";

export type DestinationPolicy = {
  /** Whether machines of the operator's own network may be reached: their chat server is often one of them. */
  allowPrivate: boolean;
};

/** Why an address is not gone to. The texts are shown to whoever gave the address. */
export const REFUSED = {
  incomplete: "Invalid URL",
  scheme: "Only http and https URLs are allowed",
  credentials: "Redirects to URLs that contain a user name or password are not followed",
  port: "This port is reserved for a protocol other than HTTP",
  address: "Connections to private IP addresses are not allowed",
} as const;

export type RefusedText = (typeof REFUSED)[keyof typeof REFUSED];

/** Ranges of the operator's own network. Everything else that is not global is never called. */
const PRIVATE_RANGES = new Set(["loopback", "private", "uniqueLocal", "carrierGradeNat"]);

/** Services of cloud providers that give secrets to whoever runs on the machine, outside of the local ranges. */
const METADATA_ADDRESSES = new Set([
  "168.63.129.16",
  "100.100.100.200",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
  "fd00:42::42",
]);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** A form of old that resolvers still print. The parser takes it for a mapped address, which is another one. */
const COMPATIBLE = /^[0:]*::(0:)*[0-9]+\./;
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/** Whether an IP address may be connected to. Text that is none may not. */
export function isAllowedAddress(text: string, { allowPrivate }: DestinationPolicy): boolean {
  const bare = text.replace(/^\[|\]$/g, "").replace(/%.*$/s, "");
  if (!ipaddr.isValid(bare) || COMPATIBLE.test(bare)) return false;
  // An IPv4 address in the clothes of an IPv6 one is judged as what it is.
  const address = ipaddr.process(bare);
  if (METADATA_ADDRESSES.has(address.toString())) return false;
  if (address instanceof ipaddr.IPv6 && address.match(NAT64)) return isGlobal(embedded(address));
  return isGlobal(address) || (allowPrivate && PRIVATE_RANGES.has(address.range()));
}

function isGlobal(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast" || METADATA_ADDRESSES.has(address.toString())) return false;
  // Old ways to write IPv4 into IPv6 lie outside of the part of the space that is handed out.
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST);
}

/** What a translator between the families would connect to: machines without IPv4 reach all of it in this way. */
function embedded(address: ipaddr.IPv6): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}

/** Whether a host, as a URL has it, is an address and no name. */
export function isLiteralAddress(hostname: string): boolean {
  return ipaddr.isValid(hostname.replace(/^\[|\]$/g, ""));
}

/** Names that stand for the machine itself, without anybody being asked. */
const OWN_NAME = /^(.+\.)?localhost\.?$/i;

/**
 * What can be said about an address before it is called, for whoever types it: "private", when the operator's policy
 * alone speaks against it, "never", when nothing would help, "port", or null. A name that has to be looked up may
 * still be refused later.
 */
export function foreseenTrouble(url: URL, policy: DestinationPolicy): "private" | "never" | "port" | null {
  const bare = new URL(url);
  // Taken out before the address is called, too: see takeLogin in guarded-http.ts.
  bare.username = "";
  bare.password = "";
  if (OWN_NAME.test(bare.hostname)) bare.hostname = "127.0.0.1";
  const refusal = refusalOfUrl(bare, policy);
  if (refusal === null) return null;
  if (refusal === REFUSED.port) return "port";
  if (refusal !== REFUSED.address) return "never";
  return refusalOfUrl(bare, { ...policy, allowPrivate: true }) === null ? "private" : "never";
}

/** Ports on which something else than HTTP listens, and might take a request for an order. */
const FOREIGN_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1433, 1521, 1719, 1720,
  1723, 2049, 2375, 2376, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667,
  6668, 6669, 6679, 6697, 9042, 10080, 11211, 27017,
]);

const PORT_OF_SCHEME = new Map([
  ["http:", 80],
  ["https:", 443],
]);

/** What speaks against calling a URL, as far as it can be seen without looking its name up; null: nothing. */
export function refusalOfUrl(url: URL, policy: DestinationPolicy): RefusedText | null {
  const usual = PORT_OF_SCHEME.get(url.protocol);
  if (usual === undefined) return REFUSED.scheme;
  if (url.username !== "" || url.password !== "") return REFUSED.credentials;
  if (FOREIGN_PORTS.has(url.port === "" ? usual : Number(url.port))) return REFUSED.port;
  if (isLiteralAddress(url.hostname) && !isAllowedAddress(url.hostname, policy)) return REFUSED.address;
  return null;
}
