// The kinds of setting values: how their text is parsed, validated, printed and masked. An error never repeats the
// text, because it may be a secret.
import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import {
  formatListenAddress,
  isAddressRange,
  isHostName,
  type ListenAddress,
  parseListenAddress,
} from "./address.ts";

/** The result of parsing: a value, or the end of a sentence that starts with the setting's name. */
export type Parsed<T> = { value: T } | { problem: string };

export type ValueKind<T> = {
  /** For documentation: "whole number, 1 to 10". */
  describe: string;
  parse(text: string): Parsed<T>;
  print(value: T): string;
  /** The visible part of a secret; without it nothing is shown. */
  mask?(value: T): string;
  /** The parts of a secret value that must not be logged; without it, the printed value. */
  secretsIn?(value: T): string[];
};

/** Shown in place of a secret. */
export const MASK = "********";

/** Query parameters of a database URL that contain a secret. */
const SECRET_PARAMETERS = ["password", "sslpassword"];
const TRUE_WORDS = ["true", "1", "yes", "on"];
const FALSE_WORDS = ["false", "0", "no", "off"];

/** Any text of at least `lengthMin` characters. */
export function textKind({ lengthMin }: { lengthMin: number }): ValueKind<string> {
  return {
    describe: lengthMin === 1 ? "text" : `text, at least ${lengthMin} characters`,
    parse: (text) =>
      text.length < lengthMin
        ? { problem: `must be at least ${lengthMin} characters long` }
        : { value: text },
    print: (value) => value,
  };
}

/** A name that is shown to users or sent in a message. */
export function nameKind({ lengthMax }: { lengthMax: number }): ValueKind<string> {
  return {
    describe: `text on one line, at most ${lengthMax} characters`,
    parse: (text) =>
      text.length > lengthMax || /[\p{Cc}\u2028\u2029]/u.test(text)
        ? { problem: `must be a single line of at most ${lengthMax} characters` }
        : { value: text },
    print: (value) => value,
  };
}

const TOKEN_LENGTH_MIN = 10;
const TOKEN_LENGTH_MAX = 200;

/** A token that is sent in a URL or a request header. */
export const tokenKind: ValueKind<string> = {
  describe: `token of ${TOKEN_LENGTH_MIN} to ${TOKEN_LENGTH_MAX} characters`,
  parse: (text) => {
    const isLengthRight = text.length >= TOKEN_LENGTH_MIN && text.length <= TOKEN_LENGTH_MAX;
    if (isLengthRight && /^[\w:.-]+$/.test(text)) return { value: text };
    return {
      problem: `must be ${TOKEN_LENGTH_MIN} to ${TOKEN_LENGTH_MAX} characters long and contain only letters, digits and _ : . -`,
    };
  },
  print: (value) => value,
};

/** A server by host name or IP address. */
export const hostKind: ValueKind<string> = {
  describe: "host name or IP address",
  parse: (text) =>
    isIP(text) !== 0 || isHostName(text)
      ? { value: text }
      : { problem: "must be a host name or IP address, without a scheme or port" },
  print: (value) => value,
};

/** Disables the feature that needs the folder. */
export const OFF = "off";

/** A folder by absolute path, independent of the working directory, or "off". */
export const folderOrOffKind: ValueKind<string> = {
  describe: "absolute path, or off",
  parse: (text) => {
    if (text.toLowerCase() === OFF) return { value: OFF };
    if (isAbsolute(text)) return { value: text };
    return { problem: "must be an absolute path such as /var/lib/overdue, or off" };
  },
  print: (value) => value,
};

/** A whole number of `unit` in an inclusive range. */
export function integerKind({
  min,
  max,
  unit,
}: {
  min: number;
  max: number;
  unit: string;
}): ValueKind<number> {
  return {
    describe: `whole number from ${min} to ${max} (${unit})`,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= min && value <= max) return { value };
      return { problem: `must be a whole number from ${min} to ${max} (${unit})` };
    },
    print: String,
  };
}

const PORT_MAX = 65_535;
const PORT_NUMBER = integerKind({ min: 1, max: PORT_MAX, unit: "ports" });

/** The port of a server. */
export const portKind: ValueKind<number> = {
  ...PORT_NUMBER,
  describe: `port number from 1 to ${PORT_MAX}`,
  parse: (text) => {
    const parsed = PORT_NUMBER.parse(text);
    return "value" in parsed ? parsed : { problem: `must be a port number from 1 to ${PORT_MAX}` };
  },
};

/** A duration, always in seconds. */
export function secondsKind({ min, max }: { min: number; max: number }): ValueKind<number> {
  return integerKind({ min, max, unit: "seconds" });
}

/** "true" or "false"; also 1, yes, on and their opposites, case-insensitive. */
export const booleanKind: ValueKind<boolean> = {
  describe: "true or false",
  parse: (text) => {
    const word = text.toLowerCase();
    if (TRUE_WORDS.includes(word)) return { value: true };
    if (FALSE_WORDS.includes(word)) return { value: false };
    return { problem: "must be true or false" };
  },
  print: String,
};

/** One of a few words. */
export function choiceKind<const Word extends string>(words: readonly Word[]): ValueKind<Word> {
  return {
    describe: words.join(" | "),
    parse: (text) => {
      const value = words.find((word) => word === text);
      return value === undefined ? { problem: `must be one of ${words.join(", ")}` } : { value };
    },
    print: (value) => value,
  };
}

/** An http or https URL without a query; a path is kept, a trailing slash is removed. */
export const webAddressKind: ValueKind<string> = {
  describe: "http or https URL",
  parse: (text) => {
    const url = URL.parse(text);
    const web = url !== null && (url.protocol === "http:" || url.protocol === "https:");
    if (!web) return { problem: "must be a URL such as https://overdue.example.org" };
    if (url.search !== "" || url.hash !== "") return { problem: "must not contain ? or #" };
    if (url.username !== "" || url.password !== "")
      return { problem: "must not contain a user name or password" };
    return { value: url.href.replace(/(?<!\/)\/+$/, "") };
  },
  print: (value) => value,
};

/** An http or https URL that is requested unchanged; it may be a secret. */
export const calledAddressKind: ValueKind<string> = {
  describe: "http or https URL",
  parse: (text) => {
    const url = URL.parse(text);
    const web = url !== null && (url.protocol === "http:" || url.protocol === "https:");
    if (!web) return { problem: "must be a URL that starts with http:// or https://" };
    if (url.username !== "" || url.password !== "")
      return { problem: "must not contain a user name or password" };
    return { value: url.href };
  },
  print: (value) => value,
  // In most URLs of this kind, only the path is secret.
  secretsIn: (value) => {
    const { pathname, search } = new URL(value);
    return [value, pathname + search, pathname].filter((text) => text !== "/");
  },
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const uuidKind: ValueKind<string> = {
  describe: "UUID",
  parse: (text) => {
    const value = text.toLowerCase();
    return UUID.test(value) ? { value } : { problem: "must be a UUID" };
  },
  print: (value) => value,
};

/** The URL of an HTTP proxy; it may contain a user name and password, which are never shown. */
export const proxyUrlKind: ValueKind<string> = {
  describe: "http or https URL of a proxy",
  parse: (text) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol))
      return { problem: "must be a URL such as http://proxy.example.org:3128" };
    if (url.pathname !== "/" || url.search !== "" || url.hash !== "")
      return { problem: "must not contain a path, ? or #" };
    return { value: url.href };
  },
  print: (value) => value,
  mask: (value) => {
    const url = new URL(value);
    return url.username === "" && url.password === "" ? value : `${url.protocol}//${MASK}@${url.host}/`;
  },
  secretsIn: (value) => {
    const { password } = new URL(value);
    return [password, decoded(password)].filter((text) => text !== "");
  },
};

/** The percent-decoded text; unchanged if it cannot be decoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A listen address: "host:port". */
export const listenKind: ValueKind<ListenAddress> = {
  describe: "host:port; port 0 selects a free port",
  parse: (text) => {
    const value = parseListenAddress(text);
    if (value !== null) return { value };
    return { problem: "must be host:port, for example 127.0.0.1:9464 or [::1]:9464" };
  },
  print: formatListenAddress,
};

/** One address or an address range. */
export const addressRangeKind: ValueKind<string> = {
  describe: "IP address or range such as 10.0.0.0/8",
  parse: (text) =>
    isAddressRange(text)
      ? { value: text }
      : { problem: "must contain IP addresses or ranges such as 10.0.0.0/8 or fd00::/8" },
  print: (value) => value,
};

/** A short lower-case word, such as the name of a role. */
export const wordKind: ValueKind<string> = {
  describe: "word",
  parse: (text) =>
    /^[a-z][a-z0-9-]{0,31}$/.test(text) ? { value: text } : { problem: "must contain lowercase words" },
  print: (value) => value,
};

/** Several values separated by commas; spaces around them do not matter. */
export function listKind<T>(item: ValueKind<T>, { countMax }: { countMax: number }): ValueKind<T[]> {
  return {
    describe: `comma-separated list (${item.describe})`,
    parse: (text) => {
      const texts = text.split(",").map((part) => part.trim());
      if (texts.length > countMax) return { problem: `must contain at most ${countMax} values` };
      const values: T[] = [];
      for (const part of texts) {
        const parsed = item.parse(part);
        if ("problem" in parsed) return { problem: `${parsed.problem}, separated by commas` };
        values.push(parsed.value);
      }
      return { value: values };
    },
    print: (values) => values.map((value) => item.print(value)).join(", "),
  };
}

/** How much a connection to PostgreSQL is protected, in libpq's words. */
export const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
export type SslMode = (typeof SSL_MODES)[number];
/** The default of libpq. */
const DEFAULT_SSL_MODE: SslMode = "prefer";

/** The mode in the query of a database URL. `ssl=true` is an older form of `require`. */
export function sslModeOf(query: URLSearchParams): SslMode {
  const given = query.get("sslmode") ?? (query.get("ssl") === "true" ? "require" : null);
  return SSL_MODES.find((mode) => mode === given) ?? DEFAULT_SSL_MODE;
}

/** Why the query of a database URL is invalid; null if it is valid. */
function sslProblem(query: URLSearchParams): string | null {
  const mode = query.get("sslmode");
  if (mode !== null && !SSL_MODES.some((known) => known === mode)) {
    return `must have one of these sslmodes: ${SSL_MODES.join(", ")}`;
  }
  if (query.has("ssl") && query.get("ssl") !== "true") return "must use sslmode instead of ssl";
  const isWeak = ["disable", "allow", "prefer"].includes(sslModeOf(query));
  if (query.get("sslnegotiation") === "direct" && isWeak) {
    return "must use sslmode=require, verify-ca, or verify-full with sslnegotiation=direct";
  }
  return null;
}

/** The host of a database URL; a path is the folder of a Unix socket. */
export function databaseHostOf(text: string): string | null {
  const url = parseDatabaseUrl(text);
  return url === null ? null : (url.searchParams.get("host") ?? decodeURIComponent(url.hostname));
}

/** The URL of a PostgreSQL database; its password is masked. */
export const databaseUrlKind: ValueKind<string> = {
  describe: "postgres URL",
  parse: (text) => {
    const url = parseDatabaseUrl(text);
    if (url === null) {
      return {
        problem:
          "must look like postgres://user:password@host:5432/database, with special characters in the password percent-encoded",
      };
    }
    if (url.pathname.length < 2)
      return { problem: "must end with a database name, as in …@host:5432/overdue" };
    const problem = sslProblem(url.searchParams);
    return problem === null ? { value: text } : { problem };
  },
  print: (value) => value,
  mask: (value) => {
    const url = parseDatabaseUrl(value);
    if (url === null) return MASK;
    if (url.password !== "") url.password = MASK;
    for (const name of SECRET_PARAMETERS) if (url.searchParams.has(name)) url.searchParams.set(name, MASK);
    return value.includes("@/") ? url.href.replace("@localhost/", "@/") : url.href;
  },
  // As written, and decoded.
  secretsIn: (value) => {
    const url = parseDatabaseUrl(value);
    if (url === null) return [value];
    const query = SECRET_PARAMETERS.map((name) => url.searchParams.get(name) ?? "");
    return [url.password, decodeURIComponent(url.password), ...query].filter((secret) => secret !== "");
  },
};

/** The driver allows an empty host (a Unix socket named in the query), which the URL parser does not. */
function parseDatabaseUrl(text: string): URL | null {
  const url = URL.parse(text.replace("@/", "@localhost/"));
  if (url === null || !(url.protocol === "postgres:" || url.protocol === "postgresql:")) return null;
  try {
    decodeURIComponent(url.username + url.password);
    return url;
  } catch {
    // A literal % in a password: the driver could not parse it either.
    return null;
  }
}

/** A bare address: one @, no spaces, nothing that could end it or begin another one. */
const ADDRESS = /^[^\s@<>"',;:()[\]\\]+@[^\s@<>"',;:()[\]\\]+$/;
const NAMED = /^[^<>"\r\n]*<(?<address>[^<>\s]+)>$/;

/** The placeholder for a signature in the return path. */
const PLACE = "%s";

/** A sender: an address, optionally with a name. */
export const senderKind: ValueKind<string> = {
  describe: "email address, optionally as Name <address>",
  parse: (text) =>
    ADDRESS.test(addressIn(text))
      ? { value: text }
      : { problem: "must be an email address such as alerts@example.org or Alerts <alerts@example.org>" },
  print: (value) => value,
};

/** A return path with a placeholder for the signature of the email. */
export const returnPathKind: ValueKind<string> = {
  describe: `email address with ${PLACE} before the @`,
  parse: (text) => {
    const isGood =
      text.split(PLACE).length === 2 && ADDRESS.test(text) && text.split("@")[0]?.includes(PLACE);
    return isGood
      ? { value: text }
      : { problem: `must be an email address such as ${PLACE}@bounces.example.org` };
  },
  print: (value) => value,
};

/** The return path with its placeholder filled in. */
export function returnPathFor(template: string, localPart: string): string {
  return template.replace(PLACE, () => localPart);
}

/** The bare address of a sender. */
export function addressIn(sender: string): string {
  return NAMED.exec(sender)?.groups?.["address"] ?? sender;
}
