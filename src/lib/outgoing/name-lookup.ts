// Looks up names that somebody else has chosen. The system's resolver works in the few threads of the process, two at a
// time, and may take half a minute for a name whose server does not answer; names of the database and of mail servers
// would wait behind it. So names are asked for by DNS without threads first, and of the system one at a time.
import { lookup as systemLookup, type LookupAddress, type LookupOptions, Resolver } from "node:dns";
import { readFileSync, statSync } from "node:fs";

export type NameLookup = (
  hostname: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: string[]) => void,
) => void;

export type NameLookupParts = {
  resolve4: Resolve;
  resolve6: Resolve;
  system: NameLookup;
  /** Whether the list of hosts of this machine has a name, which then counts before DNS. */
  isListed: (hostname: string) => boolean;
};

const DNS_TIMEOUT_MS = 2_000;
const DNS_TRIES = 2;
/** Names that wait for the system's resolver; those beyond fail. */
export const WAITING_MAX = 100;

/** The servers of a name do not answer. The system would ask them again, and other names would wait for that. */
const UNANSWERED_CODES = ["ETIMEOUT", "ESERVFAIL"];

type Asked = { hostname: string; options: LookupOptions & { all: true }; done: Parameters<NameLookup>[2] };

/** A lookup that never occupies more than one thread. */
export function nameLookup({ resolve4, resolve6, system, isListed }: NameLookupParts): NameLookup {
  const waiting: Asked[] = [];
  let isAsking = false;
  const askNext = () => {
    const next = isAsking ? undefined : waiting.shift();
    if (next === undefined) return;
    isAsking = true;
    system(next.hostname, next.options, (error, addresses) => {
      isAsking = false;
      next.done(error, addresses);
      askNext();
    });
  };
  const askSystem = (asked: Asked) => {
    if (waiting.length >= WAITING_MAX)
      return asked.done(passing(`too many concurrent DNS lookups: ${asked.hostname}`), []);
    waiting.push(asked);
    askNext();
  };
  return (hostname, options, done) => {
    const asked = { hostname, options, done };
    // Names of one label are known to the system alone: in its list of hosts, or below a domain of its own.
    const isOfOneLabel = !hostname.replace(/\.$/, "").includes(".");
    if (isOfOneLabel || hostname.endsWith(".localhost") || isListed(hostname)) return askSystem(asked);
    const wanted = familiesOf(options);
    const found: LookupAddress[] = [];
    let left = wanted.length;
    let isUnanswered = false;
    for (const family of wanted) {
      (family === 4 ? resolve4 : resolve6)(hostname, (error, addresses) => {
        if (error === null) found.push(...addresses.map((address) => ({ address, family })));
        else if (UNANSWERED_CODES.includes(error.code ?? "")) isUnanswered = true;
        left -= 1;
        if (left > 0) return;
        if (found.length === 0) {
          return isUnanswered ? done(passing(`no DNS server responds: ${hostname}`), []) : askSystem(asked);
        }
        done(
          null,
          found.toSorted((one, other) => one.family - other.family),
        );
      });
    }
  };
}

function familiesOf({ family }: LookupOptions): number[] {
  if (family === 4 || family === "IPv4") return [4];
  return family === 6 || family === "IPv6" ? [6] : [4, 6];
}

/** An error that may be gone at the next try, under the system's name for it. */
function passing(message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code: "EAI_AGAIN" });
}

const HOSTS_FILE = "/etc/hosts";
/** A longer list is not read, because it is read in the event loop; its names are asked of DNS first. */
const HOSTS_BYTES_MAX = 1024 * 1024;

/** Reads a list of hosts when it has changed. */
export function hostsList(path: string): (hostname: string) => boolean {
  let version = "";
  let names: ReadonlySet<string> = new Set();
  return (hostname) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    const found = stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    if (found !== version) {
      names = stat === undefined || stat.size > HOSTS_BYTES_MAX ? new Set() : namesIn(path);
      version = found;
    }
    return names.has(hostname.toLowerCase().replace(/\.$/, ""));
  };
}

function namesIn(path: string): Set<string> {
  try {
    const lines = readFileSync(path, "utf8").toLowerCase().split("\n");
    return new Set(lines.flatMap((line) => (line.split("#")[0] ?? "").trim().split(/\s+/).slice(1)));
  } catch {
    return new Set();
  }
}

const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });

/** The one of this process. */
export const guardedNameLookup = nameLookup({
  resolve4: (hostname, done) => resolver.resolve4(hostname, done),
  resolve6: (hostname, done) => resolver.resolve6(hostname, done),
  system: systemLookup,
  isListed: hostsList(HOSTS_FILE),
});
