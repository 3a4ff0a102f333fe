// Decides which requests are pings (everything under /ping/ on any host, under the published ping URL, and under its
// aliases), and parses them.
import { hasSlugCharacters, isUuid } from "../../core/identity.ts";
import { SLUG_LENGTH_MAX } from "../../core/limits.ts";
import { NO_PING_SETTINGS, type PingSettings, readPingSettings } from "../../core/ping-settings.ts";
import {
  type HttpAction,
  type LateEnd,
  parseExitStatus,
  parseLateEnd,
  parseRunId,
  type SignalTarget,
} from "../../core/signal.ts";
import { basePath, hostMatcher, requestTarget } from "../../lib/http/request-target.ts";

export type PublishedAddresses = {
  siteUrl: URL;
  /** The URL in front of every UUID, if it is not /ping/ on the site. */
  pingUrl: URL | null;
  /** Further URLs that are accepted like the ping URL; null: none. */
  pingAliases: readonly URL[] | null;
};

/** The rest of the path after the ping URL, from its slash on; null if the request is not a ping. */
export type LocatePing = (url: string, host: string | undefined) => string | null;

const PING_PATH = "/ping";
const UUID_LENGTH = 36;

/** A locator for these URLs. A path in the site's URL is accepted, whether or not a proxy removes it. */
export function pingLocator({ siteUrl, pingUrl, pingAliases }: PublishedAddresses): LocatePing {
  const sitePath = basePath(siteUrl);
  const locators: LocatePing[] = [under(PING_PATH)];
  if (sitePath !== "") locators.push(under(sitePath + PING_PATH));
  if (pingUrl !== null) locators.push(published(pingUrl, siteUrl));
  for (const alias of pingAliases ?? []) locators.push(published(alias, siteUrl));
  const locate: LocatePing = (path, host) => {
    for (const locator of locators) {
      const rest = locator(path, host);
      if (rest !== null) return rest;
    }
    return null;
  };
  return (url, host) => {
    // The hot path: nearly every request has the short form.
    if (url.startsWith("/")) return locate(url, host);
    const target = requestTarget(url, host);
    return target === null ? null : locate(target.path, target.host);
  };
}

/** On any host, below a path. */
function under(base: string): LocatePing {
  const prefix = `${base}/`;
  return (path) => (path.startsWith(prefix) ? path.slice(base.length) : null);
}

function published(pingUrl: URL, siteUrl: URL): LocatePing {
  const base = basePath(pingUrl);
  if (pingUrl.host !== siteUrl.host) {
    const isOurs = hostMatcher(pingUrl, siteUrl);
    const locate = under(base);
    return (path, host) => (isOurs(host) ? locate(path, host) : null);
  }
  // At the root of the site there are other pages, so only unambiguous paths are pings.
  return base === "" ? startsWithUuid : under(base);
}

function startsWithUuid(path: string): string | null {
  const end = path[1 + UUID_LENGTH];
  const isEnd = end === undefined || end === "/" || end === "?";
  return isEnd && isUuid(path.slice(1, 1 + UUID_LENGTH)) ? path : null;
}

// Decoding makes no lookups: for a malformed request with an unknown check, the response must still be "not found".

/** The problem of a request; only reported once the check is known to exist. */
export type PingFlaw = "invalidUrl" | "invalidRunId";

export type PingRequest = {
  target: SignalTarget;
  action: HttpAction;
  rid: string | null;
  flaw: PingFlaw | null;
  /** Create the check if it does not exist; only with a slug. */
  create: boolean;
  /** Of a success or failure; null: it is reported in time. */
  lateEnd: LateEnd | null;
};

/** "notFound": no check can exist there. "invalidUrl": not a ping URL, whatever the check. */
export type PingRefusal = "notFound" | "invalidUrl";

/** No key is longer, so the database is not queried. */
const PING_KEY_LENGTH_MAX = 100;
const KEY_OR_SLUG = /^[-a-zA-Z0-9_]+$/;

/** An impossible exit status is kept until it is known whether the check exists. */
type PathAction = HttpAction | "impossible";
type Route = { target: SignalTarget; action: PathAction };

/** Parses the path after the ping URL; it begins with a slash. */
export function decodePing(rest: string): PingRequest | PingRefusal {
  const queryAt = rest.indexOf("?");
  const segments = splitPath(queryAt === -1 ? rest : rest.slice(0, queryAt));
  const query = queryAt === -1 ? "" : rest.slice(queryAt + 1);
  if (segments === null) return "notFound";
  const route = routeByUuid(segments) ?? routeBySlug(segments);
  if (typeof route === "string") return route;
  const { target, action } = route;
  const create = target.by === "slug" && lastValue(query, "create") === "1";
  if (target.by === "slug" && target.slug.length > SLUG_LENGTH_MAX) {
    // No check has it, but a request to create it gets an error.
    return create ? "invalidUrl" : "notFound";
  }
  const rid = lastValue(query, "rid");
  const runId = rid === null ? null : parseRunId(rid);
  const common = { target, rid: runId, create, lateEnd: lateEndIn(query, action) };
  if (action === "impossible") return { ...common, action: "fail", flaw: "invalidUrl" };
  return { ...common, action, flaw: rid !== null && runId === null ? "invalidRunId" : null };
}

/** Null if `at` is unreadable: it may be a parameter that is not ours. */
function lateEndIn(query: string, action: PathAction): LateEnd | null {
  if (!query.includes("at=") || action === "start" || action === "log") return null;
  const at = lastValue(query, "at");
  return at === null ? null : parseLateEnd({ at, ran: lastValue(query, "ran") });
}

/** The settings in the URL of a ping, for the check that it creates. */
export function settingsIn(url: string): PingSettings {
  const queryAt = url.indexOf("?");
  if (queryAt === -1) return NO_PING_SETTINGS;
  const pairs = url
    .slice(queryAt + 1)
    .split("&")
    .map((pair) => {
      const equalsAt = pair.indexOf("=");
      const name = equalsAt === -1 ? pair : pair.slice(0, equalsAt);
      return [decodeQueryText(name), formText(equalsAt === -1 ? "" : pair.slice(equalsAt + 1))] as const;
    });
  return readPingSettings(pairs);
}

/** The segments after the leading slash, percent-decoded; null if they cannot be decoded. */
export function splitPath(path: string): string[] | null {
  if (!path.startsWith("/")) return null;
  const text = path.slice(1);
  if (!text.includes("%")) return text.split("/");
  try {
    return decodeURIComponent(text).split("/");
  } catch {
    return null;
  }
}

function routeByUuid(segments: readonly string[]): Route | null {
  const [uuid, segment] = segments;
  if (uuid === undefined || segments.length > 2 || !isUuid(uuid)) return null;
  // One trailing slash after the UUID is allowed; after an action it is not.
  const action = segment === undefined || segment === "" ? "success" : actionOf(segment);
  return action === null ? null : { target: { by: "uuid", uuid }, action };
}

function routeBySlug(segments: readonly string[]): Route | PingRefusal {
  const [pingKey, slug, segment] = segments;
  if (pingKey === undefined || slug === undefined || segments.length > 3) return "notFound";
  if (!KEY_OR_SLUG.test(pingKey) || !KEY_OR_SLUG.test(slug)) return "notFound";
  const action = segment === undefined ? "success" : actionOf(segment);
  if (action === null) return "notFound";
  if (!hasSlugCharacters(slug)) return "invalidUrl";
  if (pingKey.length > PING_KEY_LENGTH_MAX) return "notFound";
  return { target: { by: "slug", pingKey, slug }, action };
}

function actionOf(segment: string): PathAction | null {
  if (segment === "start" || segment === "fail" || segment === "log") return segment;
  const exitStatus = parseExitStatus(segment);
  if (exitStatus === null) return null;
  return exitStatus === "too large" ? "impossible" : { exitStatus };
}

/** The last value of a query parameter; null if it is absent. Names are matched exactly. */
function lastValue(query: string, name: string): string | null {
  if (query === "") return null;
  for (const pair of query.split("&").toReversed()) {
    const equalsAt = pair.indexOf("=");
    const given = equalsAt === -1 ? pair : pair.slice(0, equalsAt);
    if (decodeQueryText(given) === name)
      return equalsAt === -1 ? "" : decodeQueryText(pair.slice(equalsAt + 1));
  }
  return null;
}

/** A name or value of a form; one that cannot be decoded is left unchanged, and then matches nothing. */
function decodeQueryText(text: string): string {
  return formText(text) ?? text;
}

/** Null if it cannot be decoded. */
function formText(text: string): string | null {
  if (!text.includes("%") && !text.includes("+")) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}
